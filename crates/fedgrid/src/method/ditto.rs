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
    hub::{Client, ClientState, HubMethod, Weights},
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
        Box::new(DittoClient { pull: self.pull })
    }
}

/// A node that trains the common model and, at its end, its own near it.
#[derive(Debug)]
struct DittoClient {
    pull: f64,
}

impl Client for DittoClient {
    fn own(
        &mut self,
        state: &ClientState,
        models: &[Weights],
        last: bool,
    ) -> Result<Option<Weights>> {
        let Some(common) = models.first() else { return Ok(None) };
        // A common model that has diverged would make the proximal problem meaningless.
        let usable = common.iter().all(|weight| weight.is_finite());
        if !(last && usable && state.has_rows()) {
            return Ok(Some(common.clone()));
        }
        if self.pull == 0.0 {
            return state.local().map(Some);
        }
        let near = state.model().proximal(&state.node.data, common, 1.0 / self.pull)?;
        Ok(Some(near.into()))
    }
}
