//! What a logistic model has learnt.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::objective::softmax;
use crate::{
    algebra::dot,
    data::{Features, Labels, Task},
    error::{Result, same_size},
    model::{Hypothesis, Storable, Stored, check},
};

/// Learnt class probabilities: `softmax(W x + b)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// How many classes there are.
    pub classes: usize,
    /// The slopes of each class; of two classes only those of the second, the first has none.
    pub slopes: Vec<Vec<f64>>,
    /// The intercept that belongs to each list of slopes, zero for models without one.
    pub intercepts: Vec<f64>,
}

impl Hypothesis for LogisticHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let task = Task::Classification { classes: self.classes };
        let mut labels = Labels::neutral(task, features.rows());
        let mut logits = vec![0.0; self.classes];
        let mut complements = vec![0.0; self.classes];
        // With a vector too few, the first class keeps the logit zero.
        let first = self.classes - self.slopes.len();
        let rows = labels.as_mut_slice().chunks_exact_mut(self.classes);
        for (probabilities, x) in rows.zip(features.iter()) {
            for (logit, (w, b)) in
                logits[first..].iter_mut().zip(self.slopes.iter().zip(&self.intercepts))
            {
                *logit = dot(w, x) + b;
            }
            softmax(&logits, probabilities, &mut complements);
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }

    fn coefficients(&self) -> Option<Vec<Vec<f64>>> {
        let map = |(slopes, intercept): (&Vec<f64>, &f64)| {
            slopes.iter().copied().chain([*intercept]).collect()
        };
        Some(self.slopes.iter().zip(&self.intercepts).map(map).collect())
    }
}

impl Storable for LogisticHypothesis {
    const KIND: &'static str = "logistic";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), Task::Classification { classes: self.classes })
    }

    /// Refuses slopes and intercepts of other numbers than there are classes and features, and such
    /// without a value.
    fn check(&self) -> Result<()> {
        check::task(Task::Classification { classes: self.classes })?;
        // With a vector too few, the first class has none.
        let vectors = self.slopes.len();
        let expected = self.classes - usize::from(vectors + 1 == self.classes);
        same_size("vectors of a logistic model", vectors, expected)?;
        same_size("intercepts of a logistic model", self.intercepts.len(), vectors)?;
        check::finite("an intercept of a logistic model", &self.intercepts)?;
        for slopes in &self.slopes {
            same_size("slopes of a logistic model", slopes.len(), self.names.len())?;
            check::finite("a slope of a logistic model", slopes)?;
        }
        Ok(())
    }
}
