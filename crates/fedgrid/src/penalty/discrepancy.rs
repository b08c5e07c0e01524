//! How much neighbours disagree: the discrepancy of two nodes on public points, and its sum over
//! the network, the generalised total variation,
//!
//! ```text
//! δ(h, h') = (1/m) Σ_x L(h'(x), h(x))        GTV = Σ_edges A δ
//! ```
//!
//! ["Plug In and Learn", eq. 5 and 7. We count every undirected edge once; the paper's sum over
//! nodes and their neighbours counts it twice.]

use crate::{
    algebra::scale,
    data::{Labels, Task},
    loss::Loss,
    network::Network,
};

/// Probabilities below this one count as this one where they are moved: a class of probability zero would
/// stay there under any factor.
const LEAST_PROBABILITY: f64 = 1e-12;
/// Rounds of iterative scaling at most: a round costs a pass, and what is left after so many is below
/// what a fit can tell apart.
const MAX_SCALING_ROUNDS: usize = 100;
/// Scaling ends when no factor of a class differs from one by more than this, a few thousand roundings.
const SCALING_TOLERANCE: f64 = 1e-12;

/// The discrepancy between two nodes' predictions on the same public points.
///
/// A fit minimises squared errors (or cross-entropies), so the absolute and the Huber discrepancy
/// enter it by weights of their points at the current predictions,
///
/// ```text
/// L(r) ≤ c r² + constant,  equal at the current r₀:   absolute c = 1 / 2|r₀|   Huber c = min(1, κ/|r₀|)
/// ```
///
/// which makes every round a step of majorisation and leaves the fixed points where they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discrepancy {
    /// The loss of one's own prediction with the neighbour's as label.
    pub loss: Loss,
    /// Whether a constant difference counts. If not, each neighbour's predictions are first moved
    /// to one's own mean: nodes then share the shape of their predictions and keep their level.
    pub level: bool,
}

impl Discrepancy {
    /// The discrepancy of own predictions from a neighbour's.
    #[must_use]
    pub fn between(self, own: &Labels, theirs: &Labels) -> f64 {
        if self.level {
            self.loss.mean(theirs, own)
        } else {
            self.loss.mean(&moved_to_mean(theirs, own), own)
        }
    }

    /// A neighbour's predictions as the labels that one's own are pulled to.
    #[must_use]
    pub fn pull(self, own: Option<&Labels>, theirs: &Labels) -> Labels {
        match own {
            Some(own) if !self.level => moved_to_mean(theirs, own),
            _ => theirs.clone(),
        }
    }

    /// How strongly each point pulls: the c of the majorising parabola, or one.
    #[must_use]
    pub fn strength(self, own: &[f64], theirs: &[f64]) -> f64 {
        let distance = || Loss::Squared.row(own, theirs).sqrt();
        match self.loss {
            Loss::Absolute => 0.5 / distance().max(SMALLEST_DIFFERENCE),
            Loss::Huber { threshold } => (threshold / distance().max(f64::MIN_POSITIVE)).min(1.0),
            _ => 1.0,
        }
    }

    /// Whether all points pull alike, whatever the predictions.
    #[must_use]
    pub fn is_even(self) -> bool {
        !matches!(self.loss, Loss::Absolute | Loss::Huber { .. })
    }
}

/// Absolute differences below this pull as if they were this, so that no weight is infinite.
const SMALLEST_DIFFERENCE: f64 = 1e-7;

/// Predictions moved towards one's own until their root-mean-square distance is at most a radius.
#[must_use]
pub fn clipped(own: &Labels, theirs: &Labels, radius: f64) -> Labels {
    let distance = Loss::Squared.mean(own, theirs).sqrt();
    let mut clipped = theirs.clone();
    if distance > radius {
        let share = radius / distance;
        for (value, own) in clipped.as_mut_slice().iter_mut().zip(own.as_slice()) {
            *value = own + share * (*value - own);
        }
    }
    clipped
}

/// The generalised total variation of predictions on one common public set.
#[must_use]
pub fn gtv(network: &Network, discrepancy: Discrepancy, predictions: &[Labels]) -> f64 {
    let term = |edge: &crate::network::Edge| {
        edge.weight * discrepancy.between(&predictions[edge.source], &predictions[edge.target])
    };
    network.edges().iter().map(term).sum()
}

