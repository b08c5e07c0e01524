//! What a network adds to the likelihood of the training rows,
//!
//! ```text
//! Λ = 2 (max over Σ, ρ of ℓ − max over Σ of ℓ at ρ = 0)
//! ```
//!
//! beside the same number with the rows of all nodes in other places of the network: ρ = 0 knows no places, so that
//! only the first part is computed anew. If places mean nothing, all these numbers are drawn alike, also where each is
//! known to three digits behind the point only: that is enough beside its own chance, and takes half of the time.

use rayon::prelude::*;

use super::{
    MixedEstimate,
    search::{Relative, Search, Sought, Surface},
};
use crate::error::Result;

/// What a network adds to the likelihood.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkRatio {
    /// Minus twice the logarithm of the likelihood at ρ = 0.
    pub independent: f64,
    /// The same at the best ρ.
    pub along: f64,
    /// That ρ.
    pub rho: f64,
    /// Λ with nodes in other places, in the order of these.
    pub shuffled: Vec<f64>,
}

impl NetworkRatio {
    /// Λ.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.independent - self.along
    }
}

/// A likelihood whose nodes can trade places.
pub(super) trait Movable: Surface + Sync + Sized {
    /// The same where the node of each place is the one that `order` has there.
    fn moved(&self, order: &[usize]) -> Self;

    /// How many products of numbers a look takes, about.
    fn work(&self) -> f64;
}

/// Looks at the likelihood that a rough search for ρ takes: ten on the demo's stations, 25 where most nodes have one row.
const USUAL_LOOKS: f64 = 15.0;

/// The largest likelihood at ρ = 0.
struct Without {
    relative: Relative,
    mean: Vec<f64>,
    deviance: f64,
}

impl Without {
    /// The one that was estimated, where what is sought has the σ² of normal errors or none.
    fn estimated(found: &MixedEstimate, sought: &Sought) -> Self {
        let noise = sought.noise.map(|_| found.noise);
        Self {
            relative: Relative { factor: found.factor.clone(), rho: 0.0, noise },
            mean: if sought.mean.is_empty() { Vec::new() } else { found.mean.clone() },
            deviance: found.deviance,
        }
    }
}

/// Λ of the network, and with the nodes in as many of these orders as take no more products of numbers, about. What
/// was estimated at ρ = 0 need not be sought again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count is small")]
pub(super) fn ratio<S: Movable>(
    problem: &S,
    (sought, without): (&Sought, Option<&MixedEstimate>),
    (orders, most_work): (&[Vec<usize>], f64),
) -> Result<NetworkRatio> {
    let affordable = (most_work / (USUAL_LOOKS * problem.work()).max(1.0)) as usize;
    let orders = &orders[..orders.len().min(affordable)];
    let Without { relative, mean, deviance: independent } = if let Some(found) = without {
        Without::estimated(found, sought)
    } else {
        let end = Search::new(problem, sought).at_given_rho()?;
        Without { relative: end.relative, mean: end.mean, deviance: end.deviance }
    };
    let best = |problem: &S| -> Result<(f64, f64)> {
        let with = Search::rough(problem, sought).along(&relative, &mean)?;
        let with = with.filter(|with| with.deviance < independent);
        Ok(with.map_or((0.0, independent), |with| (with.relative.rho, with.deviance)))
    };
    let (rho, along) = best(problem)?;
    let shuffled = |order: &Vec<usize>| Ok(independent - best(&problem.moved(order))?.1);
    let shuffled = orders.par_iter().map(shuffled).collect::<Result<Vec<f64>>>()?;
    Ok(NetworkRatio { independent, along, rho, shuffled })
}
