//! Newton's method for the squared norm with losses that are not quadratic,
//!
//! ```text
//! (∇²L + α DᵀAD) d = −∇P(w),      w ← w + t d
//! ```
//!
//! by conjugate gradients with the diagonal blocks as preconditioner, the more exactly the smaller
//! the gradient has become; t = 1 is halved until P falls enough. With the duals u = α A Dw
//! the gradient is all that is left of the optimality conditions.

use rayon::prelude::*;

use super::{frame::Frame, squared, sweep::Point};
use crate::{
    algebra::{Cholesky, add_scaled, dot, norm},
    optimum::krylov::{Limit, conjugate_gradient},
};

/// Numbers in all second derivatives that are worth the memory.
const NUMBERS: usize = 1 << 26;
/// A step has to win this share of what its slope promises.
const SUFFICIENT: f64 = 1e-4;
const MOST_HALVINGS: usize = 40;
/// What is added to the diagonal of a block relative to its largest: a block may be singular.
const SHIFT: f64 = 1e-12;

/// A running iteration.
#[derive(Debug)]
pub(super) struct Newton<'a> {
    frame: &'a Frame<'a>,
    w: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// The size of the first gradient.
    first: f64,
    pulls: Vec<f64>,
    /// Products with the second derivative so far.
    pub(super) products: usize,
}

impl<'a> Newton<'a> {
    /// From given weights; none if a model does not tell its second derivative, or there are too many.
    pub(super) fn new(frame: &'a Frame<'a>, w: &[f64]) -> Option<Self> {
        let size = frame.losses.size;
        let told = |place: usize| {
            frame.losses.hessian(frame.layout.nodes[place], frame.row(w, place)).is_some()
        };
        if frame.len() * size * size > NUMBERS || !(0..frame.len()).all(told) {
            return None;
        }
        let w = w.to_vec();
        let (value, gradient) = (frame.objective(&w), gradient(frame, &w));
        let first = norm(&gradient);
        Some(Self { frame, w, value, gradient, first, pulls: squared::pulls(frame), products: 0 })
    }

    /// Where the iteration stands, with the duals that follow.
    pub(super) fn point(&self) -> Point {
        squared::duals(self.frame, self.w.clone())
    }

    /// One step of at most so many products: by how much P would fall if it were a parabola, relative
    /// to P; none if P does not fall.
    pub(super) fn step(&mut self, products: usize) -> Option<f64> {
        let direction = self.direction(products)?;
        let slope = dot(&self.gradient, &direction);
        let mut step = 1.0;
        for _ in 0..MOST_HALVINGS {
            let mut w = self.w.clone();
            add_scaled(&mut w, step, &direction);
            let (value, gradient) = (self.frame.objective(&w), gradient(self.frame, &w));
            // Near the minimum the value's rounding hides its fall; the gradient's fall shows.
            let is_close = (value - self.value).abs() <= 1e-12 * self.value.abs();
            let is_smaller = norm(&gradient) < norm(&self.gradient);
            if value <= self.value + SUFFICIENT * step * slope && slope < 0.0
                || is_close && is_smaller
            {
                (self.w, self.value, self.gradient) = (w, value, gradient);
                return Some(-0.5 * slope / self.value.abs().max(f64::MIN_POSITIVE));
            }
            step *= 0.5;
        }
        None
    }

    fn direction(&mut self, products: usize) -> Option<Vec<f64>> {
        let (frame, width, size) = (self.frame, self.frame.width, self.frame.losses.size);
        let blocks: Vec<Block> = (0..frame.len())
            .into_par_iter()
            .map(|place| Block::new(frame, place, &self.w, self.pulls[place]))
            .collect::<Option<_>>()?;
        let apply = |v: &[f64], out: &mut [f64]| {
            out.par_chunks_mut(width).zip(&blocks).enumerate().for_each(|(place, (out, block))| {
                out.fill(0.0);
                let rows = block.hessian.chunks_exact(size.max(1));
                out.iter_mut()
                    .zip(rows)
                    .for_each(|(out, row)| *out = dot(row, frame.row(v, place)));
            });
            squared::add_pulled(frame, v, out);
        };
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            let rows = out.par_chunks_mut(width).zip(&blocks);
            rows.for_each(|(out, block)| block.factor.solve(&mut out[..size]));
        };
        let right: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let tolerance = (norm(&right) / self.first).sqrt().clamp(1e-8, 0.1);
        let start = vec![0.0; right.len()];
        let limit = Limit { tolerance, products };
        let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
        self.products += solved.products;
        Some(solved.x)
    }
}

/// The second derivative of a node's loss, and the factor of the diagonal block it is part of.
#[derive(Debug)]
struct Block {
    hessian: Vec<f64>,
    factor: Cholesky,
}

impl Block {
    fn new(frame: &Frame, place: usize, w: &[f64], pull: f64) -> Option<Self> {
        let size = frame.losses.size;
        let hessian = frame.losses.hessian(frame.layout.nodes[place], frame.row(w, place))?;
        let mut block = hessian.clone();
        (0..frame.losses.coupled).for_each(|k| block[k * (size + 1)] += pull);
        let largest = (0..size).map(|k| block[k * (size + 1)]).fold(0.0, f64::max);
        let shift = if largest > 0.0 { SHIFT * largest } else { 1.0 };
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
fn gradient(frame: &Frame, w: &[f64]) -> Vec<f64> {
    let mut gradient = frame.gradients(w);
    squared::add_pulled(frame, w, &mut gradient);
    gradient
}
