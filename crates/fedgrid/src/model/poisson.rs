//! Poisson regression for counts and rates, with the logarithm as link,
//!
//! ```text
//! (w, b) = argmin  Σ_r weight_r (exp(η_r) − y_r η_r) + ridge ‖w‖²,      η = wᵀx + b,   ŷ = exp(η)
//! ```
//!
//! The intercept b is never penalised. Targets must be zero or more; they need not be whole. Where the
//! minimum lies at infinity (all targets zero and no ridge), predictions end near 10⁻²⁰.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LinearHypothesis, Link, LocalModel, Parametric, Rescaling, Steps, Storable, Stored,
    Tunable, Vanishing, check,
    solver::{Affine, AffineModel, Basis, PenalisedLoss, RowLoss},
};
use crate::{
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, at_least_zero, same_size},
};

const NAME: &str = "a Poisson regression";

/// Means above exp of this are predicted as that, so that they and their squares stay finite.
const LARGEST_OUTPUT: f64 = 300.0;

/// A log-linear model of counts and rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Poisson {
    /// The pull ≥ 0 of the slopes to zero; zero is maximum likelihood.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// Whether a constant is added to the logarithm of the prediction.
    pub intercept: bool,
}

impl Default for Poisson {
    fn default() -> Self {
        Self { ridge: 1e-4, intercept: true }
    }
}

/// Refuses targets below zero; rows without weight do not matter.
fn check_counts(data: &Dataset) -> Result<()> {
    let labels = data.labels().as_slice().iter().zip(data.weights());
    match labels.enumerate().find(|(_, (y, weight))| **weight > 0.0 && **y < 0.0) {
        Some((row, (y, _))) => {
            let reason = format!("the target of row {row} is {y}, expected zero or more");
            Err(Error::Fit { model: NAME, reason })
        }
        None => Ok(()),
    }
}

/// The negative logarithm of the likelihood, as far as it depends on the output.
struct Likelihood<'a>(&'a [f64]);

impl RowLoss for Likelihood<'_> {
    fn outputs(&self) -> usize {
        1
    }

    fn value(&self, row: usize, outputs: &[f64]) -> f64 {
        outputs[0].exp() - self.0[row] * outputs[0]
    }

    fn slopes(&self, row: usize, outputs: &[f64], slopes: &mut [f64]) {
        slopes[0] = outputs[0].exp() - self.0[row];
    }

    fn root(&self, _row: usize, outputs: &[f64]) -> Vec<f64> {
        vec![(0.5 * outputs[0]).exp()]
    }
}

impl LocalModel for Poisson {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn is_of_counts(&self) -> bool {
        true
    }

    fn is_plain_regression(&self) -> bool {
        self.intercept
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        at_least_zero("ridge", self.ridge)?;
        check::numbers(NAME, data.task())?;
        check::weight(NAME, data.total_weight())?;
        check_counts(data)?;
        let data = data.without_zero_weights();
        let basis = Basis::principal(&data, self.intercept);
        let penalties = basis.penalties(self.ridge, self.intercept);
        let strengths: Vec<f64> = penalties.iter().map(|ridge| 2.0 * ridge).collect();
        let mut start = vec![0.0; strengths.len()];
        let mean = data.mean_label()[0];
        // The best constant, where exponentials neither overflow nor vanish.
        if self.intercept && mean > 0.0 {
            start[basis.scales.len()] = mean.ln();
        }
        let zeros = vec![0.0; start.len()];
        let problem = PenalisedLoss {
            loss: &Likelihood(data.labels().as_slice()),
            rows: &basis.rows(&data, self.intercept),
            width: start.len(),
            weights: data.weights(),
            strengths: &strengths,
            centres: &zeros,
            lassos: &zeros,
        };
        let (slopes, intercept) = basis.affine(&problem.minimise(start)?);
        let names = data.features().names().clone();
        Ok(self.hypothesis_of(LinearHypothesis { names, slopes, intercept }))
    }

    fn smallest_label(&self) -> f64 {
        0.0
    }

    /// Without a ridge the minimum may lie at infinity, and the others choose the way there.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        if self.ridge > 0.0 { Vanishing::Forgotten } else { Vanishing::Choosing }
    }

    fn rescaling(&self) -> Rescaling {
        Rescaling::Affine { intercept: self.intercept }
    }

    fn as_tunable(&self) -> Option<&dyn Tunable> {
        Some(self)
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        Some(self)
    }
}

impl Tunable for Poisson {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl AffineModel for Poisson {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: 0.0, intercept: self.intercept }
    }

    fn row_loss(&self, label: f64, output: f64) -> f64 {
        output.exp() - label * output
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        output.exp() - label
    }

    fn row_curvature(&self, _label: f64, output: f64) -> Option<f64> {
        Some(output.exp())
    }

    fn link(&self) -> Option<Link> {
        Some(Link::Canonical)
    }

    fn least_row_loss(&self, label: f64) -> f64 {
        if label > 0.0 { label - label * label.ln() } else { 0.0 }
    }

    fn best_output(&self, label: f64) -> f64 {
        // A count of zero has its least loss at minus infinity.
        label.max(1e-6).ln()
    }

    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        at_least_zero("ridge", self.ridge)?;
        check::numbers(NAME, data.task())?;
        check_counts(data)?;
        self.affine().proximal(data, centre, steps, |rows, labels, weights, pulls| {
            let problem = PenalisedLoss {
                loss: &Likelihood(labels),
                rows,
                width: centre.len(),
                weights,
                strengths: &pulls.strengths,
                centres: &pulls.centres,
                lassos: &vec![0.0; centre.len()],
            };
            problem.minimise_near(centre)
        })
    }

    fn hypothesis_of(&self, outputs: LinearHypothesis) -> Box<dyn Hypothesis> {
        Box::new(PoissonHypothesis(outputs))
    }

    fn outputs_of<'a>(&self, hypothesis: &'a dyn Hypothesis) -> Option<&'a LinearHypothesis> {
        hypothesis.downcast_ref::<PoissonHypothesis>().map(|own| &own.0)
    }
}

