//! What a budget of privacy has bought.

use serde::{Deserialize, Serialize};

use crate::privacy::Clipped;

/// What a budget has bought: mean errors on test rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bought {
    /// How many rows were noised.
    pub rows: usize,
    /// What lay outside of declared bounds and was moved there.
    pub clipped: Clipped,
    /// The mean deviation of the noise on each number of a release, in half ranges of labels.
    pub deviation: f64,
    /// Of models of each node's own rows and the declared bounds: who stays out has these.
    pub alone: Option<f64>,
    /// Of own models beside twins, at this budget.
    pub with_twins: Option<f64>,
    /// Of the same beside twins without noise.
    pub without_noise: Option<f64>,
}
