//! How much smaller one method's error is than another's at these nodes, and how sure that is.
//!
//! ```text
//! g = Σ_i d_i / N              d_i = Σ_rows δ,  δ = the difference of two methods' losses in a row
//! V = Σ_i v_i + Σ_ij cov(d_i, d_j)       t = g N / √V  with ν degrees of freedom [Satterthwaite]
//! ```
//!
//! The models are given and rows are drawn anew. `v_i` comes from pairs within node i. What neighbours share is
//! in `shared.rs`. docs/mathematics.md derives it and docs/verdict.md measures it.

use serde::{Deserialize, Serialize};

use super::{
    NodeEvidence,
    paired::{PairedNode, Part},
    shared::shared_part,
    student::student,
};
use crate::network::Network;

/// How much better a method must be, as a share of the other's error, to be worth a sentence.
pub(super) const MARGIN_SHARE: f64 = 0.01;
/// How often chance alone makes a gain of one method on another look sure.
// A network that gains nothing must not be said to help in more than one world of a hundred, also where its
// shuffles are far worse and nothing but this stands between chance and the verdict; standard errors are estimates
// and may be a tenth too small. docs/verdict.md measures it.
const CONFIRMING_TAIL: f64 = 0.005;
/// The same for what advises between methods, where no network is said to help.
const ADVISING_TAIL: f64 = 0.02;
/// How often chance alone excludes a gain that is as large as the margin.
const EXCLUDING_TAIL: f64 = 0.025;

/// How much smaller the mean error of one method is than that of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// By how much; negative if it is larger.
    pub gain: f64,
    /// The standard error of that; infinite if one node cannot tell.
    pub standard_error: f64,
    /// On how many degrees of freedom the standard error rests.
    pub degrees: f64,
    /// The error that it is a gain on.
    pub error: f64,
}

impl Difference {
    /// Whether there is a gain, by enough standard errors.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.exceeds_chance(CONFIRMING_TAIL)
    }

    /// Whether there seems to be one, surely enough to advise a method.
    pub(super) fn is_likely(&self) -> bool {
        self.exceeds_chance(ADVISING_TAIL)
    }

    /// Whether one is likely, and it is worth it.
    pub(super) fn is_likely_worth_it(&self) -> bool {
        self.is_likely() && self.gain >= MARGIN_SHARE * self.error
    }

    fn exceeds_chance(&self, tail: f64) -> bool {
        self.gain > 0.0 && self.gain >= student(tail, self.degrees) * self.standard_error
    }

    /// Whether there is, and it is worth it.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.is_sure() && self.gain >= MARGIN_SHARE * self.error
    }

    /// Whether there is a loss, and it matters.
    #[must_use]
    pub fn is_clear_loss(&self) -> bool {
        Self { gain: -self.gain, ..*self }.is_clear()
    }

    /// Whether it was found that there is no gain worth it.
    #[must_use]
    pub fn is_excluded(&self) -> bool {
        let most = self.gain + student(EXCLUDING_TAIL, self.degrees) * self.standard_error;
        most < MARGIN_SHARE * self.error
    }

    /// Whether it was found that there is neither a gain nor a loss worth it.
    #[must_use]
    pub fn is_equivalent(&self) -> bool {
        self.is_excluded() && Self { gain: -self.gain, ..*self }.is_excluded()
    }

    /// How much smaller the second's mean error is than the first's.
    pub(super) fn between(
        first: &[NodeEvidence],
        second: &[NodeEvidence],
        network: &Network,
    ) -> Self {
        Paired::new(first, second).difference(network)
    }

    /// How much smaller the network's mean error is than the mean of its shuffles.
    pub(super) fn from_shuffles(
        shuffles: &[Vec<NodeEvidence>],
        own: &[NodeEvidence],
        network: &Network,
    ) -> Option<Self> {
        let mean = NodeEvidence::means(shuffles)?;
        let losses = |all: &Vec<NodeEvidence>| -> Vec<f64> {
            all.iter().map(|node| node.losses.iter().sum()).collect()
        };
        let losses: Vec<Vec<f64>> = shuffles.iter().map(losses).collect();
        Some(Paired::new(&mean, own).difference_from_places(&losses, network))
    }
}

