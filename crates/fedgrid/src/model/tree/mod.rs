//! A decision tree (CART) of least squared error, for numbers and for class probabilities,
//!
//! ```text
//! gain(split) = W_L W_R / (W_L + W_R) · ‖ȳ_L − ȳ_R‖²      Σ_r weight_r ‖y_r − ȳ‖² decreases by it
//! ```
//!
//! Every node takes the split of largest gain, and every leaf predicts the weighted mean ȳ of its
//! rows. For class probabilities the squared error is the Gini criterion. [Breiman, Friedman,
//! Olshen and Stone, "Classification and Regression Trees", 1984.]

mod sort;
mod merged_rows;
mod tree_nodes;
mod split_search;
mod feature_draws;
mod passes;
mod grow;
mod sorted_rows;
mod splits;
#[cfg(test)]
mod exhaustive;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sorted_rows::PreparedTree;
pub(super) use self::{
    feature_draws::Draws,
    grow::Grower,
    merged_rows::{LabelledParts, MergedRows, Targets},
    sorted_rows::{Limits, Sorted},
    splits::{Drawn, Shown},
};
use super::{Hypothesis, LocalModel, Prepared, Storable, Stored, check};
use crate::{
    data::{Dataset, Features, Labels, Task},
    error::Result,
};

pub use splits::Splits;
pub use tree_nodes::TreeNodes;

/// A decision tree model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tree {
    /// How many splits lie between the root and a leaf at most; zero is the weighted mean.
    pub max_depth: usize,
    /// The smallest share of the total weight that a leaf may hold, from zero (no limit) to a half.
    #[schemars(range(min = 0, max = 0.5))]
    pub min_leaf_weight: f64,
}

impl Default for Tree {
    fn default() -> Self {
        Self { max_depth: 5, min_leaf_weight: 0.0 }
    }
}

impl LocalModel for Tree {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.on(data.features(), data.weights())?.fit(data.labels())
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(Some(Box::new(self.on(rows, weights)?)))
    }
}

impl Tree {
    fn on(&self, features: &Features, weights: &[f64]) -> Result<PreparedTree> {
        let limits = Limits::checked(self.max_depth, self.min_leaf_weight)?;
        let sorted = Sorted::new("a tree", features, weights)?;
        Ok(PreparedTree { limits, sorted })
    }
}

/// A learnt tree; every node's label is the weighted mean of its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The nodes, the root first.
    pub nodes: TreeNodes,
}

impl TreeHypothesis {
    /// The label of a leaf.
    fn label(&self, leaf: usize) -> &[f64] {
        let outputs = self.task.outputs();
        &self.nodes.labels[leaf * outputs..(leaf + 1) * outputs]
    }
}

