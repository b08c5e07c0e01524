//! Resampled rows, as weights,
//!
//! ```text
//! counts ~ Multinomial(D; share₁, …, share_G)      weight of part g = counts_g / D
//! D = Σ_g min(1, 100 · weight_g / mean weight)      rounded, at least one
//! ```
//!
//! The G parts are the rows that differ in features or label, in an order of their own: neither the
//! order of the given rows, nor copies in place of weight, nor rows of weight zero change a draw.
//! D is G unless some parts weigh hardly anything, such as public points under a weak pull: these count in
//! proportion to their weight, so that they take no draws from the others.

use crate::{
    model::tree::{Drawn, LabelledParts, Targets},
    random::Stream,
};

/// What is drawn from.
pub(super) struct Bootstrap {
    parts: LabelledParts,
    /// The sums of the weights up to and with each part.
    cumulative: Vec<f64>,
    /// How many draws make a sample.
    draws: usize,
}

impl Bootstrap {
    pub(super) fn new(parts: LabelledParts) -> Self {
        let mut sum = 0.0;
        let add = |weight: &f64| {
            sum += weight;
            sum
        };
        let cumulative = parts.weights.iter().map(add).collect();
        let draws = counted(&parts.weights);
        Self { parts, cumulative, draws }
    }

    /// Whether every row is one part, so that what is drawn does not depend on labels.
    pub(super) fn knows_no_labels(&self, rows: usize) -> bool {
        self.cumulative.len() == rows
    }

    /// Drawn weights of the rows, and their labels where these change with the draw.
    pub(super) fn draw(&self, targets: &Targets, stream: &mut Stream) -> Drawn {
        let counts = self.counts(stream);
        let (width, size) = (self.parts.width, targets.values.len() / targets.width);
        if self.knows_no_labels(size) {
            return (counts.iter().map(|count| count / self.draws as f64).collect(), None);
        }
        let (mut weights, mut values) = (vec![0.0; size], vec![0.0; size * width]);
        let labels = self.parts.labels.chunks_exact(width);
        for ((&row, count), label) in self.parts.rows.iter().zip(&counts).zip(labels) {
            weights[row as usize] += count;
            let sums = &mut values[row as usize * width..][..width];
            sums.iter_mut().zip(label).for_each(|(sum, y)| *sum += count * y);
        }
        for (weight, sums) in weights.iter_mut().zip(values.chunks_exact_mut(width)) {
            if *weight > 0.0 {
                for sum in sums {
                    *sum /= *weight;
                }
            }
            *weight /= self.draws as f64;
        }
        (weights, Some(Targets { width, values }))
    }

    /// How often each part is drawn.
    fn counts(&self, stream: &mut Stream) -> Vec<f64> {
        let size = self.cumulative.len();
        let mut counts = vec![0.0; size];
        for _ in 0..self.draws {
            // Up to the last sum, which rounding may leave beside one.
            let drawn = stream.uniform() * self.cumulative[size - 1];
            let part = self.cumulative.partition_point(|sum| *sum <= drawn);
            counts[part.min(size - 1)] += 1.0;
        }
        counts
    }
}

/// A row counts whole from this share of the mean weight on: rows that stand for many copies of themselves
/// must not take the draws of all others.
const WHOLE_ROW_SHARE: f64 = 0.01;

/// How many rows count: those of hardly any weight in proportion to it, all others whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it lies between one and the number of weights"
)]
fn counted(weights: &[f64]) -> usize {
    let whole = WHOLE_ROW_SHARE * weights.iter().sum::<f64>() / weights.len() as f64;
    let count: f64 = weights.iter().map(|weight| (weight / whole).min(1.0)).sum();
    count.round().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_weight_count_whole_and_those_of_little_weight_do_not() {
        for rows in [1, 2, 7, 50, 1000] {
            for weight in [1.0, 1.0 / rows as f64, 1e-9, 0.1] {
                let mut weights = vec![weight; rows];
                assert_eq!(counted(&weights), rows);
                weights.extend(vec![1e-9 * weight; 500]);
                assert_eq!(counted(&weights), rows);
            }
        }
        assert_eq!(counted(&[1.0, 1.0, 0.5]), 3);
        // Many copies of one row beside a hundred others.
        assert_eq!(counted(&[&[900.0][..], &[1.0; 100]].concat()), 101);
    }
}
