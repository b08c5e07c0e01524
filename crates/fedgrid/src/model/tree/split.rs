//! The split of a node, from sums over its rows in the order of a feature,
//!
//! ```text
//! score = ‖Σ_{r left} weight_r (y_r − ȳ)‖² / (W_L W_R) = gain / W
//! ```
//!
//! One pass over the rows scores every threshold of a feature. A threshold drawn at random needs
//! only the shorter side of it, because the sum over all rows is zero. [Geurts, Ernst and Wehenkel,
//! "Extremely randomized trees", 2006.]

use crate::random::Stream;

/// Scores closer than this share are equal: the first feature and the lowest threshold win, and
/// rounding does not decide.
const TIE: f64 = 1e-10;

/// What a node's rows look like to the search.
pub(super) struct Scene<'a> {
    /// Weight and `weight (y − ȳ)` of every row, ȳ of the node that it is in.
    pub(super) work: &'a [f64],
    /// How many numbers describe a label.
    pub(super) width: usize,
    /// The weight of all rows of the node.
    pub(super) total: f64,
    /// The weight that a branch must have.
    pub(super) smallest: f64,
}

/// The best split found so far.
pub(super) struct Search {
    /// What the score of a better split is above.
    limit: f64,
    pub(super) found: Option<Split>,
}

/// Where a node is split.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) feature: usize,
    pub(super) threshold: f64,
    /// How many of the node's rows go left.
    pub(super) left: usize,
}

impl Search {
    /// A search for a split whose score is above the given one.
    pub(super) fn above(score: f64) -> Self {
        Self { limit: score, found: None }
    }

    /// Tries every threshold of a feature; the order holds the node's rows, at least one.
    pub(super) fn try_all(&mut self, scene: &Scene, feature: usize, column: &[f64], order: &[u32]) {
        let ends = match scene.width {
            1 => self.scan(scene, scene.work.as_chunks::<2>().0, column, order),
            2 => self.scan(scene, scene.work.as_chunks::<3>().0, column, order),
            3 => self.scan(scene, scene.work.as_chunks::<4>().0, column, order),
            _ => self.scan_lists(scene, column, order),
        };
        if let Some(left) = ends {
            let value = |place: usize| column[order[place] as usize];
            let threshold = midpoint(value(left - 1), value(left));
            self.found = Some(Split { feature, threshold, left });
        }
    }

    /// The best number of rows on the left, if better than what was found; a row of work is short.
    fn scan<const STRIDE: usize>(
        &mut self,
        scene: &Scene,
        work: &[[f64; STRIDE]],
        column: &[f64],
        order: &[u32],
    ) -> Option<usize> {
        let (mut sums, mut best) = ([0.0; STRIDE], None);
        for (place, pair) in order.windows(2).enumerate() {
            let row = &work[pair[0] as usize];
            (0..STRIDE).for_each(|k| sums[k] += row[k]);
            let square: f64 = sums[1..].iter().map(|sum| sum * sum).sum();
            // Without a division, and without a look at the values but where the score is good.
            if square > self.limit * (sums[0] * (scene.total - sums[0]))
                && column[pair[0] as usize] < column[pair[1] as usize]
                && self.offer(scene, square, sums[0])
            {
                best = Some(place + 1);
            }
        }
        best
    }

    /// The same where labels are lists of any length.
    fn scan_lists(&mut self, scene: &Scene, column: &[f64], order: &[u32]) -> Option<usize> {
        let (mut sums, mut best) = (vec![0.0; 1 + scene.width], None);
        for (place, pair) in order.windows(2).enumerate() {
            let row = &scene.work[pair[0] as usize * sums.len()..][..sums.len()];
            sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            if column[pair[0] as usize] < column[pair[1] as usize] {
                let square = sums[1..].iter().map(|sum| sum * sum).sum();
                if self.offer(scene, square, sums[0]) {
                    best = Some(place + 1);
                }
            }
        }
        best
    }

    /// Tries one threshold, drawn uniformly between the smallest and the largest value.
    pub(super) fn try_random(
        &mut self,
        scene: &Scene,
        feature: usize,
        column: &[f64],
        order: &[u32],
        stream: &mut Stream,
    ) {
        let value = |place: usize| column[order[place] as usize];
        let (low, high) = (value(0), value(order.len() - 1));
        let drawn = low + stream.uniform() * (high - low);
        let threshold = if low <= drawn && drawn < high { drawn } else { low };
        let left = order.partition_point(|&row| column[row as usize] <= threshold);
        let shorter = if 2 * left <= order.len() { &order[..left] } else { &order[left..] };
        let (weight, square) = match scene.width {
            1 => side::<2>(scene.work.as_chunks().0, shorter),
            2 => side::<3>(scene.work.as_chunks().0, shorter),
            3 => side::<4>(scene.work.as_chunks().0, shorter),
            _ => side_of_lists(scene, shorter),
        };
        if self.offer(scene, square, weight) {
            self.found = Some(Split { feature, threshold, left });
        }
    }

    /// Whether a split is better by more than rounding, and both sides are heavy enough.
    fn offer(&mut self, scene: &Scene, square: f64, weight: f64) -> bool {
        let other = scene.total - weight;
        let score = square / (weight * other);
        let better = score > self.limit && weight.min(other) >= scene.smallest;
        if better {
            self.limit = score * (1.0 + TIE);
        }
        better
    }
}

/// The weight of some rows and the squared norm of their sum.
fn side<const STRIDE: usize>(work: &[[f64; STRIDE]], rows: &[u32]) -> (f64, f64) {
    let mut sums = [0.0; STRIDE];
    for &row in rows {
        let row = &work[row as usize];
        (0..STRIDE).for_each(|k| sums[k] += row[k]);
    }
    (sums[0], sums[1..].iter().map(|sum| sum * sum).sum())
}

/// The same where labels are lists of any length.
fn side_of_lists(scene: &Scene, rows: &[u32]) -> (f64, f64) {
    let mut sums = vec![0.0; 1 + scene.width];
    for &row in rows {
        let row = &scene.work[row as usize * sums.len()..][..sums.len()];
        sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
    }
    (sums[0], sums[1..].iter().map(|sum| sum * sum).sum())
}

/// A number from `low` to below `high`, midway if there is one.
fn midpoint(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if low <= middle && middle < high { middle } else { low }
}
