//! APFL in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::strength::{Grid, Units},
    method::{Apfl, FedAvg},
};

impl HubContender for Apfl {
    const NAME: &'static str = "apfl";
    const ABOUT: &'static str = "mixture of own and averaged";
    const STRENGTH: StrengthKey = StrengthKey {
        name: "share",
        about: "The share of a node's own model in the mixture.",
        expected: "a share from zero to one",
        fits: |share| share <= 1.0,
    };
    // That the common model rests says nothing of the nodes' own, so iterations are counted alone.
    const WITHOUT: &'static [&'static str] = &["order", "tolerance"];

    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn strengths(_: &Units) -> Grid {
        Grid::listed(&[0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    }

    fn at(&self, fedavg: FedAvg, mixture: f64) -> Self {
        Self { fedavg: FedAvg { tolerance: 0.0, ..fedavg }, mixture }
    }
}
