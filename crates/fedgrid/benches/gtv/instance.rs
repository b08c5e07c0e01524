//! The instances: two clusters, five rows at six of ten nodes, unit weights.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    model::Linear,
    network::{Clustered, Edge, Network, Node},
    random::{Purpose, Stream},
};

/// One instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instance {
    pub(crate) nodes: usize,
    pub(crate) features: usize,
    pub(crate) seed: u64,
}

impl Instance {
    /// Two clusters, dense for up to 300 nodes, else of mean degree ten.
    pub(crate) fn network(&self) -> Network {
        let half = self.nodes / 2;
        let (inside, between) =
            if self.nodes <= 300 { (0.5, 0.01) } else { (9.5 / half as f64, 0.5 / half as f64) };
        let made = Clustered { clusters: 2, nodes: half, inside, between, seed: self.seed };
        made.make().expect("the network can be made").0
    }

    /// The same with weights drawn from 0.1 to 2.
    pub(crate) fn uneven_network(&self) -> Network {
        let network = self.network();
        let stream = &mut Stream::new(self.seed, 0, 2, Purpose::Network);
        let edges = network.edges().iter();
        let edges: Vec<Edge> =
            edges.map(|edge| Edge { weight: 0.1 + 1.9 * stream.uniform(), ..*edge }).collect();
        Network::new(network.names().to_vec(), edges).expect("weights are positive")
    }

    /// Five rows at about six of ten nodes.
    pub(crate) fn data(&self) -> Vec<Node> {
        self.nodes(|stream| if stream.uniform() < 0.6 { 5 } else { 0 })
    }

    /// So many rows at every node.
    pub(crate) fn full(&self, rows: usize) -> Vec<Node> {
        self.nodes(|_| rows)
    }

    fn nodes(&self, count: impl Fn(&mut Stream) -> usize) -> Vec<Node> {
        let stream = &mut Stream::new(self.seed, 0, 1, Purpose::Data);
        let drawn = |stream: &mut Stream| (0..self.features).map(|_| stream.normal()).collect();
        let truth: [Vec<f64>; 2] = if self.features == 2 {
            [vec![2.0, 2.0], vec![-2.0, 2.0]]
        } else {
            [drawn(stream), drawn(stream)]
        };
        let names: Arc<[String]> = (0..self.features).map(|k| format!("x{k}")).collect();
        let public = Arc::new(Features::empty(names.clone()));
        let model = Arc::new(Linear { ridge: 0.0, intercept: false });
        let node = |id: usize| {
            let stream = &mut Stream::new(self.seed, id, 0, Purpose::Data);
            let rows = count(stream);
            let weights = &truth[usize::from(id >= self.nodes / 2)];
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..rows {
                let row: Vec<f64> = drawn(stream);
                let exact: f64 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                y.push(exact + 0.1 * stream.normal());
                x.extend(row);
            }
            let data = if rows == 0 {
                Dataset::empty(names.clone(), Task::Regression)
            } else {
                let features = Features::new(names.clone(), x).expect("draws are finite");
                let weights = vec![1.0 / rows as f64; rows];
                Dataset::weighted(features, Labels::values(y), weights).expect("as many labels")
            };
            Node { id, data, model: model.clone(), public: public.clone() }
        };
        (0..self.nodes).map(node).collect()
    }
}
