//! Ditto in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        hub::HubStart,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::{Ditto, FedAvg},
};

impl Contender for Ditto {
    fn about(&self) -> &'static str {
        "own model, pulled to averaged"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The pull to the averaged model; zero trains every node alone."))
    }

    fn facts(&self) -> Facts {
        Facts::of_hub()
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        Ok(Grid::Decades(2.0 * units.variance))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let fedavg = trainer.averaging(&self.fedavg, HubStart::of(request.warm));
        trainer.through_hub(&Self { fedavg, pull: request.strength }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("ditto knows a hub and no network; the network is only drawn.".into())
    }
}
