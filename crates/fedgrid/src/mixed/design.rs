//! The columns of a mixed model: an intercept and every feature, centred and scaled.
//!
//! Uncorrelated deviations of slopes and intercepts depend on where zero is; with features centred at
//! the mean of the training rows nothing depends on units or zeros. Constant features determine nothing
//! and are left out; those that are combinations of others have deviations, but no mean of their own.

use super::{Family, NodeMoments, NodeRows};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Scaling},
    error::Result,
};

/// The share of a column's square that must be its own, and not that of the columns before.
// Rounding of a Gram matrix leaves some 1e-15.
const OWN_SHARE: f64 = 1e-9;

/// How columns are made of features and labels.
#[derive(Debug, Clone)]
pub struct Design {
    scaling: Scaling,
    /// The features that are kept.
    kept: Vec<usize>,
    /// The columns that are no combinations of those before them, the intercept first.
    fixed: Vec<usize>,
    features: usize,
    label_mean: f64,
    label_scale: f64,
}

impl Design {
    /// From the training rows of all nodes; labels are scaled only if they are numbers with a normal error.
    pub fn new(rows: &[Dataset], scales_labels: bool) -> Result<Self> {
        let used = || rows.iter().filter(|data| data.rows() > 0);
        let names = rows[0].features().names().clone();
        let values: Vec<f64> =
            used().flat_map(|data| data.features().values().iter().copied()).collect();
        let weights: Vec<f64> = used().flat_map(|data| data.weights().iter().copied()).collect();
        let all = Features::new(names, values)?;
        let scaling = Scaling::weighted(&all, &weights);
        let (kept, fixed) = independent(&scaling, &all, &weights);
        let mut design = Self {
            kept,
            fixed,
            features: all.columns(),
            scaling,
            label_mean: 0.0,
            label_scale: 1.0,
        };
        if scales_labels {
            let total: f64 = weights.iter().sum();
            let labels: Vec<f64> =
                used().flat_map(|data| data.labels().as_slice().iter().copied()).collect();
            let weighted = || labels.iter().zip(&weights);
            let mean = weighted().map(|(y, weight)| y * weight).sum::<f64>() / total;
            let square =
                weighted().map(|(y, weight)| weight * (y - mean).powi(2)).sum::<f64>() / total;
            design.label_mean = mean;
            design.label_scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        }
        Ok(design)
    }

    /// How many columns there are: the intercept first, then the features that were kept.
    #[must_use]
    pub fn columns(&self) -> usize {
        1 + self.kept.len()
    }

    /// The columns that have a mean coefficient: a basis of all.
    #[must_use]
    pub fn fixed(&self) -> &[usize] {
        &self.fixed
    }

    /// The column of a feature; none if it was left out.
    #[must_use]
    pub fn column_of(&self, feature: usize) -> Option<usize> {
        self.kept.iter().position(|kept| *kept == feature).map(|place| place + 1)
    }

    /// The features that were left out.
    pub fn left_out(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.features).filter(|feature| !self.kept.contains(feature))
    }

    /// A row of columns.
    fn row<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let scaled = |&k: &usize| (row[k] - self.scaling.means[k]) / self.scaling.deviations[k];
        std::iter::once(1.0).chain(self.kept.iter().map(scaled))
    }

    /// What the likelihood needs of a node's rows.
    #[must_use]
    pub fn moments(&self, data: &Dataset) -> NodeMoments {
        let columns: Vec<f64> = data.features().iter().flat_map(|row| self.row(row)).collect();
        let labels = data.labels().as_slice().iter().zip(data.weights());
        let rows = columns.chunks_exact(self.columns()).zip(labels);
        NodeMoments::new(
            self.columns(),
            rows.map(|(x, (y, weight))| (x, (y - self.label_mean) / self.label_scale, *weight)),
        )
    }

    /// The rows of a node whose labels are classes or counts.
    #[must_use]
    pub fn rows(&self, data: &Dataset, family: Family) -> NodeRows {
        let columns = data.features().iter().flat_map(|row| self.row(row)).collect();
        let labels = data.labels().as_slice().to_vec();
        NodeRows::new(family, self.columns(), columns, labels, data.weights().to_vec())
    }

    /// The slope of every feature and then the intercept, for raw features and labels.
    #[must_use]
    pub fn to_raw(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut raw = self.map(coefficients);
        raw[self.features] += self.label_mean;
        raw
    }

    /// The linear part of [`Self::to_raw`].
    fn map(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut raw = vec![0.0; self.features + 1];
        raw[self.features] = self.label_scale * coefficients[0];
        for (coefficient, &k) in coefficients[1..].iter().zip(&self.kept) {
            raw[k] = self.label_scale * coefficient / self.scaling.deviations[k];
            raw[self.features] -= raw[k] * self.scaling.means[k];
        }
        raw
    }

    /// The covariance of raw coefficients, in the order of [`Self::to_raw`].
    #[must_use]
    pub fn covariance_to_raw(&self, covariance: &[f64]) -> Vec<f64> {
        let (d, size) = (self.columns(), self.features + 1);
        // J C Jᵀ: first the rows, then the columns.
        let half: Vec<Vec<f64>> = covariance.chunks_exact(d).map(|row| self.map(row)).collect();
        let mut raw = vec![0.0; size * size];
        for column in 0..size {
            let along: Vec<f64> = half.iter().map(|row| row[column]).collect();
            for (row, value) in self.map(&along).into_iter().enumerate() {
                raw[row * size + column] = value;
            }
        }
        raw
    }

    /// The variance of a raw label over that of a scaled one.
    #[must_use]
    pub fn label_variance(&self) -> f64 {
        self.label_scale * self.label_scale
    }

    /// The standard deviation of a raw feature, in which its slope is measured.
    #[must_use]
    pub fn feature_scale(&self, feature: usize) -> f64 {
        self.scaling.deviations[feature]
    }
}

