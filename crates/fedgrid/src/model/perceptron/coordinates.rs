//! Two lists of weights for one perceptron: one for features and labels as given, one for those of
//! mean zero and variance one, in which training is well conditioned,
//!
//! ```text
//! w (x − μ) / σ + b = (w / σ) x + (b − w μ / σ)      s (w a + b) + m = (s w) a + (s b + m)
//! ```
//!
//! in the first layer (left) and, for numbers, in the last (right).

use super::layers::Layers;
use crate::{algebra::scale, data::Scaling};

/// The scaling of features and labels.
#[derive(Debug)]
pub(super) struct Coordinates {
    /// The means μ and deviations σ of the features.
    pub(super) scaling: Scaling,
    /// The mean m of the labels; zero for classes.
    pub(super) level: f64,
    /// The deviation s of the labels; one for classes and for equal labels.
    pub(super) spread: f64,
}

impl Coordinates {
    /// From weights of the scaled to weights of the given.
    pub(super) fn given(&self, layers: &Layers, mut weights: Vec<f64>) -> Vec<f64> {
        let Scaling { means, deviations } = &self.scaling;
        for unit in weights[layers.range(0)].chunks_exact_mut(layers.width(0)) {
            let (bias, slopes) = unit.split_last_mut().expect("a unit has a bias");
            for ((slope, mean), deviation) in slopes.iter_mut().zip(means).zip(deviations) {
                *slope /= deviation;
                *bias -= *slope * mean;
            }
        }
        let last = layers.count() - 1;
        for unit in weights[layers.range(last)].chunks_exact_mut(layers.width(last)) {
            scale(unit, self.spread);
            *unit.last_mut().expect("a unit has a bias") += self.level;
        }
        weights
    }

    /// From weights of the given to weights of the scaled.
    pub(super) fn scaled(&self, layers: &Layers, mut weights: Vec<f64>) -> Vec<f64> {
        let last = layers.count() - 1;
        for unit in weights[layers.range(last)].chunks_exact_mut(layers.width(last)) {
            *unit.last_mut().expect("a unit has a bias") -= self.level;
            scale(unit, 1.0 / self.spread);
        }
        let Scaling { means, deviations } = &self.scaling;
        for unit in weights[layers.range(0)].chunks_exact_mut(layers.width(0)) {
            let (bias, slopes) = unit.split_last_mut().expect("a unit has a bias");
            for ((slope, mean), deviation) in slopes.iter_mut().zip(means).zip(deviations) {
                *bias += *slope * mean;
                *slope *= deviation;
            }
        }
        weights
    }

    /// What the square of a scaled slope is to be multiplied with, to be that of a given slope.
    pub(super) fn squares(&self, layers: &Layers) -> Vec<f64> {
        let last = layers.count() - 1;
        layers.per_slope(|layer, input| {
            let spread = if layer == last { self.spread } else { 1.0 };
            let deviation = if layer == 0 { self.scaling.deviations[input] } else { 1.0 };
            (spread / deviation).powi(2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Task,
        model::perceptron::{Activation, layers::RowPass, samples::random_weights},
    };

    #[test]
    fn scaled_and_given_weights_are_one_hypothesis() {
        for hidden in [&[][..], &[4], &[4, 3]] {
            let layers = Layers::new(2, hidden, Activation::Tanh, Task::Regression);
            let scaling = Scaling { means: vec![3.0, -1.0], deviations: vec![2.0, 0.5] };
            let coordinates = Coordinates { scaling, level: 7.0, spread: 1.5 };
            let weights = random_weights(layers.weight_count());
            let given = coordinates.given(&layers, weights.clone());
            let mut pass = RowPass::new(&layers);
            let x = [4.0, 0.3];
            let scaled: Vec<f64> = coordinates.scaling.row(&x).collect();
            let expected = 7.0 + 1.5 * layers.forward(&weights, &scaled, &mut pass)[0];
            assert!((layers.forward(&given, &x, &mut pass)[0] - expected).abs() < 1e-12);
            let back = coordinates.scaled(&layers, given);
            assert!(back.iter().zip(&weights).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
