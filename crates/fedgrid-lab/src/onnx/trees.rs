//! Trees of many nodes of the network as one operator `TreeEnsemble`.
//!
//! Its trees ask first which node of the network a row belongs to, by halves, and go on in the tree of that node:
//!
//! ```text
//! place ≤ 1½ ─┬─ place ≤ ½ ─┬─ k-th tree of node 0
//!             │             └─ k-th tree of node 1
//!             └─ k-th tree of node 2
//! ```
//!
//! so that a row passes as many trees as its own node has. Leaves of one score hold it. Leaves of several scores
//! hold their place in a table of scores, because the operator knows one number per leaf.

use super::{
    graph::{Attribute, Graph, Tensor, whole},
    recipe::Trees,
};

/// Where a branch leads.
#[derive(Debug, Clone, Copy)]
enum Branch {
    Split(i64),
    Leaf(i64),
}

/// The lists that the operator is told.
#[derive(Debug, Default)]
struct Lists {
    columns: Vec<i64>,
    thresholds: Vec<f64>,
    /// Where rows at or below the threshold go, and all others.
    branches: Vec<[Branch; 2]>,
    leaves: Vec<f64>,
    targets: Vec<i64>,
    roots: Vec<i64>,
    /// The scores of leaves, where there are several.
    scores: Vec<f64>,
}

/// The sum of the leaves of each row's trees, for trees of one width. `rows` are the features, and behind them the
/// place of each row's node, where there are several nodes.
pub(super) fn sum_of_leaves(graph: &mut Graph, all: &[&Trees<'_>], rows: &str) -> String {
    let Some(first) = all.first() else { return rows.into() };
    let (width, most) = (first.width, all.iter().map(|trees| trees.roots.len()).max());
    let most = most.unwrap_or(0).max(1);
    let mut lists = Lists::default();
    for tree in 0..most {
        let root = lists.add_by_place(all, (0, all.len()), tree);
        let root = lists.as_split(root);
        lists.roots.push(root);
    }
    let targets = if width == 1 { 1 } else { most };
    let found = graph.ml_op("TreeEnsemble", rows, &lists.attributes(targets));
    if width == 1 {
        return found;
    }
    let leaf = graph.op("Cast", &[&found], &[Attribute::int("to", 7)]);
    let table = Tensor::doubles(&[lists.scores.len() / width, width], &lists.scores);
    let table = graph.constant(table);
    let scores = graph.op("Gather", &[&table, &leaf], &[]);
    let axis = graph.constant(Tensor::ints(&[1], &[1]));
    graph.op("ReduceSum", &[&scores, &axis], &[Attribute::int("keepdims", 0)])
}

impl Lists {
    /// The trees of one number of these nodes.
    fn add_by_place(
        &mut self,
        all: &[&Trees<'_>],
        (from, to): (usize, usize),
        tree: usize,
    ) -> Branch {
        if to - from <= 1 {
            return self.add_tree(all[from], tree);
        }
        let middle = from.midpoint(to);
        let place = all[from].columns.len();
        let split = self.push_split(whole(place), middle as f64 - 0.5);
        let below = self.add_by_place(all, (from, middle), tree);
        let above = self.add_by_place(all, (middle, to), tree);
        self.branches[split] = [below, above];
        Branch::Split(whole(split))
    }

    /// A tree of a node; a leaf of zero if it has no tree of this number.
    fn add_tree(&mut self, trees: &Trees<'_>, tree: usize) -> Branch {
        let Some(&root) = trees.roots.get(tree) else {
            return self.push_leaf(&vec![0.0; trees.width], tree);
        };
        let (nodes, root) = (trees.nodes, root as usize);
        let end = trees.roots.get(tree + 1).map_or(nodes.count(), |&next| next as usize);
        let is_split = |node: usize| nodes.right[node] as usize > node;
        let mut known = Vec::with_capacity(end - root);
        for node in root..end {
            known.push(if is_split(node) {
                let column = trees.columns[nodes.features[node] as usize];
                Branch::Split(whole(self.push_split(whole(column), nodes.thresholds[node])))
            } else {
                let label = &nodes.labels[node * trees.width..(node + 1) * trees.width];
                self.push_leaf(label, tree)
            });
        }
        for node in (root..end).filter(|&node| is_split(node)) {
            if let Branch::Split(split) = known[node - root] {
                let right = nodes.right[node] as usize - root;
                // Splits are numbered by their place in the lists.
                self.branches[usize::try_from(split).unwrap_or_default()] =
                    [known[node + 1 - root], known[right]];
            }
        }
        known[0]
    }

    fn push_split(&mut self, column: i64, threshold: f64) -> usize {
        self.columns.push(column);
        self.thresholds.push(threshold);
        self.branches.push([Branch::Leaf(0); 2]);
        self.branches.len() - 1
    }

    fn push_leaf(&mut self, scores: &[f64], tree: usize) -> Branch {
        if let [score] = scores {
            self.leaves.push(*score);
            self.targets.push(0);
        } else {
            self.leaves.push((self.scores.len() / scores.len()) as f64);
            self.targets.push(whole(tree));
            self.scores.extend_from_slice(scores);
        }
        Branch::Leaf(whole(self.leaves.len() - 1))
    }

    /// The split that a tree begins with: the operator knows no tree without one.
    fn as_split(&mut self, root: Branch) -> i64 {
        match root {
            Branch::Split(split) => split,
            Branch::Leaf(_) => {
                let split = self.push_split(0, 0.0);
                self.branches[split] = [root; 2];
                whole(split)
            }
        }
    }

    fn attributes(&self, targets: usize) -> Vec<Attribute> {
        let place = |branch: Branch| match branch {
            Branch::Split(at) | Branch::Leaf(at) => at,
        };
        let is_leaf = |branch: Branch| i64::from(matches!(branch, Branch::Leaf(_)));
        let of = |side: usize, what: &dyn Fn(Branch) -> i64| -> Vec<i64> {
            self.branches.iter().map(|pair| what(pair[side])).collect()
        };
        let doubles = |values: &[f64]| Tensor::doubles(&[values.len()], values);
        // Zero is "at most" of the operator's comparisons.
        let modes = Tensor::small(&vec![0; self.columns.len()]);
        vec![
            Attribute::int("aggregate_function", 1),
            Attribute::int("post_transform", 0),
            Attribute::int("n_targets", whole(targets)),
            Attribute::ints("tree_roots", &self.roots),
            Attribute::ints("nodes_featureids", &self.columns),
            Attribute::tensor("nodes_splits", &doubles(&self.thresholds)),
            Attribute::tensor("nodes_modes", &modes),
            Attribute::ints("nodes_truenodeids", &of(0, &place)),
            Attribute::ints("nodes_trueleafs", &of(0, &is_leaf)),
            Attribute::ints("nodes_falsenodeids", &of(1, &place)),
            Attribute::ints("nodes_falseleafs", &of(1, &is_leaf)),
            Attribute::ints("leaf_targetids", &self.targets),
            Attribute::tensor("leaf_weights", &doubles(&self.leaves)),
        ]
    }
}
