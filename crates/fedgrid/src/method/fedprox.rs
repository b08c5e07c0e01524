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
    FedAvg,
    fedavg::AveragingClient,
    hub::{Client, HubMethod},
};
use crate::error::{Result, at_least_zero};

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

impl HubMethod for FedProx {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn check_own(&self) -> Result<()> {
        at_least_zero("pull", self.pull)
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(AveragingClient { pull: self.pull })
    }
}
