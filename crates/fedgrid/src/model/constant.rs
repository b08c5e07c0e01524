//! The same label for every row: the weighted mean, and the honest floor of every comparison.

use serde::{Deserialize, Serialize};

use super::{Hypothesis, Stored};
use crate::data::{Features, Labels, Task};

/// One label for all rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// What is predicted.
    pub task: Task,
    /// The label, as many numbers as the task has outputs.
    pub label: Vec<f64>,
}

impl Hypothesis for Constant {
    fn predict(&self, features: &Features) -> Labels {
        Labels::new(self.task, self.label.repeat(features.rows()))
            .expect("a constant's label is finite and of the task's size")
    }

    fn stored(&self) -> Stored {
        Stored::Constant(self.clone())
    }
}
