//! The learned network: who helps whom, from probes alone,
//!
//! ```text
//! s_ij = gain_ij / left_i + gain_ji / left_j
//! ```
//!
//! where `gain_ij` is what steps along j's gradient were worth to i on rows that had no part in the
//! choice, and `left_i` the loss that i is left with at the end: a node that has found its helpers
//! judges others sharply, one that has not says little. Scores lead to friends while pairs are sought;
//! in the end a pair is joined if the friends of each end suit the other (`circles`), every node keeps
//! at least one partner, and groups that keep to themselves join the larger one that suits them.
//!
//! Only a share of all pairs is probed, in a few phases: the first draws at random, the later ones
//! follow the friends of friends, and nodes in doubt visit strangers. Probes are those of Algorithm 1 of "Your Data, My Model".

mod circles;
mod pairs;
mod pooling;
mod similarity;
mod statistics;
mod trial;

use std::sync::Arc;

use pairs::Pairs;
pub use pooling::pooling_network;
pub use similarity::{chosen_by_validation, gradient_network, model_network};
use statistics::student;
pub(crate) use trial::suitable_step;
use trial::{Seen, Trial};

use crate::{
    data::{Dataset, Task},
    error::{Error, Result, same_size},
    model::{Linear, LocalModel, Logistic},
    network::{Edge, Network, Node, NodeId},
};

/// So many partners each node has at least, on average.
const PARTNERS: usize = 8;

/// How a network is learned.
#[derive(Debug, Clone)]
pub struct Learn {
    /// The share in (0, 1] of all pairs that may be probed; in small networks, where it would be
    /// less, eight for each node.
    pub share: f64,
    /// In how many phases pairs are chosen, one or more; one draws all at random.
    pub phases: usize,
    /// How many iterations every node probes its partners in a phase.
    pub iterations: usize,
    /// In how many parts a node's rows take turns to measure; one lets all choose and measure.
    pub turns: usize,
    /// How many of its best partners each node asks to keep, one or more.
    pub neighbours: usize,
    /// The step η > 0; none suits it to the curvature of the losses.
    pub step: Option<f64>,
    /// The model of weights that probes are made with; none is the nodes' own where it is linear,
    /// otherwise a linear model, or a logistic one for classes.
    pub model: Option<Arc<dyn LocalModel>>,
    /// What decides the draws.
    pub seed: u64,
}

impl Default for Learn {
    fn default() -> Self {
        Self {
            share: 0.1,
            phases: 8,
            iterations: 40,
            turns: 1,
            neighbours: 8,
            step: None,
            model: None,
            seed: 0,
        }
    }
}

/// A pair that was probed in the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// The end with the smaller id.
    pub source: NodeId,
    /// The other end.
    pub target: NodeId,
    /// What the target was worth to the source, relative to the loss left there.
    pub forward: f64,
    /// What the source was worth to the target.
    pub backward: f64,
    /// How well the target's circle suits the source, and the source's the target: the chance of so
    /// large a loss under the weights of the other's friends, against the best circle known.
    pub suits: [f64; 2],
    /// How probable it is that the two help each other: from the spread of gains over rows.
    pub confidence: f64,
    /// Whether the pair became an edge.
    pub kept: bool,
}

impl Kept {
    /// The symmetric score.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.forward + self.backward
    }
}

/// A learned network.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The kept pairs; the weight of an edge is its confidence.
    pub network: Network,
    /// All pairs that were probed, with the rewards of the last phase, in order of their ends.
    pub pairs: Vec<Kept>,
    /// How many probes it took, in all phases.
    pub probes: usize,
}

impl Learn {
    /// Learns the network of these nodes.
    pub fn learn(&self, names: Vec<String>, nodes: &[Node]) -> Result<Learned> {
        self.check()?;
        same_size("names of nodes", names.len(), nodes.len())?;
        let Some(first) = nodes.first() else { return Err(Error::NoData) };
        let model = self.model.clone().unwrap_or_else(|| probing_model(first));
        let parametric = model.as_parametric().ok_or(Error::Unsupported {
            what: "learning a network",
            needs: "a model of weights to probe with",
        })?;
        let data: Vec<Dataset> =
            nodes.iter().map(|node| node.data.without_zero_weights()).collect();
        let step = self.step.unwrap_or_else(|| suitable_step(parametric, &data, data[0].task()));
        let trial = Trial {
            model: parametric,
            data: &data,
            step,
            iterations: self.iterations,
            turns: self.turns,
            seed: self.seed,
        };
        let (pairs, probes) = self.explore(&trial);
        let edges = pairs.iter().filter(|pair| pair.kept).map(|pair| Edge {
            source: pair.source,
            target: pair.target,
            weight: pair.confidence.max(0.001),
        });
        Ok(Learned { network: Network::new(names, edges)?, pairs, probes })
    }

