//! What the rows of a node say about a method beyond their summed loss: enough to pair two methods row by
//! row, or nearly so, and to see what neighbours have in common.
//!
//! ```text
//! ℓ(y, p_B) − ℓ(y, p_A) = (θ(p_A) − θ(p_B)) · y + c(p_A, p_B)      squared θ(p) = 2p, cross-entropy θ(p) = log p
//!                                                          deviance θ(p) = 2 log p, error rate θ(p) = [p largest]
//! ```
//!
//! These are linear in the label, so that given the models only y − p is random in a difference. Absolute errors are
//! not; there θ(p) = p and the side of p that y is on takes the place of y − p, which holds to first order. Kept are
//! sums of ℓ, of y − p and of θ(p) over a few batches of rows, drawn at random. A row that stands for several is
//! drawn as one: its copies would not err by themselves.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{NodeScore, Study};
use crate::{
    data::by_name,
    model::Hypothesis,
    random::{Purpose, Stream},
};

/// Batches of a node at most: seven degrees of freedom at each node are enough even for few nodes.
const MOST_BATCHES: usize = 8;
/// Batches of all nodes together, about: what a card of a large network may hold. Two a node are kept.
const BATCHES_IN_ALL: usize = 100_000;

/// The rows of one node in batches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeEvidence {
    /// How many rows each batch has.
    pub rows: Vec<usize>,
    /// What these count for; empty if for one each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<f64>,
    /// The summed loss of each batch.
    pub losses: Vec<f64>,
    /// The summed residuals y − p of each batch, one for every output; empty if they are not known.
    pub residuals: Vec<f64>,
    /// The summed tilts θ(p) of each batch: how much a unit of the label takes from the loss.
    pub tilts: Vec<f64>,
}

impl NodeEvidence {
    /// Rows of which the sum is all that is known.
    pub(super) fn of_sum(score: &NodeScore) -> Self {
        let rows = (score.rows > 0).then_some(score.rows);
        let (losses, counts) = (rows.map(|_| score.loss), rows.and(score.counts));
        Self {
            rows: Vec::from_iter(rows),
            counts: counts.map(|counts| counts.rows).into_iter().collect(),
            losses: Vec::from_iter(losses),
            ..Self::default()
        }
    }

    /// What the rows of each batch count for.
    pub(super) fn row_counts(&self) -> Vec<f64> {
        if self.counts.is_empty() {
            self.rows.iter().map(|&rows| rows as f64).collect()
        } else {
            self.counts.clone()
        }
    }

    /// The means of several methods at each node; all have the same rows.
    pub(super) fn means(methods: &[Vec<Self>]) -> Option<Vec<Self>> {
        let (first, rest) = methods.split_first()?;
        let share = 1.0 / methods.len() as f64;
        let mean = |(node, own): (usize, &Self)| {
            let values = |of: fn(&Self) -> &Vec<f64>| {
                let sum = |(k, own): (usize, &f64)| {
                    share * rest.iter().fold(*own, |sum, method| sum + of(&method[node])[k])
                };
                of(own).iter().enumerate().map(sum).collect()
            };
            Self {
                rows: own.rows.clone(),
                counts: own.counts.clone(),
                losses: values(|one| &one.losses),
                residuals: values(|one| &one.residuals),
                tilts: values(|one| &one.tilts),
            }
        };
        Some(first.iter().enumerate().map(mean).collect())
    }
}

impl Study {
    /// The evidence of hypotheses on the given rows of each node.
    #[must_use]
    pub fn evidence(
        &self,
        hypotheses: &[Arc<dyn Hypothesis>],
        rows: &[Vec<usize>],
    ) -> Vec<NodeEvidence> {
        self.evidence_by(hypotheses, rows, 1)
    }

    /// The same in batches of so many rows at least, where a node has them; rows that stand for several are then one
    /// batch, in which none is most of a sum.
    pub(super) fn evidence_by(
        &self,
        hypotheses: &[Arc<dyn Hypothesis>],
        rows: &[Vec<usize>],
        fewest_rows: usize,
    ) -> Vec<NodeEvidence> {
        let metric = self.metric();
        let most = (BATCHES_IN_ALL / rows.len().max(1)).clamp(2, MOST_BATCHES);
        let (unit, mut places) = (self.target_unit(), vec![0; rows.len()]);
        let (residual_unit, tilt_unit) = (metric.residual_unit(unit), metric.tilt_unit(unit));
        let error_unit = residual_unit * tilt_unit;
        let order = by_name(self.network.names());
        order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
        let evidence = |(node, rows): (usize, &Vec<usize>)| {
            // Rows may be sorted by what they hold, and batches must be alike.
            let mut stream = Stream::new(self.settings.seed, places[node], 0, Purpose::Batches);
            let drawn = stream.permutation(rows.len());
            let rows: Vec<usize> = drawn.into_iter().map(|place| rows[place]).collect();
            let data = self.rows[node].select(&rows);
            let labels = data.labels();
            let predictions = data.over_exposures(hypotheses[node].predict(data.features()));
            let losses = metric.rows(labels, &predictions);
            let is_one = fewest_rows > 1 && data.counts().is_some();
            let allowed = if is_one { 1 } else { (rows.len() / fewest_rows).max(1) };
            let batches = most.min(allowed).min(rows.len());
            let mut found = NodeEvidence::default();
            for batch in 0..batches {
                let members = batch * rows.len() / batches..(batch + 1) * rows.len() / batches;
                let count = |row: usize| data.count(row);
                found.rows.push(members.len());
                if data.counts().is_some() {
                    found.counts.push(members.clone().map(count).sum());
                }
                let batch_losses = members.clone().map(|row| count(row) * losses[row]);
                found.losses.push(error_unit * batch_losses.sum::<f64>());
                for output in 0..self.task().outputs() {
                    let (y, p) = (|row| labels.row(row), |row| predictions.row(row));
                    let rows = || members.clone();
                    let residuals = rows()
                        .map(|row| count(row) * metric.residual(y(row)[output], p(row)[output]));
                    let tilts = rows().map(|row| count(row) * metric.tilt(p(row), output));
                    found.residuals.push(residual_unit * residuals.sum::<f64>());
                    found.tilts.push(tilt_unit * tilts.sum::<f64>());
                }
            }
            found
        };
        rows.par_iter().enumerate().map(evidence).collect()
    }
}
