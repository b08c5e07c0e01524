//! The rows of a fit, column by column, and the order of each column,
//!
//! ```text
//! rows sorted by (x₁, x₂, …, y, weight);   each column sorted by (x_j, row)
//! ```
//!
//! so that every sum is formed in an order that does not depend on the order of the given rows.

use std::cmp::Ordering;

use crate::data::Dataset;

/// Rows of positive weight in a fixed order; the weights have the sum one.
pub(super) struct Rows {
    /// How many rows there are.
    pub(super) count: usize,
    /// The features, column by column.
    pub(super) columns: Vec<Vec<f64>>,
    /// The labels, row by row.
    pub(super) labels: Vec<f64>,
    /// How many numbers the label of a row has.
    pub(super) outputs: usize,
    /// The weights.
    pub(super) weights: Vec<f64>,
}

impl Rows {
    /// Sorts the rows of positive weight.
    pub(super) fn new(data: &Dataset) -> Self {
        let kept: Vec<usize> = (0..data.rows()).filter(|&row| data.weights()[row] > 0.0).collect();
        let mut keyed: Vec<(i64, usize)> =
            kept.iter().map(|&row| (key(data.features().row(row)[0]), row)).collect();
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(data, a.1, b.1)));
        let order: Vec<usize> = keyed.into_iter().map(|(_, row)| row).collect();
        let total: f64 = order.iter().map(|&row| data.weights()[row]).sum();
        let column = |column: usize| {
            order.iter().map(|&row| unsigned_zero(data.features().row(row)[column])).collect()
        };
        Self {
            count: order.len(),
            columns: (0..data.features().columns()).map(column).collect(),
            labels: order.iter().flat_map(|&row| data.labels().row(row)).copied().collect(),
            outputs: data.task().outputs(),
            weights: order.iter().map(|&row| data.weights()[row] / total).collect(),
        }
    }

    /// The rows in the order of each column, equal values in the order of the rows.
    pub(super) fn orders(&self) -> Vec<Vec<u32>> {
        let count = u32::try_from(self.count).expect("a node has fewer than 2³² rows");
        let sorted = |column: &Vec<f64>| {
            let mut keyed: Vec<(i64, u32)> = column.iter().map(|x| key(*x)).zip(0..count).collect();
            keyed.sort_unstable();
            keyed.into_iter().map(|(_, row)| row).collect()
        };
        // The rows themselves are sorted by the first column.
        let first = std::iter::once((0..count).collect());
        first.chain(self.columns.iter().skip(1).map(sorted)).collect()
    }

    /// The label of one row.
    pub(super) fn label(&self, row: usize) -> &[f64] {
        &self.labels[row * self.outputs..(row + 1) * self.outputs]
    }
}

/// An integer in the order of the numbers; both zeros have the same.
fn key(x: f64) -> i64 {
    let bits = unsigned_zero(x).to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Adding zero makes minus zero zero and changes nothing else.
fn unsigned_zero(x: f64) -> f64 {
    x + 0.0
}

/// The order of two rows by all their numbers; rows that are equal here are interchangeable.
fn compare(data: &Dataset, a: usize, b: usize) -> Ordering {
    let numbers = |row: usize| {
        let rest = data.labels().row(row).iter().chain(&data.weights()[row..=row]);
        data.features().row(row).iter().chain(rest).map(|x| key(*x))
    };
    numbers(a).cmp(numbers(b))
}
