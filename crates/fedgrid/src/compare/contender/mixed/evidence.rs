//! What the training rows say of the network,
//!
//! ```text
//! Λ = 2 (ℓ(ρ̂) − ℓ(0))          p = (1 + #{Λ of shuffles ≥ Λ}) / (1 + shuffles)
//! ```
//!
//! If it does not matter where in the network nodes are, Λ and that of every shuffle are drawn alike, so that p is
//! at most α with probability α at most. It speaks of the training rows, and of no other: deviations that are
//! smooth along the network in one week may be others in the next.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::{Deserialize, Serialize};

use super::{Ask, Correlated, KeptEstimates, Mixed, MixedRows, family, with_covariances};
use crate::{
    compare::{Approach, Contestant, Study},
    error::{Error, Result},
    mixed::{NetworkRatio, Precision},
    network::{Edge, Network},
    uncertainty::CovarianceChoice,
};

/// How much likelier the network makes the training rows, by a mixed model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkEvidence {
    /// Minus twice the logarithm of the likelihood without the network: at ρ = 0.
    pub without: f64,
    /// The same with it, at the best ρ.
    pub with: f64,
    /// That ρ.
    pub rho: f64,
    /// Λ: how much smaller the network makes it.
    pub ratio: f64,
    /// Λ of every network with shuffled nodes.
    pub shuffled: Vec<f64>,
    /// How many of these were asked for; there are fewer where they would take too long.
    pub shuffles_asked: usize,
    /// Whether the network was looked at for one ρ or two only, because shuffles would take too long: Λ is at least that.
    #[serde(default)]
    pub is_first_look: bool,
    /// The share of shuffles with as large a Λ, the network counted among them; none without a shuffle.
    pub p_value: Option<f64>,
    /// What covariances of a node's coefficients are worth without a network, where rows allow them.
    pub covariances: Option<CovarianceChoice>,
}

/// Numbers that are multiplied at most for all shuffles together: about a second on one core. 99 shuffles of two
/// hundred nodes with five coefficients and five neighbours take most of it.
// A count, and no time that was measured: results must not depend on the machine.
const MOST_WORK: f64 = 2e9;

/// The difference of two Λ that a rough search cannot tell from none.
const SAME_RATIO: f64 = 5e-3;

impl Study {
    /// What training rows say of the network; none without an edge, if no shuffle is asked for, or if there are too
    /// few rows for a mixed model.
    pub fn network_evidence(&self) -> Result<Option<NetworkEvidence>> {
        match self.by_name() {
            Some((study, _)) => study.evidence_by_name(),
            None => self.evidence_by_name(),
        }
    }

    fn evidence_by_name(&self) -> Result<Option<NetworkEvidence>> {
        let asked = self.settings.likelihood_shuffles;
        let (precision, method) =
            (Precision::along(&self.network), self.method_of(Contestant::Mixed));
        let Approach::Mixed(keys) = method else { return Ok(None) };
        // It sums up rows as they are.
        let is_private = self.settings.privacy.is_some();
        if asked == 0 || is_private || !precision.has_edges() {
            return Ok(None);
        }
        let rows = MixedRows::new(
            &keys,
            &self.raw_rows(&self.plan.train),
            family(self),
            self.scales.as_ref(),
        )?;
        let orders: Vec<Vec<usize>> = (0..asked).map(|number| self.shuffle(number)).collect();
        let orders = Orders::new(&self.network, orders);
        match keys.evidence((&rows, &self.settings.kept), &precision, &orders) {
            Err(Error::Fit { .. }) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Shuffles, of which several may be the same network, or the given one: four nodes have few.
struct Orders {
    /// One of each that is not the given network.
    different: Vec<Vec<usize>>,
    /// Where the network of each shuffle is among these; none if it is the given one.
    places: Vec<Option<usize>>,
}

impl Orders {
    fn new(network: &Network, orders: Vec<Vec<usize>>) -> Self {
        let same: Vec<usize> = (0..network.len()).collect();
        let mut known = BTreeMap::from([(fingerprint(network, &same), None)]);
        let (mut different, mut places) = (Vec::new(), Vec::new());
        for order in orders {
            let next = Some(different.len());
            let place = *known.entry(fingerprint(network, &order)).or_insert(next);
            places.push(place);
            if place == next {
                different.push(order);
            }
        }
        Self { different, places }
    }

    /// Λ of all shuffles, from that of the given network and those of different ones, up to the first that has none.
    fn of_each(&self, given: f64, different: &[f64]) -> Vec<f64> {
        let of = |place: &Option<usize>| place.map_or(Some(given), |at| different.get(at).copied());
        self.places.iter().map_while(of).collect()
    }
}

/// A number that tells networks apart: large ones have too many edges to be kept for every shuffle.
fn fingerprint(network: &Network, order: &[usize]) -> u64 {
    let edge = |edge: &Edge| {
        let ends = [order[edge.source], order[edge.target]];
        (ends[0].min(ends[1]), ends[0].max(ends[1]), edge.weight.to_bits())
    };
    let mut edges: Vec<(usize, usize, u64)> = network.edges().iter().map(edge).collect();
    edges.sort_unstable();
    let mut hasher = DefaultHasher::new();
    edges.hash(&mut hasher);
    hasher.finish()
}

impl Mixed {
    fn evidence(
        &self,
        (rows, kept): (&MixedRows, &KeptEstimates),
        precision: &Precision,
        orders: &Orders,
    ) -> Result<NetworkEvidence> {
        let correlated = self.correlated == Correlated::Yes;
        let apart = &Precision::independent(precision.len());
        // As the rival without a network asks for it, who was most likely here before.
        let plain = rows.fit(Ask { precision: apart, rho: None, correlated }, kept)?;
        let ask = Ask { precision, rho: None, correlated };
        let found = rows.network_ratio((ask, &plain), &orders.different, MOST_WORK)?;
        let mut covariances = None;
        if self.correlated == Correlated::Auto {
            covariances = with_covariances((rows, kept), plain, apart)?.choice;
        }
        let ratio = found.ratio();
        let NetworkRatio { independent, along, rho, shuffled, is_first_look } = found;
        let shuffled = if is_first_look { Vec::new() } else { orders.of_each(ratio, &shuffled) };
        // Shuffles of a complete network are the same network, but for the rounding of a search.
        let least = ratio - SAME_RATIO;
        let beaten_by = shuffled.iter().filter(|other| **other >= least).count();
        let share = (1 + beaten_by) as f64 / (1 + shuffled.len()) as f64;
        Ok(NetworkEvidence {
            without: independent,
            with: along,
            rho,
            ratio,
            p_value: (!shuffled.is_empty()).then_some(share),
            shuffled,
            shuffles_asked: orders.places.len(),
            is_first_look,
            covariances,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{complete, path};

    #[test]
    fn shuffles_that_are_the_same_network_are_sought_once() {
        let orders = vec![vec![2, 1, 0], vec![1, 0, 2], vec![2, 0, 1], vec![0, 2, 1]];
        assert_eq!(Orders::new(&complete(3).unwrap(), orders.clone()).places, [None; 4]);
        // A path is the same from its end.
        let path = Orders::new(&path(3).unwrap(), orders);
        assert_eq!(path.places, [None, Some(0), Some(0), Some(1)]);
        assert_eq!(path.of_each(7.0, &[5.0]), [7.0, 5.0, 5.0]);
    }
}
