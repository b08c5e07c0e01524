//! Growing a tree from the root, with features that are sorted once.
//!
//! A node is the same range in the order of every feature. A split divides the range stably in all
//! orders, so they stay sorted:
//!
//! ```text
//! orders at depth k  →  orders at depth k + 1      the left rows, then the right rows, in order
//! ```
//!
//! The orders of even and of odd depths lie in two buffers, and the root's are those of the rows.

use std::cell::RefCell;

use super::{
    Limits,
    feature_draws::{Draws, try_drawn, try_every},
    merged_rows::{MergedRows, Targets},
    passes::{partition, weight_and_mean, write_residuals},
    split_search::{NodeScene, SplitSearch, TreeSplit},
    tree_nodes::TreeNodes,
};

/// A split must decrease the squared error of its node by more than this share.
const LEAST_GAIN_SHARE: f64 = 1e-12;

/// A part of the rows that becomes a node.
#[derive(Debug, Clone, Copy)]
struct Branch {
    begin: usize,
    end: usize,
    depth: usize,
    /// At which depth the orders hold this branch's rows in this range.
    level: usize,
    /// A feature in whose order they do.
    listed_by: usize,
    /// The node whose right branch this is.
    parent: Option<usize>,
}

thread_local! {
    /// Left by the last grower of this thread, for the next.
    static BUFFERS: RefCell<GrowBuffers> = RefCell::default();
}

/// Lists that are kept from one tree to the next; what they hold does not matter.
#[derive(Debug, Default)]
struct GrowBuffers {
    /// Weight and label of every row.
    given: Vec<f64>,
    /// Weight and `weight (y − ȳ)` of every row, ȳ of the node that it is in.
    work: Vec<f64>,
    /// The orders of even and of odd depths.
    orders: [Vec<u32>; 2],
    /// One for rows that go right in the split at hand.
    goes_right: Vec<u8>,
    /// The features in the order in which they are tried.
    features: Vec<usize>,
    /// The leaf of every row of positive weight, in the last tree.
    leaves: Vec<u32>,
    /// The nodes of the last tree.
    nodes: TreeNodes,
    /// What is yet to become a node.
    branches: Vec<Branch>,
}

/// Grows trees on the same rows, one after the other.
#[derive(Debug)]
pub(crate) struct Grower<'a> {
    rows: &'a MergedRows,
    width: usize,
    /// Whether the orders of the root are in the buffer of even depths, rather than the rows' own.
    filtered: bool,
    buffers: GrowBuffers,
}

impl<'a> Grower<'a> {
    /// Gets ready for labels of so many numbers.
    pub(crate) fn new(rows: &'a MergedRows, width: usize) -> Self {
        // A forest grows many trees per thread: each spares the next its allocations.
        let mut buffers = BUFFERS.take();
        buffers.given.resize(rows.count * (1 + width), 0.0);
        buffers.work.resize(rows.count * (1 + width), 0.0);
        buffers.orders.iter_mut().for_each(|orders| orders.resize(rows.orders().len(), 0));
        buffers.goes_right.resize(rows.count, 0);
        buffers.leaves.resize(rows.count, 0);
        buffers.features.clear();
        buffers.features.extend(0..rows.columns);
        Self { rows, width, filtered: false, buffers }
    }

    /// The leaf of every row of positive weight, in the last tree; rows of weight zero have any.
    pub(crate) fn leaves(&self) -> &[u32] {
        &self.buffers.leaves
    }

