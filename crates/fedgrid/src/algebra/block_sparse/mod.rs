//! Systems with a small dense block for every node and every edge of a network, by sparse Cholesky
//! factors, with the entries of their inverse that belong to nodes and edges.
//!
//! ```text
//! M = blockdiag(D_i) + c · A ⊗ I          A the weights of the edges
//! M = L Lᵀ:    L_kk L_kkᵀ = M_kk − Σ_j L_kj L_kjᵀ      L_ik = (M_ik − Σ_j L_ij L_kjᵀ) L_kk⁻ᵀ
//! Z = M⁻¹ where L is not zero, from the last column to the first, Y_i = L_ik L_kk⁻¹:
//!     Z_ik = − Σ_j Z_ij Y_j              Z_kk = L_kk⁻ᵀ L_kk⁻¹ − Σ_i Y_iᵀ Z_ik
//! ```
//!
//! [Takahashi, Fagan and Chin 1973; Erisman and Tinney 1975.] Columns that do not depend on each other
//! are worked on at the same time; every block is a sum in the order of columns, so that the number of
//! threads changes no bit.

mod kernel;
mod pattern;

use std::sync::Arc;

pub use pattern::Pattern;
use rayon::prelude::*;

use self::kernel::{Product, multiply};
use super::Cholesky;

/// The factor of a matrix.
#[derive(Debug)]
pub struct BlockCholesky {
    pattern: Arc<Pattern>,
    size: usize,
    /// Of each column `L_kk⁻¹` and below it the blocks `L_ik`, row by row.
    panels: Vec<Vec<f64>>,
    log_determinant: f64,
}

/// The blocks of the inverse of a matrix that belong to nodes, edges and what elimination filled in.
#[derive(Debug)]
pub struct SelectedInverse {
    pattern: Arc<Pattern>,
    size: usize,
    panels: Vec<Vec<f64>>,
}

impl BlockCholesky {
    /// Factors the matrix with these blocks of nodes (in the order of nodes, `size`² numbers each) and
    /// `coupling · weight · I` for every edge; none if it is not positive definite.
    #[must_use]
    pub fn new(
        pattern: &Arc<Pattern>,
        size: usize,
        diagonal: &[f64],
        coupling: f64,
    ) -> Option<Self> {
        let mut panels = vec![Vec::new(); pattern.len()];
        let mut log_determinants = vec![0.0; pattern.len()];
        for level in &pattern.from_leaves {
            let make =
                |&column: &usize| panel(pattern, column, size, (diagonal, coupling), &panels);
            let made: Vec<Option<(Vec<f64>, f64)>> = level.par_iter().map(make).collect();
            for (&column, made) in level.iter().zip(made) {
                (panels[column], log_determinants[column]) = made?;
            }
        }
        let log_determinant = log_determinants.iter().sum();
        Some(Self { pattern: pattern.clone(), size, panels, log_determinant })
    }

