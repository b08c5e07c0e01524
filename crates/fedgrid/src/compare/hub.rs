//! What methods with a hub have in common when they are compared.

use std::sync::Arc;

use super::{
    Fitted,
    fitted::{Effort, StartingPoint},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::{FedAvg, Method, hub::around_hub},
    observe::Stop,
    runtime::{InProcess, Run},
};

/// Iteration limit and tolerance of a baseline that is shown beside another method; one that is the study's own
/// method uses the study's. The result of some methods depends on when they stop, so a strength is used
/// exactly as it was tried.
pub(super) const BASELINE_ITERATIONS: usize = 100;
pub(super) const BASELINE_TOLERANCE: f64 = 1e-4;

impl Trainer<'_> {
    /// How a method averages at its hub in this study.
    pub(super) fn averaging(&self, keys: &FedAvg, start: Option<Arc<[f64]>>) -> FedAvg {
        let Stop { tolerance, rounds: iterations } =
            self.baseline_stop(BASELINE_ITERATIONS, BASELINE_TOLERANCE);
        FedAvg { start, seed: self.study.settings.seed, iterations, tolerance, ..keys.clone() }
    }

    /// When a method that others are compared with stops.
    pub(super) fn baseline_stop(&self, rounds: usize, tolerance: f64) -> Stop {
        let stop = self.study.settings.runtime.stop;
        if self.study.settings.method.facts().is_baseline {
            return stop;
        }
        Stop { rounds: stop.rounds.min(rounds), tolerance: stop.tolerance.max(tolerance) }
    }

    /// A method that averages weights at a hub, to its end.
    pub(super) fn through_hub<M: Method>(&self, method: &M, effort: Effort) -> Result<Fitted> {
        // The hub counts its iterations, two rounds each, and says when it is done.
        let iterations = self.baseline_stop(BASELINE_ITERATIONS, BASELINE_TOLERANCE).rounds;
        let stop = Stop { tolerance: 0.0, rounds: 2 * iterations + 3 };
        let runtime = InProcess { stop, ..self.study.settings.runtime };
        let mut run =
            self.run_rounds(method, around_hub(self.nodes().to_vec())?, runtime, effort)?;
        let hub = run.hypotheses.pop().flatten();
        // All nodes have models of one kind here, so any of them reads the hub's weights.
        let model = self.nodes()[0].model.as_parametric();
        let common = hub.zip(model).and_then(|(hub, model)| model.weights(hub.as_ref()));
        let next_start =
            common.map_or(StartingPoint::Cold, |weights| StartingPoint::Common(weights.into()));
        // In the last round nothing is left to say.
        run.history.pop();
        self.finish_at_hub(run, next_start)
    }

    /// What is left of a run through a hub.
    pub(super) fn finish_at_hub(&self, run: Run, next_start: StartingPoint) -> Result<Fitted> {
        let network = self.study.network.without_edges();
        let fitted = self.finish(run, &network, 1.0)?;
        Ok(Fitted { engine: "rounds of messages through a hub".into(), next_start, ..fitted })
    }
}
