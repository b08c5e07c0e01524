//! What boosting has learnt.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    data::{Features, Labels, Task},
    error::{Result, same_size},
    model::{Hypothesis, Storable, Stored, TreeNodes, check, solver::softmax},
};

/// A learnt sum of trees: a number, the log-odds of the second of two classes, or one score for
/// each of more classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostingHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The constant that the trees add to.
    pub start: Vec<f64>,
    /// The first node of each tree.
    pub roots: Vec<u32>,
    /// The nodes of all trees, tree by tree; leaves hold what is added, other nodes zero.
    pub nodes: TreeNodes,
}

impl Hypothesis for BoostingHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let width = self.start.len();
        let mut scores = self.start.repeat(features.rows());
        self.nodes.add_labels(&self.roots, features, width, &mut scores);
        let mut labels = Labels::neutral(self.task, features.rows());
        let rows = labels.as_mut_slice().chunks_exact_mut(self.task.outputs());
        for (label, scores) in rows.zip(scores.chunks_exact(width)) {
            self.write_label(scores, label);
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl BoostingHypothesis {
    /// Writes the prediction of a row with these scores, of which there may be more behind.
    pub(super) fn write_label(&self, scores: &[f64], label: &mut [f64]) {
        match self.task {
            Task::Regression => label[0] = scores[0],
            Task::Classification { classes: 2 } => {
                let mut second = [scores[0]];
                link(self.task, &mut second);
                label.copy_from_slice(&[1.0 - second[0], second[0]]);
            }
            Task::Classification { classes } => {
                label.copy_from_slice(&scores[..classes]);
                link(self.task, label);
            }
        }
    }
}

impl Storable for BoostingHypothesis {
    const KIND: &'static str = "boosting";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses a sum of trees that no fit gives and that could not predict.
    fn check(&self) -> Result<()> {
        check::task(self.task)?;
        same_size("starting scores", self.start.len(), width(self.task))?;
        check::finite("a starting score", &self.start)?;
        self.nodes.check(&self.roots, self.names.len(), self.start.len())
    }
}

/// How many numbers are the scores of a row.
fn width(task: Task) -> usize {
    match task {
        Task::Regression | Task::Classification { classes: 2 } => 1,
        Task::Classification { classes } => classes,
    }
}

/// Turns the scores of a row into its prediction: probabilities for classes, of the second of two.
pub(super) fn link(task: Task, scores: &mut [f64]) {
    match task {
        Task::Regression => {}
        Task::Classification { classes: 2 } => scores[0] = 1.0 / (1.0 + (-scores[0]).exp()),
        Task::Classification { .. } => softmax(scores),
    }
}
