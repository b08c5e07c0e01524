//! How a forest of either kind is grown.

use rayon::prelude::*;

use super::{Forest, ForestHypothesis, TriedFeatures, bootstrap::Bootstrap};
use crate::{
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::{
        Hypothesis, Prepared, TreeNodes,
        tree::{Draws, Grower, Limits, Sorted},
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
}

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
        Ok(Self { forest: forest.clone(), thresholds, limits, sorted })
    }
}

impl Prepared for PreparedForest {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let Self { forest, thresholds, .. } = self;
        let tried = tried(forest, *thresholds, labels.task(), rows.columns)?;
        let bootstrap = forest.bootstrap.then(|| Bootstrap::new(rows.parts(labels)));
        // In small nodes many features split alike: the first would win too often in every tree.
        // Without any chance the trees are all the tree, which takes the first.
        let shuffled = *thresholds || forest.bootstrap || tried < rows.columns;
        let grow = |grower: &mut Grower, tree: usize| {
            let mut stream = Stream::new(forest.seed, tree, 0, Purpose::Model);
            let drawn = bootstrap.as_ref().map(|b| b.draw(&targets, &mut stream));
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
        Ok(Box::new(ForestHypothesis { names, task: labels.task(), roots, nodes }))
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
