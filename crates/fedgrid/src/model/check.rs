//! What rows must fulfil before a model is fitted, and what a hypothesis from a file must fulfil before
//! it may predict: lengths that agree and numbers that are finite.

use crate::{
    data::{Scaling, Task},
    error::{Error, Result, same_size},
};

/// Refuses targets that are classes.
pub(super) fn numbers(model: &'static str, task: Task) -> Result<()> {
    if task == Task::Regression {
        return Ok(());
    }
    Err(Error::Fit { model, reason: "it predicts numbers, the target is a class".into() })
}

/// Refuses rows without any weight.
pub(super) fn weight(model: &'static str, total: f64) -> Result<()> {
    if total > 0.0 {
        return Ok(());
    }
    Err(Error::Fit { model, reason: "no row has a positive weight".into() })
}

/// Class probabilities of a row may miss the sum one by so much.
const SUM_TOLERANCE: f64 = 1e-6;

/// Whether a label is a list of probabilities: cross-entropy has a lower bound for no other.
pub(super) fn is_distribution(label: &[f64]) -> bool {
    let sum: f64 = label.iter().sum();
    label.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() <= SUM_TOLERANCE
}

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

/// Refuses tasks of fewer than two classes.
pub(super) fn task(task: Task) -> Result<()> {
    match task {
        Task::Classification { classes: found @ 0..2 } => {
            Err(Error::Shape { what: "classes", found, expected: 2 })
        }
        _ => Ok(()),
    }
}
