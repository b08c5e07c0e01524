//! What models of one linear output share,
//!
//! ```text
//! η = wᵀx + b,      L(w, b) = Σ_r weight_r loss(y_r, η_r) + ridge ‖w‖² + lasso ‖w‖₁
//! ```
//!
//! with the weights in the order w, then b where there is one.

use std::sync::Arc;

use crate::{
    algebra::{add_scaled, dot},
    data::{Dataset, Features},
    error::{Result, same_size},
    model::{LinearHypothesis, SecondDerivative, Steps, check},
};

/// The shape and the penalty of a linear output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Affine {
    pub(crate) ridge: f64,
    pub(crate) lasso: f64,
    pub(crate) intercept: bool,
}

/// Quadratic pulls `½ strength_j (z_j − centre_j)²` on every weight.
#[derive(Debug, Clone)]
pub(crate) struct QuadraticPulls {
    pub(crate) strengths: Vec<f64>,
    pub(crate) centres: Vec<f64>,
}

impl Affine {
    /// How many weights there are for so many feature columns.
    pub(crate) fn size(self, columns: usize) -> usize {
        columns + usize::from(self.intercept)
    }

    /// The indices of the intercepts of so many outputs: the last weight of each.
    pub(crate) fn intercepts(self, columns: usize, outputs: usize) -> Vec<usize> {
        let own = if self.intercept { outputs } else { 0 };
        (0..own).map(|output| output * (columns + 1) + columns).collect()
    }

    /// Rows of features, each followed by a one where there is an intercept.
    pub(crate) fn rows(self, features: &Features) -> Vec<f64> {
        let mut rows = Vec::with_capacity(features.rows() * self.size(features.columns()));
        for x in features.iter() {
            rows.extend_from_slice(x);
            rows.extend(self.intercept.then_some(1.0));
        }
        rows
    }

    fn output(x: &[f64], weights: &[f64]) -> f64 {
        dot(x, weights) + weights.get(x.len()).copied().unwrap_or(0.0)
    }

    /// The loss L for a loss of label and output.
    pub(crate) fn loss(
        self,
        data: &Dataset,
        weights: &[f64],
        row_loss: impl Fn(f64, f64) -> f64,
    ) -> f64 {
        let labels = data.labels().as_slice();
        let mut loss = self.penalty(&weights[..data.features().columns()]);
        for ((x, y), weight) in data.features().iter().zip(labels).zip(data.weights()) {
            // The loss of a row without weight may be infinite, and zero times that is not a
            // number.
            if *weight > 0.0 {
                loss += weight * row_loss(*y, Self::output(x, weights));
            }
        }
        loss
    }

    /// The gradient of L for the derivative of a loss by the output; zero is the slope of |w| at
    /// its kink.
    pub(crate) fn gradient(
        self,
        data: &Dataset,
        weights: &[f64],
        row_slope: impl Fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        let columns = data.features().columns();
        let mut gradient = self.penalty_gradient(&weights[..columns]);
        gradient.resize(weights.len(), 0.0);
        let labels = data.labels().as_slice();
        for ((x, y), weight) in data.features().iter().zip(labels).zip(data.weights()) {
            if *weight > 0.0 {
                let slope = weight * row_slope(*y, Self::output(x, weights));
                add_scaled(&mut gradient[..columns], slope, x);
                if let Some(last) = gradient.get_mut(columns) {
                    *last += slope;
                }
            }
        }
        gradient
    }

    /// The second derivative of L without its lasso, for that of a loss by the output.
    pub(crate) fn hessian(
        self,
        data: &Dataset,
        weights: &[f64],
        row_curvature: impl Fn(f64, f64) -> f64,
    ) -> SecondDerivative {
        let (columns, size) = (data.features().columns(), weights.len());
        let mut diagonal = vec![2.0 * self.ridge; columns];
        diagonal.resize(size, 0.0);
        let rows = self.rows(data.features());
        let labels = data.labels().as_slice().iter().zip(data.weights());
        let mut lines = Vec::new();
        for (x, (y, weight)) in rows.chunks_exact(size.max(1)).zip(labels) {
            let curvature = if *weight > 0.0 { row_curvature(*y, dot(x, weights)) } else { 0.0 };
            // Where a loss is straight, a row adds nothing.
            if curvature > 0.0 {
                let root = (weight * curvature).sqrt();
                lines.extend(x.iter().map(|x| root * x));
            }
        }
        SecondDerivative { diagonal, lines }
    }

