//! Clustered federated learning in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::{ClusteredFl, FedAvg},
};

impl Contender for ClusteredFl {
    fn about(&self) -> &'static str {
        "averaged in clusters, by splits"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "threshold",
            about: "Clusters are split where their mean step is below this share of the largest; zero never \
                    splits.",
            expected: "zero or more",
            fits: |_| true,
        })
    }

    fn facts(&self) -> Facts {
        Facts::of_hub()
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::listed(&[0.0, 0.05, 0.1, 0.2, 0.4, 0.8]))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let fedavg = trainer.averaging(&self.fedavg, None);
        let method = Self { fedavg, rest: request.strength, ..self.clone() };
        trainer.through_hub(&method, request.effort)
    }

    fn check(&self) -> Result<(), String> {
        let share = self.fedavg.participation;
        if share < 1.0 {
            let found = format!("method.participation is {share}");
            return Err(format!("{found}, expected 1 for method.kind = \"clustered\""));
        }
        Ok(())
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("clustered knows a hub and no network; the network is only drawn.".into())
    }
}
