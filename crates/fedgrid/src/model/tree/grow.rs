//! Growing a tree from the root, with features that are sorted once,
//!
//! ```text
//! score = ‖Σ_{r left} weight_r (y_r − ȳ)‖² / (W_L W_R) = gain / W
//! ```
//!
//! A node is the same range in the order of every feature. One pass over the range scores every
//! threshold; a split then divides the range stably in all orders, so they stay sorted.

use super::{Tree, TreeHypothesis, rows::Rows};
use crate::data::Dataset;

/// A split must decrease the squared error of its node by more than this share.
const LEAST_GAIN: f64 = 1e-12;

/// Scores closer than this share are equal: the first feature and the lowest threshold win, and
/// rounding does not decide.
const TIE: f64 = 1e-10;

/// The tree of these data; some row has a positive weight.
pub(super) fn grow(tree: &Tree, data: &Dataset) -> TreeHypothesis {
    let rows = Rows::new(data);
    let mut hypothesis = TreeHypothesis {
        names: data.features().names().clone(),
        task: data.task(),
        features: Vec::new(),
        thresholds: Vec::new(),
        right: Vec::new(),
        labels: Vec::new(),
    };
    let root = Branch { begin: 0, end: rows.count, depth: 0, listed_by: 0, parent: None };
    let mut grower = Grower::new(tree, rows);
    let mut branches = vec![root];
    while let Some(branch) = branches.pop() {
        let node = hypothesis.right.len();
        if let Some(parent) = branch.parent {
            hypothesis.right[parent] = node;
        }
        hypothesis.labels.extend(grower.mean_label(&branch));
        let split = grower.best_split(&branch, &hypothesis.labels[node * grower.rows.outputs..]);
        hypothesis.right.push(0);
        hypothesis.features.push(split.as_ref().map_or(0, |split| split.feature));
        hypothesis.thresholds.push(split.as_ref().map_or(0.0, |split| split.threshold));
        if let Some(split) = split {
            let depth = branch.depth + 1;
            if depth < tree.max_depth {
                grower.divide(&branch, &split);
            }
            let listed_by = split.feature;
            let right =
                Branch { begin: split.middle, depth, listed_by, parent: Some(node), ..branch };
            branches.extend([
                right,
                Branch { end: split.middle, depth, listed_by, parent: None, ..branch },
            ]);
        }
    }
    hypothesis
}

/// A part of the rows that becomes a node.
struct Branch {
    begin: usize,
    end: usize,
    depth: usize,
    /// A feature in whose order the range holds this branch's rows.
    listed_by: usize,
    /// The node whose right branch this is.
    parent: Option<usize>,
}

/// The best split found so far.
struct Split {
    feature: usize,
    threshold: f64,
    /// Where the right branch begins in the order of the feature.
    middle: usize,
}

/// A split with its score, while the thresholds are tried.
struct Search {
    /// The weight of all rows of the node.
    total: f64,
    /// The score to beat.
    score: f64,
    /// The feature and the position of the last row on the left.
    found: Option<(usize, usize)>,
}

struct Grower {
    max_depth: usize,
    /// The weight that a leaf must have.
    smallest: f64,
    rows: Rows,
    /// The rows in the order of each feature.
    orders: Vec<Vec<u32>>,
    /// `weight (y − ȳ)` of every row, ȳ of the node that it is in.
    residuals: Vec<f64>,
    /// One for rows that go left in the split at hand.
    goes_left: Vec<u8>,
    spare: Vec<u32>,
}

impl Grower {
    fn new(tree: &Tree, rows: Rows) -> Self {
        // A share that is met up to rounding is met.
        let smallest = (tree.min_leaf_weight * (1.0 - 1e-9)).max(f64::MIN_POSITIVE);
        Self {
            max_depth: tree.max_depth,
            smallest,
            orders: rows.orders(),
            residuals: vec![0.0; rows.labels.len()],
            goes_left: vec![0; rows.count],
            spare: vec![0; rows.count],
            rows,
        }
    }

    fn members(&self, branch: &Branch) -> &[u32] {
        &self.orders[branch.listed_by][branch.begin..branch.end]
    }

    /// The weighted mean label, between the smallest and the largest also after rounding.
    fn mean_label(&self, branch: &Branch) -> Vec<f64> {
        let members = self.members(branch);
        let first = self.rows.label(members[0] as usize);
        let mut total = 0.0;
        // Sums of differences to one label keep their digits where all labels are large.
        let mut sums = vec![[0.0, f64::INFINITY, f64::NEG_INFINITY]; first.len()];
        for &row in members {
            let weight = self.rows.weights[row as usize];
            total += weight;
            for ((sum, y), first) in sums.iter_mut().zip(self.rows.label(row as usize)).zip(first) {
                *sum = [sum[0] + weight * (y - first), sum[1].min(*y), sum[2].max(*y)];
            }
        }
        let mean =
            |([sum, low, high], first): (&[f64; 3], &f64)| (first + sum / total).clamp(*low, *high);
        sums.iter().zip(first).map(mean).collect()
    }

