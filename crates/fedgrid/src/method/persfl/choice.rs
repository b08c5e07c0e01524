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

use super::{PersFl, Tally};
use crate::{
    error::{Error, Result, at_least_zero},
    network::NodeId,
    random::{Purpose, Stream},
};

/// How candidates are chosen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateChoice {
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

impl CandidateChoice {
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

/// The candidates of one target and what their probes were worth: the part of an iteration that is the
/// same by messages and in one index.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    choice: CandidateChoice,
    target: NodeId,
    /// Who may be probed, and with what success, in order of ids.
    pub(super) tallies: Vec<Tally>,
    /// The indices of all candidates, in order but for the moment of a draw.
    indices: Vec<usize>,
}

impl Chooser {
    /// The candidates of a target, and itself if the method lets it be one.
    pub(super) fn new(method: &PersFl, target: NodeId, mut candidates: Vec<NodeId>) -> Self {
        candidates.extend(method.own.then_some(target));
        candidates.sort_unstable();
        let known = |&candidate: &NodeId| match &method.choice {
            CandidateChoice::Oracle { clusters } => clusters.get(candidate) == clusters.get(target),
            _ => true,
        };
        let tally = |candidate: NodeId| Tally::new(target, candidate);
        let tallies: Vec<Tally> = candidates.into_iter().filter(known).map(tally).collect();
        let indices = (0..tallies.len()).collect();
        Self { choice: method.choice.clone(), target, tallies, indices }
    }

    /// The indices of the candidates that are probed in an iteration.
    pub(super) fn draw(&mut self, method: &PersFl, iteration: usize, drawn: &mut Vec<usize>) {
        let mut stream = Stream::new(method.seed, self.target, iteration, Purpose::Candidates);
        self.draw_some(method.candidates, &mut stream, drawn);
        for &index in drawn.iter() {
            self.tallies[index].probes += 1;
        }
    }

    /// Which of the drawn candidates' steps are taken, by their rewards: positions and shares.
    pub(super) fn adopt(
        &mut self,
        method: &PersFl,
        drawn: &[usize],
        rewards: &[f64],
    ) -> Vec<(usize, f64)> {
        let taken = method.adoption.weights(rewards, method.only_if_better);
        for (position, _) in &taken {
            self.tallies[drawn[*position]].adopted += 1;
        }
        taken
    }

    /// The indices of so many candidates, or of all if there are fewer.
    fn draw_some(&mut self, count: usize, stream: &mut Stream, drawn: &mut Vec<usize>) {
        let count = count.min(self.indices.len());
        match self.choice {
            CandidateChoice::Uniform | CandidateChoice::Oracle { .. } => {
                stream.sample(&mut self.indices, count, drawn);
            }
            CandidateChoice::EpsilonGreedy { epsilon } => {
                let by_chance = (0..count).filter(|_| stream.uniform() < epsilon).count();
                self.best(count - by_chance, drawn, Tally::relative);
                let taken = drawn.clone();
                // No candidate is probed twice in an iteration: its answer would be the same.
                self.indices.retain(|index| !taken.contains(index));
                let mut rest = Vec::new();
                stream.sample(&mut self.indices, by_chance, &mut rest);
                drawn.extend(rest);
                self.indices = (0..self.tallies.len()).collect();
            }
            CandidateChoice::Ucb { width } => {
                // Untried candidates come first, in random order.
                stream.sample(&mut self.indices, self.tallies.len(), drawn);
                let (mut rank, order) = (vec![0; drawn.len()], std::mem::take(drawn));
                order.iter().enumerate().for_each(|(position, &index)| rank[index] = position);
                let time: usize = self.tallies.iter().map(|tally| tally.rewarded).sum();
                // Only answers count as time: whoever is silent must not widen the bounds of all others.
                let time = (time.max(1) as f64).ln();
                self.best_by_rank(count, drawn, &rank, |tally| match tally.rewarded {
                    0 => f64::INFINITY,
                    n => tally.relative() + width * (time / n as f64).sqrt(),
                });
            }
        }
    }

    fn best(&self, count: usize, drawn: &mut Vec<usize>, value: impl Fn(&Tally) -> f64) {
        let rank: Vec<usize> = (0..self.tallies.len()).collect();
        self.best_by_rank(count, drawn, &rank, value);
    }

    /// The indices of largest value; equal ones in order of their rank.
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

    fn chooser_among(choice: &CandidateChoice, candidates: Vec<NodeId>) -> Chooser {
        let method = PersFl { choice: choice.clone(), ..PersFl::default() };
        Chooser::new(&method, 0, candidates)
    }

    fn chooser(choice: &CandidateChoice, worth: &[f64]) -> Chooser {
        let mut chooser = chooser_among(choice, (1..=worth.len()).collect());
        for (tally, reward) in chooser.tallies.iter_mut().zip(worth) {
            tally.reward(*reward, 1.0);
        }
        chooser
    }

    fn draw(chooser: &mut Chooser, count: usize, round: usize) -> Vec<usize> {
        let mut drawn = Vec::new();
        let mut stream = Stream::new(1, 0, round, Purpose::Candidates);
        chooser.draw_some(count, &mut stream, &mut drawn);
        drawn
    }

    #[test]
    fn even_draws_hold_every_candidate_equally_often_and_no_one_twice() {
        let mut counts = [0_u32; 80];
        let mut even = chooser(&CandidateChoice::Uniform, &[0.0; 80]);
        for round in 0..2000 {
            let mut drawn = draw(&mut even, 70, round);
            for &index in &drawn {
                counts[index] += 1;
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
        let greedy = |epsilon| chooser(&CandidateChoice::EpsilonGreedy { epsilon }, &worth);
        assert_eq!(draw(&mut greedy(0.0), 2, 0), [1, 3]);
        let mut seen = [false; 4];
        (0..100).for_each(|round| seen[draw(&mut greedy(1.0), 1, round)[0]] = true);
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn upper_bounds_try_all_once_and_come_back_to_those_seldom_seen() {
        let mut bounds = chooser_among(&CandidateChoice::Ucb { width: 1.0 }, vec![1, 2, 3]);
        let mut first: Vec<usize> = (0..3)
            .map(|round| {
                let index = draw(&mut bounds, 1, round)[0];
                bounds.tallies[index].reward(if index == 0 { 0.9 } else { 0.0 }, 1.0);
                index
            })
            .collect();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(draw(&mut bounds, 1, 4), [0]);
        (0..50).for_each(|_| bounds.tallies[0].reward(0.9, 1.0));
        assert_ne!(draw(&mut bounds, 1, 5), [0]);
        let mut trusting = bounds.clone();
        trusting.choice = CandidateChoice::Ucb { width: 0.0 };
        assert_eq!(draw(&mut trusting, 1, 5), [0]);
    }

    #[test]
    fn the_oracle_draws_its_own_cluster_only() {
        let oracle = CandidateChoice::Oracle { clusters: [0, 1, 0, 1].into() };
        let chooser = chooser_among(&oracle, vec![1, 2, 3]);
        assert_eq!(chooser.tallies.len(), 1);
        assert_eq!(chooser.tallies[0].candidate, 2);
    }
}
