//! How well each component of a network holds together: the second smallest eigenvalue of its
//! Laplacian,
//!
//! ```text
//! λ₂ = min  Σ_edges A (xᵢ − xⱼ)² / Σ_i xᵢ²      over x ≠ 0 with Σ_i xᵢ = 0
//! ```
//!
//! also called its algebraic connectivity: the larger, the closer coupled nodes must agree.
//! ["Plug In and Learn", eq. 25, where the variation over a cluster is at most ε / (α λ₂).]

use rayon::prelude::*;

use super::{Network, NodeId, davidson::second_eigenvalue, laplacian::Laplacian};
use crate::error::Result;

impl Network {
    /// The second smallest eigenvalue λ₂ of the Laplacian of each component, to a relative error
    /// of 1e-8, in the order of [`Statistics::sizes`](super::Statistics::sizes); a component of one
    /// node has none. Below 1e-14 of the largest degree, rounding makes it less accurate.
    ///
    /// ```
    /// let network = fedgrid::network::star(6)?;
    /// let connectivity = network.connectivity()?;
    /// assert!((connectivity[0].unwrap() - 1.0).abs() < 1e-8);
    /// # Ok::<(), fedgrid::Error>(())
    /// ```
    pub fn connectivity(&self) -> Result<Vec<Option<f64>>> {
        let components = self.components();
        let mut indices = vec![0; self.len()];
        for members in &components {
            members.iter().enumerate().for_each(|(index, &node)| indices[node] = index);
        }
        // Components are independent, and large ones share out their own products.
        let value = |members: &Vec<NodeId>| {
            (members.len() > 1)
                .then(|| second_eigenvalue(&Laplacian::new(self, members, &indices)))
                .transpose()
        };
        components.par_iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use crate::{
        algebra::Singular,
        network::{Clustered, Edge, Network, complete, grid, path, random_regular, ring, star},
        random::{Purpose, Stream},
    };

    /// λ₂ of a connected network.
    fn value(network: &Network) -> f64 {
        let values = network.connectivity().unwrap();
        assert_eq!(values.len(), 1);
        values[0].unwrap()
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "found {found:e}, expected {expected:e}");
    }

    /// λ₂ of a path: 2 − 2 cos(π / n), in a form that does not cancel.
    fn of_path(nodes: usize) -> f64 {
        4.0 * (PI / 2.0 / nodes as f64).sin().powi(2)
    }

    fn reweighted(network: &Network, weight: impl FnMut(&Edge) -> f64) -> Network {
        let weights: Vec<f64> = network.edges().iter().map(weight).collect();
        let edges =
            network.edges().iter().zip(weights).map(|(edge, weight)| Edge { weight, ..*edge });
        Network::new(network.names().to_vec(), edges).unwrap()
    }

