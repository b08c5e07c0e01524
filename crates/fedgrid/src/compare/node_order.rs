//! Nodes in the order of their names: sums over them round, and streams are drawn for them, in the same way
//! wherever a table happens to have them.

use super::{Card, Fitted, Study, fitted::StartingPoint};
use crate::{
    data::{Fold, Plan, by_name},
    network::NodeId,
};

impl Study {
    /// The same study with its nodes by name, and which node is at each place; none if they are there.
    pub(super) fn by_name(&self) -> Option<(Self, Vec<NodeId>)> {
        let order = by_name(self.network.names());
        if order.is_sorted() || self.check().is_err() {
            return None;
        }
        let rows = |all: &[Vec<usize>]| chosen(all, &order);
        let folds = self.plan.folds.iter();
        let folds = folds
            .map(|fold| Fold { train: rows(&fold.train), validation: rows(&fold.validation) })
            .collect();
        let plan = Plan { folds, train: rows(&self.plan.train), test: rows(&self.plan.test) };
        let mut settings = self.settings.clone();
        settings.method = settings.method.with_nodes(&order);
        let study = Self {
            network: self.network.ordered(&order),
            rows: chosen(&self.rows, &order),
            models: chosen(&self.models, &order),
            public: chosen(&self.public, &order),
            plan,
            scales: self.scales.clone(),
            settings,
        };
        Some((study, order))
    }
}

impl Card {
    /// The card of nodes that were at the given places.
    pub(super) fn put_back(self, order: &[NodeId]) -> Self {
        Self { nodes: put_back(&self.nodes, order), ..self }
    }
}

impl Fitted {
    /// What was fitted to nodes that were at the given places.
    pub(super) fn put_back(mut self, order: &[NodeId]) -> Self {
        for tally in &mut self.tallies {
            (tally.target, tally.candidate) = (order[tally.target], order[tally.candidate]);
        }
        self.tallies.sort_by_key(|tally| (tally.target, tally.candidate));
        self.damped.iter_mut().for_each(|node| *node = order[*node]);
        self.damped.sort_unstable();
        let posterior = self.posterior.map(|posterior| posterior.put_back(&places(order)));
        Self {
            posterior,
            hypotheses: put_back(&self.hypotheses, order),
            clusters: self.clusters.map(|clusters| put_back(&clusters, order)),
            // It belongs to the other order, and nothing goes on from a final fit.
            next_start: StartingPoint::Cold,
            ..self
        }
    }
}

fn chosen<T: Clone>(all: &[T], order: &[NodeId]) -> Vec<T> {
    order.iter().map(|&node| all[node].clone()).collect()
}

fn put_back<T: Clone>(found: &[T], order: &[NodeId]) -> Vec<T> {
    chosen(found, &places(order))
}

/// Where each node is in an order.
fn places(order: &[NodeId]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
    places
}