    /// The logarithm of the determinant.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        self.log_determinant
    }

    /// Solves for `width` right-hand sides at once: `b` has `size` rows of so many numbers per node.
    pub fn solve(&self, b: &mut [f64], width: usize) {
        let (size, pattern) = (self.size, &*self.pattern);
        let block = size * size;
        let own = size * width;
        let range = |column: usize| {
            let node = pattern.nodes[column];
            node * own..(node + 1) * own
        };
        let mut x = vec![0.0; own];
        for (column, panel) in self.panels.iter().enumerate() {
            x.fill(0.0);
            for row in 0..size {
                for k in 0..=row {
                    let factor = panel[row * size + k];
                    let from = &b[range(column)][k * width..(k + 1) * width];
                    super::add_scaled(&mut x[row * width..(row + 1) * width], factor, from);
                }
            }
            b[range(column)].copy_from_slice(&x);
            for (place, &row) in pattern.rows(column).iter().enumerate() {
                let below = &panel[(place + 1) * block..(place + 2) * block];
                let target = &mut b[range(row)];
                for r in 0..size {
                    for k in 0..size {
                        let factor = -below[r * size + k];
                        let from = &x[k * width..(k + 1) * width];
                        super::add_scaled(&mut target[r * width..(r + 1) * width], factor, from);
                    }
                }
            }
        }
        let mut known = vec![0.0; own];
        for (column, panel) in self.panels.iter().enumerate().rev() {
            known.copy_from_slice(&b[range(column)]);
            for (place, &row) in pattern.rows(column).iter().enumerate() {
                let below = &panel[(place + 1) * block..(place + 2) * block];
                let from = &b[range(row)];
                for r in 0..size {
                    for k in 0..size {
                        let factor = -below[r * size + k];
                        let from = &from[r * width..(r + 1) * width];
                        super::add_scaled(&mut known[k * width..(k + 1) * width], factor, from);
                    }
                }
            }
            x.fill(0.0);
            for k in 0..size {
                for row in k..size {
                    let from = &known[row * width..(row + 1) * width];
                    super::add_scaled(
                        &mut x[k * width..(k + 1) * width],
                        panel[row * size + k],
                        from,
                    );
                }
            }
            b[range(column)].copy_from_slice(&x);
        }
    }

    /// The blocks of the inverse that belong to nodes and edges.
    #[must_use]
    pub fn selected_inverse(&self) -> SelectedInverse {
        let mut panels = vec![Vec::new(); self.pattern.len()];
        for level in &self.pattern.from_roots {
            let made: Vec<Vec<f64>> =
                level.par_iter().map(|&column| self.inverse_panel(column, &panels)).collect();
            for (&column, made) in level.iter().zip(made) {
                panels[column] = made;
            }
        }
        SelectedInverse { pattern: self.pattern.clone(), size: self.size, panels }
    }

    /// The column of the inverse, given all later ones.
    fn inverse_panel(&self, column: usize, later: &[Vec<f64>]) -> Vec<f64> {
        let (size, pattern) = (self.size, &*self.pattern);
        let block = size * size;
        let rows = pattern.rows(column);
        let own = &self.panels[column];
        let (inverse, below) = own.split_at(block);
        let count = rows.len();
        // Y_i = L_ik L_kk⁻¹, all below each other.
        let mut scaled = vec![0.0; count * block];
        multiply(size, &mut scaled, below, inverse, Product { subtract: false });
        let mut out = vec![0.0; (count + 1) * block];
        let mut turned = vec![0.0; block];
        for (place, &row) in rows.iter().enumerate() {
            let source = &later[row];
            let here = &scaled[place * block..(place + 1) * block];
            // Z_jj Y_j, and for all i > j both Z_ij Y_j and Z_ijᵀ Y_i.
            let target = &mut out[(place + 1) * block..(place + 2) * block];
            multiply(size, target, &source[..block], here, Product { subtract: true });
            let mut at = 0;
            let beyond = pattern.rows(row);
            for (next, other) in rows.iter().enumerate().skip(place + 1) {
                while beyond[at] != *other {
                    at += 1;
                }
                let between = &source[(at + 1) * block..(at + 2) * block];
                let target = &mut out[(next + 1) * block..(next + 2) * block];
                multiply(size, target, between, here, Product { subtract: true });
                transpose(&mut turned, between, size);
                let there = &scaled[next * block..(next + 1) * block];
                let target = &mut out[(place + 1) * block..(place + 2) * block];
                multiply(size, target, &turned, there, Product { subtract: true });
            }
        }
        let (diagonal, off) = out.split_at_mut(block);
        transpose(&mut turned, inverse, size);
        multiply(size, diagonal, &turned, inverse, Product { subtract: false });
        for (scaled, off) in scaled.chunks_exact(block).zip(off.chunks_exact(block)) {
            transpose(&mut turned, scaled, size);
            multiply(size, diagonal, &turned, off, Product { subtract: true });
        }
        out
    }
}

impl SelectedInverse {
    /// The block of a node.
    #[must_use]
    pub fn node(&self, node: usize) -> &[f64] {
        &self.panels[self.pattern.columns[node]][..self.size * self.size]
    }

