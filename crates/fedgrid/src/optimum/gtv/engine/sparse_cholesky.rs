//! The system of the squared norm by sparse Cholesky factors, where elimination fills in little: paths,
//! grids and networks of near neighbours.
//!
//! ```text
//! eliminate the node of fewest neighbours:   A_kk = L_k L_kᵀ,   B_ik = A_ik L_k⁻ᵀ,   A_ij ← A_ij − B_ik B_jkᵀ
//! ```
//!
//! Every entry is a block of a node's weights. On random networks elimination fills everything in, and
//! conjugate gradients need few products; there this is not used.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    algebra::{Cholesky, add_scaled, dot},
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
    steps: Vec<EliminatedNode>,
}

/// One elimination: the node, its own factor and its blocks with the nodes still there.
#[derive(Debug)]
struct EliminatedNode {
    slot: usize,
    factor: Cholesky,
    /// `A_ik` and `A_kk⁻¹ A_ki` for each neighbour i.
    blocks: Vec<(usize, Vec<f64>, Vec<f64>)>,
}

impl SparseCholesky {
    /// The factors, or none if there would be too many blocks or the system is singular.
    pub(crate) fn new(problem: &GtvProblem) -> Option<Self> {
        let size = problem.losses.size;
        let order = order(problem)?;
        let mut entries = entries(problem);
        let mut steps = Vec::with_capacity(order.len());
        for slot in order {
            let mut own = std::mem::take(&mut entries[slot]);
            let diagonal = own.remove(&slot)?;
            let factor = Cholesky::new(diagonal, size)?;
            let mut blocks = Vec::with_capacity(own.len());
            for (other, block) in own {
                // A block is not symmetric: its rows belong to the eliminated node.
                let mut solved = block.clone();
                columns_of(&mut solved, size, |column| factor.solve(column));
                blocks.push((other, block, solved));
            }
            for (i, left, _) in &blocks {
                entries[*i].remove(&slot);
                for (j, _, right) in &blocks {
                    let target = entries[*i].entry(*j).or_insert_with(|| vec![0.0; size * size]);
                    subtract_product(target, left, right, size);
                }
            }
            steps.push(EliminatedNode { slot, factor, blocks });
        }
        Some(Self { size, steps })
    }

    /// Solves for rows of a width.
    pub(crate) fn solve(&self, rows: &mut [f64], width: usize) {
        let size = self.size;
        for step in &self.steps {
            let own = rows[step.slot * width..][..size].to_vec();
            for (other, _, solved) in &step.blocks {
                let row = &mut rows[other * width..][..size];
                for (k, value) in own.iter().enumerate() {
                    add_scaled(row, -value, &solved[k * size..(k + 1) * size]);
                }
            }
        }
        for step in self.steps.iter().rev() {
            let mut own = rows[step.slot * width..][..size].to_vec();
            for (other, block, _) in &step.blocks {
                let row = &rows[other * width..][..size];
                for (k, value) in own.iter_mut().enumerate() {
                    *value -= dot(&block[k * size..(k + 1) * size], row);
                }
            }
            step.factor.solve(&mut own);
            rows[step.slot * width..][..size].copy_from_slice(&own);
        }
    }
}

/// Applies a function to every column of a square block.
fn columns_of(block: &mut [f64], size: usize, mut each: impl FnMut(&mut [f64])) {
    let mut column = vec![0.0; size];
    for k in 0..size {
        (0..size).for_each(|row| column[row] = block[row * size + k]);
        each(&mut column);
        (0..size).for_each(|row| block[row * size + k] = column[row]);
    }
}

/// `target ← target − leftᵀ right`.
fn subtract_product(target: &mut [f64], left: &[f64], right: &[f64], size: usize) {
    for k in 0..size {
        for (row, factor) in left[k * size..(k + 1) * size].iter().enumerate() {
            let out = &mut target[row * size..(row + 1) * size];
            add_scaled(out, -factor, &right[k * size..(k + 1) * size]);
        }
    }
}

/// The blocks of the system, by row: `2H_i + Σ c` on the diagonal, −c elsewhere.
fn entries(problem: &GtvProblem) -> Vec<BTreeMap<usize, Vec<f64>>> {
    let size = problem.losses.size;
    let scaled = |c: f64| -> Vec<f64> {
        (0..size * size).map(|k| if k / size == k % size { c } else { 0.0 }).collect()
    };
    let mut entries: Vec<BTreeMap<usize, Vec<f64>>> = (0..problem.len())
        .map(|slot| {
            let block = match problem.loss(slot) {
                NodeLoss::Quadratic(quadratic) => quadratic.hessian(size),
                _ => vec![0.0; size * size],
            };
            BTreeMap::from([(slot, block)])
        })
        .collect();
    for (edge, from, to) in problem.layout.edge_ends() {
        let c = problem.strengths[edge];
        for (here, there) in [(from, to), (to, from)] {
            if let Some(diagonal) = entries[here].get_mut(&here) {
                (0..size).for_each(|k| diagonal[k * size + k] += c);
            }
            entries[here].insert(there, scaled(-c));
        }
    }
    entries
}

/// The order of elimination, the node of fewest neighbours first; none if that fills in too much.
fn order(problem: &GtvProblem) -> Option<Vec<usize>> {
    let mut neighbours = vec![BTreeSet::new(); problem.len()];
    for (_, from, to) in problem.layout.edge_ends() {
        neighbours[from].insert(to);
        neighbours[to].insert(from);
    }
    let blocks =
        (MAX_NUMBERS / problem.losses.size.pow(2).max(1)).min(MAX_MEAN_DEGREE * problem.len());
    // Ordered sets, so that ties are broken by slots and every run has the same bits.
    let mut queue: BTreeSet<(usize, usize)> =
        neighbours.iter().enumerate().map(|(slot, own)| (own.len(), slot)).collect();
    let mut order = Vec::with_capacity(problem.len());
    let mut filled = 0;
    while let Some((degree, slot)) = queue.pop_first() {
        filled += degree;
        // A dense rest costs its square; stop before it is built.
        if filled + degree * queue.len().min(degree) / 2 > blocks {
            return None;
        }
        // Elimination joins all neighbours of the node to each other.
        let own = std::mem::take(&mut neighbours[slot]);
        for &i in &own {
            queue.remove(&(neighbours[i].len(), i));
            neighbours[i].remove(&slot);
            neighbours[i].extend(own.iter().filter(|&&j| j != i));
            queue.insert((neighbours[i].len(), i));
        }
        order.push(slot);
    }
    Some(order)
}
