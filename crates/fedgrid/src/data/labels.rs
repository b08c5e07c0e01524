//! Targets and predictions: the two have one shape.

use serde::{Deserialize, Serialize};

use super::{Task, shared_numbers::SharedNumbers};
use crate::error::{Error, Result, same_size};

/// The labels of rows: regression targets, or one probability per class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Labels {
    pub(super) task: Task,
    pub(super) values: SharedNumbers,
}

impl Labels {
    /// Labels from the numbers of each row, one after the other.
    pub fn new(task: Task, values: Vec<f64>) -> Result<Self> {
        let outputs = task.outputs();
        same_size("label values", values.len() % outputs, 0)?;
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite {
                what: "a label",
                value: values[position],
                row: position / outputs,
                column: format!("output {}", position % outputs),
            });
        }
        Ok(Self { task, values: values.into() })
    }

    /// Regression targets or predictions.
    #[must_use]
    pub fn values(values: Vec<f64>) -> Self {
        Self { task: Task::Regression, values: values.into() }
    }

    /// Certain class labels, as probabilities zero and one.
    pub fn classes(classes: usize, labels: &[usize]) -> Result<Self> {
        let mut values = vec![0.0; labels.len() * classes];
        for (row, &label) in labels.iter().enumerate() {
            if label >= classes {
                return Err(Error::Shape { what: "class label", found: label, expected: classes });
            }
            values[row * classes + label] = 1.0;
        }
        Ok(Self { task: Task::Classification { classes }, values: values.into() })
    }

    /// The label zero (or even odds) for every row.
    #[must_use]
    pub fn neutral(task: Task, rows: usize) -> Self {
        let value = match task {
            Task::Regression => 0.0,
            Task::Classification { classes } => 1.0 / classes as f64,
        };
        Self { task, values: vec![value; rows * task.outputs()].into() }
    }

    /// What these are labels of.
    #[must_use]
    pub fn task(&self) -> Task {
        self.task
    }

    /// How many rows are labelled.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.task.outputs()
    }

    /// The numbers of all rows, one row after the other.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// The numbers of all rows, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        self.values.as_mut()
    }

    /// The label of one row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        let outputs = self.task.outputs();
        &self.values[row * outputs..(row + 1) * outputs]
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { task: self.task, values: self.values.select(rows, self.task.outputs()) }
    }

    /// The most probable class of each row; the first of equals.
    #[must_use]
    pub fn most_probable(&self) -> Vec<usize> {
        let best = |row: &[f64]| (0..row.len()).fold(0, |a, b| if row[b] > row[a] { b } else { a });
        self.values.chunks_exact(self.task.outputs()).map(best).collect()
    }
}
