//! FedAvg with local fine-tuning: at the end every node takes some more steps alone,
//!
//! ```text
//! v_i = w* after s steps  v ← v − η ∇L_i(v)
//! ```
//!
//! No steps are FedAvg; ever more of them end at local training.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg,
    hub::{Client, ClientState, HubMethod, Personalise, Weights},
};
use crate::error::Result;

/// A common model that nodes adapt to their rows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FineTuned {
    /// How the common model is trained.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// How many steps s every node takes alone at the end; zero is FedAvg.
    #[serde(skip)]
    pub steps: usize,
}

impl Default for FineTuned {
    fn default() -> Self {
        Self { fedavg: FedAvg::default(), steps: 10 }
    }
}

impl HubMethod for FineTuned {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(self.clone())
    }
}

impl Personalise for FineTuned {
    fn personalised(&self, state: &ClientState, common: &Weights) -> Result<Weights> {
        Ok(state.descended(common, self.steps, 0.0))
    }
}
