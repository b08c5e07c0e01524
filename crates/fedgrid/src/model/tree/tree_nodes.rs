//! The nodes of trees in flat lists: a node before its left branch, that before its right one.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    algebra::add_scaled,
    data::Features,
    error::{Error, Result, same_size},
    model::check,
};

/// The nodes of one tree, or of several one after the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeNodes {
    /// The feature that each node asks for; zero for leaves.
    pub features: Vec<u32>,
    /// A row goes left if its feature is at most this; zero for leaves.
    pub thresholds: Vec<f64>,
    /// The node on the right, zero for leaves; the node on the left is the next in the list.
    pub right: Vec<u32>,
    /// The label of each node, the same count of numbers for each.
    pub labels: Vec<f64>,
    /// The weight of the rows that each node was grown of, for explanations; nothing in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
}

impl TreeNodes {
    /// How many nodes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.right.len()
    }

    /// The leaf that a row belongs to in the tree of the given root.
    #[must_use]
    pub fn leaf(&self, root: usize, x: &[f64]) -> usize {
        self.leaf_of(root, |feature| x[feature])
    }

    /// The same, with the row's features as a function.
    pub(crate) fn leaf_of(&self, root: usize, x: impl Fn(usize) -> f64) -> usize {
        let mut node = root;
        // Nodes only lead on, so not even a damaged list can trap a row.
        while self.right[node] as usize > node {
            let left = x(self.features[node] as usize) <= self.thresholds[node];
            node = if left { node + 1 } else { self.right[node] as usize };
        }
        node
    }

    /// Adds the labels of the leaves of all trees to the numbers of each row, tree by tree.
    pub(crate) fn add_labels(
        &self,
        roots: &[u32],
        features: &Features,
        width: usize,
        sums: &mut [f64],
    ) {
        // A tree stays close while some rows pass through it.
        const ROWS_TOGETHER: usize = 64;
        sums.par_chunks_mut(ROWS_TOGETHER * width).enumerate().for_each(|(chunk, sums)| {
            for &root in roots {
                for (row, sums) in sums.chunks_exact_mut(width).enumerate() {
                    let leaf = self.leaf(root as usize, features.row(chunk * ROWS_TOGETHER + row));
                    add_scaled(sums, 1.0, &self.labels[leaf * width..(leaf + 1) * width]);
                }
            }
        });
    }

    /// Forgets all nodes.
    pub(crate) fn clear(&mut self) {
        self.features.clear();
        self.thresholds.clear();
        self.right.clear();
        self.labels.clear();
        self.weights.clear();
    }

    /// Appends a leaf; its label and its weight are appended by the caller.
    pub(crate) fn push(&mut self) {
        self.features.push(0);
        self.thresholds.push(0.0);
        self.right.push(0);
    }

    /// Appends the nodes of another tree and returns its root.
    pub(crate) fn append(&mut self, tree: &Self) -> u32 {
        self.labels.extend_from_slice(&tree.labels);
        self.append_unlabelled(tree)
    }

    /// The same without labels, which are appended by the caller.
    pub(crate) fn append_unlabelled(&mut self, tree: &Self) -> u32 {
        let root = u32::try_from(self.count()).expect("fewer than 2³² nodes");
        self.features.extend_from_slice(&tree.features);
        self.thresholds.extend_from_slice(&tree.thresholds);
        self.right.extend(tree.right.iter().map(|&node| if node > 0 { node + root } else { 0 }));
        self.weights.extend_from_slice(&tree.weights);
        root
    }

    /// Gives two-class labels that hold only the second probability the first one too.
    pub(crate) fn complete_labels(&mut self, outputs: usize) {
        if outputs == 2 && self.labels.len() == self.count() {
            self.labels = self.labels.iter().flat_map(|p| [1.0 - p, *p]).collect();
        }
    }

    /// Refuses nodes that no fit gives: lists of other lengths, numbers that are not finite,
    /// features that do not exist, branches that leave their tree.
    pub(crate) fn check(&self, roots: &[u32], columns: usize, outputs: usize) -> Result<()> {
        let count = self.count();
        same_size("features of tree nodes", self.features.len(), count)?;
        same_size("thresholds of tree nodes", self.thresholds.len(), count)?;
        same_size("labels of tree nodes", self.labels.len(), count.saturating_mul(outputs))?;
        check::finite("a threshold", &self.thresholds)?;
        check::finite("a label", &self.labels)?;
        if !self.weights.is_empty() {
            same_size("weights of tree nodes", self.weights.len(), count)?;
            check::positive("a weight", &self.weights)?;
        }
        // Then no sum over trees overflows.
        check::finite("the sum of all labels", &[self.labels.iter().map(|y| y.abs()).sum()])?;
        let ends = roots.iter().skip(1).map(|&root| root as usize).chain([count]);
        let mut next = 0;
        for (&root, end) in roots.iter().zip(ends) {
            same_size("the root of a tree", root as usize, next)?;
            if end <= next || end > count {
                return Err(shape("the end of a tree", end, count));
            }
            (next..end).try_for_each(|node| self.check_node(node, end, columns))?;
            next = end;
        }
        same_size("nodes of all trees", next, count)
    }

    /// A node that is not a leaf has both branches behind it and within its tree.
    fn check_node(&self, node: usize, end: usize, columns: usize) -> Result<()> {
        let (right, feature) = (self.right[node] as usize, self.features[node] as usize);
        if right != 0 && !(node + 2..end).contains(&right) {
            return Err(shape("the right branch", right, node + 2));
        }
        if right != 0 && feature >= columns {
            return Err(shape("a split feature", feature, columns));
        }
        Ok(())
    }
}

fn shape(what: &'static str, found: usize, expected: usize) -> Error {
    Error::Shape { what, found, expected }
}
