//! Forests: the mean of trees that differ by chance,
//!
//! ```text
//! ĥ(x) = 1/T Σ_t tree_t(x)
//! ```
//!
//! A random forest grows every tree on resampled rows and tries only some features per split; extra
//! trees draw the thresholds too. [Breiman, "Random forests", 2001; Geurts, Ernst and Wehenkel,
//! "Extremely randomized trees", 2006.] Tree t draws from the stream of (seed, t), so the forest does
//! not depend on threads.

mod bootstrap;
mod forest_hypothesis;
mod prepared_forest;

pub use self::forest_hypothesis::ForestHypothesis;
use self::prepared_forest::PreparedForest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Hypothesis, LocalModel, Prepared};
use crate::{
    data::{Dataset, Features},
    error::Result,
};

/// Trees that tell strengths apart: errors at different strengths are of the same draws, so that what chance
/// adds is much the same in all.
const SEARCH_TREES: usize = 25;

/// How many features are tried per split; those that are constant in the node do not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TriedFeatures {
    /// The square root of their number for classes; for numbers a third (random forest) or all
    /// (extra trees). Rounded down, at least one.
    Auto,
    /// A share above 0, up to 1, of all; rounded down, at least one.
    Share(f64),
    /// So many, at least one; more than there are means all.
    Count(usize),
}

impl TriedFeatures {
    /// Whether nobody has chosen.
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The share of features that is tried, as a file has it; none is the usual number.
mod features_tried {
    use super::{Deserialize, Serialize, TriedFeatures};

    pub(super) fn serialize<S: serde::Serializer>(
        tried: &TriedFeatures,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match tried {
            TriedFeatures::Share(share) => Some(*share),
            TriedFeatures::Auto | TriedFeatures::Count(_) => None,
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<TriedFeatures, D::Error> {
        Ok(Option::deserialize(from)?.map_or(TriedFeatures::Auto, TriedFeatures::Share))
    }
}

/// A random forest model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Forest {
    /// How many trees are grown, at least one.
    #[schemars(range(min = 1))]
    pub trees: usize,
    /// How many splits lie between the root and a leaf at most.
    pub max_depth: usize,
    /// The smallest share of the total weight that a leaf may hold, from zero (no limit) to a half.
    #[schemars(range(min = 0, max = 0.5))]
    pub min_leaf_weight: f64,
    /// The share of features that is tried at each split; without it a usual number.
    #[serde(
        rename = "features_tried",
        with = "features_tried",
        skip_serializing_if = "TriedFeatures::is_auto"
    )]
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub features: TriedFeatures,
    /// Whether every tree has resampled rows; without, and with all features, all trees are equal.
    ///
    /// Rows of equal features and labels are one, in an order of their own. As many as there are are
    /// drawn with replacement, each with a chance that is its share of the weight; so a row of weight k
    /// is the row k times, and distinct rows of equal weight give the usual bootstrap. Rows below a
    /// hundredth of the mean weight, such as public points under a weak pull, raise the number of draws
    /// in proportion to their weight only.
    #[serde(skip)]
    pub bootstrap: bool,
    /// What the draws depend on.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub seed: u64,
}

impl Default for Forest {
    fn default() -> Self {
        let (trees, max_depth, min_leaf_weight) = (100, 64, 0.0);
        let (features, bootstrap, seed) = (TriedFeatures::Auto, true, 0);
        Self { trees, max_depth, min_leaf_weight, features, bootstrap, seed }
    }
}

/// A model of extra trees: a forest with one random threshold per tried feature, by default without
/// resampled rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Forest", into = "Forest")]
#[schemars(with = "Forest")]
pub struct ExtraTrees(pub Forest);

impl From<Forest> for ExtraTrees {
    fn from(forest: Forest) -> Self {
        Self(Forest { bootstrap: false, ..forest })
    }
}

impl From<ExtraTrees> for Forest {
    fn from(ExtraTrees(forest): ExtraTrees) -> Self {
        forest
    }
}

impl Default for ExtraTrees {
    fn default() -> Self {
        Self(Forest { bootstrap: false, ..Forest::default() })
    }
}

impl Forest {
    /// The forest of its first trees, where it has many.
    fn of_first_trees(&self) -> Option<Self> {
        (self.trees > SEARCH_TREES).then(|| Self { trees: SEARCH_TREES, ..self.clone() })
    }
}

impl LocalModel for Forest {
    fn for_search(&self) -> Option<Box<dyn LocalModel>> {
        self.of_first_trees().map(|forest| Box::new(forest) as Box<dyn LocalModel>)
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        PreparedForest::new(self, false, data.features(), data.weights())?.fit(data.labels())
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(Some(Box::new(PreparedForest::new(self, false, rows, weights)?)))
    }
}

