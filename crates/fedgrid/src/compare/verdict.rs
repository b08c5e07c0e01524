//! The answer, by one rule.
//!
//! ```text
//! network        beats the best row without the network by 1 % and by 3 standard errors, and
//!                every shuffle; and was not found to be the same as its shuffles within 1 %
//! hub            the same of a method with a hub, which has no network to shuffle
//! coupling-only  a coupled method beats local and pooled so, and it was found that the network adds
//!                less than 1 % to the best row without it, or to its own shuffles
//! coupling       a coupled method beats local and pooled so; what the network's shape adds is not
//!                confirmed
//! pooled, local  the better of the two, by 3 standard errors, and no coupling seems 1 % better; and it
//!                was found that the network gains less than 1 % on it
//! undecided      the rows cannot tell
//! ```
//!
//! To find that something adds less than 1 % is a test of its own: the gain and two of its standard
//! errors must stay below 1 % (for shuffles on both sides, an equivalence test). A gain that was not
//! confirmed has not been found to be absent.
//!
//! Standard errors are paired over nodes: with `d_i` the difference of two methods' summed errors at
//! node i and N the number of rows, the mean difference is Σ `d_i` / N and its standard error
//! √(n · var d) / N.

use serde::{Deserialize, Serialize};

use super::{Card, Contestant, NodeScore};

/// How much better a method must be, as a share of the other's error, to be worth a sentence.
const MARGIN_SHARE: f64 = 0.01;
/// How many standard errors confirm a gain: by chance in one of 700 comparisons.
const CONFIRMING_STANDARD_ERRORS: f64 = 3.0;
/// How many standard errors around a gain must stay below the margin to find that there is none worth
/// it: each side of such a test is wrong in one of 40.
const EXCLUDING_STANDARD_ERRORS: f64 = 2.0;

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The network.
    Network,
    /// The study's method with a hub, which knows no network.
    Hub,
    /// Coupling nodes; what the network's shape adds is not confirmed.
    Coupling,
    /// Coupling nodes, and the network adds nothing worth it to that.
    CouplingOnly,
    /// One model for all.
    Pooled,
    /// Every node alone.
    Local,
    /// The rows cannot tell.
    Undecided,
}

/// How much smaller the mean error of one method is than that of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// By how much; negative if it is larger.
    pub gain: f64,
    /// The standard error of that; infinite if one node cannot tell.
    pub standard_error: f64,
    /// The error that it is a gain on.
    pub error: f64,
}

impl Difference {
    /// Whether there is a gain, by enough standard errors.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.gain > 0.0 && self.gain >= CONFIRMING_STANDARD_ERRORS * self.standard_error
    }

    /// Whether there is, and it is worth it.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.is_sure() && self.gain >= MARGIN_SHARE * self.error
    }

    /// Whether it was found that there is no gain worth it.
    #[must_use]
    pub fn is_excluded(&self) -> bool {
        self.gain + EXCLUDING_STANDARD_ERRORS * self.standard_error < MARGIN_SHARE * self.error
    }

    /// Whether it was found that there is neither a gain nor a loss worth it.
    #[must_use]
    pub fn is_equivalent(&self) -> bool {
        self.is_excluded() && Self { gain: -self.gain, ..*self }.is_excluded()
    }
}

/// The answer with the numbers it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What helps.
    pub kind: Kind,
    /// The best contestant without the network.
    pub rival: Contestant,
    /// What the network gains on that rival.
    pub gain: Difference,
    /// What the network gains on the mean of its shuffles; none without shuffles.
    pub shape: Option<Difference>,
    /// How many nodes have a smaller error with the network than alone.
    pub better: usize,
    /// How many nodes have a larger one.
    pub worse: usize,
}

