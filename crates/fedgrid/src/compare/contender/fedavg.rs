//! FedAvg in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::FedAvg,
};

impl Contender for FedAvg {
    fn about(&self) -> &'static str {
        "one model, averaged at a hub"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::PACE)
    }

    fn facts(&self) -> Facts {
        Facts { is_personal: false, ..Facts::of_hub() }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::listed(&[1.0, 0.3, 0.1]))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let fedavg = trainer.averaging(self, None);
        let pace = request.strength * fedavg.pace;
        trainer.through_hub(&FedAvg { pace, ..fedavg }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(self)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        *self = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("fedavg knows a hub and no network; the network is only drawn.".into())
    }
}
