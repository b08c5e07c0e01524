//! What a forest has learnt.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::{Hypothesis, Storable, Stored, TreeNodes, check},
};

/// A learnt forest: the mean of its trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The first node of each tree.
    pub roots: Vec<u32>,
    /// The nodes of all trees, tree by tree.
    pub nodes: TreeNodes,
}

impl Hypothesis for ForestHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let mut labels = Labels::neutral(self.task, features.rows());
        let sums = labels.as_mut_slice();
        sums.fill(0.0);
        self.nodes.add_labels(&self.roots, features, self.task.outputs(), sums);
        let trees = self.roots.len() as f64;
        for sum in sums {
            *sum /= trees;
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for ForestHypothesis {
    const KIND: &'static str = "forest";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses a forest that no fit gives and that could not predict.
    fn check(&self) -> Result<()> {
        check::task(self.task)?;
        if self.roots.is_empty() {
            return Err(Error::Shape { what: "trees of a forest", found: 0, expected: 1 });
        }
        self.nodes.check(&self.roots, self.names.len(), self.task.outputs())
    }
}
