//! The system of the squared norm by sparse Cholesky factors, where elimination fills in little: paths,
//! grids and networks of near neighbours. On random networks elimination fills everything in, and
//! conjugate gradients need few products; there this is not used.

use crate::{
    algebra::BlockCholesky,
    optimum::gtv::{losses::NodeLoss, problem::GtvProblem},
};

/// The factors of the system.
#[derive(Debug)]
pub(crate) struct SparseCholesky {
    size: usize,
    factor: BlockCholesky,
    /// The node at each slot.
    nodes: Vec<usize>,
}

impl SparseCholesky {
    /// The factors, or none if there would be too many blocks or the system is singular.
    pub(crate) fn new(problem: &GtvProblem) -> Option<Self> {
        let (size, network) = (problem.losses.size, problem.network);
        let pattern = network.pattern(size)?;
        let block = size * size;
        let mut diagonal = vec![0.0; problem.len() * block];
        for (slot, &node) in problem.layout.nodes.iter().enumerate() {
            let own = &mut diagonal[node * block..(node + 1) * block];
            if let NodeLoss::Quadratic(quadratic) = problem.loss(slot) {
                own.copy_from_slice(&quadratic.hessian(size).matrix());
            }
            // `2H_i + Σ c` on the diagonal, −c elsewhere.
            let pull = problem.alpha * network.degree(node);
            own.iter_mut().step_by(size + 1).for_each(|entry| *entry += pull);
        }
        let factor = BlockCholesky::new(&pattern, size, &diagonal, (-problem.alpha, size))?;
        Some(Self { size, factor, nodes: problem.layout.nodes.clone() })
    }

    /// Solves for rows of a width.
    pub(crate) fn solve(&self, rows: &mut [f64], width: usize) {
        let mut packed = vec![0.0; self.nodes.len() * self.size];
        let places = || self.nodes.iter().map(|node| node * self.size..(node + 1) * self.size);
        for (row, place) in rows.chunks_exact(width.max(1)).zip(places()) {
            packed[place].copy_from_slice(&row[..self.size]);
        }
        self.factor.solve(&mut packed, 1);
        for (row, place) in rows.chunks_exact_mut(width.max(1)).zip(places()) {
            row[..self.size].copy_from_slice(&packed[place]);
        }
    }
}
