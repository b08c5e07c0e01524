//! The methods that can be compared: each brings its row, its keys and what others must know of it.
//!
//! A method is a struct that is its section of an experiment file (its fields are the keys, with their
//! documentation, ranges and defaults), an implementation of [`Contender`] in a file here, and a line in
//! the list below. What others must know of a method it says itself ([`Facts`]).

mod apfl;
mod clustered;
mod ditto;
mod federated;
mod fedavg;
mod fedmd;
mod fedprox;
mod fedrelax;
mod fine_tuned;
mod gossip;
mod gtv;
mod hub;
mod ifca;
mod local;
mod persfl;
mod pooled;
mod shrunk;

use std::{fmt::Debug, ops::Deref, sync::Arc};

pub use federated::{Federated, MessageSizes, RunsFederated};
pub use gtv::Gtv;
pub use local::LocalRow;
pub use persfl::{PersFlKeys, WhichCandidates};
pub use pooled::PooledRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Fitted,
    fitted::FitRequest,
    strength::{Grid, Units},
};
use crate::{
    compare::trainer::Trainer,
    data::{Plan, Task},
    error::{Error, Result},
    method::{
        Apfl, ClusteredFl, Ditto, FedAvg, FedMd, FedProx, FedRelax, FineTuned, Gossip, Ifca, Shrunk,
    },
    model::LocalModel,
    network::{Network, Node, NodeId},
    observe::Stop,
};

/// Makes the enums of all methods.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $method:ident($keys:ty) = $name:literal,)+) => {
        /// Which method.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum MethodKind {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $method,)+
        }

        impl MethodKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$method,)+];

            /// Its name in experiment files and results.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$method => $name,)+ }
            }

            /// The method with the defaults of all its keys.
            #[must_use]
            pub fn with_defaults(self) -> Approach {
                match self { $(Self::$method => Approach::$method(<$keys>::default()),)+ }
            }
        }

        /// A method with its keys.
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum Approach {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $method($keys),)+
        }

        impl Approach {
            /// Which method it is.
            #[must_use]
            pub fn kind(&self) -> MethodKind {
                match self { $(Self::$method(_) => MethodKind::$method,)+ }
            }

            fn contender_mut(&mut self) -> &mut dyn Contender {
                match self { $(Self::$method(keys) => keys,)+ }
            }
        }

        impl Deref for Approach {
            type Target = dyn Contender;

            fn deref(&self) -> &Self::Target {
                match self { $(Self::$method(keys) => keys,)+ }
            }
        }
    };
}

methods! {
    /// Exchange of predictions on public points.
    FedRelax(FedRelax) = "fedrelax",
    /// The minimum of the losses and the total variation of weights.
    Gtv(Gtv) = "gtv",
    /// Probes of the neighbours: every node takes the step that helps it most.
    PersFl(PersFlKeys) = "persfl",
    /// One model for all, averaged at a hub.
    Fedavg(FedAvg) = "fedavg",
    /// FedAvg with a proximal term.
    Fedprox(FedProx) = "fedprox",
    /// A model of each node, pulled to the averaged one.
    Ditto(Ditto) = "ditto",
    /// A mixture of a node's own model and the averaged one.
    Apfl(Apfl) = "apfl",
    /// Several averaged models, of which each node trains the best.
    Ifca(Ifca) = "ifca",
    /// Averaging in clusters that are split where their nodes pull apart.
    Clustered(ClusteredFl) = "clustered",
    /// The averaged model after some steps of each node alone.
    FineTuned(FineTuned) = "fine-tuned",
    /// Averaging with neighbours.
    Gossip(Gossip) = "gossip",
    /// Every node pulled to the mean prediction on public points.
    Fedmd(FedMd) = "fedmd",
    /// Every node alone.
    Local(LocalRow) = "local",
    /// One model for all.
    Pooled(PooledRow) = "pooled",
    /// Every node pulled to the pooled model.
    Shrunk(Shrunk) = "shrunk",
}

/// A method that can be tuned, trained and compared.
pub trait Contender: Debug + Send + Sync {
    /// What it does, in at most 31 letters.
    fn about(&self) -> &'static str;

