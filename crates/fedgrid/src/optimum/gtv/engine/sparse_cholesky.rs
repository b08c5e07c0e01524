//! The system of the squared norm by sparse Cholesky factors, where elimination fills in little: paths,
//! grids and networks of near neighbours. On random networks elimination fills everything in, and
//! conjugate gradients need few products; there this is not used.

use std::sync::Arc;

use crate::{
    algebra::{BlockCholesky, Pattern},
    optimum::gtv::{losses::NodeLoss, problem::GtvProblem},
};

/// The most neighbours a node may have on average when it is eliminated: beyond that conjugate gradients
/// are faster.
const MAX_MEAN_DEGREE: usize = 20;
/// Numbers in all blocks that are worth the time and memory: a quarter of a gigabyte.
const MAX_NUMBERS: usize = 1 << 25;

/// The factors of the system.
#[derive(Debug)]
pub(crate) struct SparseCholesky {
    size: usize,
    factor: BlockCholesky,
}

impl SparseCholesky {
    /// The factors, or none if there would be too many blocks or the system is singular.
    pub(crate) fn new(problem: &GtvProblem) -> Option<Self> {
        let (size, nodes) = (problem.losses.size, problem.len());
        let mut neighbours = vec![Vec::new(); nodes];
        let mut diagonal = vec![0.0; nodes * size * size];
        let blocks = diagonal.chunks_exact_mut((size * size).max(1)).enumerate();
        for (slot, block) in blocks {
            if let NodeLoss::Quadratic(quadratic) = problem.loss(slot) {
                block.copy_from_slice(&quadratic.hessian(size).matrix());
            }
        }
        // `2H_i + Σ c` on the diagonal, −c elsewhere.
        for (edge, from, to) in problem.layout.edge_ends() {
            let c = problem.strengths[edge];
            for (here, there) in [(from, to), (to, from)] {
                neighbours[here].push((there, c));
                (0..size).for_each(|k| diagonal[here * size * size + k * (size + 1)] += c);
            }
        }
        for own in &mut neighbours {
            own.sort_by_key(|(there, _)| *there);
        }
        let most = MAX_NUMBERS.min(MAX_MEAN_DEGREE * nodes * size * size);
        let pattern = Arc::new(Pattern::new(&neighbours, size, most)?);
        let factor = BlockCholesky::new(&pattern, size, &diagonal, (-1.0, size))?;
        Some(Self { size, factor })
    }

    /// Solves for rows of a width.
    pub(crate) fn solve(&self, rows: &mut [f64], width: usize) {
        let own = || rows.chunks_exact(width.max(1)).map(|row| &row[..self.size]);
        let mut packed: Vec<f64> = own().flatten().copied().collect();
        self.factor.solve(&mut packed, 1);
        let solved = packed.chunks_exact(self.size.max(1));
        for (row, solved) in rows.chunks_exact_mut(width.max(1)).zip(solved) {
            row[..self.size].copy_from_slice(solved);
        }
    }
}
