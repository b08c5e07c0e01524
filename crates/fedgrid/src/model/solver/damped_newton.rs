//! Penalised losses with derivatives, by damped Newton steps,
//!
//! ```text
//! F(Z) = Σ_r weight_r ℓ_r(Z x_r) + Σ_vj ½ p_j (z_vj − c_vj)² + Σ_vj λ_j |z_vj|
//! d = argmin  ∇f(Z)ᵀd + ½ dᵀH d + λ |Z + d|,      Z ← Z + t d
//! ```
//!
//! with t = 1 halved until F decreases enough. Without λ the direction is that of Newton, with it
//! that of the proximal Newton method, found by coordinate descent. [Lee, Sun & Saunders 2014.]

use super::{
    coordinate_descent::{CoordinateDescent, Separable},
    newton_system::NewtonSystem,
};
use crate::{
    algebra::{add_scaled, dot, triangularise},
    error::{Error, Result},
};

/// A step whose square in the metric of H is this share of the weight is the last.
const STEP_TOLERANCE: f64 = 1e-20;

/// Newton steps at most; a minimum at infinity is left after about fifty.
const MOST_STEPS: usize = 300;

/// Halvings of one step at most.
const MOST_HALVINGS: usize = 40;

/// Rounding of the objective, relative to its value.
const VALUE_ROUNDING: f64 = 1e-13;

/// A convex loss of the linear outputs of each row.
pub(crate) trait RowLoss {
    /// How many outputs a row has.
    fn outputs(&self) -> usize;
    /// The loss of a row.
    fn value(&self, row: usize, outputs: &[f64]) -> f64;
    /// Writes its derivative by the outputs.
    fn slopes(&self, row: usize, outputs: &[f64], slopes: &mut [f64]);
    /// Lines R with `RᵀR` the second derivative, as many for every row.
    fn root(&self, row: usize, outputs: &[f64]) -> Vec<f64>;
}

/// The problem F.
pub(crate) struct PenalisedLoss<'a, L> {
    pub(crate) loss: &'a L,
    /// Rows x of positive weight, `width` numbers each.
    pub(crate) rows: &'a [f64],
    pub(crate) width: usize,
    pub(crate) weights: &'a [f64],
    /// The pull p of each column.
    pub(crate) strengths: &'a [f64],
    /// The centre c of each column for every output.
    pub(crate) centres: &'a [f64],
    /// The lasso λ of each column.
    pub(crate) lassos: &'a [f64],
}

/// Weights Z with the outputs of all rows and the objective there.
struct Iterate {
    z: Vec<f64>,
    outputs: Vec<f64>,
    value: f64,
}

