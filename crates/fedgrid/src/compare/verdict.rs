//! The answer, by one rule.
//!
//! ```text
//! network        beats the best row without the network clearly, every shuffle, and their mean clearly
//! hub            the same of a method with a hub, which has no network to shuffle
//! coupling-only  a coupled method likely beats local and pooled by 1 %, and it was found that the network adds
//!                less than 1 % to the best row without it, or to its own shuffles
//! coupling       a coupled method likely beats local and pooled by 1 %; what the network's shape adds is not
//!                confirmed
//! pooled, local  the better of the two, likely, and no coupling seems 1 % better; and it was found that the
//!                network gains less than 1 % on it
//! undecided      the rows cannot tell
//! ```
//!
//! A gain is sure if chance alone makes one as large in one of 200 cases, likely if in one of 50, and clear if
//! it is sure and at least 1 %. To find that something adds less than 1 % is a test of its own: a gain of 1 %
//! would have shown as more in 39 of 40 cases (for shuffles on both sides, an equivalence test). A gain that
//! was not confirmed has not been found to be absent. `difference.rs` has the standard error.

use serde::{Deserialize, Serialize};

use super::{Card, Contestant, Difference, difference::MARGIN_SHARE};
use crate::network::Network;

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

impl Kind {
    /// Its name, as files have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Hub => "hub",
            Self::Coupling => "coupling",
            Self::CouplingOnly => "coupling-only",
            Self::Pooled => "pooled",
            Self::Local => "local",
            Self::Undecided => "undecided",
        }
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

/// What the rule asks of contestants, wherever their rows are.
pub(super) struct Compared<'a> {
    /// The study's own method.
    pub(super) main: Contestant,
    /// All that were compared, with their mean errors, those before the network in the order of a table.
    pub(super) errors: Vec<(Contestant, f64)>,
    /// What the first gains on the second.
    pub(super) gain_of: &'a dyn Fn(Contestant, Contestant) -> Difference,
    /// What the method gains on the mean of its shuffles; none without shuffles.
    pub(super) shape: Option<Difference>,
    /// How many nodes have a smaller and a larger error with the network than alone.
    pub(super) sides: (usize, usize),
}

impl Compared<'_> {
    fn error(&self, contestant: Contestant) -> Option<f64> {
        let found = self.errors.iter().find(|(other, _)| *other == contestant);
        found.map(|(_, error)| *error)
    }

    /// The best contestant that goes without the network; of equals the first, which is the simplest.
    fn rival(&self) -> Option<Contestant> {
        let is_simple =
            |contestant: &Contestant| *contestant != self.main && !contestant.uses_network();
        let simple = [Contestant::Pooled, Contestant::Local, Contestant::Shrunk];
        let others = self.errors.iter().map(|(contestant, _)| *contestant);
        let all = simple.into_iter().chain(others.filter(|other| !simple.contains(other)));
        let known = all.filter(is_simple).filter_map(|one| Some((one, self.error(one)?)));
        let best = known.reduce(|best, one| if one.1 < best.1 { one } else { best });
        best.map(|(contestant, _)| contestant)
    }

    /// The verdict; none without a row for local, pooled and the method itself, or if that couples no nodes. Where
    /// nothing pulled to the pooled model was tried, it is no rival, and whoever says the verdict says so.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let main = self.main;
        let [local, pooled] = [self.error(Contestant::Local)?, self.error(Contestant::Pooled)?];
        let own = self.error(main).filter(|_| !main.is_plain())?;
        let rival = self.rival()?;
        let gain = (self.gain_of)(main, rival);
        let is_shuffle = |contestant: &Contestant| matches!(contestant, Contestant::Shuffled(_));
        let mut shuffles = self.errors.iter().filter(|(contestant, _)| is_shuffle(contestant));
        // The mean of few shuffles says little about the best of many.
        let beats_shuffles = shuffles.all(|(_, shuffle)| own < *shuffle)
            && self.shape.is_none_or(|shape| shape.is_clear());
        let shape_adds_nothing = self.shape.is_some_and(|shape| shape.is_equivalent());
        let is_known = |contestant: &Contestant| self.error(*contestant).is_some();
        let coupled: Vec<Contestant> =
            [Contestant::Shrunk, main, rival].into_iter().filter(is_known).collect();
        let coupling_helps = coupled.iter().filter(|one| one.is_personal()).any(|one| {
            let beats = |alone: Contestant| (self.gain_of)(*one, alone).is_likely_worth_it();
            [Contestant::Local, Contestant::Pooled].into_iter().all(beats)
        });
        // A gain that the rows cannot confirm is no reason to advise against it either.
        let errors = coupled.iter().filter_map(|one| self.error(*one));
        let least = errors.fold(f64::INFINITY, f64::min);
        let is_best = |(simple, error): (Contestant, f64), other: Contestant| {
            (self.gain_of)(simple, other).is_likely()
                && (self.gain_of)(main, simple).is_excluded()
                && least >= (1.0 - MARGIN_SHARE) * error
        };
        // Without a network of its own the method is one more way to couple.
        let kind = if gain.is_clear() && beats_shuffles {
            if main == Contestant::Network { Kind::Network } else { Kind::Hub }
        } else if coupling_helps && (gain.is_excluded() || shape_adds_nothing) {
            Kind::CouplingOnly
        } else if coupling_helps {
            Kind::Coupling
        } else if is_best((Contestant::Pooled, pooled), Contestant::Local) {
            Kind::Pooled
        } else if is_best((Contestant::Local, local), Contestant::Pooled) {
            Kind::Local
        } else {
            Kind::Undecided
        };
        let (better, worse) = self.sides;
        Some(Verdict { kind, rival, gain, shape: self.shape, better, worse })
    }
}

