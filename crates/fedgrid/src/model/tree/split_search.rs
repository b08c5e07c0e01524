//! The split of a node, from sums over its rows in the order of a feature,
//!
//! ```text
//! score = ‖Σ_{r left} weight_r (y_r − ȳ)‖² / (W_L W_R) = gain / W
//! ```
//!
//! One pass over the rows scores every threshold of a feature. A threshold drawn at random needs
//! only the shorter side of it, because the sum over all rows is zero. [Geurts, Ernst and Wehenkel,
//! "Extremely randomized trees", 2006.]

use std::ops::Range;

use super::merged_rows::MergedRows;
use crate::random::Stream;

/// Scores closer than this share are equal: the first feature and the lowest threshold win, and
/// rounding does not decide.
const TIE_SHARE: f64 = 1e-10;

/// What a node's rows look like to the search.
pub(super) struct NodeScene<'a> {
    /// All rows of the tree.
    pub(super) rows: &'a MergedRows,
    /// The orders in which the node's rows are a range.
    pub(super) orders: &'a [u32],
    /// This range; it is not empty.
    pub(super) range: Range<usize>,
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
pub(super) struct SplitSearch {
    /// What the score of a better split is above.
    limit: f64,
    pub(super) found: Option<TreeSplit>,
}

/// Where a node is split.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeSplit {
    pub(super) feature: usize,
    pub(super) threshold: f64,
    /// How many of the node's rows go left.
    pub(super) left: usize,
}

impl SplitSearch {
    /// A search for a split whose score is above the given one.
    pub(super) fn above(score: f64) -> Self {
        Self { limit: score, found: None }
    }

    /// Tries every threshold of some features.
    pub(super) fn try_all<const FEATURES: usize>(
        &mut self,
        scene: &NodeScene,
        features: [usize; FEATURES],
    ) {
        let best = match scene.width {
            1 => self.scan(scene, scene.work.as_chunks::<2>().0, &features),
            2 => self.scan(scene, scene.work.as_chunks::<3>().0, &features),
            3 => self.scan(scene, scene.work.as_chunks::<4>().0, &features),
            _ => features.map(|feature| self.scan_lists(scene, feature)),
        };
        for (feature, BestSplit { score, left, .. }) in features.into_iter().zip(best) {
            if left > 0 && score > self.limit {
                // A later feature must be better by more than rounding, so the first of equals
                // stays.
                self.limit = score * (1.0 + TIE_SHARE);
                let value = |slot| scene.value(feature, slot);
                let threshold = midpoint(value(left - 1), value(left));
                self.found = Some(TreeSplit { feature, threshold, left });
            }
        }
    }

    /// The best split by each feature; a row of work is short.
    ///
    /// Features go side by side, so that their sums need not wait for one another.
    fn scan<const STRIDE: usize, const FEATURES: usize>(
        &self,
        scene: &NodeScene,
        work: &[[f64; STRIDE]],
        features: &[usize; FEATURES],
    ) -> [BestSplit; FEATURES] {
        let last = scene.range.len() - 1;
        let orders = features.map(|feature| &scene.order(feature)[..last]);
        let mut best = [BestSplit { limit: self.limit, score: 0.0, left: 0 }; FEATURES];
        let (mut sums, mut floor) = ([[0.0; STRIDE]; FEATURES], self.limit);
        for slot in 0..last {
            for (sums, order) in sums.iter_mut().zip(&orders) {
                let row = &work[order[slot] as usize];
                (0..STRIDE).for_each(|k| sums[k] += row[k]);
            }
            // Without a division but where a score is good.
            let good = |k: usize, floor: f64| {
                square(&sums[k]) > floor * (sums[k][0] * (scene.total - sums[k][0]))
            };
            if (0..FEATURES).fold(false, |any, k| any | good(k, floor)) {
                for k in 0..FEATURES {
                    if good(k, floor) {
                        best[k].offer(scene, &sums[k], features[k], slot + 1);
                        floor = floor.max(best[k].score * (1.0 - 2.0 * TIE_SHARE));
                    }
                }
            }
        }
        best
    }

    /// The same where labels are lists of any length, for one feature.
    fn scan_lists(&self, scene: &NodeScene, feature: usize) -> BestSplit {
        let mut best = BestSplit { limit: self.limit, score: 0.0, left: 0 };
        let mut sums = vec![0.0; 1 + scene.width];
        for (slot, &row) in scene.order(feature)[..scene.range.len() - 1].iter().enumerate() {
            let row = &scene.work[row as usize * sums.len()..][..sums.len()];
            sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            best.offer(scene, &sums, feature, slot + 1);
        }
        best
    }

