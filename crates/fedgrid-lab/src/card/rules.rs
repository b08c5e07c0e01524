//! Trees as rules to read, in the units of the table.

use std::borrow::Cow;

use fedgrid::{
    data::{Scaling, Task},
    model::{
        BoostingHypothesis, ForestHypothesis, Hypothesis, RescaledHypothesis, TreeHypothesis,
        TreeNodes,
    },
};
use serde::Serialize;

use crate::{
    assembly::DataSchema,
    number::{counted, significant},
};

/// A tree as lines to read, and how many trees there are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rules {
    /// How many trees the model has.
    pub trees: usize,
    /// What the trees add to; none where the model is their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Vec<f64>>,
    /// The first tree, a line for each node.
    pub lines: Vec<String>,
}

impl Rules {
    /// Which tree is shown, and what becomes of it.
    #[must_use]
    pub fn head(&self) -> String {
        let trees = counted(self.trees, "tree");
        match &self.start {
            None if self.trees == 1 => "the tree".into(),
            None => format!("the first of {trees}, whose mean is predicted"),
            Some(start) => {
                let start: Vec<String> = start.iter().map(|start| significant(*start)).collect();
                format!("the first of {trees}, which are added to {}", start.join(", "))
            }
        }
    }
}

/// A tree with what its numbers mean.
struct Reader<'a> {
    names: &'a [String],
    nodes: &'a TreeNodes,
    width: usize,
    scaling: Option<(&'a [String], &'a Scaling)>,
    unit: f64,
    classes: Cow<'a, [String]>,
}

/// The rules of a model of trees; none for others.
#[must_use]
pub fn rules(model: &dyn Hypothesis, about: &DataSchema) -> Option<Rules> {
    let rescaled = model.downcast_ref::<RescaledHypothesis>();
    let inner = rescaled.map_or(model, |rescaled| rescaled.model.as_ref());
    let scaling = rescaled.map(|own| (own.scales.names(), own.scales.scaling()));
    let unit = rescaled.filter(|own| own.task == Task::Regression);
    let unit = unit.map_or(1.0, |own| own.scales.target());
    let reader = |names, nodes, width| Reader {
        names,
        nodes,
        width,
        scaling,
        unit,
        classes: Cow::Borrowed(&about.classes),
    };
    if let Some(TreeHypothesis { names, task, nodes }) = inner.downcast_ref() {
        let lines = reader(names, nodes, task.outputs()).lines();
        return Some(Rules { trees: 1, start: None, lines });
    }
    if let Some(ForestHypothesis { names, task, roots, nodes }) = inner.downcast_ref() {
        let lines = reader(names, nodes, task.outputs()).lines();
        return Some(Rules { trees: roots.len(), start: None, lines });
    }
    let BoostingHypothesis { names, start, roots, nodes, .. } = inner.downcast_ref()?;
    let mut own = reader(names, nodes, start.len());
    // A single score of classes is that of the second.
    if own.width == 1 {
        own.classes = Cow::Borrowed(&[]);
    }
    let lines = if roots.is_empty() { Vec::new() } else { own.lines() };
    let start = start.iter().map(|start| unit * start).collect();
    Some(Rules { trees: roots.len(), start: Some(start), lines })
}

impl Reader<'_> {
    /// The first tree, each node below its parent and further to the right.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        // What is still to be said: a node, how far to the right, and how its line begins.
        let mut open = vec![(0, 0, String::new())];
        while let Some((node, depth, begin)) = open.pop() {
            let indent = "  ".repeat(depth);
            let right = self.nodes.right[node] as usize;
            if right <= node {
                lines.push(format!("{indent}{begin}{}", self.label(node)));
                continue;
            }
            if !begin.is_empty() {
                lines.push(format!("{indent}{}", begin.trim_end_matches([':', ' '])));
            }
            let depth = depth + usize::from(!begin.is_empty());
            let (name, threshold) = self.question(node);
            let threshold = significant(threshold);
            open.push((right, depth, format!("{name} > {threshold}: ")));
            open.push((node + 1, depth, format!("{name} <= {threshold}: ")));
        }
        lines
    }

    /// The feature that a node asks for, and its threshold in the units of the table.
    fn question(&self, node: usize) -> (&str, f64) {
        let name = &self.names[self.nodes.features[node] as usize];
        let threshold = self.nodes.thresholds[node];
        let scaled = self.scaling.and_then(|(names, scaling)| {
            let column = names.iter().position(|own| own == name)?;
            Some(threshold * scaling.deviations[column] + scaling.means[column])
        });
        (name, scaled.unwrap_or(threshold))
    }

    fn label(&self, node: usize) -> String {
        let label = &self.nodes.labels[node * self.width..(node + 1) * self.width];
        if self.classes.len() != label.len() {
            return significant(self.unit * label[0]);
        }
        let pairs = self.classes.iter().zip(label);
        pairs
            .map(|(class, p)| format!("{class} {}", significant(*p)))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_from_left_to_right() {
        let nodes = TreeNodes {
            features: vec![0, 1, 0, 0, 0],
            thresholds: vec![0.5, 2.0, 0.0, 0.0, 0.0],
            right: vec![4, 3, 0, 0, 0],
            labels: vec![0.0, 0.0, 1.0, 2.0, 3.0],
            ..TreeNodes::default()
        };
        let names = ["x", "z"].map(String::from);
        let scaling = Scaling { means: vec![10.0, 0.0], deviations: vec![2.0, 1.0] };
        let reader = Reader {
            names: &names,
            nodes: &nodes,
            width: 1,
            scaling: Some((&names, &scaling)),
            unit: 2.0,
            classes: Cow::Borrowed(&[]),
        };
        let expected = ["x <= 11.0", "  z <= 2.00: 2.00", "  z > 2.00: 4.00", "x > 11.0: 6.00"];
        assert_eq!(reader.lines(), expected);
    }
}
