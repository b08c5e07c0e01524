//! Linear least squares with a ridge and a lasso,
//!
//! ```text
//! (w, b) = argmin  Σ_r weight_r (y_r − wᵀx_r − b)² + ridge ‖w‖² + lasso ‖w‖₁
//! ```
//!
//! by coordinate descent. The intercept b is never penalised. Without lasso it is `Linear`; without
//! ridge it is the lasso, whose slopes are one of the minimisers where there are several.
//! [Zou & Hastie 2005; Tibshirani 1996.]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, Linear, LinearHypothesis, LinearProximal, LocalModel, Parametric, Rescaling, Steps,
    Tunable, Vanishing, check,
    solver::{Affine, AffineModel, CoordinateDescent, QuadraticPulls, Separable, centre},
};
use crate::{
    algebra::{dot, scale, triangularise},
    data::{Dataset, Task},
    error::{Result, at_least_zero},
};

const NAME: &str = "an elastic net";

/// A linear regression model that leaves features out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ElasticNet {
    /// The pull ≥ 0 of the slopes to zero by their squares; zero is the lasso.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// The pull ≥ 0 of the slopes to zero by their sizes, which makes some exactly zero; zero is
    /// plain ridge regression.
    #[schemars(range(min = 0))]
    pub lasso: f64,
    /// Whether a constant is added to the prediction.
    pub intercept: bool,
}

impl Default for ElasticNet {
    fn default() -> Self {
        Self { ridge: 0.0, lasso: 1e-2, intercept: true }
    }
}

impl ElasticNet {
    fn check(&self) -> Result<()> {
        at_least_zero("ridge", self.ridge)?;
        at_least_zero("lasso", self.lasso)
    }

    /// The same model without its lasso.
    fn linear(&self) -> Linear {
        Linear { ridge: self.ridge, intercept: self.intercept }
    }
}

impl LocalModel for ElasticNet {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.check()?;
        // Without absolute values one factorisation gives the exact solution.
        if self.lasso == 0.0 {
            return self.linear().fit(data);
        }
        check::numbers(NAME, data.task())?;
        check::weight(NAME, data.total_weight())?;
        let columns = data.features().columns();
        let centre = centre(data.features(), data.weights(), self.intercept);
        let label = if self.intercept { data.mean_label()[0] } else { 0.0 };
        let (mut rows, mut residual) = (Vec::new(), Vec::new());
        let data = data.without_zero_weights();
        let labels = data.labels().as_slice().iter();
        for ((x, y), weight) in data.features().iter().zip(labels).zip(data.weights()) {
            // Coordinate descent minimises half of a square.
            let root = (2.0 * weight).sqrt();
            rows.extend(x.iter().zip(&centre).map(|(x, c)| root * (x - c)));
            residual.push(root * (label - y));
        }
        let pulls = QuadraticPulls {
            strengths: vec![2.0 * self.ridge; columns],
            centres: vec![0.0; columns],
        };
        let slopes = descend(rows, residual, &pulls, &vec![self.lasso; columns])?;
        let intercept = label - dot(&slopes, &centre);
        let names = data.features().names().clone();
        Ok(Box::new(LinearHypothesis { names, slopes, intercept }))
    }

    /// A lasso keeps slopes at zero that a weak pull would move.
    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        Vanishing::of_linear(self.ridge + self.lasso, self.intercept, own)
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

impl Tunable for ElasticNet {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl AffineModel for ElasticNet {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: self.lasso, intercept: self.intercept }
    }

    fn row_loss(&self, label: f64, output: f64) -> f64 {
        (output - label).powi(2)
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        2.0 * (output - label)
    }

    fn is_smooth(&self) -> bool {
        self.lasso == 0.0
    }

    fn subgradient_near(&self, data: &Dataset, w: &[f64], wanted: &[f64]) -> (Vec<f64>, f64) {
        let mut gradient = self.gradient(data, w);
        self.affine().nearest_lasso(&w[..data.features().columns()], &mut gradient, wanted);
        (gradient, 0.0)
    }

    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.check()?;
        if self.lasso == 0.0 && steps == Steps::all(steps.slopes) {
            return LinearProximal::new(&self.linear(), data)?.step(centre, steps.slopes);
        }
        check::numbers(NAME, data.task())?;
        self.affine().proximal(data, centre, steps, |rows, labels, weights, pulls| {
            let roots: Vec<f64> = weights.iter().map(|weight| (2.0 * weight).sqrt()).collect();
            let mut rows = rows.to_vec();
            for (row, root) in rows.chunks_exact_mut(centre.len().max(1)).zip(&roots) {
                scale(row, *root);
            }
            let residual = labels.iter().zip(&roots).map(|(y, root)| -root * y).collect();
            descend(rows, residual, pulls, &self.affine().lassos(data.features().columns()))
        })
    }
}