    /// Tries one threshold, drawn uniformly between the smallest and the largest value.
    pub(super) fn try_random(&mut self, scene: &NodeScene, feature: usize, stream: &mut Stream) {
        let (order, column) = (scene.order(feature), scene.rows.column(feature));
        let (low, high) = (scene.value(feature, 0), scene.value(feature, order.len() - 1));
        let drawn = low + stream.uniform() * (high - low);
        // Rounding may reach the largest value, where no row would go right.
        let threshold = if low <= drawn && drawn < high { drawn } else { low };
        let left = order.partition_point(|&row| column[row as usize] <= threshold);
        let shorter = if 2 * left <= order.len() { &order[..left] } else { &order[left..] };
        let (weight, square) = match scene.width {
            1 => side::<2>(scene.work.as_chunks().0, shorter),
            2 => side::<3>(scene.work.as_chunks().0, shorter),
            3 => side::<4>(scene.work.as_chunks().0, shorter),
            _ => side_of_lists(scene, shorter),
        };
        if let Some(score) = scene.score(weight, square).filter(|score| *score > self.limit) {
            self.limit = score * (1.0 + TIE_SHARE);
            self.found = Some(TreeSplit { feature, threshold, left });
        }
    }
}

/// The best split by one feature.
#[derive(Clone, Copy)]
struct BestSplit {
    /// What the score of a better split is above.
    limit: f64,
    score: f64,
    /// How many rows go left; zero if there is no split.
    left: usize,
}

impl BestSplit {
    /// Takes a split that is better by more than rounding and lies between different values.
    fn offer(&mut self, scene: &NodeScene, sums: &[f64], feature: usize, left: usize) {
        let score = scene.score(sums[0], square(sums)).filter(|score| *score > self.limit);
        if let Some(score) = score
            // Asked last, because it reads two rows from anywhere in memory.
            && scene.differs(feature, left)
        {
            *self = Self { limit: score * (1.0 + TIE_SHARE), score, left };
        }
    }
}

impl NodeScene<'_> {
    /// The node's rows in the order of a feature.
    fn order(&self, feature: usize) -> &[u32] {
        &self.orders[feature * self.rows.count..][self.range.clone()]
    }

    /// The value of a feature at a slot of its order.
    fn value(&self, feature: usize, slot: usize) -> f64 {
        self.rows.column(feature)[self.order(feature)[slot] as usize]
    }

    /// Whether the value of a feature rises from the slot before to this one.
    fn differs(&self, feature: usize, slot: usize) -> bool {
        self.value(feature, slot - 1) < self.value(feature, slot)
    }

    /// Whether all of the node's rows have the same value.
    pub(super) fn is_constant(&self, feature: usize) -> bool {
        self.value(feature, 0) >= self.value(feature, self.range.len() - 1)
    }

    /// The score of a side of this weight and squared sum, if both sides are heavy enough.
    fn score(&self, weight: f64, square: f64) -> Option<f64> {
        let other = self.total - weight;
        (weight.min(other) >= self.smallest).then(|| square / (weight * other))
    }
}

/// The squared norm of sums, of which the first is that of the weights.
fn square(sums: &[f64]) -> f64 {
    sums[1..].iter().map(|sum| sum * sum).sum()
}

/// The weight of some rows and the squared norm of their sum.
fn side<const STRIDE: usize>(work: &[[f64; STRIDE]], rows: &[u32]) -> (f64, f64) {
    let mut sums = [0.0; STRIDE];
    for &row in rows {
        let row = &work[row as usize];
        (0..STRIDE).for_each(|k| sums[k] += row[k]);
    }
    (sums[0], square(&sums))
}

/// The same where labels are lists of any length.
fn side_of_lists(scene: &NodeScene, rows: &[u32]) -> (f64, f64) {
    let mut sums = vec![0.0; 1 + scene.width];
    for &row in rows {
        let row = &scene.work[row as usize * sums.len()..][..sums.len()];
        sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
    }
    (sums[0], square(&sums))
}

/// A number from `low` to below `high`, midway if there is one.
fn midpoint(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if low <= middle && middle < high { middle } else { low }
}
