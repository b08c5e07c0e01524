//! IFCA in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        trainer::Trainer,
        tuning::{Grid, Units},
    },
    error::Result,
    method::{FedAvg, Ifca},
};

impl Contender for Ifca {
    fn about(&self) -> &'static str {
        "several averaged, choose one"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "clusters",
            about: "The number of models at the hub.",
            expected: "a number of clusters, one or more",
            fits: |clusters| clusters >= 1.0 && clusters.fract() == 0.0,
        })
    }

    fn facts(&self) -> Facts {
        Facts::of_hub()
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        Ok({
            let counts = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
            let with_rows = units.nodes_with_rows() as f64;
            Grid::Listed(counts.into_iter().filter(|count| *count <= with_rows).collect())
        })
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let fedavg = trainer.averaging(&self.fedavg, None);
        let clusters = request.count();
        trainer.through_hub(&Self { fedavg, clusters, ..self.clone() }, request.effort)
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(&self.fedavg)
    }

    fn average_like(&mut self, averaging: &FedAvg) {
        self.fedavg = averaging.clone();
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("ifca knows a hub and no network; the network is only drawn.".into())
    }
}
