//! APFL in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::{Apfl, FedAvg},
};

impl Contender for Apfl {
    fn about(&self) -> &'static str {
        "mixture of own and averaged"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "share",
            about: "The share of a node's own model in the mixture.",
            expected: "a share from zero to one",
            fits: |share| share <= 1.0,
        })
    }

    fn facts(&self) -> Facts {
        Facts::of_hub()
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::listed(&[0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        // That the common model rests says nothing of the nodes' own.
        let fedavg = FedAvg { tolerance: 0.0, ..trainer.averaging(&self.fedavg, None) };
        trainer.through_hub(&Self { fedavg, mixture: request.strength }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("apfl knows a hub and no network; the network is only drawn.".into())
    }
}
