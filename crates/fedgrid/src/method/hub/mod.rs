//! A hub and the nodes around it, for methods that average weights,
//!
//! ```text
//! w ← Σ_i p_i w_i,      w_i = what node i makes of w on its own rows
//! ```
//!
//! The hub is one more participant, the one with the largest id, without rows of its own; nodes know
//! it and nobody else. An iteration takes two rounds: the hub sends its models, the chosen nodes
//! answer. The round before the first iteration is for joining, the one after the last for the final
//! models: after `2 k + 2` rounds all nodes hold the models of iteration k.
//!
//! What differs between methods is a [`Server`] at the hub and a [`Client`] at the nodes.

mod client_state;
mod hub_client;
mod hub_server;
mod message;

use std::{fmt::Debug, sync::Arc};

pub(super) use client_state::{ClientState, largest_curvature, parametric};
use hub_client::HubClient;
use hub_server::HubServer;
pub use message::HubMessage;
pub(super) use message::{ClientAnswer, ClientProfile, Weights};

use super::{FedAvg, Method, Participant, Report, fedavg::AveragingServer};
use crate::{
    data::Dataset,
    error::{Error, Result},
    model::Hypothesis,
    network::{Neighbour, Node, NodeId, View},
};

/// The views of some nodes and, last, of a hub that knows them all and has no rows.
pub fn around_hub(nodes: Vec<Node>) -> Result<Vec<View>> {
    let first = nodes.first().ok_or(Error::NoData)?;
    let (names, task) = (first.data.features().names().clone(), first.data.task());
    let data = Dataset::empty(names, task);
    let id = nodes.len();
    let hub = Node { id, data, model: first.model.clone(), public: first.public.clone() };
    let neighbour =
        |node: &Node| Neighbour { id: node.id, weight: 1.0, public: node.public.clone() };
    let neighbours: Vec<Neighbour> = nodes.iter().map(neighbour).collect();
    let known = neighbour(&hub);
    let mut views: Vec<View> =
        nodes.into_iter().map(|node| View { node, neighbours: vec![known.clone()] }).collect();
    views.push(View { node: hub, neighbours });
    Ok(views)
}

/// Whether a view is the hub's: all whom it knows come before it.
pub(super) fn is_hub(view: &View) -> bool {
    view.neighbours.iter().all(|neighbour| neighbour.id < view.node.id)
}

/// A method with a hub: what differs from [`FedAvg`], at the hub and at the nodes.
pub(super) trait HubMethod: Sync {
    /// How the models of the hub are trained and averaged.
    fn fedavg(&self) -> &FedAvg;

    /// Refuses hyper-parameters of its own that are out of range.
    fn check_own(&self) -> Result<()> {
        Ok(())
    }

    /// The side of the hub, which starts at given weights: one model, unless a method has more.
    fn server(&self, start: Weights) -> Box<dyn Server> {
        Box::new(AveragingServer::new(self.fedavg().averaged, start))
    }

    /// The side of a node.
    fn client(&self) -> Box<dyn Client>;

    /// Whether nodes send the hub the weights of local training when they join.
    fn wants_local(&self) -> bool {
        false
    }
}

impl<M: HubMethod> Method for M {
    type Participant = HubParticipant;

    fn join(&self, view: View) -> Result<HubParticipant> {
        self.check_own()?;
        self.fedavg().check()?;
        Ok(if is_hub(&view) {
            HubParticipant::Hub(Box::new(HubServer::new(self, view)?))
        } else {
            HubParticipant::Node(Box::new(HubClient::new(self, view)?))
        })
    }
}

/// What a hub does with answers.
pub(super) trait Server: Debug + Send {
    /// All have joined, in order of their ids.
    fn begin(&mut self, _clients: &[(NodeId, ClientProfile)]) {}

    /// The models that a node is sent.
    fn models(&self, node: NodeId) -> Arc<[Weights]>;

    /// Takes in what the chosen nodes have answered, in order of their ids.
    fn gather(&mut self, answers: &[WeightedAnswer], step: f64) -> ModelChange;

    /// The one model of all nodes, if there is one.
    fn single(&self) -> Option<&Weights> {
        None
    }
}

/// What a node does with the hub's models.
pub(super) trait Client: Debug + Send {
    /// What the node sends to the hub: its first model, trained here.
    fn answer(&mut self, state: &ClientState, models: &[Weights]) -> Result<ClientAnswer> {
        Ok(ClientAnswer { parts: vec![(0, state.trained(&models[0], 0.0))], losses: Vec::new() })
    }

    /// The node's own weights at these models, the last ones or not; none if nothing determines
    /// them.
    fn own(
        &mut self,
        state: &ClientState,
        models: &[Weights],
        last: bool,
    ) -> Result<Option<Weights>>;
}

/// An answer and how much it counts.
#[derive(Debug)]
pub(super) struct WeightedAnswer {
    pub(super) node: NodeId,
    pub(super) weight: f64,
    pub(super) answer: ClientAnswer,
}

/// How far an iteration has moved the hub's models: sums of squares of the change and of the models.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ModelChange {
    pub(super) change: f64,
    pub(super) size: f64,
}

impl ModelChange {
    /// The hub begins anew. Change and size are alike, so that no tolerance below one takes this for
    /// convergence.
    pub(super) const RESTARTED: Self = Self { change: 1.0, size: 1.0 };

    pub(super) fn between(old: &[f64], new: &[f64]) -> Self {
        let change = crate::algebra::squared_distance(old, new);
        Self { change, size: crate::algebra::dot(new, new) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { change: self.change + other.change, size: self.size + other.size }
    }
}

/// A participant of a method with a hub.
#[derive(Debug)]
pub enum HubParticipant {
    /// A node with rows of its own.
    Node(Box<HubClient>),
    /// The hub.
    Hub(Box<HubServer>),
}

impl Participant for HubParticipant {
    type Message = HubMessage;

    fn send(&mut self) -> Vec<(NodeId, HubMessage)> {
        match self {
            Self::Node(client) => client.send(),
            Self::Hub(server) => server.send(),
        }
    }

    fn receive(&mut self, inbox: &[(NodeId, HubMessage)]) -> Result<()> {
        match self {
            Self::Node(client) => client.receive(inbox),
            Self::Hub(server) => server.receive(inbox),
        }
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        match self {
            Self::Node(client) => client.hypothesis.as_ref(),
            Self::Hub(server) => server.hypothesis.as_ref(),
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Node(client) => client.report,
            Self::Hub(_) => Report::default(),
        }
    }
}