    /// λ₂ by a dense singular value decomposition.
    fn dense(network: &Network) -> f64 {
        let n = network.len();
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            matrix[i * n + i] = network.degree(i);
            network.neighbours(i).iter().for_each(|&(j, weight)| matrix[i * n + j] = -weight);
        }
        let mut values = Singular::new(&matrix, n).values;
        values.sort_by(f64::total_cmp);
        values[1]
    }

    #[test]
    fn known_shapes_have_their_known_values() {
        for nodes in [2, 3, 4, 17, 1000, 100_000] {
            assert_close(value(&path(nodes).unwrap()), of_path(nodes));
        }
        for nodes in [3, 4, 5, 100, 10_001] {
            let expected = 4.0 * (PI / nodes as f64).sin().powi(2);
            assert_close(value(&ring(nodes).unwrap()), expected);
        }
        for (rows, columns) in [(2, 2), (1, 9), (7, 5), (40, 40), (20, 300)] {
            assert_close(value(&grid(rows, columns).unwrap()), of_path(rows.max(columns)));
        }
        for nodes in [3, 4, 30, 5000] {
            assert_close(value(&star(nodes).unwrap()), 1.0);
        }
        for nodes in [2, 3, 6, 120] {
            assert_close(value(&complete(nodes).unwrap()), nodes as f64);
        }
    }

    #[test]
    fn a_stretched_grid_is_as_loose_as_its_looser_direction() {
        for weight in [1e-3, 1e-6] {
            let weigh = |edge: &Edge| if edge.target == edge.source + 1 { 1.0 } else { weight };
            let stretched = reweighted(&grid(50, 30).unwrap(), weigh);
            assert_close(value(&stretched), weight * of_path(50));
        }
    }

    #[test]
    fn two_cliques_joined_by_a_weak_edge_have_the_root_of_a_quadratic() {
        let size = 40;
        for weak in [1.0, 1e-3, 1e-9, 1e-13] {
            let clique = |start: usize| {
                let pair = move |i: usize| (i + 1..size).map(move |j| (start + i, start + j, 1.0));
                (0..size).flat_map(pair)
            };
            let edges = clique(0).chain(clique(size)).chain([(0, size, weak)]);
            let edges = edges.map(|(source, target, weight)| Edge { source, target, weight });
            let names = (0..2 * size).map(|id| id.to_string()).collect();
            // λ² − (m + 2w) λ + 2w = 0, where the two sides have opposite signs.
            let half = size as f64 / 2.0 + weak;
            let expected = 2.0 * weak / (half + (half * half - 2.0 * weak).sqrt());
            assert_close(value(&Network::new(names, edges).unwrap()), expected);
        }
    }

    #[test]
    fn small_weighted_networks_agree_with_a_dense_solver() {
        for seed in 0..60 {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
            let nodes = 2 + stream.index(50);
            let extra = Clustered { clusters: 1, nodes, inside: 0.1, between: 0.0, seed };
            let joined = extra.make().unwrap().0;
            // A path through all nodes keeps the network in one piece.
            let between = joined.edges().iter().filter(|edge| edge.target > edge.source + 1);
            let edges = between.chain(path(nodes).unwrap().edges()).copied().collect::<Vec<_>>();
            let network = Network::new(joined.names().to_vec(), edges).unwrap();
            let network = reweighted(&network, |_| 10_f64.powf(-3.0 * stream.uniform()));
            assert_close(value(&network), dense(&network));
        }
        let regular = random_regular(120, 4, 1).unwrap();
        assert_close(value(&regular), dense(&regular));
    }

    #[test]
    fn the_numbering_of_the_nodes_does_not_matter() {
        let (inside, between) = (9.0 / 2_000.0, 1.0 / 18_000.0);
        let clustered = Clustered { clusters: 10, nodes: 2_000, inside, between, seed: 1 };
        let regular = random_regular(5_000, 5, 1).unwrap();
        for network in [clustered.make().unwrap().0, regular] {
            let order = Stream::new(1, 0, 0, Purpose::Shuffle).permutation(network.len());
            let largest = |network: &Network| {
                let sizes = network.statistics().sizes;
                let giant = (0..sizes.len()).max_by_key(|&component| sizes[component]).unwrap();
                network.connectivity().unwrap()[giant].unwrap()
            };
            assert_close(largest(&network), largest(&network.shuffled(&order)));
        }
    }

    #[test]
    fn every_component_has_its_own_value_and_a_lone_node_none() {
        let edges = [(0, 4, 2.0), (1, 3, 1.0), (3, 5, 1.0)];
        let edges = edges.map(|(source, target, weight)| Edge { source, target, weight });
        let names = (0..6).map(|id| id.to_string()).collect();
        let values = Network::new(names, edges).unwrap().connectivity().unwrap();
        assert_close(values[0].unwrap(), 4.0);
        assert_close(values[1].unwrap(), 1.0);
        assert_eq!(values[2..], [None]);
        assert!(Network::new(Vec::new(), []).unwrap().connectivity().unwrap().is_empty());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let network = grid(70, 90).unwrap();
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| value(&network)).to_bits()
        };
        assert_eq!(with_threads(1), with_threads(3));
    }
}
