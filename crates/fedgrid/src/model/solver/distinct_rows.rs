//! The distinct rows of weighted data, in an order of their own,
//!
//! ```text
//! weight of a distinct row = Σ_r weight_r      its label = Σ_r weight_r y_r / Σ_r weight_r
//! ```
//!
//! over the rows r with its features. A model that sees rows only through the distinct ones keeps the
//! laws of weights to the last bit: every sum is formed in an order that does not depend on the order
//! of the given rows, and a row k times is one of k times its weight.

use std::{cmp::Ordering, ops::Range};

use crate::{
    data::{Features, Labels, Scaling},
    error::{Error, Result, same_size},
};

/// The distinct rows of positive weight.
#[derive(Debug, Clone)]
pub(crate) struct DistinctRows {
    /// The features of the distinct rows, in lexical order.
    pub(crate) features: Features,
    /// The weight of each distinct row.
    pub(crate) weights: Vec<f64>,
    /// The given rows of the first distinct row, then those of the second, and so on.
    rows: Vec<usize>,
    /// Where the given rows of each distinct row end.
    ends: Vec<usize>,
    /// The weight of each given row.
    row_weights: Vec<f64>,
}

impl DistinctRows {
    /// Merges rows of equal features; refused, in the name of the model, where no row has a weight.
    pub(crate) fn new(features: &Features, weights: &[f64], model: &'static str) -> Result<Self> {
        same_size("row weights", weights.len(), features.rows())?;
        let mut rows: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
        if rows.is_empty() {
            return Err(Error::Fit { model, reason: "no row has a positive weight".into() });
        }
        rows.sort_by(|&a, &b| lexical(features.row(a), features.row(b)));
        let mut distinct = Self {
            features: Features::empty(features.names().clone()),
            weights: Vec::new(),
            rows,
            ends: Vec::new(),
            row_weights: weights.to_vec(),
        };
        let same = |a: &usize, b: &usize| features.row(*a) == features.row(*b);
        let mut firsts = Vec::new();
        for group in distinct.rows.chunk_by(same) {
            let mut own: Vec<f64> = group.iter().map(|&row| weights[row]).collect();
            // Sums round differently in another order, so the order is that of the numbers
            // themselves.
            own.sort_by(f64::total_cmp);
            distinct.weights.push(own.iter().sum());
            distinct.ends.push(distinct.ends.last().unwrap_or(&0) + group.len());
            firsts.push(group[0]);
        }
        distinct.features = features.select(&firsts);
        Ok(distinct)
    }

    /// How many distinct rows there are.
    pub(crate) fn count(&self) -> usize {
        self.weights.len()
    }

