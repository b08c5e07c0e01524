//! Models whose loss is one of linear outputs, row by row,
//!
//! ```text
//! L(W) = Σ_r weight_r ℓ(y_r, η_r) + ridge ‖slopes‖²,      η_r = W x_r
//! ```
//!
//! with second derivatives of ℓ by η: networks of them are solved by Newton's method (`optimum/smooth`).

use super::Parametric;
use crate::data::Task;

/// How labels and predictions enter the gradient of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// `∂ℓ/∂η = prediction − label`: both enter in the same way, with opposite signs.
    Canonical,
    /// Predictions are the outputs themselves, linear in the weights.
    Identity,
}

/// Which second derivatives are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curvature {
    /// Those of the loss.
    Exact,
    /// Those of a parabola that touches the loss and is nowhere below it, where the loss itself may be straight.
    Above,
}

/// A model of linear outputs whose loss curves everywhere. Its weights are, output by output, the slopes and
/// then the intercept, where there is one.
pub trait LinearOutputs: Parametric {
    /// How labels and predictions enter the gradient.
    fn link(&self) -> Link;

    /// How many linear outputs there are.
    fn outputs(&self, task: Task) -> usize;

    /// Whether each output has an intercept.
    fn has_intercept(&self) -> bool;

    /// The pull of the slopes to zero.
    fn ridge(&self) -> f64;

    /// The loss of a row.
    fn row_value(&self, label: &[f64], outputs: &[f64]) -> f64;

    /// Its first derivatives by the outputs, and the second ones as the lower triangle row by row.
    fn derivatives(
        &self,
        label: &[f64],
        outputs: &[f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
        kind: Curvature,
    );

    /// Whether adding the same to all outputs of a row changes no prediction.
    fn has_common_shift(&self, _task: Task) -> bool {
        false
    }
}
