//! The squared norm with quadratic losses is one linear system,
//!
//! ```text
//! (2 H_i + α Σ_j A_ij) w_i − α Σ_j A_ij w_j = 2 q_i
//! ```
//!
//! solved by conjugate gradients with the diagonal blocks as preconditioner, each inverted in the basis where its H is
//! diagonal, to ever smaller residuals; and by sparse factors, where these are to be had, once they would have been
//! cheaper.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Engine, EngineKind, StepEnd, sparse_cholesky::SparseCholesky};
use crate::{
    algebra::{add_scaled, norm},
    error::Result,
    optimum::{
        gtv::{
            kernel::operators::{add_laplacian, pulls, with_duals},
            losses::NodeLoss,
            problem::{GtvProblem, PrimalDualPoint},
        },
        krylov::{Limit, conjugate_gradient, hopeful_conjugate_gradient},
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
    point: PrimalDualPoint,
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
    pub(super) fn new(problem: &'a GtvProblem<'a>, point: PrimalDualPoint, gap: f64) -> Self {
        let products = problem.network.products_of_factors(problem.losses.size);
        let first = (RESIDUAL_FACTOR * gap).clamp(LEAST_RESIDUAL, FIRST_RESIDUAL);
        Self {
            problem,
            point,
            before_factors: products.map(|products| products.max(LEAST_PRODUCTS)),
            factors: None,
            tolerance: if gap >= ROUGH_GAP { ROUGH_RESIDUAL } else { first },
            kind: EngineKind::ConjugateGradients,
            steps: 0,
        }
    }

    /// Conjugate gradients from where the solution stands; whether they have come to the tolerance.
    fn conjugate_gradients(&mut self, limit: Limit) -> bool {
        let (problem, right) = (self.problem, right(self.problem));
        // Without rows any common weights solve the system; zero is the shortest.
        if norm(&right) == 0.0 {
            self.point = with_duals(problem, vec![0.0; right.len()]);
            return true;
        }
        let pulls = pulls(problem);
        let apply = |v: &[f64], out: &mut [f64]| product(problem, v, out);
        let precondition = |v: &[f64], out: &mut [f64]| {
            if let Some(factors) = &self.factors {
                out.copy_from_slice(v);
                return factors.solve(out, problem.width);
            }
            each_row(problem, out, |slot, out| {
                let (v, out) = (problem.row(v, slot), &mut out[..problem.losses.size]);
                problem.loss(slot).shifted_inverse(pulls[slot], v, out);
            });
        };
        // Each solution starts the next, so smaller residuals cost only what is missing.
        let start = self.point.w.clone();
        let solved = if self.before_factors.is_some() {
            hopeful_conjugate_gradient((&apply, &precondition), &right, start, limit)
        } else {
            conjugate_gradient(&apply, &precondition, &right, start, limit)
        };
        self.point = with_duals(problem, solved.x);
        self.steps += solved.products;
        self.before_factors = self.before_factors.map(|left| left.saturating_sub(solved.products));
        solved.residual <= limit.tolerance
    }

    /// The solution by factors; false if there are none.
    fn factored(&mut self) -> bool {
        self.before_factors = None;
        let Some(factors) = SparseCholesky::new(self.problem) else { return false };
        let mut w = right(self.problem);
        factors.solve(&mut w, self.problem.width);
        self.point = with_duals(self.problem, w);
        self.kind = EngineKind::SparseFactors;
        self.factors = Some(factors);
        self.tolerance = self.tolerance.min(FIRST_RESIDUAL);
        self.steps += 1;
        true
    }
}

impl Engine for LinearSystem<'_> {
    fn step(&mut self, products: usize) -> Result<StepEnd> {
        let tolerance = self.tolerance;
        if let Some(most) = self.before_factors {
            let limit = Limit { tolerance, products: products.min(most) };
            if !self.conjugate_gradients(limit) && self.factored() {
                return Ok(StepEnd::Due);
            }
        } else {
            let most = if self.factors.is_some() { PRODUCTS_BEHIND_FACTORS } else { usize::MAX };
            self.conjugate_gradients(Limit { tolerance, products: products.min(most) });
        }
        self.tolerance = (RESIDUAL_FACTOR * tolerance).max(LEAST_RESIDUAL);
        Ok(if tolerance <= LEAST_RESIDUAL { StepEnd::Exhausted } else { StepEnd::Due })
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        (Cow::Borrowed(&self.point), self.kind)
    }
}

/// The right side 2q.
fn right(problem: &GtvProblem) -> Vec<f64> {
    let mut right = vec![0.0; problem.len() * problem.width];
    for (slot, row) in right.chunks_exact_mut(problem.width).enumerate() {
        if let NodeLoss::Quadratic(quadratic) = problem.loss(slot) {
            for (direction, _, q) in quadratic.terms(problem.losses.size) {
                add_scaled(&mut row[..problem.losses.size], 2.0 * q, direction);
            }
        }
    }
    right
}

/// Multiplications of rows with blocks that are worth a task.
const TASK_MULTIPLICATIONS: usize = 20_000;

/// Does something with the row of every slot.
fn each_row(problem: &GtvProblem, rows: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    let slots = TASK_MULTIPLICATIONS / (problem.width * problem.losses.size).max(1);
    let rows = rows.par_chunks_mut(problem.width).enumerate().with_min_len(slots.max(1));
    rows.for_each(|(slot, row)| work(slot, row));
}

fn product(problem: &GtvProblem, v: &[f64], out: &mut [f64]) {
    each_row(problem, out, |slot, out| {
        out.fill(0.0);
        if let NodeLoss::Quadratic(quadratic) = problem.loss(slot) {
            quadratic.add_curved(&mut out[..problem.losses.size], problem.row(v, slot));
        }
    });
    add_laplacian(problem, v, out);
}
