//! Damped Newton steps for the logistic objective,
//!
//! ```text
//! θ ← θ − t H⁻¹ ∇f(θ)
//! ```
//!
//! with t = 1 halved until f decreases enough. Small Hessians are factored, large ones are only
//! multiplied with (conjugate gradients). Adding the same to all vectors changes no probability;
//! the steps have mean zero over the vectors, which fixes that freedom.

use super::objective::{Estimate, LogisticProblem};
use crate::{
    algebra::{add_scaled, dot, norm},
    model::solver::damped_direction,
};

/// The fit ends when the gradient is this share of the total weight.
const GRADIENT_TOLERANCE: f64 = 1e-12;

/// Newton steps at most; a minimum at infinity is left after about thirty.
const MOST_STEPS: usize = 100;

/// Halvings of one step at most.
const MOST_HALVINGS: usize = 40;

/// Rounding of the objective, relative to its value.
const VALUE_ROUNDING: f64 = 1e-13;

// A Newton method of its own beside `solver::PenalisedLoss`: this one ends by the gradient, which
// leaves a minimum at infinity after thirty steps, and knows the freedom of common shifts; the
// other takes centres and lassos and ends by its decrement. One method for both would change the
// last bits of every fit.
impl LogisticProblem {
    /// The parameters of smallest value, one vector after the other.
    pub(super) fn minimise(&self, factored: bool) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        let mut point = self.at(vec![0.0; self.vectors() * self.width]);
        for _ in 0..MOST_STEPS {
            let gradient = self.gradient(&point);
            if norm(&gradient) <= GRADIENT_TOLERANCE * total {
                break;
            }
            let mut direction = if factored {
                damped_direction(&self.hessian(&point), &gradient)
            } else {
                self.conjugate_direction(&point, &gradient, total)
            };
            // A common shift is free, and rounding would drift along it.
            self.remove_mean(&mut direction);
            let Some(next) = self.line_search(&point, &direction, dot(&gradient, &direction))
            else {
                break;
            };
            point = next;
        }
        point.parameters
    }

    /// −H⁻¹ ∇f by conjugate gradients, the more exact the closer the minimum is.
    fn conjugate_direction(&self, point: &Estimate, gradient: &[f64], total: f64) -> Vec<f64> {
        let size = norm(gradient);
        // Rough far from the minimum, and exact enough near it to keep the superlinear end.
        let target = size * (size / total).sqrt().min(0.1);
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut search = residual.clone();
        let mut direction = vec![0.0; gradient.len()];
        for step in 0..gradient.len() {
            let product = self.hessian_product(point, &search);
            let (square, curvature) = (dot(&residual, &residual), dot(&search, &product));
            // A convex objective has no such direction: rounding has used up what the iterations
            // can find.
            if curvature <= 0.0 || !curvature.is_finite() {
                return if step == 0 { search } else { direction };
            }
            add_scaled(&mut direction, square / curvature, &search);
            add_scaled(&mut residual, -square / curvature, &product);
            if norm(&residual) <= target {
                break;
            }
            let ratio = dot(&residual, &residual) / square;
            search.iter_mut().zip(&residual).for_each(|(s, r)| *s = r + ratio * *s);
        }
        direction
    }

    /// Makes the vectors' mean zero, unless one class is the reference.
    pub(super) fn remove_mean(&self, direction: &mut [f64]) {
        if self.reference {
            return;
        }
        for k in 0..self.width {
            let entries = direction.iter().skip(k).step_by(self.width);
            let mean = entries.sum::<f64>() / self.vectors() as f64;
            direction.iter_mut().skip(k).step_by(self.width).for_each(|entry| *entry -= mean);
        }
    }

    /// The longest of the steps 1, ½, ¼, … that decreases f enough, or none.
    fn line_search(&self, point: &Estimate, direction: &[f64], slope: f64) -> Option<Estimate> {
        if slope >= 0.0 || !slope.is_finite() {
            return None;
        }
        let mut step = 1.0;
        for _ in 0..MOST_HALVINGS {
            let mut parameters = point.parameters.clone();
            add_scaled(&mut parameters, step, direction);
            let next = self.at(parameters);
            if next.value <= point.value + 1e-4 * step * slope + VALUE_ROUNDING * point.value {
                return Some(next);
            }
            step *= 0.5;
        }
        None
    }
}
