//! Layers of units: outputs, losses and gradients of one row,
//!
//! ```text
//! z_l = A_l (a_{l−1}, 1)      a_l = φ(z_l)      ∂L/∂A_l = (∂L/∂z_l) (a_{l−1}, 1)ᵀ
//! ```
//!
//! The weights of all layers are one list: unit by unit the slopes of its inputs, then its bias.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    algebra::{add_scaled, dot},
    data::Task,
    model::solver::softmax,
    random::Stream,
};

/// What a hidden unit makes of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(0, z)`, piecewise linear.
    Relu,
    /// The hyperbolic tangent, smooth.
    Tanh,
}

impl Activation {
    fn value(self, z: f64) -> f64 {
        match self {
            Self::Relu => z.max(0.0),
            Self::Tanh => z.tanh(),
        }
    }

    /// The derivative, from the value.
    fn slope(self, a: f64) -> f64 {
        match self {
            Self::Relu => f64::from(u8::from(a > 0.0)),
            Self::Tanh => 1.0 - a * a,
        }
    }

    /// The variance of start weights, times the number of inputs: He's for half a line, Xavier's for
    /// a curve that is the identity near zero.
    fn gain(self) -> f64 {
        match self {
            Self::Relu => 2.0,
            Self::Tanh => 1.0,
        }
    }
}

/// The shape of a perceptron.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    /// How many numbers enter the first layer, and leave each layer.
    sizes: Vec<usize>,
    activation: Activation,
    task: Task,
}

/// What one row leaves behind on its way through the layers.
#[derive(Debug)]
pub(super) struct RowPass {
    /// The values after each layer; the first are the features.
    values: Vec<Vec<f64>>,
    /// The derivative of the loss by the inputs of each layer's units.
    slopes: Vec<Vec<f64>>,
}

impl RowPass {
    pub(super) fn new(layers: &Layers) -> Self {
        let values: Vec<_> = layers.sizes.iter().map(|&size| vec![0.0; size]).collect();
        Self { slopes: values.clone(), values }
    }
}

impl Layers {
    pub(super) fn new(
        columns: usize,
        hidden: &[usize],
        activation: Activation,
        task: Task,
    ) -> Self {
        let mut sizes = vec![columns];
        sizes.extend_from_slice(hidden);
        sizes.push(task.outputs());
        Self { sizes, activation, task }
    }

    pub(super) fn task(&self) -> Task {
        self.task
    }

    /// How many layers have weights.
    pub(super) fn count(&self) -> usize {
        self.sizes.len() - 1
    }

    /// How many weights there are.
    pub(super) fn weight_count(&self) -> usize {
        self.sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// The same, or none if it is beyond all numbers, as a damaged file may say.
    pub(super) fn checked_weight_count(&self) -> Option<usize> {
        self.sizes.windows(2).try_fold(0_usize, |sum, pair| {
            sum.checked_add(pair[0].checked_add(1)?.checked_mul(pair[1])?)
        })
    }

    /// How many numbers a unit of a layer has: its slopes and its bias.
    pub(super) fn width(&self, layer: usize) -> usize {
        self.sizes[layer] + 1
    }

    /// Where the weights of a layer stand.
    pub(super) fn range(&self, layer: usize) -> Range<usize> {
        let before = self.sizes[..=layer].windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        before..before + self.width(layer) * self.sizes[layer + 1]
    }

    /// Adds to the list of all weights one number per weight, as given for layer and input; the
    /// biases get zero.
    pub(super) fn per_slope(&self, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut all = vec![0.0; self.weight_count()];
        for layer in 0..self.count() {
            for unit in all[self.range(layer)].chunks_exact_mut(self.width(layer)) {
                for (input, slope) in unit[..self.sizes[layer]].iter_mut().enumerate() {
                    *slope = value(layer, input);
                }
            }
        }
        all
    }

    /// A random start: normal slopes of variance gain / inputs, biases zero. The last layer is zero,
    /// so that training begins at the same prediction for all rows.
    pub(super) fn start(&self, stream: &mut Stream) -> Vec<f64> {
        let mut weights = vec![0.0; self.weight_count()];
        for layer in 0..self.count() - 1 {
            let deviation = (self.activation.gain() / self.sizes[layer].max(1) as f64).sqrt();
            for unit in weights[self.range(layer)].chunks_exact_mut(self.width(layer)) {
                for slope in &mut unit[..self.sizes[layer]] {
                    *slope = deviation * stream.normal();
                }
            }
        }
        weights
    }

    /// The outputs for one row, before any softmax.
    pub(super) fn forward<'a>(
        &self,
        weights: &[f64],
        x: &[f64],
        pass: &'a mut RowPass,
    ) -> &'a [f64] {
        pass.values[0].copy_from_slice(x);
        for layer in 0..self.count() {
            let (before, after) = pass.values.split_at_mut(layer + 1);
            let input = &before[layer];
            let units = weights[self.range(layer)].chunks_exact(self.width(layer));
            let hidden = layer + 1 < self.count();
            for (value, unit) in after[0].iter_mut().zip(units) {
                let z = dot(&unit[..input.len()], input) + unit[input.len()];
                *value = if hidden { self.activation.value(z) } else { z };
            }
        }
        &pass.values[self.count()]
    }

    /// The loss of one row.
    pub(super) fn loss(
        &self,
        weights: &[f64],
        x: &[f64],
        label: &[f64],
        pass: &mut RowPass,
    ) -> f64 {
        let outputs = self.forward(weights, x, pass);
        match self.task {
            Task::Regression => (outputs[0] - label[0]).powi(2),
            Task::Classification { .. } => {
                // With the sum of the label, which may miss one a little, the gradient is that of
                // the loss.
                label.iter().sum::<f64>() * log_sum_exp(outputs) - dot(label, outputs)
            }
        }
    }

    /// Adds `weight` times the gradient of the loss of one row.
    pub(super) fn add_gradient(
        &self,
        weights: &[f64],
        (x, label, weight): (&[f64], &[f64], f64),
        pass: &mut RowPass,
        gradient: &mut [f64],
    ) {
        self.forward(weights, x, pass);
        let last = self.count();
        let (values, slopes) = (&pass.values, &mut pass.slopes);
        slopes[last].copy_from_slice(&values[last]);
        match self.task {
            Task::Regression => slopes[last][0] = 2.0 * weight * (values[last][0] - label[0]),
            Task::Classification { .. } => {
                softmax(&mut slopes[last]);
                let sum: f64 = label.iter().sum();
                for (slope, p) in slopes[last].iter_mut().zip(label) {
                    *slope = weight * (sum * *slope - p);
                }
            }
        }
        for layer in (0..last).rev() {
            let (below, above) = slopes.split_at_mut(layer + 1);
            let (input, range) = (&values[layer], self.range(layer));
            below[layer].fill(0.0);
            let units = weights[range.clone()].chunks_exact(self.width(layer));
            let sums = gradient[range].chunks_exact_mut(self.width(layer));
            for ((unit, sum), slope) in units.zip(sums).zip(&above[0]) {
                add_scaled(&mut sum[..input.len()], *slope, input);
                sum[input.len()] += slope;
                // Features need no derivative.
                if layer > 0 {
                    add_scaled(&mut below[layer], *slope, &unit[..input.len()]);
                }
            }
            for (slope, a) in below[layer].iter_mut().zip(input) {
                *slope *= self.activation.slope(*a);
            }
        }
    }
}

/// `log Σ_c exp(z_c)`
fn log_sum_exp(logits: &[f64]) -> f64 {
    // The largest exponent is zero, so nothing overflows.
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|z| (z - top).exp()).sum::<f64>().ln()
}
