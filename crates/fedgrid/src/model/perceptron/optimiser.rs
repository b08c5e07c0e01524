//! How gradients become steps,
//!
//! ```text
//! SGD      w ← w − step g
//! RMSprop  s ← 0.9 s + 0.1 g²                                w ← w − step g / (√s + 10⁻⁸)
//! Adam     m ← 0.9 m + 0.1 g     s ← 0.999 s + 0.001 g²      w ← w − step m̂ / (√ŝ + 10⁻⁸)
//! ```
//!
//! with `m̂ = m / (1 − 0.9ᵗ)` and `ŝ = s / (1 − 0.999ᵗ)` at the t-th step. [Tieleman and Hinton,
//! lecture 6.5, 2012; Kingma and Ba, "Adam", 2015.]

use serde::{Deserialize, Serialize};

use crate::algebra::add_scaled;

/// Keeps a step finite where a gradient has always been zero.
const SMALL: f64 = 1e-8;

/// How gradients become steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimiser {
    /// Running means of the gradient and its square.
    Adam,
    /// A running mean of the squared gradient.
    RmsProp,
    /// The gradient as it is.
    Sgd,
}

/// An optimiser at work.
#[derive(Debug)]
pub(super) struct Steps {
    kind: Optimiser,
    step: f64,
    taken: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Steps {
    pub(super) fn new(kind: Optimiser, step: f64, size: usize) -> Self {
        Self { kind, step, taken: 0, mean: vec![0.0; size], square: vec![0.0; size] }
    }

    /// Moves the weights against the gradient.
    pub(super) fn take(&mut self, weights: &mut [f64], gradient: &[f64]) {
        self.taken = self.taken.saturating_add(1);
        let (momentum, memory) = match self.kind {
            Optimiser::Sgd => return add_scaled(weights, -self.step, gradient),
            Optimiser::RmsProp => (0.0, 0.9),
            Optimiser::Adam => (0.9, 0.999),
        };
        // The running means of RMSprop are not corrected for their start at zero.
        let grown = |rate: f64| match self.kind {
            Optimiser::Adam => 1.0 - f64::powi(rate, self.taken),
            _ => 1.0,
        };
        let (grown_mean, grown_square) = (grown(momentum), grown(memory));
        let averages = self.mean.iter_mut().zip(&mut self.square);
        for ((w, g), (mean, square)) in weights.iter_mut().zip(gradient).zip(averages) {
            *mean = momentum * *mean + (1.0 - momentum) * g;
            *square = memory * *square + (1.0 - memory) * g * g;
            *w -= self.step * (*mean / grown_mean) / ((*square / grown_square).sqrt() + SMALL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(kind: Optimiser, gradients: &[f64]) -> f64 {
        let (mut steps, mut w) = (Steps::new(kind, 0.1, 1), [1.0]);
        for g in gradients {
            steps.take(&mut w, &[*g]);
        }
        w[0]
    }

    #[test]
    fn first_steps_are_those_of_the_definitions() {
        assert!((after(Optimiser::Sgd, &[3.0]) - 0.7).abs() < 1e-12);
        // Adam's first step has the size of the step, whatever the gradient.
        assert!((after(Optimiser::Adam, &[3.0]) - 0.9).abs() < 1e-8);
        assert!((after(Optimiser::RmsProp, &[3.0]) - (1.0 - 0.1 / 0.1_f64.sqrt())).abs() < 1e-8);
        let (m, s): (f64, f64) = (0.9 * 0.3 - 0.1, 0.999 * 0.009 + 0.001);
        let second = 0.9 - 0.1 * (m / 0.19) / (s / (1.0 - 0.999 * 0.999)).sqrt();
        assert!((after(Optimiser::Adam, &[3.0, -1.0]) - second).abs() < 1e-8);
    }

    #[test]
    fn without_a_gradient_nothing_moves() {
        for kind in [Optimiser::Adam, Optimiser::RmsProp, Optimiser::Sgd] {
            assert!((after(kind, &[0.0; 5]) - 1.0).abs() < 1e-15);
        }
    }
}
