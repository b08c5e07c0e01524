//! Rows, models and weights for the tests of this folder.

use super::{Activation, Perceptron};
use crate::{
    data::{Dataset, Features, Labels, Task},
    loss::Loss,
    model::{Hypothesis, solver::softmax},
    random::{Purpose, Stream},
};

pub(super) const CLASSES: Task = Task::Classification { classes: 3 };

/// Weighted rows of two features, one far from zero, with a wave or soft classes as labels.
pub(super) fn wave(rows: usize, task: Task) -> Dataset {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let x = [6.0 * stream.uniform() - 3.0, stream.normal()];
        values.extend([x[0], 50.0 + 4.0 * x[1]]);
        match task {
            Task::Regression => labels.push(x[0].sin() + 0.5 * x[1]),
            Task::Classification { .. } => {
                let mut odds = [x[0], x[1], 0.0];
                softmax(&mut odds);
                labels.extend(odds);
            }
        }
    }
    let features = Features::new(["a", "b"].map(String::from).into(), values).unwrap();
    let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
    Dataset::weighted(features, Labels::new(task, labels).unwrap(), weights).unwrap()
}

pub(super) fn small(layers: &[usize], activation: Activation) -> Perceptron {
    Perceptron { layers: layers.to_vec(), activation, epochs: 200, ..Perceptron::default() }
}

pub(super) fn mean_loss(data: &Dataset, hypothesis: &dyn Hypothesis) -> f64 {
    let predictions = hypothesis.predict(data.features());
    let losses = Loss::of(data.task()).rows(data.labels(), &predictions);
    let weighted = losses.iter().zip(data.weights()).map(|(loss, weight)| loss * weight);
    weighted.sum::<f64>() / data.total_weight()
}

pub(super) fn random_weights(count: usize) -> Vec<f64> {
    let mut stream = Stream::new(4, 0, 0, Purpose::Start);
    (0..count).map(|_| 0.3 * stream.normal()).collect()
}
