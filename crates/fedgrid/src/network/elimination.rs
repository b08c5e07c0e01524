//! A sparse, approximate Cholesky factor of a network's Laplacian: nodes are eliminated one after
//! the other, fewest edges first, and of the clique that elimination would leave only a random tree
//! is kept,
//!
//! ```text
//! exact:    eliminating v joins all its neighbours i < j by  w_i w_j / Σ w
//! sampled:  i is joined to one j > i, drawn with probability w_j / S_i,  by  w_i S_i / Σ w
//!           where S_i = Σ_{j > i} w_j and w₁ ≤ w₂ ≤ …
//! ```
//!
//! which is right on average, has fewer edges than before, stays connected, and is exact on trees
//! and rings. [Kyng and Sachdeva, "Approximate Gaussian elimination for Laplacians"; the order of
//! the draws is that of Gao, Kyng and Spielman, "Robust and practical solution of Laplacian
//! equations by approximate elimination".]

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{NodeId, laplacian::Laplacian};
use crate::random::{Purpose, Stream};

/// The factor, one column for each eliminated node.
#[derive(Debug)]
pub(super) struct Elimination {
    order: Vec<NodeId>,
    /// The weighted degree of each node of `order` when it was eliminated.
    pivots: Vec<f64>,
    /// Column k is `shares[offsets[k]..offsets[k + 1]]`.
    offsets: Vec<usize>,
    /// A neighbour, and which share of the node's weighted degree it had.
    shares: Vec<(NodeId, f64)>,
    /// The node that is left over, relative to which the others are solved for.
    last: NodeId,
}

/// The network that is left when some nodes have been eliminated.
struct Remainder {
    /// The edges of each node, parallel ones among them; those to eliminated nodes do not count.
    edges: Vec<Vec<(NodeId, f64)>>,
    /// How many edges of each node count.
    counts: Vec<usize>,
    eliminated: Vec<bool>,
    /// Nodes by number of edges; an entry whose number has changed since is out of date.
    queue: BinaryHeap<Reverse<(usize, NodeId)>>,
}

impl Elimination {
    /// Factors the Laplacian of a connected network.
    pub(super) fn new(laplacian: &Laplacian) -> Self {
        let size = laplacian.len();
        let mut stream = Stream::new(0, 0, 0, Purpose::Start);
        let mut remainder = Remainder::new(laplacian);
        let (mut order, mut pivots) = (Vec::with_capacity(size), Vec::with_capacity(size));
        let (mut offsets, mut shares) = (vec![0], Vec::new());
        while order.len() + 1 < size {
            let node = remainder.next();
            let edges = remainder.eliminate(node);
            let total: f64 = edges.iter().map(|(_, weight)| weight).sum();
            shares.extend(edges.iter().map(|&(neighbour, weight)| (neighbour, weight / total)));
            offsets.push(shares.len());
            order.push(node);
            pivots.push(total);
            remainder.join(&edges, &mut stream);
        }
        Self { order, pivots, offsets, shares, last: remainder.next() }
    }

    /// Replaces `b`, which must add up to zero, by a solution that is zero at the node left over.
    pub(super) fn solve(&self, b: &mut [f64]) {
        for (step, &node) in self.order.iter().enumerate() {
            let value = b[node];
            for &(neighbour, share) in self.column(step) {
                b[neighbour] += share * value;
            }
        }
        b[self.last] = 0.0;
        for (step, &node) in self.order.iter().enumerate().rev() {
            let known: f64 = self.column(step).iter().map(|&(j, share)| share * b[j]).sum();
            b[node] = b[node] / self.pivots[step] + known;
        }
    }

    fn column(&self, step: usize) -> &[(NodeId, f64)] {
        &self.shares[self.offsets[step]..self.offsets[step + 1]]
    }
}

impl Remainder {
    fn new(laplacian: &Laplacian) -> Self {
        let edges: Vec<Vec<(NodeId, f64)>> =
            (0..laplacian.len()).map(|node| laplacian.neighbours(node).to_vec()).collect();
        let counts: Vec<usize> = edges.iter().map(Vec::len).collect();
        // Old entries stay in the queue and are passed over: cheaper than finding them.
        let queue = counts.iter().enumerate().map(|(node, &count)| Reverse((count, node)));
        Self { queue: queue.collect(), eliminated: vec![false; edges.len()], edges, counts }
    }

    /// The node with the fewest edges; the smallest of equals.
    fn next(&mut self) -> NodeId {
        loop {
            let Reverse((count, node)) = self.queue.pop().expect("at least one node is left");
            if !self.eliminated[node] && self.counts[node] == count {
                return node;
            }
        }
    }

