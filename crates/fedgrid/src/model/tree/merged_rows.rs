//! The rows of a fit, column by column, and the order of each column,
//!
//! ```text
//! rows sorted by (x₁, x₂, …), equal ones merged;   each column sorted by (x_j, row)
//! ```
//!
//! so that every sum is formed in an order that does not depend on the order of the given rows.
//! Rows of equal features always end in the same leaf: only their weight and mean label count.
//! Nothing here depends on labels, so one preparation serves every fit to the same rows.

use super::sort::{Sorter, compare, key, unsigned_zero};
use crate::data::{Features, Labels, Task};

/// Two class probabilities may miss the sum one by so much and still be described by the second.
const SUM_TOLERANCE: f64 = 1e-12;

/// The different rows of positive weight in a fixed order.
#[derive(Debug)]
pub(crate) struct MergedRows {
    /// How many different rows there are.
    pub(crate) count: usize,
    /// How many columns there are.
    pub(crate) columns: usize,
    /// The features, column by column.
    values: Vec<f64>,
    /// The rows in the order of each column, column by column.
    orders: Vec<u32>,
    /// The weight of each row; the sum is one.
    pub(crate) weights: Vec<f64>,
    /// The given rows of positive weight that became each row, one list after the other.
    sources: Vec<u32>,
    /// The weights of the sources; the sum is one.
    shares: Vec<f64>,
    /// Where the sources of each row begin, and the end of all.
    starts: Vec<u32>,
}

/// The labels of the rows of a fit, with as few numbers as describe them.
pub(crate) struct Targets {
    /// How many numbers describe the label of a row.
    pub(crate) width: usize,
    /// These numbers, row by row.
    pub(crate) values: Vec<f64>,
}

/// The given rows with those merged that are equal in features and label.
pub(crate) struct LabelledParts {
    /// How many numbers describe a label.
    pub(crate) width: usize,
    /// The row that each is a part of, in ascending order.
    pub(crate) rows: Vec<u32>,
    /// The weight of each; the sum is one.
    pub(crate) weights: Vec<f64>,
    /// The label of each.
    pub(crate) labels: Vec<f64>,
}

impl MergedRows {
    /// Sorts and merges the rows of positive weight; there is one.
    pub(crate) fn new(features: &Features, weights: &[f64]) -> Self {
        let columns = features.columns();
        let mut sorter = Sorter::default();
        let sources = sorted_rows(features, weights, &mut sorter);
        let (kept, starts) = distinct(features, &sources);
        let total: f64 = sources.iter().map(|&row| weights[row as usize]).sum();
        let shares: Vec<f64> = sources.iter().map(|&row| weights[row as usize] / total).collect();
        let weight = |ends: &[u32]| shares[ends[0] as usize..ends[1] as usize].iter().sum();
        let weights = starts.windows(2).map(weight).collect();
        let values = transposed(features, &kept);
        let count = kept.len();
        // The rows themselves are sorted by the first column.
        let mut orders = Vec::with_capacity(count * columns);
        orders.extend(0..u32::try_from(count).expect("a node has fewer than 2³² rows"));
        for column in values.chunks_exact(count).skip(1) {
            sorter.sort(column.iter().copied(), &mut orders);
        }
        Self { count, columns, values, orders, weights, sources, shares, starts }
    }

