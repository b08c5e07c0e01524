//! Linear regression that outliers cannot bend,
//!
//! ```text
//! (w, b) = argmin  Σ_r weight_r H(y_r − wᵀx_r − b) + ridge ‖w‖²
//! H(t) = t²  where |t| ≤ threshold,      threshold (2 |t| − threshold)  beyond
//! ```
//!
//! so that a large threshold gives `Linear`. The intercept b is never penalised. [Huber 1964.]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, Link, LocalModel, Parametric, Rescaling, Steps, Tunable, Vanishing, check,
    solver::{Affine, AffineModel, CentredRegression, PiecewiseQuadratic, QuadraticPulls},
};
use crate::{
    data::{Dataset, Task},
    error::{Result, at_least_zero},
};

const NAME: &str = "a Huber regression";

/// A pull relative to the total weight that chooses among several minimisers.
const TIE_BREAKING_PULL: f64 = 1e-10;

/// A linear regression model with bounded influence of every row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Huber {
    /// The residual > 0, in deviations of the target, from which on the loss grows linearly.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub threshold: f64,
    /// The pull ≥ 0 of the slopes to zero.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// Whether a constant is added to the prediction.
    pub intercept: bool,
}

impl Default for Huber {
    fn default() -> Self {
        Self { threshold: 1.35, ridge: 0.0, intercept: true }
    }
}

impl LocalModel for Huber {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.check()?;
        check::numbers(NAME, data.task())?;
        check::weight(NAME, data.total_weight())?;
        let data = data.without_zero_weights();
        let centred = CentredRegression::new(&data, self.intercept);
        let CentredRegression { basis, rows, labels, .. } = &centred;
        let choice = TIE_BREAKING_PULL * data.total_weight();
        let penalties = basis.penalties(self.ridge, self.intercept);
        let strengths: Vec<f64> = penalties.iter().map(|ridge| 2.0 * ridge + choice).collect();
        // Without the small pull a plateau of the loss has no Newton step, and many minimisers.
        let mut pulls = QuadraticPulls { centres: vec![0.0; strengths.len()], strengths };
        let mut parameters = self.minimise(rows, labels, data.weights(), &pulls)?;
        for _ in 0..2 {
            // From the chosen minimiser on, its pull is to itself: then it is one without the pull.
            let choices = parameters.iter().zip(&pulls.strengths);
            pulls.centres = choices.map(|(z, strength)| z * choice / strength).collect();
            parameters = self.minimise(rows, labels, data.weights(), &pulls)?;
        }
        Ok(Box::new(centred.hypothesis(&parameters)))
    }

    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        Vanishing::of_linear(self.ridge, self.intercept, own)
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

impl Tunable for Huber {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl AffineModel for Huber {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: 0.0, intercept: self.intercept }
    }

    /// A parabola near the label, straight lines beyond the threshold.
    fn row_loss(&self, label: f64, output: f64) -> f64 {
        let size = (output - label).abs();
        if size <= self.threshold {
            size * size
        } else {
            self.threshold * (2.0 * size - self.threshold)
        }
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        2.0 * (output - label).clamp(-self.threshold, self.threshold)
    }

    fn row_curvature(&self, label: f64, output: f64) -> Option<f64> {
        Some(if (output - label).abs() <= self.threshold { 2.0 } else { 0.0 })
    }

    /// On the straight lines the loss itself has no curvature, and steps would have no end.
    fn row_parabola(&self, label: f64, output: f64) -> f64 {
        2.0 * (self.threshold / (output - label).abs()).min(1.0)
    }

    fn link(&self) -> Option<Link> {
        Some(Link::Identity)
    }

    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.check()?;
        check::numbers(NAME, data.task())?;
        self.affine().proximal(data, centre, steps, |rows, labels, weights, pulls| {
            self.minimise(rows, labels, weights, pulls)
        })
    }
}

impl Huber {
    fn check(&self) -> Result<()> {
        at_least_zero("ridge", self.ridge)?;
        check::positive("threshold", &[self.threshold])
    }

    fn minimise(
        &self,
        rows: &[f64],
        labels: &[f64],
        weights: &[f64],
        pulls: &QuadraticPulls,
    ) -> Result<Vec<f64>> {
        let (low, high) = (-2.0 * self.threshold, 2.0 * self.threshold);
        let problem = PiecewiseQuadratic { rows, labels, weights, pulls, slope: 2.0, low, high };
        problem.minimise(&vec![0.0; labels.len()], pulls.centres.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels, Task},
        model::{Linear, LinearHypothesis},
        testing::{self, Yardstick},
    };

    fn line(ys: &[f64]) -> Dataset {
        let xs = (0..ys.len()).map(|x| x as f64).collect();
        let features = Features::new(["x".to_string()].into(), xs).unwrap();
        Dataset::weighted(features, Labels::values(ys.to_vec()), vec![1.0; ys.len()]).unwrap()
    }

    fn fit(model: &dyn LocalModel, data: &Dataset) -> LinearHypothesis {
        model.fit(data).unwrap().downcast_ref::<LinearHypothesis>().expect("linear").clone()
    }

    #[test]
    fn huber_keeps_the_laws_of_local_and_parametric_models() {
        for (threshold, ridge, intercept) in
            [(1.35, 0.0, true), (0.5, 0.3, true), (1.0, 0.2, false), (1e3, 0.0, true)]
        {
            let model = Huber { threshold, ridge, intercept };
            let loss = |y: &[f64], p: &[f64]| {
                let size = (y[0] - p[0]).abs();
                if size <= threshold { size * size } else { threshold * (2.0 * size - threshold) }
            };
            let yardstick = Yardstick { loss: &loss, target: std::convert::identity };
            testing::check_local_model_by(&model, Task::Regression, &yardstick);
            testing::check_parametric(&model, Task::Regression);
        }
    }

    #[test]
    fn an_outlier_moves_the_fit_no_further_than_its_threshold() {
        let model = Huber { threshold: 0.1, ..Huber::default() };
        let far = fit(&model, &line(&[0.0, 1.0, 2.0, 3.0, 4.0, 50.0]));
        let further = fit(&model, &line(&[0.0, 1.0, 2.0, 3.0, 4.0, 5e6]));
        assert!((far.slopes[0] - further.slopes[0]).abs() < 1e-9);
        assert!((far.slopes[0] - 1.0).abs() < 0.1, "{far:?}");
    }

    #[test]
    fn a_large_threshold_gives_the_linear_model() {
        let data = line(&[1.0, -2.0, 0.5, 7.0, 3.0]);
        for ridge in [0.0, 0.4] {
            let model = Huber { threshold: 1e3, ridge, intercept: true };
            let (robust, linear) =
                (fit(&model, &data), fit(&Linear { ridge, intercept: true }, &data));
            assert!((robust.slopes[0] - linear.slopes[0]).abs() < 1e-12);
            assert!((robust.intercept - linear.intercept).abs() < 1e-12);
        }
    }

    #[test]
    fn a_threshold_that_is_not_positive_is_refused() {
        for threshold in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let model = Huber { threshold, ..Huber::default() };
            assert!(model.fit(&line(&[1.0, 2.0])).is_err());
            assert!(model.proximal(&line(&[1.0, 2.0]), &[0.0, 0.0], 1.0).is_err());
        }
    }
}
