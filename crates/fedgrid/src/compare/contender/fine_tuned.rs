//! Fine-tuning in a comparison.

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
    method::{FedAvg, FineTuned},
};

impl Contender for FineTuned {
    fn about(&self) -> &'static str {
        "averaged, then steps alone"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "steps",
            about: "The number of steps that every node takes alone at the end; zero is FedAvg.",
            expected: "a whole number of steps, zero or more",
            fits: |steps| steps.fract() == 0.0,
        })
    }

    fn facts(&self) -> Facts {
        Facts::of_hub()
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::listed(&[0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let steps = request.count();
        let fedavg = trainer.averaging(&self.fedavg, HubStart::of(request.warm));
        trainer.through_hub(&Self { fedavg, steps }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("fine-tuned knows a hub and no network; the network is only drawn.".into())
    }
}
