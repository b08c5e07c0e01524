//! Clustered federated learning in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::strength::{Grid, Units},
    method::{ClusteredFl, FedAvg},
};

impl HubContender for ClusteredFl {
    const NAME: &'static str = "clustered";
    const ABOUT: &'static str = "averaged in clusters, by splits";
    const STRENGTH: StrengthKey = StrengthKey {
        name: "threshold",
        about: "Clusters are split where their mean step is below this share of the largest; zero never \
                splits.",
        expected: "zero or more",
        fits: |_| true,
    };

    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn strengths(_: &Units) -> Grid {
        Grid::listed(&[0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
    }

    fn at(&self, fedavg: FedAvg, rest: f64) -> Self {
        // Beside a method that trains some nodes at a time, too: who is absent could not be told from who rests.
        Self { fedavg: FedAvg { participation: 1.0, ..fedavg }, rest, ..self.clone() }
    }

    fn check_keys(&self) -> Result<(), String> {
        let share = self.fedavg.participation;
        if share < 1.0 {
            let found = format!("method.participation is {share}");
            return Err(format!("{found}, expected 1 for method.kind = \"clustered\""));
        }
        Ok(())
    }
}
