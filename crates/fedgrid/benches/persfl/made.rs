//! The data of the PersFL papers: clusters of nodes with one vector of weights each.

use std::{sync::Arc, time::Instant};

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{Linear, LocalModel},
    network::Node,
    random::{Purpose, Stream},
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
        let count = clusters.iter().max().map_or(0, |last| last + 1);
        let weights: Vec<Vec<f64>> = (0..count)
            .map(|cluster| {
                let mut stream = Stream::new(self.seed, cluster, 1, Purpose::Data);
                (0..self.columns).map(|_| self.reach * (2.0 * stream.uniform() - 1.0)).collect()
            })
            .collect();
        let names: Arc<[String]> = (0..self.columns).map(|k| format!("x{k}")).collect();
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let public = Arc::new(Features::empty(names.clone()));
        let node = |(id, &cluster): (usize, &usize)| {
            let mut stream = Stream::new(self.seed, id, 0, Purpose::Data);
            let x: Vec<f64> = (0..self.rows * self.columns).map(|_| stream.normal()).collect();
            let label =
                |x: &[f64]| x.iter().zip(&weights[cluster]).map(|(a, b)| a * b).sum::<f64>();
            let y = x.chunks_exact(self.columns);
            let y = y.map(|x| label(x) + self.noise * stream.normal()).collect();
            let features = Features::new(names.clone(), x).expect("normal draws are finite");
            let data = Dataset::new(features, Labels::values(y)).expect("as many labels as rows");
            Node { id, data, model: model.clone(), public: public.clone() }
        };
        let nodes = clusters.iter().enumerate().map(node).collect();
        Made { nodes, clusters: clusters.into(), weights }
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
