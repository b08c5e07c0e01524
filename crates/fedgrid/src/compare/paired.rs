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

/// Two methods at one node, in sums over its rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairedNode {
    /// How many rows there are, or what they stand for.
    pub(super) rows: f64,
    /// In how many batches.
    pub(super) batches: usize,
    /// What the second gains on the first in all rows.
    pub(super) gain: f64,
    /// The variance of the gain by the batches; zero of a single one.
    pub(super) variance: f64,
    /// The mean residuals of batches, the mean of both methods, summed over batches; one for every output.
    pub(super) residuals: Vec<f64>,
    /// The outer products of these with themselves, summed over batches.
    pub(super) squares: Vec<f64>,
    /// How much a unit of every label takes from the second's loss, and not from the first's.
    pub(super) tilts: Vec<f64>,
}

/// The batches that sums of a pair are made of.
#[derive(Debug)]
pub(super) struct PairedBatches {
    /// How many rows each has, or stands for.
    pub(super) rows: Vec<f64>,
    /// The first's summed loss of each less the second's.
    pub(super) gains: Vec<f64>,
    /// The mean residuals of each, the mean of both methods; one for every output.
    pub(super) residuals: Vec<f64>,
    /// How much a unit of every label of each takes from the second's loss, and not from the first's.
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
        Self::of_batches(&PairedBatches {
            gains: pairs(&first.losses, &second.losses, &|_, a, b| a - b),
            residuals: pairs(&first.residuals, &second.residuals, &half),
            tilts: pairs(&first.tilts, &second.tilts, &|_, a, b| b - a),
            rows,
        })
    }

    /// The sums over some batches.
    pub(super) fn of_batches(batches: &PairedBatches) -> Self {
        let PairedBatches { rows: counts, gains, residuals, tilts } = batches;
        let outputs = residuals.len() / counts.len().max(1);
        let summed = |values: &[f64]| {
            let mut sums = vec![0.0; outputs];
            for batch in values.chunks_exact(outputs.max(1)) {
                sums.iter_mut().zip(batch).for_each(|(sum, value)| *sum += value);
            }
            sums
        };
        let mut squares = vec![0.0; outputs * outputs];
        for own in residuals.chunks_exact(outputs.max(1)) {
            add_product(&mut squares, 1.0, own, own);
        }
        let (rows, gain) = (counts.iter().sum::<f64>(), gains.iter().sum::<f64>());
        Self {
            rows,
            batches: counts.len(),
            gain,
            variance: variance(gains, counts, gain / rows),
            residuals: summed(residuals),
            squares,
            tilts: summed(tilts),
        }
    }

    /// The two methods the other way round.
    pub(super) fn turned(mut self) -> Self {
        self.gain = -self.gain;
        self.tilts.iter_mut().for_each(|tilt| *tilt = -*tilt);
        self
    }
}

/// The variance of a summed gain by its batches, with the mean gain of a row.
fn variance(gains: &[f64], rows: &[f64], mean: f64) -> f64 {
    if rows.len() < 2 {
        return 0.0;
    }
    let square = |(gain, rows): (&f64, &f64)| (gain - rows * mean).powi(2);
    let count = rows.len() as f64;
    count / (count - 1.0) * gains.iter().zip(rows).map(square).sum::<f64>()
}

/// Adds a multiple of the outer product of two vectors.
pub(super) fn add_product(sums: &mut [f64], factor: f64, a: &[f64], b: &[f64]) {
    for (row, a) in sums.chunks_exact_mut(b.len().max(1)).zip(a) {
        row.iter_mut().zip(b).for_each(|(sum, b)| *sum += factor * a * b);
    }
}
