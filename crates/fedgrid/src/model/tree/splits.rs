//! Trees that keep their splits while labels change a little,
//!
//! ```text
//! label of a leaf = Σ_r weight_r y_r / Σ_r weight_r      over its rows r
//! ```
//!
//! which takes a small part of the time that growing takes.

use std::{borrow::Cow, ops::Range};

use super::{MergedRows, Targets, TreeNodes};

/// Drawn weights of the different rows, and their labels where these change with the draw.
pub(crate) type Drawn = (Vec<f64>, Option<Targets>);

/// The same, perhaps of a draw that is kept.
pub(crate) type Shown<'a> = (Cow<'a, [f64]>, Option<Targets>);

/// The splits of grown trees, and the leaves of the different rows.
#[derive(Debug)]
pub struct Splits {
    /// The first node of each tree.
    pub(crate) roots: Vec<u32>,
    /// The nodes of all trees.
    pub(crate) nodes: TreeNodes,
    /// The leaf of every different row in the first tree, then in the second, and so on.
    leaves: Vec<u32>,
    rows: usize,
}

impl Splits {
    pub(crate) fn new(rows: &MergedRows, roots: &[u32], nodes: &TreeNodes) -> Self {
        let leaf = |root: u32, row: usize| {
            let leaf = nodes.leaf_of(root as usize, |feature| rows.column(feature)[row]);
            u32::try_from(leaf).expect("fewer than 2³² nodes")
        };
        let of_tree = |&root: &u32| (0..rows.count).map(move |row| leaf(root, row));
        Self::with_leaves(rows, (roots, nodes), roots.iter().flat_map(of_tree).collect())
    }

    /// The same where the leaf of every different row in each tree is known.
    pub(crate) fn with_leaves(
        rows: &MergedRows,
        (roots, nodes): (&[u32], &TreeNodes),
        leaves: Vec<u32>,
    ) -> Self {
        Self { roots: roots.to_vec(), nodes: nodes.clone(), leaves, rows: rows.count }
    }

    /// The leaves of the different rows in a tree, among the nodes of all trees.
    pub(crate) fn leaves(&self, tree: usize) -> &[u32] {
        &self.leaves[tree * self.rows..][..self.rows]
    }

    /// The nodes of a tree among those of all trees.
    pub(crate) fn range(&self, tree: usize) -> Range<usize> {
        let end = self.roots.get(tree + 1).map_or(self.nodes.count(), |next| *next as usize);
        self.roots[tree] as usize..end
    }

    /// The nodes of all trees without labels, with room for them.
    pub(crate) fn unlabelled(&self) -> TreeNodes {
        TreeNodes {
            weights: self.nodes.weights.clone(),
            features: self.nodes.features.clone(),
            thresholds: self.nodes.thresholds.clone(),
            right: self.nodes.right.clone(),
            labels: Vec::with_capacity(self.nodes.labels.len()),
        }
    }

