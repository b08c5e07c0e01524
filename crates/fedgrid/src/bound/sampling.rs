//! Whether the nodes with rows hold the clusters apart: the largest L for which some K satisfies
//!
//! ```text
//! L Σ_{edges between clusters} A ‖w_i − w_j‖ ≤ K √(Σ_{i with rows} ‖w_i‖²) + Σ_{edges inside} A ‖w_i − w_j‖   for all w
//! ```
//!
//! and a K for it. With `b_i` the weight of node i's edges to other clusters, it is the largest L for which
//! every cluster can carry L `b_i` from each of its nodes to its nodes with rows, over edges of capacity
//! A; K is the norm of what these take in. ["Networked Federated Multi-Task Learning", eq. 17; why flows
//! decide it exactly: docs/mathematics.md, "Bounds".]

use super::{flow::FlowNetwork, members};
use crate::{
    algebra::norm,
    error::{Result, same_size},
    network::{Network, NodeId},
};

/// Flows and cuts that differ by less than this share are equal.
const EQUAL_SHARE: f64 = 1e-12;
/// The factors L that are tried for the smallest bound, if they are not too large for the network.
const TRIED_FACTORS: [f64; 8] = [1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// Condition (17) on a network with clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// The largest L of each cluster, in the order of their numbers; none where any will do, because
    /// all its nodes with edges to other clusters have rows.
    pub largest: Vec<Option<f64>>,
    /// The weight of the edges between clusters; if there are none, the condition is empty.
    pub between: f64,
    /// L > 1 and K of the smallest bound among those tried; none if no L > 1 will do, or all.
    pub constants: Option<(f64, f64)>,
    /// Why there are no constants.
    pub warnings: Vec<String>,
}

/// Condition (17) for clusters and the nodes that have rows.
///
/// ```
/// use fedgrid::{bound::sampling, network::path};
/// // 0 – 1 – 2 | 3 – 4 – 5 with rows at both ends: each side can carry just what crosses the middle.
/// let labelled = [true, false, false, false, false, true];
/// let condition = sampling(&path(6)?, &[0, 0, 0, 1, 1, 1], &labelled)?;
/// assert_eq!(condition.largest, [Some(1.0), Some(1.0)]);
/// assert_eq!(condition.constants, None);
/// # Ok::<(), fedgrid::Error>(())
/// ```
pub fn sampling(network: &Network, clusters: &[usize], labelled: &[bool]) -> Result<Sampling> {
    same_size("marks of nodes with rows", labelled.len(), network.len())?;
    let parts: Vec<ClusterFlow> = members(network, clusters)?
        .iter()
        .map(|members| ClusterFlow::new(network, clusters, labelled, members))
        .collect();
    let largest: Vec<Option<f64>> = parts.iter().map(ClusterFlow::largest).collect();
    let between = parts.iter().map(|part| part.supply(&part.all())).sum::<f64>() / 2.0;
    let mut warnings = Vec::new();
    let mut constants = None;
    let limit = largest.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    if between == 0.0 {
        warnings.push("there is no edge between clusters, so condition (17) is empty".into());
    } else if limit <= 1.0 {
        warnings.push(format!(
            "condition (17) holds up to L = {limit:.3}, and Theorem 1 needs more than one: too little \
             weight leads from the edges between clusters to nodes with rows"
        ));
    } else {
        constants = best(&parts, limit);
    }
    Ok(Sampling { largest, between, constants, warnings })
}

/// The L and K with the smallest `L K / (L − 1)²`.
fn best(parts: &[ClusterFlow], limit: f64) -> Option<(f64, f64)> {
    let tried =
        TRIED_FACTORS.into_iter().filter(|&l| l < limit).chain(limit.is_finite().then_some(limit));
    let with_k = tried.map(|l| {
        let taken: Vec<f64> = parts.iter().flat_map(|part| part.evenly(l)).collect();
        (l, norm(&taken))
    });
    // K has no closed form in L, so a few L over two decades are compared.
    let size = |(l, k): &(f64, f64)| l * k / (l - 1.0).powi(2);
    with_k.min_by(|a, b| size(a).total_cmp(&size(b)))
}

