//! The update of a node's weights,
//!
//! ```text
//! proximal   w̃ = argmin L(w) + ‖w − v‖² / 2τ,   v = w − τ p,   1/τ = κ = |N(i)| / s
//! inexact    the same up to ‖error‖ ≤ ε₀/k² in iteration k
//! gradient   w̃ = w − τ (∇L(w) + p),   1/τ = κ + 0.55 ℓ / (2 − ρ),   ℓ the Lipschitz constant of ∇L
//! ```
//!
//! with p the sum of the node's duals. A node without rows has no loss: w̃ = w − τ p. Errors with a finite
//! sum over iterations do not change the limit ["Networked Federated Multi-Task Learning", section 3].
//! The gradient step is that of Condat ("A primal-dual splitting method", 2013) and Vũ, whose
//! relaxation must stay below 2 − ℓ / 2(1/τ − κ).

use std::sync::Arc;

use crate::{
    algebra::{add_scaled, norm, squared_distance},
    data::Dataset,
    error::{Error, Result},
    model::{Hypothesis, LinearProximal, LocalModel, Parametric},
    network::Node,
};

/// How many gradient steps an inexact update takes at most: far more than any loss with a finite
/// Lipschitz constant needs, so that only a broken gradient ends here.
const MAX_GRADIENT_STEPS: usize = 100_000;

/// Steps shorter than this, relative to 1 + ‖w‖, say nothing about the gradient's Lipschitz constant:
/// the difference of gradients is rounding error there.
const SHORTEST_TELLING_STEP: f64 = 1e-10;

/// How far aside, relative to 1 + ‖w‖, the gradient is compared with the one here: near enough for the
/// curvature of this point, far enough for rounding not to show.
const PROBE_LENGTH: f64 = 1e-4;

/// Half of ℓ, which Condat's condition asks for, and a tenth more for an ℓ that is only estimated.
const GRADIENT_STEP_MARGIN: f64 = 0.55;

/// A Lipschitz constant that proved too small is raised by this factor, or it would be missed again by
/// rounding in the next step.
const LIPSCHITZ_RAISE: f64 = 1.1;

/// How a node finds its next weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum PrimalStep {
    /// By the proximal step of its model, as exactly as the model gives it.
    #[default]
    Proximal,
    /// By gradient steps until the error is at most this over the square of the iteration: for smooth
    /// losses.
    Inexact {
        /// The error ε₀ > 0 of the first iteration.
        error: f64,
    },
    /// By one gradient step: for smooth losses without a cheap proximal step.
    Gradient,
}

/// Where an update has ended.
#[derive(Debug)]
pub(super) struct Update {
    /// w̃.
    pub(super) proposed: Vec<f64>,
    /// A slope of the loss there.
    pub(super) slope: Vec<f64>,
    /// The length τ of the step.
    pub(super) step: f64,
}

/// A node's loss, as the method needs it.
#[derive(Debug)]
pub(super) struct LocalLoss {
    data: Dataset,
    model: Arc<dyn LocalModel>,
    kind: LossKind,
    /// The largest change of the gradient per change of weights met so far.
    pub(super) lipschitz: f64,
    /// The modulus μ with L − μ/2 ‖·‖² convex; zero where none is known.
    pub(super) convexity: f64,
}

#[derive(Debug)]
enum LossKind {
    /// No rows, no loss.
    NoRows,
    Linear(LinearProximal),
    Proximal,
    Inexact {
        error: f64,
    },
    Gradient {
        relaxation: f64,
    },
}

impl LocalLoss {
    pub(super) fn new(node: Node, step: PrimalStep, relaxation: f64) -> Result<Self> {
        let Node { data, model, .. } = node;
        let is_smooth = model.as_parametric().is_some_and(|model| model.shape().smooth);
        if step != PrimalStep::Proximal && !is_smooth {
            return Err(Error::Unsupported {
                what: "a gradient or inexact step",
                needs: "a loss that is smooth everywhere; use the proximal step",
            });
        }
        let mut convexity = 0.0;
        let kind = match (step, model.as_linear()) {
            _ if data.total_weight() == 0.0 => LossKind::NoRows,
            (PrimalStep::Proximal, Some(linear)) => {
                let proximal = LinearProximal::new(linear, &data)?;
                convexity = proximal.convexity();
                LossKind::Linear(proximal)
            }
            (PrimalStep::Proximal, None) => LossKind::Proximal,
            (PrimalStep::Inexact { error }, _) => LossKind::Inexact { error },
            (PrimalStep::Gradient, _) => LossKind::Gradient { relaxation },
        };
        Ok(Self { data, model, kind, lipschitz: 0.0, convexity })
    }

    fn parametric(&self) -> &dyn Parametric {
        self.model.as_parametric().expect("a node joins with a model of weights")
    }

    /// Whether there are rows.
    pub(super) fn has_rows(&self) -> bool {
        !matches!(self.kind, LossKind::NoRows)
    }

    /// Whether a minimum can be told from its slopes.
    pub(super) fn is_convex(&self) -> bool {
        !self.has_rows() || self.parametric().shape().convex
    }

    /// The weights and the hypothesis of training alone.
    pub(super) fn fit(&self) -> Result<Option<Arc<dyn Hypothesis>>> {
        if self.has_rows() { Ok(Some(self.model.fit(&self.data)?.into())) } else { Ok(None) }
    }

