//! The Laplacian of one component, whose nodes are renumbered,
//!
//! ```text
//! (L x)_i = Σ_j A_ij (xᵢ − xⱼ)      xᵀL x = Σ_edges A (xᵢ − xⱼ)²
//! ```
//!
//! computed from differences, which are exact where neighbours are close: so even an energy of
//! 1e-9 times the largest one has all its digits. ["Plug In and Learn", section V.]

use rayon::prelude::*;

use super::{Network, NodeId};

/// How many nodes are worked on together: fewer are not worth a task.
const BLOCK_NODES: usize = 4096;

/// The Laplacian of a component.
#[derive(Debug)]
pub(super) struct Laplacian {
    offsets: Vec<usize>,
    adjacency: Vec<(NodeId, f64)>,
}

impl Laplacian {
    /// The members of one component, and the index of every node among those of its component.
    pub(super) fn new(network: &Network, members: &[NodeId], indices: &[usize]) -> Self {
        let mut laplacian = Self { offsets: vec![0], adjacency: Vec::new() };
        for &node in members {
            let neighbours = network.neighbours(node).iter();
            laplacian.adjacency.extend(neighbours.map(|&(j, weight)| (indices[j], weight)));
            laplacian.offsets.push(laplacian.adjacency.len());
        }
        laplacian
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn neighbours(&self, node: NodeId) -> &[(NodeId, f64)] {
        &self.adjacency[self.offsets[node]..self.offsets[node + 1]]
    }

    pub(super) fn largest_degree(&self) -> f64 {
        let degree = |node| self.neighbours(node).iter().map(|(_, weight)| weight).sum();
        (0..self.len()).map(degree).fold(0.0, f64::max)
    }

    /// `L x`, from differences, which are exact where neighbours are close.
    pub(super) fn times(&self, x: &[f64]) -> Vec<f64> {
        let flow = |node: NodeId| {
            self.neighbours(node).iter().map(|&(j, weight)| weight * (x[node] - x[j])).sum()
        };
        (0..self.len()).into_par_iter().with_min_len(BLOCK_NODES).map(flow).collect()
    }

    /// `xᵀL x = Σ_edges A (xᵢ − xⱼ)²`, to full relative accuracy.
    pub(super) fn energy(&self, x: &[f64]) -> f64 {
        let square = |node: NodeId| -> f64 {
            let term = |&(j, weight): &(NodeId, f64)| weight * (x[node] - x[j]).powi(2);
            self.neighbours(node).iter().map(term).sum()
        };
        // Both ends count an edge.
        0.5 * (0..self.len()).map(square).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::dot,
        network::{Edge, path},
    };

    #[test]
    fn the_product_and_the_energy_are_those_of_the_definition() {
        let edges = [(1, 2, 2.0), (1, 4, 0.5), (0, 3, 1.0)];
        let edges = edges.map(|(source, target, weight)| Edge { source, target, weight });
        let names = (0..5).map(|id| id.to_string()).collect();
        let network = Network::new(names, edges).unwrap();
        let laplacian = Laplacian::new(&network, &[1, 2, 4], &[0, 0, 1, 1, 2]);
        let x = [3.0, 1.0, -1.0];
        assert_eq!(laplacian.times(&x), [6.0, -4.0, -2.0]);
        assert!((laplacian.energy(&x) - 16.0).abs() < 1e-14);
        assert!((laplacian.largest_degree() - 2.5).abs() < 1e-15);
    }

    #[test]
    fn a_tiny_energy_keeps_its_digits() {
        let nodes: Vec<NodeId> = (0..1000).collect();
        let laplacian = Laplacian::new(&path(1000).unwrap(), &nodes, &nodes);
        let step = f64::from(2_u8).powi(-30);
        let x: Vec<f64> = nodes.iter().map(|&node| 1.0 + step * node as f64).collect();
        let expected = 999.0 * step * step;
        assert!((laplacian.energy(&x) / expected - 1.0).abs() < 1e-12);
        assert!((dot(&x, &laplacian.times(&x)) / expected - 1.0).abs() < 1e-12);
    }
}
