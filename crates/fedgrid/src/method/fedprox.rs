//! FedProx: FedAvg whose local steps are held near the hub's model,
//!
//! ```text
//! w_i ≈ argmin  L_i(v) + (μ/2) ‖v − w‖²,      w ← Σ_i p_i w_i
//! ```
//!
//! [Li et al., "Federated optimization in heterogeneous networks".] Without the proximal term it is
//! FedAvg.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg, Method,
    fedavg::Trainee,
    hub::{Client, Hubbed, Server, Sides, Weights},
};
use crate::{
    error::{Result, at_least_zero},
    network::View,
};

/// Averaging with a proximal term.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FedProx {
    /// How models are trained and averaged.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// The pull μ ≥ 0 of local steps to the hub's model; zero is FedAvg.
    #[serde(skip)]
    pub pull: f64,
}

impl Method for FedProx {
    type Participant = Hubbed;

    fn join(&self, view: View) -> Result<Hubbed> {
        at_least_zero("pull", self.pull)?;
        Hubbed::new(&self.fedavg, self, view)
    }
}

impl Sides for FedProx {
    fn server(&self, start: Weights) -> Box<dyn Server> {
        self.fedavg.server(start)
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(Trainee { pull: self.pull })
    }
}
