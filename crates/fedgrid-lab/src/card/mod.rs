//! Cards of nodes: what a run knows of each, for `fedgrid show` and for the report, which print the same.
//!
//! All of it is made here, of what a run has in memory or has left in its folder. What is not there leaves a part of the
//! card out: without models there are no rules, without rows no importance of columns.

mod importance;
mod node;
mod rules;

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{
    compare::{Card, Contestant, NodeScore},
    model::Hypothesis,
};

pub use importance::{Importance, ImportantColumn};
pub use node::{NeighbourView, NodeCoefficient, NodeError, NodeView};
pub use rules::{Rules, rules};

use crate::{
    assembly::{Assembly, DataSchema},
    coefficients::{CoefficientName, Coefficients, NodeCoefficients},
    outcome::Outcome,
};

/// What the cards of a run are made of; nodes are numbered as in the outcome.
#[derive(Debug)]
pub struct CardParts<'a> {
    /// What the run has found.
    pub outcome: &'a Outcome,
    /// How each method did; with rolling origins, at the last of them.
    pub cards: &'a [Card],
    /// The coefficients of its own method.
    pub coefficients: &'a Coefficients,
    /// The coefficients of the pooled model, by node; nothing if there is none.
    pub pooled: Vec<Option<Vec<f64>>>,
    /// The models of its own method in the units of the table; nothing if they cannot be asked.
    pub models: Vec<Arc<dyn Hypothesis>>,
    /// What features are called; none without models.
    pub about: Option<&'a DataSchema>,
    /// The neighbours of each node with the weights of their edges; nothing if they are not known.
    pub neighbours: Vec<Vec<(usize, f64)>>,
    /// The rows, with the place of each node among theirs; none if they are not there.
    pub rows: Option<&'a Assembly>,
}

/// The coefficients of a model in one row; none if it has none.
#[must_use]
pub fn in_a_row(model: &dyn Hypothesis) -> Option<Vec<f64>> {
    model.coefficients().map(|maps| maps.into_iter().flatten().collect())
}

/// The neighbours of each of so many nodes, from edges.
#[must_use]
pub fn neighbours_of(nodes: usize, edges: &[(usize, usize, f64)]) -> Vec<Vec<(usize, f64)>> {
    let mut all = vec![Vec::new(); nodes];
    for &(a, b, weight) in edges {
        all[a].push((b, weight));
        all[b].push((a, weight));
    }
    all
}

impl CardParts<'_> {
    /// The cards of all nodes, without the importance of columns.
    #[must_use]
    pub fn all(&self) -> Vec<NodeView> {
        let by_node = self.by_node();
        (0..self.outcome.nodes.len()).map(|place| self.plain(place, &by_node)).collect()
    }

    /// The card of the node at a place.
    #[must_use]
    pub fn one(&self, place: usize) -> NodeView {
        let mut view = self.plain(place, &self.by_node());
        match self.importance(place) {
            Some(Ok(importance)) => view.importance = Some(importance),
            Some(Err(reason)) => view.notes.push(format!("importance of columns: {reason}")),
            None => {}
        }
        view
    }

    /// What columns are worth to the model of a node, or why that is not known; none without rows or models.
    #[must_use]
    pub fn importance(&self, place: usize) -> Option<Result<Importance, String>> {
        let (assembly, model) = (self.rows?, self.models.get(place)?);
        let (names, name) = (assembly.study.network.names(), &self.outcome.nodes[place].name);
        let is_there = names.get(place) == Some(name);
        let row = if is_there { Some(place) } else { names.iter().position(|own| own == name) };
        let Some(row) = row else {
            return Some(Err("the run's tables have changed: the node is not there".into()));
        };
        Some(Importance::of(assembly, row, model.as_ref()))
    }

    fn by_node(&self) -> BTreeMap<usize, &NodeCoefficients> {
        self.coefficients.nodes.iter().map(|own| (own.node, own)).collect()
    }

    fn plain(&self, place: usize, by_node: &BTreeMap<usize, &NodeCoefficients>) -> NodeView {
        let model = self.models.get(place).zip(self.about);
        let mut view = NodeView {
            about: self.outcome.nodes[place].clone(),
            metric: self.outcome.metric.clone(),
            errors: self.errors(place),
            coefficients: self.coefficients(place, by_node),
            pulled_by: None,
            importance: None,
            rules: model.and_then(|(model, about)| rules(model.as_ref(), about)),
            notes: Vec::new(),
        };
        view.pulled_by = self.neighbours.get(place).map(|all| self.pulled_by(all));
        view
    }

    /// The coefficients of a node beside those of others.
    fn coefficients(
        &self,
        place: usize,
        by_node: &BTreeMap<usize, &NodeCoefficients>,
    ) -> Vec<NodeCoefficient> {
        let Some(own) = by_node.get(&place) else { return Vec::new() };
        let around = self.neighbours.get(place).map_or(&[][..], Vec::as_slice);
        let around: Vec<(f64, &[f64])> = around
            .iter()
            .filter_map(|(other, weight)| Some((*weight, by_node.get(other)?.values.as_slice())))
            .collect();
        let total: f64 = around.iter().map(|(weight, _)| weight).sum();
        let pooled = self.pooled.get(place).and_then(Option::as_deref).unwrap_or_default();
        // With a map too few, the first class has none of its own.
        let first = self.coefficients.names.len().saturating_sub(pooled.len());
        let one = |(at, name): (usize, &CoefficientName)| {
            let others = around.iter().filter_map(|(weight, all)| Some(weight * all.get(at)?));
            NodeCoefficient {
                name: name.clone(),
                value: own.values[at],
                standard_error: own.errors[at],
                pooled: at.checked_sub(first).and_then(|at| pooled.get(at).copied()),
                neighbours: (total > 0.0).then(|| others.sum::<f64>() / total),
            }
        };
        self.coefficients.names.iter().enumerate().map(one).collect()
    }

    /// Neighbours, the strongest first.
    fn pulled_by(&self, all: &[(usize, f64)]) -> Vec<NeighbourView> {
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        let neighbour = |&(place, weight): &(usize, f64)| {
            let about = &self.outcome.nodes[place];
            let (node, label) = (about.name.clone(), about.label.clone());
            NeighbourView { place, node, label, weight, share: weight / total }
        };
        let mut pulled: Vec<NeighbourView> = all.iter().map(neighbour).collect();
        pulled.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.node.cmp(&b.node)));
        pulled
    }

    /// The mean error of a node by each method; shuffled networks as their mean.
    fn errors(&self, place: usize) -> Vec<NodeError> {
        let error = |card: &Card| card.nodes.get(place).and_then(NodeScore::mean);
        let is_shuffled = |card: &&Card| matches!(card.contestant, Contestant::Shuffled(_));
        let shuffled: Vec<f64> = self.cards.iter().filter(is_shuffled).filter_map(error).collect();
        let mean = shuffled.iter().sum::<f64>() / shuffled.len() as f64;
        let plain = self.cards.iter().filter(|card| !is_shuffled(card));
        let mut all: Vec<NodeError> = plain
            .map(|card| NodeError { method: card.contestant.to_string(), error: error(card) })
            .collect();
        if !shuffled.is_empty() {
            all.push(NodeError { method: "shuffled".into(), error: Some(mean) });
        }
        all
    }
}
