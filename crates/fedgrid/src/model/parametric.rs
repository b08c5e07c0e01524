//! Models whose hypotheses are vectors of weights: what methods need that exchange weights,
//! gradients or answers to probes.
//!
//! ```text
//! L(w) = Σ_r weight_r L(y_r, h_w(x_r)) + penalty(w)      prox(v, τ) = argmin_w L(w) + ‖w − v‖² / 2τ
//! ```

use std::sync::Arc;

use super::{Hypothesis, LocalModel};
use crate::{
    data::{Dataset, Task},
    error::Result,
};

/// A model of weights. Where it has an intercept, that is the last weight of each output.
pub trait Parametric: LocalModel {
    /// How many weights a hypothesis has for so many feature columns.
    fn size(&self, columns: usize, task: Task) -> usize;

    /// The loss `L(w)`, the model's own penalty included.
    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64;

    /// The gradient of the loss, or a subgradient where it has a kink.
    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64>;

    /// The proximal step `argmin L(w) + ‖w − centre‖² / 2τ` with τ = `step` > 0.
    fn proximal(&self, data: &Dataset, centre: &[f64], step: f64) -> Result<Vec<f64>>;

    /// The hypothesis of given weights.
    fn hypothesis(&self, names: &Arc<[String]>, task: Task, weights: &[f64])
    -> Box<dyn Hypothesis>;

    /// The weights of a hypothesis of this model; none if it is of another.
    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>>;
}
