//! Logistic regression for any number of classes and for soft labels,
//!
//! ```text
//! (W, b) = argmin  Σ_r weight_r CE(p_r, softmax(W x_r + b)) + ridge ‖W‖² + lasso ‖W‖₁
//! ```
//!
//! where `p_r` are the class probabilities of row r. The intercepts b are never penalised. Two
//! classes have one vector w and P(second class) = 1 / (1 + exp(−wᵀx − b)); more classes have one
//! vector each, and intercepts of mean zero. With ridge = 0 the slopes are the limit ridge → 0 where
//! that is finite. With a lasso some slopes are exactly zero; without ridge and for an even number of
//! classes above two, its slopes are one of several that predict the same.
//!
//! Where the minimum lies at infinity (one class only, or classes that can be separated and no
//! ridge), the fit stops as soon as the gradient is 10⁻¹² of the total weight: probabilities are
//! then within about 10⁻¹² of zero and one, and the log-odds of the closest rows are below thirty.

mod logistic_hypothesis;
mod objective;
mod logistic_newton;
mod row_loss;
mod sparse;
mod logistic_weights;

pub use self::logistic_hypothesis::LogisticHypothesis;
use self::objective::LogisticProblem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LocalModel, Parametric, Rescaling, Tunable, Vanishing, check,
    solver::{Basis, divide_by_sum},
};
use crate::{
    data::{Dataset, Task},
    error::{Error, Result, at_least_zero},
};

const NAME: &str = "a logistic model";

/// Up to so many parameters the Hessian is factored; beyond, it is only multiplied with.
const MOST_FACTORED_PARAMETERS: usize = 400;

/// A logistic regression model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Logistic {
    /// The pull ≥ 0 of the slopes to zero. The default 10⁻⁴ hardly shrinks at total weight one, and
    /// keeps the slopes finite where classes can be separated; zero is maximum likelihood.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// The pull ≥ 0 of the slopes to zero by their sizes, which makes some exactly zero; zero by
    /// default.
    #[schemars(range(min = 0))]
    pub lasso: f64,
    /// Whether each class has a constant of its own.
    pub intercept: bool,
}

impl Default for Logistic {
    fn default() -> Self {
        Self { ridge: 1e-4, lasso: 0.0, intercept: true }
    }
}

impl LocalModel for Logistic {
    fn predicts(&self, task: Task) -> bool {
        task != Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        let classes = self.check(data)?;
        check::weight(NAME, data.total_weight())?;
        let data = data.without_zero_weights();
        if self.lasso > 0.0 {
            return Ok(Box::new(self.solve_sparse(&data)?));
        }
        Ok(Box::new(self.solve(&data, classes == 2)))
    }

    /// Without a penalty the minimum may lie at infinity, and the others choose the way there.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        if self.ridge + self.lasso > 0.0 { Vanishing::Forgotten } else { Vanishing::Choosing }
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

    fn is_plain_regression(&self) -> bool {
        self.intercept && self.lasso == 0.0
    }
}

impl Tunable for Logistic {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl Logistic {
    /// Refuses wrong penalties, numbers, and labels that are no probabilities; returns how many
    /// classes there are.
    fn check(&self, data: &Dataset) -> Result<usize> {
        at_least_zero("ridge", self.ridge)?;
        at_least_zero("lasso", self.lasso)?;
        let Task::Classification { classes } = data.task() else {
            return Err(refusal("it predicts classes, the target is a number".into()));
        };
        let weighted = (0..data.rows()).filter(|&row| data.weights()[row] > 0.0);
        match weighted.enumerate().find(|(_, row)| !check::is_distribution(data.labels().row(*row)))
        {
            Some((row, _)) => Err(refusal(format!(
                "the label of weighted row {row} is not a list of probabilities"
            ))),
            None => Ok(classes),
        }
    }

    /// The minimiser; with a reference, the first class has the logit zero and no vector.
    fn solve(&self, data: &Dataset, reference: bool) -> LogisticHypothesis {
        let vectors = data.task().outputs() - usize::from(reference);
        let factored = vectors * (data.features().columns() + 1) <= MOST_FACTORED_PARAMETERS;
        // Rotating many columns costs more than the fit; conjugate gradients do well with scaled
        // ones.
        let basis = if factored {
            Basis::principal(data, self.intercept)
        } else {
            Basis::columns(data, self.intercept, self.ridge)
        };
        let problem = self.problem(data, &basis, reference);
        let parameters = problem.minimise(factored);
        self.back(data, &basis, &parameters, problem.vectors())
    }

    /// The objective in the coordinates of the basis, the intercept last.
    fn problem(&self, data: &Dataset, basis: &Basis, reference: bool) -> LogisticProblem {
        let rows = basis.rows(data, self.intercept);
        let labels = probabilities(data);
        let classes = data.task().outputs();
        let penalties = basis.penalties(self.ridge, self.intercept);
        let (width, weights) = (penalties.len(), data.weights().to_vec());
        LogisticProblem { rows, width, labels, weights, classes, reference, penalties }
    }

