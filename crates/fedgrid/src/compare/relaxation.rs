//! FedRelax and the pull to the pooled model: linear networks are solved directly, all others run in
//! rounds of messages.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Certificate, Fitted, Watch,
    fitted::{Effort, Pulled, Warm},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::{FedRelax, Method, Shrunk},
    model::{Hypothesis, LinearHypothesis},
    network::{Network, View},
    observe::{Observer, Round, Stop, Validation},
    optimum::{Anchor, Limit, LinearNetwork},
    runtime::{InProcess, Run},
};

impl Trainer<'_> {
    /// Every node pulled to the pooled model.
    pub(super) fn shrunk(&self, alpha: f64, effort: Effort) -> Result<Fitted> {
        let network = &self.without_edges()?;
        let pooled = self.anchor()?;
        if let (Some(linear), Some(centre)) = (&self.linear, pooled[0].downcast_ref()) {
            let linear = linear.clone().with_centre(centre);
            let pulled = Pulled { network, alpha, warm: Warm::Cold, effort };
            if let Some(fitted) = self.solved(&linear, &pulled, 1.0)? {
                return Ok(fitted);
            }
        }
        let couple_intercept = self.study.settings.method.couples_intercepts();
        self.rounds(&Shrunk { alpha, couple_intercept, pooled }, network, 1.0, effort)
    }

    /// Every node pulled to its neighbours' predictions.
    pub(super) fn relaxed(&self, method: &FedRelax, pulled: Pulled) -> Result<Fitted> {
        let hub = method.hub;
        if let Some(linear) = &self.linear
            && let Some(fitted) = self.solved(linear, &pulled, hub)?
        {
            return Ok(fitted);
        }
        let Pulled { network, alpha, warm, effort } = pulled;
        let method = FedRelax {
            alpha,
            pooled: if hub > 0.0 { Some(self.anchor()?) } else { None },
            start: if let Warm::Hypotheses(start) = warm { Some(start) } else { None },
            ..method.clone()
        };
        self.rounds(&method, network, hub, effort)
    }

    /// The direct solution; alpha = 0 is left to local training, which knows what to do with fewer
    /// rows than features.
    fn solved(&self, linear: &LinearNetwork, pulled: &Pulled, hub: f64) -> Result<Option<Fitted>> {
        let Pulled { network, alpha, warm, effort } = pulled;
        if *alpha == 0.0 {
            return Ok(None);
        }
        let anchor = if hub > 0.0 {
            match self.anchor()?[0].downcast_ref::<LinearHypothesis>().cloned() {
                Some(hypothesis) => Some(Anchor { weight: hub, hypothesis }),
                None => return Ok(None),
            }
        } else {
            None
        };
        let tolerance = if *effort == Effort::Search { 1e-4 } else { 1e-11 };
        let limit = Limit { tolerance, products: 20_000 };
        let start = match warm {
            Warm::Weights(start) => start.clone(),
            // Strong pulls come first, and their limit is near the pooled model.
            _ => linear.common_weights().repeat(network.len()),
        };
        let solution = linear.solve(network, *alpha, anchor.as_ref(), start, limit)?;
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> =
            linear.hypotheses(&solution.weights).map(|h| Some(h.into())).collect();
        self.replace_lonely(network, hub, &mut hypotheses)?;
        Ok(Some(Fitted {
            residuals: solution.history,
            certificate: Certificate {
                kind: "relative residual of the linear system".into(),
                value: solution.residual,
                converged: solution.residual <= (10.0 * tolerance).max(within_rounding(*alpha)),
                reason: None,
            },
            engine: "Krylov method on the linear system".into(),
            warm: Warm::Weights(solution.weights),
            ..Fitted::exact(self.filled(network, hub, hypotheses)?)
        }))
    }

    /// Rounds of messages between the nodes.
    pub(super) fn rounds<M: Method>(
        &self,
        method: &M,
        network: &Network,
        hub: f64,
        effort: Effort,
    ) -> Result<Fitted> {
        let mut runtime = self.study.settings.runtime;
        if effort == Effort::Search {
            runtime.stop.tolerance = runtime.stop.tolerance.max(1e-4);
            runtime.stop.rounds = runtime.stop.rounds.min(50);
        }
        let run =
            self.played(method, network.views(self.nodes().to_vec())?, runtime.stop, effort)?;
        self.ended(run, network, hub)
    }

    /// Lets some participants exchange messages.
    pub(super) fn played<M: Method>(
        &self,
        method: &M,
        views: Vec<View>,
        stop: Stop,
        effort: Effort,
    ) -> Result<Run> {
        let validation = match (effort, self.study.plan.folds.as_slice()) {
            (Effort::Final, [fold]) => self.study.select(&fold.validation),
            _ => Vec::new(),
        };
        let validation = Validation::new(&validation);
        let mut observer = Patience { watch: self.watch, validation, effort };
        InProcess { stop, ..self.study.settings.runtime }.observed(method, views, &mut observer)
    }
}

/// The relative residual that rounding leaves in products of size α and that is good enough all the same;
/// beyond the largest, what all nodes have in common drowns in rounding.
fn within_rounding(alpha: f64) -> f64 {
    const LARGEST_RESIDUAL: f64 = 1e-6;
    (1e-14 * alpha).min(LARGEST_RESIDUAL)
}

/// Measures on validation rows and stops a run when its study is interrupted.
struct Patience<'a> {
    watch: &'a dyn Watch,
    validation: Validation<'a>,
    effort: Effort,
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
        let flow = self.validation.round(record, hypotheses);
        if self.effort == Effort::Final {
            self.watch.round(record);
        }
        flow
    }
}
