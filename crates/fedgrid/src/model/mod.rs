//! What a node can learn: local models, and the hypotheses that come out of them.
//!
//! A model is one file of this folder. It minimises the weighted loss over its rows plus a penalty
//! of its own,
//!
//! ```text
//! ĥ = argmin  Σ_r weight_r L(y_r, h(x_r)) + ridge ‖slopes of h‖²      over h ∈ H
//! ```
//!
//! and is put under the laws of `testing::check_local_model` by one line.

mod blended;
mod builtin;
mod check;
mod coefficient_spread;
mod kernel;
mod linear_outputs;
mod parametric;
#[cfg(test)]
mod reference;
mod rescaled_hypothesis;
mod scales;
mod solver;
mod stored;
mod vanishing;

mod boosting;
mod constant;
mod elastic_net;
mod fixed;
mod for_table;
mod forest;
mod graphical_lasso;
mod huber;
mod kernel_ridge;
mod linear;
mod logistic;
mod neighbours;
mod perceptron;
mod poisson;
mod quantile;
mod smoother;
mod tree;

use std::{any::Any, fmt::Debug};

pub use blended::Blended;
pub use boosting::{Boosting, BoostingHypothesis};
pub use builtin::{Model, ModelKind};
pub use constant::{Constant, Mean};
pub use elastic_net::ElasticNet;
pub use fixed::Fixed;
pub use forest::{ExtraTrees, Forest, ForestHypothesis, TriedFeatures};
pub use graphical_lasso::{GraphicalLasso, GraphicalLassoHypothesis};
pub use huber::Huber;
pub use kernel::Kernel;
pub use kernel_ridge::{KernelRidge, KernelRidgeHypothesis};
pub(crate) use linear::RowSpan;
pub use linear::{Linear, LinearHypothesis, LinearProximal};
pub use linear_outputs::{Curvature, LinearOutputs, Link};
pub use logistic::{Logistic, LogisticHypothesis};
pub use neighbours::{Neighbours, NeighboursHypothesis};
pub use parametric::{LossShape, Parametric, SecondDerivative, Steps};
pub use perceptron::{Activation, Perceptron, PerceptronHypothesis};
pub use poisson::{Poisson, PoissonHypothesis};
pub use quantile::Quantile;
pub use rescaled_hypothesis::RescaledHypothesis;
pub use scales::{Rescaling, Scales};
pub use smoother::{Smoother, SmootherHypothesis};
pub use stored::{HypothesisKinds, Storable, Stored};
pub use tree::{Splits, Tree, TreeHypothesis, TreeNodes};
pub use vanishing::Vanishing;

use crate::{
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result},
};

/// A kind of model that a node trains on weighted rows: the `.fit()` that the papers ask for.
///
/// A model needs no more than `fit`. What else it can do it offers through the accessors, which are
/// `None` by default, and methods that need more than a model offers say so.
pub trait LocalModel: Debug + Send + Sync {
    /// The hypothesis of smallest weighted loss on these rows.
    ///
    /// Rows of weight zero do not matter; data without any weight are refused.
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>>;

    /// Whether it can predict what is asked for.
    fn predicts(&self, _task: Task) -> bool {
        true
    }

    /// The model as one that goes on from a hypothesis, if it can.
    fn as_warm_start(&self) -> Option<&dyn WarmStart> {
        None
    }

    /// The model as one whose ridge can be chosen, if it has one.
    fn as_tunable(&self) -> Option<&dyn Tunable> {
        None
    }

    /// A cheaper model by which strengths are told apart as well as by this one; none if it is cheap itself.
    fn for_search(&self) -> Option<Box<dyn LocalModel>> {
        None
    }

    /// Whether a fit compares every row with every other, so that its time grows with a power of their number.
    fn compares_rows(&self) -> bool {
        false
    }

    /// The same model with its ridge pulling to a hypothesis instead of to zero, or none if it
    /// cannot.
    fn with_centre(&self, _centre: &dyn Hypothesis) -> Option<Box<dyn LocalModel>> {
        None
    }

    /// The model as one of weights with a gradient, if it is.
    fn as_parametric(&self) -> Option<&dyn Parametric> {
        None
    }

    /// The model as a linear one, if it is: then networks of it have a direct solution.
    fn as_linear(&self) -> Option<&Linear> {
        None
    }

    /// Prepares repeated fits to the same rows with different labels; none if nothing can be reused.
    fn prepare(&self, _rows: &Features, _weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(None)
    }

    /// Whether labels are counts, whose logarithm is what is linear.
    fn is_of_counts(&self) -> bool {
        false
    }

