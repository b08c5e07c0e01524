//! Shapley values of a tree,
//!
//! ```text
//! part_k = Σ_S |S|! (n − |S| − 1)! / n!  (v(S ∪ k) − v(S))      over sets S of other features
//! ```
//!
//! where v(S) is the mean leaf of a row of which only the features in S are known: at a split by one of them it goes as the
//! row does, at any other both ways, in proportion to the weights of the training rows that went there. [Lundberg, Erion,
//! Lee, "Consistent individualized feature attribution for tree ensembles", 2018, algorithm 2, which takes
//! O(leaves · depth²) steps.]

use crate::{algebra::add_scaled, model::TreeNodes};

/// One tree of a list.
#[derive(Debug)]
pub(super) struct TreeShapley<'a> {
    nodes: &'a TreeNodes,
    root: usize,
    width: usize,
}

/// A feature on the way from the root to a node.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The feature; none for the root.
    feature: Option<usize>,
    /// The share of rows that go on where the feature is not known.
    unknown: f64,
    /// One if the row itself goes on, or else zero.
    known: f64,
    /// The weights of sets of as many known features as the step has places before it.
    weight: f64,
}

impl<'a> TreeShapley<'a> {
    /// The tree of a root whose leaves have labels of so many numbers.
    pub(super) fn new(nodes: &'a TreeNodes, root: usize, width: usize) -> Self {
        Self { nodes, root, width }
    }

    /// The mean label of the rows that the tree has seen.
    pub(super) fn mean(&self) -> Vec<f64> {
        let (mut mean, mut open) = (vec![0.0; self.width], vec![(self.root, 1.0)]);
        while let Some((node, share)) = open.pop() {
            if let Some(branches) = self.branches(node) {
                open.extend(branches.map(|(node, part)| (node, share * part)));
            } else {
                add_scaled(&mut mean, share, self.label(node));
            }
        }
        mean
    }

    /// Adds what each feature of a row adds: all features of the first output, then of the second, and so on.
    pub(super) fn add(&self, x: &[f64], parts: &mut [f64]) {
        self.visit(self.root, x, &[], (1.0, 1.0, None), parts);
    }

    fn label(&self, node: usize) -> &[f64] {
        &self.nodes.labels[node * self.width..(node + 1) * self.width]
    }

    /// The branches of a node with their shares of its rows; none of a leaf.
    fn branches(&self, node: usize) -> Option<[(usize, f64); 2]> {
        let right = self.nodes.right[node] as usize;
        let weights = &self.nodes.weights;
        (right > node).then(|| {
            let all = weights[node + 1] + weights[right];
            [(node + 1, weights[node + 1] / all), (right, weights[right] / all)]
        })
    }

    fn visit(
        &self,
        node: usize,
        x: &[f64],
        before: &[Step],
        (unknown, known, feature): (f64, f64, Option<usize>),
        parts: &mut [f64],
    ) {
        let mut path = before.to_vec();
        extend(&mut path, unknown, known, feature);
        let Some(branches) = self.branches(node) else {
            for at in 1..path.len() {
                let step = path[at];
                let Some(feature) = step.feature else { continue };
                let weight = weight_without(&path, at) * (step.known - step.unknown);
                for (output, label) in self.label(node).iter().enumerate() {
                    parts[output * x.len() + feature] += weight * label;
                }
            }
            return;
        };
        let feature = self.nodes.features[node] as usize;
        let (mut unknown, mut known) = (1.0, 1.0);
        // A feature that was asked for before counts once, by what both answers leave.
        if let Some(at) = path.iter().position(|step| step.feature == Some(feature)) {
            (unknown, known) = (path[at].unknown, path[at].known);
            unwind(&mut path, at);
        }
        let goes_left = x[feature] <= self.nodes.thresholds[node];
        for ((branch, share), is_left) in branches.into_iter().zip([true, false]) {
            let known = if is_left == goes_left { known } else { 0.0 };
            self.visit(branch, x, &path, (unknown * share, known, Some(feature)), parts);
        }
    }
}

/// Appends a step to a path: sets without and with its feature.
fn extend(path: &mut Vec<Step>, unknown: f64, known: f64, feature: Option<usize>) {
    let weight = if path.is_empty() { 1.0 } else { 0.0 };
    path.push(Step { feature, unknown, known, weight });
    let last = path.len() - 1;
    let size = path.len() as f64;
    for at in (0..last).rev() {
        let own = path[at].weight;
        path[at + 1].weight += known * own * (at + 1) as f64 / size;
        path[at].weight = unknown * own * (last - at) as f64 / size;
    }
}