impl Hypothesis for TreeHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let mut labels = Labels::neutral(self.task, features.rows());
        let rows = labels.as_mut_slice().chunks_exact_mut(self.task.outputs());
        for (label, x) in rows.zip(features.iter()) {
            label.copy_from_slice(self.label(self.nodes.leaf(0, x)));
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for TreeHypothesis {
    const KIND: &'static str = "tree";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses a tree that no fit gives and that could not predict.
    fn check(&self) -> Result<()> {
        check::task(self.task)?;
        self.nodes.check(&[0], self.names.len(), self.task.outputs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::{Purpose, Stream},
        testing,
    };

    fn line(xs: &[f64], ys: &[f64], weights: &[f64]) -> Dataset {
        let features = Features::new(["x".to_string()].into(), xs.to_vec()).unwrap();
        Dataset::weighted(features, Labels::values(ys.to_vec()), weights.to_vec()).unwrap()
    }

    fn random_features(rows: usize, seed: u64) -> Features {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let names = ["a", "b", "c"].map(String::from).into();
        Features::new(names, (0..3 * rows).map(|_| stream.normal()).collect()).unwrap()
    }

    const UNLIMITED: Tree = Tree { max_depth: usize::MAX, min_leaf_weight: 0.0 };

    #[test]
    fn tree_keeps_the_laws_of_local_models() {
        for (max_depth, min_leaf_weight) in [(5, 0.0), (0, 0.0), (3, 0.1), (usize::MAX, 0.0)] {
            let tree = Tree { max_depth, min_leaf_weight };
            testing::check_local_model(&tree, Task::Regression);
            testing::check_local_model(&tree, Task::Classification { classes: 2 });
            testing::check_local_model(&tree, Task::Classification { classes: 3 });
        }
    }

    #[test]
    fn a_tree_of_depth_zero_is_the_weighted_mean() {
        let data = line(&[1.0, 2.0, 3.0], &[1.0, 5.0, 100.0], &[3.0, 1.0, 0.0]);
        let tree = Tree { max_depth: 0, ..Tree::default() };
        let predictions = tree.fit(&data).unwrap().predict(data.features());
        assert_eq!(predictions.as_slice(), [2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_step_is_found_exactly_and_lies_midway() {
        let data = line(&[4.0, 1.0, 2.0, 8.0], &[7.0, -1.0, -1.0, 7.0], &[1.0; 4]);
        let tree = Tree::default()
            .fit(&data)
            .unwrap()
            .downcast_ref::<TreeHypothesis>()
            .expect("a tree stores a tree")
            .clone();
        assert_eq!(tree.nodes.thresholds, [3.0, 0.0, 0.0]);
        assert_eq!(tree.nodes.labels, [3.0, -1.0, 7.0]);
        assert_eq!(tree.nodes.right, [2, 0, 0]);
    }

    #[test]
    fn soft_labels_equal_hard_labels_repeated_in_that_proportion() {
        let features = random_features(12, 1);
        let task = Task::Classification { classes: 2 };
        let counts: Vec<usize> = (0..12).map(|row| row * 5 % 4).collect();
        let soft = counts.iter().flat_map(|&c| [1.0 - c as f64 / 4.0, c as f64 / 4.0]).collect();
        let soft = Labels::new(task, soft).unwrap();
        let soft = Dataset::weighted(features.clone(), soft, vec![4.0; 12]).unwrap();
        let repeated: Vec<usize> = (0..48).map(|copy| copy / 4).collect();
        let hard: Vec<usize> =
            (0..48).map(|copy| usize::from(copy % 4 < counts[copy / 4])).collect();
        let hard = Labels::classes(2, &hard).unwrap();
        let hard = Dataset::weighted(features.select(&repeated), hard, vec![1.0; 48]).unwrap();
        let new = random_features(200, 2);
        let predict = |data| Tree::default().fit(data).unwrap().predict(&new);
        for (p, q) in predict(&soft).as_slice().iter().zip(predict(&hard).as_slice()) {
            assert!((p - q).abs() < 1e-12);
        }
    }

    #[test]
    fn unlimited_depth_fits_distinct_rows_exactly() {
        let features = random_features(60, 3);
        let mut stream = Stream::new(4, 0, 0, Purpose::Data);
        let labels = Labels::values((0..60).map(|_| 1e6 + stream.normal()).collect());
        let data = Dataset::new(features, labels).unwrap();
        let predictions = UNLIMITED.fit(&data).unwrap().predict(data.features());
        assert_eq!(&predictions, data.labels());
    }

    #[test]
    fn a_leaf_holds_at_least_its_share_of_the_weight() {
        let xs: Vec<f64> = (0..10).map(f64::from).collect();
        let ys: Vec<f64> = xs.iter().map(|x| x * x).collect();
        for (share, leaves) in [(0.0, 10), (0.1, 10), (0.3, 3), (0.5, 2)] {
            let tree = Tree { min_leaf_weight: share, ..UNLIMITED };
            let data = line(&xs, &ys, &[0.1; 10]);
            let predictions = tree.fit(&data).unwrap().predict(data.features());
            let mut distinct = predictions.as_slice().to_vec();
            distinct.dedup();
            assert_eq!(distinct.len(), leaves, "share {share}");
        }
        let data = line(&xs, &ys, &[0.1; 10]);
        let error = Tree { min_leaf_weight: 0.6, ..UNLIMITED }.fit(&data).unwrap_err();
        assert_eq!(error.to_string(), "min_leaf_weight is 0.6, expected a number from 0 to 0.5");
    }

    #[test]
    fn the_order_of_the_rows_changes_no_bit() {
        let mut stream = Stream::new(6, 0, 0, Purpose::Data);
        // Coarse features tie in every column, and equal rows have different labels.
        let values: Vec<f64> = (0..3 * 80).map(|_| stream.index(4) as f64).collect();
        let features = Features::new(["a", "b", "c"].map(String::from).into(), values).unwrap();
        let labels = Labels::values((0..80).map(|_| stream.normal()).collect());
        let weights = (0..80).map(|_| stream.uniform()).collect();
        let data = Dataset::weighted(features, labels, weights).unwrap();
        let fitted = UNLIMITED.fit(&data).unwrap().save();
        for _ in 0..5 {
            let shuffled = data.select(&stream.permutation(80));
            assert_eq!(fitted, UNLIMITED.fit(&shuffled).unwrap().save());
        }
    }

    #[test]
    fn a_threshold_separates_neighbouring_floats_and_ignores_the_sign_of_zero() {
        let next = 1.0 + f64::EPSILON;
        let data = line(&[1.0, next, -0.0, 0.0], &[0.0, 1.0, 5.0, 6.0], &[1.0; 4]);
        let predictions = UNLIMITED.fit(&data).unwrap().predict(data.features());
        assert_eq!(predictions.as_slice(), [0.0, 1.0, 5.5, 5.5]);
    }

    fn tasks() -> [Task; 4] {
        let classes = |classes| Task::Classification { classes };
        [Task::Regression, classes(2), classes(3), classes(5)]
    }

    fn random_labels(task: Task, rows: usize, stream: &mut Stream) -> Labels {
        let mut values = Vec::new();
        for _ in 0..rows {
            let odds: Vec<f64> = (0..task.outputs()).map(|_| stream.uniform()).collect();
            let sum = if task == Task::Regression { 1.0 } else { odds.iter().sum() };
            values.extend(odds.iter().map(|odds_of_class| odds_of_class / sum));
        }
        Labels::new(task, values).unwrap()
    }

    #[test]
    fn a_prepared_tree_gives_the_bits_of_a_fit_for_every_label_vector() {
        let mut stream = Stream::new(8, 0, 0, Purpose::Data);
        // Equal rows, weights of zero, and ties in single columns.
        let features = random_features(70, 9).stacked(&random_features(20, 9)).unwrap();
        let weights: Vec<f64> = (0..90).map(|row| f64::from(row % 7) * stream.uniform()).collect();
        for tree in [Tree::default(), Tree { min_leaf_weight: 0.1, ..UNLIMITED }] {
            let prepared = tree.prepare(&features, &weights).unwrap().unwrap();
            for task in tasks() {
                let labels = random_labels(task, 90, &mut stream);
                let data =
                    Dataset::weighted(features.clone(), labels.clone(), weights.clone()).unwrap();
                let fitted = tree.fit(&data).unwrap().save();
                assert_eq!(prepared.fit(&labels).unwrap().save(), fitted);
                let (tree, known) = prepared.fit_and_predict(&labels, &features).unwrap();
                assert_eq!(tree.save(), fitted);
                assert_eq!(known, tree.predict(&features));
            }
            assert!(prepared.fit(&Labels::values(vec![0.0; 5])).is_err());
        }
        assert!(UNLIMITED.prepare(&features, &[0.0; 90]).is_err());
        assert!(UNLIMITED.prepare(&features, &[-1.0; 90]).is_err());
        assert!(UNLIMITED.prepare(&features, &[1.0; 89]).is_err());
    }

    #[test]
    fn two_probabilities_split_alike_whether_or_not_they_sum_to_one() {
        let mut stream = Stream::new(10, 0, 0, Purpose::Data);
        let (features, task) = (random_features(50, 11), tasks()[1]);
        let labels = random_labels(task, 50, &mut stream);
        // A sum that is off by a little more than rounding takes the general way.
        let nearly = labels.as_slice().iter().map(|p| p * (1.0 + 1e-11)).collect();
        let nearly = Dataset::new(features.clone(), Labels::new(task, nearly).unwrap()).unwrap();
        let exactly = Dataset::new(features.clone(), labels).unwrap();
        let predict = |data| UNLIMITED.fit(data).unwrap().predict(&features);
        for (p, q) in predict(&exactly).as_slice().iter().zip(predict(&nearly).as_slice()) {
            assert!((p - q).abs() < 1e-10);
        }
    }
}
