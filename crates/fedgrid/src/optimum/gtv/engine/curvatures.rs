//! The second derivatives of all losses at a point, and the blocks that systems of them are preconditioned
//! with,
//!
//! ```text
//! v ↦ ∇²L_i(w_i) v,      v ↦ (∇²L_i(w_i) + t_i I + shift)⁻¹ v
//! ```
//!
//! where the pull `t_i` of its edges acts on the weights of a node that are coupled. Least squares and nodes
//! without rows curve alike everywhere, so their spectra do. Every other loss has `∇²L = d + RᵀR` with a line of R for a
//! row and output: few lines are multiplied one by one and solved for by Woodbury's formula,
//!
//! ```text
//! (D + RᵀR)⁻¹ v = y − D⁻¹ Rᵀ (I + R D⁻¹ Rᵀ)⁻¹ R y,      y = D⁻¹ v,      D = d + t + shift
//! ```
//!
//! many are summed up to a matrix.

use rayon::prelude::*;

use crate::{
    algebra::{Cholesky, Panel, add_scaled, dot, inner_products},
    model::SecondDerivative,
    optimum::gtv::{losses::NodeLoss, problem::GtvProblem},
};

/// Numbers in all second derivatives that are worth the memory: half a gigabyte.
const MAX_NUMBERS: usize = 1 << 26;
/// What is added to the diagonal of a block relative to its largest: a block may be singular.
const DIAGONAL_SHIFT: f64 = 1e-12;
/// Lines are fewer than this share of the weights where they are kept as they are: then a product costs half of one
/// with the matrix, and a factor an eighth at most.
const FEW_LINES_SHARE: f64 = 0.5;
/// The least entry of D, relative to the largest of the block, for which Woodbury's formula keeps half of the digits.
const LEAST_DIAGONAL_SHARE: f64 = 1e-8;

/// The second derivatives of all losses at a point.
#[derive(Debug)]
pub(crate) struct Curvatures<'a> {
    problem: &'a GtvProblem<'a>,
    /// The second derivative of each slot; none where the spectrum of the loss is as good.
    each: Vec<Option<Kept>>,
}

/// A second derivative as it is multiplied.
#[derive(Debug)]
enum Kept {
    Lines(SecondDerivative),
    Matrix(Vec<f64>),
}

impl Kept {
    fn new(whole: SecondDerivative) -> Self {
        let size = whole.diagonal.len();
        let is_thin = whole.lines.len() as f64 <= FEW_LINES_SHARE * (size * size) as f64;
        if is_thin { Self::Lines(whole) } else { Self::Matrix(whole.matrix()) }
    }

    /// `out ← out + ∇²L v`.
    fn add_product(&self, v: &[f64], out: &mut [f64]) {
        match self {
            Self::Matrix(matrix) => {
                let lines = matrix.chunks_exact(v.len().max(1));
                out.iter_mut().zip(lines).for_each(|(out, line)| *out += dot(line, v));
            }
            Self::Lines(SecondDerivative { diagonal, lines }) => {
                out.iter_mut().zip(diagonal.iter().zip(v)).for_each(|(out, (d, v))| *out += d * v);
                for line in lines.chunks_exact(v.len().max(1)) {
                    add_scaled(out, dot(line, v), line);
                }
            }
        }
    }