impl Verdict {
    /// The verdict on the study's own method, by the cards of all contestants; none without a
    /// comparison, or if that method couples no nodes. Neighbours in the network may err alike.
    #[must_use]
    pub fn of(cards: &[Card], main: Contestant, network: &Network) -> Option<Self> {
        let card = |contestant| cards.iter().find(|card| card.contestant == contestant);
        let local = card(Contestant::Local)?;
        // In one place all of these are tried.
        card(Contestant::Pooled).and(card(Contestant::Shrunk))?;
        let own = card(main).filter(|_| !main.is_plain())?;
        let rows = |contestant| card(contestant).map(Card::rows).unwrap_or_default();
        let gain_of = |one, other| Difference::between(&rows(other), &rows(one), network);
        let is_shuffle = |card: &&Card| matches!(card.contestant, Contestant::Shuffled(_));
        let shuffled = cards.iter().filter(is_shuffle).map(|card| card.rows().into_owned());
        let shuffled: Vec<_> = shuffled.collect();
        let pairs = || own.nodes.iter().zip(&local.nodes);
        let compared = Compared {
            main,
            errors: cards.iter().map(|card| (card.contestant, card.error())).collect(),
            gain_of: &gain_of,
            shape: Difference::from_shuffles(&shuffled, &own.rows(), network),
            sides: (
                pairs().filter(|(own, local)| own.loss < local.loss).count(),
                pairs().filter(|(own, local)| own.loss > local.loss).count(),
            ),
        };
        compared.verdict()
    }

    /// Whether the network helps.
    #[must_use]
    pub fn helps(&self) -> bool {
        self.kind == Kind::Network
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{MethodKind, NodeScore, RoleMeasures, Strength},
        network::path,
    };

    /// A card whose nodes have the given errors on one row each.
    fn card(contestant: Contestant, errors: &[f64]) -> Card {
        let nodes: Vec<NodeScore> = errors
            .iter()
            .map(|&loss| NodeScore { loss, rows: 1, ..NodeScore::default() })
            .collect();
        let mean = NodeScore::total(&nodes).mean();
        Card {
            contestant,
            strength: Strength { alpha: 0.0, ridge: None },
            validation: mean.unwrap(),
            test: mean,
            accuracy: None,
            measures: RoleMeasures::default(),
            path: Vec::new(),
            nodes,
            evidence: Vec::new(),
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
        Verdict::of(&cards, Contestant::Network, &path(4).unwrap()).unwrap().kind
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
        let kind = |baseline| {
            Verdict::of(&cards(baseline), Contestant::Network, &path(4).unwrap()).unwrap().kind
        };
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
        let verdict = |baseline| {
            Verdict::of(&cards(baseline), Contestant::Network, &path(4).unwrap()).unwrap()
        };
        let ditto = verdict(MethodKind::Ditto);
        assert_eq!(ditto.rival, Contestant::Baseline(MethodKind::Ditto));
        assert_eq!(ditto.kind, Kind::CouplingOnly);
        let gossip = verdict(MethodKind::Gossip);
        assert_eq!((gossip.rival, gossip.kind), (Contestant::Shrunk, Kind::Network));
    }
}