    /// The one number that is chosen on validation rows; none if there is nothing to choose.
    fn strength_key(&self) -> Option<StrengthKey>;

    /// What others must know of it.
    fn facts(&self) -> Facts;

    /// The strengths that are tried, the simpler model first.
    fn grid(&self, units: &Units) -> Result<Grid>;

    /// Trains all nodes at a strength.
    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted>;

    /// Takes over what the rest of an experiment says.
    fn bind(&mut self, _: &Bound) {}

    /// Refuses keys that do not go together; their ranges have been checked.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Refuses a target or models that it cannot train.
    fn check_models(&self, _: &ModelsInUse) -> Result<(), String> {
        Ok(())
    }

    /// How the nodes pull, as FedRelax does it, and the total weight of each node's pulls; none if they
    /// do not pull by predictions.
    fn pulls(&self, _: &Network) -> Option<(FedRelax, Vec<f64>)> {
        None
    }

    /// What it minimises, where that is an objective that theory speaks of.
    fn objective(&self) -> Option<Objective<'_>> {
        None
    }

    /// How the averaging at a hub goes, for methods that average.
    fn averaging(&self) -> Option<&FedAvg> {
        None
    }

    /// Takes over how another method averages at its hub.
    fn average_like(&mut self, _: &FedAvg) {}

    /// The column of the table of nodes that names their clusters, for a method that is told them.
    fn cluster_column(&self) -> Option<&str> {
        None
    }

    /// The names of the nodes that learn; none if all do.
    fn learners(&self) -> Option<&[String]> {
        None
    }

    /// The nodes that only help others to learn.
    fn bystanders(&self, _: usize) -> Vec<NodeId> {
        Vec::new()
    }

    /// Refuses rows that can never suffice, in a plan for nodes of these names.
    fn check_rows(&self, _: &[String], _: &Plan) -> Result<(), String> {
        Ok(())
    }

    /// What a reader should know about its rows.
    fn note_on_rows(&self) -> Option<&'static str> {
        None
    }

    /// What a reader should know about a fit.
    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        None
    }

    /// The method at a strength as these nodes run it between sites; none if it cannot.
    fn federated(&self, _strength: f64, _: &[Node]) -> Result<Option<Federated>> {
        Ok(None)
    }

    /// The key, its value and what is expected instead, if keys ask for what sites cannot do.
    fn check_at_sites(&self) -> Result<(), [String; 3]> {
        Ok(())
    }

    /// Whether it can run between sites.
    fn is_federated(&self) -> bool {
        false
    }

    /// The most bytes that a message along an edge takes; none if nothing is sent along edges.
    fn largest_message(&self, _: &MessageSizes) -> Option<usize> {
        None
    }
}

/// The one number of a method that is chosen on validation rows.
#[derive(Debug, Clone, Copy)]
pub struct StrengthKey {
    /// Its name in experiment files and in Python.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it must be, in words.
    pub expected: &'static str,
    /// Whether a number, zero or more, is that.
    pub fits: fn(f64) -> bool,
}

impl StrengthKey {
    /// A pull α ≥ 0.
    pub(super) const fn pull(about: &'static str) -> Self {
        Self { name: "alpha", about, expected: "zero or more", fits: |_| true }
    }

    /// A factor of the step size.
    pub(super) const PACE: Self = Self {
        name: "pace",
        about: "A factor of the step size.",
        expected: "a positive factor of the step size",
        fits: |pace| pace > 0.0,
    };

    /// Refuses a number that makes no sense.
    pub fn check(&self, value: f64) -> Result<()> {
        if value >= 0.0 && value.is_finite() && (self.fits)(value) {
            return Ok(());
        }
        Err(Error::Parameter { name: self.name, value, expected: self.expected })
    }
}