/// `argmin ½ ‖B z + residual‖² + ½ Σ strength (z − centre)² + Σ lasso |z|`
fn descend(
    mut rows: Vec<f64>,
    mut residual: Vec<f64>,
    pulls: &QuadraticPulls,
    lassos: &[f64],
) -> Result<Vec<f64>> {
    let zeros = vec![0.0; lassos.len()];
    if residual.len() > zeros.len() {
        triangularise(&mut rows, zeros.len(), &mut residual);
    }
    let QuadraticPulls { strengths, centres } = pulls;
    let own = Separable { linear: &zeros, strengths, centres, lassos };
    CoordinateDescent::new(&rows, residual, &zeros, &own).minimise()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels, Task},
        random::{Purpose, Stream},
        testing,
    };

    /// Rows with two features that are almost the same, and unequal weights.
    fn data(rows: usize, columns: usize) -> Dataset {
        let mut stream = Stream::new(columns as u64, 0, 0, Purpose::Data);
        let mut values: Vec<f64> = (0..rows * columns).map(|_| 3.0 + stream.normal()).collect();
        values.chunks_exact_mut(columns).for_each(|x| x[1] = x[0] + 1e-3 * x[1]);
        let names = (0..columns).map(|column| format!("x{column}")).collect();
        let labels = values.chunks_exact(columns).map(|x| 2.0 * x[0] - x[2] + stream.normal());
        let labels = Labels::values(labels.collect());
        let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
        Dataset::weighted(Features::new(names, values).unwrap(), labels, weights).unwrap()
    }

    fn fit(model: &dyn LocalModel, data: &Dataset) -> LinearHypothesis {
        model.fit(data).unwrap().downcast_ref::<LinearHypothesis>().expect("linear").clone()
    }

    #[test]
    fn elastic_net_keeps_the_laws_of_local_and_parametric_models() {
        for (ridge, lasso) in [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.2, 0.1), (0.0, 1e-6)] {
            for intercept in [true, false] {
                let model = ElasticNet { ridge, lasso, intercept };
                testing::check_local_model(&model, Task::Regression);
                testing::check_parametric(&model, Task::Regression);
            }
        }
    }

    #[test]
    fn slopes_are_zero_or_balance_the_lasso() {
        for (rows, columns) in [(40, 6), (10, 60)] {
            let data = data(rows, columns);
            for (ridge, lasso) in [(0.0, 1e-3), (0.0, 1.0), (0.5, 1.0), (0.5, 1e-6)] {
                let model = ElasticNet { ridge, lasso, intercept: true };
                let fitted = fit(&model, &data);
                let weights = model.weights(&fitted).unwrap();
                let smooth = ElasticNet { lasso: 0.0, ..model }.gradient(&data, &weights);
                for (w, g) in fitted.slopes.iter().zip(&smooth) {
                    let violation = if *w == 0.0 {
                        (g.abs() - lasso).max(0.0)
                    } else {
                        (g + lasso * w.signum()).abs()
                    };
                    assert!(violation < 1e-9, "{rows} rows, {ridge} {lasso}: {violation}");
                }
                assert!(smooth[columns].abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_vanishing_lasso_ends_at_the_linear_model() {
        let data = data(40, 6);
        for ridge in [0.0, 0.1] {
            let exact = fit(&Linear { ridge, intercept: true }, &data);
            let close = fit(&ElasticNet { ridge, lasso: 1e-13, intercept: true }, &data);
            for (a, b) in exact.slopes.iter().zip(&close.slopes) {
                assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_strong_lasso_leaves_every_feature_out() {
        let data = data(40, 6);
        let fitted = fit(&ElasticNet { ridge: 0.0, lasso: 1e6, intercept: true }, &data);
        assert_eq!(fitted.slopes, [0.0; 6]);
        assert!((fitted.intercept - data.mean_label()[0]).abs() < 1e-12);
    }

    #[test]
    fn one_feature_is_thresholded_softly() {
        let features = Features::from_rows(&["x"], &[[1.0], [2.0]]).unwrap();
        let data = Dataset::weighted(features, Labels::values(vec![1.0, 3.0]), vec![1.0; 2]);
        let model = ElasticNet { ridge: 1.0, lasso: 4.0, intercept: false };
        // 5w² − 14w + 10 + w² + 4 |w| is smallest at w = 10/12.
        assert!((fit(&model, &data.unwrap()).slopes[0] - 10.0 / 12.0).abs() < 1e-14);
    }

    #[test]
    fn negative_penalties_and_classes_are_refused() {
        let data = data(5, 3);
        let message =
            ElasticNet { lasso: -1.0, ..Default::default() }.fit(&data).unwrap_err().to_string();
        assert_eq!(message, "lasso is -1, expected zero or more");
        let classes = Labels::classes(2, &[0, 1, 0, 1, 1]).unwrap();
        let data = Dataset::new(data.features().clone(), classes).unwrap();
        let message = ElasticNet::default().fit(&data).unwrap_err().to_string();
        let reason = "it predicts numbers, the target is a class";
        assert_eq!(message, format!("an elastic net cannot be fitted: {reason}"));
    }
}