    /// One column of features.
    pub(crate) fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.count..][..self.count]
    }

    /// The rows in the order of each column, column by column.
    pub(crate) fn orders(&self) -> &[u32] {
        &self.orders
    }

    /// Tells of every given row of positive weight which row it has become.
    pub(crate) fn each_source(&self, mut tell: impl FnMut(usize, usize)) {
        for (row, ends) in self.starts.windows(2).enumerate() {
            let sources = &self.sources[ends[0] as usize..ends[1] as usize];
            for &source in sources {
                tell(row, source as usize);
            }
        }
    }

    /// The mean label of every row.
    pub(crate) fn targets(&self, labels: &Labels) -> Targets {
        let numbers = Numbers::of(labels);
        let mut values = Vec::with_capacity(self.count * numbers.width);
        // No two rows are alike: labels are taken as they are, bit for bit.
        if self.sources.len() == self.count {
            self.sources.iter().for_each(|&row| values.extend_from_slice(numbers.row(row)));
            return Targets { width: numbers.width, values };
        }
        for row in 0..self.count {
            let sources = self.sorted_sources(row, &numbers);
            let total: f64 = sources.iter().map(|(_, share)| share).sum();
            // Differences to one label keep their digits where all labels are large.
            let first = numbers.row(sources[0].0);
            for (k, first) in first.iter().enumerate() {
                let term = |(row, share): &(u32, f64)| share * (numbers.row(*row)[k] - first);
                values.push(first + sources.iter().map(term).sum::<f64>() / total);
            }
        }
        Targets { width: numbers.width, values }
    }

    /// The different rows of different labels, in a fixed order.
    pub(crate) fn parts(&self, labels: &Labels) -> LabelledParts {
        let numbers = Numbers::of(labels);
        // No two rows are alike, so that each is a part.
        if self.sources.len() == self.count {
            let (width, weights) = (numbers.width, self.shares.clone());
            let labels = self.sources.iter().flat_map(|&row| numbers.row(row)).copied().collect();
            let rows = (0_u32..).take(self.count).collect();
            return LabelledParts { width, rows, weights, labels };
        }
        let mut parts = LabelledParts {
            width: numbers.width,
            rows: Vec::new(),
            weights: Vec::new(),
            labels: Vec::new(),
        };
        for (row, index) in (0..self.count).zip(0_u32..) {
            let sources = self.sorted_sources(row, &numbers);
            let same = |a: &(u32, f64), b: &(u32, f64)| {
                compare(numbers.row(a.0), numbers.row(b.0)).is_eq()
            };
            for run in sources.chunk_by(same) {
                parts.rows.push(index);
                parts.weights.push(run.iter().map(|(_, share)| share).sum());
                parts.labels.extend_from_slice(numbers.row(run[0].0));
            }
        }
        parts
    }

    /// The sources of a row with their weights, by label and weight: in an order of their own.
    fn sorted_sources(&self, row: usize, numbers: &Numbers) -> Vec<(u32, f64)> {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        let shares = self.shares[range.clone()].iter().copied();
        let mut sources: Vec<(u32, f64)> =
            self.sources[range].iter().copied().zip(shares).collect();
        sources.sort_by(|a, b| {
            compare(numbers.row(a.0), numbers.row(b.0)).then(compare(&[a.1], &[b.1]))
        });
        sources
    }
}

/// Labels as the numbers that describe them: two probabilities of sum one by the second.
struct Numbers<'a> {
    values: &'a [f64],
    outputs: usize,
    first: usize,
    width: usize,
}

impl<'a> Numbers<'a> {
    fn of(labels: &'a Labels) -> Self {
        let (values, outputs) = (labels.as_slice(), labels.task().outputs());
        let sums_to_one = |pair: &[f64]| (pair[0] + pair[1] - 1.0).abs() <= SUM_TOLERANCE;
        let two = labels.task() == Task::Classification { classes: 2 };
        let first = usize::from(two && values.chunks_exact(2).all(sums_to_one));
        Self { values, outputs, first, width: outputs - first }
    }

    fn row(&self, row: u32) -> &'a [f64] {
        &self.values[row as usize * self.outputs + self.first..][..self.width]
    }
}

/// The rows of positive weight, by all features and weight.
fn sorted_rows(features: &Features, weights: &[f64], sorter: &mut Sorter) -> Vec<u32> {
    let given = 0..u32::try_from(features.rows()).expect("a node has fewer than 2³² rows");
    let kept: Vec<u32> = given.filter(|&row| weights[row as usize] > 0.0).collect();
    let first = |row: &u32| features.row(*row as usize)[0];
    // Few rows share their first feature, so few are compared as a whole.
    let mut order = Vec::with_capacity(kept.len());
    sorter.sort(kept.iter().map(first), &mut order);
    let mut rows: Vec<u32> = order.into_iter().map(|index| kept[index as usize]).collect();
    let same_first = |a: &u32, b: &u32| key(first(a)) == key(first(b));
    for run in rows.chunk_by_mut(same_first).filter(|run| run.len() > 1) {
        run.sort_unstable_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            compare(features.row(a), features.row(b))
                .then_with(|| compare(&weights[a..=a], &weights[b..=b]))
        });
    }
    rows
}

/// The first of each run of equal rows, where each run begins, and the end of all.
fn distinct(features: &Features, rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut kept, mut starts, mut begin) = (Vec::with_capacity(rows.len()), vec![0], 0);
    let row = |row: &u32| features.row(*row as usize);
    for run in rows.chunk_by(|a, b| row(a) == row(b)) {
        kept.push(run[0]);
        begin += u32::try_from(run.len()).expect("a node has fewer than 2³² rows");
        starts.push(begin);
    }
    (kept, starts)
}

/// The given rows column by column, without minus zeros.
fn transposed(features: &Features, rows: &[u32]) -> Vec<f64> {
    // A few columns at a time, so that what is read and written stays close.
    const COLUMNS_TOGETHER: usize = 8;
    let (count, columns) = (rows.len(), features.columns());
    let mut values = vec![0.0; count * columns];
    for first in (0..columns).step_by(COLUMNS_TOGETHER) {
        let last = columns.min(first + COLUMNS_TOGETHER);
        for (index, &row) in rows.iter().enumerate() {
            for (column, x) in features.row(row as usize)[first..last].iter().enumerate() {
                values[(first + column) * count + index] = unsigned_zero(*x);
            }
        }
    }
    values
}
