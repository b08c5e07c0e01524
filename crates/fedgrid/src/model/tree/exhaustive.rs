//! The tree from its definition, by trying every split: slow, and what the fast one must equal.

use super::Tree;
use crate::{
    data::{Dataset, Features, Labels, Task},
    model::LocalModel,
    random::{Purpose, Stream},
};

/// Small random data; coarse features have ties.
fn random_data(task: Task, coarse: bool, seed: u64) -> Dataset {
    let (rows, mut stream) = (14, Stream::new(seed, 0, 0, Purpose::Data));
    let mut value = |_| if coarse { stream.index(5) as f64 } else { stream.normal() };
    let values = (0..rows * 3).map(&mut value).collect();
    let features = Features::new(["a", "b", "c"].map(String::from).into(), values).unwrap();
    let mut labels = Vec::new();
    for _ in 0..rows {
        let odds: Vec<f64> = (0..task.outputs()).map(|_| stream.uniform()).collect();
        let sum = if task == Task::Regression { 1.0 } else { odds.iter().sum() };
        labels.extend(odds.iter().map(|odds_of_class| odds_of_class / sum));
    }
    let weights = (0..rows).map(|_| stream.index(4) as f64 * 0.3).collect();
    Dataset::weighted(features, Labels::new(task, labels).unwrap(), weights).unwrap()
}

fn squared_error(data: &Dataset) -> f64 {
    let mean = data.mean_label();
    let of_row = |row: usize| -> f64 {
        let differences = data.labels().row(row).iter().zip(&mean).map(|(y, m)| y - m);
        data.weights()[row] * differences.map(|d| d * d).sum::<f64>()
    };
    (0..data.rows()).map(of_row).sum()
}

/// Every split of every feature, tried from its definition.
fn exhaustive(tree: &Tree, data: &Dataset, all: f64, x: &[f64]) -> Vec<f64> {
    let error = squared_error(data);
    let mut best = (1e-9 * error, None);
    for feature in 0..data.features().columns() {
        let mut values: Vec<f64> = data.features().iter().map(|x| x[feature]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        for pair in values.windows(2) {
            let threshold = f64::midpoint(pair[0], pair[1]);
            let (left, right): (Vec<usize>, Vec<usize>) =
                (0..data.rows()).partition(|&row| data.features().row(row)[feature] <= threshold);
            let sides = [data.select(&left), data.select(&right)];
            let heavy = |side: &Dataset| side.total_weight() >= tree.min_leaf_weight * all - 1e-9;
            let gain = error - sides.iter().map(squared_error).sum::<f64>();
            if sides.iter().all(heavy) && gain > best.0 * (1.0 + 1e-9) + 1e-12 {
                best = (gain, Some((feature, threshold, sides)));
            }
        }
    }
    match best.1 {
        Some((feature, threshold, [left, right])) if tree.max_depth > 0 => {
            let below = Tree { max_depth: tree.max_depth - 1, ..*tree };
            let side = if x[feature] <= threshold { left } else { right };
            exhaustive(&below, &side, all, x)
        }
        _ => data.mean_label(),
    }
}

#[test]
fn the_tree_is_the_one_found_by_trying_every_split() {
    let classes = |classes| Task::Classification { classes };
    let tasks = [Task::Regression, classes(2), classes(3)];
    for case in 0..60 {
        let (task, coarse, seed) = (tasks[case % 3], case % 2 == 0, case as u64);
        let data = random_data(task, coarse, seed);
        let new = random_data(task, false, seed + 1000);
        let kept = data.without_zero_weights();
        for (max_depth, min_leaf_weight) in [(1, 0.0), (2, 0.0), (4, 0.15), (20, 0.0)] {
            let tree = Tree { max_depth, min_leaf_weight };
            let grown = tree.fit(&data).unwrap();
            for features in [data.features(), new.features()] {
                let predictions = grown.predict(features);
                for (row, x) in features.iter().enumerate() {
                    let expected = exhaustive(&tree, &kept, kept.total_weight(), x);
                    let same = |(p, q): (&f64, &f64)| (p - q).abs() < 1e-12;
                    let agrees = predictions.row(row).iter().zip(&expected).all(same);
                    assert!(agrees, "{task:?} coarse {coarse} seed {seed} {tree:?}");
                }
            }
        }
    }
}
