//! The same label for every row: the weighted mean, and the honest floor of every comparison,
//!
//! ```text
//! ȳ = Σ_r weight_r y_r / Σ_r weight_r = argmin_c  Σ_r weight_r L(y_r, c)
//! ```
//!
//! for squared loss and for cross-entropy alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Hypothesis, LocalModel, Storable, Stored, Vanishing, check};
use crate::{
    data::{Dataset, Features, Labels, Task},
    error::{Result, same_size},
};

/// A model that learns the weighted mean label and looks at no feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "NoKeys", into = "NoKeys")]
#[schemars(with = "NoKeys")]
pub struct Mean;

/// There is nothing to set.
#[derive(Serialize, Deserialize, JsonSchema)]
struct NoKeys {}

impl From<NoKeys> for Mean {
    fn from(_: NoKeys) -> Self {
        Self
    }
}

impl From<Mean> for NoKeys {
    fn from(_: Mean) -> Self {
        Self {}
    }
}

impl LocalModel for Mean {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        check::weight("a mean", data.total_weight())?;
        Ok(Box::new(Constant { task: data.task(), label: data.mean_label() }))
    }

    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        Vanishing::Forgotten
    }
}

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

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for Constant {
    const KIND: &'static str = "constant";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (None, self.task)
    }

    /// Refuses a label of the wrong length or without a value, as a file may hold.
    fn check(&self) -> Result<()> {
        same_size("numbers of a constant label", self.label.len(), self.task.outputs())?;
        check::finite("a constant label", &self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn mean_keeps_the_laws_of_local_models() {
        testing::check_local_model(&Mean, Task::Regression);
        testing::check_local_model(&Mean, Task::Classification { classes: 3 });
    }

    #[test]
    fn a_constant_of_the_wrong_length_is_refused() {
        let task = Task::Classification { classes: 2 };
        assert!(Constant { task, label: vec![0.5, 0.5] }.check().is_ok());
        assert!(Constant { task, label: vec![1.0] }.check().is_err());
        assert!(Constant { task, label: vec![f64::NAN, 0.5] }.check().is_err());
    }
}
