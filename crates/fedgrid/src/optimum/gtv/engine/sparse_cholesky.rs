//! The system of the squared norm by sparse Cholesky factors, where elimination fills in little: paths,
//! grids and networks of near neighbours. Where it fills in more, all nodes have the mean block, as a
//! preconditioner. On random networks elimination fills everything in, and conjugate gradients need few
//! products; there this is not used.

use crate::{
    algebra::{BlockCholesky, scale, triangle},
    optimum::{gtv::problem::GtvProblem, mean_block::MeanBlock},
};

/// The factors of the system.
#[derive(Debug)]
pub(crate) enum SparseCholesky {
    Blocks(BlockCholesky),
    /// Of the system with the mean block at every node.
    Mean(MeanBlock),
}

impl SparseCholesky {
    /// The factors, or none if there would be too many numbers or the system is singular.
    pub(crate) fn new(problem: &GtvProblem) -> Option<Self> {
        let (size, network, alpha) = (problem.losses.size, problem.network, problem.alpha);
        let curvatures = problem.losses.curvatures();
        let Some(pattern) = network.pattern(size) else {
            let mut lower = vec![0.0; triangle(size)];
            (0..network.len()).for_each(|node| curvatures.add_to(&mut lower, node));
            scale(&mut lower, 1.0 / network.len() as f64);
            let mut mean = vec![0.0; size * size];
            write_square(&lower, &mut mean, size);
            return MeanBlock::new(network, alpha, &mean, size).map(Self::Mean);
        };
        let mut lower = vec![0.0; triangle(size)];
        let mut diagonal = vec![0.0; network.len() * size * size];
        for (node, block) in diagonal.chunks_exact_mut((size * size).max(1)).enumerate() {
            lower.fill(0.0);
            curvatures.add_to(&mut lower, node);
            write_square(&lower, block, size);
            // `2H_i + Σ c` on the diagonal, −c elsewhere.
            let pull = alpha * network.degree(node);
            block.iter_mut().step_by(size + 1).for_each(|entry| *entry += pull);
        }
        BlockCholesky::new(&pattern, size, &diagonal, (-alpha, size)).map(Self::Blocks)
    }

    /// Whether these are the factors of the system itself.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Blocks(_))
    }

    /// Solves for the rows of all nodes, in their order.
    pub(crate) fn solve(&self, rows: &mut [f64]) {
        match self {
            Self::Blocks(factor) => factor.solve(rows, 1),
            Self::Mean(mean) => mean.solve(rows),
        }
    }
}

/// The symmetric matrix of a triangle.
fn write_square(lower: &[f64], square: &mut [f64], size: usize) {
    for row in 0..size {
        for column in 0..=row {
            let entry = lower[triangle(row) + column];
            (square[row * size + column], square[column * size + row]) = (entry, entry);
        }
    }
}
