//! Models coupled by predictions, solved directly: linear ones as one system, others with smooth losses by Newton's
//! method.

use std::sync::Arc;

use super::{
    Certificate, Fitted,
    contender::Facts,
    fitted::{Effort, FitRequest, StartingPoint},
    trainer::Trainer,
    undetermined,
};
use crate::{
    error::Result,
    method::Shrunk,
    model::{Hypothesis, LinearHypothesis},
    optimum::{
        Anchor, Limit, LinearNetwork, SmoothAnchor, SmoothCoupling, SmoothNetwork, SmoothStart,
    },
};

impl Trainer<'_> {
    /// The direct solution of the whole network, where there is one.
    pub(super) fn solve_directly(
        &self,
        facts: &Facts,
        request: &FitRequest,
    ) -> Result<Option<Fitted>> {
        let hub = facts.hub;
        if !facts.solves_directly {
            return Ok(None);
        }
        if let Some(linear) = &self.linear {
            return self.solved(linear, request, hub);
        }
        // A network of smooth losses couples levels, too.
        let smooth = self.smooth().filter(|_| facts.couples_intercepts);
        smooth.map_or(Ok(None), |smooth| self.solved_smoothly(smooth, request, hub))
    }

    /// Every node pulled to the pooled model.
    pub(super) fn shrunk(&self, request: FitRequest) -> Result<Fitted> {
        let FitRequest { strength, start, effort, .. } = request;
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
        if let Some(smooth) = self.smooth().filter(|_| couple_intercept) {
            let request = FitRequest::new(network, strength, start, effort);
            if let Some(fitted) = self.solved_smoothly(smooth, &request, 1.0)? {
                return Ok(fitted);
            }
        }
        let pooled_predictions = Some(self.anchor_predictions()?);
        let method = Shrunk { alpha: strength, couple_intercept, pooled, pooled_predictions };
        self.rounds(&method, network, 1.0, effort)
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

impl Trainer<'_> {
    /// The fixed point of models with smooth losses; none where Newton's method does not get there.
    fn solved_smoothly(
        &self,
        smooth: &SmoothNetwork,
        request: &FitRequest,
        hub: f64,
    ) -> Result<Option<Fitted>> {
        let FitRequest { network, strength: alpha, start, effort, .. } = request;
        if *alpha == 0.0 {
            return Ok(None);
        }
        // Strong pulls come first, and their limit is near the pooled model.
        let pooled = self.anchor()?;
        let Some(pooled) = smooth.weights_of(pooled.iter().map(AsRef::as_ref)) else {
            return Ok(None);
        };
        // Nodes that nobody pulls at are trained alone, and those that nothing determines are pooled.
        let mut is_coupled: Vec<bool> = (0..network.len())
            .map(|node| hub > 0.0 || !network.neighbours(node).is_empty())
            .collect();
        if hub == 0.0 {
            for node in undetermined(network, |node| self.has_rows(node)) {
                is_coupled[node] = false;
            }
        }
        let start = match start {
            StartingPoint::Smooth(start) => start.clone(),
            _ => SmoothStart::new(pooled.clone()),
        };
        let anchor = (hub > 0.0).then_some(SmoothAnchor { weight: hub, weights: pooled });
        // A search compares errors that differ in their third digit; what users keep is solved to rounding.
        let tolerance = if *effort == Effort::Search { 1e-4 } else { 1e-10 };
        let (anchor, is_coupled) = (anchor.as_ref(), &is_coupled[..]);
        let coupling = SmoothCoupling { network, alpha: *alpha, anchor, is_coupled };
        let solution = smooth.solve(&coupling, start, tolerance)?;
        // The rounds that would take its place end a search after fifty, nearer to rest or not.
        let is_enough = *effort == Effort::Search && solution.residual <= SEARCH_RESIDUAL;
        if !solution.converged && !is_enough {
            return Ok(None);
        }
        let weights = &solution.end.weights;
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> =
            smooth.hypotheses(weights).map(|h| Some(h.into())).collect();
        self.fit_isolated(network, hub, &mut hypotheses)?;
        Ok(Some(Fitted {
            residuals: solution.history,
            certificate: Certificate {
                kind: "fixed-point residual".into(),
                value: solution.residual,
                converged: solution.converged,
                reason: None,
            },
            engine: "Newton's method on the fixed-point equations".into(),
            next_start: StartingPoint::Smooth(solution.end),
            ..Fitted::exact(self.fill_undetermined(network, hub, hypotheses)?)
        }))
    }
}

/// How far one more round may move public predictions of a search, relative to their size: errors that tell strengths
/// apart differ in their third digit, and the strength that is chosen is fitted to the end.
const SEARCH_RESIDUAL: f64 = 1e-2;

/// The relative residual that rounding leaves in products of size α and that is good enough all the same;
/// beyond the largest, what all nodes have in common drowns in rounding.
fn within_rounding(alpha: f64) -> f64 {
    const LARGEST_RESIDUAL: f64 = 1e-6;
    (1e-14 * alpha).min(LARGEST_RESIDUAL)
}