impl Verdict {
    /// The verdict on the study's own method, by the cards of all contestants; none without a
    /// comparison, or if that method couples no nodes.
    #[must_use]
    pub fn of(cards: &[Card], main: Contestant) -> Option<Self> {
        let card = |contestant| cards.iter().find(|card| card.contestant == contestant);
        let local = card(Contestant::Local)?;
        let pooled = card(Contestant::Pooled)?;
        let shrunk = card(Contestant::Shrunk)?;
        let network = card(main).filter(|_| !main.is_plain())?;
        // Of equals the first, which is the simplest.
        let others = cards.iter().filter(|card| card.contestant != main);
        let rival = [pooled, local, shrunk]
            .into_iter()
            .chain(others.filter(|card| !card.contestant.uses_network()))
            .reduce(|best, card| if card.error() < best.error() { card } else { best })?;
        let shuffles: Vec<&Card> = cards
            .iter()
            .filter(|card| matches!(card.contestant, Contestant::Shuffled(_)))
            .collect();
        let gain = difference(&rival.nodes, &network.nodes);
        let shape = mean_scores(&shuffles).map(|shuffled| difference(&shuffled, &network.nodes));
        let beats_shuffles = shuffles.iter().all(|shuffle| network.error() < shuffle.error());
        let shape_adds_nothing = shape.is_some_and(|shape| shape.is_equivalent());
        let coupled = [shrunk, network, rival];
        let coupling_helps = coupled
            .iter()
            .filter(|card| card.contestant.is_personal())
            .any(|card| [local, pooled].iter().all(|alone| gain_of(card, alone).is_clear()));
        // A gain that the rows cannot confirm is no reason to advise against it either.
        let least = coupled.iter().map(|card| card.error()).fold(f64::INFINITY, f64::min);
        let is_best = |simple: &Card, other: &Card| {
            gain_of(simple, other).is_sure()
                && gain_of(network, simple).is_excluded()
                && least >= (1.0 - MARGIN_SHARE) * simple.error()
        };
        // Without a network of its own the method is one more way to couple.
        let kind = if gain.is_clear() && beats_shuffles && !shape_adds_nothing {
            if main == Contestant::Network { Kind::Network } else { Kind::Hub }
        } else if coupling_helps && (gain.is_excluded() || shape_adds_nothing) {
            Kind::CouplingOnly
        } else if coupling_helps {
            Kind::Coupling
        } else if is_best(pooled, local) {
            Kind::Pooled
        } else if is_best(local, pooled) {
            Kind::Local
        } else {
            Kind::Undecided
        };
        let pairs = || network.nodes.iter().zip(&local.nodes);
        Some(Self {
            kind,
            rival: rival.contestant,
            gain,
            shape,
            better: pairs().filter(|(network, local)| network.loss < local.loss).count(),
            worse: pairs().filter(|(network, local)| network.loss > local.loss).count(),
        })
    }

    /// Whether the network helps.
    #[must_use]
    pub fn helps(&self) -> bool {
        self.kind == Kind::Network
    }
}

/// What one method gains on another.
fn gain_of(one: &Card, other: &Card) -> Difference {
    difference(&other.nodes, &one.nodes)
}

/// The mean scores of several methods at each node; none of none.
fn mean_scores(cards: &[&Card]) -> Option<Vec<NodeScore>> {
    let (first, rest) = cards.split_first()?;
    let count = cards.len() as f64;
    let mean = |(node, score): (usize, &NodeScore)| {
        let sum = rest.iter().fold(score.loss, |sum, card| sum + card.nodes[node].loss);
        NodeScore { loss: sum / count, ..*score }
    };
    Some(first.nodes.iter().enumerate().map(mean).collect())
}

