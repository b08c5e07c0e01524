//! A perceptron as a model of weights,
//!
//! ```text
//! prox(v, τ) ≈ argmin_w  L(w) + ‖w − v‖² / 2τ
//! ```
//!
//! The loss is not convex, so the proximal step is approximate: gradient steps from v, of the length
//! that fits the last change of the gradient, halved until the objective falls. It never ends above
//! the objective at v. [Barzilai and Borwein, 1988, for the length.]

use std::sync::Arc;

use super::{
    Perceptron, PerceptronHypothesis,
    layers::{Layers, RowPass},
};
use crate::{
    algebra::{add_scaled, dot, norm},
    data::{Dataset, Task},
    error::{Result, same_size},
    model::{Hypothesis, LossShape, Parametric, Steps, check},
    random::{Purpose, Stream},
};

/// How many gradient steps a proximal step takes at most.
const MOST_STEPS: usize = 200;

/// How often a step is halved before the point is taken as a minimum.
const MOST_HALVINGS: usize = 40;

/// Steps end where the gradient, times τ, is this share of the weights' size.
const GRADIENT_TOLERANCE: f64 = 1e-9;

/// The share of the promised decrease that a step must keep.
const LEAST_DECREASE_SHARE: f64 = 1e-4;

impl Parametric for Perceptron {
    fn size(&self, columns: usize, task: Task) -> usize {
        self.layers(columns, task).weight_count()
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        let layers = self.layers(data.features().columns(), data.task());
        let mut pass = RowPass::new(&layers);
        let penalty: f64 =
            slopes(&layers).iter().zip(weights).map(|(is_slope, w)| is_slope * w * w).sum();
        let mut loss = |row: usize| {
            let (x, label) = (data.features().row(row), data.labels().row(row));
            data.weights()[row] * layers.loss(weights, x, label, &mut pass)
        };
        (0..data.rows()).map(&mut loss).sum::<f64>() + self.ridge * penalty
    }

    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        let layers = self.layers(data.features().columns(), data.task());
        let mut pass = RowPass::new(&layers);
        let pulls = slopes(&layers);
        let mut gradient: Vec<f64> = pulls
            .iter()
            .zip(weights)
            .map(|(is_slope, w)| 2.0 * self.ridge * is_slope * w)
            .collect();
        for row in 0..data.rows() {
            let (x, label) = (data.features().row(row), data.labels().row(row));
            let row = (x, label, data.weights()[row]);
            layers.add_gradient(weights, row, &mut pass, &mut gradient);
        }
        gradient
    }

    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        let step = steps.slopes;
        same_size("weights", centre.len(), self.size(data.features().columns(), data.task()))?;
        check::positive("proximal step", &[step])?;
        let objective = |w: &[f64]| {
            let squares = w.iter().zip(centre).map(|(w, c)| (w - c).powi(2));
            self.loss(data, w) + squares.sum::<f64>() / (2.0 * step)
        };
        let slope = |w: &[f64]| {
            let mut slope = self.gradient(data, w);
            add_scaled(&mut slope, 1.0 / step, w);
            add_scaled(&mut slope, -1.0 / step, centre);
            slope
        };
        Ok(descend(&objective, &slope, centre.to_vec(), step))
    }

    fn hypothesis(&self, names: &Arc<[String]>, task: Task, w: &[f64]) -> Box<dyn Hypothesis> {
        Box::new(PerceptronHypothesis {
            names: names.clone(),
            task,
            layers: self.layers.clone(),
            activation: self.activation,
            weights: w.to_vec(),
        })
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        let own = hypothesis.downcast_ref::<PerceptronHypothesis>()?;
        let is_alike = own.layers == self.layers && own.activation == self.activation;
        is_alike.then(|| own.weights.clone())
    }

    fn start(&self, columns: usize, task: Task) -> Vec<f64> {
        let mut stream = Stream::new(self.seed, 0, 0, Purpose::Model);
        self.layers(columns, task).start(&mut stream)
    }

    fn shape(&self) -> LossShape {
        LossShape { convex: false, smooth: true, ridge: 0.0 }
    }

    fn intercepts(&self, columns: usize, task: Task) -> Vec<usize> {
        let layers = self.layers(columns, task);
        let last = layers.count() - 1;
        let width = layers.width(last);
        layers.range(last).skip(width - 1).step_by(width).collect()
    }
}

