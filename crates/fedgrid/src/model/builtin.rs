//! The kinds of hypotheses of this crate: a model that brings a new one adds its line here.

use crate::model::{self, HypothesisKinds};

impl HypothesisKinds {
    /// All kinds of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self::default()
            .with::<model::Constant>()
            .with::<model::LinearHypothesis>()
            .with::<model::LogisticHypothesis>()
            .with::<model::PoissonHypothesis>()
            .with::<model::TreeHypothesis>()
            .with::<model::ForestHypothesis>()
            .with::<model::BoostingHypothesis>()
            .with::<model::NeighboursHypothesis>()
            .with::<model::KernelRidgeHypothesis>()
            .with::<model::SmootherHypothesis>()
            .with::<model::PerceptronHypothesis>()
            .with::<model::GraphicalLassoHypothesis>()
    }
}
