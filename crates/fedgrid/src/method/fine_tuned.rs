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
    hub::{Client, ClientState, HubMethod, Weights},
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
        Box::new(FineTunedClient { steps: self.steps })
    }
}

/// A node that trains the common model and, at its end, goes on alone.
#[derive(Debug)]
struct FineTunedClient {
    steps: usize,
}

impl Client for FineTunedClient {
    fn own(
        &mut self,
        state: &ClientState,
        models: &[Weights],
        last: bool,
    ) -> Result<Option<Weights>> {
        let Some(common) = models.first() else { return Ok(None) };
        // Steps before the last models would be thrown away with the next ones.
        let steps = if last && state.has_rows() { self.steps } else { 0 };
        Ok(Some(state.descended(common, steps, 0.0)))
    }
}
