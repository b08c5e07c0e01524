//! Systems with a small dense block for every node and every edge of a network, by sparse Cholesky
//! factors, with the entries of their inverse that belong to nodes and edges.
//!
//! ```text
//! M = blockdiag(D_i) + c · A ⊗ I          A the weights of the edges
//! M = L Lᵀ,   Z = M⁻¹ where L is not zero
//! ```
//!
//! The order of elimination keeps L sparse (`order.rs`), columns with nearly the same rows are worked on as
//! one (`pattern.rs`, `factor.rs`, `inverse.rs`), and what does not depend on each other at the same time
//! (`tree.rs`). Without an edge blocks are worked on one by one (`apart.rs`). The number of threads changes no
//! bit.

mod apart;
mod factor;
mod inverse;
mod kernel;
mod narrow;
mod order;
mod pattern;
mod solve;
mod tree;
mod triangle;

use std::sync::Arc;

pub(super) use kernel::{Part, Place, Strips, add_product};
pub use pattern::Pattern;

use self::{
    apart::Apart,
    factor::{Columns, Entries},
};

/// The factor of a matrix.
#[derive(Debug)]
pub struct BlockCholesky {
    size: usize,
    parts: Parts,
    log_determinant: f64,
}

#[derive(Debug)]
enum Parts {
    /// The supernodes of nodes that edges join, and the rows of a block that these touch, from the first on.
    Joined { pattern: Arc<Pattern>, coupled: usize, supernodes: Vec<Columns> },
    /// The blocks of nodes alone.
    Apart(Apart),
}

/// The blocks of the inverse of a matrix that belong to nodes, and a sum over those of edges.
#[derive(Debug)]
pub struct SelectedInverse {
    size: usize,
    /// The blocks of nodes, in their order.
    blocks: Vec<f64>,
    weighted_traces: f64,
}

impl BlockCholesky {
    /// Factors the matrix with these blocks of nodes (in the order of nodes, `size`² numbers each) and
    /// `coupling · weight` for every edge on the diagonal of its block, in its first `coupled` rows; none if it is
    /// not positive definite.
    #[must_use]
    pub fn new(
        pattern: &Arc<Pattern>,
        size: usize,
        diagonal: &[f64],
        (coupling, coupled): (f64, usize),
    ) -> Option<Self> {
        // Then no block is filled in, and fronts would only copy what is there.
        if coupling == 0.0 {
            let (apart, log_determinant) = Apart::new(size, diagonal)?;
            return Some(Self { size, parts: Parts::Apart(apart), log_determinant });
        }
        let entries = Entries { size, diagonal, coupling, coupled };
        let supernodes =
            pattern.up(|index, handed| factor::eliminated(pattern, index, entries, handed))?;
        let log_determinant = supernodes.iter().map(|columns| columns.log_determinant).sum();
        let parts = Parts::Joined { pattern: pattern.clone(), coupled, supernodes };
        Some(Self { size, parts, log_determinant })
    }

    /// The logarithm of the determinant.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        self.log_determinant
    }

    /// Solves for `width` right-hand sides at once: `b` has `size` rows of so many numbers per node.
    pub fn solve(&self, b: &mut [f64], width: usize) {
        let own = self.size * width;
        if own == 0 {
            return;
        }
        let (pattern, supernodes) = match &self.parts {
            Parts::Joined { pattern, supernodes, .. } => (&**pattern, supernodes),
            Parts::Apart(apart) => return apart.solve(b, width),
        };
        if width <= narrow::MOST_SIDES {
            return narrow::solve(pattern, supernodes, b, (self.size, width));
        }
        let side = |index: usize| -> Vec<f64> {
            let nodes = &pattern.nodes[pattern.supernodes[index].columns.clone()];
            nodes.iter().flat_map(|&node| &b[node * own..(node + 1) * own]).copied().collect()
        };
        let up = pattern.up(|index, handed| {
            let columns = &supernodes[index];
            Some(solve::forward(pattern, index, columns, (side(index), width), handed))
        });
        let Some(up) = up else { return };
        let down = pattern.down(|index, of_rows| {
            let columns = &supernodes[index];
            solve::backward(pattern, index, columns, (&up[index], width), of_rows)
        });
        let solved = down.iter().flat_map(|x| x.chunks_exact(own));
        for (&node, x) in pattern.nodes.iter().zip(solved) {
            b[node * own..(node + 1) * own].copy_from_slice(x);
        }
    }

    /// The blocks of the inverse that belong to nodes and edges.
    #[must_use]
    pub fn selected_inverse(&self) -> SelectedInverse {
        let (size, block) = (self.size, self.size * self.size);
        let (pattern, coupled, supernodes) = match &self.parts {
            Parts::Joined { pattern, coupled, supernodes } => (pattern, *coupled, supernodes),
            Parts::Apart(apart) => {
                return SelectedInverse { size, blocks: apart.inverses(), weighted_traces: 0.0 };
            }
        };
        let selected = pattern.down(|index, of_rows| {
            inverse::inverted(pattern, index, &supernodes[index], (size, coupled), of_rows)
        });
        let mut blocks = vec![0.0; pattern.len() * block];
        let own = selected.iter().flat_map(|own| own.blocks.chunks_exact(block.max(1)));
        for (&node, own) in pattern.nodes.iter().zip(own) {
            blocks[node * block..(node + 1) * block].copy_from_slice(own);
        }
        let weighted_traces = selected.iter().map(|own| own.weighted_traces).sum();
        SelectedInverse { size, blocks, weighted_traces }
    }
}

