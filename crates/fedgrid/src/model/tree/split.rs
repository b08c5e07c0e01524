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

    /// Tries every threshold of some features; each is given with its column and with the node's
    /// rows in its order, at least one row.
    pub(super) fn try_all<const FEATURES: usize>(
        &mut self,
        scene: &Scene,
        features: [Sorted; FEATURES],
    ) {
        let best = match scene.width {
            1 => self.scan(scene, scene.work.as_chunks::<2>().0, &features),
            2 => self.scan(scene, scene.work.as_chunks::<3>().0, &features),
            3 => self.scan(scene, scene.work.as_chunks::<4>().0, &features),
            _ => features.each_ref().map(|feature| self.scan_lists(scene, feature)),
        };
        for (feature, best) in features.iter().zip(best) {
            if best.left > 0 && best.score > self.limit {
                self.limit = best.score * (1.0 + TIE);
                let threshold = midpoint(feature.value(best.left - 1), feature.value(best.left));
                self.found = Some(Split { feature: feature.index, threshold, left: best.left });
            }
        }
    }

    /// The best split by each feature; a row of work is short.
    ///
    /// Features go side by side, so that their sums need not wait for one another.
    fn scan<const STRIDE: usize, const FEATURES: usize>(
        &self,
        scene: &Scene,
        work: &[[f64; STRIDE]],
        features: &[Sorted; FEATURES],
    ) -> [Best; FEATURES] {
        let last = features[0].order.len() - 1;
        let orders = features.each_ref().map(|feature| &feature.order[..last]);
        let mut best = [Best { limit: self.limit, score: 0.0, left: 0 }; FEATURES];
        let (mut sums, mut floor) = ([[0.0; STRIDE]; FEATURES], self.limit);
        for place in 0..last {
            for (sums, order) in sums.iter_mut().zip(&orders) {
                let row = &work[order[place] as usize];
                (0..STRIDE).for_each(|k| sums[k] += row[k]);
            }
            // Without a division but where a score is good.
            let good = |k: usize, floor: f64| {
                square(&sums[k]) > floor * (sums[k][0] * (scene.total - sums[k][0]))
            };
            if (0..FEATURES).fold(false, |any, k| any | good(k, floor)) {
                for k in 0..FEATURES {
                    if good(k, floor) {
                        best[k].offer(scene, &sums[k], &features[k], place + 1);
                        floor = floor.max(best[k].score * (1.0 - 2.0 * TIE));
                    }
                }
            }
        }
        best
    }

    /// The same where labels are lists of any length, for one feature.
    fn scan_lists(&self, scene: &Scene, feature: &Sorted) -> Best {
        let mut best = Best { limit: self.limit, score: 0.0, left: 0 };
        let mut sums = vec![0.0; 1 + scene.width];
        for (place, &row) in feature.order[..feature.order.len() - 1].iter().enumerate() {
            let row = &scene.work[row as usize * sums.len()..][..sums.len()];
            sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
            best.offer(scene, &sums, feature, place + 1);
        }
        best
    }

    /// Tries one threshold, drawn uniformly between the smallest and the largest value.
    pub(super) fn try_random(&mut self, scene: &Scene, feature: &Sorted, stream: &mut Stream) {
        let order = feature.order;
        let (low, high) = (feature.value(0), feature.value(order.len() - 1));
        let drawn = low + stream.uniform() * (high - low);
        let threshold = if low <= drawn && drawn < high { drawn } else { low };
        let left = order.partition_point(|&row| feature.column[row as usize] <= threshold);
        let shorter = if 2 * left <= order.len() { &order[..left] } else { &order[left..] };
        let (weight, square) = match scene.width {
            1 => side::<2>(scene.work.as_chunks().0, shorter),
            2 => side::<3>(scene.work.as_chunks().0, shorter),
            3 => side::<4>(scene.work.as_chunks().0, shorter),
            _ => side_of_lists(scene, shorter),
        };
        if let Some(score) = scene.score(weight, square).filter(|score| *score > self.limit) {
            self.limit = score * (1.0 + TIE);
            self.found = Some(Split { feature: feature.index, threshold, left });
        }
    }
}

/// A feature as the search sees it.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'a> {
    /// Which feature it is.
    pub(super) index: usize,
    /// Its value in every row.
    pub(super) column: &'a [f64],
    /// The node's rows in ascending order of the value.
    pub(super) order: &'a [u32],
    /// Whether no two rows have the same value.
    pub(super) distinct: bool,
}

impl Sorted<'_> {
    fn value(&self, place: usize) -> f64 {
        self.column[self.order[place] as usize]
    }

    /// Whether the value rises from the place before to this one.
    fn differs(&self, place: usize) -> bool {
        self.distinct || self.value(place - 1) < self.value(place)
    }

    /// Whether the node's rows have all the same value.
    pub(super) fn is_constant(&self) -> bool {
        self.value(0) >= self.value(self.order.len() - 1)
    }
}

/// The best split by one feature.
#[derive(Clone, Copy)]
struct Best {
    /// What the score of a better split is above.
    limit: f64,
    score: f64,
    /// How many rows go left; zero if there is no split.
    left: usize,
}

impl Best {
    /// Takes a split that is better by more than rounding and lies between different values.
    fn offer(&mut self, scene: &Scene, sums: &[f64], feature: &Sorted, left: usize) {
        let score = scene.score(sums[0], square(sums)).filter(|score| *score > self.limit);
        if let Some(score) = score
            && feature.differs(left)
        {
            *self = Self { limit: score * (1.0 + TIE), score, left };
        }
    }
}

impl Scene<'_> {
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
fn side_of_lists(scene: &Scene, rows: &[u32]) -> (f64, f64) {
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
