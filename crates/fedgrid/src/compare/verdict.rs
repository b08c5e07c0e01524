//! The answer, by one rule.
//!
//! ```text
//! network        beats the best of local, pooled and shrunk by 1 % and by 3 standard errors,
//!                and every shuffle
//! hub            the same of a method with a hub, which has no network to shuffle
//! coupling-only  shrunk or network beat local and pooled so, but the network's shape adds nothing
//! pooled, local  the better of the two, by 3 standard errors, and no coupling seems 1 % better
//! undecided      the rows cannot tell
//! ```
//!
//! Standard errors are paired over nodes: with `d_i` the difference of two methods' summed errors at
//! node i and N the number of rows, the mean difference is Σ `d_i` / N and its standard error
//! √(n · var d) / N.

use serde::{Deserialize, Serialize};

use super::{Card, Contestant, NodeScore};

/// How much better a method must be, in relative terms and in standard errors.
const MARGIN: f64 = 0.01;
const STANDARD_ERRORS: f64 = 3.0;

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The network.
    Network,
    /// The study's method with a hub, which knows no network.
    Hub,
    /// Coupling nodes, whoever their neighbours are.
    CouplingOnly,
    /// One model for all.
    Pooled,
    /// Every node alone.
    Local,
    /// The rows cannot tell.
    Undecided,
}

/// The answer with the numbers it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What helps.
    pub kind: Kind,
    /// The best contestant without the network.
    pub rival: Contestant,
    /// How much smaller the network's mean error is than the rival's; negative if it is larger.
    pub gain: f64,
    /// The standard error of that difference.
    pub standard_error: f64,
    /// How many nodes have a smaller error with the network than alone.
    pub better: usize,
    /// How many nodes have a larger one.
    pub worse: usize,
    /// The smallest error of a shuffled network; none without shuffles.
    pub best_shuffle: Option<f64>,
    /// The mean error of the shuffled networks; none without shuffles.
    pub mean_shuffle: Option<f64>,
}

impl Verdict {
    /// The verdict on the cards of all contestants; none without a comparison.
    #[must_use]
    pub fn of(cards: &[Card]) -> Option<Self> {
        let card = |contestant| cards.iter().find(|card| card.contestant == contestant);
        let local = card(Contestant::Local)?;
        let pooled = card(Contestant::Pooled)?;
        let shrunk = card(Contestant::Shrunk)?;
        let with_hub = |card: &&Card| matches!(card.contestant, Contestant::Baseline(_));
        let network = card(Contestant::Network).or_else(|| cards.iter().find(with_hub))?;
        let is_network = network.contestant == Contestant::Network;
        let shuffles: Vec<f64> = cards
            .iter()
            .filter(|card| matches!(card.contestant, Contestant::Shuffled(_)))
            .map(error)
            .collect();
        let better = |a, b| if error(b) < error(a) { b } else { a };
        let rival = better(better(pooled, local), shrunk);
        let (gain, standard_error) = difference(&rival.nodes, &network.nodes);
        let beats_shuffles = shuffles.iter().all(|shuffle| error(network) < *shuffle);
        // A gain that the rows cannot confirm is no reason to advise against it either.
        let seems_better = |simple: &Card| {
            [shrunk, network].iter().any(|coupled| error(coupled) < (1.0 - MARGIN) * error(simple))
        };
        // Without a network of its own the method is one more way to couple.
        let kind = if clearly_better(network, rival) && beats_shuffles {
            if is_network { Kind::Network } else { Kind::Hub }
        } else if [shrunk, network]
            .iter()
            .any(|coupled| clearly_better(coupled, local) && clearly_better(coupled, pooled))
        {
            Kind::CouplingOnly
        } else if surely_better(pooled, local) && !seems_better(pooled) {
            Kind::Pooled
        } else if surely_better(local, pooled) && !seems_better(local) {
            Kind::Local
        } else {
            Kind::Undecided
        };
        let pairs = || network.nodes.iter().zip(&local.nodes);
        Some(Self {
            kind,
            rival: rival.contestant,
            gain,
            standard_error,
            better: pairs().filter(|(network, local)| network.loss < local.loss).count(),
            worse: pairs().filter(|(network, local)| network.loss > local.loss).count(),
            best_shuffle: shuffles.iter().copied().reduce(f64::min),
            mean_shuffle: (!shuffles.is_empty())
                .then(|| shuffles.iter().sum::<f64>() / shuffles.len() as f64),
        })
    }

