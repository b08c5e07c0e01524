//! The models of this crate: as experiments ask for them, and what files of theirs hold.
//!
//! A model is a line of `models!`, where its struct is its section of an experiment file; one that brings a
//! hypothesis of its own adds its line to [`HypothesisKinds::builtin`].

use std::sync::Arc;

use crate::{
    kinds::kinds,
    model::{
        self, Boosting, ElasticNet, ExtraTrees, Fixed, Forest, GraphicalLasso, Huber,
        HypothesisKinds, KernelRidge, Linear, LocalModel, Logistic, Mean, Neighbours, Perceptron,
        Poisson, Quantile, Smoother, Tree,
    },
};

/// Makes the enums of all models.
macro_rules! models {
    ($($(#[doc = $doc:literal])+ $kind:ident($model:ty) = $name:literal,)+) => {
        kinds! {
            /// Which model.
            ModelKind,
            /// A model with its keys.
            #[derive(PartialEq)]
            Model:
            $($(#[doc = $doc])+ $kind($model) = $name,)+
        }

        impl Model {
            /// The model as nodes train it.
            #[must_use]
            pub fn as_local(&self) -> &dyn LocalModel {
                match self { $(Self::$kind(model) => model,)+ }
            }

            /// The same to be shared; a fixed ridge is not chosen on validation rows.
            #[must_use]
            pub fn shared(self, has_fixed_ridge: bool) -> Arc<dyn LocalModel> {
                match self {
                    $(Self::$kind(model) if has_fixed_ridge => Arc::new(Fixed(model)),
                      Self::$kind(model) => Arc::new(model),)+
                }
            }
        }
    };
}

models! {
    /// Least squares with a ridge.
    Linear(Linear) = "linear",
    /// Least squares with a ridge and a lasso.
    ElasticNet(ElasticNet) = "elastic-net",
    /// Linear, with large errors counting less.
    Huber(Huber) = "huber",
    /// Linear, for a quantile instead of the mean.
    Quantile(Quantile) = "quantile",
    /// Log-linear, for counts and rates.
    Poisson(Poisson) = "poisson",
    /// Logistic regression for classes.
    Logistic(Logistic) = "logistic",
    /// A Gaussian model of features and target together, most pairs independent given the others.
    GraphicalLasso(GraphicalLasso) = "graphical-lasso",
    /// A decision tree.
    Tree(Tree) = "tree",
    /// A random forest.
    Forest(Forest) = "forest",
    /// A forest with random thresholds.
    ExtraTrees(ExtraTrees) = "extra-trees",
    /// Gradient boosting.
    Boosting(Boosting) = "boosting",
    /// Nearest neighbours.
    Neighbours(Neighbours) = "neighbours",
    /// Kernel ridge regression.
    KernelRidge(KernelRidge) = "kernel-ridge",
    /// A kernel smoother (Nadaraya–Watson).
    Smoother(Smoother) = "smoother",
    /// A neural network: multi-layer perceptron.
    Perceptron(Perceptron) = "perceptron",
    /// The mean.
    Constant(Mean) = "constant",
}

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