    /// The tree of these labels under weights of sum one; rows of weight zero are left out.
    ///
    /// Every node tries all thresholds of all features, unless there are draws.
    pub(crate) fn grow(
        &mut self,
        limits: Limits,
        weights: &[f64],
        targets: &Targets,
        mut draws: Option<Draws>,
    ) -> TreeNodes {
        let mut nodes = std::mem::take(&mut self.buffers.nodes);
        let mut branches = std::mem::take(&mut self.buffers.branches);
        nodes.clear();
        let end = self.begin(weights, targets);
        branches.push(Branch { begin: 0, end, depth: 0, level: 0, listed_by: 0, parent: None });
        while let Some(branch) = branches.pop() {
            let node = nodes.count();
            let index = u32::try_from(node).expect("fewer than 2³² nodes");
            if let Some(parent) = branch.parent {
                nodes.right[parent] = index;
            }
            nodes.push();
            let total = self.push_mean(&branch, &mut nodes.labels);
            nodes.weights.push(total);
            let mean = &nodes.labels[node * self.width..];
            let Some(split) = self.best_split(limits, &branch, (total, mean), &mut draws) else {
                self.end(&branch, index);
                continue;
            };
            nodes.features[node] = u32::try_from(split.feature).expect("fewer than 2³² features");
            nodes.thresholds[node] = split.threshold;
            branches.extend(self.divide(limits, &branch, &split, node));
        }
        // A copy has no more room than it needs.
        let grown = nodes.clone();
        (self.buffers.nodes, self.buffers.branches) = (nodes, branches);
        grown
    }

    /// Takes in weights and labels; returns how many rows have weight.
    fn begin(&mut self, weights: &[f64], targets: &Targets) -> usize {
        let rows = weights.iter().zip(targets.values.chunks_exact(self.width));
        for ((given, work), (weight, label)) in
            (self.buffers.given.chunks_exact_mut(1 + self.width))
                .zip(self.buffers.work.chunks_exact_mut(1 + self.width))
                .zip(rows)
        {
            given[0] = *weight;
            given[1..].copy_from_slice(label);
            work[0] = *weight;
        }
        self.buffers.features.iter_mut().enumerate().for_each(|(index, feature)| *feature = index);
        let kept = weights.iter().filter(|weight| **weight > 0.0).count();
        self.filtered = kept < weights.len();
        if self.filtered {
            let columns = self.rows.orders().chunks_exact(self.rows.count);
            for (to, from) in self.buffers.orders[0].chunks_exact_mut(self.rows.count).zip(columns)
            {
                let mut next = 0;
                for &row in from {
                    // Always written, and kept by the count: no branch to mispredict.
                    to[next] = row;
                    next += usize::from(weights[row as usize] > 0.0);
                }
            }
        }
        kept
    }

    /// Makes a branch a leaf.
    fn end(&mut self, branch: &Branch, node: u32) {
        let GrowBuffers { orders, leaves, .. } = &mut self.buffers;
        for &row in listed(self.rows, orders, self.filtered, branch) {
            leaves[row as usize] = node;
        }
    }

    /// Appends the mean label, between the smallest and the largest also after rounding; returns
    /// the weight.
    fn push_mean(&self, branch: &Branch, labels: &mut Vec<f64>) -> f64 {
        let GrowBuffers { orders, given, .. } = &self.buffers;
        let members = listed(self.rows, orders, self.filtered, branch);
        let stride = 1 + self.width;
        if stride == 2 {
            let rows = given.as_chunks::<2>().0;
            let (weight, mean) = weight_and_mean(members, |row| rows[row]);
            labels.push(mean);
            return weight;
        }
        let mut weight = 0.0;
        for output in 1..stride {
            let row = |row: usize| [given[row * stride], given[row * stride + output]];
            let mean;
            (weight, mean) = weight_and_mean(members, row);
            labels.push(mean);
        }
        weight
    }

    /// Writes the residuals of a node's rows; returns its squared error.
    fn centre(&mut self, branch: &Branch, mean: &[f64]) -> f64 {
        let GrowBuffers { orders, given, work, .. } = &mut self.buffers;
        let members = listed(self.rows, orders, self.filtered, branch);
        let stride = 1 + self.width;
        if stride == 2 {
            return write_residuals(members, given.as_chunks().0, work.as_chunks_mut().0, mean[0]);
        }
        let mut error = 0.0;
        for &row in members {
            let range = row as usize * stride..(row as usize + 1) * stride;
            let (given, work) = (&given[range.clone()], &mut work[range]);
            for ((y, residual), mean) in given[1..].iter().zip(&mut work[1..]).zip(mean) {
                *residual = given[0] * (y - mean);
                error += *residual * (y - mean);
            }
        }
        error
    }

