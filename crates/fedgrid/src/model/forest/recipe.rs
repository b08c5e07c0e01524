//! How a forest of either kind is grown.

use rayon::prelude::*;

use super::{Forest, ForestHypothesis, Tried, bootstrap::Bootstrap};
use crate::{
    data::{Features, Labels, Task},
    error::{Error, Result},
    model::{
        Hypothesis, Nodes, Prepared,
        tree::{Draws, Grower, Limits, Sorted},
    },
    random::{Purpose, Stream},
};

/// How a forest of either kind is grown.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) forest: Forest,
    /// Whether thresholds are drawn.
    pub(super) thresholds: bool,
}

impl Recipe {
    pub(super) fn of(forest: &Forest) -> Self {
        Self { forest: forest.clone(), thresholds: false }
    }

    pub(super) fn on(
        self,
        model: &'static str,
        features: &Features,
        weights: &[f64],
    ) -> Result<PreparedForest> {
        let limits = Limits::checked(self.forest.max_depth, self.forest.min_leaf_weight)?;
        self.tried(Task::Regression, 1)?;
        if self.forest.trees == 0 {
            let expected = "at least one";
            return Err(Error::Parameter { name: "trees", value: 0.0, expected });
        }
        let sorted = Sorted::new(model, features, weights)?;
        Ok(PreparedForest { recipe: self, limits, sorted })
    }

    /// How many of the features are tried.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the columns is a count"
    )]
    fn tried(&self, task: Task, columns: usize) -> Result<usize> {
        let share = |share: f64| (share * columns as f64 + 1e-9) as usize;
        let tried = match (self.forest.features, task) {
            (Tried::Auto, Task::Classification { .. }) => columns.isqrt(),
            (Tried::Auto, Task::Regression) if self.thresholds => columns,
            (Tried::Auto, Task::Regression) => columns / 3,
            (Tried::Share(value), _) if !(value > 0.0 && value <= 1.0) => {
                let expected = "a share above 0, up to 1";
                return Err(Error::Parameter { name: "features", value, expected });
            }
            (Tried::Share(value), _) => share(value),
            (Tried::Count(0), _) => {
                let expected = "at least one";
                return Err(Error::Parameter { name: "features", value: 0.0, expected });
            }
            (Tried::Count(count), _) => count,
        };
        Ok(tried.clamp(1, columns.max(1)))
    }
}

/// A forest model with its sorted rows.
#[derive(Debug)]
pub(super) struct PreparedForest {
    recipe: Recipe,
    limits: Limits,
    sorted: Sorted,
}

impl Prepared for PreparedForest {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        let Sorted { names, rows, .. } = &self.sorted;
        let targets = self.sorted.targets(labels)?;
        let Recipe { forest, thresholds } = &self.recipe;
        let tried = self.recipe.tried(labels.task(), rows.columns)?;
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
        let trees: Vec<Nodes> = (0..forest.trees).into_par_iter().map_init(grower, grow).collect();
        let mut nodes = Nodes::default();
        let roots = trees.iter().map(|tree| nodes.append(tree)).collect();
        nodes.complete_labels(labels.task().outputs());
        let names = names.clone();
        Ok(Box::new(ForestHypothesis { names, task: labels.task(), roots, nodes }))
    }
}
