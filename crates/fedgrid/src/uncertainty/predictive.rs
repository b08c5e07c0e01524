//! The spread of labels around predictions, from the errors of coefficients:
//!
//! ```text
//! s_i(x)² = σ² + xᵀ C_i x          of numbers; of counts with mean μ:  μ + μ² xᵀ C_i x
//! ```

use serde::{Deserialize, Serialize};

/// How labels spread around what is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Numbers with a normal error of this variance σ².
    Normal(f64),
    /// Counts, whose variance is their mean.
    Counts,
    /// Classes, which have no spread.
    Classes,
}

/// What says how far labels are from predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predictive {
    /// How labels spread around predictions.
    pub response: Response,
    /// How many rows there are beyond the mean coefficients.
    pub degrees_of_freedom: f64,
    /// For each node the covariances C of the errors of its coefficients, features before the intercept, as
    /// the lower triangle; of classes one triangle for each linear predictor.
    pub covariances: Vec<Vec<f64>>,
    /// The same of a node that nothing is known of, around the mean coefficients: how much nodes differ, and a little more.
    /// None where only numbers of known nodes are asked for, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Vec<f64>>,
}

impl Predictive {
    /// The standard deviation of a label around its prediction.
    #[must_use]
    pub fn deviation(&self, node: usize, row: &[f64], prediction: f64) -> f64 {
        self.spread(&self.covariances[node], row, prediction)
    }

    /// The same at a node that nothing is known of; none where that is not known.
    #[must_use]
    pub fn unseen_deviation(&self, row: &[f64], prediction: f64) -> Option<f64> {
        self.unseen.as_ref().map(|covariance| self.spread(covariance, row, prediction))
    }

    fn spread(&self, covariance: &[f64], row: &[f64], prediction: f64) -> f64 {
        let x = |k: usize| row.get(k).copied().unwrap_or(1.0);
        let mut entries = covariance.iter();
        let mut open = 0.0;
        for k in 0..=row.len() {
            // The range first: `zip` then ends without taking the entry on the diagonal.
            let beside: f64 = (0..k).zip(&mut entries).map(|(l, entry)| entry * x(l)).sum();
            let own = entries.next().copied().unwrap_or_default() * x(k);
            open += x(k) * (2.0 * beside + own);
        }
        // Rounding of raw units may leave less than nothing.
        let open = open.max(0.0);
        match self.response {
            Response::Normal(noise) => (noise + open).sqrt(),
            Response::Counts => (prediction + prediction * prediction * open).sqrt(),
            Response::Classes => f64::NAN,
        }
    }
}

/// The lower triangle of a symmetric matrix, row by row.
pub(super) fn triangle(matrix: &[f64]) -> Vec<f64> {
    let size = matrix.len().isqrt();
    matrix.chunks_exact(size.max(1)).enumerate().flat_map(|(k, row)| &row[..=k]).copied().collect()
}

/// The symmetric matrix of a lower triangle.
pub(super) fn full(triangle: &[f64]) -> Vec<f64> {
    // A triangle of n rows has n (n + 1)/2 entries, which lies between n²/2 and (n + 1)²/2.
    let size = (2 * triangle.len()).isqrt();
    let entry = |a: usize, b: usize| triangle[a.max(b) * (a.max(b) + 1) / 2 + a.min(b)];
    (0..size * size).map(|at| entry(at / size, at % size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_noise_and_what_coefficients_leave_open() {
        let full = [4.0, 1.0, -0.5, 1.0, 3.0, 0.2, -0.5, 0.2, 2.0];
        let predictive = |response| Predictive {
            response,
            degrees_of_freedom: 9.0,
            covariances: vec![triangle(&full)],
            unseen: None,
        };
        let x = [0.7, -2.0, 1.0];
        let open: f64 = (0..9).map(|at| full[at] * x[at / 3] * x[at % 3]).sum();
        let deviation = |response| predictive(response).deviation(0, &x[..2], 3.0);
        assert!((deviation(Response::Normal(0.5)).powi(2) - 0.5 - open).abs() < 1e-12);
        assert!((deviation(Response::Counts).powi(2) - 3.0 - 9.0 * open).abs() < 1e-12);
    }
}
