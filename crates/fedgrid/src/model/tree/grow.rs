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
    nodes::Nodes,
    passes::{partition, weight_and_mean, write_residuals},
    rows::{Rows, Targets},
    split::{Scene, Search, Split},
    tried::{Draws, try_drawn, try_every},
};

/// A split must decrease the squared error of its node by more than this share.
const LEAST_GAIN: f64 = 1e-12;

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
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Lists that are kept from one tree to the next; what they hold does not matter.
#[derive(Debug, Default)]
struct Memory {
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
    nodes: Nodes,
    /// What is yet to become a node.
    branches: Vec<Branch>,
}

/// Grows trees on the same rows, one after the other.
#[derive(Debug)]
pub(in crate::model) struct Grower<'a> {
    rows: &'a Rows,
    width: usize,
    /// Whether the orders of the root are in the buffer of even depths, rather than the rows' own.
    filtered: bool,
    memory: Memory,
}

impl<'a> Grower<'a> {
    /// Gets ready for labels of so many numbers.
    pub(in crate::model) fn new(rows: &'a Rows, width: usize) -> Self {
        let mut memory = MEMORY.take();
        memory.given.resize(rows.count * (1 + width), 0.0);
        memory.work.resize(rows.count * (1 + width), 0.0);
        memory.orders.iter_mut().for_each(|orders| orders.resize(rows.orders().len(), 0));
        memory.goes_right.resize(rows.count, 0);
        memory.leaves.resize(rows.count, 0);
        memory.features.clear();
        memory.features.extend(0..rows.columns);
        Self { rows, width, filtered: false, memory }
    }

    /// The leaf of every row of positive weight, in the last tree; rows of weight zero have any.
    pub(in crate::model) fn leaves(&self) -> &[u32] {
        &self.memory.leaves
    }

    /// The tree of these labels under weights of sum one; rows of weight zero are left out.
    ///
    /// Every node tries all thresholds of all features, unless there are draws.
    pub(in crate::model) fn grow(
        &mut self,
        limits: Limits,
        weights: &[f64],
        targets: &Targets,
        mut draws: Option<Draws>,
    ) -> Nodes {
        let mut nodes = std::mem::take(&mut self.memory.nodes);
        let mut branches = std::mem::take(&mut self.memory.branches);
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
        (self.memory.nodes, self.memory.branches) = (nodes, branches);
        grown
    }

    /// Takes in weights and labels; returns how many rows have weight.
    fn begin(&mut self, weights: &[f64], targets: &Targets) -> usize {
        let rows = weights.iter().zip(targets.values.chunks_exact(self.width));
        for ((given, work), (weight, label)) in (self.memory.given.chunks_exact_mut(1 + self.width))
            .zip(self.memory.work.chunks_exact_mut(1 + self.width))
            .zip(rows)
        {
            given[0] = *weight;
            given[1..].copy_from_slice(label);
            work[0] = *weight;
        }
        self.memory.features.iter_mut().enumerate().for_each(|(place, feature)| *feature = place);
        let kept = weights.iter().filter(|weight| **weight > 0.0).count();
        self.filtered = kept < weights.len();
        if self.filtered {
            let columns = self.rows.orders().chunks_exact(self.rows.count);
            for (to, from) in self.memory.orders[0].chunks_exact_mut(self.rows.count).zip(columns) {
                let mut next = 0;
                for &row in from {
                    to[next] = row;
                    next += usize::from(weights[row as usize] > 0.0);
                }
            }
        }
        kept
    }

    /// Makes a branch a leaf.
    fn end(&mut self, branch: &Branch, node: u32) {
        let Memory { orders, leaves, .. } = &mut self.memory;
        for &row in listed(self.rows, orders, self.filtered, branch) {
            leaves[row as usize] = node;
        }
    }

