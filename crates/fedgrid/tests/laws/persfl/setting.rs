//! Nodes of clusters with one vector of weights each, and ways to run PersFL on them.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::PersFl,
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel},
    network::{Node, complete},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{InProcess, Run},
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
    let count = clusters.iter().max().unwrap() + 1;
    let weights: Vec<Vec<f64>> = (0..count)
        .map(|cluster| {
            let mut stream = Stream::new(seed, cluster, 1, Purpose::Data);
            (0..columns).map(|_| 10.0 * stream.uniform() - 5.0).collect()
        })
        .collect();
    let names: Arc<[String]> = (0..columns).map(|k| format!("x{k}")).collect();
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
    let mut stream = Stream::new(seed, 0, 0, Purpose::Public);
    let points = (0..40 * columns).map(|_| stream.normal()).collect();
    let public = Arc::new(Features::new(names, points).unwrap());
    let node = |(id, &cluster): (usize, &usize)| {
        let mut stream = Stream::new(seed, id, 0, Purpose::Data);
        let data = drawn(&weights[cluster], rows, noise, &public, &mut stream);
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    Made { nodes: clusters.iter().enumerate().map(node).collect(), clusters, weights }
}

pub(crate) fn drawn(
    w: &[f64],
    rows: usize,
    noise: f64,
    like: &Features,
    stream: &mut Stream,
) -> Dataset {
    let x: Vec<f64> = (0..rows * w.len()).map(|_| stream.normal()).collect();
    let label = |x: &[f64]| x.iter().zip(w).map(|(a, b)| a * b).sum::<f64>();
    let y = x.chunks_exact(w.len()).map(|x| label(x) + noise * stream.normal()).collect();
    Dataset::new(Features::new(like.names().clone(), x).unwrap(), Labels::values(y)).unwrap()
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