    /// Whether it is a linear, logistic or Poisson regression with a constant and at most a ridge, so that a
    /// mixed model of the same rows is one of its kind.
    fn is_plain_regression(&self) -> bool {
        false
    }

    /// The smallest label that the model can be fitted to: a neighbour's prediction below it pulls
    /// as if it were this.
    fn smallest_label(&self) -> f64 {
        f64::NEG_INFINITY
    }

    /// What may be done to its rows without changing what it can learn. A model whose numbers are in units
    /// that its user has chosen, or that knows its columns by place, says nothing may.
    fn rescaling(&self) -> Rescaling {
        Rescaling::Free
    }

    /// What a fit to these rows and others becomes as the weight of the others goes to zero: what
    /// weak pulls towards neighbours do to the model. By default the others are remembered, which
    /// is safe: pulls that are next to nothing are then no pulls. A model that is
    /// [`Vanishing::Forgotten`] has moved by at most a multiple of that weight.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        Vanishing::Remembered
    }

    /// Models of one family are one model, pooled once for all their nodes. By default a model is a
    /// family by itself; one that is another value at every node names what these have in common.
    fn family(&self) -> usize {
        // Nodes with one model share one pointer.
        std::ptr::from_ref(self).cast::<()>().addr()
    }

    /// The kinds of hypotheses in files of a node with this model; one from outside of this crate adds
    /// its own.
    fn kinds(&self) -> HypothesisKinds {
        HypothesisKinds::builtin()
    }

    /// A hypothesis of a node with this model as bytes, for a checkpoint. Where no plain values stand for one, the
    /// model writes it itself.
    fn store(&self, hypothesis: &dyn Hypothesis) -> Result<Vec<u8>> {
        let text = hypothesis.save().and_then(|stored| serde_json::to_vec(&stored).ok());
        text.ok_or(Error::Malformed { what: "a hypothesis", reason: "cannot be stored" })
    }

    /// The hypothesis that `store` has written.
    fn restore(&self, bytes: &[u8]) -> Result<Box<dyn Hypothesis>> {
        let damaged = Error::Malformed { what: "a hypothesis", reason: "is damaged" };
        self.kinds().load(serde_json::from_slice(bytes).map_err(|_| damaged)?, None)
    }
}

/// The kind of a model, as messages name it.
pub(crate) fn kind_of(model: &dyn LocalModel) -> String {
    // A model derives this name, so it need not say twice what it is called.
    let text = format!("{model:?}");
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_string()
}

/// A model that can go on from a hypothesis instead of beginning anew.
pub trait WarmStart {
    /// The hypothesis of smallest weighted loss, sought from a current one.
    fn refit(&self, data: &Dataset, current: &dyn Hypothesis) -> Result<Box<dyn Hypothesis>>;
}

/// A model whose ridge can be chosen.
pub trait Tunable {
    /// The same model with another ridge.
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel>;
}

/// A model with the rows it will be fitted to: sort orders, factors and kernels are kept, because
/// over rounds only labels change.
pub trait Prepared: Debug + Send + Sync {
    /// The hypothesis that `fit` gives for these labels.
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>>;

    /// The same with its predictions for the rows that were prepared, which some models know
    /// without asking again.
    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let hypothesis = self.fit(labels)?;
        let predictions = hypothesis.predict(rows);
        Ok((hypothesis, predictions))
    }

    /// The model as one of trees that can keep their splits, if it is.
    fn as_keeping_splits(&self) -> Option<&dyn KeepsSplits> {
        None
    }
}

/// A model of trees that can keep their splits while labels change a little.
pub trait KeepsSplits {
    /// The hypothesis that `fit` gives for these labels, with its predictions for the rows that were prepared and the
    /// splits of its trees.
    fn grow(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels, Splits)>;

    /// The hypothesis with these splits and the leaves of other labels, with its predictions for the rows that were
    /// prepared.
    fn refit(
        &self,
        splits: &Splits,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)>;
}

/// What a model has learnt: a prediction for every row of features.
pub trait Hypothesis: Any + Debug + Send + Sync {
    /// One label per row: a number, or a probability for each class.
    fn predict(&self, features: &Features) -> Labels;

    /// The hypothesis as plain values for a file; none if no plain values stand for it.
    fn save(&self) -> Option<Stored> {
        None
    }

    /// The slope of every feature and then the intercept, for each linear map that predictions are made of;
    /// none if they are made otherwise. Of classes the last ones have a map each, where the first has none.
    fn coefficients(&self) -> Option<Vec<Vec<f64>>> {
        None
    }
}

impl dyn Hypothesis {
    /// The hypothesis as one of a known type, if it is.
    #[must_use]
    pub fn downcast_ref<H: Hypothesis>(&self) -> Option<&H> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
