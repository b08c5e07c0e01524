//! APFL: every node mixes a model of its own with the one that all train together,
//!
//! ```text
//! h_i = α v_i + (1 − α) w,      v_i ← v_i − η α ∇L_i(α v_i + (1 − α) w_i)
//! ```
//!
//! where `w_i` are the local steps of FedAvg, taken at the same time. [Deng et al., "Adaptive
//! personalized federated learning"; the mixture is given, not adapted.] α = 0 is FedAvg, α = 1
//! gradient descent alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg,
    fedavg::Averaged,
    hub::{Client, ClientAnswer, ClientState, HubMethod, Weights},
};
use crate::error::{Error, Result};

/// A mixture of a common model and one of each node.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Apfl {
    /// How the common model is trained.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// The share α in [0, 1] of a node's own model.
    #[serde(skip)]
    pub mixture: f64,
}

impl Default for Apfl {
    fn default() -> Self {
        Self { fedavg: FedAvg::default(), mixture: 0.5 }
    }
}

impl HubMethod for Apfl {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn check_own(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.mixture) {
            let expected = "a share from zero to one";
            return Err(Error::Parameter { name: "mixture", value: self.mixture, expected });
        }
        Ok(())
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(ApflClient { mixture: self.mixture, own: None })
    }
}

/// A node with a model of its own beside the common one.
#[derive(Debug)]
struct ApflClient {
    mixture: f64,
    /// The weights v; none before the first iteration, where they are the hub's.
    own: Option<Vec<f64>>,
}

impl ApflClient {
    fn mixed(&self, own: &[f64], common: &[f64]) -> Vec<f64> {
        let share = self.mixture;
        own.iter().zip(common).map(|(v, w)| share * v + (1.0 - share) * w).collect()
    }
}

impl Client for ApflClient {
    fn answer(&mut self, state: &ClientState, models: &[Weights]) -> Result<ClientAnswer> {
        let mut own = self.own.take().unwrap_or_else(|| models[0].to_vec());
        let mut common = models[0].to_vec();
        for _ in 0..state.steps {
            let at = common.clone();
            state.descend(&mut common, 1.0, &at);
            // The own model follows the loss of the mixture, which is what the node will use.
            let at = self.mixed(&own, &common);
            state.descend(&mut own, self.mixture, &at);
        }
        self.own = Some(own);
        let part = match state.averaged {
            Averaged::Models => common.into(),
            Averaged::Gradients => state.trained(&models[0], 0.0),
        };
        Ok(ClientAnswer { parts: vec![(0, part)], losses: Vec::new() })
    }

    fn own(&mut self, _: &ClientState, models: &[Weights], _: bool) -> Result<Option<Weights>> {
        let Some(common) = models.first() else { return Ok(None) };
        Ok(Some(match &self.own {
            Some(own) => self.mixed(own, common).into(),
            None => common.clone(),
        }))
    }
}
