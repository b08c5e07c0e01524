//! What a node has: rows of named features, their labels and their weights.
//!
//! Labels are regression targets or class probabilities. Predictions have the same shape, because
//! one node's predictions on public points are its neighbours' pseudo-labels.

mod condensed;
mod counts;
mod feature_moments;
mod features;
mod labels;
mod public;
mod ranks;
mod scaling;
mod shared_numbers;
mod split;

use std::sync::Arc;

pub use condensed::CondensedRows;
pub use feature_moments::FeatureMoments;
pub use features::Features;
pub use labels::Labels;
pub use public::{distinct_rows, normal_points, uniform_points, weighted_normal_points};
pub use ranks::by_name;
pub use scaling::Scaling;
use serde::{Deserialize, Serialize};
use shared_numbers::SharedNumbers;
pub use split::{Fold, Plan, Role, RowDraws, share};

use crate::error::{Error, Result, same_size};

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One number per row.
    Regression,
    /// One probability per class and row.
    Classification {
        /// How many classes there are, at least two.
        classes: usize,
    },
}

impl Task {
    /// How many numbers describe the label of one row.
    #[must_use]
    pub fn outputs(self) -> usize {
        match self {
            Self::Regression => 1,
            Self::Classification { classes } => classes,
        }
    }
}

/// Labelled, weighted rows. A model fitted to it minimises `Σ_r weight_r · loss_r`, so weight two
/// equals the row twice and weight zero equals no row.
///
/// ```
/// use fedgrid::data::{Dataset, Features, Labels};
/// let features = Features::from_rows(&["month"], &[[1.0], [7.0]])?;
/// let data = Dataset::new(features, Labels::values(vec![-3.0, 21.0]))?;
/// assert_eq!(data.weights(), [0.5, 0.5]); // by default the loss is the mean over the rows
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    features: Features,
    labels: Labels,
    weights: SharedNumbers,
    /// How many rows each one stands for; none if each is one.
    counts: Option<SharedNumbers>,
    /// Over how much each label was counted; none if over one.
    exposures: Option<SharedNumbers>,
}

impl Dataset {
    /// Rows of equal weight and total weight one.
    pub fn new(features: Features, labels: Labels) -> Result<Self> {
        let weights = vec![1.0 / features.rows().max(1) as f64; features.rows()];
        Self::weighted(features, labels, weights)
    }

    /// Rows with given weights.
    pub fn weighted(features: Features, labels: Labels, weights: Vec<f64>) -> Result<Self> {
        same_size("labelled rows", labels.rows(), features.rows())?;
        same_size("row weights", weights.len(), features.rows())?;
        if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::RowWeight { row, value: weights[row] });
        }
        Ok(Self { features, labels, weights: weights.into(), counts: None, exposures: None })
    }

    /// Splits the rows into consecutive datasets of the given sizes, each with a total weight of one;
    /// refused if there are too few.
    /// All share the numbers of these rows, and neighbours of one size their weights.
    pub fn parted(
        features: &Features,
        labels: &Labels,
        counts: impl IntoIterator<Item = usize> + Clone,
    ) -> Result<Vec<Self>> {
        same_size("labelled rows", labels.rows(), features.rows())?;
        let (outputs, mut first) = (labels.task().outputs(), 0);
        let mut weights = SharedNumbers::default();
        let part = |(features, rows): (Features, usize)| {
            let values = labels.values.part(first * outputs, rows * outputs);
            first += rows;
            // Thousands of nodes of one size hold one list of weights.
            if weights.len() != rows {
                weights = vec![1.0 / rows as f64; rows].into();
            }
            let labels = Labels { task: labels.task(), values };
            Self { features, labels, weights: weights.clone(), counts: None, exposures: None }
        };
        Ok(features.parted(counts.clone())?.into_iter().zip(counts).map(part).collect())
    }

    /// No row, of the given columns and task.
    #[must_use]
    pub fn empty(names: Arc<[String]>, task: Task) -> Self {
        let labels = Labels { task, values: SharedNumbers::default() };
        Self {
            features: Features::empty(names),
            labels,
            weights: SharedNumbers::default(),
            counts: None,
            exposures: None,
        }
    }

    /// The features of the rows.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The labels of the rows.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The weights of the rows.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The labels and weights of the rows, to be changed in place while the features stay.
    pub(crate) fn labels_and_weights_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (self.labels.as_mut_slice(), self.weights.as_mut())
    }

    /// What is to be predicted.
    #[must_use]
    pub fn task(&self) -> Task {
        self.labels.task()
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// The sum of the row weights.
    #[must_use]
    pub fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The given rows, in the given order, with their weights.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select(rows),
            labels: self.labels.select(rows),
            weights: self.weights.select(rows, 1),
            counts: self.counts.as_ref().map(|counts| counts.select(rows, 1)),
            exposures: self.exposures.as_ref().map(|exposures| exposures.select(rows, 1)),
        }
    }

    /// The same rows with all weights scaled to the given sum; rows without weight stay so.
    #[must_use]
    pub fn with_total_weight(mut self, total: f64) -> Self {
        let now = self.total_weight();
        if now > 0.0 {
            self.weights.as_mut().iter_mut().for_each(|weight| *weight *= total / now);
        }
        self
    }

    /// The same for many: what each should sum to. Those that share their weights still do if their
    /// sums are the same.
    pub(crate) fn weigh_all(data: &mut [Self], total: impl Fn(&Self) -> f64) {
        let mut last: Option<(SharedNumbers, f64, SharedNumbers)> = None;
        for own in data {
            let (before, total) = (own.weights.clone(), total(own));
            own.weights = match &last {
                Some((old, sum, new)) if old.is(&before) && sum.total_cmp(&total).is_eq() => {
                    new.clone()
                }
                _ => own.clone().with_total_weight(total).weights,
            };
            last = Some((before, total, own.weights.clone()));
        }
    }

    /// The rows of positive weight; the others must not matter to any model.
    #[must_use]
    pub fn without_zero_weights(&self) -> Self {
        let kept: Vec<usize> = (0..self.rows()).filter(|&row| self.weights[row] > 0.0).collect();
        self.select(&kept)
    }

    /// These rows followed by others of the same columns and task.
    pub fn stacked(mut self, below: &Self) -> Result<Self> {
        same_size("label outputs", below.task().outputs(), self.task().outputs())?;
        self.counts =
            stacked(self.counts.take(), below.counts.as_ref(), (self.rows(), below.rows()));
        self.exposures =
            stacked(self.exposures.take(), below.exposures.as_ref(), (self.rows(), below.rows()));
        self.features = self.features.stacked(&below.features)?;
        self.labels.values.extend(&below.labels.values);
        self.weights.extend(&below.weights);
        Ok(self)
    }

    /// The weighted mean of the labels, or even odds and zero where there is no weight.
    #[must_use]
    pub fn mean_label(&self) -> Vec<f64> {
        let total = self.total_weight();
        if total == 0.0 {
            return Labels::neutral(self.task(), 1).values.to_vec();
        }
        let mut mean = vec![0.0; self.task().outputs()];
        for (row, weight) in self.weights.iter().enumerate() {
            for (sum, value) in mean.iter_mut().zip(self.labels.row(row)) {
                // Shares first: huge weights must not overflow in the sum.
                *sum += weight / total * value;
            }
        }
        mean
    }
}

