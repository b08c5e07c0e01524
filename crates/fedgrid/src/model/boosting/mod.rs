//! Gradient boosting: trees that each correct the sum of those before,
//!
//! ```text
//! F₀ = argmin_c Σ_r weight_r L(y_r, c)      F_t = F_{t−1} + rate · tree_t
//! ```
//!
//! Tree t splits by least squares on the residuals y − ŷ, and its leaves hold the Newton step of the
//! loss: squared for numbers, where ŷ = F; cross-entropy for classes, where ŷ = softmax(F). [Friedman,
//! "Greedy function approximation: a gradient boosting machine", 2001.] Two classes have one number
//! F, the log-odds of the second. More classes share one tree of vector leaves per step, where the
//! paper grows one tree per class.
//!
//! A step is shortened where the curvature may have changed too much along it, so that without
//! subsampling every tree decreases the loss.

mod leaf_steps;
mod boosting_hypothesis;
mod prepared_boosting;

pub use self::boosting_hypothesis::BoostingHypothesis;
use self::prepared_boosting::PreparedBoosting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LocalModel, Prepared,
    tree::{Limits, MergedRows, Sorted},
};
use crate::{
    algebra::scale,
    data::{Dataset, Features},
    error::{Error, Result},
    random::{Purpose, Stream},
};

/// Trees that tell strengths apart: fewer and larger corrections lead as far, and errors at different strengths suffer
/// alike from the coarser way.
const SEARCH_TREES: usize = 25;

/// A gradient boosting model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Boosting {
    /// How many trees are grown.
    #[schemars(range(min = 1))]
    pub trees: usize,
    /// The share of each tree's correction that is made, above 0, up to 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub rate: f64,
    /// How many splits lie between the root and a leaf at most.
    pub max_depth: usize,
    /// The smallest share of the total weight that a leaf may hold, from zero (no limit) to a half.
    #[schemars(range(min = 0, max = 0.5))]
    pub min_leaf_weight: f64,
    /// The share above 0, up to 1, of the rows of different features that each tree sees; one is all.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub subsample: f64,
    /// What the subsamples depend on.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub seed: u64,
}

impl Default for Boosting {
    fn default() -> Self {
        let (trees, rate, max_depth, min_leaf_weight) = (100, 0.1, 3, 0.0);
        Self { trees, rate, max_depth, min_leaf_weight, subsample: 1.0, seed: 0 }
    }
}

impl LocalModel for Boosting {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.on(data.features(), data.weights())?.fit(data.labels())
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(Some(Box::new(self.on(rows, weights)?)))
    }

    fn for_search(&self) -> Option<Box<dyn LocalModel>> {
        let rate = (self.rate * self.trees as f64 / SEARCH_TREES as f64).min(1.0);
        (self.trees > SEARCH_TREES)
            .then(|| Box::new(Self { trees: SEARCH_TREES, rate, ..self.clone() }) as _)
    }
}

impl Boosting {
    fn on(&self, features: &Features, weights: &[f64]) -> Result<PreparedBoosting> {
        let limits = Limits::checked(self.max_depth, self.min_leaf_weight)?;
        for (name, value) in [("rate", self.rate), ("subsample", self.subsample)] {
            if !(value > 0.0 && value <= 1.0) {
                let expected = "a number above 0, up to 1";
                return Err(Error::Parameter { name, value, expected });
            }
        }
        let sorted = Sorted::new("a boosting model", features, weights)?;
        Ok(PreparedBoosting { model: self.clone(), limits, sorted })
    }

