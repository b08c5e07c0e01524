//! Standardising: every column minus its mean, divided by its standard deviation.

use serde::{Deserialize, Serialize};

use super::Features;
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
        let count = rows.rows().max(1) as f64;
        let mean_of = |value: &dyn Fn(&[f64]) -> f64| rows.iter().map(value).sum::<f64>() / count;
        let means: Vec<f64> = (0..rows.columns()).map(|c| mean_of(&|row| row[c])).collect();
        let deviation = |(column, mean): (usize, &f64)| {
            let deviation = mean_of(&|row| (row[column] - mean).powi(2)).sqrt();
            if deviation > 1e-12 * mean.abs() { deviation } else { 1.0 }
        };
        let deviations = means.iter().enumerate().map(deviation).collect();
        Self { means, deviations }
    }

    /// The rows under this scaling.
    pub fn apply(&self, rows: &Features) -> Result<Features> {
        let scaled = |row: &[f64]| -> Vec<f64> {
            (0..row.len()).map(|c| (row[c] - self.means[c]) / self.deviations[c]).collect()
        };
        Features::new(rows.names().clone(), rows.iter().flat_map(scaled).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_rows_have_mean_zero_and_variance_one_and_constants_become_zero() {
        let rows = Features::from_rows(&["a", "b"], &[[1.0, 5.0], [3.0, 5.0]]).unwrap();
        let scaled = Scaling::of(&rows).apply(&rows).unwrap();
        assert_eq!(scaled.values(), [-1.0, 0.0, 1.0, 0.0]);
    }
}
