//! Every node pulled to the pooled model, no network,
//!
//! ```text
//! hᵢ = argmin  Lᵢ(h) + α δ(h, h_pooled)
//! ```
//!
//! What is left of FedRelax when all nodes have one neighbour, the pooled hub: the honest rival of
//! a network, because it couples nodes without knowing which of them are alike. Where a model has a
//! ridge, that too pulls to the pooled model instead of to zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FedRelax, Hypotheses, Method, fedrelax::FedRelaxParticipant};
use crate::{error::Result, network::View};

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
}

impl Default for Shrunk {
    fn default() -> Self {
        Self { alpha: 1.0, couple_intercept: true, pooled: Hypotheses::default() }
    }
}

impl Method for Shrunk {
    type Participant = FedRelaxParticipant;

    fn join(&self, mut view: View) -> Result<FedRelaxParticipant> {
        if let Some(centred) = view.node.model.with_centre(self.pooled[view.node.id].as_ref()) {
            view.node.model = centred.into();
        }
        let method = FedRelax {
            alpha: self.alpha,
            couple_intercept: self.couple_intercept,
            hub: 1.0,
            pooled: Some(self.pooled.clone()),
            ..FedRelax::default()
        };
        method.join(View { neighbours: Vec::new(), ..view })
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }
}
