//! Small networks of linear nodes, and ways to split them into processes.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{Hypothesis, Linear, LocalModel},
    network::{Edge, Network, Node, View},
    random::{Purpose, Stream},
    runtime::{Layout, Run},
};

/// Clusters of nodes: the chance of an edge is 0.6 inside and 0.05 between, as far as the drawn ring that
/// joins all is not enough.
pub(crate) fn network(nodes: usize, clusters: usize, seed: u64) -> Network {
    let mut stream = Stream::new(seed, 0, 0, Purpose::Network);
    let names = (0..nodes).map(|id| format!("n{id}")).collect();
    let mut edges = Vec::new();
    for source in 0..nodes {
        for target in source + 1..nodes {
            let chance = if source % clusters == target % clusters { 0.6 } else { 0.05 };
            if target == source + 1 || stream.uniform() < chance {
                let weight = 0.5 + stream.uniform();
                edges.push(Edge { source, target, weight });
            }
        }
    }
    Network::new(names, edges).unwrap()
}

/// A model, how many rows a node has, how many features and how many public points.
pub(crate) struct Shape {
    pub(crate) model: Arc<dyn LocalModel>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) points: usize,
}

impl Default for Shape {
    fn default() -> Self {
        let model = Arc::new(Linear { ridge: 0.01, intercept: true });
        Self { model, rows: 6, columns: 2, points: 5 }
    }
}

impl Shape {
    /// Linear models with this ridge and no intercept.
    pub(crate) fn without_intercept(ridge: f64) -> Self {
        Self { model: Arc::new(Linear { ridge, intercept: false }), ..Self::default() }
    }

    /// Nodes whose weights are those of their cluster.
    pub(crate) fn views(&self, network: &Network, clusters: usize, seed: u64) -> Vec<View> {
        let names: Arc<[String]> = (0..self.columns).map(|k| format!("x{k}")).collect();
        let features = |stream: &mut Stream, rows: usize| {
            let values = (0..rows * self.columns).map(|_| stream.normal()).collect();
            Features::new(names.clone(), values).unwrap()
        };
        let public = Arc::new(features(&mut Stream::new(seed, 0, 0, Purpose::Public), self.points));
        let node = |id: usize| {
            let mut truth = Stream::new(seed, id % clusters, 1, Purpose::Data);
            let w: Vec<f64> = (0..self.columns).map(|_| 2.0 * truth.normal()).collect();
            let mut stream = Stream::new(seed, id, 0, Purpose::Data);
            let x = features(&mut stream, self.rows);
            let label = |x: &[f64]| x.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>();
            let y = x.iter().map(label).collect::<Vec<_>>();
            let y = y.into_iter().map(|y| y + 0.3 * stream.normal()).collect();
            let data = Dataset::new(x, Labels::values(y)).unwrap();
            Node { id, data, model: self.model.clone(), public: public.clone() }
        };
        network.views((0..network.len()).map(node).collect()).unwrap()
    }
}

/// Several ways to host a network: alone, apart, and in between.
pub(crate) fn layouts(network: &Network) -> Vec<Layout> {
    let count = network.len();
    let split =
        |processes: usize| (0..count).map(|id| (id * 7 + 3) % processes).collect::<Vec<_>>();
    let layouts = [vec![0; count], (0..count).collect(), split(3), split(5)];
    layouts.iter().map(|process_of| Layout::new(network, process_of).unwrap()).collect()
}

/// Whether two lists of hypotheses have the same bits.
pub(crate) fn same_bits(run: &Run, hypotheses: &[Option<Arc<dyn Hypothesis>>]) -> bool {
    let stored = |all: &[Option<Arc<dyn Hypothesis>>]| {
        all.iter().map(|one| one.as_ref().map(|one| one.save())).collect::<Vec<_>>()
    };
    stored(&run.hypotheses) == stored(hypotheses)
}
