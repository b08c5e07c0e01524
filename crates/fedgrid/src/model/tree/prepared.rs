//! A tree model with its sorted rows: what a round after the first need not do again.

use std::sync::{Arc, Mutex};

use super::{Grower, Memory, Rows, Targets, TreeHypothesis};
use crate::{
    data::{Features, Labels},
    error::{Error, Result, same_size},
    model::{Hypothesis, Prepared},
};

/// Sorted rows, with what else is known before there are labels.
#[derive(Debug)]
pub(in crate::model) struct Sorted {
    /// The names of the features.
    pub(in crate::model) names: Arc<[String]>,
    /// How many rows were given.
    given: usize,
    /// The different rows of positive weight.
    pub(in crate::model) rows: Rows,
}

impl Sorted {
    /// Sorts the rows, of which one must have a positive weight.
    pub(in crate::model) fn new(
        model: &'static str,
        features: &Features,
        weights: &[f64],
    ) -> Result<Self> {
        same_size("row weights", weights.len(), features.rows())?;
        if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::RowWeight { row, value: weights[row] });
        }
        if weights.iter().all(|weight| *weight == 0.0) {
            return Err(Error::Fit { model, reason: "no row has a positive weight".into() });
        }
        let rows = Rows::new(features, weights);
        Ok(Self { names: features.names().clone(), given: features.rows(), rows })
    }

    /// The mean labels of the different rows.
    pub(in crate::model) fn targets(&self, labels: &Labels) -> Result<Targets> {
        same_size("labelled rows", labels.rows(), self.given)?;
        Ok(self.rows.targets(labels))
    }
}

/// A tree model with its sorted rows.
#[derive(Debug)]
pub(super) struct PreparedTree {
    pub(super) limits: Limits,
    pub(super) sorted: Sorted,
    /// Left by the last fit, if no other has taken it.
    pub(super) memory: Mutex<Memory>,
}

impl Prepared for PreparedTree {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let memory = self.memory.try_lock().map(|mut kept| std::mem::take(&mut *kept));
        let mut grower = Grower::new(rows, targets.width, memory.unwrap_or_default());
        let mut nodes = grower.grow(self.limits, &rows.weights, &targets, None);
        if let Ok(mut kept) = self.memory.try_lock() {
            *kept = grower.into_memory();
        }
        nodes.complete_labels(labels.task().outputs());
        Ok(Box::new(TreeHypothesis { names: names.clone(), task: labels.task(), nodes }))
    }
}

/// What bounds the growth of a tree.
#[derive(Debug, Clone, Copy)]
pub(in crate::model) struct Limits {
    /// The largest number of splits between the root and a leaf.
    pub(in crate::model) max_depth: usize,
    /// The smallest share of the total weight in a leaf.
    pub(in crate::model) min_leaf_weight: f64,
}

impl Limits {
    /// Limits whose share of weight is in its range.
    pub(in crate::model) fn checked(max_depth: usize, min_leaf_weight: f64) -> Result<Self> {
        if (0.0..=0.5).contains(&min_leaf_weight) {
            return Ok(Self { max_depth, min_leaf_weight });
        }
        let (value, expected) = (min_leaf_weight, "a number from 0 to 0.5");
        Err(Error::Parameter { name: "min_leaf_weight", value, expected })
    }
}
