//! FedMD: distillation through a hub. Nodes send predictions on one public set, the hub averages
//! them, and every node refits its model near the mean,
//!
//! ```text
//! hᵢ ← argmin  Lᵢ(h) + α δ(h, h̄),      h̄ = (1/n) Σ_j h_j  on the public points
//! ```
//!
//! for any kind of model. [Li and Wang, "FedMD: heterogenous federated learning via model
//! distillation", 2019. There a node first trains on the mean and then on its own rows; here one fit
//! does both, and nobody needs public labels.] Its fixed point is that of FedRelax on the complete
//! network with weights 1/n. A round of nodes and one of the hub make up an iteration.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedRelax, Method, Participant, Report,
    fedrelax::{FedRelaxParticipant, PredictionMessage},
    hub::is_hub,
};
use crate::{
    algebra::add_scaled,
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::Hypothesis,
    network::{NodeId, View},
};

/// Distillation through a hub.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FedMd {
    /// The pull α ≥ 0 towards the mean prediction; zero trains every node alone.
    #[serde(skip)]
    pub alpha: f64,
}

impl Default for FedMd {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Method for FedMd {
    type Participant = FedMdParticipant;

    fn join(&self, view: View) -> Result<FedMdParticipant> {
        if is_hub(&view) {
            return Ok(FedMdParticipant::Hub(FedMdHub {
                task: view.node.data.task(),
                nodes: view.neighbours.iter().map(|neighbour| neighbour.id).collect(),
                mean: None,
            }));
        }
        // Equal sets read from two files are as good as one that is shared.
        let same = |points: &Arc<Features>| {
            Arc::ptr_eq(points, &view.node.public) || **points == *view.node.public
        };
        if !view.neighbours.iter().all(|hub| same(&hub.public)) {
            return Err(Error::Unsupported {
                what: "distillation through a hub",
                needs: "one public set for all nodes (public.per_node = false)",
            });
        }
        let method = FedRelax { alpha: self.alpha, ..FedRelax::default() };
        let inner = Box::new(method.join(view)?);
        Ok(FedMdParticipant::Node { inner, has_news: true })
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// A participant of FedMD.
#[derive(Debug)]
pub enum FedMdParticipant {
    /// A node, whose only neighbour is the hub.
    Node {
        /// What it does with the hub's predictions.
        inner: Box<FedRelaxParticipant>,
        /// Whether its predictions are new to the hub.
        has_news: bool,
    },
    /// The hub.
    Hub(FedMdHub),
}

/// A hub that averages predictions.
#[derive(Debug)]
pub struct FedMdHub {
    task: Task,
    nodes: Vec<NodeId>,
    /// The mean that is still to be sent.
    mean: Option<Arc<Labels>>,
}

impl FedMdHub {
    fn average(&mut self, inbox: &[(NodeId, PredictionMessage)]) {
        let Some((_, first)) = inbox.first() else { return };
        let mut mean = Labels::neutral(self.task, first.own.rows());
        mean.as_mut_slice().fill(0.0);
        for (_, message) in inbox {
            add_scaled(mean.as_mut_slice(), 1.0 / inbox.len() as f64, message.own.as_slice());
        }
        self.mean = Some(Arc::new(mean));
    }
}

impl Participant for FedMdParticipant {
    type Message = PredictionMessage;

    fn send(&mut self) -> Vec<(NodeId, PredictionMessage)> {
        match self {
            Self::Node { inner, has_news } => {
                if std::mem::take(has_news) {
                    inner.send()
                } else {
                    Vec::new()
                }
            }
            Self::Hub(hub) => {
                let Some(own) = hub.mean.take() else { return Vec::new() };
                let message = PredictionMessage { own, yours: None };
                hub.nodes.iter().map(|&node| (node, message.clone())).collect()
            }
        }
    }

    fn receive(&mut self, inbox: &[(NodeId, PredictionMessage)]) -> Result<()> {
        match self {
            Self::Node { inner, has_news } => {
                // The hub is silent in every other round; a refit then would repeat the last one.
                if !inbox.is_empty() {
                    inner.receive(inbox)?;
                    *has_news = true;
                }
            }
            Self::Hub(hub) => hub.average(inbox),
        }
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        match self {
            Self::Node { inner, .. } => inner.hypothesis(),
            Self::Hub(_) => None,
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Node { inner, .. } => inner.report(),
            Self::Hub(_) => Report::default(),
        }
    }
}
