//! What errors are. A comparison is in one of these, each a mean over rows,
//!
//! ```text
//! mse         (y − ŷ)²                        log-loss     − log q_y
//! mae         |y − ŷ|                         error rate   1 if the most probable class is not y, else 0
//! deviance    2 (y log(y / ŷ) − y + ŷ)        of counts, y ≥ 0 and ŷ > 0 [Poisson]
//! ```
//!
//! so that two methods can be paired row by row, and a difference has a standard error. What people read beside
//! it, such as R² or the area under a curve, is in [`Measures`].

mod measures;
mod ranking;
mod reliability;

pub use measures::{ClassMeasures, JudgedRows, Measures, NumberMeasures};
pub use ranking::area_under_curve;
pub use reliability::{Reliability, ReliabilityBin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    data::{Labels, Task},
    loss::Loss,
};

/// Means of counts below this count as this: one impossible count is bad, not infinitely bad.
const SMALLEST_MEAN: f64 = 1e-12;

/// What errors of a comparison are: strengths are chosen by it, and the verdict is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The mean squared error; the default for numbers.
    Mse,
    /// The mean absolute error.
    Mae,
    /// The mean Poisson deviance, for counts: targets of zero or more.
    Deviance,
    /// The mean of −log of the probability that the true class was given; the default for classes.
    LogLoss,
    /// The share of rows whose most probable class is not theirs: one minus accuracy.
    ErrorRate,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Mse, Self::Mae, Self::Deviance, Self::LogLoss, Self::ErrorRate];

    /// The one that is used for a task unless another is asked for.
    #[must_use]
    pub fn of(task: Task) -> Self {
        match task {
            Task::Regression => Self::Mse,
            Task::Classification { .. } => Self::LogLoss,
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::Mae => "mae",
            Self::Deviance => "deviance",
            Self::LogLoss => "log_loss",
            Self::ErrorRate => "error_rate",
        }
    }

    /// Its name for readers.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Mse => "mean squared error",
            Self::Mae => "mean absolute error",
            Self::Deviance => "mean Poisson deviance",
            Self::LogLoss => "log-loss",
            Self::ErrorRate => "error rate",
        }
    }

    /// Whether it is one of class probabilities.
    #[must_use]
    pub fn is_of_classes(self) -> bool {
        matches!(self, Self::LogLoss | Self::ErrorRate)
    }

    /// Whether it measures predictions of a task.
    #[must_use]
    pub fn suits(self, task: Task) -> bool {
        self.is_of_classes() == (task != Task::Regression)
    }

    /// The error of one row's prediction.
    #[must_use]
    pub fn row(self, label: &[f64], prediction: &[f64]) -> f64 {
        match self {
            Self::Mse => Loss::Squared.row(label, prediction),
            Self::Mae => Loss::Absolute.row(label, prediction),
            Self::LogLoss => Loss::CrossEntropy.row(label, prediction),
            Self::Deviance => {
                label.iter().zip(prediction).map(|(y, mean)| deviance(*y, *mean)).sum()
            }
            Self::ErrorRate => {
                f64::from(u8::from(most_probable(label) != most_probable(prediction)))
            }
        }
    }

    /// The error of every row.
    #[must_use]
    pub fn rows(self, labels: &Labels, predictions: &Labels) -> Vec<f64> {
        (0..labels.rows()).map(|row| self.row(labels.row(row), predictions.row(row))).collect()
    }

    /// The mean error over the rows; zero where there is no row.
    #[must_use]
    pub fn mean(self, labels: &Labels, predictions: &Labels) -> f64 {
        match self {
            // It has a faster way for rows without end.
            Self::Mse => Loss::Squared.mean(labels, predictions),
            _ => self.rows(labels, predictions).iter().sum::<f64>() / labels.rows().max(1) as f64,
        }
    }

    /// What an error is worth where labels and predictions are in multiples of a unit.
    #[must_use]
    pub fn unit(self, target: f64) -> f64 {
        self.residual_unit(target) * self.tilt_unit(target)
    }

    /// What is random in an error given the models: how far a label is from what was expected of it. Half of the
    /// labels are above their median, so that of absolute errors it is the side, by the rule of the trapezoid.
    pub(crate) fn residual(self, label: f64, prediction: f64) -> f64 {
        match self {
            Self::Mae => f64::from(i8::from(label > prediction) - i8::from(label < prediction)),
            _ => label - prediction,
        }
    }

    /// How much a unit of the residual of one output takes from the error of a prediction, but for what does not
    /// depend on the prediction.
    pub(crate) fn tilt(self, prediction: &[f64], output: usize) -> f64 {
        let own = prediction[output];
        match self {
            Self::Mse => Loss::Squared.tilt(own),
            Self::Mae => own,
            Self::Deviance => 2.0 * own.max(SMALLEST_MEAN).ln(),
            Self::LogLoss => Loss::CrossEntropy.tilt(own),
            Self::ErrorRate => f64::from(u8::from(most_probable(prediction) == output)),
        }
    }

    /// What a residual is worth where labels are in multiples of a unit.
    pub(crate) fn residual_unit(self, target: f64) -> f64 {
        if matches!(self, Self::Mse | Self::Deviance) { target } else { 1.0 }
    }

    /// What a tilt is worth, but for a constant.
    pub(crate) fn tilt_unit(self, target: f64) -> f64 {
        if matches!(self, Self::Mse | Self::Mae) { target } else { 1.0 }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

fn deviance(y: f64, mean: f64) -> f64 {
    let mean = mean.max(SMALLEST_MEAN);
    // The limit of y log y at zero is zero.
    let log = if y > 0.0 { y * (y / mean).ln() } else { 0.0 };
    2.0 * (log - y + mean)
}

/// The place of the largest value; the first of equals.
fn most_probable(row: &[f64]) -> usize {
    (0..row.len()).fold(0, |a, b| if row[b] > row[a] { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: Task = Task::Classification { classes: 3 };

    #[test]
    fn every_task_has_its_metrics_and_the_default_is_one_of_them() {
        for task in [Task::Regression, CLASSES] {
            assert!(Metric::of(task).suits(task));
            let own: Vec<&str> =
                Metric::ALL.iter().filter(|one| one.suits(task)).map(|one| one.name()).collect();
            let expected: &[&str] = match task {
                Task::Regression => &["mse", "mae", "deviance"],
                Task::Classification { .. } => &["log_loss", "error_rate"],
            };
            assert_eq!(own, expected);
        }
    }

    #[test]
    fn the_default_is_the_loss_of_the_task_bit_for_bit() {
        let (y, p) = (Labels::values(vec![0.3, -1.7, 2.0]), Labels::values(vec![0.1, 1.3, 2.5]));
        assert_eq!(Metric::Mse.rows(&y, &p), Loss::Squared.rows(&y, &p));
        assert_eq!(Metric::Mse.mean(&y, &p).to_bits(), Loss::Squared.mean(&y, &p).to_bits());
        let y = Labels::classes(2, &[0, 1]).unwrap();
        let p = Labels::new(y.task(), vec![0.3, 0.7, 0.9, 0.1]).unwrap();
        assert_eq!(Metric::LogLoss.rows(&y, &p), Loss::CrossEntropy.rows(&y, &p));
        assert_eq!(
            Metric::LogLoss.mean(&y, &p).to_bits(),
            Loss::CrossEntropy.mean(&y, &p).to_bits()
        );
    }

    #[test]
    fn the_deviance_is_zero_at_the_count_and_twice_the_mean_at_none() {
        assert!(Metric::Deviance.row(&[3.0], &[3.0]).abs() < 1e-15);
        assert!((Metric::Deviance.row(&[0.0], &[1.5]) - 3.0).abs() < 1e-15);
        // 2 (2 log 2 − 2 + 1) = 4 log 2 − 2
        let expected = 4.0 * 2_f64.ln() - 2.0;
        assert!((Metric::Deviance.row(&[2.0], &[1.0]) - expected).abs() < 1e-15);
        // A mean below zero, which no count has, is bad and finite.
        assert!(Metric::Deviance.row(&[1.0], &[-2.0]).is_finite());
    }

    #[test]
    fn units_come_out_of_the_mean_as_the_metric_says() {
        let (y, p, unit) = (2.0, 0.5, 3.7);
        for metric in [Metric::Mse, Metric::Mae, Metric::Deviance] {
            let scaled = metric.row(&[unit * y], &[unit * p]);
            assert!(
                (metric.unit(unit) * metric.row(&[y], &[p]) - scaled).abs() < 1e-12,
                "{metric}"
            );
        }
    }

    #[test]
    fn the_difference_of_two_errors_is_the_tilt_times_what_is_random() {
        // Two labels and two predictions: what the label changes in the difference of errors is the difference
        // of tilts times its change, exactly, for all that are linear in the label.
        let change = |metric: Metric, labels: [&[f64]; 2], predictions: [&[f64]; 2]| {
            let difference =
                |y: &[f64]| metric.row(y, predictions[1]) - metric.row(y, predictions[0]);
            let tilted: f64 = (0..predictions[0].len())
                .map(|k| {
                    let tilt = |p: &[f64]| metric.tilt(p, k);
                    let residual = |y: &[f64]| metric.residual(y[k], predictions[0][k]);
                    (tilt(predictions[0]) - tilt(predictions[1]))
                        * (residual(labels[1]) - residual(labels[0]))
                })
                .sum();
            (difference(labels[1]) - difference(labels[0]), tilted)
        };
        let (a, b): (&[f64], &[f64]) = (&[0.2, 0.5, 0.3], &[0.6, 0.3, 0.1]);
        let (one, two): (&[f64], &[f64]) = (&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0]);
        for metric in Metric::ALL {
            let (found, tilted) = if metric.is_of_classes() {
                change(metric, [one, two], [a, b])
            } else {
                // Outside of both predictions absolute errors are linear, too.
                change(metric, [&[0.5], &[4.0]], [&[1.0], &[3.0]])
            };
            assert!((found - tilted).abs() < 1e-12, "{metric}: {found} {tilted}");
        }
    }
}
