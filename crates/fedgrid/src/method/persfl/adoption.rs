//! Which steps are taken: the best one as in the papers, or a mean of the best k,
//!
//! ```text
//! w ← Σ_j v_j w̃_j,      v = 1/k,  or  v ∝ exp((r_j − r_min) / (r_max − r_min))
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Result, at_least};

/// Which of the probed steps a target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adoption {
    /// The one of largest reward, as in the papers.
    #[default]
    Best,
    /// The mean of several.
    Top {
        /// How many, one or more; one is the best alone.
        count: usize,
        /// Whether larger rewards weigh more, or all weigh the same.
        by_reward: bool,
    },
}

impl Adoption {
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Top { count, .. } => at_least(count, "count", 1, "one or more"),
            Self::Best => Ok(()),
        }
    }

    /// The positions of the steps taken and their weights, which add up to one. Equal rewards go to
    /// the earlier position; rewards that are no numbers are never taken.
    pub(super) fn weights(self, rewards: &[f64], only_if_better: bool) -> Vec<(usize, f64)> {
        let worth = |position: &usize| {
            let reward = rewards[*position];
            if only_if_better { reward > 0.0 } else { reward > f64::NEG_INFINITY }
        };
        let (count, by_reward) = match self {
            Self::Best => (1, false),
            Self::Top { count, by_reward } => (count, by_reward),
        };
        // The papers' case runs in every iteration of every target, so it needs no sort.
        if count == 1 {
            let better = |a: usize, b: usize| if rewards[b] > rewards[a] { b } else { a };
            let best = (0..rewards.len()).filter(worth).reduce(better);
            return best.map(|best| (best, 1.0)).into_iter().collect();
        }
        let mut order: Vec<usize> = (0..rewards.len()).filter(worth).collect();
        order.sort_by(|&a, &b| rewards[b].total_cmp(&rewards[a]));
        order.truncate(count);
        let [Some(&first), Some(&last)] = [order.first(), order.last()] else { return Vec::new() };
        let (high, low) = (rewards[first], rewards[last]);
        // Scaled to [0, 1], because rewards fall by powers of ten while a model learns.
        let scale = if by_reward && high > low { 1.0 / (high - low) } else { 0.0 };
        let shares: Vec<f64> =
            order.iter().map(|&position| (scale * (rewards[position] - low)).exp()).collect();
        let total: f64 = shares.iter().sum();
        order.into_iter().zip(shares).map(|(position, share)| (position, share / total)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_the_first_of_the_largest_and_may_have_to_be_positive() {
        let best = |rewards: &[f64], only| Adoption::Best.weights(rewards, only);
        assert_eq!(best(&[-3.0, -1.0, f64::NEG_INFINITY, -1.0], false), [(1, 1.0)]);
        assert_eq!(best(&[-3.0, -1.0], true), []);
        assert_eq!(best(&[f64::NAN, -9.0], false), [(1, 1.0)]);
    }

    #[test]
    fn top_steps_share_one_and_larger_rewards_have_larger_shares() {
        let rewards = [0.0, 2.0, 1.0, -5.0];
        let even = Adoption::Top { count: 2, by_reward: false }.weights(&rewards, false);
        assert_eq!(even, [(1, 0.5), (2, 0.5)]);
        let shares = Adoption::Top { count: 3, by_reward: true }.weights(&rewards, false);
        let positions: Vec<usize> = shares.iter().map(|(position, _)| *position).collect();
        assert_eq!(positions, [1, 2, 0]);
        assert!((shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-15);
        // Scaled to [0, 1], the largest reward weighs e times the smallest.
        assert!((shares[0].1 / shares[2].1 - 1.0_f64.exp()).abs() < 1e-12);
        let one = Adoption::Top { count: 1, by_reward: true };
        assert_eq!(one.weights(&rewards, false), Adoption::Best.weights(&rewards, false));
    }
}
