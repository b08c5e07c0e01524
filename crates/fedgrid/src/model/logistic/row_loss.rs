//! The cross-entropy of a row as a function of its logits,
//!
//! ```text
//! ℓ(η) = − Σ_c p_c log q_c,   q = softmax(η),      ∇ℓ = q − p,      ∇²ℓ = diag q − q qᵀ = Σ_c q_c (e_c − q)(e_c − q)ᵀ
//! ```

use super::{objective::softmax, probabilities};
use crate::{data::Dataset, model::solver::RowLoss};

/// The cross-entropy of all rows; of two classes, the first has the logit zero.
pub(super) struct CrossEntropy {
    labels: Vec<f64>,
    classes: usize,
}

impl CrossEntropy {
    /// The cross-entropy to the labels of these rows.
    pub(super) fn new(data: &Dataset) -> Self {
        Self { labels: probabilities(data), classes: data.task().outputs() }
    }

    /// The logits of all classes.
    fn logits(&self, outputs: &[f64]) -> Vec<f64> {
        let mut logits = vec![0.0; self.classes - outputs.len()];
        logits.extend_from_slice(outputs);
        logits
    }

    /// The probabilities q and 1 − q of the classes that have an output.
    fn probabilities(&self, outputs: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut q, mut rest) = (vec![0.0; self.classes], vec![0.0; self.classes]);
        softmax(&self.logits(outputs), &mut q, &mut rest);
        let first = self.classes - outputs.len();
        (q.split_off(first), rest.split_off(first))
    }

    fn label(&self, row: usize) -> &[f64] {
        &self.labels[row * self.classes..(row + 1) * self.classes]
    }
}

impl RowLoss for CrossEntropy {
    fn outputs(&self) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    fn value(&self, row: usize, outputs: &[f64]) -> f64 {
        let logits = self.logits(outputs);
        let (mut q, mut rest) = (vec![0.0; self.classes], vec![0.0; self.classes]);
        let log_sum = softmax(&logits, &mut q, &mut rest);
        let largest = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let loss = |(p, logit): (&f64, &f64)| p * (log_sum + (largest - logit));
        self.label(row).iter().zip(&logits).map(loss).sum()
    }

    fn slopes(&self, row: usize, outputs: &[f64], slopes: &mut [f64]) {
        let (q, rest) = self.probabilities(outputs);
        let labels = &self.label(row)[self.classes - outputs.len()..];
        for (slope, (p, (q, rest))) in slopes.iter_mut().zip(labels.iter().zip(q.iter().zip(&rest)))
        {
            // This is q − p without cancellation where both are close to one.
            *slope = q * (1.0 - p) - p * rest;
        }
    }

    fn root(&self, _row: usize, outputs: &[f64]) -> Vec<f64> {
        let (q, rest) = self.probabilities(outputs);
        if outputs.len() == 1 {
            return vec![(q[0] * rest[0]).sqrt()];
        }
        let mut root = Vec::with_capacity(q.len() * q.len());
        for (k, own) in q.iter().enumerate() {
            let entry = |c: usize| own.sqrt() * if c == k { rest[k] } else { -q[c] };
            root.extend((0..q.len()).map(entry));
        }
        root
    }
}
