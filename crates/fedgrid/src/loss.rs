//! How far predictions are from labels,
//!
//! ```text
//! squared        L(y, ŷ) = (y − ŷ)²
//! cross-entropy  L(p, q) = − Σ_c p_c log q_c
//! ```
//!
//! The same functions measure the discrepancy between two nodes' predictions on public points,
//! with the neighbour's predictions as labels. ["Plug In and Learn", eq. 11 and section III.]

use serde::{Deserialize, Serialize};

use crate::data::{Labels, Task};

/// Probabilities below this count as this: one certain mistake is bad, not infinitely bad.
const SMALLEST_PROBABILITY: f64 = 1e-12;

/// A loss per row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The squared difference, summed over outputs.
    Squared,
    /// The cross-entropy of predicted class probabilities.
    CrossEntropy,
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
            Self::CrossEntropy => pairs
                .filter(|(y, _)| **y > 0.0)
                .map(|(y, p)| -y * p.max(SMALLEST_PROBABILITY).ln())
                .sum(),
        }
    }

    /// The loss of every row.
    #[must_use]
    pub fn rows(self, labels: &Labels, predictions: &Labels) -> Vec<f64> {
        (0..labels.rows()).map(|row| self.row(labels.row(row), predictions.row(row))).collect()
    }

    /// The mean loss over the rows; zero where there is no row.
    #[must_use]
    pub fn mean(self, labels: &Labels, predictions: &Labels) -> f64 {
        self.rows(labels, predictions).iter().sum::<f64>() / labels.rows().max(1) as f64
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
    fn cross_entropy_is_smallest_at_the_label_itself() {
        let label = [0.2, 0.5, 0.3];
        let best = Loss::CrossEntropy.row(&label, &label);
        for step in [[0.01, -0.01, 0.0], [0.0, 0.01, -0.01], [-0.01, 0.0, 0.01]] {
            let moved: Vec<f64> = label.iter().zip(step).map(|(p, s)| p + s).collect();
            assert!(Loss::CrossEntropy.row(&label, &moved) > best);
        }
    }
}
