//! What people read of predictions beside the error that methods are compared by,
//!
//! ```text
//! R² = 1 − Σ w (y − ŷ)² / Σ w (y − ȳ)²          balanced accuracy = the mean over classes of the share of their
//! rmse = √mse                                   rows that are given them
//! ```
//!
//! Rows have weights: a weight of two is the row twice. The area under the curve is that of the second of two
//! classes, and of more the mean over classes of each against the rest (one-vs-rest, macro).

use serde::{Deserialize, Serialize};

use super::{Metric, Reliability, area_under_curve, most_probable};
use crate::data::{Labels, Task};

/// What was predicted for some rows of a node.
#[derive(Debug, Clone)]
pub struct JudgedRows {
    /// What is true.
    pub labels: Labels,
    /// What was predicted.
    pub predictions: Labels,
    /// How much each row counts.
    pub weights: Vec<f64>,
}

/// What people read of predictions on some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Measures {
    /// Of numbers.
    Numbers(NumberMeasures),
    /// Of classes.
    Classes(ClassMeasures),
}

/// What people read of predicted numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumberMeasures {
    /// How many rows there are.
    pub rows: usize,
    /// The mean squared error.
    pub mse: f64,
    /// Its root, in the unit of the target.
    pub rmse: f64,
    /// The mean absolute error.
    pub mae: f64,
    /// The share of the variance that is explained; none where all labels are equal.
    pub r2: Option<f64>,
    /// The mean Poisson deviance, of counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviance: Option<f64>,
}

/// What people read of predicted classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassMeasures {
    /// How many rows there are.
    pub rows: usize,
    /// The mean of −log of the probability that the true class was given.
    pub log_loss: f64,
    /// The share of rows whose most probable class is theirs.
    pub accuracy: f64,
    /// The mean over the classes that there are of the share of their rows that are given them.
    pub balanced_accuracy: f64,
    /// The area under the receiver operating characteristic; none where all rows are of one class.
    pub auc: Option<f64>,
    /// How much the rows of each class count (outer) that are given each class (inner).
    pub confusion: Vec<Vec<f64>>,
    /// How well probabilities are kept; none of several methods together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration: Option<Reliability>,
}

impl Measures {
    /// The measures of all nodes' rows together, where labels and predictions are in multiples of a unit; none where
    /// nothing counts, or a prediction is no number.
    #[must_use]
    pub fn of(nodes: &[JudgedRows], unit: f64, are_counts: bool) -> Option<Self> {
        let is_finite = |value: &f64| value.is_finite();
        let all = nodes.iter().all(|node| node.predictions.as_slice().iter().all(is_finite));
        let total: f64 = nodes.iter().flat_map(|node| &node.weights).sum();
        let task = nodes.first()?.labels.task();
        // A method that has diverged has no measures, instead of some that are no numbers.
        if !all || total <= 0.0 {
            return None;
        }
        Some(match task {
            Task::Regression => Self::Numbers(numbers(nodes, unit, are_counts)),
            Task::Classification { classes } => Self::Classes(of_classes(nodes, classes)),
        })
    }

    /// The mean of several methods on the same rows; none of none.
    #[must_use]
    pub fn mean(all: &[&Self]) -> Option<Self> {
        let share = 1.0 / all.len() as f64;
        let mut sum = (*all.first()?).clone();
        match &mut sum {
            Self::Numbers(sum) => {
                let all: Vec<&NumberMeasures> =
                    all.iter().filter_map(|one| one.numbers()).collect();
                let mean = |value: fn(&NumberMeasures) -> f64| {
                    share * all.iter().map(|one| value(one)).sum::<f64>()
                };
                (sum.mse, sum.rmse, sum.mae) = (mean(|m| m.mse), mean(|m| m.rmse), mean(|m| m.mae));
                sum.r2 = sum.r2.map(|_| mean(|m| m.r2.unwrap_or(0.0)));
                sum.deviance = sum.deviance.map(|_| mean(|m| m.deviance.unwrap_or(0.0)));
            }
            Self::Classes(sum) => {
                let all: Vec<&ClassMeasures> = all.iter().filter_map(|one| one.classes()).collect();
                let mean = |value: &dyn Fn(&ClassMeasures) -> f64| {
                    share * all.iter().map(|one| value(one)).sum::<f64>()
                };
                sum.log_loss = mean(&|m| m.log_loss);
                sum.accuracy = mean(&|m| m.accuracy);
                sum.balanced_accuracy = mean(&|m| m.balanced_accuracy);
                sum.auc = sum.auc.map(|_| mean(&|m| m.auc.unwrap_or(0.0)));
                for (truth, row) in sum.confusion.iter_mut().enumerate() {
                    for (given, cell) in row.iter_mut().enumerate() {
                        *cell = mean(&|m| m.confusion[truth][given]);
                    }
                }
                // The same bin of two methods holds different rows.
                sum.calibration = None;
            }
        }
        Some(sum)
    }