    /// The weights of a hypothesis, if it is one of this model and these features.
    pub(super) fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        let size = self.start().len();
        self.parametric().weights(hypothesis).filter(|weights| weights.len() == size)
    }

    /// The weights to begin with.
    pub(super) fn start(&self) -> Vec<f64> {
        self.parametric().start(self.data.features().columns(), self.data.task())
    }

    /// The indices of the intercepts.
    pub(super) fn intercepts(&self) -> Vec<usize> {
        self.parametric().intercepts(self.data.features().columns(), self.data.task())
    }

    pub(super) fn hypothesis(&self, weights: &[f64]) -> Arc<dyn Hypothesis> {
        let names = self.data.features().names();
        self.parametric().hypothesis(names, self.data.task(), weights).into()
    }

    /// The loss at these weights; zero without rows.
    pub(super) fn loss(&self, weights: &[f64]) -> f64 {
        if self.has_rows() { self.parametric().loss(&self.data, weights) } else { 0.0 }
    }

    fn gradient(&self, weights: &[f64]) -> Vec<f64> {
        self.parametric().gradient(&self.data, weights)
    }

    /// The update from given weights under the sum p of the duals, in the k-th iteration.
    pub(super) fn update(
        &mut self,
        weights: &[f64],
        pull: &[f64],
        kappa: f64,
        iteration: usize,
    ) -> Result<Update> {
        let step = 1.0 / kappa;
        let mut centre = weights.to_vec();
        add_scaled(&mut centre, -step, pull);
        let proposed = match self.kind {
            LossKind::NoRows => {
                let slope = vec![0.0; centre.len()];
                return Ok(Update { proposed: centre, slope, step });
            }
            LossKind::Inexact { error } => {
                let error = error / (iteration as f64).powi(2);
                return self.inexact(weights, &centre, step, error);
            }
            LossKind::Gradient { relaxation } => {
                let factor = GRADIENT_STEP_MARGIN / (2.0 - relaxation);
                return Ok(self.gradient_step(weights, pull, kappa, factor));
            }
            LossKind::Linear(ref proximal) => proximal.step(&centre, step)?,
            LossKind::Proximal => self.parametric().proximal(&self.data, &centre, step)?,
        };
        // Optimality of the proximal step makes (v − w̃)/τ a (sub)gradient: no second pass over the rows,
        // and right where the loss has a kink.
        let mut slope = centre;
        slope.iter_mut().zip(&proposed).for_each(|(v, w)| *v = (*v - w) / step);
        Ok(Update { proposed, slope, step })
    }

    /// L + ‖· − v‖² / 2τ is strongly convex with modulus 1/τ, so a gradient G tells of an error of
    /// at most τ ‖G‖.
    fn inexact(
        &mut self,
        weights: &[f64],
        centre: &[f64],
        step: f64,
        error: f64,
    ) -> Result<Update> {
        let mut proposed = weights.to_vec();
        let mut slope = self.gradient(&proposed);
        self.probe(&proposed, &slope);
        for _ in 0..MAX_GRADIENT_STEPS {
            let mut gradient = slope.clone();
            add_scaled(&mut gradient, 1.0 / step, &proposed);
            add_scaled(&mut gradient, -1.0 / step, centre);
            if step * norm(&gradient) <= error {
                return Ok(Update { proposed, slope, step });
            }
            let mut next = proposed.clone();
            add_scaled(&mut next, -1.0 / (self.lipschitz + 1.0 / step), &gradient);
            let next_slope = self.gradient(&next);
            if !self.is_too_long((&proposed, &slope), (&next, &next_slope)) {
                (proposed, slope) = (next, next_slope);
            }
        }
        Err(Error::NotConverged { what: "an inexact update", steps: MAX_GRADIENT_STEPS })
    }

    fn gradient_step(&mut self, weights: &[f64], pull: &[f64], kappa: f64, factor: f64) -> Update {
        let slope = self.gradient(weights);
        self.probe(weights, &slope);
        loop {
            let step = 1.0 / (kappa + factor * self.lipschitz);
            let mut proposed = weights.to_vec();
            add_scaled(&mut proposed, -step, &slope);
            add_scaled(&mut proposed, -step, pull);
            let next_slope = self.gradient(&proposed);
            if !self.is_too_long((weights, &slope), (&proposed, &next_slope)) {
                return Update { proposed, slope: next_slope, step };
            }
        }
    }

    /// Whether the gradient changes faster between two weights than was known; then it is known.
    fn is_too_long(&mut self, from: (&[f64], &[f64]), to: (&[f64], &[f64])) -> bool {
        let distance = |a: &[f64], b: &[f64]| squared_distance(a, b).sqrt();
        let moved = distance(from.0, to.0);
        let found = distance(from.1, to.1) / moved;
        let is_telling = moved > SHORTEST_TELLING_STEP * (1.0 + norm(from.0));
        let is_too_long = is_telling && (found > self.lipschitz || !found.is_finite());
        if is_too_long {
            // Of a step that was far too long the gradient says too much: doubling gets there, too.
            self.lipschitz = (LIPSCHITZ_RAISE * found).min(2.0 * self.lipschitz);
        }
        is_too_long
    }

    /// Looks at how the gradient changes along itself, where nothing is known yet.
    fn probe(&mut self, weights: &[f64], slope: &[f64]) {
        let size = norm(slope);
        if self.lipschitz > 0.0 || size == 0.0 {
            return;
        }
        let length = PROBE_LENGTH * (1.0 + norm(weights));
        let mut aside = weights.to_vec();
        add_scaled(&mut aside, -length / size, slope);
        let found = squared_distance(&self.gradient(&aside), slope).sqrt() / length;
        // A loss that is straight here may bend elsewhere.
        self.lipschitz = found.max(SHORTEST_TELLING_STEP * size / length);
    }
}
