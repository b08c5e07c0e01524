//! FedAvg in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::strength::{Grid, Units},
    method::FedAvg,
};

impl HubContender for FedAvg {
    const NAME: &'static str = "fedavg";
    const ABOUT: &'static str = "one model, averaged at a hub";
    const STRENGTH: StrengthKey = StrengthKey::PACE;
    const IS_PERSONAL: bool = false;

    fn fedavg(&self) -> &FedAvg {
        self
    }

    fn strengths(_: &Units) -> Grid {
        Grid::listed(&[1.0, 0.3, 0.1])
    }

    fn at(&self, fedavg: FedAvg, strength: f64) -> Self {
        Self { pace: strength * fedavg.pace, ..fedavg }
    }
}
