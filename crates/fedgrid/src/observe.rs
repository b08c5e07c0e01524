//! What happened: a record per round, who reads it along the way, and when a run may stop.

use std::{ops::ControlFlow, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{algebra::dot, data::Dataset, metric::Metric, model::Hypothesis};

/// One round, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Which round it was, from one.
    pub round: usize,
    /// The objective `Σ_i L_i + α GTV` at the start of the round.
    pub objective: f64,
    /// The training loss `Σ_i L_i` in it.
    pub loss: f64,
    /// The generalised total variation in it, every edge counted once.
    pub gtv: f64,
    /// How far the round moved the public predictions, relative to their size, or how far weights
    /// and duals are from the conditions of a minimum: zero at a fixed point.
    pub residual: f64,
    /// A bound on the objective above its minimum, where all nodes could give their part of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gap: Option<f64>,
    /// How many bytes the edges carried.
    pub bytes: usize,
    /// The mean error on validation rows after the round, where an observer measures it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<f64>,
}

/// Reads a run along the way. What it returns ends the run early, as an interruption.
pub trait Observer {
    /// A round has ended; the observer may add what it measures to the record.
    fn round(
        &mut self,
        record: &mut Round,
        hypotheses: &[Option<Arc<dyn Hypothesis>>],
    ) -> ControlFlow<()>;

    /// Whether it has seen enough: the run ends with what it has.
    fn has_seen_enough(&self) -> bool {
        false
    }
}

/// An observer that looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn round(&mut self, _: &mut Round, _: &[Option<Arc<dyn Hypothesis>>]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// An observer that measures the errors of all nodes on given rows after every round.
#[derive(Debug, Clone)]
pub struct Validation<'a> {
    rows: &'a [Dataset],
    /// What errors are; none is that of the task.
    metric: Option<Metric>,
    /// The mean error of each node, round by round; none for a node without rows or hypothesis.
    pub nodes: Vec<Vec<Option<f64>>>,
}

impl<'a> Validation<'a> {
    /// Measures on these rows of each node.
    #[must_use]
    pub fn new(rows: &'a [Dataset]) -> Self {
        Self { rows, metric: None, nodes: Vec::new() }
    }

    /// Measures by another error than that of the task.
    #[must_use]
    pub fn by(self, metric: Metric) -> Self {
        Self { metric: Some(metric), ..self }
    }
}

impl Observer for Validation<'_> {
    fn round(
        &mut self,
        record: &mut Round,
        hypotheses: &[Option<Arc<dyn Hypothesis>>],
    ) -> ControlFlow<()> {
        let error = |(data, hypothesis): (&Dataset, &Option<Arc<dyn Hypothesis>>)| {
            let predictions = hypothesis.as_ref()?.predict(data.features());
            let predictions = data.over_exposures(predictions);
            let metric = self.metric.unwrap_or(Metric::of(data.task()));
            let error = match data.counts() {
                None => metric.mean(data.labels(), &predictions),
                Some(counts) => {
                    dot(&metric.rows(data.labels(), &predictions), counts) / data.row_count()
                }
            };
            (data.row_count() > 0.0).then_some(error)
        };
        let errors: Vec<Option<f64>> = self.rows.iter().zip(hypotheses).map(error).collect();
        let measured = self.rows.iter().zip(&errors).filter_map(|(data, error)| {
            let rows = data.row_count();
            // Weighted by rows, so that a node with few of them does not decide the mean.
            error.map(|error| (rows * error, rows))
        });
        let (sum, count) = measured.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
        record.validation = (count > 0.0).then(|| sum / count);
        self.nodes.push(errors);
        ControlFlow::Continue(())
    }
}

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// The residual at which the run has converged.
    pub tolerance: f64,
    /// The largest number of rounds.
    pub rounds: usize,
}

impl Stop {
    /// After so many iterations of PersFL: questions go out in one round and answers come back in
    /// the next. An iteration in which nothing changes is not the last, for the next asks others.
    #[must_use]
    pub fn after_probes(iterations: usize) -> Self {
        // No residual is below zero, so only the number of rounds ends the run.
        Self { tolerance: -1.0, rounds: 2 * iterations }
    }

    /// When no node has anything left to do, which comes by itself.
    #[must_use]
    pub fn when_all_have_ended() -> Self {
        Self { tolerance: 0.0, rounds: usize::MAX }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self { tolerance: 1e-6, rounds: 500 }
    }
}