impl SelectedInverse {
    /// The block of a node.
    #[must_use]
    pub fn node(&self, node: usize) -> &[f64] {
        let block = self.size * self.size;
        &self.blocks[node * block..][..block]
    }

    /// The sum over the edges, each once, of their weight times the trace of their block, in the rows that they
    /// touch.
    #[must_use]
    pub fn weighted_traces(&self) -> f64 {
        self.weighted_traces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Cholesky;
    use crate::random::{Purpose, Stream};

    /// A random sparse matrix, and its dense form.
    fn example(nodes: usize, size: usize, seed: u64) -> (Arc<Pattern>, Vec<f64>, Vec<f64>) {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let mut neighbours = vec![Vec::new(); nodes];
        for i in 0..nodes {
            for j in 0..i {
                if stream.uniform() < 3.0 / nodes as f64 {
                    let weight = stream.uniform() + 0.1;
                    neighbours[i].push((j, weight));
                    neighbours[j].push((i, weight));
                }
            }
        }
        let mut diagonal = vec![0.0; nodes * size * size];
        for (node, block) in diagonal.chunks_exact_mut(size * size).enumerate() {
            for _ in 0..2 * size {
                let x: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
                crate::algebra::add_outer(block, 0.3, &x);
            }
            let degree: f64 = neighbours[node].iter().map(|(_, weight)| weight).sum();
            block.iter_mut().step_by(size + 1).for_each(|entry| *entry += degree + 0.1);
        }
        let width = nodes * size;
        let mut dense = vec![0.0; width * width];
        for node in 0..nodes {
            for row in 0..size {
                for column in 0..size {
                    dense[(node * size + row) * width + node * size + column] =
                        diagonal[node * size * size + row * size + column];
                }
                for &(other, weight) in &neighbours[node] {
                    dense[(node * size + row) * width + other * size + row] = -weight;
                }
            }
        }
        (Arc::new(Pattern::new(&neighbours, size, usize::MAX).unwrap()), diagonal, dense)
    }

    #[test]
    fn solutions_determinants_and_selected_entries_are_those_of_the_dense_matrix() {
        for (nodes, size) in [(1, 3), (12, 1), (25, 2), (20, 5), (300, 3), (60, 26)] {
            let (pattern, diagonal, dense) = example(nodes, size, 7);
            let width = nodes * size;
            let factor = BlockCholesky::new(&pattern, size, &diagonal, (-1.0, size)).unwrap();
            let reference = Cholesky::new(dense.clone(), width).unwrap();
            assert!((factor.log_determinant() - reference.log_determinant()).abs() < 1e-10);
            let mut sides: Vec<f64> = (0..width * 2).map(|k| (k as f64).sin()).collect();
            let expected: Vec<Vec<f64>> = (0..2)
                .map(|side| {
                    let mut b: Vec<f64> = (0..width).map(|k| sides[k * 2 + side]).collect();
                    reference.solve(&mut b);
                    b
                })
                .collect();
            factor.solve(&mut sides, 2);
            for k in 0..width {
                for side in 0..2 {
                    assert!((sides[k * 2 + side] - expected[side][k]).abs() < 1e-11);
                }
            }
            check_inverse(&factor, &reference, &dense, (nodes, size));
        }
    }

    fn check_inverse(
        factor: &BlockCholesky,
        reference: &Cholesky,
        dense: &[f64],
        (nodes, size): (usize, usize),
    ) {
        let width = nodes * size;
        let inverse = factor.selected_inverse();
        let mut traces = 0.0;
        for k in 0..width {
            let mut column = vec![0.0; width];
            column[k] = 1.0;
            reference.solve(&mut column);
            let node = k / size;
            for row in 0..size {
                let found = inverse.node(node)[row * size + k % size];
                assert!((found - column[node * size + row]).abs() < 1e-11);
            }
            // An edge's weight is minus the entry of the matrix beside its diagonal.
            for other in (0..node).map(|other| other * size + k % size) {
                traces -= dense[k * width + other] * column[other];
            }
        }
        assert!((inverse.weighted_traces() - traces).abs() < 1e-10);
    }

    #[test]
    fn blocks_without_an_edge_are_those_of_dense_matrices() {
        for size in [1, 2, 5, 26] {
            let (pattern, mut diagonal, _) = example(130, size, 5);
            let factor = BlockCholesky::new(&pattern, size, &diagonal, (0.0, size)).unwrap();
            let (inverse, mut logarithm) = (factor.selected_inverse(), 0.0);
            let mut sides: Vec<f64> = (0..130 * size * 2).map(|k| (k as f64).sin()).collect();
            let given = sides.clone();
            factor.solve(&mut sides, 2);
            for (node, block) in diagonal.chunks_exact(size * size).enumerate() {
                let reference = Cholesky::new(block.to_vec(), size).unwrap();
                logarithm += reference.log_determinant();
                for k in 0..size {
                    let mut column = vec![0.0; size];
                    column[k] = 1.0;
                    reference.solve(&mut column);
                    for (row, entry) in column.iter().enumerate() {
                        assert!((inverse.node(node)[row * size + k] - entry).abs() < 1e-12);
                    }
                }
                for side in 0..2 {
                    let at = |row: usize| (node * size + row) * 2 + side;
                    let mut x: Vec<f64> = (0..size).map(|row| given[at(row)]).collect();
                    reference.solve(&mut x);
                    assert!((0..size).all(|row| (sides[at(row)] - x[row]).abs() < 1e-12));
                }
            }
            assert!((factor.log_determinant() - logarithm).abs() < 1e-9);
            assert_eq!(inverse.weighted_traces().to_bits(), 0.0_f64.to_bits());
            diagonal[size * size] = -1.0;
            assert!(BlockCholesky::new(&pattern, size, &diagonal, (0.0, size)).is_none());
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let (pattern, diagonal, _) = example(400, 3, 3);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let factor = BlockCholesky::new(&pattern, 3, &diagonal, (-1.0, 3)).unwrap();
                let mut x: Vec<f64> = (0..diagonal.len() / 3).map(|k| (k as f64).sin()).collect();
                factor.solve(&mut x, 1);
                let inverse = factor.selected_inverse();
                let Parts::Joined { supernodes, .. } = factor.parts else { panic!() };
                (supernodes, x, inverse.blocks, inverse.weighted_traces)
            })
        };
        assert_eq!(run(1), run(8));
    }

    #[test]
    fn the_order_of_nodes_does_not_matter() {
        let (nodes, size) = (120, 2);
        let (place, back) = (|node: usize| (7 * node + 3) % 120, |at: usize| (103 * at + 51) % 120);
        let edges: Vec<(usize, usize)> =
            (0..nodes).map(|i| (i, (i + 1 + i * i % 11) % nodes)).collect();
        let blocks = |original: &dyn Fn(usize) -> usize| -> Vec<f64> {
            (0..nodes).flat_map(|at| [25.0 + original(at) as f64, 0.5, 0.5, 24.0]).collect()
        };
        let inverse = |to: &dyn Fn(usize) -> usize, from: &dyn Fn(usize) -> usize| {
            let mut neighbours = vec![Vec::new(); nodes];
            for (i, j) in edges.iter().map(|&(i, j)| (to(i), to(j))) {
                neighbours[i].push((j, 1.0));
                neighbours[j].push((i, 1.0));
            }
            let pattern = Arc::new(Pattern::new(&neighbours, size, usize::MAX).unwrap());
            BlockCholesky::new(&pattern, size, &blocks(from), (-0.5, size))
                .unwrap()
                .selected_inverse()
        };
        let (plain, moved) = (inverse(&|node| node, &|at| at), inverse(&place, &back));
        for node in 0..nodes {
            assert_eq!(back(place(node)), node);
            for (a, b) in plain.node(node).iter().zip(moved.node(place(node))) {
                assert!((a - b).abs() < 1e-15);
            }
        }
        assert!((plain.weighted_traces() - moved.weighted_traces()).abs() < 1e-12);
    }

    #[test]
    fn too_many_blocks_and_what_is_not_positive_definite_are_refused() {
        let complete: Vec<Vec<(usize, f64)>> =
            (0..10).map(|i| (0..10).filter(|j| *j != i).map(|j| (j, 1.0)).collect()).collect();
        assert!(Pattern::new(&complete, 1, 44).is_none());
        let pattern = Arc::new(Pattern::new(&complete, 1, usize::MAX).unwrap());
        assert!(BlockCholesky::new(&pattern, 1, &[8.0; 10], (-1.0, 1)).is_none());
        assert!(BlockCholesky::new(&pattern, 1, &[9.1; 10], (-1.0, 1)).is_some());
    }
}
