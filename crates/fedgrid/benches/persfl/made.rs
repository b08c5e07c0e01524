//! The data of the PersFL papers: clusters of nodes with one vector of weights each.

use std::{sync::Arc, time::Instant};

use fedgrid::{
    data::Features,
    model::{Linear, LocalModel},
    network::Node,
    synthetic::ClientRows,
};

/// Nodes with rows x ~ N(0, I), y = wᵀx + ε.
pub(crate) struct Made {
    pub(crate) nodes: Vec<Node>,
    pub(crate) clusters: Arc<[usize]>,
    /// The true weights of each cluster.
    pub(crate) weights: Vec<Vec<f64>>,
}

/// How nodes are made.
pub(crate) struct Recipe {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Weights are drawn from [−reach, reach].
    pub(crate) reach: f64,
    pub(crate) noise: f64,
    pub(crate) seed: u64,
}

impl Recipe {
    pub(crate) fn make(&self, clusters: Vec<usize>) -> Made {
        let Self { columns, rows, reach, noise, seed } = *self;
        let made = ClientRows { features: columns, rows, noise, reach, seed }.make(clusters);
        let made = made.expect("normal draws are finite");
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let nodes = made.nodes(&model, Features::empty(made.names.clone()));
        Made { nodes, clusters: made.clusters, weights: made.truth }
    }
}

impl Made {
    /// The squared distance of weights from the true ones of a node.
    pub(crate) fn error(&self, node: usize, weights: &[f64]) -> f64 {
        let truth = &self.weights[self.clusters[node]];
        weights.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum()
    }
}

/// The authors' setting: a target and a pool of fifty nodes of its cluster and fifty of another.
pub(crate) fn two_clusters(columns: usize, noise: f64, seed: u64) -> Made {
    let clusters = (0..101).map(|id| usize::from(id > 50)).collect();
    Recipe { columns, rows: 10, reach: 5.0, noise, seed }.make(clusters)
}

/// The least seconds of twenty runs, as the machine may be busy, and the answer.
pub(crate) fn fastest<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut answer = work();
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let begun = Instant::now();
        answer = work();
        least = least.min(begun.elapsed().as_secs_f64());
    }
    (least, answer)
}

/// The middle of some numbers.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}
