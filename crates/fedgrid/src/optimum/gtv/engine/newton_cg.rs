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

use super::{Engine, EngineKind, StepEnd, curvatures::Curvatures};
use crate::{
    algebra::{add_scaled, dot, norm},
    error::Result,
    optimum::{
        gtv::{
            kernel::operators::{add_laplacian, pulls, with_duals},
            problem::{GtvProblem, PrimalDualPoint},
        },
        krylov::{Limit, conjugate_gradient},
    },
};

/// The iteration is left after so many steps: where Newton's method has not come near a minimum by then,
/// first-order steps go on.
const MAX_STEPS: usize = 60;
/// The share of what its slope promises that a step has to win (Armijo's rule, with his usual share).
const SUFFICIENT_SHARE: f64 = 1e-4;
/// Halvings of a step at most: below 2⁻⁴⁰ rounding is all that changes.
const MAX_HALVINGS: usize = 40;

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
        if !Curvatures::are_known(problem, w) {
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
        let curvatures = Curvatures::at(self.problem, &self.w)?;
        let blocks = curvatures.blocks(&self.pulls, 0.0)?;
        let apply = |v: &[f64], out: &mut [f64]| {
            curvatures.product(v, 0.0, out);
            add_laplacian(self.problem, v, out);
        };
        let precondition = |v: &[f64], out: &mut [f64]| blocks.solve(v, out);
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

/// The gradient of P.
fn gradient(problem: &GtvProblem, w: &[f64]) -> Vec<f64> {
    let mut gradient = problem.gradients(w);
    add_laplacian(problem, w, &mut gradient);
    gradient
}
