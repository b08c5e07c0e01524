//! Rows in the order of their distance from one,
//!
//! ```text
//! d(x, z)² = Σ_k ((x_k − z_k) / deviation_k)²      ties by the place of z
//! ```
//!
//! Differences are scaled, not rows, so that rows at one distance on both sides are seen to be.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use crate::algebra::{SimdTask, simd};

/// A row with its squared distance: as one number, because rows are sorted by both, and single numbers are sorted
/// without a branch to mispredict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u128);

#[expect(clippy::cast_possible_truncation, reason = "each half is one of the two numbers")]
impl Near {
    fn new(squared_distance: f64, place: usize) -> Self {
        // The bits of numbers that are not negative have the order of the numbers.
        Self((u128::from(squared_distance.to_bits()) << 64) | place as u128)
    }

    pub(super) fn squared_distance(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    pub(super) fn place(self) -> usize {
        self.0 as u64 as usize
    }
}

/// Rows, one of which at a time is asked who is near.
#[derive(Debug)]
pub(super) struct DistanceOrder {
    /// The rows, column by column.
    columns: Vec<f64>,
    /// One over the deviation of each column.
    scales: Vec<f64>,
    squared_distances: Vec<f64>,
    order: Vec<Near>,
}

impl DistanceOrder {
    /// Rows that are given one after the other.
    pub(super) fn new(rows: &[f64], deviations: &[f64]) -> Self {
        let width = deviations.len().max(1);
        let column = |column: usize| rows.iter().skip(column).step_by(width).copied();
        Self {
            columns: (0..deviations.len()).flat_map(column).collect(),
            scales: deviations.iter().map(|deviation| 1.0 / deviation).collect(),
            squared_distances: vec![0.0; rows.len() / width],
            order: Vec::new(),
        }
    }

    /// Looks how far all rows are from one.
    pub(super) fn look_from(&mut self, x: &[f64]) {
        let Self { columns, scales, squared_distances, order } = self;
        simd::dispatch(SquaredDistances { x, columns, scales, to: squared_distances });
        order.clear();
        let all = squared_distances.iter().enumerate();
        order.extend(all.map(|(place, squared)| Near::new(*squared, place)));
    }

    /// So many of the nearest rows, from near to far, or all.
    pub(super) fn nearest(&mut self, count: usize) -> &[Near] {
        if count < self.order.len() {
            self.order.select_nth_unstable(count - 1);
        }
        let count = count.min(self.order.len());
        let nearest = &mut self.order[..count];
        nearest.sort_unstable();
        nearest
    }
}

struct SquaredDistances<'a> {
    x: &'a [f64],
    columns: &'a [f64],
    scales: &'a [f64],
    to: &'a mut [f64],
}

impl SimdTask for SquaredDistances<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { x, columns, scales, to } = self;
        to.fill(0.0);
        for ((x, scale), column) in x.iter().zip(scales).zip(columns.chunks_exact(to.len().max(1)))
        {
            for (sum, z) in to.iter_mut().zip(column) {
                let difference = (x - z) * scale;
                *sum += difference * difference;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_nearest_rows_are_those_of_a_whole_sort_with_ties_by_place() {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        // Few values, so that many rows are at one distance.
        let rows: Vec<f64> = (0..2 * 90).map(|_| stream.index(5) as f64).collect();
        let deviations = [2.0, 0.3];
        let mut order = DistanceOrder::new(&rows, &deviations);
        for x in rows.chunks_exact(2).take(20) {
            let squared = |z: &[f64]| -> f64 {
                let columns = x.iter().zip(z).zip(deviations);
                columns.map(|((x, z), deviation)| ((x - z) / deviation).powi(2)).sum()
            };
            let mut expected: Vec<(f64, usize)> =
                rows.chunks_exact(2).enumerate().map(|(place, z)| (squared(z), place)).collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            order.look_from(x);
            for count in [1, 7, 32, 90, 200] {
                let found = order.nearest(count);
                assert_eq!(found.len(), count.min(90));
                for (near, (squared, place)) in found.iter().zip(&expected) {
                    assert!((near.squared_distance() - squared).abs() <= 1e-12 * squared);
                    assert_eq!(near.place(), *place);
                }
            }
        }
    }
}
