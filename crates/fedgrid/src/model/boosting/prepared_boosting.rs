//! Adding tree after tree to sorted rows.

use std::borrow::Cow;

use super::{
    Boosting, BoostingHypothesis,
    boosting_hypothesis::link,
    leaf_steps::{LeafRows, LeafSteps},
};
use crate::{
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
        Ok(Box::new(self.learn(labels, None)?.hypothesis))
    }

    /// The scores of rows that trees were grown on are known; the others pass through all trees.
    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let Boosted { hypothesis, scores, .. } = self.learn(labels, None)?;
        let predictions = self.predictions(&hypothesis, &scores, rows)?;
        Ok((Box::new(hypothesis), predictions))
    }

    fn as_keeping_splits(&self) -> Option<&dyn KeepsSplits> {
        Some(self)
    }
}

impl KeepsSplits for PreparedBoosting {
    fn grow(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels, Splits)> {
        let Boosted { hypothesis, scores, leaves } = self.learn(labels, None)?;
        let nodes = (&hypothesis.roots[..], &hypothesis.nodes);
        let splits = Splits::with_leaves(&self.sorted.rows, nodes, leaves);
        let predictions = self.predictions(&hypothesis, &scores, rows)?;
        Ok((Box::new(hypothesis), predictions, splits))
    }

    fn refit(
        &self,
        splits: &Splits,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let Boosted { hypothesis, scores, .. } = self.learn(labels, Some(splits))?;
        let predictions = self.predictions(&hypothesis, &scores, rows)?;
        Ok((Box::new(hypothesis), predictions))
    }
}

/// What scores predict, and what that leaves over of the labels.
struct LeftOver {
    task: Task,
    predictions: Vec<f64>,
    residuals: Targets,
}

impl LeftOver {
    fn new(task: Task, targets: &Targets) -> Self {
        let residuals = Targets { width: targets.width, values: targets.values.clone() };
        Self { task, predictions: targets.values.clone(), residuals }
    }

    /// That of other scores.
    fn update(&mut self, targets: &Targets, scores: &[f64]) {
        self.predictions.copy_from_slice(scores);
        if self.task != Task::Regression {
            let rows = self.predictions.chunks_exact_mut(targets.width);
            rows.for_each(|row| link(self.task, row));
        }
        let pairs = targets.values.iter().zip(&self.predictions);
        self.residuals.values.iter_mut().zip(pairs).for_each(|(rest, (y, p))| *rest = y - p);
    }
}

impl PreparedBoosting {
    /// The sum of trees for these labels, which grow, or keep their splits.
    fn learn(&self, labels: &Labels, kept: Option<&Splits>) -> Result<Boosted> {
        let task = labels.task();
        let targets = self.sorted.targets(proper(labels)?.as_ref())?;
        let (rows, width) = (&self.sorted.rows, targets.width);
        let start = start(task, &rows.weights, &targets);
        let mut scores = start.repeat(rows.count);
        let mut left_over = LeftOver::new(task, &targets);
        let mut steps = LeafSteps::new(task, width);
        let (mut grower, mut grown_leaves) = (Grower::new(rows, width), Vec::new());
        let (mut roots, mut nodes) = match kept {
            Some(splits) => (splits.roots.clone(), splits.unlabelled()),
            None => (Vec::new(), TreeNodes::default()),
        };
        for number in 0..self.model.trees {
            let sample = self.model.subsampled(rows, number);
            left_over.update(&targets, &scores);
            if kept.is_none() {
                let tree = self.grown(&mut grower, sample.as_deref(), &left_over.residuals);
                let root = nodes.append_unlabelled(&tree);
                roots.push(root);
                let tell = |leaf: u32| grown_leaves.push(root + leaf);
                self.leaves(&grower, &tree, sample.is_some(), tell);
            }
            let (leaves, range) = match kept {
                Some(splits) => (splits.leaves(number), splits.range(number)),
                None => {
                    (&grown_leaves[number * rows.count..], roots[number] as usize..nodes.count())
                }
            };
            let leaf_rows = LeafRows {
                leaves,
                root: range.start,
                count: range.len(),
                weights: sample.as_ref().unwrap_or(&rows.weights),
                predictions: &left_over.predictions,
                residuals: &left_over.residuals.values,
            };
            steps.step(leaf_rows, self.model.rate, &mut nodes.labels, &mut scores);
        }
        let names = self.sorted.names.clone();
        let hypothesis = BoostingHypothesis { names, task, start, roots, nodes };
        Ok(Boosted { hypothesis, scores, leaves: grown_leaves })
    }

    /// The next tree.
    fn grown(&self, grower: &mut Grower, sample: Option<&[f64]>, residuals: &Targets) -> TreeNodes {
        let weights = sample.unwrap_or(&self.sorted.rows.weights);
        grower.grow(self.limits, weights, residuals, None)
    }

    /// Tells the leaves of the different rows in a tree.
    fn leaves(
        &self,
        grower: &Grower,
        tree: &TreeNodes,
        is_sampled: bool,
        mut tell: impl FnMut(u32),
    ) {
        // The grower knows no leaf of rows that a subsample has left out.
        if is_sampled {
            let rows = &self.sorted.rows;
            for row in 0..rows.count {
                let leaf = tree.leaf_of(0, |feature| rows.column(feature)[row]);
                tell(u32::try_from(leaf).expect("fewer than 2³² nodes"));
            }
        } else {
            grower.leaves().iter().for_each(|&leaf| tell(leaf));
        }
    }

    /// What a hypothesis predicts for all given rows, by the scores of the different ones.
    fn predictions(
        &self,
        hypothesis: &BoostingHypothesis,
        scores: &[f64],
        given: &Features,
    ) -> Result<Labels> {
        self.sorted.spread(hypothesis, given, |row, label| {
            hypothesis.write_label(&scores[row * hypothesis.start.len()..], label);
        })
    }
}

/// A sum of trees with the scores of the different rows, and their leaves in each tree that has grown.
struct Boosted {
    hypothesis: BoostingHypothesis,
    scores: Vec<f64>,
    leaves: Vec<u32>,
}

/// The labels with class probabilities of sum one; others are refused.
fn proper(labels: &Labels) -> Result<Cow<'_, Labels>> {
    let mut labels = Cow::Borrowed(labels);
    if let Task::Classification { classes } = labels.task() {
        let labels = labels.to_mut();
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
