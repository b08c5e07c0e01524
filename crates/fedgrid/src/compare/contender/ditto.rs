//! Ditto in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::strength::{Grid, Units},
    method::{Ditto, FedAvg},
};

impl HubContender for Ditto {
    const NAME: &'static str = "ditto";
    const ABOUT: &'static str = "own model, pulled to averaged";
    const STRENGTH: StrengthKey =
        StrengthKey::pull("The pull to the averaged model; zero trains every node alone.");
    const GOES_ON: bool = true;

    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn strengths(units: &Units) -> Grid {
        units.pulls_of_weights()
    }

    fn at(&self, fedavg: FedAvg, pull: f64) -> Self {
        Self { fedavg, pull }
    }
}