/// Takes a step out of a path, as if it had never been appended.
fn unwind(path: &mut Vec<Step>, at: usize) {
    let weights = unwound(path, at);
    for place in at..path.len() - 1 {
        let Step { feature, unknown, known, .. } = path[place + 1];
        path[place] = Step { feature, unknown, known, ..path[place] };
    }
    path.pop();
    path.iter_mut().zip(weights).for_each(|(step, weight)| step.weight = weight);
}

/// The weights that a path has without one of its steps.
fn unwound(path: &[Step], at: usize) -> Vec<f64> {
    let (last, size) = (path.len() - 1, path.len() as f64);
    let Step { unknown, known, .. } = path[at];
    let mut weights: Vec<f64> = path[..last].iter().map(|step| step.weight).collect();
    let mut next = path[last].weight;
    for place in (0..last).rev() {
        if known > 0.0 {
            let own = weights[place];
            weights[place] = next * size / ((place + 1) as f64 * known);
            next = own - weights[place] * unknown * (last - place) as f64 / size;
        } else {
            weights[place] *= size / (unknown * (last - place) as f64);
        }
    }
    weights
}

/// The sum of these weights.
fn weight_without(path: &[Step], at: usize) -> f64 {
    unwound(path, at).iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// A tree of random splits, thresholds, labels and weights, of at most so many levels.
    fn grown(stream: &mut Stream, columns: usize, depth: usize) -> TreeNodes {
        let mut nodes = TreeNodes::default();
        add(&mut nodes, stream, columns, depth);
        nodes
    }

    fn add(nodes: &mut TreeNodes, stream: &mut Stream, columns: usize, depth: usize) -> f64 {
        let node = nodes.count();
        nodes.push();
        nodes.weights.push(0.0);
        nodes.labels.extend([stream.normal(), stream.normal()]);
        let weight = if depth == 0 || stream.uniform() < 0.15 {
            0.05 + stream.uniform()
        } else {
            nodes.features[node] = u32::try_from(stream.index(columns)).unwrap();
            nodes.thresholds[node] = 0.7 * stream.normal();
            let left = add(nodes, stream, columns, depth - 1);
            nodes.right[node] = u32::try_from(nodes.count()).unwrap();
            left + add(nodes, stream, columns, depth - 1)
        };
        nodes.weights[node] = weight;
        weight
    }

    /// The mean leaf of a row of which only some features are known.
    fn value(tree: &TreeShapley, node: usize, x: &[f64], known: usize) -> f64 {
        let Some(branches) = tree.branches(node) else { return tree.label(node)[1] };
        let feature = tree.nodes.features[node] as usize;
        if known >> feature & 1 == 1 {
            let goes_left = x[feature] <= tree.nodes.thresholds[node];
            return value(tree, branches[usize::from(!goes_left)].0, x, known);
        }
        branches.iter().map(|(branch, share)| share * value(tree, *branch, x, known)).sum()
    }

    /// The Shapley value of a feature by its definition, over all sets of others.
    fn by_definition(tree: &TreeShapley, x: &[f64], feature: usize) -> f64 {
        let count = x.len();
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        let without = (0..1_usize << count).filter(|set| set >> feature & 1 == 0);
        without
            .map(|set| {
                let size = set.count_ones() as usize;
                let share = factorial(size) * factorial(count - size - 1) / factorial(count);
                let gain =
                    value(tree, tree.root, x, set | 1 << feature) - value(tree, tree.root, x, set);
                share * gain
            })
            .sum()
    }

    #[test]
    fn parts_are_shapley_values_by_their_definition() {
        for seed in 0..60 {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
            let columns = 1 + stream.index(6);
            let depth = stream.index(7);
            let nodes = grown(&mut stream, columns, depth);
            let tree = TreeShapley::new(&nodes, 0, 2);
            let x: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
            let mut parts = vec![0.0; 2 * columns];
            tree.add(&x, &mut parts);
            for feature in 0..columns {
                let expected = by_definition(&tree, &x, feature);
                let found = parts[columns + feature];
                assert!((found - expected).abs() < 1e-9, "{seed}: {found} {expected}");
            }
            let label = tree.label(nodes.leaf(0, &x));
            let sums = parts.chunks_exact(columns).map(|own| own.iter().sum::<f64>());
            for ((sum, mean), label) in sums.zip(tree.mean()).zip(label) {
                assert!((mean + sum - label).abs() < 1e-9);
            }
        }
    }
}
