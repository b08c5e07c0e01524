//! The kinds of hypotheses of this crate: a model that brings a new one adds its line here.

use super::{
    BoostingHypothesis, Constant, ForestHypothesis, GraphicalLassoHypothesis, HypothesisKinds,
    KernelRidgeHypothesis, LinearHypothesis, LogisticHypothesis, NeighboursHypothesis,
    PerceptronHypothesis, PoissonHypothesis, SmootherHypothesis, TreeHypothesis,
};

impl HypothesisKinds {
    /// All kinds of this crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self::default()
            .with::<Constant>()
            .with::<LinearHypothesis>()
            .with::<LogisticHypothesis>()
            .with::<PoissonHypothesis>()
            .with::<TreeHypothesis>()
            .with::<ForestHypothesis>()
            .with::<BoostingHypothesis>()
            .with::<NeighboursHypothesis>()
            .with::<KernelRidgeHypothesis>()
            .with::<SmootherHypothesis>()
            .with::<PerceptronHypothesis>()
            .with::<GraphicalLassoHypothesis>()
    }
}
