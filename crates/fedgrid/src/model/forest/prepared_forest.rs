//! How a forest of either kind is grown.

use std::{borrow::Cow, sync::OnceLock};

use rayon::prelude::*;

use super::{Forest, ForestHypothesis, TriedFeatures, bootstrap::Bootstrap};
use crate::{
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::{
        Hypothesis, KeepsSplits, Prepared, Splits, TreeNodes,
        tree::{Drawn, Draws, Grower, Limits, Shown, Sorted, Targets},
    },
    random::{Purpose, Stream},
};

/// A forest of either kind with its sorted rows.
#[derive(Debug)]
pub(super) struct PreparedForest {
    forest: Forest,
    /// Whether thresholds are drawn, as in extra trees.
    thresholds: bool,
    limits: Limits,
    sorted: Sorted,
    /// The drawn weights of every tree, where they do not depend on labels, once they are needed again.
    kept_weights: OnceLock<Vec<Vec<f64>>>,
}

/// Drawn weights that a node may keep: two megabytes.
const MOST_KEPT_WEIGHTS: usize = 1 << 18;

impl PreparedForest {
    pub(super) fn new(
        forest: &Forest,
        thresholds: bool,
        features: &Features,
        weights: &[f64],
    ) -> Result<Self> {
        let model = if thresholds { "a model of extra trees" } else { "a forest" };
        let limits = Limits::checked(forest.max_depth, forest.min_leaf_weight)?;
        tried(forest, thresholds, Task::Regression, 1)?;
        if forest.trees == 0 {
            let expected = "at least one";
            return Err(Error::Parameter { name: "trees", value: 0.0, expected });
        }
        let sorted = Sorted::new(model, features, weights)?;
        let kept_weights = OnceLock::new();
        Ok(Self { forest: forest.clone(), thresholds, limits, sorted, kept_weights })
    }
}

impl Prepared for PreparedForest {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.learn(labels)?))
    }

    fn as_keeping_splits(&self) -> Option<&dyn KeepsSplits> {
        Some(self)
    }
}

impl PreparedForest {
    fn learn(&self, labels: &Labels) -> Result<ForestHypothesis> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let Self { forest, thresholds, .. } = self;
        let tried = tried(forest, *thresholds, labels.task(), rows.columns)?;
        let bootstrap = self.bootstrap(labels);
        // In small nodes many features split alike: the first would win too often in every tree.
        // Without any chance the trees are all the tree, which takes the first.
        let shuffled = *thresholds || forest.bootstrap || tried < rows.columns;
        let grow = |grower: &mut Grower, tree: usize| {
            let (stream, drawn) = self.drawn(tree, bootstrap.as_ref(), &targets);
            let (weights, targets) = drawn
                .as_ref()
                .map_or((&rows.weights, &targets), |(w, t)| (w, t.as_ref().unwrap_or(&targets)));
            let draws = Draws { stream, tried, shuffled, thresholds: *thresholds };
            grower.grow(self.limits, weights, targets, Some(draws))
        };
        let grower = || Grower::new(rows, targets.width);
        let trees: Vec<TreeNodes> =
            (0..forest.trees).into_par_iter().map_init(grower, grow).collect();
        let mut nodes = TreeNodes::default();
        let roots = trees.iter().map(|tree| nodes.append(tree)).collect();
        nodes.complete_labels(labels.task().outputs());
        let names = names.clone();
        Ok(ForestHypothesis { names, task: labels.task(), roots, nodes })
    }

    /// The predictions of a forest with known leaves for all given rows.
    fn predictions(
        &self,
        forest: &ForestHypothesis,
        splits: &Splits,
        rows: &Features,
    ) -> Result<Labels> {
        let outputs = forest.task.outputs();
        let mut means = vec![0.0; self.sorted.rows.count * outputs];
        for tree in 0..forest.roots.len() {
            let leaves = splits.leaves(tree).iter().zip(means.chunks_exact_mut(outputs));
            for (&leaf, sums) in leaves {
                let label = &forest.nodes.labels[leaf as usize * outputs..][..outputs];
                sums.iter_mut().zip(label).for_each(|(sum, label)| *sum += label);
            }
        }
        for sum in &mut means {
            *sum /= forest.roots.len() as f64;
        }
        self.sorted.spread(forest, rows, |row, label| {
            label.copy_from_slice(&means[row * outputs..][..outputs]);
        })
    }

    fn bootstrap(&self, labels: &Labels) -> Option<Bootstrap> {
        self.forest.bootstrap.then(|| Bootstrap::new(self.sorted.rows.parts(labels)))
    }

    /// The chances of a tree after its rows were drawn, and what was drawn.
    fn drawn(
        &self,
        tree: usize,
        bootstrap: Option<&Bootstrap>,
        targets: &Targets,
    ) -> (Stream, Option<Drawn>) {
        let mut stream = Stream::new(self.forest.seed, tree, 0, Purpose::Model);
        let drawn = bootstrap.map(|b| b.draw(targets, &mut stream));
        (stream, drawn)
    }

    /// The same without its chances: what does not change from fit to fit is drawn once.
    fn shown(
        &self,
        tree: usize,
        bootstrap: Option<&Bootstrap>,
        targets: &Targets,
    ) -> Option<Shown<'_>> {
        let (trees, rows) = (self.forest.trees, self.sorted.rows.count);
        if trees * rows > MOST_KEPT_WEIGHTS || !bootstrap?.knows_no_labels(rows) {
            let (weights, targets) = self.drawn(tree, bootstrap, targets).1?;
            return Some((Cow::Owned(weights), targets));
        }
        let weights = |tree: usize| self.drawn(tree, bootstrap, targets).1.map(|(w, _)| w);
        let kept = self.kept_weights.get_or_init(|| (0..trees).filter_map(weights).collect());
        Some((Cow::Borrowed(&kept[tree]), None))
    }
}