    /// The split of largest gain, or none if no split is allowed or worth it.
    fn best_split(&mut self, branch: &Branch, mean: &[f64]) -> Option<Split> {
        if branch.depth >= self.max_depth || branch.end - branch.begin < 2 {
            return None;
        }
        let (total, error) = self.centre(branch, mean);
        if error == 0.0 || total < 2.0 * self.smallest {
            return None;
        }
        let mut search = Search { total, score: LEAST_GAIN * error / total, found: None };
        for feature in 0..self.orders.len() {
            if self.rows.outputs == 1 {
                self.try_numbers(branch, feature, &mut search);
            } else {
                self.try_lists(branch, feature, &mut search);
            }
        }
        let (feature, last) = search.found?;
        let value =
            |position: usize| self.rows.columns[feature][self.orders[feature][position] as usize];
        let threshold = midpoint(value(last), value(last + 1));
        Some(Split { feature, threshold, middle: last + 1 })
    }

    /// Writes the residuals of a node's rows; returns its weight and its squared error.
    fn centre(&mut self, branch: &Branch, mean: &[f64]) -> (f64, f64) {
        let outputs = self.rows.outputs;
        let (mut total, mut error) = (0.0, 0.0);
        for &row in &self.orders[branch.listed_by][branch.begin..branch.end] {
            let row = row as usize;
            let weight = self.rows.weights[row];
            total += weight;
            let residuals = &mut self.residuals[row * outputs..(row + 1) * outputs];
            for ((residual, y), mean) in residuals.iter_mut().zip(self.rows.label(row)).zip(mean) {
                *residual = weight * (y - mean);
                error += *residual * (y - mean);
            }
        }
        (total, error)
    }

    /// Scores the thresholds of a feature where labels are single numbers.
    fn try_numbers(&self, branch: &Branch, feature: usize, search: &mut Search) {
        let column = &self.rows.columns[feature];
        let order = &self.orders[feature][branch.begin..branch.end];
        let (mut weight, mut sum) = (0.0, 0.0);
        for (position, pair) in order.windows(2).enumerate() {
            let (row, next) = (pair[0] as usize, pair[1] as usize);
            weight += self.rows.weights[row];
            sum += self.residuals[row];
            if column[row] < column[next] {
                let square = sum * sum;
                search.offer(square, weight, self.smallest, (feature, branch.begin + position));
            }
        }
    }

    /// Scores the thresholds of a feature where labels are lists of numbers.
    fn try_lists(&self, branch: &Branch, feature: usize, search: &mut Search) {
        let outputs = self.rows.outputs;
        let column = &self.rows.columns[feature];
        let order = &self.orders[feature][branch.begin..branch.end];
        let mut weight = 0.0;
        let mut sums = vec![0.0; outputs];
        for (position, pair) in order.windows(2).enumerate() {
            let (row, next) = (pair[0] as usize, pair[1] as usize);
            weight += self.rows.weights[row];
            let residuals = &self.residuals[row * outputs..(row + 1) * outputs];
            sums.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual);
            if column[row] < column[next] {
                let square = sums.iter().map(|sum| sum * sum).sum();
                search.offer(square, weight, self.smallest, (feature, branch.begin + position));
            }
        }
    }

    /// Divides the range of a branch in the order of every feature.
    fn divide(&mut self, branch: &Branch, split: &Split) {
        for (position, &row) in
            self.orders[split.feature][..branch.end].iter().enumerate().skip(branch.begin)
        {
            self.goes_left[row as usize] = u8::from(position < split.middle);
        }
        for (feature, order) in self.orders.iter_mut().enumerate() {
            if feature != split.feature {
                partition(&mut order[branch.begin..branch.end], &self.goes_left, &mut self.spare);
            }
        }
    }
}

impl Search {
    /// Keeps a split if it is better by more than rounding and both sides are heavy enough.
    #[inline]
    fn offer(&mut self, square: f64, left: f64, smallest: f64, place: (usize, usize)) {
        let right = self.total - left;
        let score = square / (left * right);
        if score > self.score * (1.0 + TIE) && left.min(right) >= smallest {
            self.score = score;
            self.found = Some(place);
        }
    }
}

/// Moves the rows that go left to the front; both parts keep their order.
fn partition(order: &mut [u32], goes_left: &[u8], spare: &mut [u32]) {
    let (mut left, mut right) = (0, 0);
    // Both places are written and one is advanced: there is no branch to mispredict.
    for position in 0..order.len() {
        let row = order[position];
        let goes = usize::from(goes_left[row as usize]);
        order[left] = row;
        spare[right] = row;
        left += goes;
        right += 1 - goes;
    }
    order[left..].copy_from_slice(&spare[..right]);
}

/// A number from `low` to below `high`, midway if there is one.
fn midpoint(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if low <= middle && middle < high { middle } else { low }
}
