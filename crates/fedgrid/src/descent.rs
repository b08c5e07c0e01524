//! Steps down a gradient: plain, RMSprop and Adam,
//!
//! ```text
//! plain     w ← w − η g
//! RMSprop   s ← γ s + (1 − γ) g²                             w ← w − η g / (√s + ε)
//! Adam      m ← β₁ m + (1 − β₁) g,  s ← β₂ s + (1 − β₂) g²   w ← w − η m̂ / (√ŝ + ε)
//! ```

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use crate::{
    algebra::{SimdTask, simd},
    bytes::{Reader, Writer},
    error::Result,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule for steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Optimiser {
    /// Running means of the gradient (β₁ = 0.9) and its square (β₂ = 0.999), ε = 1e-8.
    #[default]
    Adam,
    /// A running mean of the squared gradient: γ = 0.99 and ε = 1e-8, as in the papers'
    /// experiments.
    RmsProp,
    /// The gradient as it is.
    Plain,
}

/// γ of RMSprop, as in the papers' experiments.
const RMSPROP_DECAY: f64 = 0.99;

/// ε, which bounds a step where gradients vanish.
const ROOT_FLOOR: f64 = 1e-8;

/// β₁ of Adam, by its authors. [Kingma & Ba 2015.]
const BETA1: f64 = 0.9;

/// β₂ of Adam, by its authors.
const BETA2: f64 = 0.999;

/// A descent under way.
#[derive(Debug, Clone)]
pub struct Descent {
    optimiser: Optimiser,
    step: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    steps: i32,
}

impl Descent {
    /// Begins a descent of so many weights with the step size η > 0.
    #[must_use]
    pub fn new(optimiser: Optimiser, step: f64, size: usize) -> Self {
        Self { optimiser, step, mean: vec![0.0; size], squares: vec![0.0; size], steps: 0 }
    }

    pub(crate) fn write(&self, to: &mut Writer) -> Result<()> {
        let text = serde_json::to_vec(&self.optimiser);
        to.part(&text.map_err(|_| Reader::new("a descent", &[]).refusal("cannot be stored"))?);
        to.number(self.step);
        to.list(&self.mean);
        to.list(&self.squares);
        to.count(usize::try_from(self.steps).unwrap_or(0));
        Ok(())
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let optimiser = serde_json::from_slice(from.part()?)
            .map_err(|_| from.refusal("names an unknown optimiser"))?;
        let (step, mean, squares) = (from.number()?, from.list()?, from.list()?);
        let steps = i32::try_from(from.count()?).unwrap_or(i32::MAX);
        Ok(Self { optimiser, step, mean, squares, steps })
    }

    /// Takes one step.
    pub fn step(&mut self, weights: &mut [f64], gradient: &[f64]) {
        // After so many steps the powers of the decays are zero.
        self.steps = self.steps.saturating_add(1);
        simd::dispatch(DescentTask { descent: self, weights, gradient });
    }

    #[inline(always)]
    fn advance(&mut self, weights: &mut [f64], gradient: &[f64]) {
        let step = self.step;
        match self.optimiser {
            Optimiser::Plain => crate::algebra::add_scaled(weights, -step, gradient),
            Optimiser::RmsProp => {
                let memory = weights.iter_mut().zip(gradient).zip(&mut self.squares);
                for ((w, g), s) in memory {
                    *s = RMSPROP_DECAY * *s + (1.0 - RMSPROP_DECAY) * g * g;
                    *w -= step * g / (s.sqrt() + ROOT_FLOOR);
                }
            }
            Optimiser::Adam => {
                // Both means begin at zero: divided by what they can have reached they are
                // unbiased.
                let (first, second) = (1.0 - BETA1.powi(self.steps), 1.0 - BETA2.powi(self.steps));
                let memory = weights.iter_mut().zip(gradient).zip(&mut self.mean);
                for (((w, g), m), s) in memory.zip(&mut self.squares) {
                    *m = BETA1 * *m + (1.0 - BETA1) * g;
                    *s = BETA2 * *s + (1.0 - BETA2) * g * g;
                    *w -= step * (*m / first) / ((*s / second).sqrt() + ROOT_FLOOR);
                }
            }
        }
    }
}

struct DescentTask<'a> {
    descent: &'a mut Descent,
    weights: &'a mut [f64],
    gradient: &'a [f64],
}

impl SimdTask for DescentTask<'_> {
    #[inline(always)]
    fn run(self) {
        self.descent.advance(self.weights, self.gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_descends_a_bowl_to_its_bottom() {
        let rules = [(Optimiser::Plain, 0.1), (Optimiser::RmsProp, 0.01), (Optimiser::Adam, 0.05)];
        for (optimiser, step) in rules {
            let mut descent = Descent::new(optimiser, step, 2);
            let mut weights = [3.0, -2.0];
            for _ in 0..2000 {
                let gradient = [2.0 * weights[0], weights[1] - 1.0];
                descent.step(&mut weights, &gradient);
            }
            let [a, b] = weights;
            assert!(a.abs() < 0.02 && (b - 1.0).abs() < 0.02, "{optimiser:?}: {a} {b}");
        }
    }

    #[test]
    fn the_first_rmsprop_step_has_ten_times_the_step_size() {
        let mut weights = [0.0];
        Descent::new(Optimiser::RmsProp, 0.01, 1).step(&mut weights, &[5.0]);
        assert!((weights[0] + 0.1).abs() < 1e-8);
    }
}
