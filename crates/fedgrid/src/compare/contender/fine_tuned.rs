//! Fine-tuning in a comparison.

use super::{StrengthKey, hub::HubContender};
use crate::{
    compare::{
        fitted::whole,
        strength::{Grid, Units},
    },
    method::{FedAvg, FineTuned},
};

impl HubContender for FineTuned {
    const NAME: &'static str = "fine-tuned";
    const ABOUT: &'static str = "averaged, then steps alone";
    const STRENGTH: StrengthKey = StrengthKey {
        name: "steps",
        about: "The number of steps that every node takes alone at the end; zero is FedAvg.",
        expected: "a whole number of steps, zero or more",
        fits: |steps| steps.fract() == 0.0,
    };
    const GOES_ON: bool = true;

    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn strengths(_: &Units) -> Grid {
        Grid::listed(&[0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
    }

    fn at(&self, fedavg: FedAvg, steps: f64) -> Self {
        Self { fedavg, steps: whole(steps) }
    }
}
