//! Adding tree after tree to sorted rows.

use super::{Boosting, BoostingHypothesis, boosting_hypothesis::link, leaf_steps::LeafSteps};
use crate::{
    algebra::add_scaled,
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::{
        Hypothesis, KeepsSplits, Prepared, Splits, TreeNodes, check,
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
        Ok(Box::new(self.learn(labels, None)?.0))
    }

    /// The scores of rows that trees were grown on are known; the others pass through all trees.
    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        self.with_predictions(self.learn(labels, None)?, rows)
    }

    fn as_keeping_splits(&self) -> Option<&dyn KeepsSplits> {
        Some(self)
    }
}

impl KeepsSplits for PreparedBoosting {
    fn splits(&self, hypothesis: &dyn Hypothesis) -> Option<Splits> {
        let sum = hypothesis.downcast_ref::<BoostingHypothesis>()?;
        Some(Splits::new(&self.sorted.rows, &sum.roots, &sum.nodes))
    }

    fn refit(
        &self,
        splits: &Splits,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        self.with_predictions(self.learn(labels, Some(splits))?, rows)
    }
}

/// What scores predict, and what that leaves over of the labels.
struct LeftOver {
    task: Task,
    predictions: Vec<f64>,
    residuals: Targets,
}

impl LeftOver {
    fn new(task: Task, targets: &Targets, scores: &[f64]) -> Self {
        let width = targets.width;
        let mut predictions = scores.to_vec();
        predictions.chunks_exact_mut(width).for_each(|row| link(task, row));
        let left_over = targets.values.iter().zip(&predictions).map(|(y, p)| y - p);
        let residuals = Targets { width, values: left_over.collect() };
        Self { task, predictions, residuals }
    }
}

impl PreparedBoosting {
    /// The hypothesis of these labels, with trees that grow or splits that are kept, and the scores of the different rows.
    fn learn(
        &self,
        labels: &Labels,
        kept: Option<&Splits>,
    ) -> Result<(BoostingHypothesis, Vec<f64>)> {
        let task = labels.task();
        let targets = self.sorted.targets(&proper(labels)?)?;
        let (rows, width) = (&self.sorted.rows, targets.width);
        let start = start(task, &rows.weights, &targets);
        let mut scores = start.repeat(rows.count);
        let mut grower = Grower::new(rows, width);
        let (mut roots, mut nodes) = (Vec::new(), TreeNodes::default());
        for number in 0..self.model.trees {
            let sample = self.model.subsampled(rows, number);
            let left_over = LeftOver::new(task, &targets, &scores);
            let (mut tree, leaves) = match kept {
                Some(splits) => splits.tree(number),
                None => self.grown(&mut grower, sample.as_deref(), &left_over.residuals),
            };
            let weights = sample.as_ref().unwrap_or(&rows.weights);
            tree.labels = self.steps((&leaves, tree.count()), weights, &left_over, &mut scores);
            roots.push(nodes.append(&tree));
        }
        let names = self.sorted.names.clone();
        Ok((BoostingHypothesis { names, task, start, roots, nodes }, scores))
    }

    /// The next tree, and the leaves of the different rows in it.
    fn grown(
        &self,
        grower: &mut Grower,
        sample: Option<&[f64]>,
        residuals: &Targets,
    ) -> (TreeNodes, Vec<usize>) {
        let rows = &self.sorted.rows;
        let tree = grower.grow(self.limits, sample.unwrap_or(&rows.weights), residuals, None);
        // The grower knows no leaf of rows that a subsample has left out.
        let leaves = if sample.is_some() {
            let leaf = |row: usize| tree.leaf_of(0, |feature| rows.column(feature)[row]);
            (0..rows.count).map(leaf).collect()
        } else {
            grower.leaves().iter().map(|&leaf| leaf as usize).collect()
        };
        (tree, leaves)
    }

    /// The Newton steps of a tree's nodes, which are added to the scores.
    fn steps(
        &self,
        (leaves, count): (&[usize], usize),
        weights: &[f64],
        left_over: &LeftOver,
        scores: &mut [f64],
    ) -> Vec<f64> {
        let LeftOver { task, predictions, residuals } = left_over;
        let width = residuals.width;
        let mut steps = LeafSteps::new(*task, count, width);
        let given = predictions.chunks_exact(width).zip(residuals.values.chunks_exact(width));
        for ((&leaf, &weight), (prediction, residual)) in leaves.iter().zip(weights).zip(given) {
            steps.add(leaf, weight, prediction, residual);
        }
        let labels = steps.solve(self.model.rate);
        for (leaf, scores) in leaves.iter().zip(scores.chunks_exact_mut(width)) {
            add_scaled(scores, 1.0, &labels[leaf * width..][..width]);
        }
        labels
    }

    /// A hypothesis with what it predicts for all given rows, by the scores of the different ones.
    fn with_predictions(
        &self,
        (hypothesis, scores): (BoostingHypothesis, Vec<f64>),
        given: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let predictions = self.sorted.spread(&hypothesis, given, |row, label| {
            hypothesis.write_label(&scores[row * hypothesis.start.len()..], label);
        })?;
        Ok((Box::new(hypothesis), predictions))
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
