//! Nodes with data made from a seed, and the methods that run on them.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::{
        Durable, FedRelax, Method, PersFl, PrimalDual,
        persfl::{Budget, Start},
    },
    model::{Linear, LocalModel, Tree},
    network::{Edge, Network, Node, View},
    penalty::Penalty,
    random::{Purpose, Stream},
};
use serde::{Deserialize, Serialize};

/// How nodes learn together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    FedRelax,
    /// With trees at every other node.
    Trees,
    PrimalDual,
    PersFl,
}

/// A made problem.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(crate) how: How,
    pub(crate) nodes: usize,
    pub(crate) points: usize,
    pub(crate) seed: u64,
}

/// Does something with a method of any type.
pub(crate) trait Visitor {
    type Output;
    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output;
}

const COLUMNS: usize = 4;

impl Problem {
    /// Rings of eight nodes, and a few edges between them.
    pub(crate) fn network(&self) -> Network {
        let names = (0..self.nodes).map(|node| format!("n{node}")).collect();
        let mut edges = Vec::new();
        for node in 0..self.nodes {
            let mut join = |other: usize, weight: f64| {
                let (source, target) = (node.min(other), node.max(other));
                let known = edges.iter().any(|e: &Edge| (e.source, e.target) == (source, target));
                if source != target && !known {
                    edges.push(Edge { source, target, weight });
                }
            };
            let ring = node / 8 * 8;
            let size = 8.min(self.nodes - ring);
            join(ring + (node - ring + 1) % size, 1.0);
            join((node + 5) % self.nodes, 0.25);
        }
        Network::new(names, edges).unwrap()
    }

    pub(crate) fn public(&self) -> Arc<Features> {
        let mut stream = Stream::new(self.seed, 0, 0, Purpose::Public);
        let values = (0..self.points * COLUMNS).map(|_| stream.normal()).collect();
        let names: Arc<[String]> = (0..COLUMNS).map(|k| format!("x{k}")).collect();
        Arc::new(Features::new(names, values).unwrap())
    }

    fn node(&self, id: usize, public: &Arc<Features>) -> Node {
        let mut stream = Stream::new(self.seed, id, 0, Purpose::Data);
        let rows = 6;
        let values: Vec<f64> = (0..rows * COLUMNS).map(|_| stream.normal()).collect();
        let slope = |k: usize| (k as f64 - 1.0) + (id / 8) as f64;
        let label = |row: &[f64]| row.iter().enumerate().map(|(k, x)| slope(k) * x).sum::<f64>();
        let labels: Vec<f64> =
            values.chunks(COLUMNS).map(|row| label(row) + 0.3 * stream.normal()).collect();
        let features = Features::new(public.names().clone(), values).unwrap();
        let data = Dataset::new(features, Labels::values(labels)).unwrap().with_total_weight(1.0);
        let model: Arc<dyn LocalModel> = match self.how {
            How::Trees if id % 2 == 1 => Arc::new(Tree { max_depth: 2, min_leaf_weight: 0.0 }),
            _ => Arc::new(Linear { ridge: 0.01, intercept: true }),
        };
        Node { id, data, model, public: public.clone() }
    }

    /// All nodes of another network, which has more of them, or other edges.
    pub(crate) fn views_in(&self, network: &Network) -> Vec<View> {
        let public = self.public();
        network.views((0..network.len()).map(|id| self.node(id, &public)).collect()).unwrap()
    }

    /// The views of some nodes.
    pub(crate) fn views(&self, nodes: &[usize]) -> Vec<View> {
        let public = self.public();
        let all = (0..self.nodes).map(|id| self.node(id, &public)).collect();
        let views = self.network().views(all).unwrap();
        views.into_iter().filter(|view| nodes.contains(&view.node.id)).collect()
    }

    pub(crate) fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        match self.how {
            How::FedRelax | How::Trees => {
                visitor.visit(&FedRelax { alpha: 0.3, clip: Some(5.0), ..FedRelax::default() })
            }
            How::PrimalDual => visitor.visit(&PrimalDual {
                alpha: 0.05,
                penalty: Penalty::Norm,
                ..PrimalDual::default()
            }),
            How::PersFl => visitor.visit(&PersFl {
                candidates: 2,
                start: Start::Local,
                budget: Budget::Half,
                seed: self.seed,
                ..PersFl::default()
            }),
        }
    }
}
