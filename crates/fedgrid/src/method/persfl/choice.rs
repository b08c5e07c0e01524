//! Which candidates are probed: drawn evenly as in the papers, or by what earlier probes were worth,
//!
//! ```text
//! ε-greedy   with probability ε any candidate, otherwise the one of largest mean reward r̄_j
//! UCB        the candidates of largest  r̄_j + c √(ln t / n_j),  untried ones first
//! ```
//!
//! Rewards fall by many powers of ten while a model learns, so they are remembered relative to the
//! loss at which they were measured, and none counts for more than one in either direction.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::{
    error::{Error, Result, at_least_zero},
    network::NodeId,
    random::Stream,
};

/// How candidates are chosen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Evenly, without replacement, as in the papers.
    #[default]
    Uniform,
    /// The best so far, and now and then any.
    EpsilonGreedy {
        /// The probability ε from zero to one of drawing any candidate; one is uniform.
        epsilon: f64,
    },
    /// The largest upper confidence bounds.
    Ucb {
        /// The width c ≥ 0 of the bounds; zero trusts every mean.
        width: f64,
    },
    /// Evenly among the nodes of the target's own cluster: with one candidate this is the papers'
    /// oracle, which must be told the clusters.
    Oracle {
        /// The cluster of each node.
        clusters: Arc<[usize]>,
    },
}

impl Choice {
    pub(super) fn check(&self) -> Result<()> {
        match *self {
            Self::EpsilonGreedy { epsilon } if !(0.0..=1.0).contains(&epsilon) => {
                let expected = "a probability from zero to one";
                Err(Error::Parameter { name: "epsilon", value: epsilon, expected })
            }
            Self::Ucb { width } => at_least_zero("width", width),
            _ => Ok(()),
        }
    }
}

/// The candidates of one target and what their probes were worth.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    choice: Choice,
    /// Who may be probed, and with what success, in order of ids.
    pub(super) tallies: Vec<Tally>,
    /// The places of all candidates, in order but for the moment of a draw.
    places: Vec<usize>,
}

impl Chooser {
    pub(super) fn new(choice: &Choice, target: NodeId, candidates: &[NodeId]) -> Self {
        let known = |&&candidate: &&NodeId| match choice {
            Choice::Oracle { clusters } => clusters.get(candidate) == clusters.get(target),
            _ => true,
        };
        let tally = |&candidate: &NodeId| Tally::new(target, candidate);
        let tallies: Vec<Tally> = candidates.iter().filter(known).map(tally).collect();
        Self { choice: choice.clone(), places: (0..tallies.len()).collect(), tallies }
    }

    /// The places of so many candidates, or of all if there are fewer.
    pub(super) fn draw(&mut self, count: usize, stream: &mut Stream, drawn: &mut Vec<usize>) {
        let count = count.min(self.places.len());
        match self.choice {
            Choice::Uniform | Choice::Oracle { .. } => self.evenly(count, stream, drawn),
            Choice::EpsilonGreedy { epsilon } => {
                let by_chance = (0..count).filter(|_| stream.uniform() < epsilon).count();
                self.best(count - by_chance, drawn, Tally::relative);
                let taken = drawn.clone();
                self.places.retain(|place| !taken.contains(place));
                let mut rest = Vec::new();
                self.evenly(by_chance, stream, &mut rest);
                drawn.extend(rest);
                self.places = (0..self.tallies.len()).collect();
            }
            Choice::Ucb { width } => {
                // Untried candidates come first, in random order.
                self.evenly(self.places.len(), stream, drawn);
                let (mut rank, order) = (vec![0; drawn.len()], std::mem::take(drawn));
                order.iter().enumerate().for_each(|(position, &place)| rank[place] = position);
                let time: usize = self.tallies.iter().map(|tally| tally.rewarded).sum();
                let time = (time.max(1) as f64).ln();
                self.best_by_rank(count, drawn, &rank, |tally| match tally.rewarded {
                    0 => f64::INFINITY,
                    n => tally.relative() + width * (time / n as f64).sqrt(),
                });
            }
        }
    }

