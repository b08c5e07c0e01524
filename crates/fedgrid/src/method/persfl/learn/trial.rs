//! Nodes try their partners: every node runs Algorithm 1 from zero among its partners, and every
//! partner's gain is measured in every iteration on rows that had no part in the choice,
//!
//! ```text
//! gain of j at i = mean over iterations and rows r of  L(y_r, ŵ) − L(y_r, ŵ − η ∇L_j(ŵ))
//! ```
//!
//! The rows of a node take turns: in each of some runs one part of them measures while the others
//! choose, so every row measures once and no gain flatters itself.

use rayon::prelude::*;

use crate::{
    algebra::{add_scaled, dot, norm, scale},
    data::{Dataset, Task},
    loss::Loss,
    model::Parametric,
    network::NodeId,
    random::{Purpose, Stream},
};

/// What a partner was worth to a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gain {
    /// The mean over rows and iterations.
    pub(super) mean: f64,
    /// The variance of that mean, from the spread over rows.
    pub(super) variance: f64,
}

/// What a node saw of its partners.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The gain of each partner.
    pub(super) gains: Vec<Gain>,
    /// The loss at the end on the rows that did not choose.
    pub(super) left: f64,
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

impl Trial<'_> {
    /// What every node sees of its partners. Those it mistrusts are measured, but their steps are
    /// not taken while there are others.
    pub(super) fn run(&self, partners: &[Vec<NodeId>], mistrusted: &[Vec<NodeId>]) -> Vec<Seen> {
        let seen = |(node, partners): (NodeId, &Vec<NodeId>)| {
            let followed: Vec<bool> =
                partners.iter().map(|other| !mistrusted[node].contains(other)).collect();
            if partners.is_empty() { Seen::default() } else { self.see(node, partners, &followed) }
        };
        partners.par_iter().enumerate().map(seen).collect()
    }

    fn see(&self, node: NodeId, partners: &[NodeId], followed: &[bool]) -> Seen {
        let rows = self.data[node].rows();
        let order = Stream::new(self.seed, node, 1, Purpose::Held).permutation(rows);
        let turns = self.turns.clamp(1, rows);
        let mut sums = vec![vec![0.0; rows]; partners.len()];
        let (mut left, mut weights) = (0.0, Vec::new());
        let all = followed.iter().all(|followed| !followed);
        let partners: Vec<(NodeId, bool)> =
            partners.iter().zip(followed).map(|(&id, &followed)| (id, followed || all)).collect();
        for turn in 0..turns {
            let mut measures = vec![turns == 1; rows];
            let mut chooses = vec![1.0; rows];
            for row in order.iter().skip(turn).step_by(turns).filter(|_| turns > 1) {
                measures[*row] = true;
                chooses[*row] = 0.0;
            }
            let (rest, end) = self.descend(node, &partners, (&chooses, &measures), &mut sums);
            left += rest;
            weights.resize(end.len(), 0.0);
            add_scaled(&mut weights, 1.0 / turns as f64, &end);
        }
        let gain = |sums: &Vec<f64>| {
            let count = rows as f64;
            let each = sums.iter().map(|sum| sum / self.iterations as f64);
            let mean = each.clone().sum::<f64>() / count;
            let spread: f64 = each.map(|gain| (gain - mean).powi(2)).sum();
            Gain { mean, variance: spread / (count * (count - 1.0).max(1.0)) }
        };
        Seen { gains: sums.iter().map(gain).collect(), left: left / rows as f64, weights }
    }

    /// One run, in which only the steps of some partners are taken; the gains at measuring rows are added to the sums, and the loss left at them is
    /// returned with the weights.
    fn descend(
        &self,
        node: NodeId,
        partners: &[(NodeId, bool)],
        (chooses, measures): (&[f64], &[bool]),
        sums: &mut [Vec<f64>],
    ) -> (f64, Vec<f64>) {
        let own = &self.data[node];
        let mut weights = vec![0.0; self.model.size(own.features().columns(), own.task())];
        let mut losses = self.row_losses(own, &weights);
        for _ in 0..self.iterations {
            let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
            for (sum, &(partner, followed)) in sums.iter_mut().zip(partners) {
                let gradient = self.model.gradient(&self.data[partner], &weights);
                let mut moved = weights.clone();
                add_scaled(&mut moved, -self.step, &gradient);
                let then = self.row_losses(own, &moved);
                for (row, sum) in sum.iter_mut().enumerate().filter(|(row, _)| measures[*row]) {
                    *sum += losses[row] - then[row];
                }
                let score = dot(&then, chooses);
                if followed && best.as_ref().is_none_or(|(least, ..)| score < *least) {
                    best = Some((score, moved, then));
                }
            }
            if let Some((_, moved, then)) = best {
                (weights, losses) = (moved, then);
            }
        }
        let left = losses.iter().zip(measures).filter(|(_, measures)| **measures);
        (left.map(|(loss, _)| loss).sum(), weights)
    }

    /// The mean loss of a node's rows under given weights.
    pub(super) fn mean_loss(&self, node: NodeId, weights: &[f64]) -> f64 {
        let losses = self.row_losses(&self.data[node], weights);
        losses.iter().sum::<f64>() / losses.len().max(1) as f64
    }

    /// The mean square of a node's labels.
    pub(super) fn label_size(&self, node: NodeId) -> f64 {
        let labels = self.data[node].labels().as_slice();
        labels.iter().map(|y| y * y).sum::<f64>() / labels.len().max(1) as f64
    }

    fn row_losses(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        if self.model.as_linear().is_some() {
            let level = weights.get(data.features().columns()).copied().unwrap_or(0.0);
            let rows = data.features().iter().zip(data.labels().as_slice());
            return rows.map(|(x, y)| (dot(x, weights) + level - y).powi(2)).collect();
        }
        let hypothesis = self.model.hypothesis(data.features().names(), data.task(), weights);
        Loss::of(data.task()).rows(data.labels(), &hypothesis.predict(data.features()))
    }
}

/// A step that suits most nodes: one over the median of the largest curvatures of their losses at
/// zero, found by powers of `v ↦ ∇L(v) − ∇L(0)`.
pub(crate) fn suitable_step(model: &dyn Parametric, data: &[Dataset], task: Task) -> f64 {
    let curvature = |data: &Dataset| {
        let size = model.size(data.features().columns(), task);
        let base = model.gradient(data, &vec![0.0; size]);
        let mut v: Vec<f64> = (0..size).map(|k| 1.0 + (k % 7) as f64).collect();
        let mut largest = 0.0;
        for _ in 0..20 {
            let length = norm(&v);
            if length == 0.0 {
                break;
            }
            scale(&mut v, 1.0 / length);
            let mut image = model.gradient(data, &v);
            add_scaled(&mut image, -1.0, &base);
            largest = norm(&image);
            v = image;
        }
        largest
    };
    let mut curvatures: Vec<f64> =
        data.par_iter().filter(|data| data.total_weight() > 0.0).map(curvature).collect();
    curvatures.sort_by(f64::total_cmp);
    let middle = curvatures.get(curvatures.len() / 2).copied().unwrap_or(1.0);
    if middle > 0.0 { 1.0 / middle } else { 1.0 }
}
