//! The squared norm with quadratic losses is one linear system,
//!
//! ```text
//! (2 H_i + α Σ_j A_ij) w_i − α Σ_j A_ij w_j = 2 q_i
//! ```
//!
//! solved by conjugate gradients with the diagonal blocks as preconditioner, eight of them side by side, to ever smaller
//! residuals; and by sparse factors, where these are to be had, once they would have been
//! cheaper.

use std::borrow::Cow;

use super::{Engine, EngineKind, StepEnd, sparse_cholesky::SparseCholesky};
use crate::{
    algebra::{Batch, Factors, add_scaled, add_weighted_differences, norm, scale, triangle},
    error::Result,
    optimum::{
        gtv::{
            kernel::operators::with_duals,
            losses::NodeLoss,
            problem::{GtvProblem, PrimalDualPoint},
        },
        krylov::{Limit, conjugate_gradient, hopeful_conjugate_gradient},
        tasks::each_task,
    },
};

/// The relative residual below which rounding is all that is left.
const LEAST_RESIDUAL: f64 = 1e-14;
/// The relative residual to begin with at most: a gap goes with its square, so less would tell nothing.
const FIRST_RESIDUAL: f64 = 1e-6;
/// The factor from one residual to the next, and from the wanted gap to the first residual.
const RESIDUAL_FACTOR: f64 = 1e-2;

/// A gap that is good enough only to tell strengths apart,
const ROUGH_GAP: f64 = 1e-4;
/// and the relative residual that is worth a certificate then.
const ROUGH_RESIDUAL: f64 = 1e-4;
/// Products that are tried at least before factors: as many as settle weak pulls.
const LEAST_PRODUCTS: usize = 10;

/// Products behind factors at most: what rounding has left of the residual is gone after a few, or stays.
const PRODUCTS_BEHIND_FACTORS: usize = 10;

/// The system and its solution so far.
pub(super) struct LinearSystem<'a> {
    problem: &'a GtvProblem<'a>,
    /// The weights of all nodes, in their order.
    weights: Vec<f64>,
    right: Vec<f64>,
    /// The factors of the diagonal blocks.
    blocks: Factors,
    /// Products that are left before factors would have been cheaper; none where there are no factors, or they are made.
    before_factors: Option<usize>,
    /// The factors, once they are made.
    factors: Option<SparseCholesky>,
    /// The relative residual that the next conjugate gradients end at.
    tolerance: f64,
    kind: EngineKind,
    steps: usize,
}

impl<'a> LinearSystem<'a> {
    pub(super) fn new(problem: &'a GtvProblem<'a>, point: &PrimalDualPoint, gap: f64) -> Self {
        let products = problem.network.products_of_factors(problem.losses.size);
        let first = (RESIDUAL_FACTOR * gap).clamp(LEAST_RESIDUAL, FIRST_RESIDUAL);
        let (layout, size) = (&problem.layout, problem.losses.size);
        Self {
            problem,
            weights: layout.rows_out(&point.w, size, problem.width),
            right: right(problem),
            blocks: blocks(problem),
            before_factors: products.map(|products| products.max(LEAST_PRODUCTS)),
            factors: None,
            tolerance: if gap >= ROUGH_GAP { ROUGH_RESIDUAL } else { first },
            kind: EngineKind::ConjugateGradients,
            steps: 0,
        }
    }

