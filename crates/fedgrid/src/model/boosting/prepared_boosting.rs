//! Adding tree after tree to sorted rows.

use super::{Boosting, BoostingHypothesis, boosting_hypothesis::link, leaf_steps::LeafSteps};
use crate::{
    algebra::add_scaled,
    data::{Labels, Task},
    error::{Error, Result},
    model::{
        Hypothesis, Prepared, TreeNodes, check,
        solver::divide_by_sum,
        tree::{Grower, Limits, Sorted, Targets},
    },
};

/// The smallest probability of a class at the start.
const LEAST_START_PROBABILITY: f64 = 1e-12;

/// A boosting model with its sorted rows.
#[derive(Debug)]
pub(super) struct PreparedBoosting {
    pub(super) model: Boosting,
    pub(super) limits: Limits,
    pub(super) sorted: Sorted,
}

impl Prepared for PreparedBoosting {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        let task = labels.task();
        let targets = self.sorted.targets(&proper(labels)?)?;
        let (rows, width) = (&self.sorted.rows, targets.width);
        let start = start(task, &rows.weights, &targets);
        let mut scores = start.repeat(rows.count);
        let mut grower = Grower::new(rows, width);
        let (mut roots, mut nodes) = (Vec::new(), TreeNodes::default());
        for tree in 0..self.model.trees {
            let sample = self.model.subsampled(rows, tree);
            let weights = sample.as_ref().unwrap_or(&rows.weights);
            let grown = self.tree(&mut grower, weights, &targets, &mut scores, task);
            roots.push(nodes.append(&grown));
        }
        let names = self.sorted.names.clone();
        Ok(Box::new(BoostingHypothesis { names, task, start, roots, nodes }))
    }
}

impl PreparedBoosting {
    /// The next tree, which is added to the scores.
    fn tree(
        &self,
        grower: &mut Grower,
        weights: &[f64],
        targets: &Targets,
        scores: &mut [f64],
        task: Task,
    ) -> TreeNodes {
        let (rows, width) = (&self.sorted.rows, targets.width);
        let mut predictions = scores.to_vec();
        predictions.chunks_exact_mut(width).for_each(|row| link(task, row));
        let left_over = targets.values.iter().zip(&predictions).map(|(y, p)| y - p);
        let residuals = Targets { width, values: left_over.collect() };
        let mut tree = grower.grow(self.limits, weights, &residuals, None);
        // The grower knows no leaf of rows that a subsample has left out.
        let leaf = |row: usize| tree.leaf_of(0, |feature| rows.column(feature)[row]);
        let leaves: Vec<usize> = (0..rows.count).map(leaf).collect();
        let mut steps = LeafSteps::new(task, tree.count(), width);
        let given = predictions.chunks_exact(width).zip(residuals.values.chunks_exact(width));
        for ((&leaf, &weight), (prediction, residual)) in leaves.iter().zip(weights).zip(given) {
            steps.add(leaf, weight, prediction, residual);
        }
        tree.labels = steps.solve(self.model.rate);
        for (leaf, scores) in leaves.iter().zip(scores.chunks_exact_mut(width)) {
            add_scaled(scores, 1.0, &tree.labels[leaf * width..][..width]);
        }
        tree
    }
}

/// The labels with class probabilities of sum one; others are refused.
fn proper(labels: &Labels) -> Result<Labels> {
    let mut labels = labels.clone();
    if let Task::Classification { classes } = labels.task() {
        for (row, label) in labels.as_mut_slice().chunks_exact_mut(classes).enumerate() {
            if !check::is_distribution(label) {
                let reason = format!("the label of row {row} is not a list of probabilities");
                return Err(Error::Fit { model: "a boosting model", reason });
            }
            divide_by_sum(label);
        }
    }
    Ok(labels)
}

/// The best constant: the mean, the log-odds of the mean, or the logarithms of the means.
fn start(task: Task, weights: &[f64], targets: &Targets) -> Vec<f64> {
    let mut mean = targets.values[..targets.width].to_vec();
    // Differences to one label keep their digits where all labels are large.
    let first = mean.clone();
    for (weight, label) in weights.iter().zip(targets.values.chunks_exact(targets.width)) {
        for ((mean, y), first) in mean.iter_mut().zip(label).zip(&first) {
            *mean += weight * (y - first);
        }
    }
    // A class that no row has would begin at minus infinity, and never leave it.
    let bounded = |p: f64| p.clamp(LEAST_START_PROBABILITY, 1.0 - LEAST_START_PROBABILITY);
    match task {
        Task::Regression => mean,
        Task::Classification { classes: 2 } => {
            mean.iter().map(|p| bounded(*p).ln() - (-bounded(*p)).ln_1p()).collect()
        }
        Task::Classification { .. } => mean.iter().map(|p| bounded(*p).ln()).collect(),
    }
}
