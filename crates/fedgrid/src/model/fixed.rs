//! A model whose ridge was given and is not to be chosen anew.

use super::{
    Hypothesis, HypothesisKinds, Linear, LocalModel, Parametric, Prepared, Rescaling, Vanishing,
    WarmStart,
};
use crate::{
    data::{Dataset, Features, Task},
    error::Result,
};

/// Another model, but for its ridge, which stays.
#[derive(Debug)]
pub struct Fixed<M>(pub M);

impl<M: LocalModel> LocalModel for Fixed<M> {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.0.fit(data)
    }

    fn predicts(&self, task: Task) -> bool {
        self.0.predicts(task)
    }

    fn as_warm_start(&self) -> Option<&dyn WarmStart> {
        self.0.as_warm_start()
    }

    fn with_centre(&self, centre: &dyn Hypothesis) -> Option<Box<dyn LocalModel>> {
        self.0.with_centre(centre)
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        self.0.as_parametric()
    }

    fn as_linear(&self) -> Option<&Linear> {
        self.0.as_linear()
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        self.0.prepare(rows, weights)
    }

    fn is_of_counts(&self) -> bool {
        self.0.is_of_counts()
    }

    fn is_plain_regression(&self) -> bool {
        self.0.is_plain_regression()
    }

    fn rescaling(&self) -> Rescaling {
        self.0.rescaling()
    }

    fn smallest_label(&self) -> f64 {
        self.0.smallest_label()
    }

    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        self.0.vanishing_rows(own)
    }

    fn kinds(&self) -> HypothesisKinds {
        self.0.kinds()
    }

    fn store(&self, hypothesis: &dyn Hypothesis) -> Result<Vec<u8>> {
        self.0.store(hypothesis)
    }

    fn restore(&self, bytes: &[u8]) -> Result<Box<dyn Hypothesis>> {
        self.0.restore(bytes)
    }
}
