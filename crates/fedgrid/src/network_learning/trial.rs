//! Nodes try their partners: every node runs Algorithm 1 of PersFL from zero among its partners, and
//! every partner's gain is measured in every iteration on rows that had no part in the choice,
//!
//! ```text
//! gain of j at i = mean over iterations and rows r of  L(y_r, ŵ) − L(y_r, ŵ − η ∇L_j(ŵ))
//! ```
//!
//! The rows of a node take turns: in each of some runs one part of them measures while the others
//! choose, so every row measures once and no gain flatters itself.
//!
//! The step is that of `method::persfl`. Its choice of candidates and its rewards are not used here:
//! all partners are probed in every iteration, and what counts is the loss of single rows.

use rayon::prelude::*;

use crate::{
    algebra::{add_scaled, dot},
    data::Dataset,
    loss::Loss,
    method::persfl::gradient_step,
    model::Parametric,
    network::NodeId,
    random::{Purpose, Stream},
};

/// What a partner was worth to a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartnerGain {
    /// The mean over rows and iterations.
    pub(super) mean: f64,
    /// The variance of that mean, from the spread over rows.
    pub(super) variance: f64,
}

/// What a node has found out about its partners.
#[derive(Debug, Clone, Default)]
pub(super) struct TrialOutcome {
    /// The gain of each partner.
    pub(super) gains: Vec<PartnerGain>,
    /// The loss at the end on the rows that did not choose.
    pub(super) remaining_loss: f64,
    /// The weights at the end, the mean over all turns.
    pub(super) weights: Vec<f64>,
}

/// How nodes try each other.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) model: &'a dyn Parametric,
    pub(super) data: &'a [Dataset],
    pub(super) step: f64,
    pub(super) iterations: usize,
    /// In how many parts the rows of a node take turns; one lets all rows choose and measure.
    pub(super) turns: usize,
    pub(super) seed: u64,
}

/// A partner, and whether its steps may be taken.
type Partner = (NodeId, bool);

impl Trial<'_> {
    /// What every node finds out about its partners. Those it excludes are measured, but their steps are
    /// not taken while there are others.
    pub(super) fn run(
        &self,
        partners: &[Vec<NodeId>],
        excluded: &[Vec<NodeId>],
    ) -> Vec<TrialOutcome> {
        let outcome = |(node, partners): (NodeId, &Vec<NodeId>)| {
            let is_excluded = |other: &NodeId| excluded[node].contains(other);
            // A node that excludes everyone must still move, or its gains would all be those of zero.
            let all = partners.iter().all(is_excluded);
            let partners: Vec<Partner> =
                partners.iter().map(|other| (*other, all || !is_excluded(other))).collect();
            if partners.is_empty() {
                TrialOutcome::default()
            } else {
                self.of_node(node, &partners)
            }
        };
        partners.par_iter().enumerate().map(outcome).collect()
    }

    fn of_node(&self, node: NodeId, partners: &[Partner]) -> TrialOutcome {
        let (rows, own) = (self.data[node].rows(), &self.data[node]);
        let order = Stream::new(self.seed, node, 1, Purpose::Held).permutation(rows);
        let turns = self.turns.clamp(1, rows);
        let mut sums = vec![vec![0.0; rows]; partners.len()];
        let (mut remaining, mut weights) = (0.0, Vec::new());
        for turn in 0..turns {
            let mut measures = vec![turns == 1; rows];
            let mut chooses: Vec<f64> = (0..rows).map(|row| own.count(row)).collect();
            for row in order.iter().skip(turn).step_by(turns).filter(|_| turns > 1) {
                measures[*row] = true;
                chooses[*row] = 0.0;
            }
            let (rest, end) = self.descend(node, partners, (&chooses, &measures), &mut sums);
            remaining += rest;
            weights.resize(end.len(), 0.0);
            add_scaled(&mut weights, 1.0 / turns as f64, &end);
        }
        let gain = |sums: &Vec<f64>| {
            let count = own.row_count();
            let each = sums.iter().map(|sum| sum / self.iterations as f64).enumerate();
            let mean = each.clone().map(|(row, gain)| own.count(row) * gain).sum::<f64>() / count;
            let spread: f64 = each.map(|(row, gain)| own.count(row) * (gain - mean).powi(2)).sum();
            PartnerGain { mean, variance: spread / (count * (count - 1.0).max(1.0)) }
        };
        let gains = sums.iter().map(gain).collect();
        TrialOutcome { gains, remaining_loss: remaining / own.row_count(), weights }
    }

    /// One run. The gains at measuring rows are added to the sums; the loss that is left at them is
    /// returned with the weights.
    fn descend(
        &self,
        node: NodeId,
        partners: &[Partner],
        (chooses, measures): (&[f64], &[bool]),
        sums: &mut [Vec<f64>],
    ) -> (f64, Vec<f64>) {
        let own = &self.data[node];
        let mut weights = vec![0.0; self.model.size(own.features().columns(), own.task())];
        let mut losses = self.row_losses(own, &weights);
        for _ in 0..self.iterations {
            let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
            for (sum, &(partner, may_step)) in sums.iter_mut().zip(partners) {
                let gradient = self.model.gradient(&self.data[partner], &weights);
                let moved = gradient_step(&weights, &gradient, self.step);
                let then = self.row_losses(own, &moved);
                for (row, sum) in sum.iter_mut().enumerate().filter(|(row, _)| measures[*row]) {
                    *sum += losses[row] - then[row];
                }
                // Losses are compared, not rewards: the difference to the loss before would round
                // nearly equal partners to a tie.
                let score = dot(&then, chooses);
                if may_step && best.as_ref().is_none_or(|(least, ..)| score < *least) {
                    best = Some((score, moved, then));
                }
            }
            if let Some((_, moved, then)) = best {
                (weights, losses) = (moved, then);
            }
        }
        let remaining = losses.iter().enumerate().filter(|(row, _)| measures[*row]);
        (remaining.map(|(row, loss)| own.count(row) * loss).sum(), weights)
    }

    /// The mean loss of a node's rows under given weights.
    pub(super) fn mean_loss(&self, node: NodeId, weights: &[f64]) -> f64 {
        let (data, losses) = (&self.data[node], self.row_losses(&self.data[node], weights));
        let counted = losses.iter().enumerate().map(|(row, loss)| data.count(row) * loss);
        counted.sum::<f64>() / data.row_count().max(f64::MIN_POSITIVE)
    }

    /// The mean square of a node's labels.
    pub(super) fn label_size(&self, node: NodeId) -> f64 {
        let (data, labels) = (&self.data[node], self.data[node].labels());
        let square = |row: usize| labels.row(row).iter().map(|y| y * y).sum::<f64>();
        let sum: f64 = (0..data.rows()).map(|row| data.count(row) * square(row)).sum();
        let outputs = data.task().outputs() as f64;
        sum / (outputs * data.row_count()).max(f64::MIN_POSITIVE)
    }

    fn row_losses(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        // A linear model needs no hypothesis with its copies of names and weights: this is the innermost
        // loop of all.
        if self.model.as_linear().is_some() {
            let level = weights.get(data.features().columns()).copied().unwrap_or(0.0);
            let rows = data.features().iter().zip(data.labels().as_slice());
            return rows.map(|(x, y)| (dot(x, weights) + level - y).powi(2)).collect();
        }
        let hypothesis = self.model.hypothesis(data.features().names(), data.task(), weights);
        Loss::of(data.task()).rows(data.labels(), &hypothesis.predict(data.features()))
    }
}
