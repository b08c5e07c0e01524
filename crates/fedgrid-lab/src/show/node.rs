//! One node of a finished run: its errors, its model, and who pulls it.

use std::collections::BTreeMap;

use fedgrid::compare::{Card, Contestant, NodeScore};
use serde::Serialize;

use super::{
    finished::FinishedRun,
    importance::Importance,
    rules::{Rules, rules},
    tables,
};
use crate::{
    assembly::Assembly,
    coefficients::CoefficientName,
    error::{Error, Result},
    experiment::advice,
    outcome::NodeOutcome,
    run::RunModels,
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
    /// The same of one model for all; none if the run's tables cannot be read.
    pub pooled: Option<f64>,
    /// The mean of the neighbours', by weights of edges; none without neighbours.
    pub neighbours: Option<f64>,
}

/// A neighbour of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeighbourView {
    /// Its name.
    pub node: String,
    /// The weight of the edge.
    pub weight: f64,
    /// The part of that in the weights of all edges of the node.
    pub share: f64,
}

impl NodeView {
    /// The node of this name.
    pub fn of(run: &FinishedRun, name: &str) -> Result<Self> {
        let nodes = &run.outcome.nodes;
        let place = nodes.iter().position(|node| node.name == name).ok_or_else(|| {
            let advice = advice(name, nodes.iter().map(|node| node.name.as_str()));
            let folder = run.folder.display();
            Error::input(format!("'{name}' is not a node of the run in '{folder}'{advice}"))
        })?;
        let model = run.models.by_node.get(name).ok_or_else(|| {
            let folder = run.folder.display();
            Error::input(format!("'{folder}' holds no model of node '{name}'"))
        })?;
        let mut view = Self {
            about: nodes[place].clone(),
            metric: run.outcome.metric.clone(),
            errors: errors(&run.cards, place),
            coefficients: Vec::new(),
            pulled_by: None,
            importance: None,
            rules: rules(model.as_ref(), &run.models.about),
            notes: Vec::new(),
        };
        let RunModels { used, advised, .. } = &run.models;
        if used != advised {
            view.notes.push(format!(
                "the models are those of {used}, the run's own method; the verdict advises {advised}, by which predict \
                 predicts"
            ));
        }
        let by_node = coefficients(run)?;
        view.coefficients = by_node.get(name).cloned().unwrap_or_default();
        match tables::assembly(&run.folder) {
            Ok(assembly) => view.add_tables(run, &assembly, &by_node),
            Err(error) => view.notes.push(format!(
                "neighbours, pooled coefficients and importance of columns need the run's tables, which the folder \
                 does not hold: {error}"
            )),
        }
        Ok(view)
    }

    /// Adds what only the run's tables can tell.
    fn add_tables(&mut self, run: &FinishedRun, assembly: &Assembly, by_node: &ByNode) {
        let network = &assembly.study.network;
        let names = network.names();
        let Some(place) = names.iter().position(|own| *own == self.about.name) else {
            self.notes.push("the run's tables have changed: the node is not there".into());
            return;
        };
        let all = network.degree(place);
        let neighbour = |&(other, weight): &(usize, f64)| NeighbourView {
            node: names[other].clone(),
            weight,
            share: weight / all,
        };
        let mut pulled: Vec<NeighbourView> =
            network.neighbours(place).iter().map(neighbour).collect();
        pulled.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.node.cmp(&b.node)));
        self.add_others(&pulled, by_node);
        self.pulled_by = Some(pulled);
        if !self.coefficients.is_empty() {
            let maps = tables::pooled_coefficients(assembly, &run.cards, place);
            let pooled: Vec<f64> = maps.into_iter().flatten().flatten().collect();
            // With a map too few, the first class has none of its own.
            let first = self.coefficients.len().saturating_sub(pooled.len());
            for (own, pooled) in self.coefficients[first..].iter_mut().zip(pooled) {
                own.pooled = Some(pooled);
            }
        }
        let model = &run.models.by_node[&self.about.name];
        match Importance::of(assembly, place, model.as_ref()) {
            Ok(importance) => self.importance = Some(importance),
            Err(reason) => self.notes.push(format!("importance of columns: {reason}")),
        }
    }

    /// Adds the means of the neighbours' coefficients.
    fn add_others(&mut self, pulled: &[NeighbourView], by_node: &ByNode) {
        let others: Vec<_> =
            pulled.iter().filter_map(|one| Some((one.weight, by_node.get(&one.node)?))).collect();
        let total: f64 = others.iter().map(|(weight, _)| weight).sum();
        for (at, own) in self.coefficients.iter_mut().enumerate() {
            let values =
                others.iter().filter_map(|(weight, all)| Some(weight * all.get(at)?.value));
            own.neighbours = (total > 0.0).then(|| values.sum::<f64>() / total);
        }
    }
}

/// The mean error of a node by each method.
fn errors(cards: &[Card], place: usize) -> Vec<NodeError> {
    let error = |card: &Card| card.nodes.get(place).and_then(NodeScore::mean);
    let is_shuffled = |card: &&Card| matches!(card.contestant, Contestant::Shuffled(_));
    let shuffled: Vec<f64> = cards.iter().filter(is_shuffled).filter_map(error).collect();
    let mean = shuffled.iter().sum::<f64>() / shuffled.len() as f64;
    let plain = cards.iter().filter(|card| !is_shuffled(card));
    let mut all: Vec<NodeError> = plain
        .map(|card| NodeError { method: card.contestant.to_string(), error: error(card) })
        .collect();
    if !shuffled.is_empty() {
        all.push(NodeError { method: "shuffled".into(), error: Some(mean) });
    }
    all
}

pub(crate) type ByNode = BTreeMap<String, Vec<NodeCoefficient>>;

/// The coefficients of all nodes, as `coefficients.csv` has them; none if there is no such file.
pub(crate) fn coefficients(run: &FinishedRun) -> Result<ByNode> {
    let path = run.folder.join("coefficients.csv");
    if !path.exists() {
        return Ok(ByNode::new());
    }
    let damaged = |row: usize| {
        let path = path.display();
        Error::input(format!("'{path}' is damaged at row {row}; run the experiment again"))
    };
    let mut reader = csv::Reader::from_path(&path).map_err(|_| damaged(0))?;
    let has_classes = reader.headers().is_ok_and(|names| names.get(1) == Some("class"));
    let mut all = ByNode::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|_| damaged(row + 1))?;
        let first = 1 + usize::from(has_classes);
        let cell = |at: usize| record.get(at).ok_or_else(|| damaged(row + 1));
        let class = cell(1)?.to_string();
        let name = CoefficientName {
            class: has_classes.then_some(class).filter(|class| !class.is_empty()),
            coefficient: cell(first)?.to_string(),
        };
        let value = cell(first + 1)?.parse().map_err(|_| damaged(row + 1))?;
        let standard_error = cell(first + 2)?.parse().ok();
        let one = NodeCoefficient { name, value, standard_error, pooled: None, neighbours: None };
        all.entry(cell(0)?.to_string()).or_default().push(one);
    }
    Ok(all)
}