/// Two methods at all nodes.
pub(super) struct Paired {
    /// None where there is no row.
    nodes: Vec<Option<PairedNode>>,
    rows: f64,
    gain: f64,
    /// The mean error of the first.
    error: f64,
}

impl Paired {
    fn new(first: &[NodeEvidence], second: &[NodeEvidence]) -> Self {
        let pair = |(a, b): (&NodeEvidence, &NodeEvidence)| {
            (!a.rows.is_empty()).then(|| PairedNode::new(a, b))
        };
        let nodes = first.iter().zip(second).map(pair).collect();
        Self::of(nodes, first.iter().flat_map(|node| &node.losses).sum())
    }

    /// Two methods by sums over the rows of each node, and the summed loss of the first.
    pub(super) fn of(nodes: Vec<Option<PairedNode>>, loss: f64) -> Self {
        let rows: f64 = nodes.iter().flatten().map(|node| node.rows).sum();
        let rows = rows.max(1.0);
        let gain = nodes.iter().flatten().map(|node| node.gain).sum::<f64>() / rows;
        Self { nodes, rows, gain, error: loss / rows }
    }

    /// How much smaller the second's mean error is.
    pub(super) fn difference(&self, network: &Network) -> Difference {
        self.with(self.own_part(), network)
    }

    /// The same where the first is the mean of shuffles, of which these are the summed losses at each node. Here the
    /// places of nodes are drawn, too: what differs from shuffle to shuffle at a node is chance.
    pub(super) fn difference_from_places(
        &self,
        shuffles: &[Vec<f64>],
        network: &Network,
    ) -> Difference {
        let (rows, places) = (self.own_part(), self.places_part(shuffles));
        let larger = if places.variance > rows.variance { places } else { rows };
        self.with(larger, network)
    }

    /// The variances within nodes. Nodes of a single batch have none, and are compared with one another.
    fn own_part(&self) -> Part {
        let (many, single): (Vec<&PairedNode>, Vec<&PairedNode>) =
            self.nodes.iter().flatten().partition(|node| node.batches > 1);
        let mut parts: Vec<Part> = many
            .iter()
            .map(|node| Part { variance: node.variance, degrees: node.batches as f64 - 1.0 })
            .collect();
        if !single.is_empty() {
            let away = |node: &&PairedNode| (node.gain - node.rows * self.gain).powi(2);
            let (squares, count) = (single.iter().map(away).sum::<f64>(), single.len() as f64);
            let degrees = (count - 1.0).max(1.0);
            parts.push(Part { variance: squares * count / degrees, degrees });
        }
        Part::sum(&parts)
    }

    /// The variance from shuffle to shuffle; of a single one, from node to node.
    fn places_part(&self, shuffles: &[Vec<f64>]) -> Part {
        let (count, nodes) = (shuffles.len() as f64, self.nodes.iter().flatten().count() as f64);
        if shuffles.len() == 1 {
            let away = |node: &PairedNode| (node.gain - node.rows * self.gain).powi(2);
            let squares = self.nodes.iter().flatten().map(away).sum::<f64>();
            let degrees = (nodes - 1.0).max(1.0);
            return Part { variance: squares * nodes / degrees, degrees };
        }
        let variance = |node: usize| {
            let losses: Vec<f64> = shuffles.iter().map(|all| all[node]).collect();
            let mean = losses.iter().sum::<f64>() / count;
            let squares: f64 = losses.iter().map(|loss| (loss - mean).powi(2)).sum();
            // That of the network's own place, and that of the mean of the shuffles.
            Part { variance: squares / (count - 1.0) * (1.0 + 1.0 / count), degrees: count - 1.0 }
        };
        Part::sum(&(0..self.nodes.len()).map(variance).collect::<Vec<_>>())
    }

    fn with(&self, own: Part, network: &Network) -> Difference {
        let Self { gain, error, rows, .. } = *self;
        // One node cannot tell chance from effect.
        if self.nodes.iter().flatten().count() < 2 {
            return Difference { gain, standard_error: f64::INFINITY, degrees: 1.0, error };
        }
        let shared = shared_part(&self.nodes, network);
        let Part { variance, degrees } = Part::sum(&[own, shared]);
        Difference { gain, standard_error: variance.sqrt() / rows, degrees, error }
    }
}
