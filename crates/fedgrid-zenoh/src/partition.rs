//! A large network in balanced parts with few edges between them, one part per process.
//!
//! Halves are cut again and again along breadth-first levels, which gives connected parts; then nodes
//! move one by one to the part that holds most of their edges as long as parts stay balanced,
//!
//! ```text
//! move i from P to Q  if  Σ_{j ∈ Q} 1(ij is an edge) > Σ_{j ∈ P} 1(ij is an edge)
//! ```
//!
//! in order of ids, until a sweep moves none. The result depends on nothing but the network.

use std::collections::VecDeque;

use fedgrid::network::{Network, NodeId};

/// How many sweeps of moves are made at most.
const SWEEPS: usize = 20;

/// The part of each node, and how many edges join two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The part of each node.
    pub parts: Vec<u32>,
    /// The number of edges between different parts.
    pub cut: usize,
}

impl Partition {
    /// Divides a network among this many processes; fewer if it has fewer nodes.
    #[must_use]
    pub fn new(network: &Network, parts: usize) -> Self {
        let count = parts.clamp(1, network.len().max(1));
        let mut division = Division { network, parts: vec![0; network.len()] };
        division.split((0..network.len()).collect(), 0, count);
        division.refine(count);
        Self::of(network, division.parts)
    }

    /// A given division.
    #[must_use]
    pub fn of(network: &Network, parts: Vec<u32>) -> Self {
        let joins = |a: NodeId, b: NodeId| parts[a] != parts[b];
        let cut = network.edges().iter().filter(|edge| joins(edge.source, edge.target)).count();
        Self { parts, cut }
    }
}

struct Division<'a> {
    network: &'a Network,
    parts: Vec<u32>,
}

impl Division<'_> {
    /// Gives the parts `first..first + count` to these nodes.
    fn split(&mut self, nodes: Vec<NodeId>, first: usize, count: usize) {
        let label = u32::try_from(first).unwrap_or(u32::MAX);
        nodes.iter().for_each(|&node| self.parts[node] = label);
        if count <= 1 {
            return;
        }
        let low = count / 2;
        let size = (nodes.len() * low).div_ceil(count);
        let mut order = self.levels(&nodes, label);
        let rest = order.split_off(size.min(order.len()));
        // Levels are looked for inside a label, so the two halves get theirs before either is split.
        let upper = u32::try_from(first + low).unwrap_or(u32::MAX);
        rest.iter().for_each(|&node| self.parts[node] = upper);
        self.split(order, first, low);
        self.split(rest, first + low, count - low);
    }

    /// Nodes of a part by levels from a node at its rim; components one after the other.
    fn levels(&self, nodes: &[NodeId], label: u32) -> Vec<NodeId> {
        let mut order = Vec::with_capacity(nodes.len());
        let mut seen = vec![false; self.network.len()];
        for &start in nodes {
            if seen[start] {
                continue;
            }
            let mut far = Vec::new();
            self.visit(start, label, &mut vec![false; 0], &mut far);
            let rim = far.last().copied().unwrap_or(start);
            let from = order.len();
            self.visit(rim, label, &mut seen, &mut order);
            debug_assert!(order.len() > from, "a component has a node");
        }
        order
    }

    /// Appends what can be reached inside a part, nearest first.
    fn visit(&self, start: NodeId, label: u32, seen: &mut Vec<bool>, order: &mut Vec<NodeId>) {
        if seen.is_empty() {
            seen.resize(self.network.len(), false);
        }
        let mut queue = VecDeque::from([start]);
        seen[start] = true;
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for &(next, _) in self.network.neighbours(node) {
                if self.parts[next] == label && !seen[next] {
                    seen[next] = true;
                    queue.push_back(next);
                }
            }
        }
    }

    /// Moves nodes to where most of their edges are.
    fn refine(&mut self, count: usize) {
        let mut sizes = vec![0_usize; count];
        self.parts.iter().for_each(|&part| sizes[part as usize] += 1);
        let even = self.network.len() as f64 / count as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a node count")]
        let (least, most) = ((0.97 * even).max(1.0) as usize, (1.03 * even).ceil() as usize);
        let mut edges = vec![0_usize; count];
        for _ in 0..SWEEPS {
            let mut moved = 0;
            for node in 0..self.network.len() {
                let own = self.parts[node] as usize;
                let neighbours = self.network.neighbours(node);
                let part = |&(next, _): &(NodeId, f64)| self.parts[next] as usize;
                neighbours.iter().for_each(|next| edges[part(next)] += 1);
                let best = neighbours
                    .iter()
                    .map(part)
                    .max_by_key(|&part| (edges[part], std::cmp::Reverse(part)));
                let better = best.filter(|&best| {
                    edges[best] > edges[own] && sizes[own] > least && sizes[best] < most
                });
                neighbours.iter().for_each(|next| edges[part(next)] = 0);
                if let Some(best) = better {
                    self.parts[node] = u32::try_from(best).unwrap_or(u32::MAX);
                    sizes[own] -= 1;
                    sizes[best] += 1;
                    moved += 1;
                }
            }
            if moved == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fedgrid::network::{grid, path, ring};

    use super::*;

    fn sizes(partition: &Partition, count: usize) -> Vec<usize> {
        let of = |part| partition.parts.iter().filter(|&&other| other as usize == part).count();
        (0..count).map(of).collect()
    }

    #[test]
    fn a_path_is_cut_once_per_border_and_a_ring_once_more() {
        let cut = |network: &Network| Partition::new(network, 4).cut;
        assert_eq!(cut(&path(100).unwrap()), 3);
        assert!(cut(&ring(100).unwrap()) <= 8);
    }

    #[test]
    fn a_square_grid_is_cut_along_levels_into_equal_parts() {
        let partition = Partition::new(&grid(40, 40).unwrap(), 4);
        // Four squares of 20 by 20 cut 80 edges, four strips 120; levels are slanted.
        assert!(partition.cut <= 200, "{}", partition.cut);
        let sizes = sizes(&partition, 4);
        assert!(sizes.iter().all(|&size| (380..=420).contains(&size)), "{sizes:?}");
    }

    #[test]
    fn every_node_has_a_part_and_parts_are_no_more_than_asked_for() {
        for (nodes, count) in [(1, 5), (7, 3), (10, 10), (33, 8)] {
            let partition = Partition::new(&path(nodes).unwrap(), count);
            assert_eq!(partition.parts.len(), nodes);
            let sizes = sizes(&partition, count.min(nodes));
            assert_eq!(sizes.iter().sum::<usize>(), nodes);
            assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
        }
    }
}
