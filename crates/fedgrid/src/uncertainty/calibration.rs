//! Whose rows calibrate a node's intervals, how much each counts, and which score they lead to.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result, same_size},
    network::Network,
};

/// What a row counts at a neighbour of its node that has no stronger edge; every further edge on the way takes as
/// much again.
// By the interval score of validation rows, each left out in turn, on three datasets; between 0.7 and 1 it is flat.
// With less, the rows of all nodes together may count too little, and intervals are wider than they need be.
const WEIGHT_PER_EDGE: f64 = 0.8;
/// Rows are taken from further nodes until the share of new rows that an interval covers has this standard
/// deviation, over draws of the rows that calibrate it.
// Chosen as the weight above. At nine tenths it means that rows count a hundred in all: that the level holds for so
// few rows costs a hundredth more coverage than was asked for.
const COVERAGE_DEVIATION: f64 = 0.03;
/// Nodes at a distance whose rows count less than this together are left out, and those beyond: they would change
/// nothing but the number of rows that a reader is told of.
const LEAST_ADDED: f64 = 1.0;
/// How many neighbours of a node are kept, the strongest: more have rows enough.
const MOST_NEIGHBOURS: usize = 64;

/// From how far the rows come that calibrate a node's intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its own rows suffice.
    Own,
    /// Nodes up to so many edges away.
    Edges(usize),
    /// All nodes, because those that edges lead to have too few.
    All,
}

/// The scores of all nodes, and who is near whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scores {
    /// The scores of each node, in ascending order.
    pub(super) nodes: Vec<Vec<f64>>,
    /// How many rows each of them stands for; empty if for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) counts: Vec<Vec<f64>>,
    /// The neighbours of each node, with the weight of the edge relative to its strongest.
    neighbours: Vec<Vec<(usize, f64)>>,
}

/// The rows that calibrate a node's intervals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighed {
    /// How much a row of each of these nodes counts, in the order of the nodes.
    pub(super) weights: Vec<(usize, f64)>,
    pub(super) reach: Reach,
    /// Σ w.
    pub(super) total: f64,
}

/// The least Σ w that allows a level: with less, the interval would have to be the whole line.
fn least(level: f64) -> f64 {
    level / (1.0 - level)
}

impl Scores {
    pub(super) fn new(
        mut nodes: Vec<Vec<f64>>,
        mut counts: Vec<Vec<f64>>,
        network: &Network,
    ) -> Self {
        for (scores, counts) in nodes.iter_mut().zip(&mut counts) {
            let mut pairs: Vec<(f64, f64)> =
                scores.iter().copied().zip(counts.iter().copied()).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            (*scores, *counts) = pairs.into_iter().unzip();
        }
        // Where rows have no counts, nothing is sorted yet.
        for scores in &mut nodes {
            scores.sort_by(f64::total_cmp);
        }
        let neighbours = |node: usize| {
            let mut near = network.neighbours(node).to_vec();
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            near.truncate(MOST_NEIGHBOURS);
            let strongest = near.first().map_or(1.0, |(_, weight)| *weight);
            near.iter().map(|(other, weight)| (*other, weight / strongest)).collect()
        };
        Self { neighbours: (0..network.len()).map(neighbours).collect(), nodes, counts }
    }

    /// Refuses neighbours that do not exist.
    pub(super) fn check(&self) -> Result<()> {
        same_size("nodes with neighbours", self.neighbours.len(), self.nodes.len())?;
        if !self.counts.is_empty() {
            same_size("nodes with counts of rows", self.counts.len(), self.nodes.len())?;
            for (counts, scores) in self.counts.iter().zip(&self.nodes) {
                same_size("counts of rows", counts.len(), scores.len())?;
            }
        }
        let is_known = |(other, _): &(usize, f64)| *other < self.nodes.len();
        if self.neighbours.iter().flatten().all(is_known) {
            return Ok(());
        }
        Err(Error::Malformed { what: "a neighbour", reason: "is not a node" })
    }

    pub(super) fn rows(&self) -> usize {
        self.nodes.iter().map(Vec::len).sum()
    }

    /// How many rows a score of a node stands for.
    fn count(&self, node: usize, place: usize) -> f64 {
        self.counts.get(node).map_or(1.0, |counts| counts[place])
    }

    /// How many rows the scores of a node stand for.
    fn row_count(&self, node: usize) -> f64 {
        let scores = self.nodes[node].len() as f64;
        self.counts.get(node).map_or(scores, |counts| counts.iter().sum())
    }

    /// The rows for a node's intervals; whether they suffice is seen by their total.
    pub(super) fn weighed(&self, walk: &mut Walk, node: usize, level: f64) -> Weighed {
        let wanted = (level * (1.0 - level) / COVERAGE_DEVIATION.powi(2)).max(least(level));
        let mut weights = vec![(node, 1.0)];
        walk.begin(node);
        let (mut total, mut edges) = (walk.row_counts[node], 0);
        let mut ring = 0..1;
        while total < wanted && !ring.is_empty() {
            let next = walk.beyond(&self.neighbours, &weights[ring.clone()]);
            let added: f64 = next.iter().map(|(near, w)| w * walk.row_counts[*near]).sum();
            if total >= least(level) && added < LEAST_ADDED {
                break;
            }
            total += added;
            edges += usize::from(!next.is_empty());
            ring = weights.len()..weights.len() + next.len();
            weights.extend(next);
        }
        weights.sort_unstable_by_key(|(near, _)| *near);
        if total >= least(level) {
            let reach = if edges == 0 { Reach::Own } else { Reach::Edges(edges) };
            return Weighed { weights, reach, total };
        }
        self.of_all()
    }