    /// Takes a node out and gives its edges, parallel ones added up, lightest first.
    fn eliminate(&mut self, node: NodeId) -> Vec<(NodeId, f64)> {
        self.eliminated[node] = true;
        let mut edges = std::mem::take(&mut self.edges[node]);
        edges.retain(|&(neighbour, _)| !self.eliminated[neighbour]);
        for &(neighbour, _) in &edges {
            self.counts[neighbour] -= 1;
        }
        // The sort is stable: parallel edges are added up in the order in which they came.
        edges.sort_by_key(|&(neighbour, _)| neighbour);
        edges.dedup_by(|next, sum| {
            let parallel = next.0 == sum.0;
            if parallel {
                sum.1 += next.1;
            }
            parallel
        });
        edges.sort_by(|a, b| a.1.total_cmp(&b.1));
        edges
    }

    /// Joins the former neighbours of an eliminated node to each other.
    fn join(&mut self, edges: &[(NodeId, f64)], stream: &mut Stream) {
        let mut heavier = vec![0.0; edges.len()];
        for i in (1..edges.len()).rev() {
            heavier[i - 1] = heavier[i] + edges[i].1;
        }
        let total = heavier[0] + edges[0].1;
        for i in 0..edges.len() - 1 {
            let draw = stream.uniform() * heavier[i];
            // S falls from S_i to zero, and node j has the stretch from S_j to S_{j − 1}.
            let ahead = heavier[i..].partition_point(|&rest| rest > draw);
            let j = (i + ahead.max(1)).min(edges.len() - 1);
            self.add(edges[i].0, edges[j].0, edges[i].1 / total * heavier[i]);
        }
        for &(neighbour, _) in edges {
            self.queue.push(Reverse((self.counts[neighbour], neighbour)));
        }
    }

    fn add(&mut self, a: NodeId, b: NodeId, weight: f64) {
        for (node, neighbour) in [(a, b), (b, a)] {
            self.edges[node].push((neighbour, weight));
            self.counts[node] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Clustered, Edge, Network, ring, star};

    fn laplacian(network: &Network) -> Laplacian {
        let nodes: Vec<NodeId> = (0..network.len()).collect();
        Laplacian::new(network, &nodes, &nodes)
    }

    /// The largest error of `L M⁻¹ b = b` for a vector b that adds up to zero.
    fn error(network: &Network) -> f64 {
        let laplacian = laplacian(network);
        let centre = (network.len() - 1) as f64 / 2.0;
        let b: Vec<f64> = (0..network.len()).map(|node| node as f64 - centre).collect();
        let mut x = b.clone();
        Elimination::new(&laplacian).solve(&mut x);
        laplacian.times(&x).iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn trees_and_rings_are_solved_exactly() {
        // Node i hangs on node i / 2, by a weight that differs from edge to edge.
        let edge = |i: usize| Edge { source: i / 2, target: i, weight: 1.0 / i as f64 };
        let names = (0..64).map(|id| id.to_string()).collect();
        let tree = Network::new(names, (1..64).map(edge)).unwrap();
        assert!(error(&tree) < 1e-10);
        assert!(error(&ring(50).unwrap()) < 1e-10);
        assert!(error(&star(50).unwrap()) < 1e-10);
    }

    #[test]
    fn what_is_left_stays_a_network_and_has_fewer_edges() {
        let clustered = Clustered { clusters: 2, nodes: 40, inside: 0.5, between: 0.1, seed: 1 };
        let laplacian = laplacian(&clustered.make().unwrap().0);
        let factor = Elimination::new(&laplacian);
        for step in 0..factor.order.len() {
            let total: f64 = factor.column(step).iter().map(|(_, share)| share).sum();
            assert!((total - 1.0).abs() < 1e-14);
        }
        let mut remainder = Remainder::new(&laplacian);
        let mut stream = Stream::new(0, 0, 0, Purpose::Start);
        for _ in 0..laplacian.len() - 1 {
            let before: usize = remainder.counts.iter().sum();
            let node = remainder.next();
            let edges = remainder.eliminate(node);
            remainder.join(&edges, &mut stream);
            remainder.counts[node] = 0;
            assert!(remainder.counts.iter().sum::<usize>() < before);
        }
    }

    #[test]
    fn a_sampled_clique_is_right_on_average() {
        let weights = [1.0, 2.0, 3.0];
        let edge = |(i, &weight): (usize, &f64)| Edge { source: 0, target: i + 1, weight };
        let names = (0..4).map(|id| id.to_string()).collect();
        let star = Network::new(names, weights.iter().enumerate().map(edge)).unwrap();
        let mut stream = Stream::new(1, 0, 0, Purpose::Start);
        let mut sums = [[0.0; 4]; 4];
        for _ in 0..20_000 {
            let mut remainder = Remainder::new(&laplacian(&star));
            let edges = remainder.eliminate(0);
            remainder.join(&edges, &mut stream);
            for (i, edges) in remainder.edges.iter().enumerate().skip(1) {
                for &(j, weight) in edges {
                    sums[i][j] += weight / 20_000.0;
                }
            }
        }
        for (i, j) in [(1, 2), (1, 3), (2, 3)] {
            assert!((sums[i][j] - weights[i - 1] * weights[j - 1] / 6.0).abs() < 0.02);
        }
    }
}