    fn evenly(&mut self, count: usize, stream: &mut Stream, drawn: &mut Vec<usize>) {
        drawn.clear();
        let mut swaps = [0; 64];
        let mut more = Vec::new();
        for place in 0..count {
            let other = place + stream.index(self.places.len() - place);
            self.places.swap(place, other);
            drawn.push(self.places[place]);
            match swaps.get_mut(place) {
                Some(swap) => *swap = other,
                None => more.push(other),
            }
        }
        // Put back, so that a draw depends on nothing but its stream.
        for place in (0..count).rev() {
            let other = swaps.get(place).copied().unwrap_or_else(|| more[place - swaps.len()]);
            self.places.swap(place, other);
        }
    }

    fn best(&self, count: usize, drawn: &mut Vec<usize>, value: impl Fn(&Tally) -> f64) {
        let rank: Vec<usize> = (0..self.tallies.len()).collect();
        self.best_by_rank(count, drawn, &rank, value);
    }

    /// The places of largest value; equal ones in order of their rank.
    fn best_by_rank(
        &self,
        count: usize,
        drawn: &mut Vec<usize>,
        rank: &[usize],
        value: impl Fn(&Tally) -> f64,
    ) {
        let values: Vec<f64> = self.tallies.iter().map(value).collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order
            .sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]).then(rank[a].cmp(&rank[b])));
        order.truncate(count);
        *drawn = order;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn chooser(choice: &Choice, worth: &[f64]) -> Chooser {
        let candidates: Vec<NodeId> = (1..=worth.len()).collect();
        let mut chooser = Chooser::new(choice, 0, &candidates);
        for (tally, reward) in chooser.tallies.iter_mut().zip(worth) {
            tally.reward(*reward, 1.0);
        }
        chooser
    }

    fn draw(chooser: &mut Chooser, count: usize, round: usize) -> Vec<usize> {
        let mut drawn = Vec::new();
        let mut stream = Stream::new(1, 0, round, Purpose::Candidates);
        chooser.draw(count, &mut stream, &mut drawn);
        drawn
    }

    #[test]
    fn even_draws_hold_every_candidate_equally_often_and_no_one_twice() {
        let mut counts = [0_u32; 80];
        let mut even = chooser(&Choice::Uniform, &[0.0; 80]);
        for round in 0..2000 {
            let mut drawn = draw(&mut even, 70, round);
            for &place in &drawn {
                counts[place] += 1;
            }
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 70);
        }
        assert!(counts.iter().all(|&count| count.abs_diff(1750) < 75), "{counts:?}");
        assert_eq!(draw(&mut even, 70, 3), draw(&mut even.clone(), 70, 3));
        assert_eq!(draw(&mut even, 500, 3).len(), 80);
    }

    #[test]
    fn without_chance_the_greedy_probe_the_best_and_with_nothing_else_anyone() {
        let worth = [0.1, 0.9, -0.5, 0.4];
        let greedy = |epsilon| chooser(&Choice::EpsilonGreedy { epsilon }, &worth);
        assert_eq!(draw(&mut greedy(0.0), 2, 0), [1, 3]);
        let mut seen = [false; 4];
        (0..100).for_each(|round| seen[draw(&mut greedy(1.0), 1, round)[0]] = true);
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn upper_bounds_try_all_once_and_come_back_to_those_seldom_seen() {
        let mut bounds = Chooser::new(&Choice::Ucb { width: 1.0 }, 0, &[1, 2, 3]);
        let mut first: Vec<usize> = (0..3)
            .map(|round| {
                let place = draw(&mut bounds, 1, round)[0];
                bounds.tallies[place].reward(if place == 0 { 0.9 } else { 0.0 }, 1.0);
                place
            })
            .collect();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(draw(&mut bounds, 1, 4), [0]);
        (0..50).for_each(|_| bounds.tallies[0].reward(0.9, 1.0));
        assert_ne!(draw(&mut bounds, 1, 5), [0]);
        let mut trusting = bounds.clone();
        trusting.choice = Choice::Ucb { width: 0.0 };
        assert_eq!(draw(&mut trusting, 1, 5), [0]);
    }

    #[test]
    fn the_oracle_draws_its_own_cluster_only() {
        let oracle = Choice::Oracle { clusters: [0, 1, 0, 1].into() };
        let chooser = Chooser::new(&oracle, 0, &[1, 2, 3]);
        assert_eq!(chooser.tallies.len(), 1);
        assert_eq!(chooser.tallies[0].candidate, 2);
    }
}