    /// Probes in phases; the pairs as the last phase saw them, and the number of probes.
    fn explore(&self, trial: &Trial) -> (Vec<Kept>, usize) {
        let members: Vec<NodeId> =
            (0..trial.data.len()).filter(|&node| trial.data[node].rows() > 0).collect();
        let mut pairs = Pairs::new(trial.data.len(), members);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 < share ≤ 1"
        )]
        let most = (self.share * pairs.all() as f64).floor() as usize;
        let most = most.max(PARTNERS * trial.data.len() / 2).min(pairs.all());
        // Draws find the first friend, friends the others: two of three pairs are for draws.
        pairs.draw(if self.phases == 1 { most } else { most * 2 / 3 }, self.seed);
        let (mut probes, mut mistrusted) = (0, vec![Vec::new(); trial.data.len()]);
        for phase in 1.. {
            let seen = trial.run(&pairs.partners, &mistrusted);
            probes += 2 * pairs.count * self.iterations * self.turns;
            let mut judged = judged(&pairs.partners, &seen, trial);
            let last = phase == self.phases;
            let (nodes, most_friends) = (trial.data.len(), self.neighbours);
            // Circles are judged twice: first as scores have them, then as they suit.
            let friends = |judged: &[Kept], mutual: bool| {
                if last {
                    circles::suiting(judged, nodes, most_friends, mutual)
                } else {
                    circles::friends(judged, nodes, most_friends)
                }
            };
            let guess = circles::guess(&judged, nodes, most_friends);
            circles::measure(&mut judged, &seen, trial, &guess);
            let guess = friends(&judged, false);
            let doubt = circles::measure(&mut judged, &seen, trial, &guess);
            let friends = friends(&judged, true);
            if last {
                for pair in &mut judged {
                    pair.kept = friends[pair.source].contains(&pair.target)
                        || friends[pair.target].contains(&pair.source);
                }
                circles::reunite(&mut judged, &seen, trial);
                return (judged, probes);
            }
            let room = (most - pairs.count) / (self.phases - phase);
            mistrusted = circles::mistrusted(&judged, nodes);
            let goal = pairs.count + room;
            pairs.visit(&friends, &doubt, pairs.count + room / 4);
            pairs.follow(&friends, goal, self.seed);
        }
        (Vec::new(), probes)
    }

    fn check(&self) -> Result<()> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            let expected = "above zero and at most one";
            return Err(Error::Parameter { name: "share", value: self.share, expected });
        }
        let counts = [
            ("phases", self.phases),
            ("iterations", self.iterations),
            ("turns", self.turns),
            ("neighbours", self.neighbours),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(Error::Parameter { name, value: 0.0, expected: "one or more" });
            }
        }
        match self.step {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::Parameter { name: "step", value, expected: "a positive number" })
            }
            _ => Ok(()),
        }
    }
}

/// The model that probes are made with: the node's own where it is linear, otherwise a linear model,
/// or a logistic one for classes.
#[must_use]
pub fn probing_model(node: &Node) -> Arc<dyn LocalModel> {
    match node.data.task() {
        Task::Regression if node.model.as_linear().is_some() => node.model.clone(),
        Task::Regression => Arc::new(Linear::default()),
        Task::Classification { .. } => Arc::new(Logistic::default()),
    }
}

/// The scores of all pairs, in order of their ends.
fn judged(partners: &[Vec<NodeId>], seen: &[Seen], trial: &Trial) -> Vec<Kept> {
    let side = |node: NodeId, other: NodeId| {
        let place = partners[node].partition_point(|&known| known < other);
        let gain = seen[node].gains[place];
        // What noise-free rows leave over is nothing; its share of the labels' size bounds it.
        let left = seen[node].left.max(1e-6 * trial.label_size(node)).max(f64::MIN_POSITIVE);
        (gain.mean / left, gain.variance / (left * left))
    };
    let mut pairs = Vec::new();
    for (source, known) in partners.iter().enumerate() {
        for &target in known.iter().filter(|&&target| target > source) {
            let ((forward, v), (backward, u)) = (side(source, target), side(target, source));
            let rows = trial.data[source].rows() + trial.data[target].rows();
            let deviation = (u + v).sqrt().max(f64::MIN_POSITIVE);
            let freedom = rows.saturating_sub(2).max(1) as f64;
            let confidence = student((forward + backward) / deviation, freedom);
            let (suits, kept) = ([0.0; 2], false);
            let pair = Kept { source, target, forward, backward, suits, confidence, kept };
            pairs.push(pair);
        }
    }
    pairs
}
