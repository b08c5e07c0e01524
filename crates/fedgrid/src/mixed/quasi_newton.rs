//! The minimum of a smooth function of a few numbers by BFGS: an inverse Hessian is learnt from the
//! gradients on the way.

use crate::{
    algebra::{add_scaled, dot},
    error::Result,
};

/// A point that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Point<T> {
    /// Where.
    pub(super) at: Vec<f64>,
    /// The value of the function.
    pub(super) value: f64,
    /// Its gradient.
    pub(super) gradient: Vec<f64>,
    /// What else was computed.
    pub(super) extra: T,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Looks at the function at most.
    pub(super) looks: usize,
    /// The decrease that is still expected, below which it is the minimum.
    pub(super) decrease: f64,
}

/// Halvings of a step at most: after that rounding decides.
const MOST_HALVINGS: usize = 30;
/// The share of the decrease along the gradient that a step must keep (Armijo's rule).
const SUFFICIENT_SHARE: f64 = 1e-4;

/// Walks down from a point; `scale` is about the width of the minimum along each coordinate. Whether the
/// minimum was reached is said, too. The function is none where it has no value.
pub(super) fn minimise<T>(
    start: Point<T>,
    scale: &[f64],
    limits: Limits,
    mut function: impl FnMut(&[f64]) -> Result<Option<Point<T>>>,
) -> Result<(Point<T>, bool)> {
    let size = start.at.len();
    let initial = |inverse: &mut Vec<f64>| {
        *inverse = vec![0.0; size * size];
        (0..size).for_each(|k| inverse[k * size + k] = scale[k] * scale[k]);
    };
    let mut inverse = Vec::new();
    initial(&mut inverse);
    let (mut best, mut looks, mut is_fresh) = (start, 1, true);
    while looks < limits.looks {
        let mut step: Vec<f64> =
            inverse.chunks_exact(size.max(1)).map(|row| -dot(row, &best.gradient)).collect();
        let mut slope = dot(&step, &best.gradient);
        if slope >= 0.0 {
            initial(&mut inverse);
            is_fresh = true;
            step = scale.iter().zip(&best.gradient).map(|(s, g)| -s * s * g).collect();
            slope = dot(&step, &best.gradient);
        }
        // Half of it is the decrease that a quadratic function would have.
        if -slope <= 2.0 * limits.decrease && !is_fresh || slope == 0.0 {
            return Ok((best, true));
        }
        // A first step knows nothing about curvature and shall not leave the neighbourhood.
        let longest = step.iter().zip(scale).map(|(s, w)| (s / w).abs()).fold(0.0, f64::max);
        let most = if is_fresh { 1.0 } else { 4.0 };
        let mut length = if longest > most { most / longest } else { 1.0 };
        let mut next = None;
        for _ in 0..MOST_HALVINGS {
            let mut at = best.at.clone();
            add_scaled(&mut at, length, &step);
            looks += 1;
            let found = function(&at)?;
            let bound = best.value + SUFFICIENT_SHARE * length * slope;
            if let Some(point) = found.filter(|point| point.value <= bound) {
                next = Some(point);
                break;
            }
            if looks >= limits.looks {
                return Ok((best, false));
            }
            length *= 0.5;
        }
        let Some(point) = next else {
            if is_fresh {
                // Not even along the gradient: what is left is rounding.
                return Ok((best, true));
            }
            initial(&mut inverse);
            is_fresh = true;
            continue;
        };
        let moved: Vec<f64> = point.at.iter().zip(&best.at).map(|(a, b)| a - b).collect();
        let change: Vec<f64> =
            point.gradient.iter().zip(&best.gradient).map(|(a, b)| a - b).collect();
        if is_fresh {
            rescale(&mut inverse, &moved, &change);
        }
        update(&mut inverse, &moved, &change);
        (best, is_fresh) = (point, false);
    }
    Ok((best, false))
}

/// After the first step the curvature along it is known, and taken for all directions.
fn rescale(inverse: &mut [f64], moved: &[f64], change: &[f64]) {
    let size = moved.len();
    let curvature = dot(moved, change);
    let product: Vec<f64> = inverse.chunks_exact(size).map(|row| dot(row, change)).collect();
    let along = dot(&product, change);
    if curvature > 0.0 && along > 0.0 {
        inverse.iter_mut().for_each(|entry| *entry *= curvature / along);
    }
}

/// The inverse Hessian that agrees with the last step.
fn update(inverse: &mut [f64], moved: &[f64], change: &[f64]) {
    let size = moved.len();
    let curvature = dot(moved, change);
    let product: Vec<f64> = inverse.chunks_exact(size).map(|row| dot(row, change)).collect();
    let along = dot(&product, change);
    // Where the function bends down there is nothing to learn for a minimum.
    if curvature <= 1e-12 * (dot(moved, moved) * dot(change, change)).sqrt() {
        return;
    }
    let factor = (1.0 + along / curvature) / curvature;
    for row in 0..size {
        for column in 0..size {
            inverse[row * size + column] += factor * moved[row] * moved[column]
                - (product[row] * moved[column] + moved[row] * product[column]) / curvature;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_curved_valley_is_found() {
        let look = |at: &[f64]| {
            let (x, y) = (at[0], at[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            let gradient = vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)];
            Ok(Some(Point { at: at.to_vec(), value, gradient, extra: () }))
        };
        let start = look(&[-1.2, 1.0]).unwrap().unwrap();
        let limits = Limits { looks: 200, decrease: 1e-16 };
        let (found, converged) = minimise(start, &[1.0, 1.0], limits, look).unwrap();
        assert!(converged && found.at.iter().all(|x| (x - 1.0).abs() < 1e-6), "{found:?}");
    }
}
