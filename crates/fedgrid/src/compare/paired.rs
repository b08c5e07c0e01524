//! Two methods on the same rows of a node, and parts of the variance of their difference,
//!
//! ```text
//! V = Σ V_p,    1/ν = Σ (V_p / V)² / ν_p
//! ```
//!
//! [Satterthwaite, "An approximate distribution of estimates of variance components", 1946.]

use super::NodeEvidence;

/// One part of the variance of a sum, and the degrees of freedom that it was estimated with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) variance: f64,
    pub(super) degrees: f64,
}

impl Part {
    /// The sum of independent parts; its degrees of freedom by Satterthwaite.
    pub(super) fn sum(parts: &[Self]) -> Self {
        let variance: f64 = parts.iter().map(|part| part.variance).sum();
        let spread: f64 = parts.iter().map(|part| part.variance.powi(2) / part.degrees).sum();
        let degrees = if spread > 0.0 { variance.powi(2) / spread } else { 1.0 };
        Self { variance, degrees }
    }
}

/// Two methods at one node.
#[derive(Debug)]
pub(super) struct PairedNode {
    /// How many rows each batch has, or stands for.
    pub(super) rows: Vec<f64>,
    /// The first's summed loss of each batch less the second's.
    pub(super) gains: Vec<f64>,
    /// The mean residuals of each batch, the mean of both methods; one for every output.
    pub(super) residuals: Vec<f64>,
    /// How much a unit of every label of a batch takes from the second's loss, and not from the first's.
    pub(super) tilts: Vec<f64>,
}

impl PairedNode {
    pub(super) fn new(first: &NodeEvidence, second: &NodeEvidence) -> Self {
        let rows = first.row_counts();
        let pairs = |a: &[f64], b: &[f64], of: &dyn Fn(usize, f64, f64) -> f64| -> Vec<f64> {
            a.iter().zip(b).enumerate().map(|(k, (a, b))| of(k, *a, *b)).collect()
        };
        let outputs = first.residuals.len() / rows.len().max(1);
        let half =
            |k: usize, a: f64, b: f64| 0.5 * (a + b) / rows[k / outputs].max(f64::MIN_POSITIVE);
        Self {
            gains: pairs(&first.losses, &second.losses, &|_, a, b| a - b),
            residuals: pairs(&first.residuals, &second.residuals, &half),
            tilts: pairs(&first.tilts, &second.tilts, &|_, a, b| b - a),
            rows,
        }
    }

    /// What the second gains on the first in all rows.
    pub(super) fn gain(&self) -> f64 {
        self.gains.iter().sum()
    }

    /// How many rows there are.
    pub(super) fn row_count(&self) -> f64 {
        self.rows.iter().sum()
    }

    /// The variance of the gain by the batches of this node, at least two.
    pub(super) fn variance(&self) -> f64 {
        let (count, mean) = (self.rows.len() as f64, self.gain() / self.row_count());
        let square = |(gain, rows): (&f64, &f64)| (gain - rows * mean).powi(2);
        count / (count - 1.0) * self.gains.iter().zip(&self.rows).map(square).sum::<f64>()
    }
}