    /// The sum over the edges, each once, of their weight times the trace of their block.
    #[must_use]
    pub fn weighted_traces(&self) -> f64 {
        let block = self.size * self.size;
        let of_column = |(panel, edges): (&Vec<f64>, &Vec<(usize, f64)>)| -> f64 {
            let trace = |place: usize| -> f64 {
                let between = &panel[(place + 1) * block..(place + 2) * block];
                between.iter().step_by(self.size + 1).sum()
            };
            edges.iter().map(|&(place, weight)| weight * trace(place)).sum()
        };
        self.panels.iter().zip(&self.pattern.edges).map(of_column).sum()
    }
}

/// A column of the factor, given all earlier ones, and the logarithm of its part of the determinant.
fn panel(
    pattern: &Pattern,
    column: usize,
    size: usize,
    (diagonal, coupling): (&[f64], f64),
    earlier: &[Vec<f64>],
) -> Option<(Vec<f64>, f64)> {
    let block = size * size;
    let rows = pattern.rows(column);
    let node = pattern.nodes[column];
    let mut panel = vec![0.0; (rows.len() + 1) * block];
    panel[..block].copy_from_slice(&diagonal[node * block..(node + 1) * block]);
    for &(place, weight) in &pattern.edges[column] {
        let between = &mut panel[(place + 1) * block..(place + 2) * block];
        between.iter_mut().step_by(size + 1).for_each(|entry| *entry += coupling * weight);
    }
    let mut turned = vec![0.0; block];
    for &(other, first) in pattern.updates(column) {
        let source = &earlier[other];
        transpose(&mut turned, &source[(first + 1) * block..(first + 2) * block], size);
        let mut at = 0;
        for (place, row) in pattern.rows(other).iter().enumerate().skip(first) {
            let target = if *row == column {
                0
            } else {
                while rows[at] != *row {
                    at += 1;
                }
                at + 1
            };
            let from = &source[(place + 1) * block..(place + 2) * block];
            let to = &mut panel[target * block..(target + 1) * block];
            multiply(size, to, from, &turned, Product { subtract: true });
        }
    }
    let factor = Cholesky::new(panel[..block].to_vec(), size)?;
    let inverse = factor.inverse_lower();
    transpose(&mut turned, &inverse, size);
    let below = panel.split_off(block);
    panel.copy_from_slice(&inverse);
    panel.resize(block + below.len(), 0.0);
    multiply(size, &mut panel[block..], &below, &turned, Product { subtract: false });
    Some((panel, factor.log_determinant()))
}

fn transpose(to: &mut [f64], from: &[f64], size: usize) {
    for row in 0..size {
        for column in 0..size {
            to[column * size + row] = from[row * size + column];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        (Arc::new(Pattern::new(&neighbours, usize::MAX).unwrap()), diagonal, dense)
    }

    #[test]
    fn solutions_determinants_and_selected_entries_are_those_of_the_dense_matrix() {
        for (nodes, size) in [(1, 3), (12, 1), (25, 2), (20, 5)] {
            let (pattern, diagonal, dense) = example(nodes, size, 7);
            let width = nodes * size;
            let factor = BlockCholesky::new(&pattern, size, &diagonal, -1.0).unwrap();
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
    fn the_number_of_threads_changes_no_bit() {
        let (pattern, diagonal, _) = example(40, 3, 3);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                BlockCholesky::new(&pattern, 3, &diagonal, -1.0).unwrap().selected_inverse().panels
            })
        };
        assert_eq!(run(1), run(8));
    }

    #[test]
    fn too_many_blocks_and_what_is_not_positive_definite_are_refused() {
        let complete: Vec<Vec<(usize, f64)>> =
            (0..10).map(|i| (0..10).filter(|j| *j != i).map(|j| (j, 1.0)).collect()).collect();
        assert!(Pattern::new(&complete, 44).is_none());
        let pattern = Arc::new(Pattern::new(&complete, usize::MAX).unwrap());
        assert!(BlockCholesky::new(&pattern, 1, &[8.0; 10], -1.0).is_none());
        assert!(BlockCholesky::new(&pattern, 1, &[9.1; 10], -1.0).is_some());
    }
}
