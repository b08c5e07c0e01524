//! FedProx in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::{FedAvg, FedProx},
};

impl Contender for FedProx {
    fn about(&self) -> &'static str {
        "averaged, steps held near it"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The pull of local steps to the hub's model; zero is FedAvg."))
    }

    fn facts(&self) -> Facts {
        Facts { is_personal: false, ..Facts::of_hub() }
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        Ok(Grid::Decades(2.0 * units.variance))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let fedavg = trainer.averaging(&self.fedavg, None);
        trainer.through_hub(&Self { fedavg, pull: request.strength }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("fedprox knows a hub and no network; the network is only drawn.".into())
    }
}
