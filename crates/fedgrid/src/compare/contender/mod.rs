//! The methods that can be compared: each brings its row, its keys and what others must know of it.
//!
//! A method is a struct that is its section of an experiment file (its fields are the keys, with their
//! documentation, ranges and defaults), an implementation of [`Contender`] in a file here, and a line in
//! the list below. What others must know of a method it says itself ([`Facts`]).

mod apfl;
mod at_sites;
mod clustered;
mod ditto;
mod facts;
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
mod mixed;
mod persfl;
mod pooled;
mod shrunk;

use std::{fmt::Debug, ops::Deref};

pub use at_sites::{
    Asking, AtSites, DataShape, Federated, MessageSizes, MessageTuning, Place, RunsFederated,
    TuningBudget,
};
pub use facts::{Bound, Facts, ModelsInUse, Objective, StrengthKey, Told};
pub use gtv::Gtv;
pub use local::LocalRow;
pub use mixed::{Choose, Correlated, KeptEstimates, Mixed, MixedStart, NetworkEvidence};
pub use persfl::{PersFlKeys, WhichCandidates};
pub use pooled::PooledRow;

use super::{
    Fitted,
    fitted::FitRequest,
    strength::{Grid, Units},
};
use crate::{
    compare::trainer::Trainer,
    data::Plan,
    error::Result,
    kinds::kinds,
    method::{
        Apfl, ClusteredFl, Ditto, FedAvg, FedMd, FedProx, FedRelax, FineTuned, Gossip, Ifca, Shrunk,
    },
    network::{Network, NodeId},
    observe::Stop,
};

/// Makes the enums of all methods.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $method:ident($keys:ty) = $name:literal,)+) => {
        kinds! {
            /// Which method.
            MethodKind,
            /// A method with its keys.
            Approach:
            $($(#[doc = $doc])+ $method($keys) = $name,)+
        }

        impl Approach {
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
    /// The minimum of the losses and the total variation of weights. Any key of its rounds of messages that
    /// differs from its default makes the fit go in rounds.
    Gtv(Gtv) = "gtv",
    /// Probes of the neighbours: every node takes the step that helps it most. Its iterations are method.rounds.
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
    /// Coefficients that differ from node to node by as much as the training rows say.
    Mixed(Mixed) = "mixed",
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

    /// Whether it estimates its strength from training rows, unless that is given.
    fn estimates_strength(&self) -> bool {
        false
    }

    /// The strengths that are tried, the simpler model first.
    fn grid(&self, units: &Units) -> Result<Grid>;

    /// Trains all nodes at a strength.
    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted>;

    /// Takes over what the rest of an experiment says.
    fn bind(&mut self, _: &Bound) {}

    /// Takes over that nodes are in another order, of which this is a list.
    fn order_nodes(&mut self, _: &[NodeId]) {}

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

    /// What the messages of a node tell of its rows; none where that is not known.
    fn told(&self) -> Option<Told> {
        None
    }

    /// What a reader should know about its rows.
    fn note_on_rows(&self) -> Option<&'static str> {
        None
    }

    /// What a reader should know about a fit.
    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        None
    }

    /// The method as one that can run between sites, if it can.
    fn at_sites(&self) -> Option<&dyn AtSites> {
        None
    }
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

    /// The same for nodes in another order, of which this is a list.
    #[must_use]
    pub(super) fn with_nodes(mut self, order: &[NodeId]) -> Self {
        self.contender_mut().order_nodes(order);
        self
    }

    /// When its rounds of messages stop.
    #[must_use]
    pub fn stop(&self, stop: Stop) -> Stop {
        let facts = self.facts();
        if facts.asks_and_answers {
            Stop::after_probes(stop.rounds)
        } else if facts.is_led {
            Stop::when_all_have_ended()
        } else {
            stop
        }
    }
}

impl MethodKind {
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
