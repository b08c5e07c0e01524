//! What neighbours share: the covariance of two nodes' gains, by how many hops they are apart,
//!
//! ```text
//! cov(d_i, d_j) = A_i · C · A_j        C = cov(q_i, q_j)
//! ```
//!
//! with A the summed tilts of a node, which are known, and q its mean residuals, which are not. C is the mean of
//! their products over all pairs of nodes as many hops apart: what lasts over the rows of both and what passes
//! with a row of each are both in it. Within a node it is what batches of rows share, because what they do not
//! is in the node's own variance. Hops are counted until the covariance is no longer positive. [Geyer,
//! "Practical Markov chain Monte Carlo", 1992, section 3.3, for time.]

use std::collections::VecDeque;

use rayon::prelude::*;

use super::paired::{PairedNode, Part, add_product};
use crate::{algebra::dot, network::Network};

/// Pairs of nodes that are looked at, about; in larger networks every so many nodes look at all others.
const PAIRS_IN_ALL: usize = 10_000_000;
/// Nodes that look at all others at least.
const LEAST_SOURCES: usize = 100;
/// How many hops are looked at first: covariances are seldom positive for longer, and farther nodes are most of a
/// network. Where they are, twice as many, and so on.
const FIRST_HOPS: usize = 4;

/// Sums over pairs of nodes that are so many hops apart.
#[derive(Debug, Clone)]
struct Hop {
    /// How many pairs there are.
    pairs: f64,
    /// Products of the residuals of batches, over all outputs, and how many.
    products: Vec<f64>,
    count: f64,
    /// Products of the tilts of whole nodes.
    tilts: Vec<f64>,
}

impl Hop {
    fn new(outputs: usize) -> Self {
        let none = || vec![0.0; outputs * outputs];
        Self { pairs: 0.0, products: none(), count: 0.0, tilts: none() }
    }

    /// Adds a pair of nodes, or a node with itself.
    fn add(&mut self, a: &PairedNode, b: &PairedNode, is_same: bool) {
        let batches = a.batches;
        // What a node of one batch has to itself is in its own variance.
        if is_same && batches < 2 {
            return;
        }
        self.pairs += 1.0;
        add_product(&mut self.tilts, 1.0, &a.tilts, &b.tilts);
        add_product(&mut self.products, 1.0, &a.residuals, &b.residuals);
        self.count += (batches * b.batches) as f64;
        if is_same {
            self.products.iter_mut().zip(&a.squares).for_each(|(sum, own)| *sum -= own);
            self.count -= batches as f64;
        }
    }

    fn plus(&mut self, other: &Self) {
        let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        self.pairs += other.pairs;
        self.count += other.count;
        add(&mut self.products, &other.products);
        add(&mut self.tilts, &other.tilts);
    }

    /// The covariance of mean residuals.
    fn covariance(&self) -> Vec<f64> {
        self.products.iter().map(|sum| sum / self.count.max(1.0)).collect()
    }

    /// The sum of the variances of all outputs in it.
    fn trace(&self) -> f64 {
        let covariance = self.covariance();
        covariance.iter().step_by(covariance.len().isqrt() + 1).sum()
    }

    /// Whether hops are counted no further: there are pairs, and no covariance.
    fn ends(&self) -> bool {
        self.pairs > 0.0 && self.trace() <= 0.0
    }
}

/// The part of the variance of the summed gain that is due to covariances.
pub(super) fn shared_part(nodes: &[Option<PairedNode>], network: &Network) -> Part {
    shared_within(nodes, network, FIRST_HOPS)
}

