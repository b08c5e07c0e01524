//! A tree model with its sorted rows: what a round after the first need not do again.

use std::sync::Arc;

use super::{Grower, MergedRows, Splits, Targets, TreeHypothesis};
use crate::{
    data::{Features, Labels},
    error::{Error, Result, same_size},
    model::{Hypothesis, KeepsSplits, Prepared, check},
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

    /// The predictions for the rows that were sorted: of the different ones as they are written, and of those of weight
    /// zero as the hypothesis has them.
    pub(crate) fn spread(
        &self,
        hypothesis: &dyn Hypothesis,
        given: &Features,
        mut write: impl FnMut(usize, &mut [f64]),
    ) -> Result<Labels> {
        same_size("rows", given.rows(), self.given)?;
        let absent: Vec<usize> = self.absent.iter().map(|&row| row as usize).collect();
        let asked = hypothesis.predict(&given.select(&absent));
        let (task, outputs) = (asked.task(), asked.task().outputs());
        let mut predictions = Labels::neutral(task, given.rows());
        let all = predictions.as_mut_slice();
        self.rows.each_source(|row, source| write(row, &mut all[source * outputs..][..outputs]));
        for (place, row) in absent.into_iter().enumerate() {
            all[row * outputs..][..outputs].copy_from_slice(asked.row(place));
        }
        Ok(predictions)
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
    fn learn(&self, labels: &Labels) -> Result<(TreeHypothesis, Grower<'_>)> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let mut grower = Grower::new(rows, targets.width);
        let mut nodes = grower.grow(self.limits, &rows.weights, &targets, None);
        nodes.complete_labels(labels.task().outputs());
        Ok((TreeHypothesis { names: names.clone(), task: labels.task(), nodes }, grower))
    }

    /// The same with the predictions for all given rows.
    fn grown(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(TreeHypothesis, Labels, Grower<'_>)> {
        let (tree, grower) = self.learn(labels)?;
        // Rows that the tree was grown on have a leaf already.
        let predictions = self.sorted.spread(&tree, rows, |row, label| {
            label.copy_from_slice(tree.label(grower.leaves()[row] as usize));
        })?;
        Ok((tree, predictions, grower))
    }
}

impl Prepared for PreparedTree {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.learn(labels)?.0))
    }

    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let (tree, predictions, _) = self.grown(labels, rows)?;
        Ok((Box::new(tree), predictions))
    }

    fn as_keeping_splits(&self) -> Option<&dyn KeepsSplits> {
        Some(self)
    }
}

impl KeepsSplits for PreparedTree {
    fn grow(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels, Splits)> {
        let (tree, predictions, grower) = self.grown(labels, rows)?;
        let nodes = (&[0][..], &tree.nodes);
        let splits = Splits::with_leaves(&self.sorted.rows, nodes, grower.leaves().to_vec());
        Ok((Box::new(tree), predictions, splits))
    }

    fn refit(
        &self,
        splits: &Splits,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let targets = self.sorted.targets(labels)?;
        let given = (&self.sorted.rows.weights[..], &targets);
        let nodes = splits.with_means(given, labels.task().outputs(), |_| None);
        let names = self.sorted.names.clone();
        let tree = TreeHypothesis { names, task: labels.task(), nodes };
        let predictions = self.sorted.spread(&tree, rows, |row, label| {
            label.copy_from_slice(tree.label(splits.leaves(0)[row] as usize));
        })?;
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
