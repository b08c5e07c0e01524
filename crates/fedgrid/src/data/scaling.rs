//! Standardising: every column minus its mean, divided by its standard deviation.

use serde::{Deserialize, Serialize};

use super::{Dataset, Features};
use crate::error::Result;

/// The means and standard deviations of columns, learnt once and applied to all rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The mean of each column.
    pub means: Vec<f64>,
    /// The standard deviation of each column; one for a constant column, which only moves to zero.
    pub deviations: Vec<f64>,
}

impl Scaling {
    /// The scaling under which the given rows have mean zero and variance one.
    #[must_use]
    pub fn of(rows: &Features) -> Self {
        Self::of_parts(std::iter::once(rows))
    }

    /// The scaling under which the rows of all parts have mean zero and variance one.
    #[must_use]
    pub fn of_parts<'a>(parts: impl Iterator<Item = &'a Features> + Clone) -> Self {
        Self::about_means(parts.map(|features| (features, None)))
    }

    /// The same, each row counting for as many as it stands for.
    #[must_use]
    pub fn of_counted<'a>(parts: impl Iterator<Item = &'a Dataset> + Clone) -> Self {
        Self::about_means(parts.map(|data| (data.features(), data.counts())))
    }

    fn about_means<'a>(parts: impl Iterator<Item = CountedRows<'a>> + Clone) -> Self {
        let means = means(parts.clone(), |_, x| x);
        let squares = self::means(parts, |column, x| (x - means[column]).powi(2));
        let deviation = |(square, mean): (&f64, &f64)| {
            // Less is the rounding of the mean, which would be blown up to variance one.
            if square.sqrt() > 1e-12 * mean.abs() { square.sqrt() } else { 1.0 }
        };
        let deviations = squares.iter().zip(&means).map(deviation).collect();
        Self { means, deviations }
    }

    /// The scaling that leaves zero where it is, under which the rows of all parts have mean square one, each
    /// counting for as many as it stands for.
    #[must_use]
    pub fn about_zero<'a>(parts: impl Iterator<Item = &'a Dataset> + Clone) -> Self {
        // A column of zeros stays one, in any unit.
        let size = |square: f64| if square > 0.0 { square.sqrt() } else { 1.0 };
        let parts = parts.map(|data| (data.features(), data.counts()));
        let deviations: Vec<f64> = means(parts, |_, x| x * x).into_iter().map(size).collect();
        Self { means: vec![0.0; deviations.len()], deviations }
    }

    /// The scaling under which weighted rows have mean zero and variance one; rows of weight zero do
    /// not matter, and a column of one value keeps exactly that as its mean.
    #[must_use]
    pub fn weighted(rows: &Features, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let kept: Vec<(&[f64], f64)> = rows
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(row, weight)| (row, weight / total))
            .collect();
        let mut scaling = Self::identity(rows.columns());
        for column in 0..rows.columns() {
            let values = || kept.iter().map(|(row, share)| (row[column], *share));
            let low = values().fold(f64::INFINITY, |low, (x, _)| low.min(x));
            let high = values().fold(f64::NEG_INFINITY, |high, (x, _)| high.max(x));
            if low >= high {
                // One value only: rounding must not make a deviation of it.
                scaling.means[column] = low;
                continue;
            }
            // Rounding must not carry the mean out of the range of its values.
            let mean = values().map(|(x, share)| share * x).sum::<f64>().max(low).min(high);
            let variance: f64 = values().map(|(x, share)| share * (x - mean).powi(2)).sum();
            scaling.means[column] = mean;
            if variance.sqrt() > 1e-12 * mean.abs() {
                scaling.deviations[column] = variance.sqrt();
            }
        }
        scaling
    }

    /// The scaling that changes nothing.
    #[must_use]
    pub fn identity(columns: usize) -> Self {
        Self { means: vec![0.0; columns], deviations: vec![1.0; columns] }
    }

    /// One row under this scaling.
    pub fn row<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let scales = self.means.iter().zip(&self.deviations);
        row.iter().zip(scales).map(|(x, (mean, deviation))| (x - mean) / deviation)
    }

    /// The rows under this scaling.
    pub fn apply(&self, rows: &Features) -> Result<Features> {
        let scaled = |row: &[f64]| -> Vec<f64> {
            (0..row.len()).map(|c| (row[c] - self.means[c]) / self.deviations[c]).collect()
        };
        Features::new(rows.names().clone(), rows.iter().flat_map(scaled).collect())
    }
}

/// Rows, and how many each one stands for.
type CountedRows<'a> = (&'a Features, Option<&'a [f64]>);

/// The mean of something of every number, column by column.
fn means<'a>(
    parts: impl Iterator<Item = CountedRows<'a>> + Clone,
    of: impl Fn(usize, f64) -> f64,
) -> Vec<f64> {
    let count = |(features, counts): CountedRows<'a>| {
        counts.map_or(features.rows() as f64, |counts| counts.iter().sum())
    };
    let total = parts.clone().map(count).sum::<f64>();
    let total = if total > 0.0 { total } else { 1.0 };
    let columns = parts.clone().next().map_or(0, |(features, _)| features.columns());
    let mut sums = vec![0.0; columns];
    for (features, counts) in parts {
        for (place, row) in features.iter().enumerate() {
            let count = counts.map_or(1.0, |counts| counts[place]);
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += count * of(column, row[column]);
            }
        }
    }
    sums.into_iter().map(|sum| sum / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    #[test]
    fn scaled_rows_have_mean_zero_and_variance_one_and_constants_become_zero() {
        let rows = Features::from_rows(&["a", "b"], &[[1.0, 5.0], [3.0, 5.0]]).unwrap();
        let scaled = Scaling::of(&rows).apply(&rows).unwrap();
        assert_eq!(scaled.values(), [-1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn rows_scaled_about_zero_keep_it_and_have_mean_square_one() {
        let rows = Features::from_rows(&["a", "b"], &[[3.0, 0.0], [4.0, 0.0]]).unwrap();
        let data = Dataset::new(rows, Labels::values(vec![0.0; 2])).unwrap();
        let scaling = Scaling::about_zero(std::iter::once(&data));
        assert_eq!(
            (scaling.means, scaling.deviations),
            (vec![0.0, 0.0], vec![12.5_f64.sqrt(), 1.0])
        );
    }

    #[test]
    fn a_weighted_scaling_counts_a_row_of_weight_two_twice_and_one_of_weight_zero_never() {
        let features = |rows: &[[f64; 2]]| Features::from_rows(&["a", "b"], rows).unwrap();
        let few = features(&[[1.0, 0.1], [4.0, 0.1], [99.0, 7.0]]);
        let many = features(&[[1.0, 0.1], [1.0, 0.1], [4.0, 0.1]]);
        let (weighted, plain) = (Scaling::weighted(&few, &[2.0, 1.0, 0.0]), Scaling::of(&many));
        assert!((weighted.means[0] - plain.means[0]).abs() < 1e-15);
        assert!((weighted.deviations[0] - plain.deviations[0]).abs() < 1e-15);
        assert_eq!((weighted.means[1], weighted.deviations[1]), (0.1, 1.0));
        let labels = Labels::values(vec![0.0; 3]);
        let counted = Dataset::counted(few, labels, vec![2.0, 1.0, 0.0]).unwrap();
        let counted = Scaling::of_counted(std::iter::once(&counted));
        assert!((counted.means[0] - plain.means[0]).abs() < 1e-15);
        assert!((counted.deviations[0] - plain.deviations[0]).abs() < 1e-15);
    }
}
