//! Linear models coupled by predictions, solved directly.

use std::sync::Arc;

use super::{
    Certificate, Fitted,
    fitted::{Effort, FitRequest, StartingPoint},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::Shrunk,
    model::{Hypothesis, LinearHypothesis},
    optimum::{Anchor, Limit, LinearNetwork},
};

impl Trainer<'_> {
    /// The direct solution of the whole network, where there is one.
    pub(super) fn solve_linear(&self, request: &FitRequest, hub: f64) -> Result<Option<Fitted>> {
        self.linear.as_ref().map_or(Ok(None), |linear| self.solved(linear, request, hub))
    }

    /// Every node pulled to the pooled model.
    pub(super) fn shrunk(&self, strength: f64, effort: Effort) -> Result<Fitted> {
        let network = &self.study.network.without_edges();
        let pooled = self.anchor()?;
        if let (Some(linear), Some(centre)) = (&self.linear, pooled[0].downcast_ref()) {
            let linear = linear.clone().with_centre(centre);
            let request = FitRequest::new(network, strength, StartingPoint::Cold, effort);
            if let Some(fitted) = self.solved(&linear, &request, 1.0)? {
                return Ok(fitted);
            }
        }
        let couple_intercept = self.study.settings.method.facts().couples_intercepts;
        self.rounds(&Shrunk { alpha: strength, couple_intercept, pooled }, network, 1.0, effort)
    }

    /// The direct solution; alpha = 0 is left to local training, which knows what to do with fewer
    /// rows than features.
    fn solved(
        &self,
        linear: &LinearNetwork,
        request: &FitRequest,
        hub: f64,
    ) -> Result<Option<Fitted>> {
        let FitRequest { network, strength: alpha, start, effort, .. } = request;
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
        // A search compares errors that differ in their third digit; what users keep is solved to rounding.
        let tolerance = if *effort == Effort::Search { 1e-4 } else { 1e-11 };
        // Far above what any network has needed; a system that takes more is near singular, and is said so.
        let limit = Limit { tolerance, products: 20_000 };
        let start = match start {
            StartingPoint::Weights(start) => start.clone(),
            // Strong pulls come first, and their limit is near the pooled model.
            _ => linear.common_weights().repeat(network.len()),
        };
        let solution = linear.solve(network, *alpha, anchor.as_ref(), start, limit)?;
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> =
            linear.hypotheses(&solution.weights).map(|h| Some(h.into())).collect();
        self.fit_isolated(network, hub, &mut hypotheses)?;
        Ok(Some(Fitted {
            residuals: solution.history,
            certificate: Certificate {
                kind: "relative residual of the linear system".into(),
                value: solution.residual,
                converged: solution.residual <= (10.0 * tolerance).max(within_rounding(*alpha)),
                reason: None,
            },
            engine: "Krylov method on the linear system".into(),
            next_start: StartingPoint::Weights(solution.weights),
            ..Fitted::exact(self.fill_undetermined(network, hub, hypotheses)?)
        }))
    }
}

/// The relative residual that rounding leaves in products of size α and that is good enough all the same;
/// beyond the largest, what all nodes have in common drowns in rounding.
fn within_rounding(alpha: f64) -> f64 {
    const LARGEST_RESIDUAL: f64 = 1e-6;
    (1e-14 * alpha).min(LARGEST_RESIDUAL)
}
