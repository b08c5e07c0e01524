//! A tree model with its sorted rows: what a round after the first need not do again.

use std::sync::Arc;

use super::{Grower, MergedRows, Targets, TreeHypothesis};
use crate::{
    data::{Features, Labels},
    error::{Error, Result, same_size},
    model::{Hypothesis, Prepared, check},
};

/// Sorted rows, with what else is known before there are labels.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// The names of the features.
    pub(crate) names: Arc<[String]>,
    /// How many rows were given.
    given: usize,
    /// The given rows of weight zero.
    absent: Vec<u32>,
    /// The different rows of positive weight.
    pub(crate) rows: MergedRows,
}

impl Sorted {
    /// Sorts the rows, of which one must have a positive weight.
    pub(crate) fn new(model: &'static str, features: &Features, weights: &[f64]) -> Result<Self> {
        same_size("row weights", weights.len(), features.rows())?;
        if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::RowWeight { row, value: weights[row] });
        }
        check::weight(model, weights.iter().sum())?;
        let rows = MergedRows::new(features, weights);
        let given = 0..u32::try_from(features.rows()).expect("a node has fewer than 2³² rows");
        let absent = given.filter(|&row| weights[row as usize] == 0.0).collect();
        Ok(Self { names: features.names().clone(), given: features.rows(), absent, rows })
    }

    /// The mean labels of the different rows.
    pub(crate) fn targets(&self, labels: &Labels) -> Result<Targets> {
        same_size("labelled rows", labels.rows(), self.given)?;
        Ok(self.rows.targets(labels))
    }
}

/// A tree model with its sorted rows.
#[derive(Debug)]
pub(super) struct PreparedTree {
    pub(super) limits: Limits,
    pub(super) sorted: Sorted,
}

impl PreparedTree {
    /// The tree of these labels, and the leaf of each of the different rows.
    fn grow(&self, labels: &Labels) -> Result<(TreeHypothesis, Grower<'_>)> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let mut grower = Grower::new(rows, targets.width);
        let mut nodes = grower.grow(self.limits, &rows.weights, &targets, None);
        nodes.complete_labels(labels.task().outputs());
        Ok((TreeHypothesis { names: names.clone(), task: labels.task(), nodes }, grower))
    }
}

impl Prepared for PreparedTree {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.grow(labels)?.0))
    }

    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        same_size("rows", rows.rows(), self.sorted.given)?;
        let (tree, grower) = self.grow(labels)?;
        let mut predictions = Labels::neutral(labels.task(), rows.rows());
        // Rows that the tree was grown on have a leaf already.
        self.sorted.rows.each_source(|row, given| {
            tree.write_label(grower.leaves()[row] as usize, given, &mut predictions);
        });
        for &given in &self.sorted.absent {
            let leaf = tree.nodes.leaf(0, rows.row(given as usize));
            tree.write_label(leaf, given as usize, &mut predictions);
        }
        Ok((Box::new(tree), predictions))
    }
}

/// What bounds the growth of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The largest number of splits between the root and a leaf.
    pub(crate) max_depth: usize,
    /// The smallest share of the total weight in a leaf.
    pub(crate) min_leaf_weight: f64,
}

impl Limits {
    /// Limits whose share of weight is in its range.
    pub(crate) fn checked(max_depth: usize, min_leaf_weight: f64) -> Result<Self> {
        if (0.0..=0.5).contains(&min_leaf_weight) {
            return Ok(Self { max_depth, min_leaf_weight });
        }
        let (value, expected) = (min_leaf_weight, "a number from 0 to 0.5");
        Err(Error::Parameter { name: "min_leaf_weight", value, expected })
    }
}
