//! Logistic regression for any number of classes and for soft labels,
//!
//! ```text
//! (W, b) = argmin  Σ_r weight_r CE(p_r, softmax(W x_r + b)) + ridge ‖W‖²
//! ```
//!
//! where `p_r` are the class probabilities of row r. The intercepts b are never penalised. Two
//! classes have one vector w and P(second class) = 1 / (1 + exp(−wᵀx − b)); more classes have one
//! vector each, and intercepts of mean zero. With ridge = 0 the slopes are the limit ridge → 0 where
//! that is finite.
//!
//! Where the minimum lies at infinity (one class only, or classes that can be separated and no
//! ridge), the fit stops as soon as the gradient is 10⁻¹² of the total weight: probabilities are
//! then within about 10⁻¹² of zero and one, and the log-odds of the closest rows are below thirty.

mod basis;
mod objective;
mod newton;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::{
    basis::Basis,
    objective::{Problem, softmax},
};
use super::{Hypothesis, LocalModel, Stored, check};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, at_least_zero, same_size},
};

/// Up to so many parameters the Hessian is factored; beyond, it is only multiplied with.
const MOST_FACTORED: usize = 400;

/// Class probabilities of a row may miss the sum one by so much.
const SUM_TOLERANCE: f64 = 1e-6;

/// A logistic regression model.
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// The pull ≥ 0 of the slopes to zero. The default 10⁻⁴ hardly shrinks at total weight one, and
    /// keeps the slopes finite where classes can be separated; zero is maximum likelihood.
    pub ridge: f64,
    /// Whether each class has a constant of its own.
    pub intercept: bool,
}

impl Default for Logistic {
    fn default() -> Self {
        Self { ridge: 1e-4, intercept: true }
    }
}

impl LocalModel for Logistic {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        at_least_zero("ridge", self.ridge)?;
        let Task::Classification { classes } = data.task() else {
            return Err(refusal("it predicts classes, the target is a number".into()));
        };
        if data.total_weight() == 0.0 {
            return Err(refusal("no row has a positive weight".into()));
        }
        let data = data.without_zero_weights();
        if let Some(row) = (0..data.rows()).find(|&row| !is_distribution(data.labels().row(row))) {
            let place = format!("weighted row {row}");
            return Err(refusal(format!("the label of {place} is not a list of probabilities")));
        }
        Ok(Box::new(self.solve(&data, classes == 2)))
    }

    fn with_ridge(&self, ridge: f64) -> Option<Box<dyn LocalModel>> {
        Some(Box::new(Self { ridge, ..*self }))
    }
}

impl Logistic {
    /// The minimiser; with a reference, the first class has the logit zero and no vector.
    fn solve(&self, data: &Dataset, reference: bool) -> LogisticHypothesis {
        let vectors = data.task().outputs() - usize::from(reference);
        let factored = vectors * (data.features().columns() + 1) <= MOST_FACTORED;
        let basis = if factored {
            Basis::principal(data, self.intercept)
        } else {
            Basis::columns(data, self.intercept, self.ridge)
        };
        let problem = self.problem(data, &basis, reference);
        let parameters = problem.minimise(factored);
        self.hypothesis(data, &basis, &parameters, problem.width)
    }

    /// The objective in the coordinates of the basis, the intercept last.
    fn problem(&self, data: &Dataset, basis: &Basis, reference: bool) -> Problem {
        let mut rows = Vec::new();
        for x in data.features().iter() {
            basis.extend_with_coordinates(&mut rows, x);
            rows.extend(self.intercept.then_some(1.0));
        }
        let mut labels = data.labels().as_slice().to_vec();
        let classes = data.task().outputs();
        for label in labels.chunks_exact_mut(classes) {
            let sum: f64 = label.iter().sum();
            for p in label {
                *p /= sum;
            }
        }
        let mut penalties: Vec<f64> =
            basis.scales.iter().map(|scale| self.ridge / (scale * scale)).collect();
        penalties.extend(self.intercept.then_some(0.0));
        let (width, weights) = (penalties.len(), data.weights().to_vec());
        Problem { rows, width, labels, weights, classes, reference, penalties }
    }

