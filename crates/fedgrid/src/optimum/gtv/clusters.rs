//! The clusters of a solution: nodes joined by edges over which weights do not differ.
//!
//! ```text
//! i ~ j   if   ‖w_i − w_j‖ ≤ tolerance · max_k ‖w_k‖      over the coupled weights of an edge's ends
//! ```

use super::Losses;
use crate::{
    algebra::{norm, squared_distance},
    network::Network,
};

/// The cluster of each node, numbered by size, the largest first; of equals the one with the first
/// node.
#[must_use]
pub fn clusters(losses: &Losses, network: &Network, weights: &[f64], tolerance: f64) -> Vec<usize> {
    clusters_of(network, |node| &weights[node * losses.size..][..losses.coupled], tolerance)
}

/// The same of the coupled weights of each node.
#[must_use]
pub fn clusters_of<'a>(
    network: &Network,
    row: impl Fn(usize) -> &'a [f64],
    tolerance: f64,
) -> Vec<usize> {
    let largest = (0..network.len()).map(|node| norm(row(node))).fold(0.0, f64::max);
    // Relative to the largest weights: those near zero would never be equal relative to themselves.
    let equal = (tolerance * largest).powi(2);
    let mut first: Vec<usize> = (0..network.len()).collect();
    for edge in network.edges() {
        if squared_distance(row(edge.source), row(edge.target)) <= equal {
            let (a, b) = (root(&mut first, edge.source), root(&mut first, edge.target));
            // The smaller one leads, so that clusters do not depend on the order of edges.
            first[a.max(b)] = a.min(b);
        }
    }
    let roots: Vec<usize> = (0..network.len()).map(|node| root(&mut first, node)).collect();
    by_size(&roots)
}

/// The first node of a node's cluster, with the ways there halved.
fn root(first: &mut [usize], mut node: usize) -> usize {
    while first[node] != node {
        first[node] = first[first[node]];
        node = first[node];
    }
    node
}

fn by_size(roots: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0_usize; roots.len()];
    for &root in roots {
        sizes[root] += 1;
    }
    let mut order: Vec<usize> = (0..roots.len()).filter(|&root| sizes[root] > 0).collect();
    order.sort_by_key(|&root| std::cmp::Reverse(sizes[root]));
    let mut slot = vec![0; roots.len()];
    order.iter().enumerate().for_each(|(new, &root)| slot[root] = new);
    roots.iter().map(|&root| slot[root]).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::Linear,
        network::{Node, path},
    };

    #[test]
    fn equal_weights_are_a_cluster_only_where_edges_join_them() {
        let public = Arc::new(Features::from_rows(&["x"], &[[1.0]]).unwrap());
        let model = Arc::new(Linear { ridge: 0.0, intercept: false });
        let node = |id| {
            let rows = Features::from_rows(&["x"], &[[1.0]]).unwrap();
            let data = Dataset::new(rows, Labels::values(vec![1.0])).unwrap();
            Node { id, data, model: model.clone(), public: public.clone() }
        };
        let nodes: Vec<Node> = (0..6).map(node).collect();
        let losses = Losses::new(&nodes, true).unwrap();
        let network = path(6).unwrap();
        let found = |weights: [f64; 6]| clusters(&losses, &network, &weights, 1e-4);
        assert_eq!(found([1.0, 2.0, 2.0, 2.00001, 1.0, 1.0]), [2, 0, 0, 0, 1, 1]);
        assert_eq!(found([0.0; 6]), [0; 6]);
        assert_eq!(found([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [0, 1, 2, 3, 4, 5]);
    }
}
