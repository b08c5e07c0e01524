//! FedProx in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::strength::{Grid, Units},
    method::{FedAvg, FedProx},
};

impl HubContender for FedProx {
    const NAME: &'static str = "fedprox";
    const ABOUT: &'static str = "averaged, steps held near it";
    const STRENGTH: StrengthKey =
        StrengthKey::pull("The pull of local steps to the hub's model; zero is FedAvg.");
    const IS_PERSONAL: bool = false;

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