    /// The weights that a tree sees, of sum one; none if they are those of all rows.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the rows is a count"
    )]
    fn subsampled(&self, rows: &MergedRows, tree: usize) -> Option<Vec<f64>> {
        if self.subsample >= 1.0 {
            return None;
        }
        let kept = ((self.subsample * rows.count as f64) as usize).max(1);
        let order = Stream::new(self.seed, tree, 0, Purpose::Model).permutation(rows.count);
        let mut weights = vec![0.0; rows.count];
        order[..kept].iter().for_each(|&row| weights[row] = rows.weights[row]);
        let total: f64 = weights.iter().sum();
        scale(&mut weights, 1.0 / total);
        Some(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Labels, Task},
        loss::Loss,
        model::Tree,
        testing,
    };

    fn tasks() -> [Task; 3] {
        let classes = |classes| Task::Classification { classes };
        [Task::Regression, classes(2), classes(3)]
    }

    /// Rows whose labels are noisy; class labels are soft, and a few certain and odd.
    fn data(task: Task, rows: usize) -> Dataset {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let names = ["a", "b", "c"].map(String::from).into();
        let values = (0..3 * rows).map(|_| stream.normal()).collect();
        let features = Features::new(names, values).unwrap();
        let mut labels = Vec::new();
        for (row, x) in features.iter().enumerate() {
            if task == Task::Regression {
                labels.push(x[0] * x[1] + x[2] + 0.3 * stream.normal());
                continue;
            }
            let certain = stream.index(task.outputs());
            let odds = (0..task.outputs()).map(|k| match row % 3 {
                0 => f64::from(u8::from(k == certain)),
                _ => (k as f64 * x[0] + 2.0 * stream.normal()).exp(),
            });
            let odds: Vec<f64> = odds.collect();
            labels.extend(odds.iter().map(|o| o / odds.iter().sum::<f64>()));
        }
        let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
        Dataset::weighted(features, Labels::new(task, labels).unwrap(), weights).unwrap()
    }

    fn loss(data: &Dataset, predictions: &Labels) -> f64 {
        let losses = Loss::of(data.task()).rows(data.labels(), predictions);
        losses.iter().zip(data.weights()).map(|(loss, weight)| loss * weight).sum()
    }

    #[test]
    fn prepared_boosting_knows_the_predictions_of_a_fit() {
        for task in tasks() {
            let data = data(task, 60);
            let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 5)).collect();
            for subsample in [1.0, 0.5] {
                let model = Boosting { trees: 12, subsample, ..Boosting::default() };
                let prepared = model.prepare(data.features(), &weights).unwrap().unwrap();
                let (fitted, known) =
                    prepared.fit_and_predict(data.labels(), data.features()).unwrap();
                assert_eq!(known, fitted.predict(data.features()));
            }
        }
    }

    #[test]
    fn what_stands_for_boosting_in_a_search_goes_as_far_in_fewer_trees() {
        let cheaper = |trees, rate| Boosting { trees, rate, ..Boosting::default() }.for_search();
        assert!(cheaper(25, 0.1).is_none());
        let expected = Boosting { trees: 25, rate: 0.4, ..Boosting::default() };
        let found = format!("{:?}", cheaper(100, 0.1).unwrap());
        assert_eq!(found, format!("{expected:?}"));
        let bounded = format!("{:?}", cheaper(1000, 0.1).unwrap());
        assert_eq!(bounded, format!("{:?}", Boosting { rate: 1.0, ..expected }));
    }

    #[test]
    fn boosting_keeps_the_laws_of_local_models() {
        for task in tasks() {
            testing::check_local_model(&Boosting::default(), task);
            testing::check_local_model(&Boosting { subsample: 0.6, ..Boosting::default() }, task);
            let deep = Boosting { trees: 20, rate: 0.5, max_depth: 6, ..Boosting::default() };
            testing::check_local_model(&Boosting { min_leaf_weight: 0.05, ..deep }, task);
            testing::check_local_model(&Boosting { trees: 0, ..Boosting::default() }, task);
        }
    }

    #[test]
    fn every_tree_decreases_the_training_loss() {
        for task in tasks() {
            let data = data(task, 60);
            for (rate, max_depth) in [(1.0, 3), (1.0, 8), (0.1, 2), (0.6, 1)] {
                // Soft labels keep their own entropy.
                let (mut last, least) = (f64::INFINITY, loss(&data, data.labels()));
                for trees in 0..25 {
                    let model = Boosting { trees, rate, max_depth, ..Boosting::default() };
                    let now = loss(&data, &model.fit(&data).unwrap().predict(data.features()));
                    let gone = now - least < 1e-11;
                    assert!(now < last || gone, "{task:?} {trees} trees: {now} after {last}");
                    last = now;
                }
            }
        }
    }

    #[test]
    fn one_tree_at_full_rate_is_the_tree_for_squared_loss() {
        let data = data(Task::Regression, 80);
        let model = Boosting { trees: 1, rate: 1.0, max_depth: 4, ..Boosting::default() };
        let tree = Tree { max_depth: 4, ..Tree::default() };
        let predict = |model: &dyn LocalModel| model.fit(&data).unwrap().predict(data.features());
        let (one, other) = (predict(&model), predict(&tree));
        assert!(one.as_slice().iter().zip(other.as_slice()).all(|(p, q)| (p - q).abs() < 1e-12));
    }

    #[test]
    fn without_trees_the_prediction_is_the_mean_label() {
        for task in tasks() {
            let data = data(task, 30);
            let model = Boosting { trees: 0, ..Boosting::default() };
            let predictions = model.fit(&data).unwrap().predict(data.features());
            let same = |(p, q): (&f64, &f64)| (p - q).abs() < 1e-12;
            assert!(predictions.row(7).iter().zip(&data.mean_label()).all(same));
        }
    }

    #[test]
    fn two_classes_as_scores_of_each_or_as_log_odds_are_alike() {
        // A third class that never occurs leaves the other two as they were.
        let two = data(Task::Classification { classes: 2 }, 60);
        let labels =
            two.labels().as_slice().chunks_exact(2).flat_map(|p| [p[0], p[1], 0.0]).collect();
        let labels = Labels::new(Task::Classification { classes: 3 }, labels).unwrap();
        let features = two.features().clone();
        let three = Dataset::weighted(features, labels, two.weights().to_vec()).unwrap();
        let model = Boosting { trees: 10, ..Boosting::default() };
        let predict = |data: &Dataset| model.fit(data).unwrap().predict(data.features());
        let (two, three) = (predict(&two), predict(&three));
        for row in 0..two.rows() {
            assert!((two.row(row)[1] - three.row(row)[1]).abs() < 1e-6);
        }
    }

    #[test]
    fn a_prepared_model_gives_the_bits_of_a_fit() {
        for task in tasks() {
            let data = data(task, 40);
            let model = Boosting { trees: 5, subsample: 0.5, ..Boosting::default() };
            let prepared = model.prepare(data.features(), data.weights()).unwrap().unwrap();
            let (one, other) = (prepared.fit(data.labels()), model.fit(&data));
            assert_eq!(one.unwrap().save(), other.unwrap().save());
        }
    }

    #[test]
    fn settings_and_labels_out_of_range_are_refused() {
        let data = data(Task::Classification { classes: 2 }, 10);
        let refusal = |model: Boosting| model.fit(&data).unwrap_err().to_string();
        let expected = "rate is 0, expected a number above 0, up to 1";
        assert_eq!(refusal(Boosting { rate: 0.0, ..Boosting::default() }), expected);
        let labels = Labels::new(data.task(), [0.7, 0.7].repeat(10)).unwrap();
        let data = Dataset::new(data.features().clone(), labels).unwrap();
        let error = Boosting::default().fit(&data).unwrap_err().to_string();
        let expected =
            "a boosting model cannot be fitted: the label of row 0 is not a list of probabilities";
        assert_eq!(error, expected);
    }
}
