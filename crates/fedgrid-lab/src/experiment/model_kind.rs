//! Which model, and the words that some of its keys take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Least squares with a ridge.
    #[default]
    Linear,
    /// Least squares with a ridge and a lasso.
    ElasticNet,
    /// Linear, with large errors counting less.
    Huber,
    /// Linear, for a quantile instead of the mean.
    Quantile,
    /// Log-linear, for counts and rates.
    Poisson,
    /// Logistic regression for classes.
    Logistic,
    /// A Gaussian model of features and target together, most pairs independent given the others.
    GraphicalLasso,
    /// A decision tree.
    Tree,
    /// A random forest.
    Forest,
    /// A forest with random thresholds.
    ExtraTrees,
    /// Gradient boosting.
    Boosting,
    /// Nearest neighbours.
    Neighbours,
    /// Kernel ridge regression.
    KernelRidge,
    /// A kernel smoother (Nadaraya–Watson).
    Smoother,
    /// A neural network: multi-layer perceptron.
    Perceptron,
    /// The mean.
    Constant,
}

impl ModelKind {
    /// Whether it can predict numbers.
    #[must_use]
    pub fn predicts_numbers(self) -> bool {
        self != Self::Logistic
    }

    /// Whether it can predict classes.
    #[must_use]
    pub fn predicts_classes(self) -> bool {
        use ModelKind::{ElasticNet, GraphicalLasso, Huber, Linear, Poisson, Quantile};
        !matches!(self, Linear | ElasticNet | Huber | Quantile | Poisson | GraphicalLasso)
    }
}

impl std::fmt::Display for ModelKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the kernels are their names")]
pub enum KernelKey {
    #[default]
    Gaussian,
    Laplace,
    Polynomial,
}

/// What a hidden unit makes of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the activations are their names")]
pub enum ActivationKey {
    #[default]
    Tanh,
    Relu,
}
