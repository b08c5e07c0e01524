//! One file per kind of experiment: from the keys of a line and a seed to its points.

mod probing;
mod probing_trees;
mod relax_linear;
mod relax_trees;
mod total_variation;

use serde::Deserialize;
use toml::{Table, Value};

use super::measured::Curve;
use crate::{
    error::{Error, Result},
    wording::in_plain_words,
};

/// What is run for a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum FigureCase {
    /// Linear models and their rivals on the networks of "Plug In and Learn".
    RelaxLinear(relax_linear::RelaxLinear),
    /// Trees on the same networks.
    RelaxTrees(relax_trees::RelaxTrees),
    /// Total variation of weights on a stochastic block model.
    TotalVariation(total_variation::TotalVariation),
    /// Targets that probe who helps.
    Probing(probing::LinearProbing),
    /// The same with trees.
    ProbingTrees(probing_trees::TreeProbing),
}

impl FigureCase {
    /// What the keys of a line say.
    pub(super) fn from_keys(keys: Table) -> Result<Self> {
        let message = |error: toml::de::Error| Error::input(in_plain_words(error.message()));
        Value::Table(keys).try_into().map_err(message)
    }

    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        Ok(match self {
            Self::RelaxLinear(case) => case.run(seed)?,
            Self::RelaxTrees(case) => case.run(seed)?,
            Self::TotalVariation(case) => case.run(seed)?,
            Self::Probing(case) => case.run(seed)?,
            Self::ProbingTrees(case) => case.run(seed)?,
        })
    }
}
