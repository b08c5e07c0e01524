//! The minimum of a smooth function of a few numbers by BFGS, which learns an inverse Hessian from the
//! gradients on the way: from what the function knows about its curvature at every point, else from nothing.

use std::collections::VecDeque;

use crate::{
    algebra::{Cholesky, add_scaled, dot},
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

/// A smooth function of a few numbers.
pub(super) trait Function {
    /// What is computed on the way.
    type Extra;

    /// Looks at a point; none where it has no value.
    fn look(&mut self, at: &[f64]) -> Result<Option<Point<Self::Extra>>>;

    /// About its Hessian at a point, positive definite; none if it is to be learnt.
    fn hessian(&self, _: &Point<Self::Extra>) -> Option<Vec<f64>> {
        None
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Looks at the function at most.
    pub(super) looks: usize,
    /// The decrease that is still expected, below which it is the minimum.
    pub(super) decrease: f64,
    /// Whether values and gradients belong to each other only about, as those of probes do.
    pub(super) is_noisy: bool,
    /// Whether the search goes on where only the gradient tells a better point.
    pub(super) refines: bool,
}

/// Halvings of a step at most: after that rounding decides.
const MOST_HALVINGS: usize = 30;
/// The same where noise decides before.
const MOST_NOISY_HALVINGS: usize = 4;
/// Steps at most that only the gradient tells to be better.
const MOST_FINE_STEPS: usize = 15;
/// The share of a value that is rounding: a decrease below it cannot be told.
const ROUNDING_SHARE: f64 = 1e-14;
/// The latest looks that correct what a function says about its curvature: older ones were elsewhere.
const MOST_SECANTS: usize = 6;
/// Such steps in a row that may be no better.
const MOST_MISSES: usize = 2;
/// An expected decrease that is good enough: the minimum is then known to some 3e-9 of its width, and errors that follow
/// to ten digits. Rounding of the gradient would leave 1e-20, which takes a look or two more.
const FINEST_DECREASE: f64 = 1e-17;
/// The share of the decrease along the gradient that a step must keep (Armijo's rule).
const SUFFICIENT_SHARE: f64 = 1e-4;

/// Walks down from a point; `scale` is about the width of the minimum along each coordinate. Whether the
/// minimum was reached is said, too.
pub(super) fn minimise<F: Function>(
    start: Point<F::Extra>,
    scale: &[f64],
    limits: Limits,
    function: &mut F,
) -> Result<(Point<F::Extra>, bool)> {
    let mut inverse = InverseHessian::new(scale);
    let (best, is_reached) = descend(start, &mut inverse, limits, function)?;
    if !is_reached || !limits.refines {
        return Ok((best, is_reached));
    }
    Ok((refine(best, inverse, function)?, true))
}

/// Goes on by full steps from where the value is known to too few digits to tell a better point: its
/// gradient has as many digits, and is zero there. Every look teaches about the Hessian, also one that is
/// no better.
fn refine<F: Function>(
    mut best: Point<F::Extra>,
    mut inverse: InverseHessian<'_>,
    function: &mut F,
) -> Result<Point<F::Extra>> {
    let mut misses = 0;
    // The gradient of a large value has larger errors.
    let finest = FINEST_DECREASE.max((ROUNDING_SHARE * best.value).powi(2));
    for _ in 0..MOST_FINE_STEPS {
        let step = inverse.step(&best.gradient);
        if -dot(&step, &best.gradient) <= finest || misses >= MOST_MISSES {
            break;
        }
        let mut at = best.at.clone();
        add_scaled(&mut at, 1.0, &step);
        let Some(next) = function.look(&at)? else { break };
        inverse.learn_from(&best, &next);
        let decrease = |point: &Point<_>| -dot(&inverse.product(&point.gradient), &point.gradient);
        if decrease(&next) < decrease(&best) {
            (best, misses) = (next, 0);
        } else {
            misses += 1;
        }
    }
    Ok(best)
}

/// Walks down as long as the value tells.
fn descend<F: Function>(
    start: Point<F::Extra>,
    inverse: &mut InverseHessian<'_>,
    limits: Limits,
    function: &mut F,
) -> Result<(Point<F::Extra>, bool)> {
    let halvings = if limits.is_noisy { MOST_NOISY_HALVINGS } else { MOST_HALVINGS };
    let (mut best, mut looks) = (start, 1);
    let mut secants: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    // Whether the Hessian at this point led to no better one.
    let mut is_misled = false;
    while looks < limits.looks {
        // Only where the search goes on from a point: it takes as long as part of a look.
        let hessian = if is_misled { None } else { function.hessian(&best) };
        let is_known = inverse.take(hessian);
        if is_known {
            for (moved, change) in &secants {
                inverse.learn(moved, change);
            }
        }
        let step = inverse.step(&best.gradient);
        let slope = dot(&step, &best.gradient);
        // Half of it is the decrease that a quadratic function would have.
        let least = limits.decrease.max(ROUNDING_SHARE * best.value.abs());
        if slope == 0.0 || -slope <= 2.0 * least && !inverse.is_fresh {
            return Ok((best, true));
        }
        let mut length = inverse.longest_step(&step);
        let mut next = None;
        for _ in 0..halvings {
            let mut at = best.at.clone();
            add_scaled(&mut at, length, &step);
            looks += 1;
            let bound = best.value + SUFFICIENT_SHARE * length * slope;
            let look = function.look(&at)?;
            if let Some(point) = look.as_ref().filter(|_| is_known) {
                secants.push_back(secant(&best, point));
                secants.drain(..secants.len().saturating_sub(MOST_SECANTS));
            }
            let shorter = look.as_ref().map_or(0.5, |point| share_of_step(&step, slope, point));
            next = look.filter(|point| point.value <= bound);
            if next.is_some() || looks >= limits.looks {
                break;
            }
            length *= shorter;
        }
        let Some(point) = next else {
            // Not even along the gradient: what is left is rounding.
            let is_the_end = inverse.is_fresh || limits.is_noisy;
            if is_the_end || looks >= limits.looks {
                return Ok((best, is_the_end));
            }
            *inverse = InverseHessian::new(inverse.scale);
            is_misled = true;
            continue;
        };
        if !is_known {
            inverse.learn_from(&best, &point);
        }
        (best, is_misled) = (point, false);
    }
    Ok((best, false))
}

/// The share of a step that was too long at which the slope along it would be zero if it changed evenly.
fn share_of_step<T>(step: &[f64], slope: f64, point: &Point<T>) -> f64 {
    let there = dot(step, &point.gradient);
    if there > 0.0 { (slope / (slope - there)).clamp(0.1, 0.5) } else { 0.5 }
}

/// How far apart two points are, and by how much the gradient changes between them.
fn secant<T>(from: &Point<T>, to: &Point<T>) -> (Vec<f64>, Vec<f64>) {
    let difference =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    (difference(&to.at, &from.at), difference(&to.gradient, &from.gradient))
}

/// What is known about the inverse of the Hessian.
struct InverseHessian<'a> {
    scale: &'a [f64],
    entries: Vec<f64>,
    /// Whether it is only a guess by the scale.
    is_fresh: bool,
}

impl<'a> InverseHessian<'a> {
    fn new(scale: &'a [f64]) -> Self {
        let size = scale.len();
        let mut entries = vec![0.0; size * size];
        scale.iter().enumerate().for_each(|(k, width)| entries[k * size + k] = width * width);
        Self { scale, entries, is_fresh: true }
    }

    /// Takes over what a function knows about its Hessian, and says whether it did.
    fn take(&mut self, hessian: Option<Vec<f64>>) -> bool {
        let size = self.scale.len();
        let factor = hessian.and_then(|hessian| Cholesky::new(hessian, size));
        let Some(factor) = factor else { return false };
        for (k, row) in self.entries.chunks_exact_mut(size).enumerate() {
            row.fill(0.0);
            row[k] = 1.0;
            factor.solve(row);
        }
        self.is_fresh = false;
        true
    }

    /// A step down.
    fn step(&mut self, gradient: &[f64]) -> Vec<f64> {
        let step = self.product(gradient);
        if dot(&step, gradient) < 0.0 {
            return step;
        }
        // Rounding has made it useless.
        *self = Self::new(self.scale);
        self.product(gradient)
    }

    /// Minus its product with a gradient.
    fn product(&self, gradient: &[f64]) -> Vec<f64> {
        let size = self.scale.len().max(1);
        self.entries.chunks_exact(size).map(|row| -dot(row, gradient)).collect()
    }

    /// The share of a step that stays in the neighbourhood: a guess knows nothing about curvature.
    fn longest_step(&self, step: &[f64]) -> f64 {
        let longest = step.iter().zip(self.scale).map(|(s, w)| (s / w).abs()).fold(0.0, f64::max);
        // In widths of the minimum, which are guesses, too: with curvature at hand a step may go further.
        let most = if self.is_fresh { 1.0 } else { 4.0 };
        if longest > most { most / longest } else { 1.0 }
    }

    /// Learns from a step.
    fn learn_from<T>(&mut self, from: &Point<T>, to: &Point<T>) {
        let (moved, change) = secant(from, to);
        self.learn(&moved, &change);
    }

    /// The inverse Hessian that agrees with the last step.
    fn learn(&mut self, moved: &[f64], change: &[f64]) {
        let size = moved.len();
        let curvature = dot(moved, change);
        let product = |entries: &[f64]| -> Vec<f64> {
            entries.chunks_exact(size).map(|row| dot(row, change)).collect()
        };
        // Where the function bends down there is nothing to learn for a minimum.
        if curvature <= 1e-12 * (dot(moved, moved) * dot(change, change)).sqrt() {
            self.is_fresh = false;
            return;
        }
        if self.is_fresh {
            // The curvature along the first step is taken for all directions.
            let share = curvature / dot(&product(&self.entries), change);
            for entry in &mut self.entries {
                *entry *= share;
            }
        }
        let product = product(&self.entries);
        let factor = (1.0 + dot(&product, change) / curvature) / curvature;
        for row in 0..size {
            for column in 0..size {
                self.entries[row * size + column] += factor * moved[row] * moved[column]
                    - (product[row] * moved[column] + moved[row] * product[column]) / curvature;
            }
        }
        self.is_fresh = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's.
    struct Valley;

    impl Function for Valley {
        type Extra = ();

        fn look(&mut self, at: &[f64]) -> Result<Option<Point<()>>> {
            let (x, y) = (at[0], at[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            let gradient = vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)];
            Ok(Some(Point { at: at.to_vec(), value, gradient, extra: () }))
        }
    }

    #[test]
    fn the_minimum_of_a_curved_valley_is_found() {
        let start = Valley.look(&[-1.2, 1.0]).unwrap().unwrap();
        let limits = Limits { looks: 200, decrease: 1e-16, is_noisy: false, refines: true };
        let (found, converged) = minimise(start, &[1.0, 1.0], limits, &mut Valley).unwrap();
        assert!(converged && found.at.iter().all(|x| (x - 1.0).abs() < 1e-6), "{found:?}");
    }
}
