//! What a hypothesis from a file must fulfil before it may predict: lengths that agree and numbers
//! that are finite.

use super::Stored;
use crate::{
    data::{Scaling, Task},
    error::{Error, Result, same_size},
};

/// Refuses numbers that are not finite.
pub(super) fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => {
            let column = "number".to_string();
            Err(Error::NotFinite { what, value: values[row], row, column })
        }
    }
}

/// Refuses a scaling of another number of columns, and one that divides by nothing.
pub(super) fn scaling(scaling: &Scaling, columns: usize) -> Result<()> {
    same_size("means of the scaling", scaling.means.len(), columns)?;
    same_size("deviations of the scaling", scaling.deviations.len(), columns)?;
    finite("a mean of the scaling", &scaling.means)?;
    positive("deviation", &scaling.deviations)
}

/// Refuses numbers that are not above zero.
pub(super) fn positive(name: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
        None => Ok(()),
        Some(&value) => Err(Error::Parameter { name, value, expected: "a positive number" }),
    }
}

/// Refuses weights that are negative or not finite, and weights that are all zero.
pub(super) fn shares(shares: &[f64]) -> Result<()> {
    if let Some(row) = shares.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::RowWeight { row, value: shares[row] });
    }
    let value: f64 = shares.iter().sum();
    if value > 0.0 {
        Ok(())
    } else {
        Err(Error::Parameter { name: "sum of the shares", value, expected: "a positive number" })
    }
}

impl Stored {
    /// Whether this is a hypothesis for rows of these features and this task, and can predict them.
    #[must_use]
    pub fn fits(&self, names: &[String], task: Task) -> bool {
        let (own, predicts) = match self {
            Self::Constant(hypothesis) => (None, hypothesis.task),
            Self::Linear(hypothesis) => (Some(&hypothesis.names), Task::Regression),
            Self::Logistic(hypothesis) => {
                (Some(&hypothesis.names), Task::Classification { classes: hypothesis.classes })
            }
            Self::Poisson(hypothesis) => (Some(&hypothesis.names), Task::Regression),
            Self::Tree(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Neighbours(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::KernelRidge(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Smoother(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Perceptron(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
        };
        predicts == task && own.is_none_or(|own| **own == *names) && self.check().is_ok()
    }

    /// Refuses a hypothesis that cannot predict, as a damaged file may hold.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Constant(hypothesis) => hypothesis.check(),
            Self::Neighbours(hypothesis) => hypothesis.check(),
            Self::KernelRidge(hypothesis) => hypothesis.check(),
            Self::Smoother(hypothesis) => hypothesis.check(),
            Self::Perceptron(hypothesis) => hypothesis.check(),
            Self::Linear(hypothesis) => hypothesis.check(),
            Self::Logistic(hypothesis) => hypothesis.check(),
            Self::Poisson(hypothesis) => hypothesis.check(),
            Self::Tree(hypothesis) => hypothesis.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LinearHypothesis, LogisticHypothesis, TreeHypothesis};

    const NUMBER: Task = Task::Regression;
    const CLASS: Task = Task::Classification { classes: 2 };

    fn names() -> Vec<String> {
        vec!["x".into(), "z".into()]
    }

    fn linear() -> LinearHypothesis {
        LinearHypothesis { names: names().into(), slopes: vec![1.0, 2.0], intercept: 0.5 }
    }

    fn tree() -> TreeHypothesis {
        TreeHypothesis {
            names: names().into(),
            task: NUMBER,
            features: vec![1, 0, 0],
            thresholds: vec![0.5, 0.0, 0.0],
            right: vec![2, 0, 0],
            labels: vec![0.0, 1.0, 2.0],
        }
    }

    #[test]
    fn hypotheses_fit_their_own_features_and_task() {
        let logistic = LogisticHypothesis {
            names: names().into(),
            classes: 2,
            slopes: vec![vec![1.0, 2.0]],
            intercepts: vec![0.5],
        };
        for (stored, task) in [
            (Stored::Linear(linear()), NUMBER),
            (Stored::Tree(tree()), NUMBER),
            (Stored::Logistic(logistic.clone()), CLASS),
        ] {
            let other = if task == NUMBER { CLASS } else { NUMBER };
            assert!(stored.fits(&names(), task), "{stored:?}");
            assert!(!stored.fits(&names()[..1], task) && !stored.fits(&names(), other));
        }
        let short = LogisticHypothesis { slopes: vec![vec![1.0]], ..logistic };
        assert!(short.check().is_err());
    }

    #[test]
    fn damaged_hypotheses_are_refused() {
        assert!(LinearHypothesis { slopes: vec![1.0], ..linear() }.check().is_err());
        assert!(LinearHypothesis { intercept: f64::NAN, ..linear() }.check().is_err());
        assert!(TreeHypothesis { right: vec![9, 0, 0], ..tree() }.check().is_err());
        assert!(TreeHypothesis { features: vec![2, 0, 0], ..tree() }.check().is_err());
        assert!(TreeHypothesis { labels: vec![0.0, 1.0], ..tree() }.check().is_err());
    }
}