    /// The split of largest gain, or none if no split is allowed or worth it.
    fn best_split(
        &mut self,
        limits: Limits,
        branch: &Branch,
        (total, mean): (f64, &[f64]),
        draws: &mut Option<Draws>,
    ) -> Option<TreeSplit> {
        // A share that is met up to rounding is met.
        let smallest = (limits.min_leaf_weight * (1.0 - 1e-9)).max(f64::MIN_POSITIVE);
        let alone = branch.end - branch.begin < 2;
        if branch.depth >= limits.max_depth || alone || total < 2.0 * smallest {
            return None;
        }
        let error = self.centre(branch, mean);
        // Of equal labels no split gains anything, and a share of nothing is no limit.
        if error == 0.0 {
            return None;
        }
        let mut search = SplitSearch::above(LEAST_GAIN_SHARE * error / total);
        let mut features = std::mem::take(&mut self.buffers.features);
        let scene = NodeScene {
            rows: self.rows,
            orders: level(self.rows, &self.buffers.orders, self.filtered, branch.level),
            range: branch.begin..branch.end,
            work: &self.buffers.work,
            width: self.width,
            total,
            smallest,
        };
        match draws {
            None => try_every(&scene, &mut search, &features),
            Some(draws) => try_drawn(&scene, &mut search, draws, &mut features),
        }
        self.buffers.features = features;
        search.found
    }

    /// Divides the range of a branch in the order of every feature; returns the right and the left
    /// branch.
    fn divide(
        &mut self,
        limits: Limits,
        branch: &Branch,
        split: &TreeSplit,
        node: usize,
    ) -> [Branch; 2] {
        let (count, depth) = (self.rows.count, branch.depth + 1);
        let middle = branch.begin + split.left;
        let mut left =
            Branch { end: middle, depth, listed_by: split.feature, parent: None, ..*branch };
        // Leaves need only one order, and the split's own is divided already.
        if depth < limits.max_depth {
            let [even, odd] = &mut self.buffers.orders;
            let (from, to) = match (depth, self.filtered) {
                (1, false) => (self.rows.orders(), odd),
                _ if depth % 2 == 1 => (even.as_slice(), odd),
                _ => (odd.as_slice(), even),
            };
            let own = &from[split.feature * count..][branch.begin..branch.end];
            for (slot, &row) in own.iter().enumerate() {
                self.buffers.goes_right[row as usize] = u8::from(slot >= split.left);
            }
            let range = branch.begin..branch.end;
            // Two orders at a time: their writes need not wait for one another.
            let (mut from, mut to) = (from.chunks_exact(2 * count), to.chunks_exact_mut(2 * count));
            for (from, to) in from.by_ref().zip(to.by_ref()) {
                let (a, b) = from.split_at(count);
                let (to_a, to_b) = to.split_at_mut(count);
                let from = [&a[range.clone()], &b[range.clone()]];
                let to = [&mut to_a[range.clone()], &mut to_b[range.clone()]];
                partition(from, to, &self.buffers.goes_right, split.left);
            }
            if let (Some(from), Some(to)) =
                (from.remainder().get(range.clone()), to.into_remainder().get_mut(range))
            {
                partition([from], [to], &self.buffers.goes_right, split.left);
            }
            (left.level, left.listed_by) = (depth, 0);
        }
        let right = Branch { begin: middle, end: branch.end, parent: Some(node), ..left };
        [right, left]
    }
}

/// The orders at some depth: those of the rows at the root, if no row is left out.
fn level<'m>(
    rows: &'m MergedRows,
    kept: &'m [Vec<u32>; 2],
    filtered: bool,
    depth: usize,
) -> &'m [u32] {
    if depth == 0 && !filtered { rows.orders() } else { &kept[depth % 2] }
}

/// The rows of a branch in one of the orders.
fn listed<'m>(
    rows: &'m MergedRows,
    kept: &'m [Vec<u32>; 2],
    filtered: bool,
    branch: &Branch,
) -> &'m [u32] {
    let orders = level(rows, kept, filtered, branch.level);
    &orders[branch.listed_by * rows.count..][branch.begin..branch.end]
}

impl Drop for Grower<'_> {
    fn drop(&mut self) {
        BUFFERS.set(std::mem::take(&mut self.buffers));
    }
}