/// The same, where so many hops are looked at first.
fn shared_within(nodes: &[Option<PairedNode>], network: &Network, first_hops: usize) -> Part {
    let none = Part { variance: 0.0, degrees: 1.0 };
    let Some(first) = nodes.iter().flatten().next() else { return none };
    let outputs = first.residuals.len();
    if outputs == 0 {
        return none;
    }
    let with_rows: Vec<usize> = (0..nodes.len()).filter(|&node| nodes[node].is_some()).collect();
    let count = with_rows.len();
    let stride = (count / (PAIRS_IN_ALL / count).max(LEAST_SOURCES)).max(1);
    let sources: Vec<usize> = with_rows.into_iter().step_by(stride).collect();
    let mut most = first_hops;
    loop {
        let looks: Vec<Vec<Hop>> = sources
            .par_iter()
            .map(|&source| hops((source, most), nodes, network, outputs))
            .collect();
        let mut total: Vec<Hop> = Vec::new();
        for look in &looks {
            for (distance, hop) in look.iter().enumerate() {
                match total.get_mut(distance) {
                    Some(sum) => sum.plus(hop),
                    None => total.push(hop.clone()),
                }
            }
        }
        let is_whole = total.len() <= most || total.iter().any(Hop::ends);
        if is_whole {
            return part(&total, count, count as f64 / sources.len() as f64);
        }
        most *= 2;
    }
}

/// The sums over all nodes that are 0, 1, 2, … hops from one, and no more than so many.
fn hops(
    (source, most): (usize, usize),
    nodes: &[Option<PairedNode>],
    network: &Network,
    outputs: usize,
) -> Vec<Hop> {
    let mut found: Vec<Hop> = Vec::new();
    let Some(own) = &nodes[source] else { return found };
    let mut distances = vec![usize::MAX; nodes.len()];
    distances[source] = 0;
    let mut open = VecDeque::from([source]);
    while let Some(node) = open.pop_front() {
        let distance = distances[node];
        if found.len() <= distance {
            found.push(Hop::new(outputs));
        }
        if let Some(other) = &nodes[node] {
            found[distance].add(own, other, node == source);
        }
        if distance == most {
            continue;
        }
        for &(neighbour, _) in network.neighbours(node) {
            if distances[neighbour] == usize::MAX {
                distances[neighbour] = distance + 1;
                open.push_back(neighbour);
            }
        }
    }
    found
}

/// The largest sum over the first hops, as long as covariances are positive. Its degrees of freedom are the
/// number of patches of nodes that err alike.
fn part(hops: &[Hop], count: usize, scale: f64) -> Part {
    let (mut sum, mut largest, mut alike, mut strongest) = (0.0, 0.0_f64, 0.0, 0.0_f64);
    for hop in hops.iter().filter(|hop| hop.pairs > 0.0) {
        if hop.ends() {
            break;
        }
        let (covariance, trace) = (hop.covariance(), hop.trace());
        sum += scale * dot(&covariance, &hop.tilts);
        largest = largest.max(sum);
        strongest = strongest.max(trace);
        alike += scale * hop.pairs * (trace / strongest).powi(2);
    }
    let degrees = if alike > 0.0 { (count * count) as f64 / alike } else { 1.0 };
    Part { variance: largest, degrees: degrees.max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::paired::PairedBatches,
        network::path,
        random::{Purpose, Stream},
    };

    #[test]
    fn hops_that_are_looked_at_in_parts_are_those_of_all_at_once() {
        let network = path(60).unwrap();
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        // Alike over about so many nodes, from none to all.
        for alike in [1.0, 5.0, 12.0, 1e3] {
            let node = |at: usize| {
                let residual = (at as f64 / alike).cos();
                PairedNode::of_batches(&PairedBatches {
                    rows: vec![3.0, 2.0],
                    gains: vec![0.1, 0.2],
                    residuals: vec![residual, residual + 0.01 * stream.normal()],
                    tilts: vec![1.0, 0.5],
                })
            };
            let nodes: Vec<Option<PairedNode>> = (0..60).map(node).map(Some).collect();
            let whole = shared_within(&nodes, &network, 1000);
            assert!(whole.variance > 0.0);
            for first in [1, FIRST_HOPS] {
                let part = shared_within(&nodes, &network, first);
                assert_eq!(
                    (part.variance, part.degrees),
                    (whole.variance, whole.degrees),
                    "{alike} {first}"
                );
            }
        }
    }
}
