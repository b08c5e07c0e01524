//! One node of a run: its errors, its model, and who pulls it.

use serde::Serialize;

use super::{importance::Importance, rules::Rules};
use crate::{
    coefficients::CoefficientName,
    number::{percent, significant},
    outcome::{NodeOutcome, Outcome},
    summary::level_in_words,
};

/// What a run knows of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeView {
    /// What `result.json` says of it: its name, model, rows, errors and intervals.
    #[serde(flatten)]
    pub about: NodeOutcome,
    /// What errors are.
    pub metric: String,
    /// Its mean error by each method, on the rows that methods are compared by; shuffled networks as their mean.
    pub errors: Vec<NodeError>,
    /// Its coefficients, where models have any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coefficients: Vec<NodeCoefficient>,
    /// Its neighbours, the strongest first; none if the run's tables cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulled_by: Option<Vec<NeighbourView>>,
    /// What columns are worth to its model; none if the run's tables cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// Its model as rules, if it is of trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Rules>,
    /// Whose models these are, if others predict, and what cannot be shown, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl NodeView {
    /// What its intervals rest on and what came of them, in words; none without any.
    #[must_use]
    pub fn intervals(&self, outcome: &Outcome) -> Option<String> {
        let (own, level) = (self.about.interval.as_ref()?, outcome.uncertainty.as_ref()?.level);
        let basis = format!("{}: {}", level_in_words(level), own.basis);
        let width = own.width.map(|width| format!("mean width {}", significant(width)));
        let covered = own
            .covered
            .map(|share| format!("{} of the node's test rows are inside", percent(share)));
        let parts: Vec<String> = [Some(basis), width, covered].into_iter().flatten().collect();
        Some(parts.join("; "))
    }
}

/// The error of a node by a method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeError {
    /// Which method: `local`, `pooled`, `network` and so on.
    pub method: String,
    /// The mean error over the node's rows; none if no row of it is scored.
    pub error: Option<f64>,
}

/// A coefficient of a node beside those of others, in the units of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeCoefficient {
    /// Which one.
    #[serde(flatten)]
    pub name: CoefficientName,
    /// Its value.
    pub value: f64,
    /// Its standard error, where the method knows one.
    pub standard_error: Option<f64>,
    /// The same of one model for all; none if the run keeps none.
    pub pooled: Option<f64>,
    /// The mean of the neighbours', by weights of edges; none without neighbours.
    pub neighbours: Option<f64>,
}

/// A neighbour of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeighbourView {
    /// Its place among the nodes.
    #[serde(skip)]
    pub place: usize,
    /// Its name.
    pub node: String,
    /// What people call it, where columns of the table of nodes say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The weight of the edge.
    pub weight: f64,
    /// The part of that in the weights of all edges of the node.
    pub share: f64,
}
