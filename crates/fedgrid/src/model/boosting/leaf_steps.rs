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

/// Gradients and curvatures of all nodes of a tree, one tree after the other.
pub(super) struct LeafSteps {
    task: Task,
    width: usize,
    gradients: Vec<f64>,
    /// A matrix for each node where there are more than two classes, else a number.
    curvatures: Vec<f64>,
}

/// What rows say of the step of their leaf.
#[derive(Clone, Copy)]
pub(super) struct LeafRows<'a> {
    /// The leaf of each row, among the nodes of all trees.
    pub(super) leaves: &'a [u32],
    /// The root of the tree, and how many nodes it has.
    pub(super) root: usize,
    pub(super) count: usize,
    pub(super) weights: &'a [f64],
    /// What scores predict, and what that leaves over of the labels.
    pub(super) predictions: &'a [f64],
    pub(super) residuals: &'a [f64],
}

impl LeafRows<'_> {
    fn leaf(&self, row: usize) -> usize {
        self.leaves[row] as usize - self.root
    }
}

impl LeafSteps {
    /// For scores of so many numbers.
    pub(super) fn new(task: Task, width: usize) -> Self {
        Self { task, width, gradients: Vec::new(), curvatures: Vec::new() }
    }

    /// Appends the step of every node times the rate, zero where there is no row, and adds those of the leaves to the
    /// scores of their rows.
    pub(super) fn step(
        &mut self,
        rows: LeafRows,
        rate: f64,
        labels: &mut Vec<f64>,
        scores: &mut [f64],
    ) {
        let width = self.width;
        self.gradients.clear();
        self.gradients.resize(rows.count * width, 0.0);
        self.curvatures.clear();
        self.curvatures.resize(rows.count * width * width, 0.0);
        match self.task {
            Task::Regression => self.add_numbers(rows),
            Task::Classification { .. } => self.add_classes(rows),
        }
        let first = labels.len();
        self.solve(rate, labels);
        let steps = &labels[first..];
        for (row, scores) in scores.chunks_exact_mut(width).enumerate() {
            let step = &steps[rows.leaf(row) * width..][..width];
            scores.iter_mut().zip(step).for_each(|(score, step)| *score += step);
        }
    }

    /// Adds rows to their leaves: a loop of its own for numbers, which takes a third of the time.
    fn add_numbers(&mut self, rows: LeafRows) {
        for (row, (weight, residual)) in rows.weights.iter().zip(rows.residuals).enumerate() {
            let leaf = rows.leaf(row);
            self.gradients[leaf] += weight * residual;
            self.curvatures[leaf] += weight;
        }
    }

    /// The same for the scores of classes.
    fn add_classes(&mut self, rows: LeafRows) {
        let width = self.width;
        let given = rows.predictions.chunks_exact(width).zip(rows.residuals.chunks_exact(width));
        for (row, (weight, (p, residuals))) in rows.weights.iter().zip(given).enumerate() {
            let leaf = rows.leaf(row);
            let gradient = &mut self.gradients[leaf * width..][..width];
            gradient.iter_mut().zip(residuals).for_each(|(g, residual)| *g += weight * residual);
            let curvature = &mut self.curvatures[leaf * width * width..][..width * width];
            if width == 1 {
                curvature[0] += weight * p[0] * (1.0 - p[0]);
                continue;
            }
            for (k, row) in curvature.chunks_exact_mut(width).enumerate() {
                row.iter_mut().zip(p).for_each(|(h, q)| *h -= weight * p[k] * q);
                row[k] += weight * p[k];
            }
        }
    }

    /// Appends the step of every node times the rate.
    fn solve(&self, rate: f64, labels: &mut Vec<f64>) {
        let width = self.width;
        let is_regression = self.task == Task::Regression;
        if width == 1 {
            for (gradient, curvature) in self.gradients.iter().zip(&self.curvatures) {
                let step = if *curvature > f64::MIN_POSITIVE { gradient / curvature } else { 0.0 };
                let shortened = if is_regression { 1.0 } else { shortening(&[step]) };
                labels.push(rate * shortened * step);
            }
            return;
        }
        let leaves =
            self.gradients.chunks_exact(width).zip(self.curvatures.chunks_exact(width * width));
        for (gradient, curvature) in leaves {
            let step = newton_step(gradient, curvature);
            let shortened = if is_regression { 1.0 } else { shortening(&step) };
            labels.extend(step.iter().map(|n| rate * shortened * n));
        }
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
