//! Errors on given rows, node by node.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Study;
use crate::{data::Dataset, model::Hypothesis};

/// The errors of one node's model on some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeScore {
    /// The sum of errors, as the study measures them.
    pub loss: f64,
    /// How many rows were given their most probable class; zero for numbers.
    pub correct: usize,
    /// How many rows there were.
    pub rows: usize,
    /// What these count for, where it is not one each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ScoreCounts>,
}

/// What rows count for that do not count for one each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreCounts {
    /// All rows.
    pub rows: f64,
    /// Those given their most probable class.
    pub correct: f64,
}

impl NodeScore {
    /// The mean loss; none without a row.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.loss / self.row_count())
    }

    /// What all rows count for.
    #[must_use]
    pub fn row_count(&self) -> f64 {
        self.counts.map_or(self.rows as f64, |counts| counts.rows)
    }

    /// The share of rows given their most probable class.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        match self.counts {
            Some(counts) if counts.rows > 0.0 => counts.correct / counts.rows,
            Some(_) => 0.0,
            None => self.correct as f64 / self.rows.max(1) as f64,
        }
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
            counts: self.plus_counts(other),
        }
    }
}

impl NodeScore {
    /// What the rows of both count for; none if all count for one.
    fn plus_counts(&self, other: &Self) -> Option<ScoreCounts> {
        if self.counts.is_none() && other.counts.is_none() {
            return None;
        }
        let of = |one: &Self| {
            let plain = ScoreCounts { rows: one.rows as f64, correct: one.correct as f64 };
            one.counts.unwrap_or(plain)
        };
        let (a, b) = (of(self), of(other));
        Some(ScoreCounts { rows: a.rows + b.rows, correct: a.correct + b.correct })
    }
}

/// The scores of each node, added up.
pub(super) fn sum<'a>(folds: impl Iterator<Item = &'a Vec<NodeScore>>) -> Vec<NodeScore> {
    let mut folds = folds.cloned();
    let first = folds.next().unwrap_or_default();
    folds.fold(first, |sum, fold| sum.iter().zip(&fold).map(|(a, b)| a.plus(b)).collect())
}

impl Study {
    /// The scores of hypotheses on the given rows of each node, in the units of the table.
    #[must_use]
    pub fn score(&self, hypotheses: &[Arc<dyn Hypothesis>], rows: &[Vec<usize>]) -> Vec<NodeScore> {
        self.score_on(hypotheses, &self.select(rows))
    }

    /// The same on rows that were taken out already.
    pub(super) fn score_on(
        &self,
        hypotheses: &[Arc<dyn Hypothesis>],
        rows: &[Dataset],
    ) -> Vec<NodeScore> {
        let (metric, unit) = (self.metric(), self.error_unit());
        let score = |(node, data): (usize, &Dataset)| {
            let labels = data.labels();
            let predictions = data.over_exposures(hypotheses[node].predict(data.features()));
            let is_correct: Vec<bool> = if metric.is_of_classes() {
                let pairs = labels.most_probable().into_iter().zip(predictions.most_probable());
                pairs.map(|(truth, guess)| truth == guess).collect()
            } else {
                Vec::new()
            };
            let losses = metric.rows(labels, &predictions);
            let of_counts = |counts: &[f64]| ScoreCounts {
                rows: counts.iter().sum(),
                correct: (counts.iter().zip(&is_correct))
                    .map(|(count, is_correct)| if *is_correct { *count } else { 0.0 })
                    .sum(),
            };
            let sum: f64 = match data.counts() {
                Some(counts) => losses.iter().zip(counts).map(|(loss, count)| loss * count).sum(),
                None => losses.iter().sum(),
            };
            NodeScore {
                loss: unit * sum,
                correct: is_correct.iter().filter(|is_correct| **is_correct).count(),
                rows: data.rows(),
                counts: data.counts().map(of_counts),
            }
        };
        rows.par_iter().enumerate().map(score).collect()
    }
}
