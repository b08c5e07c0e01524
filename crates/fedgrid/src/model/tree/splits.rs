//! Trees that keep their splits while labels change a little,
//!
//! ```text
//! label of a leaf = Σ_r weight_r y_r / Σ_r weight_r      over its rows r
//! ```
//!
//! which takes a small part of the time that growing takes.

use super::{MergedRows, Targets, TreeNodes};

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
        let mut leaves = Vec::with_capacity(roots.len() * rows.count);
        for &root in roots {
            let leaf = |row: usize| nodes.leaf_of(root as usize, |k| rows.column(k)[row]);
            // A node counts as much as its index, which is below 2³².
            leaves.extend((0..rows.count).map(leaf).map(|leaf| u32::try_from(leaf).unwrap_or(0)));
        }
        Self { roots: roots.to_vec(), nodes: nodes.clone(), leaves, rows: rows.count }
    }

    /// The leaves of the different rows in a tree.
    pub(crate) fn leaves(&self, tree: usize) -> &[u32] {
        &self.leaves[tree * self.rows..][..self.rows]
    }

    /// The labels of all nodes, of so many numbers each: where only the second of two probabilities is asked for, it.
    pub(crate) fn labels(&self, width: usize) -> Vec<f64> {
        let known = self.nodes.labels.len() / self.nodes.count().max(1);
        let nodes = self.nodes.labels.chunks_exact(known.max(1));
        nodes.flat_map(|label| &label[known - width..]).copied().collect()
    }

    /// Writes the mean labels of a tree's leaves; one whose rows have no weight keeps its own.
    pub(crate) fn write_means(
        &self,
        tree: usize,
        (weights, targets): (&[f64], &Targets),
        labels: &mut [f64],
    ) {
        let width = targets.width;
        let mut sums = vec![0.0; self.nodes.count()];
        let rows = || self.leaves(tree).iter().map(|&leaf| leaf as usize).zip(weights);
        for (leaf, weight) in rows() {
            // Forgotten once, before the first row that counts is added.
            if *weight > 0.0 && sums[leaf] == 0.0 {
                labels[leaf * width..][..width].fill(0.0);
            }
            sums[leaf] += weight;
        }
        for ((leaf, weight), y) in rows().zip(targets.values.chunks_exact(width)) {
            if *weight > 0.0 {
                let label = &mut labels[leaf * width..][..width];
                label.iter_mut().zip(y).for_each(|(sum, y)| *sum += weight / sums[leaf] * y);
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
                let (grown, _) = prepared.fit_and_predict(&labels, &features).unwrap();
                let trees = prepared.as_keeping_splits().unwrap();
                let splits = trees.splits(grown.as_ref()).unwrap();
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
