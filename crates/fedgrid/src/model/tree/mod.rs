//! A decision tree (CART) of least squared error, for numbers and for class probabilities,
//!
//! ```text
//! gain(split) = W_L W_R / (W_L + W_R) · ‖ȳ_L − ȳ_R‖²      Σ_r weight_r ‖y_r − ȳ‖² decreases by it
//! ```
//!
//! Every node takes the split of largest gain, and every leaf predicts the weighted mean ȳ of its
//! rows. For class probabilities the squared error is the Gini criterion. [Breiman, Friedman,
//! Olshen and Stone, "Classification and Regression Trees", 1984.]

mod rows;
mod grow;
#[cfg(test)]
mod exhaustive;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Hypothesis, LocalModel, Stored, check};
use crate::{
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, same_size},
};

/// A decision tree model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// How many splits lie between the root and a leaf at most; zero is the weighted mean.
    pub max_depth: usize,
    /// The smallest share of the total weight that a leaf may hold, from zero (no limit) to a half.
    pub min_leaf_weight: f64,
}

impl Default for Tree {
    fn default() -> Self {
        Self { max_depth: 5, min_leaf_weight: 0.0 }
    }
}

impl LocalModel for Tree {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        if !(0.0..=0.5).contains(&self.min_leaf_weight) {
            let (value, expected) = (self.min_leaf_weight, "a number from 0 to 0.5");
            return Err(Error::Parameter { name: "min_leaf_weight", value, expected });
        }
        if data.total_weight() == 0.0 {
            let reason = "no row has a positive weight".into();
            return Err(Error::Fit { model: "a tree", reason });
        }
        Ok(Box::new(grow::grow(self, data)))
    }
}

/// A learnt tree: its nodes in one list, a node before its left branch, that before its right one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The feature that each node asks for; zero for leaves.
    pub features: Vec<usize>,
    /// A row goes left if its feature is at most this; zero for leaves.
    pub thresholds: Vec<f64>,
    /// The node on the right, zero for leaves; the node on the left is the next in the list.
    pub right: Vec<usize>,
    /// The weighted mean label of each node, as many numbers per node as the task has outputs.
    pub labels: Vec<f64>,
}

impl TreeHypothesis {
    /// Refuses lists of different lengths, numbers without a value, and nodes that lead nowhere.
    pub fn check(&self) -> Result<()> {
        let nodes = self.right.len();
        same_size("features asked by a tree", self.features.len(), nodes)?;
        same_size("thresholds of a tree", self.thresholds.len(), nodes)?;
        same_size("labels of a tree", self.labels.len(), nodes * self.task.outputs())?;
        check::finite("a threshold of a tree", &self.thresholds)?;
        check::finite("a label of a tree", &self.labels)?;
        let is_leaf = |node: usize| self.right[node] <= node;
        let leads_on =
            |node: usize| self.right[node] < nodes && self.features[node] < self.names.len();
        if nodes > 0 && (0..nodes).all(|node| is_leaf(node) || leads_on(node)) {
            return Ok(());
        }
        Err(Error::Unsupported { what: "a tree", needs: "branches that lead to its own leaves" })
    }

    /// The leaf that a row belongs to.
    #[must_use]
    pub fn leaf(&self, x: &[f64]) -> usize {
        let mut node = 0;
        while self.right[node] > node {
            let left = x[self.features[node]] <= self.thresholds[node];
            node = if left { node + 1 } else { self.right[node] };
        }
        node
    }
}

impl Hypothesis for TreeHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let outputs = self.task.outputs();
        let mut labels = Labels::neutral(self.task, features.rows());
        for (label, x) in labels.as_mut_slice().chunks_exact_mut(outputs).zip(features.iter()) {
            let leaf = self.leaf(x);
            label.copy_from_slice(&self.labels[leaf * outputs..(leaf + 1) * outputs]);
        }
        labels
    }

    fn stored(&self) -> Stored {
        Stored::Tree(self.clone())
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
        let Stored::Tree(tree) = Tree::default().fit(&data).unwrap().stored() else {
            panic!("a tree stores a tree")
        };
        assert_eq!(tree.thresholds, [3.0, 0.0, 0.0]);
        assert_eq!(tree.labels, [3.0, -1.0, 7.0]);
        assert_eq!(tree.right, [2, 0, 0]);
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
        let fitted = UNLIMITED.fit(&data).unwrap().stored();
        for _ in 0..5 {
            let shuffled = data.select(&stream.permutation(80));
            assert_eq!(fitted, UNLIMITED.fit(&shuffled).unwrap().stored());
        }
    }

    #[test]
    fn a_threshold_separates_neighbouring_floats_and_ignores_the_sign_of_zero() {
        let next = 1.0 + f64::EPSILON;
        let data = line(&[1.0, next, -0.0, 0.0], &[0.0, 1.0, 5.0, 6.0], &[1.0; 4]);
        let predictions = UNLIMITED.fit(&data).unwrap().predict(data.features());
        assert_eq!(predictions.as_slice(), [0.0, 1.0, 5.5, 5.5]);
    }
}
