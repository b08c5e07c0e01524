//! Ditto: every node keeps a model of its own, pulled to the one that all train together,
//!
//! ```text
//! v_i = argmin  L_i(v) + (λ/2) ‖v − w*‖²,      w* the model of FedAvg
//! ```
//!
//! [Li et al., "Ditto: fair and robust federated learning through personalization".] The authors
//! take steps of both in turn; here the second waits for the last model of the first, where it is
//! solved as a whole. Without a pull it is local training, and with ever more of it FedAvg.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg,
    hub::{Client, ClientState, HubMethod, Personalise, Weights},
};
use crate::error::{Result, at_least_zero};

/// A common model, and one of each node near it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ditto {
    /// How the common model is trained.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// The pull λ ≥ 0 of a node's own model to the common one; zero trains every node alone.
    #[serde(skip)]
    pub pull: f64,
}

impl Default for Ditto {
    fn default() -> Self {
        Self { fedavg: FedAvg::default(), pull: 1.0 }
    }
}

impl HubMethod for Ditto {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn check_own(&self) -> Result<()> {
        at_least_zero("pull", self.pull)
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(self.clone())
    }
}

impl Personalise for Ditto {
    fn personalised(&self, state: &ClientState, common: &Weights) -> Result<Weights> {
        // A common model that has diverged would make the proximal problem meaningless.
        if !common.iter().all(|weight| weight.is_finite()) {
            return Ok(common.clone());
        }
        if self.pull == 0.0 {
            return state.local();
        }
        Ok(state.model().proximal(&state.node.data, common, 1.0 / self.pull)?.into())
    }
}
