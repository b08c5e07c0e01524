//! Which pairs are probed: some at random, later ones where earlier probes point to, because a helper of a
//! node's best partners will probably help the node, too. Nodes without a helpful partner draw at random;
//! nodes without a suitable one try a well-connected node outside their group.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    network::NodeId,
    random::{Purpose, Stream},
};

/// The pairs probed so far, each with its score; both ends probe each other.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    /// Nodes with rows, which alone take part.
    members: Vec<NodeId>,
    pub(super) partners: Vec<Vec<NodeId>>,
    pub(super) count: usize,
}

impl Pairs {
    pub(super) fn new(nodes: usize, members: Vec<NodeId>) -> Self {
        Self { members, partners: vec![Vec::new(); nodes], count: 0 }
    }

    /// How many pairs there could be.
    pub(super) fn all(&self) -> usize {
        self.members.len() * self.members.len().saturating_sub(1) / 2
    }

    /// Adds a pair; false if it is known or no pair.
    fn add(&mut self, a: NodeId, b: NodeId) -> bool {
        let Err(place) = self.partners[a].binary_search(&b) else { return false };
        if a == b {
            return false;
        }
        self.partners[a].insert(place, b);
        let place = self.partners[b].partition_point(|&other| other < a);
        self.partners[b].insert(place, a);
        self.count += 1;
        true
    }

    /// Draws pairs at random up to a number, equally many for all nodes.
    pub(super) fn draw(&mut self, goal: usize, seed: u64) {
        let goal = goal.min(self.all());
        let mut round = 0;
        while self.count < goal {
            let mut stream = Stream::new(seed, 0, round, Purpose::Pairs);
            let order = stream.permutation(self.members.len());
            for (place, &other) in order.iter().enumerate() {
                if self.count < goal {
                    self.add(self.members[place], self.members[other]);
                }
            }
            round += 1;
        }
    }

    /// Adds pairs up to a number, always to a node that has the fewest friends and new pairs: the
    /// most promising friend of its friends, or anyone if there is none. Friends come best first.
    pub(super) fn follow(&mut self, friends: &[Vec<NodeId>], goal: usize, seed: u64) {
        let goal = goal.min(self.all());
        let mut stream = Stream::new(seed, 1, self.count, Purpose::Pairs);
        let mut waiting: Vec<Vec<NodeId>> =
            (0..friends.len()).map(|node| self.promising(node, friends)).collect();
        // Nodes in order of what they have; equal ones in random order.
        let mut queue: BTreeSet<(usize, usize, NodeId)> = BTreeSet::new();
        let order = stream.permutation(self.members.len());
        for (place, &node) in order.iter().zip(&self.members) {
            queue.insert((friends[node].len(), *place, node));
        }
        while self.count < goal {
            let Some((level, place, node)) = queue.pop_first() else { return };
            // A node that knows everyone has no one left to draw.
            if self.partners[node].len() + 1 == self.members.len() {
                continue;
            }
            loop {
                let drawn = waiting[node].pop();
                let other = drawn.unwrap_or_else(|| self.members[stream.index(order.len())]);
                if self.add(node, other) {
                    break;
                }
            }
            queue.insert((level + 1, place, node));
        }
    }

    /// Adds pairs up to a number, one for each node in order of its doubt whether it has found its
    /// own: someone sure whose friends it has heard of least.
    pub(super) fn visit(&mut self, friends: &[Vec<NodeId>], doubt: &[f64], goal: usize) {
        let mut order = self.members.clone();
        order.sort_by(|&a, &b| doubt[b].total_cmp(&doubt[a]).then(a.cmp(&b)));
        for &node in &order {
            if self.count >= goal.min(self.all()) {
                return;
            }
            let known = self.heard_of(node, friends);
            let share = |other: NodeId| {
                let met = friends[other].iter().filter(|&&friend| known[friend]).count();
                met as f64 / friends[other].len() as f64
            };
            let strange = order
                .iter()
                .rev()
                .copied()
                .filter(|&other| other != node && !friends[other].is_empty() && !known[other]);
            // Of equals the one that doubts least.
            let least = |a: (f64, NodeId), b: (f64, NodeId)| if b.0 < a.0 { b } else { a };
            if let Some((_, other)) = strange.map(|other| (share(other), other)).reduce(least) {
                self.add(node, other);
            }
        }
    }

    /// Whom a node has met, and their friends.
    fn heard_of(&self, node: NodeId, friends: &[Vec<NodeId>]) -> Vec<bool> {
        let mut known = vec![false; friends.len()];
        for &partner in &self.partners[node] {
            known[partner] = true;
            friends[partner].iter().for_each(|&friend| known[friend] = true);
        }
        known
    }

    /// Friends of friends that are not known yet, the one most named last.
    fn promising(&self, node: NodeId, friends: &[Vec<NodeId>]) -> Vec<NodeId> {
        let mut named: BTreeMap<NodeId, usize> = BTreeMap::new();
        for &friend in &friends[node] {
            for &other in &friends[friend] {
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