/// A learnt log-linear map to means: `exp(wᵀx + b)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PoissonHypothesis(
    /// The map `wᵀx + b` to the logarithm of the mean.
    pub LinearHypothesis,
);

impl PoissonHypothesis {
    /// Means above exp of this are predicted as that.
    pub const LARGEST_OUTPUT: f64 = LARGEST_OUTPUT;
}

impl Hypothesis for PoissonHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let mut means = self.0.predict(features);
        means.as_mut_slice().iter_mut().for_each(|mean| *mean = mean.min(LARGEST_OUTPUT).exp());
        means
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }

    fn coefficients(&self) -> Option<Vec<Vec<f64>>> {
        self.0.coefficients()
    }
}

impl Storable for PoissonHypothesis {
    const KIND: &'static str = "poisson";

    fn domain(&self) -> (Option<&[String]>, Task) {
        self.0.domain()
    }

    /// Refuses slopes of another number than there are features, and such without a value.
    fn check(&self) -> Result<()> {
        let LinearHypothesis { names, slopes, intercept } = &self.0;
        same_size("slopes of a Poisson regression", slopes.len(), names.len())?;
        check::finite("a slope of a Poisson regression", slopes)?;
        check::finite("the intercept of a Poisson regression", &[*intercept])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Yardstick};

    fn line(xs: &[f64], ys: &[f64]) -> Dataset {
        let features = Features::new(["x".to_string()].into(), xs.to_vec()).unwrap();
        Dataset::new(features, Labels::values(ys.to_vec())).unwrap()
    }

    #[test]
    fn poisson_keeps_the_laws_of_local_and_parametric_models() {
        for (ridge, intercept) in [(1e-4, true), (0.0, true), (0.3, true), (0.3, false)] {
            let model = Poisson { ridge, intercept };
            let loss =
                |y: &[f64], p: &[f64]| p[0] - if y[0] > 0.0 { y[0] * p[0].ln() } else { 0.0 };
            let yardstick = Yardstick { loss: &loss, target: f64::abs };
            testing::check_local_model_by(&model, Task::Regression, &yardstick);
            testing::check_parametric_by(&model, Task::Regression, f64::abs);
        }
    }

    #[test]
    fn two_groups_have_their_own_means() {
        let data = line(&[0.0, 0.0, 1.0, 1.0], &[1.0, 3.0, 10.0, 20.0]);
        let fitted = Poisson { ridge: 0.0, intercept: true }.fit(&data).unwrap();
        let means = fitted.predict(data.features());
        assert!((means.row(0)[0] - 2.0).abs() < 1e-12 && (means.row(3)[0] - 15.0).abs() < 1e-11);
    }

    #[test]
    fn counts_that_are_all_zero_and_far_predictions_stay_finite() {
        for (ridge, intercept) in [(0.0, true), (0.0, false), (0.1, true)] {
            let zero = line(&[1.0, 2.0, 3.0], &[0.0; 3]);
            let fitted = Poisson { ridge, intercept }.fit(&zero).unwrap();
            let means = fitted.predict(zero.features());
            assert!(means.as_slice().iter().all(|mean| (0.0..1.0).contains(mean)));
            let steep = line(&[0.0, 1.0, 2.0], &[0.0, 1e3, 1e9]);
            let fitted = Poisson { ridge, intercept }.fit(&steep).unwrap();
            let far = fitted.predict(line(&[1e6, -1e6], &[0.0; 2]).features());
            assert!(far.as_slice().iter().all(|mean| (mean * mean).is_finite()));
        }
    }

    #[test]
    fn a_step_from_a_centre_whose_means_overflow_comes_back() {
        let data = line(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0]);
        let model = Poisson { ridge: 0.0, intercept: true };
        let weights = model.proximal(&data, &[1e3, 1e3], 1.0).unwrap();
        assert!(model.loss(&data, &weights).is_finite());
    }

    #[test]
    fn negative_targets_are_refused_unless_they_have_no_weight() {
        let data = line(&[1.0, 2.0, 3.0], &[1.0, -2.0, 3.0]);
        let message = Poisson::default().fit(&data).unwrap_err().to_string();
        let reason = "the target of row 1 is -2, expected zero or more";
        assert_eq!(message, format!("a Poisson regression cannot be fitted: {reason}"));
        let (features, labels) = (data.features().clone(), data.labels().clone());
        let data = Dataset::weighted(features, labels, vec![1.0, 0.0, 1.0]).unwrap();
        assert!(Poisson::default().fit(&data).is_ok());
    }
}