/// Numbers above others, ones where there are none; none if neither has any.
fn stacked(
    above: Option<SharedNumbers>,
    below: Option<&SharedNumbers>,
    (rows, more): (usize, usize),
) -> Option<SharedNumbers> {
    if above.is_none() && below.is_none() {
        return None;
    }
    let ones = |rows: usize| -> SharedNumbers { vec![1.0; rows].into() };
    let mut all = above.unwrap_or_else(|| ones(rows));
    all.extend(&below.cloned().unwrap_or_else(|| ones(more)));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(values: &[[f64; 2]]) -> Result<Features> {
        Features::from_rows(&["a", "b"], values)
    }

    #[test]
    fn a_missing_value_is_an_error_that_says_where() {
        let error = features(&[[1.0, 2.0], [3.0, f64::NAN]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a feature is NaN in row 1, column 'b', expected a finite number"
        );
        let error = Labels::new(Task::Regression, vec![0.0, f64::INFINITY]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a label is inf in row 1, column 'output 0', expected a finite number"
        );
    }

    #[test]
    fn sizes_that_disagree_and_negative_weights_are_refused() {
        let two = features(&[[1.0, 2.0], [3.0, 4.0]]).unwrap();
        assert!(Dataset::new(two.clone(), Labels::values(vec![1.0])).is_err());
        let labels = Labels::values(vec![1.0, 2.0]);
        let error = Dataset::weighted(two, labels, vec![1.0, -1.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the weight of row 1 is -1, expected zero or a positive number"
        );
        assert!(Labels::classes(2, &[0, 2]).is_err());
    }

    #[test]
    fn parts_are_datasets_of_their_own_that_share_their_numbers() {
        let all = features(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).unwrap();
        let labels = Labels::values(vec![1.0, 2.0, 3.0]);
        let mut parts = Dataset::parted(&all, &labels, [1, 0, 1, 1]).unwrap();
        for (part, rows) in parts.iter().zip([&[0][..], &[], &[1], &[2]]) {
            let alone = Dataset::new(all.select(rows), labels.select(rows)).unwrap();
            assert_eq!(*part, alone);
        }
        assert!(parts[2].weights.is(&parts[3].weights));
        Dataset::weigh_all(&mut parts, |part| 2.0 * part.rows() as f64);
        assert!(parts[2].weights.is(&parts[3].weights) && *parts[2].weights == [2.0]);
        assert!(Dataset::parted(&all, &labels, [4]).is_err());
    }

    #[test]
    fn stacking_and_selecting_keep_rows_together() {
        let part = |x: f64| {
            Dataset::weighted(features(&[[x, -x]]).unwrap(), Labels::values(vec![x]), vec![x])
                .unwrap()
        };
        let stacked = part(1.0).stacked(&part(2.0)).unwrap();
        assert_eq!(stacked.select(&[1]), part(2.0));
        assert_eq!(stacked.clone().with_total_weight(6.0).weights(), [2.0, 4.0]);
        assert!((stacked.mean_label()[0] - 5.0 / 3.0).abs() < 1e-15);
    }
}
