//! Models of a run as ONNX files, which runtimes in many languages can compute.
//!
//! ```text
//! features [rows, columns] ─▶ the node's model ─▶ prediction [rows]
//! node     [rows]           ╯                     probabilities [rows, classes], class [rows]
//! ```
//!
//! All numbers are of double precision, from the features to the prediction, so that a row takes the same branch of a
//! tree as here and predictions differ in their last digits at most. Features are the columns of `about.json`, in
//! its order and in the units of the table; how they are made of categories, dates, missing cells and earlier values
//! is not part of a file, which says so. A file is of one node, or of all with the name of each row's node as an
//! input; rows of an unknown name get not-a-number.

mod files;
mod graph;
mod recipe;
mod rows;
mod trees;
mod wire;

use std::sync::Arc;

use fedgrid::{data::Task, model::Hypothesis};
use serde_json::json;

use crate::{
    assembly::DataSchema,
    columns::KnownKind,
    error::{Error, Result},
};
pub use files::{Form, write};
use graph::{Attribute, Element, Graph, Tensor, whole};
use recipe::Recipe;
use rows::{Rows, unsqueezed};

/// The models that can be exported, as messages list them.
pub const EXPORTED: &str = "linear, elastic-net, huber, quantile, poisson, logistic, graphical-lasso, tree, forest, \
                            extra-trees, boosting, perceptron and constant";

/// The models of nodes with their names.
#[derive(Debug)]
pub struct NodeModels<'a> {
    /// How rows are read.
    pub about: &'a DataSchema,
    /// The name and the model of each node.
    pub models: Vec<(&'a str, &'a Arc<dyn Hypothesis>)>,
}

impl NodeModels<'_> {
    /// A file of one of these nodes.
    pub fn file_of_node(&self, node: usize) -> Result<Vec<u8>> {
        let mut graph = Graph::default();
        let recipe = self.recipe(node)?;
        let rows = Rows { features: self.features(&mut graph), place: None };
        let found = rows.predictions(&mut graph, &[recipe]);
        self.give(&mut graph, &found, None);
        let (name, target) = (self.models[node].0, &self.about.target);
        let mut facts = self.facts();
        facts.push(("fedgrid.node", name.into()));
        Ok(graph.into_file(&format!("fedgrid: {target} of node {name}"), &facts))
    }

    /// A file of all these nodes, which takes the name of each row's node besides its features.
    pub fn file_of_all(&self) -> Result<Vec<u8>> {
        let mut graph = Graph::default();
        let all =
            (0..self.models.len()).map(|node| self.recipe(node)).collect::<Result<Vec<_>>>()?;
        let features = self.features(&mut graph);
        let names = graph.input("node", Element::Text, None);
        let places: Vec<i64> = (0..all.len()).map(whole).collect();
        let told = [
            Attribute::texts("keys_strings", self.models.iter().map(|(name, _)| *name)),
            Attribute::ints("values_int64s", &places),
            Attribute::int("default_int64", -1),
        ];
        let place = graph.ml_op("LabelEncoder", &names, &told);
        let zero = graph.constant(Tensor::ints(&[1], &[0]));
        let is_unknown = graph.op("Less", &[&place, &zero], &[]);
        // Some node must be asked; its answer is not taken.
        let place = graph.op("Max", &[&place, &zero], &[]);
        let rows = Rows { features, place: Some(place) };
        let found = rows.predictions(&mut graph, &all);
        self.give(&mut graph, &found, Some(&is_unknown));
        let mut facts = self.facts();
        facts.push(("fedgrid.node_column", self.about.node.clone()));
        let description = format!("fedgrid: {}, each row by its node's model", self.about.target);
        Ok(graph.into_file(&description, &facts))
    }

    /// What stays outside of files, in a sentence; none if features are columns of the table as they are.
    #[must_use]
    pub fn preparation(&self) -> Option<String> {
        let treatments = self.about.column_plan().treatments();
        let told = treatments.iter().map(|(name, treatment, _)| format!("{name} ({treatment})"));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| {
            let told = told.join("; ");
            format!("the file takes features as models see them; made outside of it: {told}")
        })
    }

    fn recipe(&self, node: usize) -> Result<Recipe<'_>> {
        let (name, model) = self.models[node];
        Recipe::of(model.as_ref(), &self.about.features).ok_or_else(|| {
            let stored = model.save();
            let kind = stored.map_or_else(String::new, |stored| format!(" {}", stored.kind()));
            Error::input(format!(
                "the{kind} model of node '{name}' cannot be exported as ONNX; {EXPORTED} models can"
            ))
        })
    }

    fn features(&self, graph: &mut Graph) -> String {
        graph.input("features", Element::Double, Some(self.about.features.len()))
    }

    /// Gives predictions to the caller; rows of unknown nodes have none.
    fn give(&self, graph: &mut Graph, found: &str, is_unknown: Option<&str>) {
        let mut found = found.to_string();
        if let Some(is_unknown) = is_unknown {
            let nothing = graph.constant(Tensor::doubles(&[1, 1], &[f64::NAN]));
            let is_unknown = unsqueezed(graph, is_unknown);
            found = graph.op("Where", &[&is_unknown, &nothing, &found], &[]);
        }
        match self.about.task {
            Task::Regression => {
                let axis = graph.constant(Tensor::ints(&[1], &[1]));
                let found = graph.op("Squeeze", &[&found, &axis], &[]);
                let found = self.completed(graph, found);
                graph.output("prediction", &found, (Element::Double, None));
            }
            Task::Classification { classes } => {
                let told = [Attribute::int("axis", 1), Attribute::int("keepdims", 0)];
                let best = graph.op("ArgMax", &[&found], &told);
                let names = self.about.classes.iter().map(String::as_str);
                let names = graph.constant(Tensor::texts(&[classes], names));
                let mut class = graph.op("Gather", &[&names, &best], &[]);
                if let Some(is_unknown) = is_unknown {
                    let nothing = graph.constant(Tensor::texts(&[1], [""]));
                    class = graph.op("Where", &[is_unknown, &nothing, &class], &[]);
                }
                graph.output("class", &class, (Element::Text, None));
                graph.output("probabilities", &found, (Element::Double, Some(classes)));
            }
        }
    }

    /// A prediction with the part of the target that is known beforehand, which is one more input.
    fn completed(&self, graph: &mut Graph, found: String) -> String {
        let Some(part) = &self.about.known else { return found };
        let known = graph.input(part.role(), Element::Double, None);
        match part.kind {
            KnownKind::Offset => graph.op("Add", &[&found, &known], &[]),
            KnownKind::Exposure => graph.op("Mul", &[&found, &known], &[]),
            KnownKind::LogExposure => {
                let exposure = graph.op("Exp", &[&known], &[]);
                graph.op("Mul", &[&found, &exposure], &[])
            }
        }
    }

    /// What a file says of itself.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let about = self.about;
        let task = if about.classes.is_empty() { "regression" } else { "classification" };
        let preparation = self.preparation();
        let mut facts = vec![
            ("fedgrid.task", task.into()),
            ("fedgrid.target", about.target.clone()),
            ("fedgrid.features", json!(about.features).to_string()),
            ("fedgrid.preparation", preparation.unwrap_or_else(|| "none".into())),
        ];
        if !about.classes.is_empty() {
            facts.push(("fedgrid.classes", json!(about.classes).to_string()));
        }
        if let Some(part) = &about.known {
            facts.push(("fedgrid.known_column", part.column.clone()));
        }
        facts
    }
}
