//! Whether probabilities are kept: of rows that are given a probability, how many are of the class,
//!
//! ```text
//! ECE = Σ_b (w_b / w) |o_b − p_b|          o_b the share of bin b that is of the class, p_b its mean probability
//! ```
//!
//! over ten equal parts (a, b] of the probabilities from zero to one. Of two classes the probability is that of
//! the second; of more it is that of the class that is predicted. [Guo et al., "On calibration of modern neural
//! networks", 2017.]

use serde::{Deserialize, Serialize};

/// Into how many equal parts probabilities are divided.
const BINS: usize = 10;

/// How well probabilities are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    /// The expected calibration error: by how much shares differ from probabilities, on average.
    pub expected_error: f64,
    /// The parts that hold rows, the least probable first.
    pub bins: Vec<ReliabilityBin>,
}

/// Rows whose probabilities are close to each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Probabilities are above this.
    pub from: f64,
    /// And at most this.
    pub to: f64,
    /// How much its rows count.
    pub weight: f64,
    /// Their mean probability.
    pub predicted: f64,
    /// The share of them that came out so.
    pub observed: f64,
}

impl Reliability {
    /// Of rows with a probability, whether it came out so, and a weight; none where nothing counts.
    #[must_use]
    pub fn of(rows: impl Iterator<Item = (f64, bool, f64)>) -> Option<Self> {
        let mut sums = [(0.0, 0.0, 0.0); BINS];
        for (probability, came_out, weight) in rows {
            let (total, predicted, observed) = &mut sums[bin(probability)];
            *total += weight;
            *predicted += weight * probability;
            *observed += if came_out { weight } else { 0.0 };
        }
        let all: f64 = sums.iter().map(|(weight, ..)| weight).sum();
        if all <= 0.0 {
            return None;
        }
        let part =
            |(place, (weight, predicted, observed)): (usize, &(f64, f64, f64))| ReliabilityBin {
                from: edge(place),
                to: edge(place + 1),
                weight: *weight,
                predicted: predicted / weight,
                observed: observed / weight,
            };
        let filled = sums.iter().enumerate().filter(|(_, (weight, ..))| *weight > 0.0);
        let bins: Vec<ReliabilityBin> = filled.map(part).collect();
        let apart = |bin: &ReliabilityBin| bin.weight * (bin.observed - bin.predicted).abs();
        let expected_error = bins.iter().map(apart).sum::<f64>() / all;
        Some(Self { expected_error, bins })
    }
}

fn edge(place: usize) -> f64 {
    place as f64 / BINS as f64
}

/// The part that a probability falls into.
fn bin(probability: f64) -> usize {
    // By the very edges that are told, so that no rounding puts a row beside its part.
    (1..BINS).take_while(|&place| probability > edge(place)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_that_are_kept_have_no_error() {
        // One of four at a quarter, three of four at three quarters.
        let rows = (0..8).map(|k| (if k < 4 { 0.25 } else { 0.75 }, k == 0 || k > 4, 1.0));
        let found = Reliability::of(rows).unwrap();
        assert!(found.expected_error.abs() < 1e-15);
        assert_eq!(found.bins.len(), 2);
        assert_eq!((found.bins[0].from, found.bins[0].to), (0.2, 0.3));
    }

    #[test]
    fn the_error_is_the_mean_distance_of_shares_from_probabilities() {
        // 0.9 that never comes out, and 0.1 of twice the weight that does.
        let found = Reliability::of([(0.9, false, 1.0), (0.1, true, 2.0)].into_iter()).unwrap();
        assert!((found.expected_error - (0.9 + 2.0 * 0.9) / 3.0).abs() < 1e-15);
        assert_eq!(Reliability::of(std::iter::empty()), None);
        assert_eq!(Reliability::of([(0.5, true, 0.0)].into_iter()), None);
    }

    #[test]
    fn every_probability_has_a_part() {
        for (probability, place) in [(0.0, 0), (0.1, 0), (0.100_001, 1), (0.5, 4), (1.0, 9)] {
            assert_eq!(bin(probability), place, "{probability}");
        }
    }
}
