//! What the likelihood needs to know of a node's rows.

use crate::algebra::{add_outer, add_scaled, dot, triangularise};

/// The rows of a node, compressed: as many rows as columns say the same.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMoments {
    /// How many rows there were, or how many they stand for.
    pub(super) count: f64,
    /// Rows of the features and the label, in each the square root of the row's weight times.
    compressed: Vec<f64>,
    /// `XᵀX`, d × d.
    pub(super) gram: Vec<f64>,
    /// `Xᵀy`.
    pub(super) cross: Vec<f64>,
    /// `yᵀy`.
    pub(super) label_squares: f64,
}

impl NodeMoments {
    /// Of rows of `columns` features each, with their labels and weights.
    #[must_use]
    pub fn new<'a>(columns: usize, rows: impl Iterator<Item = (&'a [f64], f64, f64)>) -> Self {
        let (mut matrix, mut labels, mut count) = (Vec::new(), Vec::new(), 0);
        // Rows without weight must not count among those that determine the noise.
        for (features, label, weight) in rows.filter(|(_, _, weight)| *weight > 0.0) {
            let root = weight.sqrt();
            matrix.extend(features.iter().map(|x| root * x));
            labels.push(root * label);
            count += 1;
        }
        let (mut gram, mut cross) = (vec![0.0; columns * columns], vec![0.0; columns]);
        for (row, label) in matrix.chunks_exact(columns).zip(&labels) {
            add_outer(&mut gram, 1.0, row);
            add_scaled(&mut cross, *label, row);
        }
        let width = columns + 1;
        let mut compressed: Vec<f64> = matrix
            .chunks_exact(columns)
            .zip(&labels)
            .flat_map(|(row, label)| row.iter().copied().chain([*label]))
            .collect();
        // A triangle has the same squared residuals for any weights, at a cost that no longer grows with rows.
        if count > width {
            triangularise(&mut compressed, width, &mut vec![0.0; count]);
        }
        let label_squares = compressed.chunks_exact(width).map(|row| row[columns].powi(2)).sum();
        Self { count: count as f64, compressed, gram, cross, label_squares }
    }

    /// The same of rows that stand for so many.
    pub(super) fn counting(self, count: f64) -> Self {
        Self { count, ..self }
    }

    /// The rows that stand for all, each with its label.
    pub(super) fn rows(&self) -> &[f64] {
        &self.compressed
    }

    /// An entry of `XᵀX`.
    pub(crate) fn gram_entry(&self, at: usize) -> f64 {
        self.gram[at]
    }

    /// `XᵀX` and `Xᵀy` of some columns, as a symmetric matrix with the label as the last column; there `yᵀy` is left
    /// out.
    pub(crate) fn corner(&self, columns: &[usize]) -> Vec<f64> {
        let d = self.cross.len();
        let mut corner = Vec::with_capacity((columns.len() + 1).pow(2));
        for &row in columns {
            corner.extend(columns.iter().map(|column| self.gram[row * d + column]));
            corner.push(self.cross[row]);
        }
        corner.extend(columns.iter().map(|&column| self.cross[column]).chain([0.0]));
        corner
    }

    /// The sum of squared residuals of weights.
    pub(super) fn squared_residuals(&self, weights: &[f64]) -> f64 {
        let width = weights.len() + 1;
        let residual = |row: &[f64]| dot(&row[..width - 1], weights) - row[width - 1];
        self.compressed.chunks_exact(width).map(|row| residual(row).powi(2)).sum()
    }

    /// `Xᵀ(y − X w)`.
    pub(super) fn cross_residuals(&self, weights: &[f64]) -> Vec<f64> {
        let columns = weights.len();
        (0..columns)
            .map(|k| self.cross[k] - dot(&self.gram[k * columns..(k + 1) * columns], weights))
            .collect()
    }
}
