//! The pull to the pooled model in a comparison: what can be had without a network.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
    method::{FedRelax, Shrunk},
    network::Network,
};

impl Contender for Shrunk {
    fn about(&self) -> &'static str {
        "pulled to the pooled model"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The pull to the pooled model; zero trains every node alone."))
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_network: false,
            knows_lengths_only: true,
            uses_public: true,
            couples_intercepts: self.couple_intercept,
            hub: 1.0,
            ..Facts::default()
        }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::Decades(1.0))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        trainer.shrunk(request)
    }

    fn pulls(&self, network: &Network) -> Option<(FedRelax, Vec<f64>)> {
        Some((FedRelax::default(), vec![1.0; network.len()]))
    }
}
