//! Minima along falling strengths: from the one at which all weights of a component are equal down to a
//! share of it, each started from the one before.
//!
//! ```text
//! α_k = critical α · weakest^(k / (count − 1)),      k = 0 … count − 1
//! ```

use super::{Coupled, Goal, Losses, Minimum, critical, minimise};
use crate::{
    error::{Error, Result},
    network::Network,
    penalty::Penalty,
};

/// So many strengths from the critical one down to this share of it, for the norms and losses that are smooth twice.
pub fn strengths(
    losses: &Losses,
    network: &Network,
    penalty: Penalty,
    count: usize,
    weakest: f64,
) -> Result<Vec<f64>> {
    if !(weakest > 0.0 && weakest < 1.0) {
        let expected = "a share between zero and one";
        return Err(Error::Parameter { name: "weakest", value: weakest, expected });
    }
    let Some(strongest) = critical(losses, network, penalty)? else {
        return Err(Error::Unsupported {
            what: "a path from the critical strength",
            needs: "a norm; the squared norm never makes weights equal",
        });
    };
    let share = |k: usize| weakest.powf(k as f64 / (count.max(2) - 1) as f64);
    Ok((0..count).map(|k| strongest.at_most * share(k)).collect())
}

/// The minimum at each of these strengths, each started from the one before.
pub fn minima(
    losses: &Losses,
    network: &Network,
    penalty: Penalty,
    strengths: &[f64],
    goal: Goal,
) -> Result<Vec<Minimum>> {
    let mut found: Vec<Minimum> = Vec::with_capacity(strengths.len());
    // Minima at close strengths are close, so each start saves most of the next one's steps.
    for &alpha in strengths {
        let coupled = Coupled { alpha, penalty };
        found.push(minimise(losses, network, coupled, found.last(), goal)?);
    }
    Ok(found)
}
