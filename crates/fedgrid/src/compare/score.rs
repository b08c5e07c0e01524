//! Errors on given rows, node by node.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Study;
use crate::{loss::Loss, model::Hypothesis};

/// The errors of one node's model on some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeScore {
    /// The sum of losses: squared errors, or cross-entropies.
    pub loss: f64,
    /// How many rows were given their most probable class; zero for numbers.
    pub correct: usize,
    /// How many rows there were.
    pub rows: usize,
}

impl NodeScore {
    /// The mean loss; none without a row.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.loss / self.rows as f64)
    }

    /// The scores of all nodes as one.
    #[must_use]
    pub fn total(scores: &[Self]) -> Self {
        scores.iter().fold(Self::default(), NodeScore::plus)
    }

    pub(super) fn plus(self, other: &Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            correct: self.correct + other.correct,
            rows: self.rows + other.rows,
        }
    }
}

impl Study {
    /// The scores of hypotheses on the given rows of each node, in the units of the table.
    #[must_use]
    pub fn score(&self, hypotheses: &[Arc<dyn Hypothesis>], rows: &[Vec<usize>]) -> Vec<NodeScore> {
        let (loss, unit) = (Loss::of(self.task()), self.error_unit());
        let score = |(node, rows): (usize, &Vec<usize>)| {
            let data = &self.rows[node];
            let labels = data.labels().select(rows);
            let predictions = hypotheses[node].predict(&data.features().select(rows));
            let correct = if loss.is_of_classes() {
                let pairs = labels.most_probable().into_iter().zip(predictions.most_probable());
                pairs.filter(|(truth, guess)| truth == guess).count()
            } else {
                0
            };
            NodeScore {
                loss: unit * loss.rows(&labels, &predictions).iter().sum::<f64>(),
                correct,
                rows: rows.len(),
            }
        };
        rows.par_iter().enumerate().map(score).collect()
    }
}
