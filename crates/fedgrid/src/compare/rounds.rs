//! Training in rounds of messages.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

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
    observe::{Observer, Round, Validation},
    runtime::{InProcess, Order, Run},
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
            // Walks keep all cores busy, so that the nodes of one may learn in turn, which takes half of the rounds.
            // Methods of weights take other steps.
            if self.has_noise() {
                runtime.order = Order::InTurn;
                runtime.stop.rounds = runtime.stop.rounds.min(SEARCH_ROUNDS_IN_TURN);
            }
        }
        let run =
            self.run_rounds(method, network.views(self.nodes().to_vec())?, runtime, effort)?;
        self.finish(run, network, hub)
    }

    /// Lets some participants exchange messages.
    pub(super) fn run_rounds<M: Method>(
        &self,
        method: &M,
        views: Vec<View>,
        runtime: InProcess,
        effort: Effort,
    ) -> Result<Run> {
        let validation = match (effort, self.study.plan.folds.as_slice()) {
            // With several folds no set of rows is set aside from the final fit to measure on.
            (Effort::Final, [fold]) => self.study.select(&fold.validation),
            _ => Vec::new(),
        };
        let validation = Validation::new(&validation).by(self.study.metric());
        let error_unit = self.study.error_unit();
        // A tolerance of zero asks for every round.
        let may_rest = self.has_noise() && runtime.stop.tolerance > 0.0;
        let rest = may_rest.then(|| Rest::new(effort));
        let mut observer = Watched { watch: self.watch, validation, error_unit, effort, rest };
        runtime.observed(method, views, &mut observer)
    }

    /// Whether there are models without weights, which jump from round to round.
    fn has_noise(&self) -> bool {
        self.study.models.iter().any(|model| model.as_parametric().is_none())
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
struct Watched<'a> {
    watch: &'a dyn Watch,
    validation: Validation<'a>,
    /// What an error of models is worth in the units of the table.
    error_unit: f64,
    effort: Effort,
    /// Whether rounds still come nearer to rest, of models that jump.
    rest: Option<Rest>,
}

/// Rounds in turn that a search takes at most: a few behind the last in which trees grow.
const SEARCH_ROUNDS_IN_TURN: usize = 20;

/// Models without weights jump from one round to the next, by about as much for ever: there rounds end.
#[derive(Debug)]
struct Rest {
    /// The logarithms of the last residuals.
    last: VecDeque<f64>,
    /// The least mean of them so far, and how many rounds ago it was.
    least: f64,
    ago: usize,
    patience: Patience,
}

/// How long rounds wait for a smaller residual.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// So many residuals are taken together, by their geometric mean: a single one may be small by chance.
    window_rounds: usize,
    /// A residual that is smaller by less than this share is as good as the one before.
    smaller_share: f64,
    /// So many rounds without a smaller residual are noise.
    noisy_rounds: usize,
}

/// A search tells strengths apart by errors that rounds change in their third digit only after a few.
const OF_SEARCH: Patience = Patience { window_rounds: 1, smaller_share: 0.95, noisy_rounds: 5 };
/// What users keep waits longer. Rounds that come nearer by a thirtieth each go on, as slow ones of kernels do.
const OF_FINAL_FIT: Patience = Patience { window_rounds: 5, smaller_share: 0.7, noisy_rounds: 12 };

impl Rest {
    fn new(effort: Effort) -> Self {
        let patience = if effort == Effort::Search { OF_SEARCH } else { OF_FINAL_FIT };
        Self { last: VecDeque::new(), least: f64::INFINITY, ago: 0, patience }
    }

    fn add(&mut self, residual: f64) {
        self.last.push_back(residual.max(f64::MIN_POSITIVE).ln());
        if self.last.len() > self.patience.window_rounds {
            self.last.pop_front();
        }
        let mean = (self.last.iter().sum::<f64>() / self.last.len() as f64).exp();
        if mean < self.patience.smaller_share * self.least {
            (self.least, self.ago) = (mean, 0);
        } else {
            self.ago += 1;
        }
    }

    fn is_noise(&self) -> bool {
        self.ago >= self.patience.noisy_rounds
    }
}

impl Observer for Watched<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rounds pass until these residuals are noise.
    fn rounds(effort: Effort, residual: impl Fn(i32) -> f64) -> Option<i32> {
        let mut rest = Rest::new(effort);
        (0..300).find(|round| {
            rest.add(residual(*round));
            rest.is_noise()
        })
    }

    #[test]
    fn rounds_end_where_residuals_stay_and_go_on_while_they_fall() {
        for effort in [Effort::Search, Effort::Final] {
            let settled = rounds(effort, |round| 0.5_f64.powi(round).max(1e-4)).unwrap();
            assert!((15..35).contains(&settled), "{settled}");
        }
        assert_eq!(rounds(Effort::Final, |round| 0.96_f64.powi(round)), None);
        // One that is small by chance is neither rest nor a reason to wait.
        let chance = |round: i32| if round % 12 == 11 { 1e-7 } else { 1e-4 };
        assert!(rounds(Effort::Final, chance).unwrap() < 40);
    }
}
