//! A network in parts of equal size with few edges between them,
//!
//! ```text
//! minimise  |{ {i, j} : part(i) ≠ part(j) }|      with parts of nearly equal size
//! ```
//!
//! by bisection: nodes in the order of their distances from far corners, cut where the sizes are right,
//! then improved by moves of single nodes [Fiduccia and Mattheyses, "A linear-time heuristic
//! for improving network partitions", 1982]: the best move first, each node once, and back to the best
//! cut on the way.

use std::collections::{BTreeSet, VecDeque};

use super::{Network, NodeId};
use crate::error::{Error, Result};

/// How often a bisection is improved at most; a pass that finds nothing ends it before.
const MAX_PASSES: usize = 12;

/// By which share of its nodes a half may be too large or too small: a node too many costs less than the
/// edges that an exact cut would add.
const SIZE_SLACK_SHARE: f64 = 0.01;

/// How many moves without a better cut end a pass, so that it does not walk through a whole network for
/// nothing: so many, and one for this many nodes.
const FRUITLESS_MOVES: usize = 50;
const NODES_PER_FRUITLESS_MOVE: usize = 20;

/// The part of every node, for so many parts of nearly equal size and few edges between them.
///
/// ```
/// use fedgrid::network::{partition, ring};
/// let parts = partition(&ring(100)?, 4)?;
/// assert_eq!(parts.iter().filter(|&&part| part == 0).count(), 25);
/// # Ok::<(), fedgrid::Error>(())
/// ```
pub fn partition(network: &Network, parts: usize) -> Result<Vec<usize>> {
    if parts == 0 || parts > network.len().max(1) {
        let (value, expected) = (parts as f64, "from one to the number of nodes");
        return Err(Error::Parameter { name: "parts", value, expected });
    }
    let mut part_of = vec![0; network.len()];
    let mut open = vec![((0..network.len()).collect::<Vec<_>>(), 0, parts)];
    let mut side = vec![None; network.len()];
    while let Some((nodes, first, parts)) = open.pop() {
        if parts == 1 {
            for &node in &nodes {
                part_of[node] = first;
            }
            continue;
        }
        let left = parts / 2;
        // Every part must get a node.
        let size = (nodes.len() * left / parts).clamp(left, nodes.len() - (parts - left));
        bisect(network, &nodes, size, [left, parts - left], &mut side);
        let (mut one, mut other): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
        for &node in &nodes {
            let half = if side[node] == Some(false) { &mut one } else { &mut other };
            half.push(node);
        }
        for &node in &nodes {
            side[node] = None;
        }
        open.push((one, first, left));
        open.push((other, first + left, parts - left));
    }
    Ok(part_of)
}

/// Two halves of some nodes; nodes on neither side are not among them.
struct Halves<'a> {
    network: &'a Network,
    nodes: &'a [NodeId],
    /// The side of every node of the network: false is the first half.
    side: &'a mut [Option<bool>],
    /// How many nodes the first half has.
    size: usize,
    /// How many it should have.
    target: usize,
}

/// Cuts nodes in two halves, of which the first has about this size: the best of several beginnings.
fn bisect(
    network: &Network,
    nodes: &[NodeId],
    target: usize,
    parts: [usize; 2],
    side: &mut [Option<bool>],
) {
    for &node in nodes {
        side[node] = Some(true);
    }
    let mut halves = Halves { network, nodes, side, size: target, target };
    let mut best: Option<(usize, Vec<NodeId>)> = None;
    for order in halves.orders() {
        for (rank, &node) in order.iter().enumerate() {
            halves.side[node] = Some(rank >= target);
        }
        halves.size = target;
        halves.improve(nodes.len(), parts);
        let cut = halves.cut();
        if best.as_ref().is_none_or(|(least, _)| cut < *least) {
            let first = nodes.iter().filter(|node| halves.side[**node] == Some(false));
            best = Some((cut, first.copied().collect()));
        }
    }
    for &node in nodes {
        side[node] = Some(true);
    }
    for node in best.map(|(_, first)| first).unwrap_or_default() {
        side[node] = Some(false);
    }
}