/// A cluster: its nodes by their indices, the edges inside, and what comes in over the others.
struct ClusterFlow {
    inside: Vec<(usize, usize, f64)>,
    incoming: Vec<f64>,
    labelled: Vec<bool>,
}

/// What a flow brings to the nodes with rows, and the nodes that had more to send, if any had.
struct Routed {
    taken: Vec<f64>,
    short: Option<Vec<bool>>,
}

impl ClusterFlow {
    fn new(network: &Network, clusters: &[usize], labelled: &[bool], members: &[NodeId]) -> Self {
        let cluster = clusters[members[0]];
        // Members come in order of their ids.
        let index = |node: NodeId| members.binary_search(&node).expect("a node of the cluster");
        let mut part = Self {
            inside: Vec::new(),
            incoming: vec![0.0; members.len()],
            labelled: members.iter().map(|&node| labelled[node]).collect(),
        };
        for (here, &node) in members.iter().enumerate() {
            for &(other, weight) in network.neighbours(node) {
                if clusters[other] != cluster {
                    part.incoming[here] += weight;
                } else if other > node {
                    part.inside.push((here, index(other), weight));
                }
            }
        }
        part
    }

    fn all(&self) -> Vec<bool> {
        vec![true; self.incoming.len()]
    }

    /// What comes in at the nodes of one side.
    fn supply(&self, side: &[bool]) -> f64 {
        self.incoming.iter().zip(side).filter(|(_, on)| **on).map(|(b, _)| b).sum()
    }

    /// The weight of the edges that leave one side for the rest of the cluster.
    fn cut(&self, side: &[bool]) -> f64 {
        self.inside.iter().filter(|(a, b, _)| side[*a] != side[*b]).map(|edge| edge.2).sum()
    }

    /// Sends L times what comes in to the nodes with rows, each of which takes in so much at most.
    fn route(&self, l: f64, capacity: f64) -> Routed {
        let (source, sink) = (self.incoming.len(), self.incoming.len() + 1);
        let mut flow = FlowNetwork::new(sink + 1);
        for &(a, b, weight) in &self.inside {
            flow.join(a, b, weight, weight);
        }
        for (node, incoming) in self.incoming.iter().enumerate().filter(|(_, b)| **b > 0.0) {
            flow.join(source, node, l * incoming, 0.0);
        }
        let takers: Vec<usize> = (0..source).filter(|&node| self.labelled[node]).collect();
        let arcs: Vec<usize> =
            takers.iter().map(|&node| flow.join(node, sink, capacity, 0.0)).collect();
        let wanted = l * self.supply(&self.all());
        let short = flow.send(source, sink) < wanted * (1.0 - EQUAL_SHARE);
        Routed {
            taken: arcs.into_iter().map(|arc| flow.over(arc)).collect(),
            short: short.then(|| flow.reached(source)[..source].to_vec()),
        }
    }

    /// The largest L that can be carried, from cut to smaller cut (Dinkelbach); none if any can.
    fn largest(&self) -> Option<f64> {
        let without_rows: Vec<bool> = self.labelled.iter().map(|labelled| !labelled).collect();
        let ratio = |side: &[bool]| self.cut(side) / self.supply(side);
        if self.supply(&without_rows) == 0.0 {
            return None;
        }
        // The cut around all nodes with rows is one of all cuts, so its ratio is no smaller than the answer.
        let mut l = ratio(&without_rows);
        while l > 0.0 {
            let Some(side) = self.route(l, f64::INFINITY).short else { break };
            let smaller = ratio(&side);
            if smaller >= l * (1.0 - EQUAL_SHARE) {
                break;
            }
            l = smaller;
        }
        Some(l)
    }

