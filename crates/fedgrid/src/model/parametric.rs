//! Models whose hypotheses are vectors of weights: what methods need that exchange weights,
//! gradients or answers to probes.
//!
//! ```text
//! L(w) = Σ_r weight_r L(y_r, h_w(x_r)) + penalty(w)      prox(v, τ) = argmin_w L(w) + ‖w − v‖² / 2τ
//! ```

use std::sync::Arc;

use super::{Hypothesis, LinearOutputs, LocalModel};
use crate::{
    algebra::add_outer,
    data::{Dataset, Task},
    error::Result,
};

/// What is known about the shape of a loss as a function of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LossShape {
    /// Whether it is convex; only then a minimum can be certified.
    pub convex: bool,
    /// Whether it has a gradient everywhere.
    pub smooth: bool,
    /// The ridge on all weights but the intercepts: the loss curves at least by twice this.
    pub ridge: f64,
}

/// The steps τ > 0 of a proximal step. Intercepts that nothing is coupled to may take long ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Of all weights but the intercepts.
    pub slopes: f64,
    /// Of the intercepts.
    pub intercepts: f64,
}

impl Steps {
    /// The same step for all.
    #[must_use]
    pub fn all(step: f64) -> Self {
        Self { slopes: step, intercepts: step }
    }
}

/// A second derivative `diag(d) + Σ_k r_k r_kᵀ` of a convex loss: few rows of many weights make few lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondDerivative {
    /// d.
    pub diagonal: Vec<f64>,
    /// The lines `r_k`, one after the other.
    pub lines: Vec<f64>,
}

impl SecondDerivative {
    /// As rows of a symmetric matrix.
    #[must_use]
    pub fn matrix(&self) -> Vec<f64> {
        let size = self.diagonal.len();
        let mut matrix = vec![0.0; size * size];
        self.diagonal.iter().enumerate().for_each(|(k, d)| matrix[k * (size + 1)] = *d);
        self.lines.chunks_exact(size.max(1)).for_each(|line| add_outer(&mut matrix, 1.0, line));
        matrix
    }
}

/// A model of weights. Where it has an intercept, that is the last weight of each output.
pub trait Parametric: LocalModel {
    /// How many weights a hypothesis has for so many feature columns.
    fn size(&self, columns: usize, task: Task) -> usize;

    /// The loss `L(w)`, the model's own penalty included.
    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64;

    /// The gradient of the loss, or a subgradient where it has a kink.
    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64>;

    /// The second derivative, zero across a kink of the slope; none where the model does not tell it, whatever the rows.
    fn hessian(&self, _data: &Dataset, _weights: &[f64]) -> Option<SecondDerivative> {
        None
    }

    /// The model as one of linear outputs with a smooth loss, if it is: then networks of it are solved by Newton's
    /// method.
    fn as_linear_outputs(&self) -> Option<&dyn LinearOutputs> {
        None
    }

    /// A subgradient that is near a wanted one, and its excess: `L(v) ≥ L(w) + gᵀ(v − w) − excess`
    /// for all v. Where the loss is smooth it is the gradient, and the excess is zero.
    fn subgradient(&self, data: &Dataset, weights: &[f64], _wanted: &[f64]) -> (Vec<f64>, f64) {
        (self.gradient(data, weights), 0.0)
    }

    /// The proximal step `argmin L(w) + ‖w − centre‖² / 2τ` with τ = `step` > 0.
    fn proximal(&self, data: &Dataset, centre: &[f64], step: f64) -> Result<Vec<f64>> {
        self.proximal_by(data, centre, Steps::all(step))
    }

    /// The proximal step with a step of its own for the intercepts. A model that cannot tell them apart
    /// takes that of the slopes for all.
    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>>;

    /// The shape of the loss; by default nothing is known.
    fn shape(&self) -> LossShape {
        LossShape::default()
    }

    /// A value that the loss never falls below.
    fn least_loss(&self, _data: &Dataset) -> f64 {
        0.0
    }

    /// A radius around zero that contains all weights of at most this loss, if there is one.
    fn radius(&self, _data: &Dataset, _bound: f64) -> Option<f64> {
        None
    }

    /// The hypothesis of given weights.
    fn hypothesis(&self, names: &Arc<[String]>, task: Task, weights: &[f64])
    -> Box<dyn Hypothesis>;

    /// The weights of a hypothesis of this model; none if it is of another.
    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>>;

    /// Weights from which to begin, the same at every node: zero unless the loss cannot be left from
    /// there.
    fn start(&self, columns: usize, task: Task) -> Vec<f64> {
        vec![0.0; self.size(columns, task)]
    }

    /// The indices of the intercepts among the weights; none for models without.
    fn intercepts(&self, _columns: usize, _task: Task) -> Vec<usize> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        model::{ElasticNet, Huber, Logistic, Poisson},
    };

    #[test]
    fn a_long_step_of_the_intercept_minimises_over_it_and_leaves_the_slopes_their_own() {
        let features = Features::from_rows(&["a"], &[[-1.0], [0.5], [2.0], [0.1]]).unwrap();
        let numbers = Labels::values(vec![0.0, 2.0, 1.0, 1.0]);
        let numbers = Dataset::new(features.clone(), numbers).unwrap();
        let classes = Labels::classes(2, &[0, 1, 0, 1]).unwrap();
        let classes = Dataset::new(features, classes).unwrap();
        let cases: [(Box<dyn Parametric>, &Dataset); 4] = [
            (Box::new(ElasticNet { ridge: 0.1, lasso: 1e-3, intercept: true }), &numbers),
            (Box::new(Huber { threshold: 0.5, ridge: 0.1, intercept: true }), &numbers),
            (Box::new(Poisson { ridge: 0.1, intercept: true }), &numbers),
            (Box::new(Logistic { ridge: 0.1, lasso: 0.0, intercept: true }), &classes),
        ];
        for (model, data) in cases {
            let (centre, steps) = ([0.6, 3.0], Steps { slopes: 0.7, intercepts: 1e7 });
            let w = model.proximal_by(data, &centre, steps).unwrap();
            let gradient = model.gradient(data, &w);
            assert!((gradient[0] - (centre[0] - w[0]) / 0.7).abs() < 1e-6, "{model:?}");
            assert!(gradient[1].abs() < 1e-6, "{model:?}: {gradient:?}");
        }
    }
}
