//! Models of one linear output as models of weights: each says what its rows cost, and all of
//! [`Parametric`] follows from
//!
//! ```text
//! L(w, b) = Σ_r weight_r loss(y_r, wᵀx_r + b) + ridge ‖w‖² + lasso ‖w‖₁
//! ```

use std::sync::Arc;

use super::{affine::Affine, level_set::RowShape};
use crate::{
    data::{Dataset, Task},
    error::Result,
    model::{
        Curvature, Hypothesis, LinearHypothesis, LinearOutputs, Link, LocalModel, LossShape,
        Parametric, SecondDerivative, Steps,
    },
};

/// What one model of a linear output has that others have not. Its loss is convex.
pub(crate) trait AffineModel: LocalModel {
    /// The penalty, and whether there is an intercept.
    fn affine(&self) -> Affine;

    /// The loss of a label and an output.
    fn row_loss(&self, label: f64, output: f64) -> f64;

    /// Its derivative by the output; any slope will do at a kink.
    fn row_slope(&self, label: f64, output: f64) -> f64;

    /// Its second derivative by the output, zero across a kink of the slope; for all labels and
    /// outputs, or for none.
    fn row_curvature(&self, _label: f64, _output: f64) -> Option<f64> {
        None
    }

    /// The curvature of a parabola that touches the loss there and is nowhere below it, where the loss may be straight;
    /// else its own.
    fn row_parabola(&self, label: f64, output: f64) -> f64 {
        self.row_curvature(label, output).unwrap_or(0.0)
    }

    /// How labels and predictions enter the gradient of a loss with second derivatives; none if it has none
    /// everywhere.
    fn link(&self) -> Option<Link> {
        None
    }

    /// The least loss of a label, whatever the output is.
    fn least_row_loss(&self, _label: f64) -> f64 {
        0.0
    }

    /// An output near where the loss of a label is least.
    fn best_output(&self, label: f64) -> f64 {
        label
    }

    /// Whether the whole loss has a gradient everywhere.
    fn is_smooth(&self) -> bool {
        true
    }

    /// [`Parametric::subgradient`]
    fn subgradient_near(&self, data: &Dataset, w: &[f64], _wanted: &[f64]) -> (Vec<f64>, f64) {
        let slope = |label, output| self.row_slope(label, output);
        (self.affine().gradient(data, w, slope), 0.0)
    }

    /// [`Parametric::proximal_by`]
    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>>;

    /// [`Parametric::radius`]
    fn radius_of(&self, data: &Dataset, bound: f64) -> Option<f64> {
        let shape = RowShape {
            loss: |label, output| self.row_loss(label, output),
            least: |label| self.least_row_loss(label),
            inside: |label| self.best_output(label),
        };
        self.affine().radius(data, bound, &shape)
    }

    /// The hypothesis of a linear map to outputs.
    fn hypothesis_of(&self, outputs: LinearHypothesis) -> Box<dyn Hypothesis> {
        Box::new(outputs)
    }

    /// The linear map to outputs of a hypothesis of this model; none if it is of another.
    fn outputs_of<'a>(&self, hypothesis: &'a dyn Hypothesis) -> Option<&'a LinearHypothesis> {
        hypothesis.downcast_ref()
    }
}

impl<M: AffineModel> Parametric for M {
    fn size(&self, columns: usize, _task: Task) -> usize {
        self.affine().size(columns)
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        self.affine().loss(data, weights, |label, output| self.row_loss(label, output))
    }

    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        self.affine().gradient(data, weights, |label, output| self.row_slope(label, output))
    }

    fn hessian(&self, data: &Dataset, weights: &[f64]) -> Option<SecondDerivative> {
        // Whether there is one must not depend on the rows: a node may have none.
        self.row_curvature(0.0, 0.0)?;
        let curvature = |label, output| self.row_curvature(label, output).unwrap_or(0.0);
        Some(self.affine().hessian(data, weights, curvature))
    }

    fn as_linear_outputs(&self) -> Option<&dyn LinearOutputs> {
        self.link()?;
        Some(self)
    }

    fn subgradient(&self, data: &Dataset, weights: &[f64], wanted: &[f64]) -> (Vec<f64>, f64) {
        self.subgradient_near(data, weights, wanted)
    }

    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.proximal_step(data, centre, steps)
    }

    fn shape(&self) -> LossShape {
        LossShape { convex: true, smooth: self.is_smooth(), ridge: self.affine().ridge }
    }

    fn least_loss(&self, data: &Dataset) -> f64 {
        Affine::least_loss(data, |label| self.least_row_loss(label))
    }

    fn radius(&self, data: &Dataset, bound: f64) -> Option<f64> {
        self.radius_of(data, bound)
    }

    fn hypothesis(&self, names: &Arc<[String]>, _: Task, weights: &[f64]) -> Box<dyn Hypothesis> {
        self.hypothesis_of(Affine::hypothesis(names, weights))
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        Some(self.affine().weights(self.outputs_of(hypothesis)?))
    }

    fn intercepts(&self, columns: usize, _task: Task) -> Vec<usize> {
        self.affine().intercepts(columns, 1)
    }
}

impl<M: AffineModel> LinearOutputs for M {
    fn link(&self) -> Link {
        AffineModel::link(self).expect("only models with a link are asked")
    }

    fn outputs(&self, _task: Task) -> usize {
        1
    }

    fn has_intercept(&self) -> bool {
        self.affine().intercept
    }

    fn ridge(&self) -> f64 {
        self.affine().ridge
    }

    fn row_value(&self, label: &[f64], outputs: &[f64]) -> f64 {
        self.row_loss(label[0], outputs[0])
    }

    fn derivatives(
        &self,
        label: &[f64],
        outputs: &[f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
        kind: Curvature,
    ) {
        let (label, output) = (label[0], outputs[0]);
        slopes[0] = self.row_slope(label, output);
        curvatures[0] = match kind {
            Curvature::Exact => self.row_curvature(label, output).unwrap_or(0.0),
            Curvature::Above => self.row_parabola(label, output),
        };
    }
}
