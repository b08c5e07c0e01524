//! How far predictions are from labels,
//!
//! ```text
//! squared           L(y, ŷ) = (y − ŷ)²
//! absolute          L(y, ŷ) = |y − ŷ|
//! Huber             L(y, ŷ) = (y − ŷ)²  where |y − ŷ| ≤ κ,  2κ |y − ŷ| − κ²  elsewhere
//! cross-entropy     L(p, q) = − Σ_c p_c log q_c
//! Kullback–Leibler  L(p, q) = Σ_c p_c log (p_c / q_c)
//! ```
//!
//! The same functions measure the discrepancy between two nodes' predictions on public points,
//! with the neighbour's predictions as labels. ["Plug In and Learn", eq. 11 and section III.]

use serde::{Deserialize, Serialize};

use crate::{
    algebra::squared_distance,
    data::{Labels, Task},
};

/// Probabilities below this count as this: one certain mistake is bad, not infinitely bad.
const SMALLEST_PROBABILITY: f64 = 1e-12;

/// A loss per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The squared difference, summed over outputs.
    Squared,
    /// The absolute difference, summed over outputs.
    Absolute,
    /// Squared for small differences, linear for large ones.
    Huber {
        /// The difference κ > 0 from which on it is linear.
        threshold: f64,
    },
    /// The cross-entropy of predicted class probabilities.
    CrossEntropy,
    /// The cross-entropy less that of the label with itself: zero where the two agree.
    KullbackLeibler,
}

impl Loss {
    /// The loss that fits a task: squared for numbers, cross-entropy for classes.
    #[must_use]
    pub fn of(task: Task) -> Self {
        match task {
            Task::Regression => Self::Squared,
            Task::Classification { .. } => Self::CrossEntropy,
        }
    }

    /// The loss of one row's prediction.
    #[must_use]
    pub fn row(self, label: &[f64], prediction: &[f64]) -> f64 {
        let pairs = label.iter().zip(prediction);
        match self {
            Self::Squared => pairs.map(|(y, p)| (y - p).powi(2)).sum(),
            Self::Absolute => pairs.map(|(y, p)| (y - p).abs()).sum(),
            Self::Huber { threshold } => pairs
                .map(|(y, p)| (y - p).abs())
                .map(|r| if r <= threshold { r * r } else { threshold * (2.0 * r - threshold) })
                .sum(),
            Self::KullbackLeibler => {
                Self::CrossEntropy.row(label, prediction) - Self::CrossEntropy.row(label, label)
            }
            Self::CrossEntropy => pairs
                .filter(|(y, _)| **y > 0.0)
                .map(|(y, p)| -y * p.max(SMALLEST_PROBABILITY).ln())
                .sum(),
        }
    }

    /// How much a unit of a label takes from the loss of a prediction, for losses that are linear in the
    /// label up to what does not depend on the prediction: squared loss and cross-entropy.
    pub(crate) fn tilt(self, prediction: f64) -> f64 {
        if self.is_of_classes() {
            prediction.max(SMALLEST_PROBABILITY).ln()
        } else {
            2.0 * prediction
        }
    }

    /// Whether the loss is one of class probabilities.
    #[must_use]
    pub fn is_of_classes(self) -> bool {
        matches!(self, Self::CrossEntropy | Self::KullbackLeibler)
    }

    /// The loss of every row.
    #[must_use]
    pub fn rows(self, labels: &Labels, predictions: &Labels) -> Vec<f64> {
        (0..labels.rows()).map(|row| self.row(labels.row(row), predictions.row(row))).collect()
    }

    /// The mean loss over the rows; zero where there is no row.
    #[must_use]
    pub fn mean(self, labels: &Labels, predictions: &Labels) -> f64 {
        let sum = match self {
            // The commonest of all, over every edge in every round: no row needs to be told apart.
            Self::Squared => squared_distance(labels.as_slice(), predictions.as_slice()),
            _ => self.rows(labels, predictions).iter().sum(),
        };
        sum / labels.rows().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_prediction_costs_nothing_and_even_odds_cost_log_two() {
        let labels = Labels::classes(2, &[0, 1]).unwrap();
        let even = Labels::neutral(labels.task(), 2);
        assert!(Loss::CrossEntropy.mean(&labels, &labels).abs() < 1e-15);
        assert!((Loss::CrossEntropy.mean(&labels, &even) - 2_f64.ln()).abs() < 1e-15);
        let values = Labels::values(vec![1.0, 3.0]);
        assert!((Loss::Squared.mean(&values, &Labels::values(vec![0.0, 0.0])) - 5.0).abs() < 1e-15);
    }

    #[test]
    fn huber_is_squared_near_zero_and_twice_the_threshold_steep_far_out() {
        let huber = |r: f64| Loss::Huber { threshold: 2.0 }.row(&[0.0], &[r]);
        assert!((huber(1.5) - Loss::Squared.row(&[0.0], &[1.5])).abs() < 1e-15);
        assert!((huber(8.0) - huber(7.0) - 4.0).abs() < 1e-12);
        assert!((Loss::Absolute.row(&[1.0], &[-2.0]) - 3.0).abs() < 1e-15);
    }

    #[test]
    fn kullback_leibler_is_zero_at_agreement_and_differs_by_the_labels_own_entropy() {
        let (p, q) = ([0.2, 0.8], [0.5, 0.5]);
        assert!(Loss::KullbackLeibler.row(&p, &p).abs() < 1e-15);
        let own = Loss::CrossEntropy.row(&p, &p);
        let difference = Loss::CrossEntropy.row(&p, &q) - Loss::KullbackLeibler.row(&p, &q);
        assert!((difference - own).abs() < 1e-15);
    }

    #[test]
    fn cross_entropy_is_smallest_at_the_label_itself() {
        let label = [0.2, 0.5, 0.3];
        let best = Loss::CrossEntropy.row(&label, &label);
        for step in [[0.01, -0.01, 0.0], [0.0, 0.01, -0.01], [-0.01, 0.0, 0.01]] {
            let moved: Vec<f64> = label.iter().zip(step).map(|(p, s)| p + s).collect();
            assert!(Loss::CrossEntropy.row(&label, &moved) > best);
        }
    }
}