    /// Those of numbers.
    #[must_use]
    pub fn numbers(&self) -> Option<&NumberMeasures> {
        if let Self::Numbers(own) = self { Some(own) } else { None }
    }

    /// Those of classes.
    #[must_use]
    pub fn classes(&self) -> Option<&ClassMeasures> {
        if let Self::Classes(own) = self { Some(own) } else { None }
    }
}

fn row_count(nodes: &[JudgedRows]) -> usize {
    nodes.iter().map(|node| node.labels.rows()).sum()
}

/// The weighted mean of an error. Node by node, so that it has the bits of the error of a comparison.
fn mean_error(nodes: &[JudgedRows], metric: Metric, unit: f64) -> f64 {
    let of_node = |node: &JudgedRows| {
        let errors = metric.rows(&node.labels, &node.predictions);
        unit * errors.iter().zip(&node.weights).map(|(error, weight)| weight * error).sum::<f64>()
    };
    let weight: f64 = nodes.iter().flat_map(|node| &node.weights).sum();
    nodes.iter().map(of_node).sum::<f64>() / weight
}

fn numbers(nodes: &[JudgedRows], unit: f64, are_counts: bool) -> NumberMeasures {
    let error = |metric: Metric| mean_error(nodes, metric, metric.unit(unit));
    let mse = error(Metric::Mse);
    NumberMeasures {
        rows: row_count(nodes),
        mse,
        rmse: mse.sqrt(),
        mae: error(Metric::Mae),
        r2: explained(nodes),
        deviance: are_counts.then(|| error(Metric::Deviance)),
    }
}

/// The share of the variance of labels that predictions explain; it has no unit.
fn explained(nodes: &[JudgedRows]) -> Option<f64> {
    let weighted = |value: &dyn Fn(f64) -> f64| -> f64 {
        let of_node = |node: &JudgedRows| -> f64 {
            let pairs = node.labels.as_slice().iter().zip(&node.weights);
            pairs.map(|(label, weight)| weight * value(*label)).sum()
        };
        nodes.iter().map(of_node).sum()
    };
    let weight = weighted(&|_| 1.0);
    let mean = weighted(&|label| label) / weight;
    let spread = weighted(&|label| (label - mean).powi(2)) / weight;
    // Less is the rounding of the mean.
    let is_spread = spread.sqrt() > 1e-12 * mean.abs();
    is_spread.then(|| 1.0 - mean_error(nodes, Metric::Mse, 1.0) / spread)
}

fn of_classes(nodes: &[JudgedRows], classes: usize) -> ClassMeasures {
    let mut confusion = vec![vec![0.0; classes]; classes];
    for (label, prediction, weight) in rows(nodes) {
        confusion[most_probable(label)][most_probable(prediction)] += weight;
    }
    let total: f64 = confusion.iter().flatten().sum();
    let hits: f64 = (0..classes).map(|class| confusion[class][class]).sum();
    let recalls: Vec<f64> = (0..classes)
        .filter_map(|class| {
            let own: f64 = confusion[class].iter().sum();
            (own > 0.0).then(|| confusion[class][class] / own)
        })
        .collect();
    ClassMeasures {
        rows: row_count(nodes),
        log_loss: mean_error(nodes, Metric::LogLoss, 1.0),
        accuracy: hits / total,
        balanced_accuracy: recalls.iter().sum::<f64>() / recalls.len() as f64,
        auc: auc(nodes, classes),
        confusion,
        calibration: Reliability::of(rows(nodes).map(|(label, prediction, weight)| {
            // Of two classes the whole range from zero to one is seen; the predicted one has half at least.
            let class = if classes == 2 { 1 } else { most_probable(prediction) };
            (prediction[class], most_probable(label) == class, weight)
        })),
    }
}

