//! The laws of local models: what a fit owes to its rows, whatever the model is.

use super::law_data::{self, ROWS, dataset, features, heavy, names, with_constants};
use crate::{
    data::{Dataset, Labels, Task},
    loss::Loss,
    model::{Hypothesis, LocalModel, Vanishing},
    random::{Purpose, Stream},
};

/// How much two fits that are equal in exact arithmetic may differ in their predictions.
const PREDICTION_TOLERANCE: f64 = 1e-8;

/// The share of the total weight that is next to nothing.
const VANISHING_SHARE: f64 = 1e-13;

/// How much rows of that share may move predictions: 10⁹ times as much, because the ridges that hold
/// a model against them are small, and far from all rows kernels are large.
const FORGOTTEN_CHANGE: f64 = 1e-4;

/// Puts a model for the given task under the laws of local models.
///
/// The laws hold for models with and without intercept, of any ridge: where a law compares with a
/// constant prediction, the rows have a column of ones and so much weight that no ridge counts.
///
/// # Panics
///
/// If the model breaks a law; the message says which.
///
/// ```
/// use fedgrid::{data::Task, model::Tree, testing};
/// testing::check_local_model(&Tree::default(), Task::Classification { classes: 3 });
/// ```
pub fn check_local_model(model: &dyn LocalModel, task: Task) {
    let loss = |label: &[f64], prediction: &[f64]| Loss::of(task).row(label, prediction);
    check_local_model_by(model, task, &Yardstick { loss: &loss, target: std::convert::identity });
}

/// What a model minimises and which targets it takes, where that is not its task's usual loss on any
/// number.
pub struct Yardstick<'a> {
    /// The loss of a label and a prediction.
    pub loss: &'a dyn Fn(&[f64], &[f64]) -> f64,
    /// Turns any number into a target that the model takes.
    pub target: fn(f64) -> f64,
}

/// Puts a model under the laws of local models, measured by the loss that it minimises.
///
/// # Panics
///
/// If the model breaks a law; the message says which.
pub fn check_local_model_by(model: &dyn LocalModel, task: Task, yardstick: &Yardstick) {
    let laws = LocalModelLaws { model, task, yardstick };
    laws.weight_k_is_the_row_k_times();
    laws.weight_zero_is_no_row();
    laws.the_order_of_the_rows_does_not_matter();
    laws.the_same_data_give_the_same_bits();
    laws.a_single_row_can_be_fitted();
    laws.constant_features_do_no_harm();
    laws.equal_labels_are_reproduced();
    laws.a_fit_is_at_least_as_good_as_no_fit();
    laws.a_fit_is_at_least_as_good_as_a_constant();
    laws.data_without_weight_are_refused();
    laws.a_stored_hypothesis_predicts_the_same_bits();
    laws.a_prepared_model_fits_the_same();
    laws.rows_of_vanishing_weight_are_forgotten_where_the_model_says_so();
}

struct LocalModelLaws<'a> {
    model: &'a dyn LocalModel,
    task: Task,
    yardstick: &'a Yardstick<'a>,
}