    /// The largest entry of its diagonal.
    fn largest(&self) -> f64 {
        let entry = |k: usize| match self {
            Self::Matrix(matrix) => matrix[k * (matrix.len().isqrt() + 1)],
            Self::Lines(SecondDerivative { diagonal, lines }) => {
                let column = lines.iter().skip(k).step_by(diagonal.len());
                diagonal[k] + column.map(|r| r * r).sum::<f64>()
            }
        };
        let size = match self {
            Self::Matrix(matrix) => matrix.len().isqrt(),
            Self::Lines(whole) => whole.diagonal.len(),
        };
        (0..size).map(entry).fold(0.0, f64::max)
    }
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
            _ => {
                let whole = losses.hessian(problem.layout.nodes[slot], problem.row(w, slot))?;
                Some(Some(Kept::new(whole)))
            }
        };
        let each = (0..problem.len()).into_par_iter().map(matrix).collect::<Option<_>>()?;
        Some(Self { problem, each })
    }

    /// Whether there are any.
    pub(super) fn are_known(problem: &GtvProblem, w: &[f64]) -> bool {
        let (losses, size) = (problem.losses, problem.losses.size);
        let is_known = |slot: usize| {
            !matches!(problem.loss(slot), NodeLoss::Convex(_))
                || losses.hessian(problem.layout.nodes[slot], problem.row(w, slot)).is_some()
        };
        let is_small = losses.is_quadratic() || problem.len() * size * size <= MAX_NUMBERS;
        is_small && (0..problem.len()).all(is_known)
    }

    /// `out ← ∇²L v + shift v`.
    pub(super) fn product(&self, v: &[f64], shift: f64, out: &mut [f64]) {
        let (problem, size) = (self.problem, self.problem.losses.size);
        let rows = out.par_chunks_mut(problem.width).zip(&self.each).enumerate();
        rows.for_each(|(slot, (out, kept))| {
            let row = problem.row(v, slot);
            out.fill(0.0);
            add_scaled(&mut out[..size], shift, row);
            match (kept, problem.loss(slot)) {
                (Some(kept), _) => kept.add_product(row, &mut out[..size]),
                (None, NodeLoss::Quadratic(quadratic)) => {
                    quadratic.add_curved(&mut out[..size], row);
                }
                (None, _) => {}
            }
        });
    }

    /// The diagonal blocks of a system in which edges pull so much at each slot; none if one has no
    /// factor.
    pub(super) fn blocks<'b>(&'b self, pulls: &'b [f64], shift: f64) -> Option<DiagonalBlocks<'b>> {
        let problem = self.problem;
        let factor = |(kept, pull): (&'b Option<Kept>, &f64)| match kept {
            None => Some(None),
            Some(kept) => Factor::new(kept, problem.losses.coupled, *pull, shift).map(Some),
        };
        let factors = self.each.par_iter().zip(pulls).map(factor).collect::<Option<_>>()?;
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
    factors: Vec<Option<Factor<'a>>>,
}

impl DiagonalBlocks<'_> {
    /// `out ← (∇²L_i + t_i I + shift)⁻¹ v` at every slot.
    pub(super) fn solve(&self, v: &[f64], out: &mut [f64]) {
        let (problem, size) = (self.problem, self.problem.losses.size);
        let rows = out.par_chunks_mut(problem.width).zip(&self.factors).enumerate();
        rows.for_each(|(slot, (out, factor))| {
            let (v, out) = (problem.row(v, slot), &mut out[..size]);
            if let Some(factor) = factor {
                factor.solve(v, out);
            } else {
                problem.loss(slot).shifted_inverse(self.pulls[slot] + self.shift, v, out);
            }
        });
    }
}

/// What solves for a block with the pull of its edges.
#[derive(Debug)]
enum Factor<'a> {
    Whole(Cholesky),
    /// One over D, the lines R, and the factor of `I + R D⁻¹ Rᵀ`.
    Lines(Vec<f64>, &'a [f64], Cholesky),
}

impl<'a> Factor<'a> {
    fn new(kept: &'a Kept, coupled: usize, pull: f64, shift: f64) -> Option<Self> {
        let largest = kept.largest() + pull;
        let least = if largest > 0.0 { DIAGONAL_SHIFT * largest } else { 1.0 };
        let added = |k: usize| shift.max(least) + if k < coupled { pull } else { 0.0 };
        let whole = |mut block: Vec<f64>| {
            let size = block.len().isqrt();
            (0..size).for_each(|k| block[k * (size + 1)] += added(k));
            // Rounding may leave a singular block indefinite; its diagonal preconditions as well.
            Cholesky::new(block.clone(), size).or_else(|| {
                let entry = |k: usize| if k.is_multiple_of(size + 1) { block[k] } else { 0.0 };
                Cholesky::new((0..size * size).map(entry).collect(), size)
            })
        };
        match kept {
            Kept::Matrix(matrix) => whole(matrix.clone()).map(Self::Whole),
            Kept::Lines(own) => {
                let SecondDerivative { diagonal, lines } = own;
                let entries = diagonal.iter().enumerate().map(|(k, d)| d + added(k));
                let smallest = entries.clone().fold(f64::INFINITY, f64::min);
                if smallest < LEAST_DIAGONAL_SHARE * largest {
                    return whole(own.matrix()).map(Self::Whole);
                }
                let inverse: Vec<f64> = entries.map(|d| 1.0 / d).collect();
                let inner = inner_matrix(lines, &inverse);
                let count = inner.len().isqrt();
                Some(Self::Lines(inverse, lines, Cholesky::new(inner, count)?))
            }
        }
    }

