//! A node that trains weights: its rows, its model, and steps down its loss,
//!
//! ```text
//! w ← (w − η ∇L_i(w) + η μ c) / (1 + η μ)
//! ```
//!
//! a gradient step of the loss and a proximal one of `(μ/2) ‖w − c‖²`, stable for any μ.

use std::sync::Arc;

use super::Weights;
use crate::{
    algebra::{add_scaled, dot, norm, scale},
    error::{Error, Result},
    method::{FedAvg, fedavg::Averaged},
    model::{LocalModel, Parametric, kind_of},
    network::Node,
};

/// How often the power method multiplies by the curvature. An estimate some per cent too small does no
/// harm: steps of one over the largest curvature are stable up to twice their size.
const POWER_ITERATIONS: usize = 20;
/// The length of a difference of gradients, relative to the weights: near the fourth root of the
/// rounding error, where rounding and the change of curvature along the way are both small.
const RELATIVE_DIFFERENCE: f64 = 1e-4;

/// The rows and the model of one node.
#[derive(Debug)]
pub(in crate::method) struct ClientState {
    pub(in crate::method) node: Node,
    /// What is averaged.
    pub(in crate::method) averaged: Averaged,
    /// How many local steps there are in an iteration.
    pub(in crate::method) steps: usize,
    /// The step size η, which the hub sets with every model.
    pub(in crate::method) step: f64,
}

impl ClientState {
    pub(super) fn new(fedavg: &FedAvg, node: Node) -> Result<Self> {
        parametric(&node)?;
        let FedAvg { averaged, steps, .. } = *fedavg;
        Ok(Self { node, averaged, steps, step: fedavg.step.unwrap_or(0.0) })
    }

    pub(in crate::method) fn model(&self) -> &dyn Parametric {
        self.node.model.as_parametric().expect("only models of weights are clients of a hub")
    }

    pub(in crate::method) fn has_rows(&self) -> bool {
        self.node.data.total_weight() > 0.0
    }

    pub(in crate::method) fn loss(&self, weights: &[f64]) -> f64 {
        self.model().loss(&self.node.data, weights)
    }

    /// The weights of local training.
    pub(in crate::method) fn local(&self) -> Result<Weights> {
        let hypothesis = self.node.model.fit(&self.node.data)?;
        let weights = self.model().weights(hypothesis.as_ref());
        Ok(weights.expect("a model knows its own hypotheses").into())
    }

    /// One step down the loss.
    pub(in crate::method) fn descend(&self, weights: &mut [f64], factor: f64, at: &[f64]) {
        let gradient = self.model().gradient(&self.node.data, at);
        add_scaled(weights, -self.step * factor, &gradient);
    }

    /// The weights after some steps, pulled by μ to where they began.
    pub(in crate::method) fn descended(&self, from: &Weights, steps: usize, pull: f64) -> Weights {
        let mut weights = from.to_vec();
        for _ in 0..steps {
            let at = weights.clone();
            self.descend(&mut weights, 1.0, &at);
            // An explicit step of the pull would diverge for μ > 2/η; the proximal one never does.
            if pull > 0.0 {
                let pulled = self.step * pull;
                add_scaled(&mut weights, pulled, from);
                scale(&mut weights, 1.0 / (1.0 + pulled));
            }
        }
        weights.into()
    }

    /// What is averaged: the weights after local steps, or the gradient.
    pub(in crate::method) fn trained(&self, from: &Weights, pull: f64) -> Weights {
        match self.averaged {
            Averaged::Models => self.descended(from, self.steps, pull),
            Averaged::Gradients => self.model().gradient(&self.node.data, from).into(),
        }
    }
}

/// The model of a node as one of weights, or a refusal that names it.
pub(in crate::method) fn parametric(node: &Node) -> Result<&dyn Parametric> {
    let model: &Arc<dyn LocalModel> = &node.model;
    model
        .as_parametric()
        .ok_or_else(|| Error::NotParametric { node: node.id, model: kind_of(model.as_ref()) })
}

/// The largest curvature of a node's loss that steps will meet: where they start and, if the loss is
/// convex, at its minimum. Kinks have none, so there it is that of squared errors.
pub(in crate::method) fn largest_curvature(node: &Node, start: &[f64]) -> Result<f64> {
    let model = parametric(node)?;
    let data = &node.data;
    if data.total_weight() == 0.0 {
        return Ok(0.0);
    }
    let shape = model.shape();
    let mut largest = curvature_at(node, model, start);
    // Separable classes have no minimum; then the start alone decides.
    if shape.convex
        && let Ok(minimum) = node.model.fit(data)
        && let Some(weights) = model.weights(minimum.as_ref())
    {
        largest = largest.max(curvature_at(node, model, &weights));
    }
    if shape.smooth && largest > 0.0 {
        return Ok(largest);
    }
    let rows = data.features().iter().zip(data.weights());
    Ok(rows.map(|(x, weight)| 2.0 * weight * (1.0 + dot(x, x))).sum())
}

/// The largest curvature at some weights, by the power method on differences of gradients; zero if
/// they say nothing.
fn curvature_at(node: &Node, model: &dyn Parametric, weights: &[f64]) -> f64 {
    let gradient = model.gradient(&node.data, weights);
    let length = RELATIVE_DIFFERENCE * (1.0 + norm(weights));
    // A fixed start keeps runs repeatable; with uneven entries and the gradient added it is hardly ever
    // perpendicular to the largest curvature.
    let mut direction: Vec<f64> = (0..weights.len()).map(|k| 1.0 + 0.3 * (k % 5) as f64).collect();
    add_scaled(&mut direction, 1.0, &gradient);
    let mut curvature = 0.0;
    for _ in 0..POWER_ITERATIONS {
        let size = norm(&direction);
        if !(size > 0.0 && size.is_finite()) {
            return 0.0;
        }
        scale(&mut direction, 1.0 / size);
        let mut moved = weights.to_vec();
        add_scaled(&mut moved, length, &direction);
        direction = model.gradient(&node.data, &moved);
        add_scaled(&mut direction, -1.0, &gradient);
        scale(&mut direction, 1.0 / length);
        curvature = norm(&direction);
    }
    if curvature.is_finite() { curvature } else { 0.0 }
}