impl LocalModelLaws<'_> {
    fn weight_k_is_the_row_k_times(&self) {
        let (features, labels) = (features(ROWS, 1), self.labels(ROWS, 2));
        let counts: Vec<usize> = (0..ROWS).map(|row| 1 + row % 3).collect();
        let copies: Vec<usize> = (0..ROWS).flat_map(|row| vec![row; counts[row]]).collect();
        let weights = counts.iter().map(|&count| count as f64).collect();
        let weighted = dataset(features.clone(), labels.clone(), weights);
        let repeated = dataset(features, labels, vec![1.0; ROWS]).select(&copies);
        self.assert_same("weight k differs from the row k times", &weighted, &repeated);
    }

    fn weight_zero_is_no_row(&self) {
        let data = self.data();
        let silent = dataset(features(5, 3), self.labels(5, 4), vec![0.0; 5]);
        // In front, where a model that takes its first row for granted meets them.
        let padded = silent.stacked(&data).expect("both have the same columns");
        self.assert_same("a row of weight zero matters", &data, &padded);
    }

    fn the_order_of_the_rows_does_not_matter(&self) {
        let data = self.data();
        // Always the same order, so that a law fails for everyone or for nobody.
        let order = Stream::new(5, 0, 0, Purpose::Shuffle).permutation(ROWS);
        self.assert_same("the order of the rows matters", &data, &data.select(&order));
    }

    fn the_same_data_give_the_same_bits(&self) {
        let (data, new) = (self.data(), features(50, 6));
        let (first, second) = (self.fit(&data).predict(&new), self.fit(&data).predict(&new));
        let same = bits(&first) == bits(&second);
        assert!(same, "{:?}: two fits of the same data differ", self.model);
    }

    fn a_single_row_can_be_fitted(&self) {
        let data = self.data().select(&[3]);
        self.assert_sound("a single row", &self.fit(&data).predict(data.features()));
    }

    /// One column that never varies, then all columns, under many weights, so that means round:
    /// a slope made of rounding errors would change with the order of the rows.
    fn constant_features_do_no_harm(&self) {
        let labels = self.labels(ROWS, 2);
        let order = Stream::new(5, 0, 0, Purpose::Shuffle).permutation(ROWS);
        for (columns, seed) in (0..10).flat_map(|seed| [(1, seed), (3, seed)]) {
            let mut stream = Stream::new(seed, 2, 0, Purpose::Data);
            let weights = (0..ROWS).map(|_| 0.1 + stream.uniform()).collect();
            let data = dataset(with_constants(columns, 1), labels.clone(), weights);
            self.assert_same("a constant feature misleads", &data, &data.select(&order));
        }
    }

    fn equal_labels_are_reproduced(&self) {
        let labels = match self.task {
            Task::Regression => Labels::values(vec![2.5; ROWS]),
            Task::Classification { classes } => {
                Labels::classes(classes, &[classes - 1; ROWS]).expect("the last class exists")
            }
        };
        let data = heavy(labels);
        let predictions = self.fit(&data).predict(data.features());
        self.assert_sound("equal labels", &predictions);
        let reproduced = match self.task {
            Task::Regression => predictions.as_slice().iter().all(|p| (p - 2.5).abs() <= 1e-6),
            Task::Classification { .. } => {
                predictions.most_probable() == data.labels().most_probable()
            }
        };
        assert!(reproduced, "{:?}: equal labels are not reproduced", self.model);
    }

    /// The hypothesis zero, or even odds, is within reach of every model at no penalty.
    fn a_fit_is_at_least_as_good_as_no_fit(&self) {
        let data = self.data();
        let neutral = Labels::neutral(self.task, ROWS);
        self.assert_no_worse("a fit is worse than zero or even odds", &data, &neutral);
    }

    fn a_fit_is_at_least_as_good_as_a_constant(&self) {
        let data = heavy(self.labels(ROWS, 2));
        let constant = Labels::new(self.task, data.mean_label().repeat(ROWS))
            .expect("a mean of labels is a label");
        self.assert_no_worse("a fit is worse than the mean label", &data, &constant);
    }

    fn data_without_weight_are_refused(&self) {
        let empty = Dataset::empty(names(), self.task);
        let silent = dataset(features(ROWS, 1), self.labels(ROWS, 2), vec![0.0; ROWS]);
        for data in [empty, silent] {
            let refused = self.model.fit(&data).is_err();
            assert!(refused, "{:?}: {} rows without weight are fitted", self.model, data.rows());
        }
    }

    fn a_stored_hypothesis_predicts_the_same_bits(&self) {
        let new = features(50, 6);
        let fitted = self.fit(&self.data());
        // A model need not be stored, and what cannot be stored has nothing to keep.
        let Some(stored) = fitted.save() else { return };
        #[cfg(test)]
        let stored = through_json(&stored);
        let problem = |error| panic!("{:?}: a stored hypothesis is refused: {error}", self.model);
        let restored = self.model.kinds().load(stored.clone(), None).unwrap_or_else(problem);
        let same = bits(&restored.predict(&new)) == bits(&fitted.predict(&new));
        assert!(same, "{:?}: a restored hypothesis predicts something else", self.model);
        assert_eq!(restored.save(), Some(stored), "{:?}: storing again differs", self.model);
    }

    /// Wide rows too, where a minimiser must be chosen, and rows without weight.
    fn a_prepared_model_fits_the_same(&self) {
        let silent = dataset(features(2, 3), self.labels(2, 4), vec![0.0; 2]);
        for rows in [&[5][..], &[1, 4], &[0, 3, 7, 9, 20, 21]] {
            let data = self.data().select(rows).stacked(&silent).expect("same columns");
            let prepare = |data: &Dataset| self.model.prepare(data.features(), data.weights());
            let problem = |error| panic!("{:?} refuses sound rows: {error}", self.model);
            let Some(prepared) = prepare(&data).unwrap_or_else(problem) else { return };
            assert!(prepare(&silent).is_err(), "{:?}: prepared without weight", self.model);
            for seed in [2, 7] {
                let labels = self.labels(data.rows(), seed);
                let other =
                    dataset(data.features().clone(), labels.clone(), data.weights().to_vec());
                let fitted = prepared.fit(&labels).unwrap_or_else(|error| {
                    panic!("{:?} refuses sound labels once prepared: {error}", self.model)
                });
                let violation = "a prepared model fits something else";
                self.assert_close(violation, self.fit(&other).as_ref(), fitted.as_ref(), &data);
            }
        }
    }

    /// Many rows, few, one, and some with constant columns, beside others of hardly any weight.
    fn rows_of_vanishing_weight_are_forgotten_where_the_model_says_so(&self) {
        let constant = dataset(with_constants(1, 1), self.labels(ROWS, 2), law_data::weights(ROWS));
        let few = self.data().select(&[0, 3, 7, 9, 20, 21]);
        for own in [self.data(), few, self.data().select(&[3]), constant] {
            if self.model.vanishing_rows(&own) != Vanishing::Forgotten {
                continue;
            }
            let weight = VANISHING_SHARE * own.total_weight() / 12.0;
            let others = dataset(features(12, 3), self.labels(12, 4), vec![weight; 12]);
            let all = own.clone().stacked(&others).expect("both have the same columns");
            let new = features(50, 6);
            let (one, other) = (self.fit(&own).predict(&new), self.fit(&all).predict(&new));
            for (p, q) in one.as_slice().iter().zip(other.as_slice()) {
                let close = (p - q).abs() <= FORGOTTEN_CHANGE * (1.0 + p.abs());
                assert!(close, "{:?}: rows of next to no weight turn {p} into {q}", self.model);
            }
        }
    }

    /// Labels that depend on the features, within the targets that the model takes.
    fn labels(&self, rows: usize, seed: u64) -> Labels {
        law_data::labels(self.task, rows, seed, self.yardstick.target)
    }

    fn data(&self) -> Dataset {
        dataset(features(ROWS, 1), self.labels(ROWS, 2), law_data::weights(ROWS))
    }

    fn fit(&self, data: &Dataset) -> Box<dyn Hypothesis> {
        let problem = |error| panic!("{:?} refuses sound data: {error}", self.model);
        self.model.fit(data).unwrap_or_else(problem)
    }

    /// Both datasets give the same predictions on their own and on new rows.
    fn assert_same(&self, violation: &str, one: &Dataset, other: &Dataset) {
        self.assert_close(violation, self.fit(one).as_ref(), self.fit(other).as_ref(), one);
    }

    /// Both hypotheses predict the same on these and on new rows.
    fn assert_close(
        &self,
        violation: &str,
        one: &dyn Hypothesis,
        other: &dyn Hypothesis,
        data: &Dataset,
    ) {
        for seen in [data.features(), &features(50, 6)] {
            let (p, q) = (one.predict(seen), other.predict(seen));
            self.assert_sound("sound data", &p);
            assert_eq!(p.rows(), seen.rows(), "{:?}: one label per row", self.model);
            for (p, q) in p.as_slice().iter().zip(q.as_slice()) {
                let close = (p - q).abs() <= PREDICTION_TOLERANCE * (1.0 + p.abs());
                assert!(close, "{:?}: {violation}: {p} and {q} are predicted", self.model);
            }
        }
    }

    /// The fit's mean loss on its own rows is not above that of other predictions.
    fn assert_no_worse(&self, violation: &str, data: &Dataset, others: &Labels) {
        let loss = |predictions: &Labels| {
            let of = |row| (self.yardstick.loss)(data.labels().row(row), predictions.row(row));
            let weighted = data.weights().iter().enumerate().map(|(row, weight)| weight * of(row));
            weighted.sum::<f64>() / data.total_weight()
        };
        let (own, other) = (loss(&self.fit(data).predict(data.features())), loss(others));
        // Solvers end a little before the minimum.
        assert!(own <= other + 1e-9, "{:?}: {violation}: {own} above {other}", self.model);
    }

    /// Predictions are finite labels of the task, and probabilities where they should be.
    fn assert_sound(&self, of: &str, predictions: &Labels) {
        let model = self.model;
        assert_eq!(predictions.task(), self.task, "{model:?}: {of}: labels of another task");
        let values = predictions.as_slice();
        assert!(values.iter().all(|p| p.is_finite()), "{model:?}: {of}: not finite: {values:?}");
        if matches!(self.task, Task::Classification { .. }) {
            let valid = values.iter().all(|p| (0.0..=1.0).contains(p));
            assert!(valid, "{model:?}: {of}: a probability is not in [0, 1]: {values:?}");
            let sums = (0..predictions.rows()).map(|row| predictions.row(row).iter().sum::<f64>());
            for sum in sums {
                assert!((sum - 1.0).abs() <= 1e-12, "{model:?}: {of}: probabilities sum to {sum}");
            }
        }
    }
}

fn bits(labels: &Labels) -> Vec<u64> {
    labels.as_slice().iter().map(|value| value.to_bits()).collect()
}

#[cfg(test)]
fn through_json(stored: &crate::model::Stored) -> crate::model::Stored {
    let text = serde_json::to_string(stored).expect("a stored hypothesis becomes text");
    serde_json::from_str(&text).expect("its text becomes a stored hypothesis")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::Result, model::Linear};

    /// Breaks the first law.
    #[derive(Debug)]
    struct IgnoresWeights;

    impl LocalModel for IgnoresWeights {
        fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
            let data = data.without_zero_weights();
            Linear::default().fit(&Dataset::new(data.features().clone(), data.labels().clone())?)
        }
    }

    #[test]
    #[should_panic(expected = "IgnoresWeights: weight k differs from the row k times")]
    fn a_model_that_ignores_weights_is_named_with_the_law_it_breaks() {
        check_local_model(&IgnoresWeights, Task::Regression);
    }
}
