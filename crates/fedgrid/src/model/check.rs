//! What a hypothesis from a file must fulfil before it may predict: lengths that agree and numbers
//! that are finite.

use super::Stored;
use crate::error::{Error, Result};

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

impl Stored {
    /// Refuses a hypothesis that cannot predict, as a damaged file may hold. Kinds without a check
    /// of their own pass.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Constant(hypothesis) => hypothesis.check(),
            Self::Linear(_) | Self::Logistic(_) | Self::Tree(_) => Ok(()),
        }
    }
}
