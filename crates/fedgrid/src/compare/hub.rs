//! What methods with a hub have in common when they are compared.

use std::sync::Arc;

use super::{
    Fitted,
    fitted::{Effort, WarmStart},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::{FedAvg, Method, hub::around_hub},
    observe::Stop,
    runtime::Run,
};

/// Iteration limit and tolerance of a rival that is shown beside another method; one that is the study's own
/// method uses the study's. The result of some methods depends on when they stop, so a strength is used
/// exactly as it was tried.
pub(super) const RIVAL_ITERATIONS: usize = 100;
pub(super) const RIVAL_TOLERANCE: f64 = 1e-4;

/// The weights that the hub's model starts from.
pub(super) struct HubStart;

impl HubStart {
    /// Those of the strength before, for methods whose end does not depend on their start.
    pub(super) fn of(warm: WarmStart) -> Option<Arc<[f64]>> {
        if let WarmStart::Common(start) = warm { Some(start) } else { None }
    }
}

impl Trainer<'_> {
    /// How a method averages at its hub in this study.
    pub(super) fn averaging(&self, keys: &FedAvg, start: Option<Arc<[f64]>>) -> FedAvg {
        let Stop { tolerance, rounds: iterations } =
            self.rival_stop(RIVAL_ITERATIONS, RIVAL_TOLERANCE);
        FedAvg { start, seed: self.study.settings.seed, iterations, tolerance, ..keys.clone() }
    }

    /// When a method that others are compared with stops.
    pub(super) fn rival_stop(&self, rounds: usize, tolerance: f64) -> Stop {
        let stop = self.study.settings.runtime.stop;
        if self.study.settings.method.facts().is_baseline {
            return stop;
        }
        Stop { rounds: stop.rounds.min(rounds), tolerance: stop.tolerance.max(tolerance) }
    }

    /// A method that averages weights at a hub, to its end.
    pub(super) fn through_hub<M: Method>(&self, method: &M, effort: Effort) -> Result<Fitted> {
        // The hub counts its iterations, two rounds each, and says when it is done.
        let iterations = self.rival_stop(RIVAL_ITERATIONS, RIVAL_TOLERANCE).rounds;
        let stop = Stop { tolerance: 0.0, rounds: 2 * iterations + 3 };
        let mut run = self.run_rounds(method, around_hub(self.nodes().to_vec())?, stop, effort)?;
        let hub = run.hypotheses.pop().flatten();
        let model = self.nodes()[0].model.as_parametric();
        let common = hub.zip(model).and_then(|(hub, model)| model.weights(hub.as_ref()));
        let warm = common.map_or(WarmStart::Cold, |weights| WarmStart::Common(weights.into()));
        // In the last round nothing is left to say.
        run.history.pop();
        self.finish_at_hub(run, warm)
    }

    /// What is left of a run through a hub.
    pub(super) fn finish_at_hub(&self, run: Run, warm: WarmStart) -> Result<Fitted> {
        let network = self.without_edges()?;
        let fitted = self.finish(run, &network, 1.0)?;
        Ok(Fitted { engine: "rounds of messages through a hub".into(), warm, ..fitted })
    }
}
