//! Newton steps for the leaves of a tree,
//!
//! ```text
//! n = H⁻¹ g,   g = Σ_r weight_r (y_r − ŷ_r),   H = Σ_r weight_r (diag ŷ_r − ŷ_r ŷ_rᵀ)
//! step = n · τ / δ,   δ = max n − min n,   τ = min(δ, max(1.79, log(1 + δ)))
//! ```
//!
//! For squared loss H is the weight of the leaf, and τ = δ. The third derivative of cross-entropy along n
//! is at most δ times the second, hence the loss decreases by at least
//! nᵀHn (τ δ − exp(τ) + τ + 1) / δ² along the step, which is positive for this τ; and by convexity
//! along any part of it.

use crate::{
    algebra::{Cholesky, dot},
    data::Task,
};

/// The largest δ with δ² + δ + 1 ≥ exp(δ), rounded down: so far a full step decreases the loss.
const LARGEST_FULL_STEP: f64 = 1.79;

/// Added to the diagonal of H, as a share of its trace, where classes are nearly impossible.
const TRACE_RIDGE_SHARE: f64 = 1e-9;

/// Gradients and curvatures of all nodes of a tree.
pub(super) struct LeafSteps {
    task: Task,
    width: usize,
    gradients: Vec<f64>,
    /// A matrix for each node where there are more than two classes, else a number.
    curvatures: Vec<f64>,
}

impl LeafSteps {
    /// Nothing yet for so many nodes, with scores of so many numbers.
    pub(super) fn new(task: Task, nodes: usize, width: usize) -> Self {
        let (gradients, curvatures) = (vec![0.0; nodes * width], vec![0.0; nodes * width * width]);
        Self { task, width, gradients, curvatures }
    }

    /// Adds a row to its leaf, with its prediction and what that leaves over of the label.
    pub(super) fn add(&mut self, leaf: usize, weight: f64, p: &[f64], residuals: &[f64]) {
        let width = self.width;
        let gradient = &mut self.gradients[leaf * width..][..width];
        gradient.iter_mut().zip(residuals).for_each(|(g, residual)| *g += weight * residual);
        let curvature = &mut self.curvatures[leaf * width * width..][..width * width];
        match self.task {
            Task::Regression => curvature[0] += weight,
            Task::Classification { classes: 2 } => curvature[0] += weight * p[0] * (1.0 - p[0]),
            Task::Classification { .. } => {
                for (k, row) in curvature.chunks_exact_mut(width).enumerate() {
                    row.iter_mut().zip(p).for_each(|(h, q)| *h -= weight * p[k] * q);
                    row[k] += weight * p[k];
                }
            }
        }
    }

    /// The step of every node times the rate; zero where there is no row.
    pub(super) fn solve(self, rate: f64) -> Vec<f64> {
        let width = self.width;
        let leaves =
            self.gradients.chunks_exact(width).zip(self.curvatures.chunks_exact(width * width));
        let mut all = Vec::with_capacity(self.gradients.len());
        for (gradient, curvature) in leaves {
            let step = newton_step(gradient, curvature);
            let shortened = if self.task == Task::Regression { 1.0 } else { shortening(&step) };
            all.extend(step.iter().map(|n| rate * shortened * n));
        }
        all
    }
}

/// `H⁻¹ g` with a little added to H; zero where H vanishes.
fn newton_step(gradient: &[f64], curvature: &[f64]) -> Vec<f64> {
    let width = gradient.len();
    let trace: f64 = curvature.iter().step_by(width + 1).sum();
    let zero = vec![0.0; width];
    if trace <= f64::MIN_POSITIVE {
        return zero;
    }
    if width == 1 {
        return vec![gradient[0] / curvature[0]];
    }
    let mut matrix = curvature.to_vec();
    // Scores are the same up to a constant, where H vanishes and g does too.
    for h in &mut matrix {
        *h += trace / width as f64;
    }
    matrix.iter_mut().step_by(width + 1).for_each(|h| *h += TRACE_RIDGE_SHARE * trace);
    let Some(factor) = Cholesky::new(matrix, width) else { return zero };
    let mut step = gradient.to_vec();
    factor.solve(&mut step);
    if dot(&step, gradient) > 0.0 { step } else { zero }
}

/// The share τ / δ of a step that is certain to decrease the loss.
fn shortening(step: &[f64]) -> f64 {
    // A single number is the difference of two scores.
    let (mut low, mut high) = if step.len() == 1 { (0.0, 0.0) } else { (step[0], step[0]) };
    for n in step {
        (low, high) = (f64::min(low, *n), f64::max(high, *n));
    }
    let range = high - low;
    if range <= LARGEST_FULL_STEP { 1.0 } else { LARGEST_FULL_STEP.max(range.ln_1p()) / range }
}
