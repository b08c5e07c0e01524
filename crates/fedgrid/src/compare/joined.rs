//! One card of several: a contestant that was tuned and scored at one time after the other,
//!
//! ```text
//! E = Σ_k Σ_rows ℓ_k / Σ_k n_k       over origins k, each with models and strengths of its own
//! ```
//!
//! Every test row counts once for each origin that tests it, and what rows say of a node is put one behind the other,
//! so that the verdict rests on all of them.

use super::{Card, NodeEvidence, NodeScore, judged::RoleMeasures};

impl Card {
    /// The card of one contestant over several origins, each with how many rows have validated; strength and path are
    /// those of the last. None without a card.
    #[must_use]
    pub fn joined(origins: &[(&Self, usize)]) -> Option<Self> {
        let (&(last, _), earlier) = origins.split_last()?;
        if earlier.is_empty() {
            return Some(last.clone());
        }
        let cards = || origins.iter().map(|(card, _)| *card);
        let mut nodes = vec![NodeScore::default(); last.nodes.len()];
        let mut evidence = vec![NodeEvidence::default(); last.evidence.len()];
        for card in cards() {
            nodes.iter_mut().zip(&card.nodes).for_each(|(sum, own)| *sum = sum.plus(own));
            evidence.iter_mut().zip(&card.evidence).for_each(|(all, own)| all.append(own));
        }
        let total = NodeScore::total(&nodes);
        let validated: usize = origins.iter().map(|(_, rows)| rows).sum();
        let sum: f64 = origins.iter().map(|(card, rows)| card.validation * *rows as f64).sum();
        Some(Self {
            validation: sum / validated.max(1) as f64,
            test: last.test.and_then(|_| total.mean()),
            accuracy: last.accuracy.map(|_| total.accuracy()),
            // Ranks and bins of several models are none of one.
            measures: RoleMeasures::default(),
            nodes,
            evidence,
            converged: cards().all(|card| card.converged),
            ..last.clone()
        })
    }
}

impl NodeEvidence {
    /// Puts the batches of another time behind these.
    fn append(&mut self, other: &Self) {
        self.rows.extend(&other.rows);
        self.counts.extend(&other.counts);
        self.losses.extend(&other.losses);
        self.residuals.extend(&other.residuals);
        self.tilts.extend(&other.tilts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Contestant, Strength, Verdict};

    /// A card of nodes with two test rows each, whose losses are given, and their sums as evidence.
    fn card(alpha: f64, validation: f64, losses: &[[f64; 2]]) -> Card {
        let nodes: Vec<NodeScore> = losses
            .iter()
            .map(|[a, b]| NodeScore { loss: a + b, rows: 2, ..NodeScore::default() })
            .collect();
        let evidence = losses.iter().map(|own| NodeEvidence {
            rows: vec![1, 1],
            losses: own.to_vec(),
            ..NodeEvidence::default()
        });
        Card {
            contestant: Contestant::Local,
            strength: Strength { alpha, ridge: None },
            validation,
            test: NodeScore::total(&nodes).mean(),
            accuracy: None,
            measures: RoleMeasures::default(),
            path: Vec::new(),
            evidence: evidence.collect(),
            nodes,
            converged: true,
        }
    }

    #[test]
    fn every_row_counts_once_for_each_origin_that_tests_it() {
        let first = card(0.1, 3.0, &[[1.0, 2.0], [3.0, 4.0]]);
        let second = Card { converged: false, ..card(0.7, 6.0, &[[5.0, 6.0], [7.0, 8.0]]) };
        let joined = Card::joined(&[(&first, 10), (&second, 20)]).unwrap();
        assert_eq!(joined.test, Some(36.0 / 8.0));
        assert!((joined.validation - 5.0).abs() < 1e-15);
        assert_eq!(joined.strength, second.strength);
        assert_eq!(joined.nodes[1], NodeScore { loss: 22.0, rows: 4, ..NodeScore::default() });
        assert_eq!(joined.evidence[0].losses, [1.0, 2.0, 5.0, 6.0]);
        assert!(!joined.converged);
        assert_eq!(Card::joined(&[(&first, 10)]), Some(first));
        assert_eq!(Card::joined(&[]), None);
    }

    #[test]
    fn the_verdict_of_two_origins_is_that_of_all_their_rows() {
        let of = |contestant, shift: f64, at: f64| Card {
            contestant,
            ..card(0.0, 1.0, &[[at + shift, at + 1.1 * shift], [at + 0.9 * shift, at + shift]])
        };
        let cards = |at: f64| {
            [
                of(Contestant::Local, 4.0, at),
                of(Contestant::Pooled, 3.0, at),
                of(Contestant::Shrunk, 2.0, at),
                of(Contestant::Network, 0.0, at),
            ]
        };
        let (first, second) = (cards(1.0), cards(2.0));
        let joined: Vec<Card> = first
            .iter()
            .zip(&second)
            .map(|(a, b)| Card::joined(&[(a, 1), (b, 1)]).unwrap())
            .collect();
        let network = crate::network::path(2).unwrap();
        let verdict = Verdict::of(&joined, Contestant::Network, &network).unwrap();
        let both = |at: &[Card]| at[2].test.unwrap() - at[3].test.unwrap();
        let mean = f64::midpoint(both(&first), both(&second));
        assert!((verdict.gain.gain - mean).abs() < 1e-12, "{} {mean}", verdict.gain.gain);
    }
}
