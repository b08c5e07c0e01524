//! The linear experiment of "Plug In and Learn": 150 nodes, d = 10, 500 RMSprop rounds.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features},
    descent::Optimiser,
    model::{Linear, LocalModel},
    network::{Clustered, Network, Node},
    optimum::{LinearNetwork, Rounds},
    random::{Purpose, Stream},
};

use crate::peer::{Peer, difference, numbers, seconds, timed};

const ROUNDS: usize = 500;
const ALPHA: f64 = 0.01;

/// The paper's clustered network with its data and public points.
pub(crate) struct Experiment {
    pub(crate) network: Network,
    data: Vec<Dataset>,
    public: Vec<Arc<Features>>,
}

impl Experiment {
    pub(crate) fn new(features: usize, own_sets: bool) -> Self {
        let made = Clustered { clusters: 3, nodes: 50, inside: 0.8, between: 0.2, seed: 1 };
        let (network, _) = made.make().expect("the network can be made");
        let data = made.linear_data(features, 10, 0.0).expect("the data can be made").data;
        let rounded = |data: &Dataset| {
            let features = Features::new(data.features().names().clone(), single(data.features()));
            Dataset::new(features.expect("finite"), data.labels().clone()).expect("same sizes")
        };
        let data: Vec<Dataset> = data.iter().map(rounded).collect();
        let names: Arc<[String]> = data[0].features().names().clone();
        let draw = |node: usize| {
            let mut stream = Stream::new(2, node, 0, Purpose::Public);
            let values = (0..100 * features).map(|_| stream.normal()).collect();
            let points = Features::new(names.clone(), values).expect("normal draws are finite");
            Arc::new(Features::new(names.clone(), single(&points)).expect("finite"))
        };
        let common = draw(usize::MAX);
        let set = |node: usize| if own_sets { draw(node) } else { common.clone() };
        Self { public: (0..data.len()).map(set).collect(), network, data }
    }

    pub(crate) fn nodes(&self, model: &Arc<dyn LocalModel>) -> Vec<Node> {
        let node = |(id, data): (usize, &Dataset)| Node {
            id,
            data: data.clone(),
            model: model.clone(),
            public: self.public[id].clone(),
        };
        self.data.iter().enumerate().map(node).collect()
    }

    /// Writes everything for the peer.
    pub(crate) fn write(&self, peer: &Peer) {
        let all = |part: fn(&Dataset) -> &[f64]| self.data.iter().flat_map(part).copied();
        peer.write("x", &all(|data| data.features().values()).collect::<Vec<_>>());
        peer.write("y", &all(|data| data.labels().as_slice()).collect::<Vec<_>>());
        let points = self.public.iter().flat_map(|points| points.values()).copied();
        peer.write("p", &points.collect::<Vec<_>>());
        let count = self.data.len();
        let mut adjacency = vec![0.0; count * count];
        for edge in self.network.edges() {
            adjacency[edge.source * count + edge.target] = edge.weight;
            adjacency[edge.target * count + edge.source] = edge.weight;
        }
        peer.write("a", &adjacency);
    }
}

/// Features as 32-bit numbers, which is what scikit-learn's trees see.
#[expect(clippy::cast_possible_truncation, reason = "that is the point")]
fn single(features: &Features) -> Vec<f64> {
    features.values().iter().map(|value| f64::from(*value as f32)).collect()
}

pub(crate) fn report(peer: &Peer) -> String {
    let experiment = Experiment::new(10, true);
    experiment.write(peer);
    let mut stream = Stream::new(3, 0, 0, Purpose::Start);
    let reach = 1.0 / 10_f64.sqrt();
    let start: Vec<f64> = (0..1500).map(|_| reach * (2.0 * stream.uniform() - 1.0)).collect();
    peer.write("w", &start);
    let arguments = [150.0, 10.0, 100.0, 10.0, ROUNDS as f64, ALPHA];
    let answer = peer.run("linear_experiment.py", &arguments);
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
    let nodes = experiment.nodes(&model);
    let rounds =
        Rounds { count: ROUNDS, optimiser: Optimiser::RmsProp, step: 0.01, zero_first: true };
    let (ours, weights) = timed(|| {
        let linear = LinearNetwork::new(&nodes, false, true).expect("right parameters");
        let linear = linear.expect("all models are linear");
        linear.descend(&experiment.network, ALPHA, start.clone(), rounds, |_| {}).expect("right")
    });
    let (gram, recomputed) = (seconds(&answer, "gram"), seconds(&answer, "recomputed"));
    format!(
        "the linear experiment, 150 nodes, {ROUNDS} RMSprop rounds\n  \
         {ours:.4} s, numpy in Gram form {gram:.4} s: {:.1}x, weights differ by {:.1e}\n  \
         numpy with predictions recomputed {recomputed:.2} s: {:.0}x, weights differ by {:.1e}\n",
        gram / ours,
        difference(&weights, &numbers(&answer, "weights")),
        recomputed / ours,
        difference(&weights, &numbers(&answer, "other")),
    )
}