/// What others must know of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "facts are true or false")]
pub struct Facts {
    /// Whether it depends on who is whose neighbour.
    pub uses_network: bool,
    /// Whether all models must have weights of one size.
    pub needs_weights: bool,
    /// Whether it needs one set of public points for all.
    pub needs_common_points: bool,
    /// Whether predictions on public points are compared.
    pub uses_public: bool,
    /// Whether every edge carries predictions in both directions in every round.
    pub exchanges_predictions: bool,
    /// Whether every node gets a model of its own.
    pub is_personal: bool,
    /// Whether comparisons may ask for it by name, beside another method.
    pub is_baseline: bool,
    /// Whether levels are coupled, or only what is left without them.
    pub couples_intercepts: bool,
    /// Whether both ends' public points count on an edge.
    pub is_symmetric: bool,
    /// The weight of the pooled model as one more neighbour of every node.
    pub hub: f64,
    /// Whether linear networks may be solved directly: in rounds they would end at the same point.
    pub solves_directly: bool,
    /// Whether its keys ask for rounds of messages.
    pub asks_for_rounds: bool,
    /// Whether every node is told all others, so that a shuffled complete network is the same.
    pub is_blind_to_order: bool,
    /// Whether its rounds are questions and answers: they cannot overlap, and their number is given.
    pub asks_and_answers: bool,
    /// The keys of a run that mean nothing to it: some of `rounds`, `tolerance` and `order`.
    pub without: &'static [&'static str],
    /// How it compares weights, where results say so.
    pub penalty: Option<&'static str>,
    /// Whose points it compares on, where results say so.
    pub coupling: Option<&'static str>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            uses_network: true,
            needs_weights: false,
            needs_common_points: false,
            uses_public: false,
            exchanges_predictions: false,
            is_personal: true,
            is_baseline: false,
            couples_intercepts: true,
            is_symmetric: false,
            hub: 0.0,
            solves_directly: true,
            asks_for_rounds: false,
            is_blind_to_order: false,
            asks_and_answers: false,
            without: &["order"],
            penalty: None,
            coupling: None,
        }
    }
}

/// What the rest of an experiment says.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The names of the nodes.
    pub names: &'a [String],
    /// The cluster of each node, where it is told.
    pub clusters: Option<&'a [usize]>,
    /// The seed of everything drawn.
    pub seed: u64,
    /// When rounds stop.
    pub tolerance: f64,
}

/// The models that a method is to train.
#[derive(Debug, Clone, Copy)]
pub struct ModelsInUse<'a> {
    /// What is predicted.
    pub task: Task,
    /// The model of each node.
    pub models: &'a [Arc<dyn LocalModel>],
    /// The kind of each model.
    pub kinds: &'a [Arc<str>],
    /// The name of each node.
    pub names: &'a [String],
}

impl ModelsInUse<'_> {
    /// The first model without weights, as `the tree model of node 'a'`.
    fn without_weights(&self) -> Option<String> {
        let node = self.models.iter().position(|model| model.as_parametric().is_none())?;
        Some(format!("the {} model of node '{}'", self.kinds[node], self.names[node]))
    }
}

/// What a method minimises over all nodes.
#[derive(Debug)]
pub enum Objective<'a> {
    /// The losses and the disagreement of predictions.
    Predictions(&'a FedRelax),
    /// The losses and the total variation of weights.
    Weights(&'a Gtv),
}

impl Default for Approach {
    fn default() -> Self {
        Self::FedRelax(FedRelax::default())
    }
}

impl Approach {
    /// The same with what the rest of an experiment says.
    #[must_use]
    pub fn bound(mut self, bound: &Bound) -> Self {
        self.contender_mut().bind(bound);
        self
    }

    /// When its rounds of messages stop.
    #[must_use]
    pub fn stop(&self, stop: Stop) -> Stop {
        if self.facts().asks_and_answers { Stop::after_probes(stop.rounds) } else { stop }
    }

    /// Another method beside this one: with its own defaults, averaging as this one does.
    pub(super) fn beside(&self, kind: MethodKind) -> Self {
        let mut rival = kind.with_defaults();
        // Who shares out half of the nodes for one method with a hub wants to see all of them so.
        if let Some(averaging) = self.averaging() {
            rival.contender_mut().average_like(averaging);
        }
        rival
    }
}

impl MethodKind {
    /// The method of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// What it does, in at most 31 letters.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.with_defaults().about()
    }

    /// What others must know of it, with its defaults.
    #[must_use]
    pub fn facts(self) -> Facts {
        self.with_defaults().facts()
    }

    /// The rivals that comparisons may ask for.
    pub fn baselines() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| kind.facts().is_baseline)
    }
}

impl std::fmt::Display for MethodKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