    /// The share of each distinct row in the total weight.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter().map(|weight| weight / total).collect()
    }

    /// The labels of the distinct rows, one after the other, from the labels of all given rows.
    pub(crate) fn labels(&self, labels: &Labels) -> Result<Vec<f64>> {
        same_size("labelled rows", labels.rows(), self.row_weights.len())?;
        let mut means = Vec::with_capacity(self.count() * labels.task().outputs());
        for index in 0..self.count() {
            let rows = &self.rows[self.range(index)];
            // The usual case; its label keeps every bit.
            if let [row] = rows {
                means.extend_from_slice(labels.row(*row));
            } else {
                means.extend(self.mean_label(rows.to_vec(), labels));
            }
        }
        Ok(means)
    }

    /// Tells of every given row of positive weight which distinct row it is.
    pub(crate) fn each_row(&self, mut tell: impl FnMut(usize, usize)) {
        for index in 0..self.count() {
            self.rows[self.range(index)].iter().for_each(|&given| tell(index, given));
        }
    }

    /// The given rows of weight zero, which are no distinct rows.
    pub(crate) fn absent(&self) -> impl Iterator<Item = usize> {
        let given = self.row_weights.iter().enumerate();
        given.filter(|(_, weight)| **weight <= 0.0).map(|(row, _)| row)
    }

    /// The distinct rows under the scaling that the models of this folder use, and that scaling.
    pub(crate) fn scaled(&self, standardise: bool) -> (Scaling, Vec<f64>) {
        let scaling = if standardise {
            Scaling::weighted(&self.features, &self.weights)
        } else {
            Scaling::identity(self.features.columns())
        };
        let points = self.features.iter().flat_map(|x| scaling.row(x)).collect();
        (scaling, points)
    }

    fn range(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }

    /// The weighted mean of the labels of some rows, summed in an order of their numbers.
    fn mean_label(&self, mut rows: Vec<usize>, labels: &Labels) -> Vec<f64> {
        rows.sort_by(|&a, &b| {
            let by_weight = || self.row_weights[a].total_cmp(&self.row_weights[b]);
            lexical(labels.row(a), labels.row(b)).then_with(by_weight)
        });
        let total: f64 = rows.iter().map(|&row| self.row_weights[row]).sum();
        let mean = |output: usize| {
            let values = || rows.iter().map(|&row| labels.row(row)[output]);
            let low = values().fold(f64::INFINITY, f64::min);
            let high = values().fold(f64::NEG_INFINITY, f64::max);
            let shares = rows.iter().map(|&row| self.row_weights[row] / total);
            // The mean of equal labels is that label, whatever rounding says.
            values().zip(shares).map(|(y, share)| y * share).sum::<f64>().max(low).min(high)
        };
        (0..labels.task().outputs()).map(mean).collect()
    }
}

/// The weighted mean of rows of `outputs` numbers each, with shares of sum one.
pub(crate) fn mean_of(rows: &[f64], outputs: usize, shares: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; outputs];
    for (row, share) in rows.chunks_exact(outputs).zip(shares) {
        crate::algebra::add_scaled(&mut mean, *share, row);
    }
    mean
}

/// The order of two rows by their numbers, in which both zeros are the same.
fn lexical(a: &[f64], b: &[f64]) -> Ordering {
    let pairs = a.iter().zip(b);
    pairs
        .map(|(a, b)| (a + 0.0).total_cmp(&(b + 0.0)))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_order_of_the_rows_and_their_repetition_change_no_bit() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let values: Vec<f64> = (0..80).map(|_| stream.index(3) as f64 - 1.0).collect();
        let features = Features::new(["a", "b"].map(String::from).into(), values).unwrap();
        let labels = Labels::values((0..40).map(|_| stream.normal()).collect());
        let weights: Vec<f64> = (0..40).map(|_| stream.uniform()).collect();
        let distinct = DistinctRows::new(&features, &weights, "a test").unwrap();
        assert_eq!(distinct.count(), 9);

        let order = stream.permutation(40);
        let shuffled: Vec<f64> = order.iter().map(|&row| weights[row]).collect();
        let other = DistinctRows::new(&features.select(&order), &shuffled, "a test").unwrap();
        assert_eq!(distinct.features, other.features);
        assert_eq!(distinct.weights, other.weights);
        let means = distinct.labels(&labels).unwrap();
        assert_eq!(means, other.labels(&labels.select(&order)).unwrap());

        let thrice: Vec<usize> = (0..9).flat_map(|index| [index; 3]).collect();
        let merged = distinct.features.select(&thrice);
        let merged = DistinctRows::new(&merged, &[1.0; 27], "a test").unwrap();
        assert_eq!(merged.weights, [3.0; 9]);
        assert_eq!(merged.labels(&Labels::values(means.clone()).select(&thrice)).unwrap(), means);
    }

    #[test]
    fn both_zeros_are_one_row_and_a_row_without_weight_is_none() {
        let features = Features::from_rows(&["x"], &[[0.0], [5.0], [-0.0]]).unwrap();
        let distinct = DistinctRows::new(&features, &[1.0, 0.0, 3.0], "a test").unwrap();
        assert_eq!(distinct.weights, [4.0]);
        assert_eq!(distinct.labels(&Labels::values(vec![8.0, 1.0, 0.0])).unwrap(), [2.0]);
    }
}
