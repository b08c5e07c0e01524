//! What nodes send each other: one file per method.
//!
//! A method is its hyper-parameters and its participant. `join` gets a [`View`], never the network,
//! so a participant has no way to name another node's rows. `Local`, `Pooled` and `Shrunk` are what
//! every network is compared with; methods with a hub, `Gossip` and `FedMd` can be, too. A method
//! whose messages are [`Wire`] and whose participant is [`Durable`] runs in a federation of
//! processes as well.

mod apfl;
mod clustered;
mod ditto;
pub mod fedavg;
pub mod fedmd;
mod fedprox;
pub mod fedrelax;
mod fine_tuned;
pub mod gossip;
pub mod hub;
pub mod ifca;
pub mod inquiry;
pub mod local;
pub mod mixed;
pub mod persfl;
mod pooled;
pub mod primal_dual;
mod shrunk;
mod tree;
pub mod tuned;
mod twins;
mod wire;

use std::sync::Arc;

pub use apfl::Apfl;
pub use clustered::ClusteredFl;
pub use ditto::Ditto;
pub use fedavg::FedAvg;
pub use fedmd::FedMd;
pub use fedprox::FedProx;
pub use fedrelax::FedRelax;
pub use fine_tuned::FineTuned;
pub use gossip::Gossip;
pub use ifca::Ifca;
pub use inquiry::{Gathered, Inquiry, InquiryParticipant, Questions};
pub use local::Local;
pub use mixed::MixedRounds;
pub use persfl::{PersFl, Tally};
pub use pooled::{Oracle, Pooled};
pub use primal_dual::PrimalDual;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use shrunk::Shrunk;
pub use tuned::{Adjustable, TriedStrength, TunedAtSites};
pub use twins::{Twins, TwinsParticipant};
pub use wire::{Durable, Memory, Wire};

use crate::{
    error::Result,
    model::Hypothesis,
    network::{NodeId, View},
};

/// A hypothesis for every node.
pub type Hypotheses = Arc<[Arc<dyn Hypothesis>]>;

/// A hypothesis for every node that has one.
pub type PartialHypotheses = Arc<[Option<Arc<dyn Hypothesis>>]>;

/// A way for nodes to learn together.
pub trait Method: Sync {
    /// What runs at each node.
    type Participant: Participant;

    /// One node takes part, knowing its view.
    fn join(&self, view: View) -> Result<Self::Participant>;

    /// The strength α that multiplies the variation in the objective.
    fn alpha(&self) -> f64 {
        0.0
    }

    /// Which number of a round must fall to the tolerance for a run to have converged.
    fn stop_on(&self) -> StopOn {
        StopOn::Residual
    }
}

/// Which number of a round must fall to the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopOn {
    /// How far the round is from a fixed point.
    #[default]
    Residual,
    /// The certified gap of the objective to its minimum, relative to the objective; in a round
    /// without one, how far it is from a fixed point.
    Gap,
    /// How much the objective has varied over the last ten rounds, relative to it.
    Decrease,
}

/// What runs at one node: it sends, it receives, it has a hypothesis.
pub trait Participant: Send {
    /// What is sent along an edge.
    type Message: Message;

    /// The messages to others in this round.
    fn send(&mut self) -> Vec<(NodeId, Self::Message)>;

    /// Learns from the messages of others, in order of their ids.
    fn receive(&mut self, inbox: &[(NodeId, Self::Message)]) -> Result<()>;

    /// What this node has learnt; none while it has neither rows nor any message.
    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>>;

    /// How the last round went here.
    fn report(&self) -> Report;

    /// The strength that this node has found with all others; none if it was given, or is not known yet.
    fn strength(&self) -> Option<f64> {
        None
    }

    /// The strengths that all nodes have tried to find theirs; none before the end, or if it was not sought so.
    fn tried_strengths(&self) -> &[TriedStrength] {
        &[]
    }

    /// What this node remembers of those it probed; nothing in methods without probes.
    fn tallies(&self) -> &[Tally] {
        &[]
    }
}

/// Something that can be sent.
pub trait Message: Clone + Send + Sync {
    /// How many bytes its numbers take on a wire.
    fn bytes(&self) -> usize;
}

/// How a round went at one node: numbers that give away no row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// The local loss at the start of the round.
    pub loss: f64,
    /// The variation `Σ_j A_ij δ` to the neighbours at the start of the round.
    pub variation: f64,
    /// The sum of squares by which the round changed the node's public predictions, or by which its
    /// weights and duals miss the conditions of a minimum.
    pub change: f64,
    /// The sum of squares of those predictions, or of weights and duals.
    pub size: f64,
    /// Whether the node damps what it receives because the changes were growing.
    pub damped: bool,
    /// What the node knows of the distance to the minimum; none if it knows nothing.
    pub gap: Option<Gap>,
}

/// A node's part of a bound on the objective above its minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Of which iterate: the parts of all nodes make up a bound only if they are of one. None for a
    /// node without edges, which is part of any.
    pub iterate: Option<usize>,
    /// The part.
    pub bound: f64,
}