    /// The nodes of all trees with the mean labels of what each tree sees: the given rows, if it is shown no others.
    pub(crate) fn with_means<'a>(
        &self,
        (weights, targets): (&[f64], &Targets),
        outputs: usize,
        shown: impl Fn(usize) -> Option<Shown<'a>>,
    ) -> TreeNodes {
        let mut labels = self.labels(targets.width);
        for tree in 0..self.roots.len() {
            match shown(tree) {
                Some((weights, own)) => {
                    let own = own.as_ref().unwrap_or(targets);
                    self.write_means(tree, (&weights, own), &mut labels);
                }
                None => self.write_means(tree, (weights, targets), &mut labels),
            }
        }
        let mut nodes = TreeNodes { labels, ..self.unlabelled() };
        nodes.complete_labels(outputs);
        nodes
    }

    /// The labels of all nodes, of so many numbers each: where only the second of two probabilities is asked for, it.
    fn labels(&self, width: usize) -> Vec<f64> {
        let known = self.nodes.labels.len() / self.nodes.count().max(1);
        let nodes = self.nodes.labels.chunks_exact(known.max(1));
        nodes.flat_map(|label| &label[known - width..]).copied().collect()
    }

    /// Writes the mean labels of a tree's leaves; one whose rows have no weight keeps its own.
    fn write_means(&self, tree: usize, (weights, targets): (&[f64], &Targets), labels: &mut [f64]) {
        let (width, range) = (targets.width, self.range(tree));
        let labels = &mut labels[range.start * width..range.end * width];
        let mut sums = vec![0.0; range.len()];
        let leaves = self.leaves(tree).iter().map(|&leaf| leaf as usize - range.start);
        for ((leaf, weight), y) in leaves.zip(weights).zip(targets.values.chunks_exact(width)) {
            if *weight > 0.0 {
                let label = &mut labels[leaf * width..][..width];
                // Forgotten once, before the first row that counts is added.
                if sums[leaf] == 0.0 {
                    label.fill(0.0);
                }
                sums[leaf] += weight;
                label.iter_mut().zip(y).for_each(|(sum, y)| *sum += weight * y);
            }
        }
        for (label, sum) in labels.chunks_exact_mut(width).zip(sums).filter(|(_, sum)| *sum > 0.0) {
            for number in label {
                *number /= sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        data::{Features, Labels, Task},
        model::{Boosting, ExtraTrees, Forest, LocalModel, Tree},
        random::{Purpose, Stream},
    };

    fn models() -> [Box<dyn LocalModel>; 5] {
        let forest = Forest { trees: 7, ..Forest::default() };
        [
            Box::new(Tree::default()),
            Box::new(forest.clone()),
            Box::new(ExtraTrees::from(forest)),
            Box::new(Boosting { trees: 9, ..Boosting::default() }),
            Box::new(Boosting { trees: 9, subsample: 0.6, ..Boosting::default() }),
        ]
    }

    /// Labels of a task, and the same in other units.
    fn labels(task: Task, stream: &mut Stream) -> [Labels; 2] {
        match task {
            Task::Regression => {
                let values: Vec<f64> = (0..80).map(|_| stream.normal()).collect();
                [
                    Labels::values(values.clone()),
                    Labels::values(values.iter().map(|y| 3.0 * y + 2.0).collect()),
                ]
            }
            Task::Classification { classes } => {
                let drawn: Vec<usize> = (0..80).map(|_| stream.index(classes)).collect();
                let same = Labels::classes(classes, &drawn).unwrap();
                [same.clone(), same]
            }
        }
    }

    #[test]
    fn kept_splits_with_the_labels_they_were_grown_for_are_the_same_trees_and_follow_other_units() {
        let mut stream = Stream::new(4, 0, 0, Purpose::Data);
        let names = ["a", "b"].map(String::from).into();
        // Few values, so that rows are equal; some of them do not count.
        let values = (0..160).map(|_| stream.index(7) as f64).collect();
        let features = Features::new(names, values).unwrap();
        let weights: Vec<f64> = (0..80).map(|row| f64::from(row % 4)).collect();
        for task in [
            Task::Regression,
            Task::Classification { classes: 2 },
            Task::Classification { classes: 3 },
        ] {
            let [labels, others] = labels(task, &mut stream);
            for model in models() {
                let prepared = model.prepare(&features, &weights).unwrap().unwrap();
                let (fitted, _) = prepared.fit_and_predict(&labels, &features).unwrap();
                let trees = prepared.as_keeping_splits().unwrap();
                let (grown, grown_known, splits) = trees.grow(&labels, &features).unwrap();
                assert_eq!(grown.save(), fitted.save(), "{model:?}");
                assert_eq!(grown_known, grown.predict(&features), "{model:?}");
                let (same, known) = trees.refit(&splits, &labels, &features).unwrap();
                let close = |a: &Labels, b: &Labels| {
                    let pairs = a.as_slice().iter().zip(b.as_slice());
                    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
                };
                assert!(close(&known, &grown.predict(&features)) < 1e-12, "{model:?}");
                assert!(close(&known, &same.predict(&features)) < 1e-12, "{model:?}");
                // Splits do not depend on the units of labels, so that what is kept is what would be grown.
                let (kept, _) = trees.refit(&splits, &others, &features).unwrap();
                let anew = prepared.fit(&others).unwrap();
                assert!(
                    close(&kept.predict(&features), &anew.predict(&features)) < 1e-9,
                    "{model:?}"
                );
            }
        }
    }
}
