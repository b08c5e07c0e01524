//! Which pairs are probed: some at random, later ones where earlier probes point to, because a helper of
//! a node's best partners will probably help the node, too. Nodes without a helpful partner draw at
//! random; nodes that doubt their peer group try a well-connected node outside of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    network::NodeId,
    random::{Purpose, Stream},
};

/// The pairs probed so far; both ends probe each other.
#[derive(Debug, Clone)]
pub(super) struct PairSearch {
    /// Nodes with rows, which alone take part.
    members: Vec<NodeId>,
    pub(super) partners: Vec<Vec<NodeId>>,
    pub(super) count: usize,
}

impl PairSearch {
    pub(super) fn new(nodes: usize, members: Vec<NodeId>) -> Self {
        Self { members, partners: vec![Vec::new(); nodes], count: 0 }
    }

    /// How many pairs there could be.
    pub(super) fn all(&self) -> usize {
        self.members.len() * self.members.len().saturating_sub(1) / 2
    }

    /// Adds a pair; false if it is known or no pair.
    fn add(&mut self, a: NodeId, b: NodeId) -> bool {
        let Err(index) = self.partners[a].binary_search(&b) else { return false };
        if a == b {
            return false;
        }
        self.partners[a].insert(index, b);
        let index = self.partners[b].partition_point(|&other| other < a);
        self.partners[b].insert(index, a);
        self.count += 1;
        true
    }

    /// Draws pairs at random up to a number. Each round pairs every node once, so that all have equally
    /// many.
    pub(super) fn draw(&mut self, goal: usize, seed: u64) {
        let goal = goal.min(self.all());
        let mut round = 0;
        while self.count < goal {
            let mut stream = Stream::new(seed, 0, round, Purpose::Pairs);
            let order = stream.permutation(self.members.len());
            for (index, &other) in order.iter().enumerate() {
                if self.count < goal {
                    self.add(self.members[index], self.members[other]);
                }
            }
            round += 1;
        }
    }

    /// Adds pairs up to a number, always to a node that has the fewest peers and new pairs: the most
    /// promising peer of its peers, or anyone if there is none. Peers come best first.
    pub(super) fn follow_peers(&mut self, peers: &[Vec<NodeId>], goal: usize, seed: u64) {
        let goal = goal.min(self.all());
        let mut stream = Stream::new(seed, 1, self.count, Purpose::Pairs);
        let mut promising: Vec<Vec<NodeId>> =
            (0..peers.len()).map(|node| self.peers_of_peers(node, peers)).collect();
        // Nodes in order of what they have; equal ones in random order, so that no id is favoured.
        let mut queue: BTreeSet<(usize, usize, NodeId)> = BTreeSet::new();
        let order = stream.permutation(self.members.len());
        for (rank, &node) in order.iter().zip(&self.members) {
            queue.insert((peers[node].len(), *rank, node));
        }
        while self.count < goal {
            let Some((level, rank, node)) = queue.pop_first() else { return };
            // A node that knows everyone has no one left to draw.
            if self.partners[node].len() + 1 == self.members.len() {
                continue;
            }
            loop {
                let next = promising[node].pop();
                let other = next.unwrap_or_else(|| self.members[stream.index(order.len())]);
                if self.add(node, other) {
                    break;
                }
            }
            queue.insert((level + 1, rank, node));
        }
    }

    /// Adds pairs up to a number, one for each node in order of its doubt whether it has found its group:
    /// a node outside of what it knows, of whose peers it knows the smallest share.
    pub(super) fn explore(&mut self, peers: &[Vec<NodeId>], doubt: &[f64], goal: usize) {
        let mut order = self.members.clone();
        order.sort_by(|&a, &b| doubt[b].total_cmp(&doubt[a]).then(a.cmp(&b)));
        for &node in &order {
            if self.count >= goal.min(self.all()) {
                return;
            }
            let known = self.known_to(node, peers);
            let known_share = |other: NodeId| {
                let met = peers[other].iter().filter(|&&peer| known[peer]).count();
                met as f64 / peers[other].len() as f64
            };
            let outsiders = order
                .iter()
                .rev()
                .copied()
                .filter(|&other| other != node && !peers[other].is_empty() && !known[other]);
            // Of equals the first, which doubts least: its group is the surest.
            let least = |a: (f64, NodeId), b: (f64, NodeId)| if b.0 < a.0 { b } else { a };
            let found = outsiders.map(|other| (known_share(other), other)).reduce(least);
            if let Some((_, other)) = found {
                self.add(node, other);
            }
        }
    }

    /// Whether a node knows each other one, as a partner or as a peer of a partner.
    fn known_to(&self, node: NodeId, peers: &[Vec<NodeId>]) -> Vec<bool> {
        let mut known = vec![false; peers.len()];
        for &partner in &self.partners[node] {
            known[partner] = true;
            peers[partner].iter().for_each(|&peer| known[peer] = true);
        }
        known
    }

    /// Peers of peers that are no partners yet, the one most often named last.
    fn peers_of_peers(&self, node: NodeId, peers: &[Vec<NodeId>]) -> Vec<NodeId> {
        let mut named: BTreeMap<NodeId, usize> = BTreeMap::new();
        for &peer in &peers[node] {
            for &other in &peers[peer] {
                if other != node && self.partners[node].binary_search(&other).is_err() {
                    *named.entry(other).or_default() += 1;
                }
            }
        }
        let mut order: Vec<NodeId> = named.keys().copied().collect();
        order.sort_by_key(|other| (named[other], usize::MAX - other));
        order
    }
}
