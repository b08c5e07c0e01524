//! Gossip averaging: no hub, every node averages with its neighbours and steps down its own loss,
//!
//! ```text
//! combine, then adapt   w_i ← Σ_j W_ij w_j − η ∇L_i(w_i)
//! adapt, then combine   w_i ← Σ_j W_ij (w_j − η ∇L_j(w_j))
//! W_ij = 1 / (1 + max(d_i, d_j)) for neighbours,      W_ii = 1 − Σ_j W_ij
//! ```
//!
//! with the numbers of neighbours `d_i` (Metropolis weights). [Lian et al., "Can decentralized
//! algorithms outperform centralized parallel stochastic gradient descent?", 2017 (D-PSGD).] Small
//! steps end near one model for all, large ones leave neighbours alike and distant nodes apart. From
//! equal starts, adapt-then-combine on a complete network is FedAvg of gradients.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Message, Method, PartialHypotheses, Participant, Report,
    hub::{Weights, largest_curvature, parametric},
};
use crate::{
    algebra::{add_scaled, dot, squared_distance},
    bytes::NUMBER_BYTES,
    error::{Error, Result, positive},
    model::Hypothesis,
    network::{Node, NodeId, View},
};

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateOrder {
    /// Neighbours' weights are averaged, then the node's own gradient is added.
    #[default]
    CombineThenAdapt,
    /// All step, then average.
    AdaptThenCombine,
}

/// Averaging with neighbours.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gossip {
    /// The step size η > 0; see [`common_step`].
    #[serde(skip)]
    pub step: f64,
    /// What comes first.
    #[serde(skip)]
    pub order: UpdateOrder,
    /// The hypotheses to start from; where there is none, where the model starts.
    #[serde(skip)]
    pub start: Option<PartialHypotheses>,
}

impl Default for Gossip {
    fn default() -> Self {
        Self { step: 1.0, order: UpdateOrder::CombineThenAdapt, start: None }
    }
}

/// A step size that no node's loss is too steep for: one over the largest curvature.
pub fn common_step(nodes: &[Node]) -> Result<f64> {
    let mut largest = 0.0_f64;
    for node in nodes {
        let (columns, task) = (node.data.features().columns(), node.data.task());
        let start = parametric(node)?.start(columns, task);
        largest = largest.max(largest_curvature(node, &start)?);
    }
    Ok(if largest > 0.0 { 1.0 / largest } else { 1.0 })
}

impl Method for Gossip {
    type Participant = GossipParticipant;

    fn join(&self, view: View) -> Result<GossipParticipant> {
        positive("step", self.step)?;
        let View { node, neighbours } = view;
        let model = parametric(&node)?;
        let (columns, task) = (node.data.features().columns(), node.data.task());
        let given = self.start.as_ref().and_then(|start| start[node.id].clone());
        let given = given.and_then(|hypothesis| model.weights(hypothesis.as_ref()));
        let weights: Weights = given.unwrap_or_else(|| model.start(columns, task)).into();
        let hypothesis = model.hypothesis(node.data.features().names(), task, &weights).into();
        let mut participant = GossipParticipant {
            step: self.step,
            order: self.order,
            neighbours: neighbours.iter().map(|neighbour| neighbour.id).collect(),
            sent: weights.clone(),
            weights,
            hypothesis,
            node,
            // Change and size are alike: a run must not stop before the first round.
            report: Report { change: 1.0, size: 1.0, ..Report::default() },
        };
        participant.prepare()?;
        Ok(participant)
    }
}

/// A node's weights and how many neighbours it has.
#[derive(Debug, Clone)]
pub struct GossipMessage {
    /// The weights.
    pub weights: Arc<[f64]>,
    /// The number of neighbours.
    pub neighbours: usize,
}

impl Message for GossipMessage {
    fn bytes(&self) -> usize {
        NUMBER_BYTES * (1 + self.weights.len())
    }
}

/// A node that averages with its neighbours.
#[derive(Debug)]
pub struct GossipParticipant {
    step: f64,
    order: UpdateOrder,
    node: Node,
    neighbours: Vec<NodeId>,
    weights: Weights,
    /// The weights that neighbours are sent.
    sent: Weights,
    hypothesis: Arc<dyn Hypothesis>,
    report: Report,
}

impl GossipParticipant {
    /// Finds what is to be sent next.
    fn prepare(&mut self) -> Result<()> {
        self.sent = match self.order {
            UpdateOrder::CombineThenAdapt => self.weights.clone(),
            UpdateOrder::AdaptThenCombine => self.adapted(self.weights.to_vec())?.into(),
        };
        Ok(())
    }

    /// The weights after a step down the own loss at the current ones.
    fn adapted(&self, mut weights: Vec<f64>) -> Result<Vec<f64>> {
        if self.node.data.total_weight() > 0.0 {
            let gradient = parametric(&self.node)?.gradient(&self.node.data, &self.weights);
            add_scaled(&mut weights, -self.step, &gradient);
        }
        Ok(weights)
    }

    /// The mean with the neighbours; the share of one whose message is lost stays here.
    fn combined(&self, inbox: &[(NodeId, GossipMessage)]) -> Result<Vec<f64>> {
        let own = self.sent.len();
        let mut mean = self.sent.to_vec();
        for (neighbour, received) in inbox {
            if received.weights.len() != own {
                let (node, neighbour, other) = (self.node.id, *neighbour, received.weights.len());
                return Err(Error::MixedSizes { node, own, neighbour, other });
            }
            let share = 1.0 / (1.0 + received.neighbours.max(self.neighbours.len()) as f64);
            add_scaled(&mut mean, share, &received.weights);
            // What a neighbour gets is taken from the own share, so the weights of the mean sum to one.
            add_scaled(&mut mean, -share, &self.sent);
        }
        Ok(mean)
    }
}

impl Participant for GossipParticipant {
    type Message = GossipMessage;

    fn send(&mut self) -> Vec<(NodeId, GossipMessage)> {
        let sent = GossipMessage { weights: self.sent.clone(), neighbours: self.neighbours.len() };
        self.neighbours.iter().map(|&to| (to, sent.clone())).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, GossipMessage)]) -> Result<()> {
        let mut new = self.combined(inbox)?;
        if self.order == UpdateOrder::CombineThenAdapt {
            new = self.adapted(new)?;
        }
        self.report = Report {
            change: squared_distance(&self.weights, &new),
            size: dot(&new, &new),
            ..Report::default()
        };
        self.weights = new.into();
        let (model, data) = (parametric(&self.node)?, &self.node.data);
        if data.total_weight() > 0.0 {
            self.report.loss = model.loss(data, &self.weights);
        }
        self.hypothesis =
            model.hypothesis(data.features().names(), data.task(), &self.weights).into();
        self.prepare()
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        Some(&self.hypothesis)
    }

    fn report(&self) -> Report {
        self.report
    }
}
