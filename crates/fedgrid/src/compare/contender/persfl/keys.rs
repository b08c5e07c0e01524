//! The keys of PersFL, and the method that they stand for.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    method::{
        PersFl,
        persfl::{Adoption, CandidateChoice, Online, Probe, Start},
    },
    network::NodeId,
};

/// How nodes probe each other; the iterations are method.rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersFlKeys {
    /// What is asked: the gradient of the loss, a proximal step (models of weights), or a refitted model (any
    /// kind).
    pub probe: Probe,
    /// How many neighbours are probed in an iteration.
    #[schemars(range(min = 1))]
    pub candidates: usize,
    /// Which ones: drawn evenly, mostly the best so far, the largest upper confidence bounds, or, as the
    /// papers' oracle, those of the node's own cluster.
    pub choice: WhichCandidates,
    /// For choice "oracle": the column of network.file that names each node's cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<String>,
    /// For choice "epsilon-greedy": the probability of drawing anyone.
    #[schemars(range(min = 0, max = 1))]
    pub epsilon: f64,
    /// For choice "ucb": the width of the bounds.
    #[schemars(range(min = 0))]
    pub width: f64,
    /// How many of the best steps are averaged; one takes the best alone.
    #[schemars(range(min = 1))]
    pub top: usize,
    /// Whether a step must have a positive reward to be taken; the papers always step.
    pub only_if_better: bool,
    /// Whether nodes start from weights of zero or from their own models; refits always start from their own.
    pub start: WhereToStart,
    /// The share of a node's rows that is held back for the reward.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub held: f64,
    /// Whether a node may also draw itself and take the step of its own rows.
    pub own: bool,
    /// The nodes that learn, by name; by default all. The others only answer: they keep models of their own
    /// rows and are not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Training rows that come one after the other, in the order of the table, instead of all at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<OnlineKeys>,
    /// What the names above stand for.
    #[serde(skip)]
    pub(super) bound: BoundKeys,
}

/// The nodes and clusters that keys name, and the seed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BoundKeys {
    pub(super) targets: Option<Arc<[NodeId]>>,
    pub(super) clusters: Arc<[usize]>,
    pub(super) seed: u64,
}

/// Rows that arrive: one in every iteration, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnlineKeys {
    /// With how many rows a node begins, and how many of the most recent ones count.
    #[schemars(range(min = 1))]
    pub batch: usize,
    /// How many rows must have come to a node before it asks again; zero never waits.
    pub enough: usize,
}

impl Default for OnlineKeys {
    fn default() -> Self {
        Self { batch: 10, enough: 0 }
    }
}

/// Which neighbours are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhichCandidates {
    /// Drawn evenly.
    #[default]
    Uniform,
    /// The best so far, and now and then any.
    EpsilonGreedy,
    /// The largest upper confidence bounds.
    Ucb,
    /// Those of the node's own cluster, which must be told.
    Oracle,
}

/// Where nodes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhereToStart {
    /// At weights of zero.
    #[default]
    Zero,
    /// At their own models.
    Local,
}

impl Default for PersFlKeys {
    fn default() -> Self {
        Self {
            probe: Probe::Gradient,
            candidates: 20,
            choice: WhichCandidates::default(),
            clusters: None,
            epsilon: 0.1,
            width: 1.0,
            top: 1,
            only_if_better: false,
            start: WhereToStart::default(),
            held: 0.0,
            own: false,
            targets: None,
            online: None,
            bound: BoundKeys::default(),
        }
    }
}

impl PersFlKeys {
    /// The method that these keys stand for.
    #[must_use]
    pub fn method(&self, step: f64) -> PersFl {
        PersFl {
            probe: self.probe,
            step,
            candidates: self.candidates,
            choice: match self.choice {
                WhichCandidates::Uniform => CandidateChoice::Uniform,
                WhichCandidates::EpsilonGreedy => {
                    CandidateChoice::EpsilonGreedy { epsilon: self.epsilon }
                }
                WhichCandidates::Ucb => CandidateChoice::Ucb { width: self.width },
                WhichCandidates::Oracle => {
                    CandidateChoice::Oracle { clusters: self.bound.clusters.clone() }
                }
            },
            adoption: match self.top {
                1 => Adoption::Best,
                count => Adoption::Top { count, by_reward: true },
            },
            only_if_better: self.only_if_better,
            start: match self.start {
                WhereToStart::Zero => Start::Zero,
                WhereToStart::Local => Start::Local,
            },
            held: self.held,
            own: self.own,
            targets: self.bound.targets.clone(),
            online: self.online.map(|OnlineKeys { batch, enough }| Online {
                feed: None,
                batch,
                enough,
            }),
            seed: self.bound.seed,
            ..PersFl::default()
        }
    }
}