/// How much smaller the second's mean error is than the first's.
fn difference(first: &[NodeScore], second: &[NodeScore]) -> Difference {
    let pairs: Vec<f64> = first
        .iter()
        .zip(second)
        .filter(|(a, _)| a.rows > 0)
        .map(|(a, b)| a.loss - b.loss)
        .collect();
    let total = NodeScore::total(first);
    let (rows, error) = (total.rows.max(1) as f64, total.mean().unwrap_or(0.0));
    let count = pairs.len() as f64;
    let sum: f64 = pairs.iter().sum();
    // One node cannot tell chance from effect.
    if pairs.len() < 2 {
        return Difference { gain: sum / rows, standard_error: f64::INFINITY, error };
    }
    let mean = sum / count;
    let variance = pairs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Difference { gain: sum / rows, standard_error: (count * variance).sqrt() / rows, error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{MethodKind, Strength};

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
            converged: true,
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
        Verdict::of(&cards, Contestant::Network).unwrap().kind
    }

    const NINE: [f64; 4] = [9.0, 9.1, 8.9, 9.0];
    const SIX: [f64; 4] = [6.0, 6.1, 5.9, 6.0];
    const TEN: [f64; 4] = [10.0, 10.1, 9.9, 10.0];

    #[test]
    fn a_network_that_beats_all_rivals_and_shuffles_helps() {
        assert_eq!(kind(&TEN, &TEN, &NINE, &SIX, &TEN), Kind::Network);
    }

    #[test]
    fn a_shape_that_is_found_to_add_nothing_means_coupling_only() {
        // The shuffles do as well to within 1 %.
        assert_eq!(kind(&TEN, &TEN, &NINE, &SIX, &SIX), Kind::CouplingOnly);
        // So does shrunk.
        assert_eq!(kind(&TEN, &TEN, &SIX, &SIX, &TEN), Kind::CouplingOnly);
    }

    #[test]
    fn a_network_that_seems_better_than_shrunk_is_not_said_to_have_a_useless_shape() {
        // 7 % better on average, but not at every node.
        let network = [6.5, 5.0, 6.4, 4.4];
        assert_eq!(kind(&TEN, &TEN, &SIX, &network, &NINE), Kind::Coupling);
        // Clearly better, but a shuffle did better still, which tells little about the shape.
        let shuffled = [5.0, 5.5, 7.0, 4.2];
        assert_eq!(kind(&TEN, &TEN, &NINE, &network, &shuffled), Kind::Coupling);
    }

    #[test]
    fn beating_all_shuffles_by_a_hair_is_no_shape_that_helps() {
        let shuffled = SIX.map(|error| error + 0.001);
        assert_eq!(kind(&TEN, &TEN, &NINE, &SIX, &shuffled), Kind::CouplingOnly);
    }

    #[test]
    fn one_model_that_is_averaged_is_no_coupling() {
        let cards = |baseline| {
            [
                card(Contestant::Local, &TEN),
                card(Contestant::Pooled, &NINE),
                card(Contestant::Shrunk, &NINE),
                card(Contestant::Network, &NINE),
                card(Contestant::Baseline(baseline), &SIX),
            ]
        };
        let kind = |baseline| Verdict::of(&cards(baseline), Contestant::Network).unwrap().kind;
        assert_eq!(kind(MethodKind::Fedavg), Kind::Undecided);
        assert_eq!(kind(MethodKind::Ditto), Kind::CouplingOnly);
    }

    #[test]
    fn without_a_gain_from_coupling_the_better_of_pooled_and_local_is_named() {
        assert_eq!(kind(&TEN, &SIX, &SIX, &SIX, &SIX), Kind::Pooled);
        assert_eq!(kind(&SIX, &TEN, &SIX, &SIX, &SIX), Kind::Local);
    }

    #[test]
    fn a_network_is_denied_only_if_a_gain_is_excluded() {
        // On average as good as pooled, with differences that could hide 1 %.
        let spread = [5.0, 7.1, 4.9, 7.0];
        assert_eq!(kind(&TEN, &SIX, &SIX, &spread, &SIX), Kind::Undecided);
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

    #[test]
    fn a_baseline_without_the_network_is_a_rival_and_one_with_it_is_not() {
        let cards = |baseline| {
            [
                card(Contestant::Local, &TEN),
                card(Contestant::Pooled, &TEN),
                card(Contestant::Shrunk, &NINE),
                card(Contestant::Network, &SIX),
                card(Contestant::Baseline(baseline), &SIX),
            ]
        };
        let verdict = |baseline| Verdict::of(&cards(baseline), Contestant::Network).unwrap();
        let ditto = verdict(MethodKind::Ditto);
        assert_eq!(ditto.rival, Contestant::Baseline(MethodKind::Ditto));
        assert_eq!(ditto.kind, Kind::CouplingOnly);
        let gossip = verdict(MethodKind::Gossip);
        assert_eq!((gossip.rival, gossip.kind), (Contestant::Shrunk, Kind::Network));
    }
}
