//! Linear least squares with an optional ridge, solved exactly for any number of rows,
//!
//! ```text
//! (w, b) = argmin  Σ_r weight_r (y_r − wᵀx_r − b)² + ridge ‖w‖²
//! ```
//!
//! The intercept b is never penalised. With ridge = 0 the slopes are the limit ridge → 0: the
//! shortest of all minimisers, which is unique even with fewer rows than features.

mod factored_rows;
mod linear_proximal;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::factored_rows::{FactoredRows, fitted_once};
pub use self::linear_proximal::LinearProximal;
pub(crate) use self::linear_proximal::RowSpan;
use super::{
    Hypothesis, LocalModel, Parametric, Prepared, Rescaling, Steps, Storable, Stored, Tunable,
    Vanishing, check,
    solver::{Affine, AffineModel},
};
use crate::{
    algebra::{add_scaled, dot},
    data::{Dataset, Features, Labels, Task},
    error::{Result, at_least_zero, same_size},
};

/// A linear regression model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Linear {
    /// The pull ≥ 0 of the slopes to zero; zero is plain least squares.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// Whether a constant is added to the prediction.
    pub intercept: bool,
}

impl Default for Linear {
    fn default() -> Self {
        Self { ridge: 0.0, intercept: true }
    }
}

impl LocalModel for Linear {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.fitted(data)?))
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        at_least_zero("ridge", self.ridge)?;
        same_size("row weights", weights.len(), rows.rows())?;
        Ok(Some(Box::new(FactoredRows::new(self, rows, weights)?)))
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

    fn with_centre(&self, centre: &dyn Hypothesis) -> Option<Box<dyn LocalModel>> {
        let centre = centre.downcast_ref::<LinearHypothesis>()?.clone();
        Some(Box::new(CentredLinear { model: self.clone(), centre }))
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        Some(self)
    }

    fn as_linear(&self) -> Option<&Self> {
        Some(self)
    }

    fn is_plain_regression(&self) -> bool {
        self.intercept
    }
}

impl Tunable for Linear {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl AffineModel for Linear {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: 0.0, intercept: self.intercept }
    }

    fn row_loss(&self, label: f64, output: f64) -> f64 {
        (output - label).powi(2)
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        2.0 * (output - label)
    }

    // Methods solve linear models apart, and none asks for steps of their intercepts alone.
    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        LinearProximal::new(self, data)?.step(centre, steps.slopes)
    }

    // Certificates know the whole parabola of a linear model and need no bound from its rows.
    fn radius_of(&self, _data: &Dataset, _bound: f64) -> Option<f64> {
        None
    }
}

impl Linear {
    fn fitted(&self, data: &Dataset) -> Result<LinearHypothesis> {
        at_least_zero("ridge", self.ridge)?;
        check::weight("a linear model", data.total_weight())?;
        check::numbers("a linear model", data.task())?;
        let numbers = (data.weights(), data.labels().as_slice());
        if let Some((slopes, intercept)) = fitted_once(self, data.features(), numbers) {
            let names = data.features().names().clone();
            return Ok(LinearHypothesis { names, slopes, intercept });
        }
        FactoredRows::new(self, data.features(), data.weights())?.hypothesis(data.labels())
    }
}

/// A linear model whose ridge pulls to given slopes: it fits what those leave over.
#[derive(Debug)]
struct CentredLinear {
    model: Linear,
    centre: LinearHypothesis,
}

impl LocalModel for CentredLinear {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        let known = self.centre.predict(data.features());
        let left = data.labels().as_slice().iter().zip(known.as_slice()).map(|(y, p)| y - p);
        let labels = Labels::values(left.collect());
        let rest = Dataset::weighted(data.features().clone(), labels, data.weights().to_vec())?;
        let mut sum = self.model.fitted(&rest)?;
        add_scaled(&mut sum.slopes, 1.0, &self.centre.slopes);
        sum.intercept += self.centre.intercept;
        Ok(Box::new(sum))
    }

    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        self.model.vanishing_rows(own)
    }
}

/// A learnt linear map: `wᵀx + b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// The slopes w.
    pub slopes: Vec<f64>,
    /// The intercept b, zero for models without one.
    pub intercept: f64,
}

impl Hypothesis for LinearHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        Labels::values(features.iter().map(|x| dot(&self.slopes, x) + self.intercept).collect())
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }

    fn coefficients(&self) -> Option<Vec<Vec<f64>>> {
        Some(vec![self.slopes.iter().copied().chain([self.intercept]).collect()])
    }
}

