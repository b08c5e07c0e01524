//! What all nodes of a connected part have in common, solved for at once: on vectors that are equal
//! over a part the coupling vanishes, and what remains of the system is small,
//!
//! ```text
//! E c = Σ_i r_i      with  E = Σ_i (Q_i + ridge R + anchor),  i over the nodes of the part
//! ```
//!
//! Under a strong pull these are the directions that rounds, which only see neighbours, are slowest
//! to settle. [Nicolaides (1987), deflation of conjugate gradients.]

use crate::{
    algebra::{Batch, Factors, add_scaled, triangle},
    network::Network,
};

/// The small systems of all parts.
pub(super) struct Coarse {
    size: usize,
    /// The part of each node.
    parts: Vec<usize>,
    /// The factors of E.
    factors: Factors,
}

impl Coarse {
    /// The small systems of a network; `add_block` adds the triangle of a node's own part of E.
    pub(super) fn new(
        network: &Network,
        size: usize,
        add_block: impl Fn(usize, &mut [f64]),
    ) -> Self {
        let statistics = network.statistics();
        let (parts, count) = (statistics.components, statistics.sizes.len());
        let mut sums = vec![0.0; count * triangle(size)];
        for (node, part) in parts.iter().enumerate() {
            add_block(node, &mut sums[part * triangle(size)..][..triangle(size)]);
        }
        let sums = Batch::new(count, size, |first, triangles| {
            triangles.copy_from_slice(&sums[first * triangle(size)..][..triangles.len()]);
        });
        Self { size, parts, factors: Factors::new(sums) }
    }

    /// The weights of every part, one after another, for given residuals of the nodes.
    pub(super) fn solve(&self, residual: &[f64]) -> Vec<f64> {
        let size = self.size;
        let mut weights = vec![0.0; self.factors.shifts.len() * size];
        for (residual, part) in residual.chunks_exact(size).zip(&self.parts) {
            add_scaled(&mut weights[part * size..][..size], 1.0, residual);
        }
        self.factors.solve(0, &mut weights);
        // A part whose rows determine nothing is left to the rest of the method.
        for (weights, shift) in weights.chunks_exact_mut(size).zip(&self.factors.shifts) {
            if *shift > 0.0 {
                weights.fill(0.0);
            }
        }
        weights
    }

    /// Adds to the nodes from `first` on the weights of their parts.
    pub(super) fn add(&self, weights: &[f64], first: usize, out: &mut [f64]) {
        for (out, part) in out.chunks_exact_mut(self.size).zip(&self.parts[first..]) {
            add_scaled(out, 1.0, &weights[part * self.size..][..self.size]);
        }
    }
}