    /// Conjugate gradients from where the solution stands; whether they have come to the tolerance.
    fn conjugate_gradients(&mut self, limit: Limit) -> bool {
        let (problem, right) = (self.problem, &self.right);
        // Without rows any common weights solve the system; zero is the shortest.
        if norm(right) == 0.0 {
            self.weights.fill(0.0);
            return true;
        }
        let apply = |v: &[f64], out: &mut [f64]| product(problem, v, out);
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            match &self.factors {
                Some(factors) => factors.solve(out),
                None => each_task(out, problem.losses.size, |first, out| {
                    self.blocks.solve(first, out);
                }),
            }
        };
        // Each solution starts the next, so smaller residuals cost only what is missing.
        let start = self.weights.clone();
        let solved = if self.before_factors.is_some() {
            hopeful_conjugate_gradient((&apply, &precondition), right, start, limit)
        } else {
            conjugate_gradient(&apply, &precondition, right, start, limit)
        };
        self.weights = solved.x;
        self.steps += solved.products;
        self.before_factors = self.before_factors.map(|left| left.saturating_sub(solved.products));
        solved.residual <= limit.tolerance
    }

    /// The solution by factors; false if there are none that are exact.
    fn factored(&mut self) -> bool {
        self.before_factors = None;
        let Some(factors) = SparseCholesky::new(self.problem) else { return false };
        let is_exact = factors.is_exact();
        if is_exact {
            self.weights.copy_from_slice(&self.right);
            factors.solve(&mut self.weights);
            self.kind = EngineKind::SparseFactors;
            self.tolerance = self.tolerance.min(FIRST_RESIDUAL);
            self.steps += 1;
        }
        self.factors = Some(factors);
        is_exact
    }
}

impl Engine for LinearSystem<'_> {
    fn step(&mut self, products: usize) -> Result<StepEnd> {
        let tolerance = self.tolerance;
        if let Some(most) = self.before_factors {
            let (before, products_before) = (self.steps, products.min(most));
            if !self.conjugate_gradients(Limit { tolerance, products: products_before }) {
                if self.factored() {
                    return Ok(StepEnd::Due);
                }
                let products = products.saturating_sub(self.steps - before);
                self.conjugate_gradients(Limit { tolerance, products });
            }
        } else {
            let is_exact = self.factors.as_ref().is_some_and(SparseCholesky::is_exact);
            let most = if is_exact { PRODUCTS_BEHIND_FACTORS } else { usize::MAX };
            self.conjugate_gradients(Limit { tolerance, products: products.min(most) });
        }
        self.tolerance = (RESIDUAL_FACTOR * tolerance).max(LEAST_RESIDUAL);
        Ok(if tolerance <= LEAST_RESIDUAL { StepEnd::Exhausted } else { StepEnd::Due })
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        let problem = self.problem;
        let rows = problem.layout.rows_in(&self.weights, problem.losses.size, problem.width);
        (Cow::Owned(with_duals(problem, rows)), self.kind)
    }
}

/// The right side 2q.
fn right(problem: &GtvProblem) -> Vec<f64> {
    let size = problem.losses.size;
    let mut right = vec![0.0; problem.len() * size];
    for (loss, row) in problem.losses.each.iter().zip(right.chunks_exact_mut(size.max(1))) {
        if let NodeLoss::Quadratic(quadratic) = loss {
            for (direction, _, q) in quadratic.terms(size) {
                add_scaled(row, 2.0 * q, direction);
            }
        }
    }
    right
}

/// The factors of `2 H_i + α Σ_j A_ij`.
fn blocks(problem: &GtvProblem) -> Factors {
    let (size, curvatures) = (problem.losses.size, problem.losses.curvatures());
    Factors::new(Batch::new(problem.len(), size, |first, triangles| {
        for (node, own) in (first..).zip(triangles.chunks_exact_mut(triangle(size).max(1))) {
            curvatures.add_to(own, node);
            let pull = problem.alpha * problem.network.degree(node);
            (0..size).for_each(|k| own[triangle(k) + k] += pull);
        }
    }))
}

/// `out ← A v`: by differences, which lose no digits under a strong pull, where neighbours are close.
fn product(problem: &GtvProblem, v: &[f64], out: &mut [f64]) {
    let (size, network) = (problem.losses.size, problem.network);
    let curvatures = problem.losses.curvatures();
    each_task(out, size, |first, out| {
        out.fill(0.0);
        let own = &v[first * size..][..out.len()];
        let rows = out.chunks_exact_mut(size.max(1)).zip(own.chunks_exact(size.max(1)));
        for (node, (out, own)) in (first..).zip(rows) {
            add_weighted_differences(out, own, network.neighbours(node), v);
        }
        scale(out, problem.alpha);
        curvatures.add_product(out, 1.0, first, own);
    });
}
