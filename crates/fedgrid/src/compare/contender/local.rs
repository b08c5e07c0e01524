//! Training alone in a comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
};

/// Every node alone: there is nothing to set.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct LocalRow {}

impl Contender for LocalRow {
    fn about(&self) -> &'static str {
        "every node alone"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        None
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_network: false,
            knows_lengths_only: true,
            without: &["rounds", "tolerance", "order"],
            ..Facts::default()
        }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::Fixed(0.0))
    }

    fn fit(&self, trainer: &Trainer, _: FitRequest) -> Result<Fitted> {
        trainer.local()
    }
}
