//! Training in rounds of messages.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Certificate, Fitted, Watch,
    fitted::{Effort, StartingPoint},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::Method,
    model::Hypothesis,
    network::{Network, View},
    observe::{Observer, Round, Stop, Validation},
    runtime::{InProcess, Run},
};

impl Trainer<'_> {
    /// Rounds of messages between the nodes.
    pub(super) fn rounds<M: Method>(
        &self,
        method: &M,
        network: &Network,
        hub: f64,
        effort: Effort,
    ) -> Result<Fitted> {
        let mut runtime = self.study.settings.runtime;
        // Strengths are told apart long before rounds have converged.
        if effort == Effort::Search {
            runtime.stop.tolerance = runtime.stop.tolerance.max(1e-4);
            runtime.stop.rounds = runtime.stop.rounds.min(50);
        }
        let run =
            self.run_rounds(method, network.views(self.nodes().to_vec())?, runtime.stop, effort)?;
        self.finish(run, network, hub)
    }

    /// Lets some participants exchange messages.
    pub(super) fn run_rounds<M: Method>(
        &self,
        method: &M,
        views: Vec<View>,
        stop: Stop,
        effort: Effort,
    ) -> Result<Run> {
        let validation = match (effort, self.study.plan.folds.as_slice()) {
            // With several folds no set of rows is set aside from the final fit to measure on.
            (Effort::Final, [fold]) => self.study.select(&fold.validation),
            _ => Vec::new(),
        };
        let validation = Validation::new(&validation).by(self.study.metric());
        let error_unit = self.study.error_unit();
        let has_noise = self.study.models.iter().any(|model| model.as_parametric().is_none());
        let rest = (effort == Effort::Search && has_noise).then(Rest::default);
        let mut observer = Patience { watch: self.watch, validation, error_unit, effort, rest };
        InProcess { stop, ..self.study.settings.runtime }.observed(method, views, &mut observer)
    }

    /// What is left of a run of messages.
    pub(super) fn finish(&self, run: Run, network: &Network, hub: f64) -> Result<Fitted> {
        let last = run.history.last();
        let gap = last.and_then(|round| Some((round.gap?, round.objective)));
        let (kind, value) = match gap {
            Some((gap, objective)) if gap.is_finite() => {
                ("certified relative gap", gap / objective.abs().max(f64::MIN_POSITIVE))
            }
            _ => ("fixed-point residual", last.map_or(0.0, |round| round.residual)),
        };
        let hypotheses: Vec<Option<Arc<dyn Hypothesis>>> = run.hypotheses;
        Ok(Fitted {
            certificate: Certificate {
                kind: kind.into(),
                value,
                converged: run.converged,
                reason: None,
            },
            next_start: StartingPoint::Hypotheses(hypotheses.clone().into()),
            residuals: run.history.iter().map(|round| round.residual).collect(),
            rounds: run.history,
            direct: false,
            engine: "rounds of messages".into(),
            damped: run.damped,
            ..Fitted::exact(self.fill_undetermined(network, hub, hypotheses)?)
        })
    }
}

/// Measures on validation rows and stops a run when its study is interrupted.
struct Patience<'a> {
    watch: &'a dyn Watch,
    validation: Validation<'a>,
    /// What an error of models is worth in the units of the table.
    error_unit: f64,
    effort: Effort,
    /// Whether rounds still come nearer to rest, where a search asks for it.
    rest: Option<Rest>,
}

/// Models without weights jump from one round to the next, by about as much for ever: a search ends there.
#[derive(Debug)]
struct Rest {
    /// The least residual so far, and how many rounds ago it was.
    least: f64,
    ago: usize,
}

/// A residual that is smaller by less than this share is as good as the one before.
const SMALLER_SHARE: f64 = 0.95;
/// So many rounds without a smaller residual are noise.
const NOISY_ROUNDS: usize = 5;

impl Default for Rest {
    fn default() -> Self {
        Self { least: f64::INFINITY, ago: 0 }
    }
}

impl Rest {
    fn add(&mut self, residual: f64) {
        if residual < SMALLER_SHARE * self.least {
            (self.least, self.ago) = (residual, 0);
        } else {
            self.ago += 1;
        }
    }

    fn is_noise(&self) -> bool {
        self.ago >= NOISY_ROUNDS
    }
}

impl Observer for Patience<'_> {
    fn round(
        &mut self,
        record: &mut Round,
        hypotheses: &[Option<Arc<dyn Hypothesis>>],
    ) -> ControlFlow<()> {
        if self.watch.interrupted() {
            return ControlFlow::Break(());
        }
        if let Some(rest) = &mut self.rest {
            rest.add(record.residual);
        }
        let flow = self.validation.round(record, hypotheses);
        record.validation = record.validation.map(|error| self.error_unit * error);
        if self.effort == Effort::Final {
            self.watch.round(record);
        }
        flow
    }

    fn has_seen_enough(&self) -> bool {
        self.rest.as_ref().is_some_and(Rest::is_noise)
    }
}
