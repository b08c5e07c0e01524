//! Resampled rows, as weights,
//!
//! ```text
//! counts ~ Multinomial(G; share₁, …, share_G)      weight of part g = counts_g / G
//! ```
//!
//! The G parts are the rows that differ in features or label, in an order of their own: neither the
//! order of the given rows, nor copies in place of weight, nor rows of weight zero change a draw.

use crate::{
    model::tree::{Parts, Targets},
    random::Stream,
};

/// What is drawn from.
pub(super) struct Bootstrap {
    parts: Parts,
    /// The sums of the weights up to and with each part.
    cumulative: Vec<f64>,
}

impl Bootstrap {
    pub(super) fn new(parts: Parts) -> Self {
        let mut sum = 0.0;
        let add = |weight: &f64| {
            sum += weight;
            sum
        };
        let cumulative = parts.weights.iter().map(add).collect();
        Self { parts, cumulative }
    }

    /// Drawn weights of the rows, and their labels where these change with the draw.
    pub(super) fn draw(
        &self,
        targets: &Targets,
        stream: &mut Stream,
    ) -> (Vec<f64>, Option<Targets>) {
        let counts = self.counts(stream);
        let (width, size) = (self.parts.width, targets.values.len() / targets.width);
        if size == counts.len() {
            return (counts.iter().map(|count| count / size as f64).collect(), None);
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
            *weight /= counts.len() as f64;
        }
        (weights, Some(Targets { width, values }))
    }

    /// How often each part is drawn.
    fn counts(&self, stream: &mut Stream) -> Vec<f64> {
        let size = self.cumulative.len();
        let mut counts = vec![0.0; size];
        for _ in 0..size {
            let drawn = stream.uniform() * self.cumulative[size - 1];
            let part = self.cumulative.partition_point(|sum| *sum <= drawn);
            counts[part.min(size - 1)] += 1.0;
        }
        counts
    }
}
