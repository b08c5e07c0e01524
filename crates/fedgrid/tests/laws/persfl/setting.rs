//! Nodes of clusters with one vector of weights each, and ways to run PersFL on them.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features},
    method::PersFl,
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel},
    network::{Node, complete},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{InProcess, Run},
    synthetic::{ClientRows, linear_rows, normal_points},
};

/// Nodes of clusters with one vector of weights each: x ~ N(0, I), y = wᵀx + ε.
pub(crate) struct Made {
    pub(crate) nodes: Vec<Node>,
    pub(crate) clusters: Vec<usize>,
    pub(crate) weights: Vec<Vec<f64>>,
}

pub(crate) fn made(
    clusters: Vec<usize>,
    [rows, columns]: [usize; 2],
    noise: f64,
    seed: u64,
) -> Made {
    let made = ClientRows { features: columns, rows, noise, reach: 5.0, seed };
    let made = made.make(clusters).unwrap();
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
    let mut stream = Stream::new(seed, 0, 0, Purpose::Public);
    let public = normal_points(&made.names, 40, &mut stream).unwrap();
    let nodes = made.nodes(&model, public);
    Made { nodes, clusters: made.clusters.to_vec(), weights: made.truth }
}

pub(crate) fn drawn(
    w: &[f64],
    rows: usize,
    noise: f64,
    like: &Features,
    stream: &mut Stream,
) -> Dataset {
    linear_rows(like.names(), w, rows, noise, stream).unwrap()
}

impl Made {
    pub(crate) fn with_model(mut self, model: impl LocalModel + 'static) -> Self {
        let model: Arc<dyn LocalModel> = Arc::new(model);
        self.nodes.iter_mut().for_each(|node| node.model = model.clone());
        self
    }

    pub(crate) fn error(&self, node: usize, weights: &[f64]) -> f64 {
        let truth = &self.weights[self.clusters[node]];
        weights.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum()
    }

    pub(crate) fn by_messages(&self, method: &PersFl, iterations: usize) -> Run {
        let views = complete(self.nodes.len()).unwrap().views(self.nodes.clone()).unwrap();
        let stop = Stop { rounds: 2 * iterations, tolerance: -1.0 };
        InProcess { stop, ..InProcess::default() }.run(method, views).unwrap()
    }
}

/// The authors' setting: a target and a pool of fifty nodes of its cluster and fifty of another.
pub(crate) fn two_clusters(columns: usize, noise: f64, seed: u64) -> Made {
    made((0..101).map(|id| usize::from(id > 50)).collect(), [10, columns], noise, seed)
}

pub(crate) fn weights_of(hypothesis: &dyn Hypothesis) -> Vec<f64> {
    let mut linear =
        hypothesis.downcast_ref::<LinearHypothesis>().expect("a linear hypothesis").clone();
    linear.slopes.push(linear.intercept);
    linear.slopes
}

pub(crate) fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}
