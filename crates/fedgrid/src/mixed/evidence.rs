//! What a network adds to the likelihood of the training rows,
//!
//! ```text
//! Λ = 2 (max over Σ, ρ of ℓ − max over Σ of ℓ at ρ = 0)
//! ```
//!
//! beside the same number with the rows of all nodes in other places of the network: ρ = 0 knows no places, so that
//! only the first part is computed anew. If places mean nothing, all these numbers are drawn alike, also where each is
//! known to three digits behind the point only: that is enough beside its own chance, and takes half of the time.
//!
//! Most of these numbers are small, and only the large ones matter. So all networks, the given one among them, are
//! looked at first: at ρ = ½ and, if that is better than none, nearer to one, with the variances of ρ = 0 scaled to the
//! same spread. The five that do best there are sought to the end, and of the others the first look stands for Λ, which
//! it is at most. This rule asks for no network by name, so the numbers are still drawn alike if places mean nothing.

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
    /// Whether `along` is no more than a first look at one ρ or two, because there was nothing to compare it with.
    pub is_first_look: bool,
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

/// What a network takes in looks at the likelihood with its gradient: two looks without one are worth one, and a twentieth of
/// the networks takes ten to 25 more.
const USUAL_LOOKS: f64 = 3.0;
/// Fewer shuffles than this cannot tell one network of twenty: where that many take too long, none is made, and the
/// first look stands for Λ of the network, too.
const LEAST_SHUFFLES: usize = 19;
/// How many networks are sought to the end.
const SOUGHT_NETWORKS: usize = 5;
/// ρ of the first look: one that shuffled networks come to, and one of networks that matter.
const LOOKED_RHOS: [f64; 2] = [0.5, 0.95];

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
    let is_enough = affordable >= orders.len().min(LEAST_SHUFFLES);
    let orders = if is_enough { &orders[..orders.len().min(affordable)] } else { &[] };
    let Without { relative, mean, deviance: independent } = if let Some(found) = without {
        Without::estimated(found, sought)
    } else {
        let end = Search::new(problem, sought).at_given_rho()?;
        Without { relative: end.relative, mean: end.mean, deviance: end.deviance }
    };
    let looks = Search::rough(problem, sought).starts(&relative, &LOOKED_RHOS);
    let looked = |problem: &S| {
        let look = |start: &Relative| Some((problem.deviance(start, &mean)?.0, start.rho));
        let mut best: Option<(f64, f64)> = None;
        // Alone, the network is asked for a ρ that matters, and for another only if that one says nothing. Of many most
        // have no ρ above none, which the smaller one tells.
        let mut order: Vec<&Relative> = looks.iter().collect();
        if !is_enough {
            order.reverse();
        }
        for found in order.into_iter().filter_map(look) {
            best = best.filter(|best| best.0 <= found.0).or(Some(found));
            if (found.0 < independent) != is_enough {
                break;
            }
        }
        best
    };
    let sought_to_end = |problem: &S| -> Result<Option<(f64, f64)>> {
        let with = Search::rough(problem, sought).along(&relative, &mean)?;
        Ok(with.map(|with| (with.deviance, with.relative.rho)))
    };
    let moved = |place: usize| place.checked_sub(1).map(|order| problem.moved(&orders[order]));
    // The given network is the first.
    let places = || (0..=orders.len()).into_par_iter();
    let mut found: Vec<Option<(f64, f64)>> =
        places().map(|place| looked(moved(place).as_ref().unwrap_or(problem))).collect();
    let value = |found: &Option<(f64, f64)>| found.map_or(f64::INFINITY, |(deviance, _)| deviance);
    let mut sorted: Vec<f64> = found.iter().map(value).collect();
    sorted.sort_by(f64::total_cmp);
    let most = sorted.get(SOUGHT_NETWORKS - 1).copied().unwrap_or(f64::INFINITY);
    // Without others to compare it with, it is not worth a search.
    let most = if is_enough { most } else { f64::NEG_INFINITY };
    let ended = places()
        .filter(|&place| value(&found[place]) <= most)
        .map(|place| Ok((place, sought_to_end(moved(place).as_ref().unwrap_or(problem))?)));
    for (place, end) in ended.collect::<Result<Vec<_>>>()? {
        // A rough search may end above the first look, which then stands.
        found[place] = end.filter(|end| end.0 < value(&found[place])).or(found[place]);
    }
    let better = found.iter().map(|found| found.filter(|(deviance, _)| *deviance < independent));
    let mut better = better.map(|found| found.unwrap_or((independent, 0.0)));
    let (along, rho) = better.next().expect("the given network is the first");
    let shuffled = better.map(|(deviance, _)| independent - deviance).collect();
    Ok(NetworkRatio { independent, along, rho, shuffled, is_first_look: !is_enough })
}