impl LocalModel for ExtraTrees {
    fn for_search(&self) -> Option<Box<dyn LocalModel>> {
        self.0.of_first_trees().map(|forest| Box::new(Self(forest)) as Box<dyn LocalModel>)
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        PreparedForest::new(&self.0, true, data.features(), data.weights())?.fit(data.labels())
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(Some(Box::new(PreparedForest::new(&self.0, true, rows, weights)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{bootstrap::Bootstrap, *};
    use crate::{
        data::{Labels, Task},
        model::{Tree, tree::Sorted},
        random::{Purpose, Stream},
        testing,
    };

    fn tasks() -> [Task; 3] {
        let classes = |classes| Task::Classification { classes };
        [Task::Regression, classes(2), classes(3)]
    }

    fn features(rows: usize, seed: u64) -> Features {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let names = ["a", "b", "c", "d"].map(String::from).into();
        Features::new(names, (0..4 * rows).map(|_| stream.normal()).collect()).unwrap()
    }

    fn data(task: Task, rows: usize) -> Dataset {
        let (features, mut stream) = (features(rows, 1), Stream::new(2, 0, 0, Purpose::Data));
        let value = |x: &[f64]| x[0] * x[1] + x[2] + 0.3 * stream.normal();
        let values: Vec<f64> = features.iter().map(value).collect();
        let labels = match task {
            Task::Regression => Labels::values(values),
            Task::Classification { classes } => {
                let class =
                    |y: &f64| (usize::from(*y > -0.5) + usize::from(*y > 0.5)).min(classes - 1);
                Labels::classes(classes, &values.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
        };
        Dataset::new(features, labels).unwrap()
    }

    #[test]
    fn forests_keep_the_laws_of_local_models() {
        for task in tasks() {
            for (bootstrap, features) in
                [(true, TriedFeatures::Auto), (false, TriedFeatures::Share(0.7))]
            {
                let forest =
                    Forest { trees: 40, features, bootstrap, seed: 3, ..Forest::default() };
                testing::check_local_model(&forest, task);
                let min_leaf_weight = 0.05;
                testing::check_local_model(
                    &Forest { max_depth: 6, min_leaf_weight, ..forest },
                    task,
                );
            }
        }
    }

    #[test]
    fn extra_trees_keep_the_laws_of_local_models() {
        for task in tasks() {
            for (bootstrap, features) in
                [(false, TriedFeatures::Auto), (true, TriedFeatures::Count(2))]
            {
                let model = Forest { trees: 40, features, bootstrap, ..Forest::default() };
                testing::check_local_model(&ExtraTrees(model), task);
            }
        }
    }

    #[test]
    fn one_tree_of_all_rows_and_features_is_the_tree() {
        for task in tasks() {
            let (data, new) = (data(task, 80), features(200, 5));
            let tree = Tree { max_depth: 4, min_leaf_weight: 0.02 };
            let features = TriedFeatures::Share(1.0);
            let forest =
                Forest { trees: 1, max_depth: 4, features, bootstrap: false, ..Forest::default() };
            let forest = Forest { min_leaf_weight: 0.02, ..forest };
            let predict = |model: &dyn LocalModel| model.fit(&data).unwrap().predict(&new);
            assert_eq!(predict(&tree), predict(&forest));
        }
    }

    #[test]
    fn a_seed_fixes_the_forest_and_another_changes_it() {
        let (data, new) = (data(Task::Regression, 60), features(100, 5));
        let forest = |seed| Forest { trees: 5, seed, ..Forest::default() };
        let extra = |seed| ExtraTrees(Forest { trees: 5, seed, ..ExtraTrees::default().0 });
        let predict = |model: &dyn LocalModel| model.fit(&data).unwrap().predict(&new);
        assert_eq!(predict(&forest(1)), predict(&forest(1)));
        assert_ne!(predict(&forest(1)), predict(&forest(2)));
        assert_eq!(predict(&extra(1)), predict(&extra(1)));
        assert_ne!(predict(&extra(1)), predict(&extra(2)));
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let data = data(Task::Classification { classes: 3 }, 60);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Forest { trees: 11, ..Forest::default() }.fit(&data).unwrap().save())
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn a_prepared_forest_gives_the_bits_of_a_fit() {
        for task in tasks() {
            let data = data(task, 30);
            let doubled = data.clone().stacked(&data.select(&[3, 4, 5])).unwrap();
            let forest = Forest { trees: 5, ..Forest::default() };
            let prepared = forest.prepare(doubled.features(), doubled.weights()).unwrap().unwrap();
            let (one, other) = (prepared.fit(doubled.labels()), forest.fit(&doubled));
            assert_eq!(one.unwrap().save(), other.unwrap().save());
        }
    }

    #[test]
    fn copies_of_all_rows_change_no_draw() {
        let data = data(Task::Regression, 30);
        let thrice: Vec<usize> = (0..90).map(|copy| copy % 30).collect();
        let forest = Forest { trees: 5, ..Forest::default() };
        let predict = |data: &Dataset| forest.fit(data).unwrap().predict(&features(100, 5));
        let (one, other) = (predict(&data), predict(&data.select(&thrice)));
        assert!(one.as_slice().iter().zip(other.as_slice()).all(|(p, q)| (p - q).abs() < 1e-12));
    }

    #[test]
    fn many_copies_of_one_row_do_not_spoil_the_fit_elsewhere() {
        let (plain, new) = (data(Task::Regression, 100), features(100, 5));
        let copied: Vec<usize> = (0..100).chain(std::iter::repeat_n(0, 900)).collect();
        let many = plain.select(&copied);
        let forest = Forest { trees: 50, ..Forest::default() };
        let truth: Vec<f64> = new.iter().map(|x| x[0] * x[1] + x[2]).collect();
        let error = |data: &Dataset| {
            let predictions = forest.fit(data).unwrap().predict(&new);
            let wrong = predictions.as_slice().iter().zip(&truth).map(|(p, y)| (p - y).powi(2));
            wrong.sum::<f64>() / 100.0
        };
        let (one, other) = (error(&plain), error(&many));
        let spread = truth.iter().map(|y| y * y).sum::<f64>() / 100.0;
        assert!(other < 0.9 * spread && other < 3.0 * one, "{one} {other} {spread}");
    }

    #[test]
    fn the_order_of_the_columns_does_not_favour_a_feature() {
        // The same feature is asked as often in the first column as in the last.
        let first_used = |shift: usize| {
            let rows = 200;
            let given = features(rows, 7);
            let order: Vec<usize> = (0..4).map(|column| (column + shift) % 4).collect();
            let values = given.iter().flat_map(|x| order.iter().map(|&column| x[column]));
            let moved = Features::new(given.names().clone(), values.collect()).unwrap();
            let mut stream = Stream::new(8, 0, 0, Purpose::Data);
            let labels = (0..rows).map(|_| stream.normal()).collect();
            let data = Dataset::new(moved, Labels::values(labels)).unwrap();
            let forest = Forest { features: TriedFeatures::Share(1.0), ..Forest::default() };
            let fitted = forest.fit(&data).unwrap();
            let fitted: &ForestHypothesis = fitted.downcast_ref().expect("a forest");
            let nodes = fitted.nodes.right.iter().zip(&fitted.nodes.features);
            let asked = nodes.filter(|(right, _)| **right > 0).map(|(_, &feature)| feature);
            let column = (4 - shift) % 4;
            asked.filter(|&feature| feature as usize == column).count() as f64
        };
        let (first, last) = (first_used(0), first_used(1));
        assert!((first / last - 1.0).abs() < 0.05, "{first} and {last}");
    }

    #[test]
    fn resampled_weights_have_the_given_weights_as_their_mean() {
        let data = data(Task::Regression, 5);
        let weights = [0.1, 0.3, 0.05, 0.4, 0.15];
        let sorted = Sorted::new("a forest", data.features(), &weights).unwrap();
        let targets = sorted.targets(data.labels()).unwrap();
        let bootstrap = Bootstrap::new(sorted.rows.parts(data.labels()));
        let mut mean = [0.0; 5];
        for tree in 0..20_000 {
            let mut stream = Stream::new(1, tree, 0, Purpose::Model);
            let (drawn, labels) = bootstrap.draw(&targets, &mut stream);
            assert!(labels.is_none() && (drawn.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            mean.iter_mut().zip(&drawn).for_each(|(mean, weight)| *mean += weight / 20_000.0);
        }
        assert!(
            mean.iter().zip(&sorted.rows.weights).all(|(a, b)| (a - b).abs() < 0.01),
            "{mean:?}"
        );
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let data = data(Task::Regression, 10);
        let refusal = |forest: Forest| forest.fit(&data).unwrap_err().to_string();
        let forest = Forest::default;
        assert_eq!(refusal(Forest { trees: 0, ..forest() }), "trees is 0, expected at least one");
        let features = TriedFeatures::Share(1.5);
        let expected = "features is 1.5, expected a share above 0, up to 1";
        assert_eq!(refusal(Forest { features, ..forest() }), expected);
        let features = TriedFeatures::Count(0);
        assert_eq!(
            refusal(Forest { features, ..forest() }),
            "features is 0, expected at least one"
        );
    }
}
