//! Every node pulled to the pooled model, no network,
//!
//! ```text
//! hᵢ = argmin  Lᵢ(h) + α δ(h, h_pooled)
//! ```
//!
//! What is left of FedRelax when all nodes have one neighbour, the pooled hub: the honest rival of
//! a network, because it couples nodes without knowing which of them are alike. Where a model has a
//! ridge, that too pulls to the pooled model instead of to zero.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FedRelax, Hypotheses, Method, fedrelax::FedRelaxParticipant};
use crate::{data::Labels, error::Result, network::View};

/// Shrinkage of every node's model towards the pooled one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shrunk {
    /// The pull α ≥ 0 to the pooled model; zero trains every node alone.
    #[serde(skip)]
    pub alpha: f64,
    /// Whether levels are pulled too, or only the shape of predictions.
    pub couple_intercept: bool,
    /// The pooled hypothesis of each node.
    #[serde(skip)]
    pub pooled: Hypotheses,
    /// What these predict for the public points of each node, where it is known already.
    #[serde(skip)]
    pub pooled_predictions: Option<Arc<[Arc<Labels>]>>,
}

impl Default for Shrunk {
    fn default() -> Self {
        let pooled = Hypotheses::default();
        Self { alpha: 1.0, couple_intercept: true, pooled, pooled_predictions: None }
    }
}

impl Method for Shrunk {
    type Participant = FedRelaxParticipant;

    fn join(&self, mut view: View) -> Result<FedRelaxParticipant> {
        // A ridge towards zero would work against the pull to the pooled model.
        if let Some(centred) = view.node.model.with_centre(self.pooled[view.node.id].as_ref()) {
            view.node.model = centred.into();
        }
        let method = FedRelax {
            alpha: self.alpha,
            couple_intercept: self.couple_intercept,
            hub: 1.0,
            pooled: Some(self.pooled.clone()),
            pooled_predictions: self.pooled_predictions.clone(),
            ..FedRelax::default()
        };
        // Without edges nodes are coupled through the pooled model alone.
        method.join(View { neighbours: Vec::new(), ..view })
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }
}