/// The area under the curve; of more than two classes the mean over those that have rows, each against the rest.
fn auc(nodes: &[JudgedRows], classes: usize) -> Option<f64> {
    let weights: Vec<f64> = rows(nodes).map(|(.., weight)| weight).collect();
    let of = |class: usize| {
        let scores: Vec<f64> = rows(nodes).map(|(_, prediction, _)| prediction[class]).collect();
        let own: Vec<bool> = rows(nodes).map(|(label, ..)| most_probable(label) == class).collect();
        area_under_curve(&scores, &own, &weights)
    };
    if classes == 2 {
        return of(1);
    }
    let all: Vec<f64> = (0..classes).filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// The rows of all nodes: label, prediction and weight.
fn rows(nodes: &[JudgedRows]) -> impl Iterator<Item = (&[f64], &[f64], f64)> {
    nodes.iter().flat_map(|node| {
        (0..node.labels.rows())
            .map(|row| (node.labels.row(row), node.predictions.row(row), node.weights[row]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(labels: Labels, predictions: Vec<f64>, weights: &[f64]) -> JudgedRows {
        let predictions = Labels::new(labels.task(), predictions).unwrap();
        JudgedRows { labels, predictions, weights: weights.to_vec() }
    }

    const COUNTS: [f64; 8] = [0.0, 1.0, 3.0, 2.0, 7.0, 0.0, 4.0, 5.0];
    const MEANS: [f64; 8] = [0.4, 1.5, 2.0, 2.5, 5.5, 0.9, 4.2, 3.1];
    const WEIGHTS: [f64; 8] = [1.0, 2.0, 0.5, 1.0, 3.0, 0.0, 1.5, 1.0];

    fn of_numbers(weights: &[f64]) -> NumberMeasures {
        let all = judged(Labels::values(COUNTS.to_vec()), MEANS.to_vec(), weights);
        Measures::of(&[all], 1.0, true).unwrap().numbers().unwrap().clone()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn numbers_have_the_measures_of_scikit_learn() {
        // scikit-learn: mean_squared_error, mean_absolute_error, r2_score, mean_poisson_deviance.
        let own = of_numbers(&[1.0; 8]);
        near(own.mse, 1.04625);
        near(own.rmse, 1.04625_f64.sqrt());
        near(own.mae, 0.8625);
        near(own.r2.unwrap(), 0.807_586_206_896_551_7);
        near(own.deviance.unwrap(), 0.586_948_964_835_849);
        let weighted = of_numbers(&WEIGHTS);
        near(weighted.mse, 1.183);
        near(weighted.mae, 0.91);
        near(weighted.r2.unwrap(), 0.820_417_457_305_502_9);
        near(weighted.deviance.unwrap(), 0.362_564_311_234_110_76);
    }

    #[test]
    fn the_mean_and_the_truth_explain_nothing_and_all() {
        let labels = || Labels::values(vec![1.0, 2.0, 6.0]);
        let r2 = |predictions: Vec<f64>| {
            let all = [judged(labels(), predictions, &[1.0; 3])];
            Measures::of(&all, 1.0, false).unwrap().numbers().unwrap().r2
        };
        near(r2(vec![3.0; 3]).unwrap(), 0.0);
        near(r2(vec![1.0, 2.0, 6.0]).unwrap(), 1.0);
        let equal = judged(Labels::values(vec![0.1; 3]), vec![0.2; 3], &[1.0; 3]);
        assert_eq!(Measures::of(&[equal], 1.0, false).unwrap().numbers().unwrap().r2, None);
    }

    #[test]
    fn units_of_the_table_are_given_back() {
        let (unit, ones) = (2.5, [1.0; 8]);
        let scaled = |values: &[f64]| values.iter().map(|value| value / unit).collect::<Vec<_>>();
        let all = judged(Labels::values(scaled(&COUNTS)), scaled(&MEANS), &ones);
        let found = Measures::of(&[all], unit, true).unwrap();
        let (found, expected) = (found.numbers().unwrap(), of_numbers(&ones));
        near(found.mse, expected.mse);
        near(found.mae, expected.mae);
        near(found.r2.unwrap(), expected.r2.unwrap());
        near(found.deviance.unwrap(), expected.deviance.unwrap());
    }

    const TRUTH: [usize; 8] = [0, 1, 2, 1, 0, 2, 2, 1];
    const PROBABILITIES: [[f64; 3]; 8] = [
        [0.6, 0.3, 0.1],
        [0.2, 0.5, 0.3],
        [0.1, 0.2, 0.7],
        [0.5, 0.4, 0.1],
        [0.3, 0.4, 0.3],
        [0.2, 0.2, 0.6],
        [0.3, 0.5, 0.2],
        [0.1, 0.8, 0.1],
    ];

    fn of_classes(weights: &[f64]) -> ClassMeasures {
        let labels = Labels::classes(3, &TRUTH).unwrap();
        let all = judged(labels, PROBABILITIES.concat(), weights);
        Measures::of(&[all], 1.0, false).unwrap().classes().unwrap().clone()
    }

    #[test]
    fn classes_have_the_measures_of_scikit_learn() {
        // scikit-learn: log_loss, accuracy_score, balanced_accuracy_score, roc_auc_score(multi_class="ovr"),
        // confusion_matrix.
        let own = of_classes(&[1.0; 8]);
        near(own.log_loss, 0.753_039_796_497_382_5);
        near(own.accuracy, 0.625);
        near(own.balanced_accuracy, (0.5 + 2.0 / 3.0 + 2.0 / 3.0) / 3.0);
        near(own.auc.unwrap(), 0.869_444_444_444_444_5);
        let expected = [[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 2.0]];
        assert_eq!(own.confusion, expected.map(Vec::from));
        let weighted = of_classes(&WEIGHTS);
        near(weighted.log_loss, 0.924_096_702_167_257);
        near(weighted.accuracy, 0.45);
        near(weighted.balanced_accuracy, 0.416_666_666_666_666_7);
        near(weighted.auc.unwrap(), 0.708_333_333_333_333_4);
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice() {
        let mut rows: Vec<usize> = (0..8).collect();
        rows.extend([1, 4, 4]);
        let weights: Vec<f64> =
            (0..8).map(|row| rows.iter().filter(|one| **one == row).count() as f64).collect();
        let labels = Labels::classes(3, &rows.iter().map(|&row| TRUTH[row]).collect::<Vec<_>>());
        let predictions = rows.iter().flat_map(|&row| PROBABILITIES[row]).collect();
        let all = judged(labels.unwrap(), predictions, &[1.0; 11]);
        let repeated = Measures::of(&[all], 1.0, false).unwrap();
        let (repeated, weighted) = (repeated.classes().unwrap(), of_classes(&weights));
        near(repeated.log_loss, weighted.log_loss);
        near(repeated.auc.unwrap(), weighted.auc.unwrap());
        near(repeated.balanced_accuracy, weighted.balanced_accuracy);
        assert_eq!(repeated.confusion, weighted.confusion);
        let error = |own: &ClassMeasures| own.calibration.as_ref().unwrap().expected_error;
        near(error(repeated), error(&weighted));
    }

    #[test]
    fn what_cannot_be_measured_is_absent() {
        let none = judged(Labels::values(Vec::new()), Vec::new(), &[]);
        assert_eq!(Measures::of(&[none], 1.0, false), None);
        assert_eq!(Measures::of(&[], 1.0, false), None);
        let labels = Labels::classes(2, &[1, 1]).unwrap();
        let one = judged(labels, vec![0.2, 0.8, 0.6, 0.4], &[1.0; 2]);
        let one = Measures::of(&[one], 1.0, false).unwrap();
        assert_eq!(one.classes().unwrap().auc, None);
        near(one.classes().unwrap().balanced_accuracy, 0.5);
    }

    #[test]
    fn measures_come_back_from_a_file() {
        for own in
            [Measures::Numbers(of_numbers(&WEIGHTS)), Measures::Classes(of_classes(&WEIGHTS))]
        {
            let text = serde_json::to_string(&own).unwrap();
            assert_eq!(serde_json::from_str::<Measures>(&text).unwrap(), own);
        }
    }

    #[test]
    fn the_mean_of_two_methods_is_between_them() {
        let (a, b) = (of_classes(&[1.0; 8]), of_classes(&WEIGHTS));
        let both = [Measures::Classes(a.clone()), Measures::Classes(b.clone())];
        let mean = Measures::mean(&both.iter().collect::<Vec<_>>()).unwrap();
        let mean = mean.classes().unwrap();
        near(mean.auc.unwrap(), 0.5 * (a.auc.unwrap() + b.auc.unwrap()));
        near(mean.confusion[0][1], 0.5 * (a.confusion[0][1] + b.confusion[0][1]));
        assert_eq!(mean.calibration, None);
        assert_eq!(Measures::mean(&[]), None);
    }
}