    /// Whether the network helps.
    #[must_use]
    pub fn helps(&self) -> bool {
        self.kind == Kind::Network
    }
}

/// The mean error that counts: on test rows, or else on validation rows.
fn error(card: &Card) -> f64 {
    card.test.unwrap_or(card.validation)
}

fn surely_better(a: &Card, b: &Card) -> bool {
    let (gain, standard_error) = difference(&b.nodes, &a.nodes);
    gain > 0.0 && gain >= STANDARD_ERRORS * standard_error
}

fn clearly_better(a: &Card, b: &Card) -> bool {
    surely_better(a, b) && error(b) - error(a) >= MARGIN * error(b)
}

/// How much smaller the second's mean error is than the first's, and its standard error.
fn difference(first: &[NodeScore], second: &[NodeScore]) -> (f64, f64) {
    let pairs: Vec<f64> = first
        .iter()
        .zip(second)
        .filter(|(a, _)| a.rows > 0)
        .map(|(a, b)| a.loss - b.loss)
        .collect();
    let rows = NodeScore::total(first).rows.max(1) as f64;
    let count = pairs.len() as f64;
    let sum: f64 = pairs.iter().sum();
    // One node cannot tell chance from effect.
    if pairs.len() < 2 {
        return (sum / rows, f64::INFINITY);
    }
    let mean = sum / count;
    let variance = pairs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (sum / rows, (count * variance).sqrt() / rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Strength;

    /// A card whose nodes have the given errors on one row each.
    fn card(contestant: Contestant, errors: &[f64]) -> Card {
        let nodes: Vec<NodeScore> =
            errors.iter().map(|&loss| NodeScore { loss, correct: 0, rows: 1 }).collect();
        let mean = NodeScore::total(&nodes).mean();
        Card {
            contestant,
            strength: Strength { alpha: 0.0, ridge: None },
            validation: mean.unwrap(),
            test: mean,
            accuracy: None,
            path: Vec::new(),
            nodes,
        }
    }

    fn kind(
        local: &[f64],
        pooled: &[f64],
        shrunk: &[f64],
        network: &[f64],
        shuffled: &[f64],
    ) -> Kind {
        let cards = [
            card(Contestant::Local, local),
            card(Contestant::Pooled, pooled),
            card(Contestant::Shrunk, shrunk),
            card(Contestant::Network, network),
            card(Contestant::Shuffled(0), shuffled),
        ];
        Verdict::of(&cards).unwrap().kind
    }

    const NINE: [f64; 4] = [9.0, 9.1, 8.9, 9.0];
    const SIX: [f64; 4] = [6.0, 6.1, 5.9, 6.0];
    const TEN: [f64; 4] = [10.0, 10.1, 9.9, 10.0];

    #[test]
    fn a_network_that_beats_all_rivals_and_shuffles_helps() {
        assert_eq!(kind(&TEN, &TEN, &NINE, &SIX, &TEN), Kind::Network);
    }

    #[test]
    fn a_shuffle_that_does_as_well_means_coupling_only() {
        assert_eq!(kind(&TEN, &TEN, &NINE, &SIX, &SIX), Kind::CouplingOnly);
        assert_eq!(kind(&TEN, &TEN, &SIX, &SIX, &TEN), Kind::CouplingOnly);
    }

    #[test]
    fn without_a_gain_from_coupling_the_better_of_pooled_and_local_is_named() {
        assert_eq!(kind(&TEN, &SIX, &SIX, &SIX, &SIX), Kind::Pooled);
        assert_eq!(kind(&SIX, &TEN, &SIX, &SIX, &SIX), Kind::Local);
    }

    #[test]
    fn a_network_that_seems_better_but_is_not_surely_so_is_undecided() {
        let spread = [2.0, 5.0, 1.0, 12.0];
        assert_eq!(kind(&TEN, &SIX, &SIX, &spread, &TEN), Kind::Undecided);
    }

    #[test]
    fn a_gain_carried_by_one_node_is_undecided() {
        let lucky = [1.0, 10.1, 9.9, 10.0];
        assert_eq!(kind(&TEN, &TEN, &TEN, &lucky, &TEN), Kind::Undecided);
        assert_eq!(kind(&[9.0], &[9.0], &[9.0], &[1.0], &[9.0]), Kind::Undecided);
    }
}