    /// Back from the coordinates of the basis.
    fn hypothesis(
        &self,
        data: &Dataset,
        basis: &Basis,
        parameters: &[f64],
        width: usize,
    ) -> LogisticHypothesis {
        let classes = data.task().outputs();
        let mut slopes = Vec::new();
        let mut intercepts = Vec::new();
        // Without any direction and intercept there is no parameter, but still a logit of zero.
        let vectors = parameters.len().checked_div(width).unwrap_or(classes);
        for vector in 0..vectors {
            let own = &parameters[vector * width..(vector + 1) * width];
            let slope = basis.slopes(&own[..basis.scales.len()]);
            let level = if self.intercept { own[width - 1] } else { 0.0 };
            intercepts.push(level - dot(&slope, &basis.centre));
            slopes.push(slope);
        }
        if self.intercept && vectors == classes {
            let mean = intercepts.iter().sum::<f64>() / classes as f64;
            for intercept in &mut intercepts {
                *intercept -= mean;
            }
        }
        let names = data.features().names().clone();
        LogisticHypothesis { names, classes, slopes, intercepts }
    }
}

fn refusal(reason: String) -> Error {
    Error::Fit { model: "a logistic model", reason }
}

fn is_distribution(label: &[f64]) -> bool {
    let sum: f64 = label.iter().sum();
    label.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() <= SUM_TOLERANCE
}

/// Learnt class probabilities: `softmax(W x + b)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// How many classes there are.
    pub classes: usize,
    /// The slopes of each class; of two classes only those of the second, the first has none.
    pub slopes: Vec<Vec<f64>>,
    /// The intercept that belongs to each list of slopes, zero for models without one.
    pub intercepts: Vec<f64>,
}

impl LogisticHypothesis {
    /// Refuses slopes and intercepts of other numbers than there are classes and features, and such
    /// without a value.
    pub fn check(&self) -> Result<()> {
        // With a vector too few, the first class has none.
        let vectors = self.slopes.len();
        let expected = self.classes - usize::from(vectors + 1 == self.classes);
        same_size("vectors of a logistic model", vectors, expected)?;
        same_size("intercepts of a logistic model", self.intercepts.len(), vectors)?;
        check::finite("an intercept of a logistic model", &self.intercepts)?;
        for slopes in &self.slopes {
            same_size("slopes of a logistic model", slopes.len(), self.names.len())?;
            check::finite("a slope of a logistic model", slopes)?;
        }
        Ok(())
    }
}

impl Hypothesis for LogisticHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let task = Task::Classification { classes: self.classes };
        let mut labels = Labels::neutral(task, features.rows());
        let mut logits = vec![0.0; self.classes];
        let mut complements = vec![0.0; self.classes];
        // With a vector too few, the first class keeps the logit zero.
        let first = self.classes - self.slopes.len();
        let rows = labels.as_mut_slice().chunks_exact_mut(self.classes);
        for (probabilities, x) in rows.zip(features.iter()) {
            for (logit, (w, b)) in
                logits[first..].iter_mut().zip(self.slopes.iter().zip(&self.intercepts))
            {
                *logit = dot(w, x) + b;
            }
            softmax(&logits, probabilities, &mut complements);
        }
        labels
    }

    fn stored(&self) -> Stored {
        Stored::Logistic(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
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
    fn logistic_keeps_the_laws_of_local_models() {
        for classes in [2, 3] {
            for (ridge, intercept) in [(1e-4, true), (0.0, true), (0.3, true), (0.3, false)] {
                let task = Task::Classification { classes };
                testing::check_local_model(&Logistic { ridge, intercept }, task);
            }
        }
    }

    #[test]
    fn the_gradient_at_the_solution_is_zero() {
        for classes in [2, 3, 5] {
            let data = soft_data(classes, 40, classes as u64);
            for (ridge, intercept) in [(0.0, true), (1e-4, true), (2.0, true), (0.5, false)] {
                let model = Logistic { ridge, intercept };
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
        let two = Logistic { ridge: 0.6, intercept: true }.solve(&data, false);
        let one = Logistic { ridge: 0.3, intercept: true }.solve(&data, true);
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
        let model = Logistic { ridge: 1e12, intercept: true };
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
            let model = Logistic { ridge, intercept };
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
    fn multiplying_with_the_hessian_gives_the_same_minimum_as_factoring_it() {
        for classes in [2, 4] {
            let data = soft_data(classes, 60, 11);
            let model = Logistic { ridge: 0.01, intercept: true };
            let reference = classes == 2;
            let exact = model.solve(&data, reference);
            let basis = Basis::columns(&data, true, model.ridge);
            let problem = model.problem(&data, &basis, reference);
            let parameters = problem.minimise(false);
            let other = model.hypothesis(&data, &basis, &parameters, problem.width);
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
            let model = Logistic { ridge, intercept: true };
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
