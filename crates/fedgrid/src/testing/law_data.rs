//! Data made for the laws: few rows, unequal weights, features of different sizes.

use crate::{
    data::{Dataset, Features, Labels, Task},
    random::{Purpose, Stream},
};

/// How many rows the laws use.
pub(super) const ROWS: usize = 24;

pub(super) fn names() -> std::sync::Arc<[String]> {
    ["a", "b", "c"].map(String::from).into()
}

/// Three normal features, the last of another size and mean.
pub(super) fn features(rows: usize, seed: u64) -> Features {
    let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
    let row = |_| [stream.normal(), stream.normal(), 5.0 + 3.0 * stream.normal()];
    let values = (0..rows).flat_map(row).collect();
    Features::new(names(), values).expect("made features are finite")
}

/// The same with the first columns the same in all rows.
pub(super) fn with_constants(columns: usize, seed: u64) -> Features {
    let mut values = features(ROWS, seed).values().to_vec();
    for row in values.chunks_exact_mut(3) {
        row[..columns].copy_from_slice(&[0.7, 0.1, 1.3][..columns]);
    }
    Features::new(names(), values).expect("the values are finite")
}

pub(super) fn dataset(features: Features, labels: Labels, weights: Vec<f64>) -> Dataset {
    Dataset::weighted(features, labels, weights).expect("made data are sound")
}

/// Rows with a column of ones and so much weight that a ridge of the model does not count.
pub(super) fn heavy(labels: Labels) -> Dataset {
    let mut values = features(ROWS, 1).values().to_vec();
    for first in values.iter_mut().step_by(3) {
        *first = 1.0;
    }
    let features = Features::new(names(), values).expect("the values are finite");
    dataset(features, labels, vec![1e10; ROWS])
}

/// Labels that depend on the features of `features(rows, 1)`, with noise; some are certain.
pub(super) fn labels(task: Task, rows: usize, seed: u64, target: fn(f64) -> f64) -> Labels {
    let x = features(rows, 1);
    let mut stream = Stream::new(seed, 1, 0, Purpose::Data);
    let mut values = Vec::new();
    for row in 0..rows {
        match task {
            Task::Regression => values.push(target(1.0 + x.row(row)[0] + stream.normal())),
            Task::Classification { classes } => {
                let mut odds: Vec<f64> =
                    (0..classes).map(|_| (x.row(row)[1] + stream.normal()).exp()).collect();
                // Certain labels, whose odds have no logarithm.
                if row % 4 == 0 {
                    odds = vec![0.0; classes];
                    odds[stream.index(classes)] = 1.0;
                }
                let sum: f64 = odds.iter().sum();
                values.extend(odds.iter().map(|odds_of_class| odds_of_class / sum));
            }
        }
    }
    Labels::new(task, values).expect("made labels are finite")
}

/// Unequal weights, none of them zero.
pub(super) fn weights(rows: usize) -> Vec<f64> {
    let mut stream = Stream::new(9, 2, 0, Purpose::Data);
    (0..rows).map(|_| 0.1 + stream.uniform()).collect()
}
