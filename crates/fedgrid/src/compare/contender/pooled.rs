//! One model for all nodes in a comparison.

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
    method::Pooled,
};

/// One model for all: there is nothing to set.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct PooledRow {}

impl Contender for PooledRow {
    fn about(&self) -> &'static str {
        "one model for all nodes"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        None
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_network: false,
            knows_lengths_only: true,
            is_personal: false,
            hub: 1.0,
            without: &["rounds", "tolerance", "order"],
            ..Facts::default()
        }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::Fixed(0.0))
    }

    fn fit(&self, trainer: &Trainer, _: FitRequest) -> Result<Fitted> {
        Ok(Fitted::exact(Pooled.fit(trainer.nodes())?))
    }
}