impl Halves<'_> {
    /// Ways to line the nodes up: by their distances from far corners, and by differences of those,
    /// which for two corners of one side of a square are straight lines across.
    fn orders(&self) -> Vec<Vec<NodeId>> {
        let far = |distances: &[usize]| {
            let index = (0..self.nodes.len()).max_by_key(|&index| distances[self.nodes[index]]);
            self.nodes[index.unwrap_or(0)]
        };
        let first = self.distances(far(&self.distances(self.nodes[0])));
        let second = self.distances(far(&first));
        let both: Vec<usize> = first.iter().zip(&second).map(|(a, b)| *a.min(b)).collect();
        let third = self.distances(far(&both));
        let order = |key: &dyn Fn(NodeId) -> i64| {
            let mut order = self.nodes.to_vec();
            // Ties by id, so that a partition is the same on every machine.
            order.sort_by_key(|&node| (key(node), node));
            order
        };
        let signed = |distance: usize| i64::try_from(distance).unwrap_or(i64::MAX / 2);
        let from = |a: &[usize]| order(&|node| signed(a[node]));
        let between = |a: &[usize], b: &[usize]| order(&|node| signed(a[node]) - signed(b[node]));
        vec![from(&first), from(&third), between(&first, &third), between(&second, &third)]
    }

    /// How many edges each node is away from one; components that are not reached come after another.
    fn distances(&self, from: NodeId) -> Vec<usize> {
        let mut distances = vec![usize::MAX; self.side.len()];
        let (mut open, mut furthest) = (VecDeque::new(), 0);
        for &root in std::iter::once(&from).chain(self.nodes) {
            if distances[root] == usize::MAX {
                distances[root] = furthest;
                open.push_back(root);
            }
            while let Some(node) = open.pop_front() {
                furthest = distances[node] + 1;
                for &(other, _) in self.network.neighbours(node) {
                    if self.side[other].is_some() && distances[other] == usize::MAX {
                        distances[other] = furthest;
                        open.push_back(other);
                    }
                }
            }
        }
        distances
    }

    /// How many edges cross.
    fn cut(&self) -> usize {
        let crosses = |node: NodeId| {
            let others = self.network.neighbours(node).iter();
            let across = |other: NodeId| {
                other > node && self.side[other].is_some() && self.side[other] != self.side[node]
            };
            others.filter(|(other, _)| across(*other)).count()
        };
        self.nodes.iter().map(|&node| crosses(node)).sum()
    }

    /// How many edges less cross if a node changes sides.
    fn gain(&self, node: NodeId) -> i64 {
        let weigh = |&(other, _): &(NodeId, f64)| match self.side[other] {
            None => 0,
            Some(side) if Some(side) == self.side[node] => -1,
            Some(_) => 1,
        };
        self.network.neighbours(node).iter().map(weigh).sum()
    }

    fn improve(&mut self, count: usize, parts: [usize; 2]) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a count"
        )]
        let slack = (SIZE_SLACK_SHARE * count as f64) as usize;
        let range = self.target.saturating_sub(slack).max(parts[0])
            ..=(self.target + slack).min(count - parts[1]);
        for _ in 0..MAX_PASSES {
            if !self.pass(count, &range) {
                return;
            }
        }
    }

    /// Moves every node once at most; whether fewer edges cross than before.
    fn pass(&mut self, count: usize, range: &std::ops::RangeInclusive<usize>) -> bool {
        let mut gains: Vec<BTreeSet<(i64, NodeId)>> = vec![BTreeSet::new(); 2];
        for &node in self.nodes {
            let half = usize::from(self.side[node] == Some(true));
            gains[half].insert((self.gain(node), node));
        }
        let (mut total, mut best, mut moved) = (0, 0, Vec::new());
        let mut kept = 0;
        while moved.len() < count
            && moved.len() < kept + FRUITLESS_MOVES + count / NODES_PER_FRUITLESS_MOVE
        {
            // The half that is too large gives; of equals, the one with the better move.
            let from = match self.size.cmp(&self.target) {
                std::cmp::Ordering::Greater => 0,
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => {
                    usize::from(gains[1].last().map(|one| one.0) > gains[0].last().map(|one| one.0))
                }
            };
            let Some((gain, node)) = gains[from].pop_last() else { break };
            self.flip(node, &mut gains);
            total += gain;
            moved.push(node);
            if total > best && range.contains(&self.size) {
                (best, kept) = (total, moved.len());
            }
        }
        // Moves that lead through worse cuts are how a pass leaves a local minimum; those after the best cut
        // are taken back.
        let undone: Vec<NodeId> = moved.drain(kept..).collect();
        let mut nothing = vec![BTreeSet::new(); 2];
        undone.into_iter().rev().for_each(|node| self.flip(node, &mut nothing));
        best > 0
    }

    /// Moves a node to the other side, and tells its neighbours that can still move.
    fn flip(&mut self, node: NodeId, gains: &mut [BTreeSet<(i64, NodeId)>]) {
        let Some(side) = self.side[node] else { return };
        let neighbours = self.network.neighbours(node);
        let half = |side: Option<bool>| usize::from(side == Some(true));
        let movable: Vec<NodeId> = neighbours
            .iter()
            .map(|&(other, _)| other)
            .filter(|&other| {
                let own = half(self.side[other]);
                self.side[other].is_some() && gains[own].remove(&(self.gain(other), other))
            })
            .collect();
        self.side[node] = Some(!side);
        self.size = if side { self.size + 1 } else { self.size - 1 };
        for other in movable {
            gains[half(self.side[other])].insert((self.gain(other), other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Edge, grid, path, random_regular, ring};

    fn cut(network: &Network, part_of: &[usize]) -> usize {
        network.edges().iter().filter(|e| part_of[e.source] != part_of[e.target]).count()
    }

    fn sizes(part_of: &[usize], parts: usize) -> Vec<usize> {
        (0..parts).map(|part| part_of.iter().filter(|&&own| own == part).count()).collect()
    }

    #[test]
    fn simple_networks_are_cut_as_well_as_can_be() {
        assert_eq!(cut(&ring(60).unwrap(), &partition(&ring(60).unwrap(), 5).unwrap()), 5);
        assert_eq!(cut(&path(40).unwrap(), &partition(&path(40).unwrap(), 4).unwrap()), 3);
        let square = grid(20, 20).unwrap();
        let quarters = partition(&square, 4).unwrap();
        // Two straight lines cut forty edges.
        assert!(cut(&square, &quarters) <= 52, "{}", cut(&square, &quarters));
    }

    #[test]
    fn two_clusters_are_found_whatever_the_order_of_their_nodes() {
        let inside = |a: usize, b: usize| a % 2 == b % 2;
        let all = (0..30).flat_map(|a| (a + 1..30).map(move |b| (a, b)));
        let edges = all.filter(|&(a, b)| inside(a, b) || (a == 3 && b == 8));
        let edges = edges.map(|(source, target)| Edge { source, target, weight: 1.0 });
        let names = (0..30).map(|id| id.to_string()).collect();
        let network = Network::new(names, edges).unwrap();
        assert_eq!(cut(&network, &partition(&network, 2).unwrap()), 1);
    }

    #[test]
    fn parts_are_nearly_equal_and_none_is_empty() {
        for parts in [1, 2, 3, 7, 16, 50] {
            let network = random_regular(50, 4, 3).unwrap();
            let sizes = sizes(&partition(&network, parts).unwrap(), parts);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least > 0 && *most <= 50_usize.div_ceil(parts) + 1, "{parts}: {sizes:?}");
        }
        assert!(partition(&ring(5).unwrap(), 6).is_err());
        assert!(partition(&ring(5).unwrap(), 0).is_err());
    }
}