/// The features that are not constant, and the columns among them and the intercept that are no combinations
/// of those before them, by Gram and Schmidt on their squares.
fn independent(scaling: &Scaling, rows: &Features, weights: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let size = rows.columns();
    let mut gram = vec![0.0; size * size];
    for (row, weight) in rows.iter().zip(weights) {
        let scaled: Vec<f64> = scaling.row(row).collect();
        crate::algebra::add_outer(&mut gram, *weight, &scaled);
    }
    let (mut kept, mut basis, mut fixed) = (Vec::new(), Vec::new(), vec![0]);
    // Row k of the triangle of the basis.
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for feature in (0..size).filter(|feature| gram[feature * size + feature] > 0.0) {
        kept.push(feature);
        let mut row: Vec<f64> = basis.iter().map(|&k: &usize| gram[feature * size + k]).collect();
        for k in 0..row.len() {
            let known = dot(&triangle[k][..k], &row[..k]);
            row[k] = (row[k] - known) / triangle[k][k];
        }
        let square = gram[feature * size + feature];
        let own = square - dot(&row, &row);
        if own > OWN_SHARE * square {
            row.push(own.sqrt());
            triangle.push(row);
            basis.push(feature);
            fixed.push(kept.len());
        }
    }
    (kept, fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    fn data() -> Dataset {
        let rows: Vec<[f64; 4]> = (0..12)
            .map(|k| {
                let x = f64::from(k);
                [x, 3.0, 2.0 * x + (x * 1.7).sin(), 5.0 - x]
            })
            .collect();
        let features = Features::from_rows(&["a", "constant", "b", "minus a"], &rows).unwrap();
        Dataset::new(features, Labels::values((0..12).map(|k| f64::from(k * k)).collect())).unwrap()
    }

    #[test]
    fn constants_are_left_out_and_combinations_have_no_mean() {
        let design = Design::new(&[data()], true).unwrap();
        assert_eq!(design.left_out().collect::<Vec<_>>(), [1]);
        assert_eq!((design.columns(), design.column_of(3)), (4, Some(3)));
        assert_eq!(design.fixed(), [0, 1, 2]);
    }

    #[test]
    fn raw_coefficients_predict_what_scaled_ones_do_with_the_same_errors() {
        let data = data();
        let design = Design::new(std::slice::from_ref(&data), true).unwrap();
        let (w, mut covariance) = ([0.3, -1.0, 2.0, 0.5], vec![0.0; 16]);
        for x in [[1.0, 0.4, 0.2, 0.1], [0.1, -1.0, 0.7, 0.2], [0.0, 0.2, 1.0, -0.4]] {
            crate::algebra::add_outer(&mut covariance, 1.0, &x);
        }
        let raw = design.to_raw(&w);
        let raw_covariance = design.covariance_to_raw(&covariance);
        for row in data.features().iter() {
            let scaled: Vec<f64> = design.row(row).collect();
            let extended: Vec<f64> = row.iter().copied().chain([1.0]).collect();
            let prediction = design.label_mean + design.label_scale * dot(&w, &scaled);
            assert!((dot(&raw, &extended) - prediction).abs() < 1e-12);
            let variance = |covariance: &[f64], x: &[f64]| -> f64 {
                covariance.chunks_exact(x.len()).zip(x).map(|(row, x_k)| x_k * dot(row, x)).sum()
            };
            let expected = design.label_variance() * variance(&covariance, &scaled);
            assert!((variance(&raw_covariance, &extended) - expected).abs() < 1e-9 * expected);
        }
    }
}