impl KeepsSplits for PreparedForest {
    fn grow(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels, Splits)> {
        let forest = self.learn(labels)?;
        let splits = Splits::new(&self.sorted.rows, &forest.roots, &forest.nodes);
        let predictions = self.predictions(&forest, &splits, rows)?;
        Ok((Box::new(forest), predictions, splits))
    }

    fn refit(
        &self,
        splits: &Splits,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let (targets, bootstrap) = (self.sorted.targets(labels)?, self.bootstrap(labels));
        let (task, outputs) = (labels.task(), labels.task().outputs());
        let given = (&self.sorted.rows.weights[..], &targets);
        let nodes = splits
            .with_means(given, outputs, |tree| self.shown(tree, bootstrap.as_ref(), &targets));
        let (names, roots) = (self.sorted.names.clone(), splits.roots.clone());
        let forest = ForestHypothesis { names, task, roots, nodes };
        let predictions = self.predictions(&forest, splits, rows)?;
        Ok((Box::new(forest), predictions))
    }
}

/// How many of the features are tried.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the columns is a count"
)]
fn tried(forest: &Forest, thresholds: bool, task: Task, columns: usize) -> Result<usize> {
    let share = |share: f64| (share * columns as f64 + 1e-9) as usize;
    let tried = match (forest.features, task) {
        (TriedFeatures::Auto, Task::Classification { .. }) => columns.isqrt(),
        (TriedFeatures::Auto, Task::Regression) if thresholds => columns,
        (TriedFeatures::Auto, Task::Regression) => columns / 3,
        (TriedFeatures::Share(value), _) if !(value > 0.0 && value <= 1.0) => {
            let expected = "a share above 0, up to 1";
            return Err(Error::Parameter { name: "features", value, expected });
        }
        (TriedFeatures::Share(value), _) => share(value),
        (TriedFeatures::Count(0), _) => {
            let expected = "at least one";
            return Err(Error::Parameter { name: "features", value: 0.0, expected });
        }
        (TriedFeatures::Count(count), _) => count,
    };
    Ok(tried.clamp(1, columns.max(1)))
}