impl<L: RowLoss> PenalisedLoss<'_, L> {
    /// The minimiser, sought from a first Z.
    pub(crate) fn minimise(&self, start: Vec<f64>) -> Result<Vec<f64>> {
        let total: f64 = self.weights.iter().sum();
        let sparse = self.lassos.iter().any(|lasso| *lasso > 0.0);
        let curved = NewtonSystem::new(self.rows, self.width, self.strengths);
        let mut point = self.at(start);
        for _ in 0..MOST_STEPS {
            let loss_gradient = self.loss_gradient(&point);
            let roots = self.roots(&point);
            let mut gradient = loss_gradient.clone();
            for (k, slope) in gradient.iter_mut().enumerate() {
                *slope += self.strengths[k % self.width] * (point.z[k] - self.centres[k]);
            }
            let direction = if sparse {
                self.sparse_direction(&point, &roots, &loss_gradient)
            } else {
                curved.direction(&roots, self.loss.outputs(), &gradient)
            };
            // Unlike the gradient, this square has the units of F: it bounds what can still be
            // gained.
            let square = self.square(&roots, &direction);
            // Where no step along a descent direction decreases F, what is left is rounding.
            let Some(next) = self.line_search(&point, &gradient, &direction) else {
                return Ok(point.z);
            };
            point = next;
            if square <= STEP_TOLERANCE * total + self.rounding(&point.z) {
                return Ok(point.z);
            }
        }
        Err(Error::NotConverged { what: "the damped Newton method", steps: MOST_STEPS })
    }

    /// The minimiser, sought from the best of some points between a centre and zero: far away,
    /// where exponentials are large or all probabilities certain, Newton steps hardly get on.
    pub(crate) fn minimise_near(&self, centre: &[f64]) -> Result<Vec<f64>> {
        let shares = (0..8).map(|halvings| 0.5_f64.powi(halvings)).chain([0.0]);
        let at = |share: f64| self.at(centre.iter().map(|v| share * v).collect());
        let best = shares.map(at).min_by(|a, b| a.value.total_cmp(&b.value));
        self.minimise(best.expect("there are nine points").z)
    }

    fn at(&self, z: Vec<f64>) -> Iterate {
        let count = self.loss.outputs();
        let outputs = self.products(&z);
        let mut value = self.lasso(&z);
        for (row, weight) in self.weights.iter().enumerate() {
            value += weight * self.loss.value(row, &outputs[row * count..(row + 1) * count]);
        }
        for (k, (z, c)) in z.iter().zip(self.centres).enumerate() {
            value += 0.5 * self.strengths[k % self.width] * (z - c).powi(2);
        }
        Iterate { z, outputs, value }
    }

    /// The outputs `Z x` of all rows.
    fn products(&self, z: &[f64]) -> Vec<f64> {
        let mut outputs = Vec::with_capacity(self.weights.len() * self.loss.outputs());
        for row in 0..self.weights.len() {
            let x = &self.rows[row * self.width..(row + 1) * self.width];
            let vector = |v: usize| &z[v * self.width..(v + 1) * self.width];
            outputs.extend((0..self.loss.outputs()).map(|v| dot(vector(v), x)));
        }
        outputs
    }

    fn lasso(&self, z: &[f64]) -> f64 {
        let size = |(k, z): (usize, &f64)| self.lassos[k % self.width] * z.abs();
        z.iter().enumerate().map(size).sum()
    }

    fn loss_gradient(&self, point: &Iterate) -> Vec<f64> {
        let count = self.loss.outputs();
        let mut gradient = vec![0.0; point.z.len()];
        let mut slopes = vec![0.0; count];
        for (row, weight) in self.weights.iter().enumerate() {
            self.loss.slopes(row, &point.outputs[row * count..(row + 1) * count], &mut slopes);
            let x = &self.rows[row * self.width..(row + 1) * self.width];
            for (v, slope) in slopes.iter().enumerate() {
                add_scaled(&mut gradient[v * self.width..(v + 1) * self.width], weight * slope, x);
            }
        }
        gradient
    }

    /// The roots of the weighted second derivatives, row after row.
    fn roots(&self, point: &Iterate) -> Vec<f64> {
        let count = self.loss.outputs();
        let root = |(row, weight): (usize, &f64)| {
            let root = self.loss.root(row, &point.outputs[row * count..(row + 1) * count]);
            root.into_iter().map(|value| weight.sqrt() * value).collect::<Vec<_>>()
        };
        self.weights.iter().enumerate().flat_map(root).collect()
    }

    /// What a step may measure because Z is rounded.
    fn rounding(&self, z: &[f64]) -> f64 {
        let pull = |(k, z): (usize, &f64)| self.strengths[k % self.width] * z * z;
        1e-28 * z.iter().enumerate().map(pull).sum::<f64>()
    }

    /// `dᵀ H d`
    fn square(&self, roots: &[f64], direction: &[f64]) -> f64 {
        let count = self.loss.outputs();
        let pull = |(k, d): (usize, &f64)| self.strengths[k % self.width] * d * d;
        let mut square: f64 = direction.iter().enumerate().map(pull).sum();
        let outputs = self.products(direction);
        let share = roots.len().checked_div(self.weights.len()).unwrap_or(0);
        for row in 0..self.weights.len() {
            let own = &outputs[row * count..(row + 1) * count];
            let lines = roots[row * share..(row + 1) * share].chunks_exact(count);
            square += lines.map(|line| dot(line, own).powi(2)).sum::<f64>();
        }
        square
    }

    fn sparse_direction(&self, point: &Iterate, roots: &[f64], linear: &[f64]) -> Vec<f64> {
        let (count, size) = (self.loss.outputs(), point.z.len());
        let lines = roots.len() / count;
        let per_row = lines.checked_div(self.weights.len()).unwrap_or(1);
        let mut rows = Vec::with_capacity(lines * size);
        for (i, line) in roots.chunks_exact(count).enumerate() {
            let x = &self.rows[i / per_row * self.width..][..self.width];
            rows.extend(line.iter().flat_map(|factor| x.iter().map(move |x| factor * x)));
        }
        let mut residual = vec![0.0; lines];
        // The triangle gives the same quadratic with as many rows as weights.
        if lines > size {
            triangularise(&mut rows, size, &mut residual);
        }
        let (strengths, lassos) = (self.strengths.repeat(count), self.lassos.repeat(count));
        let own =
            Separable { linear, strengths: &strengths, centres: self.centres, lassos: &lassos };
        let mut direction =
            CoordinateDescent::new(&rows, residual, &point.z, &own).minimise_roughly();
        add_scaled(&mut direction, -1.0, &point.z);
        direction
    }

    /// The longest of the steps 1, ½, ¼, … that decreases F enough, or none.
    fn line_search(&self, point: &Iterate, gradient: &[f64], direction: &[f64]) -> Option<Iterate> {
        let mut whole = point.z.clone();
        add_scaled(&mut whole, 1.0, direction);
        // The lasso has no derivative at zero, so its change over the whole step stands in for one.
        let slope = dot(gradient, direction) + (self.lasso(&whole) - self.lasso(&point.z));
        if slope >= 0.0 || !slope.is_finite() {
            return None;
        }
        let mut step = 1.0;
        for _ in 0..MOST_HALVINGS {
            let mut z = point.z.clone();
            add_scaled(&mut z, step, direction);
            let next = self.at(z);
            // Near the minimum the gain is below the rounding of F, which must not end the search.
            if next.value <= point.value + 1e-4 * step * slope + VALUE_ROUNDING * point.value.abs()
            {
                return Some(next);
            }
            step *= 0.5;
        }
        None
    }
}