    /// The rows of all nodes, each as much.
    pub(super) fn of_all(&self) -> Weighed {
        let weights = (0..self.nodes.len()).map(|node| (node, 1.0)).collect();
        let total = (0..self.nodes.len()).map(|node| self.row_count(node)).sum();
        Weighed { weights, reach: Reach::All, total }
    }

    /// The smallest score that a share of the rows does not exceed, counting a row more that exceeds them all;
    /// none if that row is needed.
    pub(super) fn quantile(&self, weighed: &Weighed, level: f64) -> Option<f64> {
        let of_node = |&(node, weight): &(usize, f64)| {
            let scores = self.nodes[node].iter().enumerate();
            scores.map(move |(place, score)| (*score, weight * self.count(node, place)))
        };
        let mut scores: Vec<(f64, f64)> = weighed.weights.iter().flat_map(of_node).collect();
        scores.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted = level * (1.0 + scores.iter().map(|(_, weight)| weight).sum::<f64>());
        let mut sum = 0.0;
        // Sums of weights such as 0.9 · 10 may end a rounding below what they are.
        let enough = wanted * (1.0 - 1e-12);
        scores.iter().find_map(|(score, weight)| {
            sum += weight;
            (sum >= enough).then_some(*score)
        })
    }
}

/// Room for walks from nodes to those around them.
#[derive(Debug)]
pub(super) struct Walk {
    /// How many rows the scores of each node stand for.
    row_counts: Vec<f64>,
    /// The last walk that came to each node, and what a row counts there by the best way so far.
    reached: Vec<(usize, f64)>,
    number: usize,
}

impl Walk {
    pub(super) fn new(scores: &Scores) -> Self {
        let nodes = scores.nodes.len();
        let row_counts = (0..nodes).map(|node| scores.row_count(node)).collect();
        Self { row_counts, reached: vec![(0, 0.0); nodes], number: 0 }
    }

    fn begin(&mut self, node: usize) {
        self.number += 1;
        self.reached[node] = (self.number, f64::INFINITY);
    }

    /// The nodes next to a ring that are not reached yet, in order, each with what a row counts by the best way there.
    fn beyond(
        &mut self,
        neighbours: &[Vec<(usize, f64)>],
        ring: &[(usize, f64)],
    ) -> Vec<(usize, f64)> {
        let mut next: Vec<(usize, f64)> = Vec::new();
        // Nodes of this ring are told from those before by a second number.
        let before = self.number;
        self.number += 1;
        for &(from, weight) in ring {
            for &(other, relative) in &neighbours[from] {
                let own = WEIGHT_PER_EDGE * weight * relative;
                let (walk, best) = &mut self.reached[other];
                if *walk == self.number {
                    *best = best.max(own);
                } else if *walk != before {
                    (*walk, *best) = (self.number, own);
                    next.push((other, 0.0));
                }
            }
        }
        next.sort_unstable_by_key(|(near, _)| *near);
        self.number = before;
        for (near, weight) in &mut next {
            *weight = self.reached[*near].1;
            self.reached[*near].0 = before;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Edge, ring};

    #[test]
    fn rows_count_by_the_best_of_the_shortest_ways() {
        let edges = ring(12).unwrap().edges().to_vec().into_iter();
        let edges = edges
            .map(|edge| Edge { weight: 1.0 + 0.1 * (edge.source % 3) as f64, ..edge })
            .chain([Edge { source: 0, target: 6, weight: 0.7 }]);
        let names = (0..12).map(|node| node.to_string()).collect();
        let network = Network::new(names, edges).unwrap();
        let nodes = (0..12).map(|node| vec![f64::from(node), 20.0 - f64::from(node)]).collect();
        let scores = Scores::new(nodes, Vec::new(), &network);
        let mut walk = Walk::new(&scores);
        // Ways of one more edge each, as matrices have it: the best way of so many edges to each node.
        for node in 0..12 {
            let mut best = vec![None; 12];
            best[node] = Some((0, 1.0));
            for edges in 1..12 {
                let before = best.clone();
                for from in (0..12).filter(|&from| before[from].is_some_and(|b| b.0 + 1 == edges)) {
                    for &(to, relative) in &scores.neighbours[from] {
                        let own = WEIGHT_PER_EDGE * before[from].unwrap().1 * relative;
                        let is_better = match best[to] {
                            None => true,
                            Some((known, weight)) => known == edges && weight < own,
                        };
                        if is_better {
                            best[to] = Some((edges, own));
                        }
                    }
                }
            }
            let found = scores.weighed(&mut walk, node, 0.9);
            assert!(matches!(found.reach, Reach::Edges(_)));
            for (near, weight) in found.weights {
                assert!((weight - best[near].unwrap().1).abs() < 1e-15, "{node} {near}");
            }
        }
    }
}
