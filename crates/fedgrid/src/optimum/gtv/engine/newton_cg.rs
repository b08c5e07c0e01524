//! Newton's method for the squared norm with losses that are not quadratic,
//!
//! ```text
//! (∇²L + α DᵀAD) d = −∇P(w),      w ← w + t d
//! ```
//!
//! by conjugate gradients with the diagonal blocks as preconditioner, the more exactly the smaller
//! the gradient has become; t = 1 is halved until P falls enough. With the duals u = α A Dw
//! the gradient is all that is left of the optimality conditions.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Engine, EngineKind, StepEnd};
use crate::{
    algebra::{Cholesky, add_scaled, dot, norm},
    error::Result,
    optimum::{
        gtv::{
            kernel::operators::{add_laplacian, pulls, with_duals},
            problem::{GtvProblem, PrimalDualPoint},
        },
        krylov::{Limit, conjugate_gradient},
    },
};

/// Numbers in all second derivatives that are worth the memory: half a gigabyte.
const MAX_NUMBERS: usize = 1 << 26;
/// The iteration is left after so many steps: where Newton's method has not come near a minimum by then,
/// first-order steps go on.
const MAX_STEPS: usize = 60;
/// The share of what its slope promises that a step has to win (Armijo's rule, with his usual share).
const SUFFICIENT_SHARE: f64 = 1e-4;
/// Halvings of a step at most: below 2⁻⁴⁰ rounding is all that changes.
const MAX_HALVINGS: usize = 40;
/// What is added to the diagonal of a block relative to its largest: a block may be singular.
const DIAGONAL_SHIFT: f64 = 1e-12;

/// A running iteration.
#[derive(Debug)]
pub(crate) struct NewtonCg<'a> {
    problem: &'a GtvProblem<'a>,
    w: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// The size of the first gradient.
    first: f64,
    pulls: Vec<f64>,
    /// The fall of P, relative to P, that makes a point worth a certificate.
    enough: f64,
    /// Products with the second derivative in all steps so far, and how many steps there were.
    products: usize,
    descents: usize,
}

impl<'a> NewtonCg<'a> {
    /// From given weights; none if a model does not tell its second derivative, or there are too many.
    pub(super) fn new(problem: &'a GtvProblem<'a>, w: &[f64], enough: f64) -> Option<Self> {
        let size = problem.losses.size;
        let told = |slot: usize| {
            problem.losses.hessian(problem.layout.nodes[slot], problem.row(w, slot)).is_some()
        };
        if problem.len() * size * size > MAX_NUMBERS || !(0..problem.len()).all(told) {
            return None;
        }
        let w = w.to_vec();
        let (value, gradient) = (problem.objective(&w), gradient(problem, &w));
        let first = norm(&gradient);
        let pulls = pulls(problem);
        Some(Self { problem, w, value, gradient, first, pulls, enough, products: 0, descents: 0 })
    }

    /// One step of at most so many products: by how much P would fall if it were a parabola, relative
    /// to P; none if P does not fall.
    fn descend(&mut self, products: usize) -> Option<f64> {
        let (direction, products) = self.direction(products)?;
        let slope = dot(&self.gradient, &direction);
        let mut step = 1.0;
        for _ in 0..MAX_HALVINGS {
            let mut w = self.w.clone();
            add_scaled(&mut w, step, &direction);
            let (value, gradient) = (self.problem.objective(&w), gradient(self.problem, &w));
            // Near the minimum the value's rounding hides its fall; the gradient's fall shows.
            let is_close = (value - self.value).abs() <= 1e-12 * self.value.abs();
            let is_smaller = norm(&gradient) < norm(&self.gradient);
            if value <= self.value + SUFFICIENT_SHARE * step * slope && slope < 0.0
                || is_close && is_smaller
            {
                (self.w, self.value, self.gradient) = (w, value, gradient);
                self.products += products;
                return Some(-0.5 * slope / self.value.abs().max(f64::MIN_POSITIVE));
            }
            step *= 0.5;
        }
        None
    }

    /// Where to go, and by how many products that was found.
    fn direction(&self, products: usize) -> Option<(Vec<f64>, usize)> {
        let (problem, width, size) = (self.problem, self.problem.width, self.problem.losses.size);
        let blocks: Vec<HessianBlock> = (0..problem.len())
            .into_par_iter()
            .map(|slot| HessianBlock::new(problem, slot, &self.w, self.pulls[slot]))
            .collect::<Option<_>>()?;
        let apply = |v: &[f64], out: &mut [f64]| {
            out.par_chunks_mut(width).zip(&blocks).enumerate().for_each(|(slot, (out, block))| {
                out.fill(0.0);
                let rows = block.hessian.chunks_exact(size.max(1));
                out.iter_mut()
                    .zip(rows)
                    .for_each(|(out, row)| *out = dot(row, problem.row(v, slot)));
            });
            add_laplacian(problem, v, out);
        };
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            let rows = out.par_chunks_mut(width).zip(&blocks);
            rows.for_each(|(out, block)| block.factor.solve(&mut out[..size]));
        };
        let right: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        // The more exactly the smaller the gradient: far away an exact direction is wasted.
        let tolerance = (norm(&right) / self.first).sqrt().clamp(1e-8, 0.1);
        let start = vec![0.0; right.len()];
        let limit = Limit { tolerance, products };
        let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
        Some((solved.x, solved.products))
    }
}

impl Engine for NewtonCg<'_> {
    fn step(&mut self, products: usize) -> Result<StepEnd> {
        if self.descents == MAX_STEPS {
            return Ok(StepEnd::Exhausted);
        }
        self.descents += 1;
        Ok(match self.descend(products) {
            None => StepEnd::Exhausted,
            Some(fall) if fall <= self.enough => StepEnd::Due,
            Some(_) => StepEnd::Running,
        })
    }

    fn steps(&self) -> usize {
        self.products
    }

    /// The weights, with the duals that follow.
    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        (Cow::Owned(with_duals(self.problem, self.w.clone())), EngineKind::NewtonCg)
    }
}

/// The second derivative of a node's loss, and the factor of the diagonal block it is part of.
#[derive(Debug)]
struct HessianBlock {
    hessian: Vec<f64>,
    factor: Cholesky,
}

impl HessianBlock {
    fn new(problem: &GtvProblem, slot: usize, w: &[f64], pull: f64) -> Option<Self> {
        let size = problem.losses.size;
        let hessian = problem.losses.hessian(problem.layout.nodes[slot], problem.row(w, slot))?;
        let mut block = hessian.clone();
        (0..problem.losses.coupled).for_each(|k| block[k * (size + 1)] += pull);
        let largest = (0..size).map(|k| block[k * (size + 1)]).fold(0.0, f64::max);
        let shift = if largest > 0.0 { DIAGONAL_SHIFT * largest } else { 1.0 };
        (0..size).for_each(|k| block[k * (size + 1)] += shift);
        // Rounding may leave a singular block indefinite; its diagonal preconditions as well.
        let factor = Cholesky::new(block.clone(), size).or_else(|| {
            let entry = |k: usize| if k.is_multiple_of(size + 1) { block[k] } else { 0.0 };
            Cholesky::new((0..size * size).map(entry).collect(), size)
        })?;
        Some(Self { hessian, factor })
    }
}

/// The gradient of P.
fn gradient(problem: &GtvProblem, w: &[f64]) -> Vec<f64> {
    let mut gradient = problem.gradients(w);
    add_laplacian(problem, w, &mut gradient);
    gradient
}