    /// Back from the coordinates of the basis.
    fn back(
        &self,
        data: &Dataset,
        basis: &Basis,
        parameters: &[f64],
        vectors: usize,
    ) -> LogisticHypothesis {
        // Without any direction and intercept there is no parameter, but still a logit of zero.
        let width = parameters.len() / vectors;
        let own = |vector: usize| &parameters[vector * width..(vector + 1) * width];
        self.hypothesis_of(data, (0..vectors).map(|vector| basis.affine(own(vector))))
    }

    /// The hypothesis of slopes and intercept of each vector.
    fn hypothesis_of(
        &self,
        data: &Dataset,
        vectors: impl Iterator<Item = (Vec<f64>, f64)>,
    ) -> LogisticHypothesis {
        let (slopes, mut intercepts): (Vec<_>, Vec<_>) = vectors.unzip();
        let (names, classes) = (data.features().names().clone(), data.task().outputs());
        if self.intercept && slopes.len() == classes {
            remove_mean(&mut intercepts);
        }
        LogisticHypothesis { names, classes, slopes, intercepts }
    }
}

fn refusal(reason: String) -> Error {
    Error::Fit { model: NAME, reason }
}

/// The labels with each row's sum made one.
fn probabilities(data: &Dataset) -> Vec<f64> {
    let mut labels = data.labels().as_slice().to_vec();
    labels.chunks_exact_mut(data.task().outputs()).for_each(divide_by_sum);
    labels
}

/// Takes the mean from each: adding the same to all intercepts changes no probability.
fn remove_mean(intercepts: &mut [f64]) {
    let mean = intercepts.iter().sum::<f64>() / intercepts.len() as f64;
    for intercept in intercepts {
        *intercept -= mean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        random::{Purpose, Stream},
        testing,
    };

    /// Rows with soft labels, unequal weights, and features of different sizes and means.
    fn soft_data(classes: usize, rows: usize, seed: u64) -> Dataset {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for _ in 0..rows {
            values.extend([stream.normal(), 30.0 + 5.0 * stream.normal(), 0.01 * stream.normal()]);
            let odds: Vec<f64> = (0..classes).map(|_| stream.normal().exp()).collect();
            labels
                .extend(odds.iter().map(|odds_of_class| odds_of_class / odds.iter().sum::<f64>()));
        }
        let names = ["a", "b", "c"].map(String::from).into();
        let labels = Labels::new(Task::Classification { classes }, labels).unwrap();
        let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
        Dataset::weighted(Features::new(names, values).unwrap(), labels, weights).unwrap()
    }

    fn line(xs: &[f64], labels: &[usize]) -> Dataset {
        let features = Features::new(["x".to_string()].into(), xs.to_vec()).unwrap();
        Dataset::new(features, Labels::classes(2, labels).unwrap()).unwrap()
    }

    /// The gradient of the objective in the features' own coordinates, from its definition.
    fn gradient(model: &Logistic, data: &Dataset, fitted: &LogisticHypothesis) -> Vec<f64> {
        let predictions = fitted.predict(data.features());
        let first = fitted.classes - fitted.slopes.len();
        let mut gradient = Vec::new();
        for (vector, slopes) in fitted.slopes.iter().enumerate() {
            let class = first + vector;
            let residual = |row: usize| {
                data.weights()[row] * (predictions.row(row)[class] - data.labels().row(row)[class])
            };
            for (column, slope) in slopes.iter().enumerate() {
                let pull = 2.0 * model.ridge * slope;
                let of_row = |row: usize| residual(row) * data.features().row(row)[column];
                gradient.push((0..data.rows()).map(of_row).sum::<f64>() + pull);
            }
            if model.intercept {
                gradient.push((0..data.rows()).map(residual).sum());
            }
        }
        gradient
    }

    #[test]
    fn logistic_keeps_the_laws_of_local_and_parametric_models() {
        for classes in [2, 3] {
            for (ridge, intercept) in [(1e-4, true), (0.0, true), (0.3, true), (0.3, false)] {
                let task = Task::Classification { classes };
                let model = Logistic { ridge, lasso: 0.0, intercept };
                testing::check_local_model(&model, task);
                testing::check_parametric(&model, task);
            }
        }
    }

    #[test]
    fn the_gradient_at_the_solution_is_zero() {
        for classes in [2, 3, 5] {
            let data = soft_data(classes, 40, classes as u64);
            for (ridge, intercept) in [(0.0, true), (1e-4, true), (2.0, true), (0.5, false)] {
                let model = Logistic { ridge, lasso: 0.0, intercept };
                let fitted = model.solve(&data, classes == 2);
                let gradient = gradient(&model, &data, &fitted);
                assert!(
                    gradient.iter().all(|g| g.abs() < 1e-8),
                    "{classes} {model:?} {gradient:?}"
                );
            }
        }
    }

    #[test]
    fn two_vectors_under_a_ridge_equal_one_vector_under_half_of_it() {
        let data = soft_data(2, 30, 7);
        let two = Logistic { ridge: 0.6, lasso: 0.0, intercept: true }.solve(&data, false);
        let one = Logistic { ridge: 0.3, lasso: 0.0, intercept: true }.solve(&data, true);
        for column in 0..3 {
            let (first, second) = (two.slopes[0][column], two.slopes[1][column]);
            assert!((first + second).abs() < 1e-9);
            assert!((second - first - one.slopes[0][column]).abs() < 1e-9);
        }
        assert!((two.intercepts[0] + two.intercepts[1]).abs() < 1e-9);
        let (p, q) = (two.predict(data.features()), one.predict(data.features()));
        assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-10));
    }

    #[test]
    fn without_slopes_the_probabilities_are_the_weighted_mean_label() {
        let data = soft_data(4, 25, 3);
        let model = Logistic { ridge: 1e12, lasso: 0.0, intercept: true };
        let predictions = model.fit(&data).unwrap().predict(data.features());
        for (p, mean) in predictions.row(0).iter().zip(data.mean_label()) {
            assert!((p - mean).abs() < 1e-8);
        }
    }

    #[test]
    fn separable_and_single_class_data_stay_finite() {
        let separable = line(&[-2.0, -1.0, 1.0, 1000.0], &[0, 0, 1, 1]);
        let single = line(&[-2.0, -1.0, 1.0, 2.0], &[1, 1, 1, 1]);
        for (ridge, intercept) in [(0.0, true), (0.0, false), (1e-4, true)] {
            let model = Logistic { ridge, lasso: 0.0, intercept };
            let fitted = model.solve(&separable, true);
            let predictions = fitted.predict(separable.features());
            assert!(predictions.as_slice().iter().all(|p| p.is_finite()));
            assert_eq!(predictions.most_probable(), [0, 0, 1, 1]);
            assert!(fitted.slopes[0][0].abs() < 100.0 && fitted.intercepts[0].abs() < 100.0);

            let fitted = model.solve(&single, true);
            assert!(fitted.slopes[0][0].abs() < 100.0 && fitted.intercepts[0].abs() < 31.0);
            if intercept {
                let predictions = fitted.predict(single.features());
                assert!((0..4).all(|row| predictions.row(row)[1] > 1.0 - 1e-9));
                assert!(fitted.slopes[0][0].abs() < 1e-9);
            }
        }
    }

    #[test]
    fn rows_of_zeros_without_intercept_have_no_slope_and_even_odds() {
        let model = Logistic { intercept: false, ..Logistic::default() };
        let fitted = model.solve(&line(&[0.0, 0.0], &[0, 1]), true);
        assert_eq!((fitted.slopes, fitted.intercepts), (vec![vec![0.0]], vec![0.0]));
    }

    #[test]
    fn multiplying_with_the_hessian_gives_the_same_minimum_as_factoring_it() {
        for classes in [2, 4] {
            let data = soft_data(classes, 60, 11);
            let model = Logistic { ridge: 0.01, lasso: 0.0, intercept: true };
            let reference = classes == 2;
            let exact = model.solve(&data, reference);
            let basis = Basis::columns(&data, true, model.ridge);
            let problem = model.problem(&data, &basis, reference);
            let parameters = problem.minimise(false);
            let other = model.back(&data, &basis, &parameters, problem.vectors());
            let (p, q) = (exact.predict(data.features()), other.predict(data.features()));
            assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-9));
        }
    }

    #[test]
    fn many_features_times_classes_are_fitted_too() {
        let (rows, columns, classes) = (80, 150, 4);
        let mut stream = Stream::new(5, 0, 0, Purpose::Data);
        let values = (0..rows * columns).map(|_| stream.normal()).collect();
        let names = (0..columns).map(|column| format!("x{column}")).collect();
        let labels: Vec<usize> = (0..rows).map(|_| stream.index(classes)).collect();
        let labels = Labels::classes(classes, &labels).unwrap();
        let data = Dataset::new(Features::new(names, values).unwrap(), labels).unwrap();
        for ridge in [0.0, 0.01] {
            let model = Logistic { ridge, lasso: 0.0, intercept: true };
            let fitted = model.solve(&data, false);
            let gradient = gradient(&model, &data, &fitted);
            assert!(gradient.iter().all(|g| g.abs() < 1e-8));
            assert_eq!(
                fitted.predict(data.features()).most_probable(),
                data.labels().most_probable()
            );
        }
    }

    #[test]
    fn numbers_and_labels_that_are_no_probabilities_are_refused() {
        let features = Features::from_rows(&["x"], &[[1.0], [2.0]]).unwrap();
        let numbers = Dataset::new(features.clone(), Labels::values(vec![1.0, 2.0])).unwrap();
        let message = Logistic::default().fit(&numbers).unwrap_err().to_string();
        let expected = "it predicts classes, the target is a number";
        assert_eq!(message, format!("a logistic model cannot be fitted: {expected}"));
        let task = Task::Classification { classes: 2 };
        let odd = Labels::new(task, vec![0.5, 0.5, -0.5, 1.5]).unwrap();
        let message =
            Logistic::default().fit(&Dataset::new(features, odd).unwrap()).unwrap_err().to_string();
        assert!(message.contains("row 1 is not a list of probabilities"), "{message}");
    }
}