/// Predictions moved by a constant, so that their mean is that of others: numbers by adding it,
/// probabilities by adding it to their logarithms.
fn moved_to_mean(labels: &Labels, like: &Labels) -> Labels {
    let mut moved = labels.clone();
    let outputs = labels.task().outputs();
    let target = mean(like);
    match labels.task() {
        Task::Regression => {
            let shift = target[0] - mean(labels)[0];
            moved.as_mut_slice().iter_mut().for_each(|value| *value += shift);
        }
        // Iterative scaling: each class is multiplied until its mean share is the wanted one.
        Task::Classification { .. } => {
            moved.as_mut_slice().iter_mut().for_each(|p| *p = p.max(LEAST_PROBABILITY));
            for _ in 0..MAX_SCALING_ROUNDS {
                let now = mean(&moved);
                // A mean that has underflowed to zero would make its factor infinite.
                let factors: Vec<f64> =
                    target.iter().zip(&now).map(|(t, n)| t / n.max(1e-300)).collect();
                for row in moved.as_mut_slice().chunks_exact_mut(outputs) {
                    row.iter_mut().zip(&factors).for_each(|(p, f)| *p *= f);
                    let total: f64 = row.iter().sum();
                    scale(row, 1.0 / total);
                }
                if factors.iter().all(|factor| (factor - 1.0).abs() < SCALING_TOLERANCE) {
                    break;
                }
            }
        }
    }
    moved
}

fn mean(labels: &Labels) -> Vec<f64> {
    let outputs = labels.task().outputs();
    let mut mean = vec![0.0; outputs];
    for row in labels.as_slice().chunks_exact(outputs) {
        mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / labels.rows() as f64);
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Discrepancy = Discrepancy { loss: Loss::Squared, level: false };

    #[test]
    fn a_constant_difference_is_no_discrepancy_when_the_level_is_free() {
        let (own, theirs) = (Labels::values(vec![1.0, 2.0]), Labels::values(vec![11.0, 12.0]));
        assert!(FREE.between(&own, &theirs).abs() < 1e-28);
        let coupled = Discrepancy { level: true, ..FREE };
        assert!((coupled.between(&own, &theirs) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn probabilities_moved_to_a_mean_have_it_and_keep_their_odds_ratios() {
        let task = Task::Classification { classes: 2 };
        let theirs = Labels::new(task, vec![0.9, 0.1, 0.6, 0.4]).unwrap();
        let own = Labels::new(task, vec![0.2, 0.8, 0.3, 0.7]).unwrap();
        let moved = moved_to_mean(&theirs, &own);
        assert!((mean(&moved)[0] - 0.25).abs() < 1e-9);
        let odds = |labels: &Labels, row: usize| labels.row(row)[0] / labels.row(row)[1];
        let ratio = |labels| odds(labels, 0) / odds(labels, 1);
        assert!((ratio(&moved) - ratio(&theirs)).abs() < 1e-9);
    }

    #[test]
    fn gtv_counts_each_edge_once() {
        let edges = [crate::network::Edge { source: 0, target: 1, weight: 3.0 }];
        let network = Network::new(vec!["a".into(), "b".into()], edges).unwrap();
        let predictions = [Labels::values(vec![0.0]), Labels::values(vec![2.0])];
        let squared = Discrepancy { loss: Loss::Squared, level: true };
        assert!((gtv(&network, squared, &predictions) - 12.0).abs() < 1e-15);
    }

    #[test]
    fn certain_classes_are_moved_to_their_opposites() {
        let uncoupled = Discrepancy { loss: Loss::CrossEntropy, level: false };
        let own = Labels::classes(2, &[1, 1, 1]).unwrap();
        let theirs = Labels::classes(2, &[0, 0, 1]).unwrap();
        for (own, theirs) in [(&own, &theirs), (&theirs, &own)] {
            let pull = uncoupled.pull(Some(own), theirs);
            for row in 0..3 {
                assert!((pull.row(row).iter().sum::<f64>() - 1.0).abs() < 1e-9, "{pull:?}");
            }
            assert!((mean(&pull)[0] - mean(own)[0]).abs() < 1e-6, "{pull:?}");
        }
    }
}