    /// Appends the mean label, between the smallest and the largest also after rounding; returns
    /// the weight.
    fn push_mean(&self, branch: &Branch, labels: &mut Vec<f64>) -> f64 {
        let Memory { orders, given, .. } = &self.memory;
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
        let Memory { orders, given, work, .. } = &mut self.memory;
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
    ) -> Option<Split> {
        // A share that is met up to rounding is met.
        let smallest = (limits.min_leaf_weight * (1.0 - 1e-9)).max(f64::MIN_POSITIVE);
        let alone = branch.end - branch.begin < 2;
        if branch.depth >= limits.max_depth || alone || total < 2.0 * smallest {
            return None;
        }
        let error = self.centre(branch, mean);
        if error == 0.0 {
            return None;
        }
        let mut search = Search::above(LEAST_GAIN * error / total);
        let mut features = std::mem::take(&mut self.memory.features);
        let scene = Scene {
            rows: self.rows,
            orders: level(self.rows, &self.memory.orders, self.filtered, branch.level),
            range: branch.begin..branch.end,
            work: &self.memory.work,
            width: self.width,
            total,
            smallest,
        };
        match draws {
            None => try_every(&scene, &mut search, &features),
            Some(draws) => try_drawn(&scene, &mut search, draws, &mut features),
        }
        self.memory.features = features;
        search.found
    }

    /// Divides the range of a branch in the order of every feature; returns the right and the left
    /// branch.
    fn divide(
        &mut self,
        limits: Limits,
        branch: &Branch,
        split: &Split,
        node: usize,
    ) -> [Branch; 2] {
        let (count, depth) = (self.rows.count, branch.depth + 1);
        let middle = branch.begin + split.left;
        let mut left =
            Branch { end: middle, depth, listed_by: split.feature, parent: None, ..*branch };
        // Leaves need only one order, and the split's own is divided already.
        if depth < limits.max_depth {
            let [even, odd] = &mut self.memory.orders;
            let (from, to) = match (depth, self.filtered) {
                (1, false) => (self.rows.orders(), odd),
                _ if depth % 2 == 1 => (even.as_slice(), odd),
                _ => (odd.as_slice(), even),
            };
            let own = &from[split.feature * count..][branch.begin..branch.end];
            for (place, &row) in own.iter().enumerate() {
                self.memory.goes_right[row as usize] = u8::from(place >= split.left);
            }
            let range = branch.begin..branch.end;
            let (mut from, mut to) = (from.chunks_exact(2 * count), to.chunks_exact_mut(2 * count));
            for (from, to) in from.by_ref().zip(to.by_ref()) {
                let (a, b) = from.split_at(count);
                let (to_a, to_b) = to.split_at_mut(count);
                let from = [&a[range.clone()], &b[range.clone()]];
                let to = [&mut to_a[range.clone()], &mut to_b[range.clone()]];
                partition(from, to, &self.memory.goes_right, split.left);
            }
            if let (Some(from), Some(to)) =
                (from.remainder().get(range.clone()), to.into_remainder().get_mut(range))
            {
                partition([from], [to], &self.memory.goes_right, split.left);
            }
            (left.level, left.listed_by) = (depth, 0);
        }
        let right = Branch { begin: middle, end: branch.end, parent: Some(node), ..left };
        [right, left]
    }
}

/// The orders at some depth: those of the rows at the root, if no row is left out.
fn level<'m>(rows: &'m Rows, kept: &'m [Vec<u32>; 2], filtered: bool, depth: usize) -> &'m [u32] {
    if depth == 0 && !filtered { rows.orders() } else { &kept[depth % 2] }
}

/// The rows of a branch in one of the orders.
fn listed<'m>(
    rows: &'m Rows,
    kept: &'m [Vec<u32>; 2],
    filtered: bool,
    branch: &Branch,
) -> &'m [u32] {
    let orders = level(rows, kept, filtered, branch.level);
    &orders[branch.listed_by * rows.count..][branch.begin..branch.end]
}

impl Drop for Grower<'_> {
    fn drop(&mut self) {
        MEMORY.set(std::mem::take(&mut self.memory));
    }
}