    /// What the nodes with rows take in if the one that takes most takes as little as possible.
    fn evenly(&self, l: f64) -> Vec<f64> {
        let takers = |side: &[bool]| {
            self.labelled.iter().zip(side).filter(|(labelled, on)| **labelled && **on).count()
        };
        let mut capacity = l * self.supply(&self.all()) / takers(&self.all()).max(1) as f64;
        loop {
            let routed = self.route(l, capacity);
            let Some(side) = routed.short else { return routed.taken };
            // A cut that no node with rows is part of is short by rounding only: L is the largest.
            let needed = (l * self.supply(&side) - self.cut(&side)) / takers(&side) as f64;
            if needed.is_nan() || needed.is_infinite() || needed <= capacity * (1.0 + EQUAL_SHARE) {
                return self.route(l, f64::INFINITY).taken;
            }
            capacity = needed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        network::{Clustered, Edge, star},
        random::{Purpose, Stream},
    };

    fn network(nodes: usize, edges: &[(usize, usize, f64)]) -> Network {
        let edges = edges.iter().map(|&(source, target, weight)| Edge { source, target, weight });
        Network::new((0..nodes).map(|id| id.to_string()).collect(), edges).unwrap()
    }

    fn marks(nodes: usize, labelled: &[usize]) -> Vec<bool> {
        (0..nodes).map(|node| labelled.contains(&node)).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn a_path_carries_its_weakest_edge() {
        // 0 =5= 1 =3= 2 -1- 3 =4= 4, cut between 2 and 3, rows at 0 and 4.
        let path = network(5, &[(0, 1, 5.0), (1, 2, 3.0), (2, 3, 1.0), (3, 4, 4.0)]);
        let found = sampling(&path, &[0, 0, 0, 1, 1], &marks(5, &[0, 4])).unwrap();
        assert!(close(found.largest[0].unwrap(), 3.0));
        assert!(close(found.largest[1].unwrap(), 4.0));
        // All that is sent arrives at one node on either side: K = √2 L.
        let (l, k) = found.constants.unwrap();
        assert!(close(l, 3.0) && close(k, 3.0 * 2.0_f64.sqrt()), "L = {l}, K = {k}");
    }

    #[test]
    fn a_star_carries_what_its_leaves_do_and_shares_it() {
        // The hub 0 has four leaves; the hub is joined to node 5, alone in its cluster and with rows.
        let mut edges: Vec<_> =
            star(5).unwrap().edges().iter().map(|e| (0, e.target, 1.0)).collect();
        edges.push((0, 5, 0.5));
        let star = network(6, &edges);
        let clusters = [0, 0, 0, 0, 0, 1];
        let found = sampling(&star, &clusters, &marks(6, &[1, 2, 3, 5])).unwrap();
        assert!(close(found.largest[0].unwrap(), 6.0));
        assert_eq!(found.largest[1], None);
        let (l, k) = found.constants.unwrap();
        // Three leaves take L/6 each, and node 5 takes L/2.
        assert!(close(k, l * (3.0 / 36.0 + 0.25_f64).sqrt()), "L = {l}, K = {k}");
    }

    #[test]
    fn two_cliques_with_a_bridge_carry_the_degree_of_its_end() {
        let clique = |first: usize| {
            (0..5).flat_map(move |a| (a + 1..5).map(move |b| (first + a, first + b, 1.0)))
        };
        let edges: Vec<_> = clique(0).chain(clique(5)).chain([(4, 5, 1.0)]).collect();
        let clusters: Vec<usize> = (0..10).map(|node| node / 5).collect();
        let largest = |labelled: &[usize]| {
            sampling(&network(10, &edges), &clusters, &marks(10, labelled)).unwrap().largest
        };
        assert!(largest(&[0, 9]).into_iter().all(|l| close(l.unwrap(), 4.0)));
        assert_eq!(largest(&[4, 5]), [None, None]);
        assert_eq!(largest(&[0])[1], Some(0.0));
    }

    #[test]
    fn where_nothing_has_to_be_carried_or_nothing_can_be_it_is_said() {
        let edges = [(0, 1, 1.0), (2, 3, 1.0)];
        let islands = sampling(&network(4, &edges), &[0, 0, 1, 1], &marks(4, &[0, 2])).unwrap();
        assert_eq!((islands.constants, islands.between), (None, 0.0));
        assert!(islands.warnings[0].contains("no edge between clusters"));
        let chain = network(4, &[(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0)]);
        let weak = sampling(&chain, &[0, 0, 1, 1], &marks(4, &[0, 3])).unwrap();
        assert_eq!(weak.constants, None);
        assert!(weak.warnings[0].contains("L = 0.500"), "{:?}", weak.warnings);
    }

    /// Both sides of condition (17) without K ‖w‖, and ‖w‖ on the nodes with rows.
    fn sides(network: &Network, clusters: &[usize], labelled: &[bool], w: &[f64]) -> [f64; 3] {
        let mut sides = [0.0; 3];
        for edge in network.edges() {
            let side = usize::from(clusters[edge.source] == clusters[edge.target]);
            sides[side] += edge.weight * (w[edge.source] - w[edge.target]).abs();
        }
        let squares = w.iter().zip(labelled).filter(|(_, on)| **on).map(|(w, _)| w * w);
        sides[2] = squares.sum::<f64>().sqrt();
        sides
    }

    #[test]
    fn the_condition_holds_for_weights_of_all_kinds_and_for_no_larger_factor() {
        let mut seen = 0;
        for seed in 0..30 {
            let made = Clustered { clusters: 3, nodes: 8, inside: 0.8, between: 0.05, seed };
            let (network, clusters) = made.make().unwrap();
            let stream = &mut Stream::new(seed, 0, 0, Purpose::Data);
            let labelled: Vec<bool> = (0..24).map(|_| stream.uniform() < 0.5).collect();
            let found = sampling(&network, &clusters, &labelled).unwrap();
            let weights: Vec<Vec<f64>> = (0..300)
                .map(|kind| {
                    let level: Vec<f64> = (0..3).map(|_| stream.normal()).collect();
                    let noise = [0.0, 0.1, 1.0][kind % 3];
                    let zero = kind % 2 == 0;
                    let value = |node: usize, stream: &mut Stream| {
                        let on = !zero || stream.uniform() < 0.5;
                        f64::from(u8::from(on)) * (level[node / 8] + noise * stream.normal())
                    };
                    (0..24).map(|node| value(node, stream)).collect()
                })
                .collect();
            if let Some((l, k)) = found.constants {
                seen += 1;
                for w in &weights {
                    let [between, inside, rows] = sides(&network, &clusters, &labelled, w);
                    assert!(l * between <= (k * rows + inside) * (1.0 + 1e-9), "seed {seed}");
                }
            }
            // The smallest cut of a cluster, by hand: zero on nodes with rows, one on some others.
            for (cluster, largest) in found.largest.iter().enumerate() {
                let ratios = (1..256_usize).filter_map(|side| {
                    let on = |node: usize| node / 8 == cluster && side >> (node % 8) & 1 == 1;
                    let w: Vec<f64> = (0..24).map(|node| f64::from(u8::from(on(node)))).collect();
                    let [between, inside, rows] = sides(&network, &clusters, &labelled, &w);
                    (rows == 0.0 && between > 0.0).then(|| inside / between)
                });
                let smallest = ratios.fold(f64::INFINITY, f64::min);
                assert!(close(largest.unwrap_or(f64::INFINITY).min(1e9), smallest.min(1e9)));
            }
        }
        assert!(seen > 10, "{seen} networks satisfied the condition");
    }
}