impl Storable for LinearHypothesis {
    const KIND: &'static str = "linear";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), Task::Regression)
    }

    /// Refuses slopes of another number than there are features, and such without a value.
    fn check(&self) -> Result<()> {
        same_size("slopes of a linear model", self.slopes.len(), self.names.len())?;
        check::finite("a slope of a linear model", &self.slopes)?;
        check::finite("the intercept of a linear model", &[self.intercept])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Task,
        random::{Purpose, Stream},
        testing,
    };

    fn data(xs: &[[f64; 2]], ys: &[f64]) -> Dataset {
        let features = Features::from_rows(&["a", "b"], xs).unwrap();
        Dataset::weighted(features, Labels::values(ys.to_vec()), vec![1.0; ys.len()]).unwrap()
    }

    fn fit(model: &Linear, data: &Dataset) -> (Vec<f64>, f64) {
        let factored = FactoredRows::new(model, data.features(), data.weights()).unwrap();
        factored.solve(data.labels().as_slice())
    }

    #[test]
    fn a_fit_that_is_used_once_is_that_of_singular_values() {
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        for rows in [1, 2, 3, 9] {
            let xs: Vec<[f64; 2]> =
                (0..rows).map(|_| [1e3 + stream.normal(), 0.1 * stream.normal()]).collect();
            let data = data(&xs, &xs.iter().map(|x| x[0] - x[1]).collect::<Vec<_>>());
            for (ridge, intercept) in [(0.0, true), (1e-3, true), (0.3, true), (1e2, false)] {
                let model = Linear { ridge, intercept };
                let once = model.fitted(&data).unwrap();
                let (slopes, level) = fit(&model, &data);
                for (a, b) in
                    once.slopes.iter().chain([&once.intercept]).zip(slopes.iter().chain([&level]))
                {
                    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{rows} {ridge}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn linear_keeps_the_laws_of_local_and_parametric_models() {
        for (ridge, intercept) in [(0.0, true), (0.0, false), (0.3, true), (0.3, false)] {
            testing::check_local_model(&Linear { ridge, intercept }, Task::Regression);
            testing::check_parametric(&Linear { ridge, intercept }, Task::Regression);
        }
    }

    #[test]
    fn ridge_solution_has_zero_gradient() {
        let data = data(&[[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [-1.0, 1.0]], &[1.0, 2.0, 0.0, 4.0]);
        let ridge = 0.7;
        let (w, b) = fit(&Linear { ridge, intercept: true }, &data);
        let mut gradient = [ridge * w[0], ridge * w[1], 0.0];
        for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
            let residual = dot(&w, x) + b - y;
            add_scaled(&mut gradient[..2], residual, x);
            gradient[2] += residual;
        }
        assert!(gradient.iter().all(|g| g.abs() < 1e-12), "{gradient:?}");
    }

    #[test]
    fn a_strong_ridge_ends_at_its_centre() {
        let data = data(&[[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]], &[1.0, 2.0, 0.0]);
        let names: Arc<[String]> = data.features().names().clone();
        let centre = LinearHypothesis { names, slopes: vec![3.0, -2.0], intercept: 1.0 };
        let model = Linear { ridge: 1e12, intercept: true }.with_centre(&centre).unwrap();
        let fitted =
            model.fit(&data).unwrap().downcast_ref::<LinearHypothesis>().expect("linear").clone();
        assert!((fitted.slopes[0] - 3.0).abs() < 1e-9 && (fitted.slopes[1] + 2.0).abs() < 1e-9);
    }

    #[test]
    fn one_row_is_met_by_its_own_label_and_no_slope() {
        let (w, b) = fit(&Linear::default(), &data(&[[1.0, 2.0]], &[5.0]));
        assert_eq!((w, b), (vec![0.0, 0.0], 5.0));
    }

    #[test]
    fn fewer_rows_than_features_give_the_shortest_slopes() {
        let model = Linear { ridge: 0.0, intercept: false };
        let (w, _) = fit(&model, &data(&[[3.0, 4.0]], &[10.0]));
        assert!((w[0] - 1.2).abs() < 1e-14 && (w[1] - 1.6).abs() < 1e-14, "{w:?}");
    }

    #[test]
    fn a_constant_feature_gets_no_slope() {
        let (w, b) = fit(&Linear::default(), &data(&[[1.0, 7.0], [2.0, 7.0]], &[1.0, 3.0]));
        assert!((w[0] - 2.0).abs() < 1e-12 && w[1] == 0.0 && (b + 1.0).abs() < 1e-12);
    }

    #[test]
    fn rounding_of_the_mean_gives_constant_features_no_slope() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        for rows in 2..200 {
            let x = [stream.normal(), stream.normal()];
            let features = Features::from_rows(&["a", "b"], &vec![x; rows]).unwrap();
            let labels = Labels::values((0..rows).map(|_| stream.normal()).collect());
            let weights = (0..rows).map(|_| stream.uniform()).collect();
            let data = Dataset::weighted(features, labels, weights).unwrap();
            assert_eq!(fit(&Linear::default(), &data).0, [0.0, 0.0]);
        }
    }
}
