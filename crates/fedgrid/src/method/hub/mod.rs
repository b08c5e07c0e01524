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

mod centre;
mod member;
mod message;
mod workplace;

use std::{fmt::Debug, sync::Arc};

use centre::Centre;
use member::Member;
pub use message::Letter;
pub(super) use message::{Answer, Joined, Weights};
pub(super) use workplace::{Workplace, largest_curvature, parametric};

use super::{FedAvg, Participant, Report};
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

/// The two sides of a method.
pub(super) trait Sides {
    /// The side of the hub, which starts at given weights.
    fn server(&self, start: Weights) -> Box<dyn Server>;

    /// The side of a node.
    fn client(&self) -> Box<dyn Client>;

    /// Whether nodes tell the hub the weights of local training when they join.
    fn wants_local(&self) -> bool {
        false
    }
}

/// What a hub does with answers.
pub(super) trait Server: Debug + Send {
    /// All have joined, in order of their ids.
    fn begin(&mut self, _members: &[(NodeId, Joined)]) {}

    /// The models that a node is sent.
    fn models(&self, node: NodeId) -> Arc<[Weights]>;

    /// Takes in what the chosen nodes have answered, in order of their ids.
    fn gather(&mut self, answers: &[Heard], step: f64) -> Moved;

    /// The one model of all nodes, if there is one.
    fn single(&self) -> Option<&Weights> {
        None
    }
}

/// What a node does with the hub's models.
pub(super) trait Client: Debug + Send {
    /// What the node tells the hub: its first model, trained here.
    fn answer(&mut self, place: &Workplace, models: &[Weights]) -> Result<Answer> {
        Ok(Answer { parts: vec![(0, place.trained(&models[0], 0.0))], losses: Vec::new() })
    }

    /// The node's own weights at these models, the last ones or not; none if nothing determines
    /// them.
    fn own(&mut self, place: &Workplace, models: &[Weights], last: bool)
    -> Result<Option<Weights>>;
}

/// An answer and how much it counts.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) node: NodeId,
    pub(super) weight: f64,
    pub(super) answer: Answer,
}

/// How far an iteration has moved the hub's models: sums of squares of the change and of the models.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) change: f64,
    pub(super) size: f64,
}

impl Moved {
    /// So much has changed that nothing has come to rest.
    pub(super) const ANEW: Self = Self { change: 1.0, size: 1.0 };

    pub(super) fn between(old: &[f64], new: &[f64]) -> Self {
        let change = crate::algebra::squared_distance(old, new);
        Self { change, size: crate::algebra::dot(new, new) }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { change: self.change + other.change, size: self.size + other.size }
    }
}

/// A participant of a method with a hub.
#[derive(Debug)]
pub enum Hubbed {
    /// A node with rows of its own.
    Node(Box<Member>),
    /// The hub.
    Hub(Box<Centre>),
}

impl Hubbed {
    pub(super) fn new(fedavg: &FedAvg, sides: &dyn Sides, view: View) -> Result<Self> {
        fedavg.check()?;
        if is_hub(&view) {
            return Ok(Self::Hub(Box::new(Centre::new(fedavg, sides, view)?)));
        }
        Ok(Self::Node(Box::new(Member::new(fedavg, sides, view)?)))
    }
}

impl Participant for Hubbed {
    type Message = Letter;

    fn send(&mut self) -> Vec<(NodeId, Letter)> {
        match self {
            Self::Node(member) => member.send(),
            Self::Hub(centre) => centre.send(),
        }
    }

    fn receive(&mut self, inbox: &[(NodeId, Letter)]) -> Result<()> {
        match self {
            Self::Node(member) => member.receive(inbox),
            Self::Hub(centre) => centre.receive(inbox),
        }
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        match self {
            Self::Node(member) => member.hypothesis.as_ref(),
            Self::Hub(centre) => centre.hypothesis.as_ref(),
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Node(member) => member.report,
            Self::Hub(_) => Report::default(),
        }
    }
}