    /// `ridge ‖w‖² + lasso ‖w‖₁`
    pub(crate) fn penalty(self, slopes: &[f64]) -> f64 {
        slopes.iter().map(|w| self.ridge * w * w + self.lasso * w.abs()).sum()
    }

    /// The derivative of the penalty, with zero at the kink.
    pub(crate) fn penalty_gradient(self, slopes: &[f64]) -> Vec<f64> {
        // The signum of zero is one. At the kink every slope in [−lasso, lasso] is right; zero
        // favours no side.
        let sign = |w: f64| if w == 0.0 { 0.0 } else { w.signum() };
        slopes.iter().map(|w| 2.0 * self.ridge * w + self.lasso * sign(*w)).collect()
    }

    /// The ridge and the term `‖w − centre‖² / 2 step` as one pull on each weight.
    pub(crate) fn proximal_pulls(
        self,
        columns: usize,
        centre: &[f64],
        steps: Steps,
    ) -> QuadraticPulls {
        let ridge = |index: usize| if index < columns { self.ridge } else { 0.0 };
        let step = |index: usize| if index < columns { steps.slopes } else { steps.intercepts };
        let strengths = (0..centre.len()).map(|k| 2.0 * ridge(k) + 1.0 / step(k)).collect();
        // Completing the square: ridge w² + (w − v)² / 2τ is one parabola around v / (1 + 2τ
        // ridge).
        let shrunk = |(k, v): (usize, &f64)| v / (1.0 + 2.0 * step(k) * ridge(k));
        QuadraticPulls { strengths, centres: centre.iter().enumerate().map(shrunk).collect() }
    }

    /// The proximal step of a model of numbers, by what minimises its loss with pulls for given
    /// rows, labels and row weights.
    pub(crate) fn proximal(
        self,
        data: &Dataset,
        centre: &[f64],
        steps: Steps,
        minimise: impl FnOnce(&[f64], &[f64], &[f64], &QuadraticPulls) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let columns = data.features().columns();
        check_proximal(centre, self.size(columns), steps.slopes)?;
        let data = data.without_zero_weights();
        let pulls = self.proximal_pulls(columns, centre, steps);
        minimise(&self.rows(data.features()), data.labels().as_slice(), data.weights(), &pulls)
    }

    /// The lasso of every weight: none on the intercept.
    pub(crate) fn lassos(self, columns: usize) -> Vec<f64> {
        let mut lassos = vec![self.lasso; columns];
        // A level of zero is not a sparser model, only a biased one.
        lassos.extend(self.intercept.then_some(0.0));
        lassos
    }

    /// The hypothesis of given weights.
    pub(crate) fn hypothesis(names: &Arc<[String]>, weights: &[f64]) -> LinearHypothesis {
        let slopes = weights[..names.len()].to_vec();
        let intercept = weights.get(names.len()).copied().unwrap_or(0.0);
        LinearHypothesis { names: names.clone(), slopes, intercept }
    }

    /// The weights of a hypothesis.
    pub(crate) fn weights(self, hypothesis: &LinearHypothesis) -> Vec<f64> {
        let mut weights = hypothesis.slopes.clone();
        weights.extend(self.intercept.then_some(hypothesis.intercept));
        weights
    }
}

/// Refuses a proximal step of another size than the model, or that is not positive.
pub(crate) fn check_proximal(centre: &[f64], size: usize, step: f64) -> Result<()> {
    same_size("weights of the centre", centre.len(), size)?;
    check::positive("step", &[step])
}
