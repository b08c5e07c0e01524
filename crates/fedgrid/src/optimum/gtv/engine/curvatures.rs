//! The second derivatives of all losses at a point, and the blocks that systems of them are preconditioned
//! with,
//!
//! ```text
//! v ↦ ∇²L_i(w_i) v,      v ↦ (∇²L_i(w_i) + t_i I + shift)⁻¹ v
//! ```
//!
//! where the pull `t_i` of its edges acts on the weights of a node that are coupled. Least squares and nodes
//! without rows curve alike everywhere, so their spectra do; every other loss has a matrix.

use rayon::prelude::*;

use crate::{
    algebra::{Cholesky, add_scaled, dot},
    optimum::gtv::{losses::NodeLoss, problem::GtvProblem},
};

/// Numbers in all second derivatives that are worth the memory: half a gigabyte.
const MAX_NUMBERS: usize = 1 << 26;
/// What is added to the diagonal of a block relative to its largest: a block may be singular.
const DIAGONAL_SHIFT: f64 = 1e-12;

/// The second derivatives of all losses at a point.
#[derive(Debug)]
pub(crate) struct Curvatures<'a> {
    problem: &'a GtvProblem<'a>,
    /// The matrix of each slot; none where the spectrum of the loss is as good.
    matrices: Vec<Option<Vec<f64>>>,
}

impl<'a> Curvatures<'a> {
    /// Those at given weights; none if a model does not tell its second derivative, or there are too many.
    pub(super) fn at(problem: &'a GtvProblem<'a>, w: &[f64]) -> Option<Self> {
        let (losses, size) = (problem.losses, problem.losses.size);
        if !losses.is_quadratic() && problem.len() * size * size > MAX_NUMBERS {
            return None;
        }
        let matrix = |slot: usize| match problem.loss(slot) {
            // The pull of edges keeps the spectrum's basis only if it acts on all weights.
            NodeLoss::None | NodeLoss::Quadratic(_) if losses.coupled == size => Some(None),
            _ => losses.hessian(problem.layout.nodes[slot], problem.row(w, slot)).map(Some),
        };
        let matrices = (0..problem.len()).into_par_iter().map(matrix).collect::<Option<_>>()?;
        Some(Self { problem, matrices })
    }

    /// `out ← ∇²L v + shift v`.
    pub(super) fn product(&self, v: &[f64], shift: f64, out: &mut [f64]) {
        let (problem, size) = (self.problem, self.problem.losses.size);
        let rows = out.par_chunks_mut(problem.width).zip(&self.matrices).enumerate();
        rows.for_each(|(slot, (out, matrix))| {
            let row = problem.row(v, slot);
            out.fill(0.0);
            add_scaled(&mut out[..size], shift, row);
            match (matrix, problem.loss(slot)) {
                (Some(matrix), _) => {
                    let lines = matrix.chunks_exact(size.max(1));
                    out.iter_mut().zip(lines).for_each(|(out, line)| *out += dot(line, row));
                }
                (None, NodeLoss::Quadratic(quadratic)) => {
                    quadratic.add_curved(&mut out[..size], row);
                }
                (None, _) => {}
            }
        });
    }

    /// The diagonal blocks of a system in which edges pull so much at each slot; none if one has no
    /// factor.
    pub(super) fn blocks(&self, pulls: &'a [f64], shift: f64) -> Option<DiagonalBlocks<'a>> {
        let problem = self.problem;
        let factor = |(matrix, pull): (&Option<Vec<f64>>, &f64)| match matrix {
            None => Some(None),
            Some(matrix) => factor(problem, matrix.clone(), *pull, shift).map(Some),
        };
        let factors = self.matrices.par_iter().zip(pulls).map(factor).collect::<Option<_>>()?;
        Some(DiagonalBlocks { problem, pulls, shift, factors })
    }
}

/// The diagonal blocks of a system.
#[derive(Debug)]
pub(crate) struct DiagonalBlocks<'a> {
    problem: &'a GtvProblem<'a>,
    pulls: &'a [f64],
    shift: f64,
    /// The factor of each slot; none where the spectrum of the loss has it.
    factors: Vec<Option<Cholesky>>,
}

impl DiagonalBlocks<'_> {
    /// `out ← (∇²L_i + t_i I + shift)⁻¹ v` at every slot.
    pub(super) fn solve(&self, v: &[f64], out: &mut [f64]) {
        let (problem, size) = (self.problem, self.problem.losses.size);
        let rows = out.par_chunks_mut(problem.width).zip(&self.factors).enumerate();
        rows.for_each(|(slot, (out, factor))| {
            let (v, out) = (problem.row(v, slot), &mut out[..size]);
            if let Some(factor) = factor {
                out.copy_from_slice(v);
                factor.solve(out);
            } else {
                problem.loss(slot).shifted_inverse(self.pulls[slot] + self.shift, v, out);
            }
        });
    }
}

/// The factor of a block with the pull of edges.
fn factor(problem: &GtvProblem, mut block: Vec<f64>, pull: f64, shift: f64) -> Option<Cholesky> {
    let size = problem.losses.size;
    (0..problem.losses.coupled).for_each(|k| block[k * (size + 1)] += pull);
    let largest = (0..size).map(|k| block[k * (size + 1)]).fold(0.0, f64::max);
    let least = if largest > 0.0 { DIAGONAL_SHIFT * largest } else { 1.0 };
    (0..size).for_each(|k| block[k * (size + 1)] += shift.max(least));
    // Rounding may leave a singular block indefinite; its diagonal preconditions as well.
    Cholesky::new(block.clone(), size).or_else(|| {
        let entry = |k: usize| if k.is_multiple_of(size + 1) { block[k] } else { 0.0 };
        Cholesky::new((0..size * size).map(entry).collect(), size)
    })
}