    /// `out ← (∇²L + t + shift)⁻¹ v`.
    fn solve(&self, v: &[f64], out: &mut [f64]) {
        match self {
            Self::Whole(factor) => {
                out.copy_from_slice(v);
                factor.solve(out);
            }
            Self::Lines(inverse, lines, inner) => {
                out.iter_mut().zip(inverse.iter().zip(v)).for_each(|(out, (i, v))| *out = i * v);
                let each = || lines.chunks_exact(v.len().max(1));
                let mut along: Vec<f64> = each().map(|line| dot(line, out)).collect();
                inner.solve(&mut along);
                let mut back = vec![0.0; v.len()];
                each().zip(&along).for_each(|(line, z)| add_scaled(&mut back, *z, line));
                let parts = out.iter_mut().zip(inverse.iter().zip(&back));
                parts.for_each(|(out, (i, back))| *out -= i * back);
            }
        }
    }
}

/// `I + R D⁻¹ Rᵀ` of lines R and one over D.
fn inner_matrix(lines: &[f64], inverse: &[f64]) -> Vec<f64> {
    let size = inverse.len().max(1);
    let scaled: Vec<f64> = lines
        .chunks_exact(size)
        .flat_map(|line| line.iter().zip(inverse).map(|(r, i)| r * i))
        .collect();
    let count = lines.len() / size;
    let mut inner = vec![0.0; count * count];
    let panel = |numbers| Panel { numbers, stride: size, rows: count };
    if count > 0 {
        inner_products(panel(lines), panel(&scaled), size, &mut inner);
    }
    inner.iter_mut().step_by(count + 1).for_each(|own| *own += 1.0);
    inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::squared_distance,
        random::{Purpose, Stream},
    };

    fn draw(count: usize) -> Vec<f64> {
        let mut stream = Stream::new(7, count, 0, Purpose::Data);
        (0..count).map(|_| stream.normal()).collect()
    }

    #[test]
    fn few_lines_multiply_and_solve_as_their_matrix_does() {
        let (size, coupled, shift) = (9, 7, 1e-3);
        let diagonal: Vec<f64> = (0..size).map(|k| if k < 8 { 0.2 } else { 0.0 }).collect();
        for count in 0..=4 {
            let whole = SecondDerivative { diagonal: diagonal.clone(), lines: draw(count * size) };
            let (lines, matrix) = (Kept::new(whole.clone()), Kept::Matrix(whole.matrix()));
            assert!(matches!(lines, Kept::Lines(_)), "{count}");
            assert!((lines.largest() - matrix.largest()).abs() < 1e-12);
            let v = draw(size + 100);
            let product = |kept: &Kept| {
                let mut out = vec![1.0; size];
                kept.add_product(&v[..size], &mut out);
                out
            };
            assert!(squared_distance(&product(&lines), &product(&matrix)) < 1e-24);
            // With next to no shift the formula would lose its digits, and the matrix is factored.
            for (shift, is_whole) in [(shift, false), (1e-12, true)] {
                let solved = |kept: &Kept| {
                    let factor = Factor::new(kept, coupled, 3.0, shift).unwrap();
                    let mut out = vec![0.0; size];
                    factor.solve(&v[..size], &mut out);
                    (out, matches!(factor, Factor::Whole(_)))
                };
                let ((a, was_whole), (b, _)) = (solved(&lines), solved(&matrix));
                assert_eq!(was_whole, is_whole, "{count} {shift}");
                let far = squared_distance(&a, &b).sqrt() / dot(&b, &b).sqrt();
                assert!(far < 1e-9, "{count} {shift}: {far}");
            }
        }
    }
}
