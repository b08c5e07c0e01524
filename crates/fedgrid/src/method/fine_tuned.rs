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
    FedAvg, Method,
    hub::{Client, Hubbed, Server, Sides, Weights, Workplace},
};
use crate::{error::Result, network::View};

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

impl Method for FineTuned {
    type Participant = Hubbed;

    fn join(&self, view: View) -> Result<Hubbed> {
        Hubbed::new(&self.fedavg, self, view)
    }
}

impl Sides for FineTuned {
    fn server(&self, start: Weights) -> Box<dyn Server> {
        self.fedavg.server(start)
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(Adapting { steps: self.steps })
    }
}

/// A node that trains the common model and, at its end, goes on alone.
#[derive(Debug)]
struct Adapting {
    steps: usize,
}

impl Client for Adapting {
    fn own(
        &mut self,
        place: &Workplace,
        models: &[Weights],
        last: bool,
    ) -> Result<Option<Weights>> {
        let Some(common) = models.first() else { return Ok(None) };
        let steps = if last && place.has_rows() { self.steps } else { 0 };
        Ok(Some(place.descended(common, steps, 0.0)))
    }
}
