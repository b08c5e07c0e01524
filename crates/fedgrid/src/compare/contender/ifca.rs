//! IFCA in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::{
        fitted::whole,
        strength::{Grid, Units},
    },
    method::{FedAvg, Ifca},
};

impl HubContender for Ifca {
    const NAME: &'static str = "ifca";
    const ABOUT: &'static str = "several averaged, choose one";
    const STRENGTH: StrengthKey = StrengthKey {
        name: "clusters",
        about: "The number of models at the hub.",
        expected: "a number of clusters, one or more",
        fits: |clusters| clusters >= 1.0 && clusters.fract() == 0.0,
    };

    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn strengths(units: &Units) -> Grid {
        // A model that no node can choose would be trained by nobody.
        let most = units.nodes_with_rows() as f64;
        let counts = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
        Grid::Listed(counts.into_iter().filter(|count| *count <= most).collect())
    }

    fn at(&self, fedavg: FedAvg, clusters: f64) -> Self {
        Self { fedavg, clusters: whole(clusters), ..self.clone() }
    }
}