/// One for each slope, zero for each bias.
fn slopes(layers: &Layers) -> Vec<f64> {
    layers.per_slope(|_, _| 1.0)
}

/// Gradient steps that never raise the objective; the first has the given length.
fn descend(
    objective: &dyn Fn(&[f64]) -> f64,
    slope: &dyn Fn(&[f64]) -> Vec<f64>,
    mut w: Vec<f64>,
    first: f64,
) -> Vec<f64> {
    let (mut value, mut g, mut length) = (objective(&w), slope(&w), first);
    for _ in 0..MOST_STEPS {
        let square = dot(&g, &g);
        if square.sqrt() * first <= GRADIENT_TOLERANCE * (1.0 + norm(&w)) {
            break;
        }
        let mut found = None;
        for _ in 0..MOST_HALVINGS {
            let mut next = w.clone();
            add_scaled(&mut next, -length, &g);
            let next_value = objective(&next);
            if next_value <= value - LEAST_DECREASE_SHARE * length * square {
                found = Some((next, next_value));
                break;
            }
            length /= 2.0;
        }
        let Some((next, next_value)) = found else { break };
        let next_g = slope(&next);
        let turn: f64 = next_g.iter().zip(&g).map(|(new, old)| (old - new) * old).sum();
        // The step was −length g, so ‖s‖² / sᵀy is length ‖g‖² / gᵀ(g − g′).
        length = if turn > 0.0 { length * square / turn } else { 2.0 * length };
        (w, value, g) = (next, next_value, next_g);
    }
    w
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Activation,
            samples::{CLASSES, random_weights, small, wave},
        },
        *,
    };
    use crate::{data::Scaling, model::LocalModel};

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for (task, activation) in [
            (Task::Regression, Activation::Tanh),
            (Task::Regression, Activation::Relu),
            (CLASSES, Activation::Tanh),
            (CLASSES, Activation::Relu),
        ] {
            let mut data = wave(15, task);
            let scaled = Scaling::of(data.features()).apply(data.features()).unwrap();
            data =
                Dataset::weighted(scaled, data.labels().clone(), data.weights().to_vec()).unwrap();
            let model = Perceptron { ridge: 0.3, ..small(&[5, 4], activation) };
            let weights = random_weights(model.size(2, task));
            let gradient = model.gradient(&data, &weights);
            for index in 0..weights.len() {
                let shifted = |by: f64| {
                    let mut weights = weights.clone();
                    weights[index] += by;
                    model.loss(&data, &weights)
                };
                let slope = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                let close = (slope - gradient[index]).abs() < 1e-6 * (1.0 + slope.abs());
                assert!(close, "{task:?} {activation:?}: {slope} and {}", gradient[index]);
            }
        }
    }

    #[test]
    fn a_proximal_step_lowers_its_objective_and_a_short_one_stays() {
        for task in [Task::Regression, CLASSES] {
            let (data, model) = (wave(25, task), small(&[4], Activation::Tanh));
            let centre = model.weights(model.fit(&data).unwrap().as_ref()).unwrap();
            let centre: Vec<f64> = centre.iter().map(|w| w + 0.01).collect();
            for step in [1e-9, 0.1, 10.0] {
                let moved = model.proximal(&data, &centre, step).unwrap();
                let far: Vec<f64> = moved.iter().zip(&centre).map(|(a, b)| a - b).collect();
                let value = model.loss(&data, &moved) + norm(&far).powi(2) / (2.0 * step);
                assert!(value <= model.loss(&data, &centre));
                assert!(step > 1e-6 || norm(&far) < 1e-4);
            }
            assert!(model.proximal(&data, &centre, 0.0).is_err());
            assert!(model.proximal(&data, &centre[1..], 1.0).is_err());
        }
    }

    #[test]
    fn a_linear_perceptron_has_an_exact_proximal_step() {
        let data = wave(25, Task::Regression);
        let scaled = Scaling::of(data.features()).apply(data.features()).unwrap();
        let data =
            Dataset::weighted(scaled, data.labels().clone(), data.weights().to_vec()).unwrap();
        let model = Perceptron { ridge: 0.2, ..small(&[], Activation::Tanh) };
        let (centre, step) = (vec![1.0, -2.0, 0.5], 0.7);
        let moved = model.proximal(&data, &centre, step).unwrap();
        for ((g, w), c) in model.gradient(&data, &moved).iter().zip(&moved).zip(&centre) {
            assert!((g + (w - c) / step).abs() < 1e-7);
        }
    }
}
