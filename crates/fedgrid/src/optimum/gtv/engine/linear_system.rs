//! The squared norm with quadratic losses is one linear system,
//!
//! ```text
//! (2 H_i + α Σ_j A_ij) w_i − α Σ_j A_ij w_j = 2 q_i
//! ```
//!
//! solved by sparse factors where there are few, and by conjugate gradients with the diagonal blocks as
//! preconditioner, each inverted in the basis where its H is diagonal, to ever smaller residuals.

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
        krylov::{Limit, conjugate_gradient},
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
/// the relative residual that is worth a certificate then,
const ROUGH_RESIDUAL: f64 = 1e-4;
/// and so many products at most for each weight of a node: where pulls are strong, factors are cheaper, whose cost goes
/// with a power more of the weights than that of products.
const ROUGH_PRODUCTS_PER_WEIGHT: usize = 10;

/// Products behind factors at most: what rounding has left of the residual is gone after a few, or stays.
const PRODUCTS_BEHIND_FACTORS: usize = 10;

/// How the system is solved next.
#[derive(Debug, Clone, Copy)]
enum Attempt {
    /// By a few conjugate gradients from the start.
    Rough,
    /// By factors, if there are few.
    Factors,
    /// By conjugate gradients.
    ConjugateGradients,
}

impl Attempt {
    fn after(self) -> Self {
        match self {
            Self::Rough => Self::Factors,
            Self::Factors | Self::ConjugateGradients => Self::ConjugateGradients,
        }
    }
}

/// The system and its solution so far.
pub(super) struct LinearSystem<'a> {
    problem: &'a GtvProblem<'a>,
    point: PrimalDualPoint,
    /// What is tried next.
    next: Attempt,
    /// The factors, once they are made.
    factors: Option<SparseCholesky>,
    /// The relative residual that the next conjugate gradients end at.
    tolerance: f64,
    kind: EngineKind,
    steps: usize,
}

impl<'a> LinearSystem<'a> {
    pub(super) fn new(problem: &'a GtvProblem<'a>, point: PrimalDualPoint, gap: f64) -> Self {
        Self {
            problem,
            point,
            next: if gap >= ROUGH_GAP { Attempt::Rough } else { Attempt::Factors },
            factors: None,
            tolerance: (RESIDUAL_FACTOR * gap).clamp(LEAST_RESIDUAL, FIRST_RESIDUAL),
            kind: EngineKind::ConjugateGradients,
            steps: 0,
        }
    }

    /// Conjugate gradients from where the solution stands; how many products they took.
    fn conjugate_gradients(&mut self, limit: Limit) -> usize {
        let (problem, right) = (self.problem, right(self.problem));
        // Without rows any common weights solve the system; zero is the shortest.
        if norm(&right) == 0.0 {
            self.point = with_duals(problem, vec![0.0; right.len()]);
            return 0;
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
        let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
        self.point = with_duals(problem, solved.x);
        solved.products
    }
}

impl Engine for LinearSystem<'_> {
    fn step(&mut self, products: usize) -> Result<StepEnd> {
        let attempt = self.next;
        self.next = attempt.after();
        match attempt {
            Attempt::Rough => {
                let most = ROUGH_PRODUCTS_PER_WEIGHT * self.problem.losses.size;
                let limit = Limit { tolerance: ROUGH_RESIDUAL, products: products.min(most) };
                self.steps += self.conjugate_gradients(limit);
                return Ok(StepEnd::Due);
            }
            Attempt::Factors => {
                if let Some(factors) = SparseCholesky::new(self.problem) {
                    let mut w = right(self.problem);
                    factors.solve(&mut w, self.problem.width);
                    self.point = with_duals(self.problem, w);
                    self.kind = EngineKind::SparseFactors;
                    self.factors = Some(factors);
                    self.steps += 1;
                    return Ok(StepEnd::Due);
                }
            }
            Attempt::ConjugateGradients => {}
        }
        let tolerance = self.tolerance;
        if self.factors.is_some() {
            let products = products.min(PRODUCTS_BEHIND_FACTORS);
            self.steps += self.conjugate_gradients(Limit { tolerance, products });
        } else {
            self.steps += self.conjugate_gradients(Limit { tolerance, products });
            self.kind = EngineKind::ConjugateGradients;
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
