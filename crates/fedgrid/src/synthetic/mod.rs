//! The synthetic data of the papers, for figures, tests and benches: linear models whose true weights are
//! known,
//!
//! ```text
//! y = w̄ᵀx + ε,   x ~ N(0, I),   ε ~ N(0, σ²)
//! ```
//!
//! `clustered` and `mixture` follow the text of "Plug In and Learn", `plug_in_and_learn` its authors' code,
//! `clients` the PersFL papers, `labelled_clusters` "Networked Federated Multi-Task Learning".

mod clients;
mod clustered;
mod labelled_clusters;
mod mixture;
mod plug_in_and_learn;

use std::sync::Arc;

pub use clients::{ClientPool, ClientRows, SyntheticClients};
pub use clustered::LinearData;
pub use labelled_clusters::{LabelledClusters, LabelledNetwork};
pub use mixture::{Mixture, MixtureData};
pub use plug_in_and_learn::{DataSizes, Relation, SyntheticNetwork};

use crate::{
    algebra::dot,
    data::{Dataset, Features, Labels},
    error::Result,
    model::LocalModel,
    network::{Edge, Network, Node},
    random::{Purpose, Stream},
};

/// The names x1, x2, … of features.
#[must_use]
pub fn feature_names(features: usize) -> Arc<[String]> {
    (1..=features).map(|feature| format!("x{feature}")).collect()
}

/// Points x ~ N(0, I).
pub fn normal_points(names: &Arc<[String]>, count: usize, stream: &mut Stream) -> Result<Features> {
    Features::new(names.clone(), (0..count * names.len()).map(|_| stream.normal()).collect())
}

/// Rows of one linear model: first all points are drawn, then all noise, as the authors' code does.
pub fn linear_rows(
    names: &Arc<[String]>,
    truth: &[f64],
    count: usize,
    noise: f64,
    stream: &mut Stream,
) -> Result<Dataset> {
    let features = normal_points(names, count, stream)?;
    let labels = features.iter().map(|x| dot(truth, x) + noise * stream.normal()).collect();
    Dataset::new(features, Labels::values(labels))
}

/// Nodes with these rows and one kind of model.
fn nodes<'a>(
    data: impl Iterator<Item = (Dataset, &'a Arc<Features>)>,
    model: &Arc<dyn LocalModel>,
) -> Vec<Node> {
    let node = |(id, (data, public)): (usize, (Dataset, &Arc<Features>))| Node {
        id,
        data,
        model: model.clone(),
        public: public.clone(),
    };
    data.enumerate().map(node).collect()
}

/// Weights w̄ ~ N(0, I), one vector for each cluster or component.
fn true_weights(count: usize, features: usize, seed: u64) -> Vec<Vec<f64>> {
    let draw = |index| {
        // Round 0 belongs to the rows of the node with this number.
        let mut stream = Stream::new(seed, index, 1, Purpose::Data);
        (0..features).map(|_| stream.normal()).collect()
    };
    (0..count).map(draw).collect()
}

/// A row x ~ N(0, I) and its label wᵀx + ε. Rows are drawn one after the other, so that more of them
/// leave the first ones as they are.
fn linear_row(weights: &[f64], noise: f64, stream: &mut Stream) -> (Vec<f64>, f64) {
    let x: Vec<f64> = weights.iter().map(|_| stream.normal()).collect();
    let label = dot(weights, &x) + noise * stream.normal();
    (x, label)
}

/// Rows and labels as a dataset.
fn dataset(names: Arc<[String]>, rows: Vec<(Vec<f64>, f64)>) -> Result<Dataset> {
    let (features, labels): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Dataset::new(Features::new(names, features.concat())?, Labels::values(labels))
}

/// The network of all pairs, weighted by `Σ_k min(ρ⁽ⁱᵏ⁾, ρ⁽ʲᵏ⁾)`.
fn similarity(shares: &[Vec<f64>]) -> Result<Network> {
    let common = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a.min(*b)).sum();
    let nodes = shares.len();
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    let edges = pairs.map(|(source, target)| {
        let weight = common(&shares[source], &shares[target]);
        Edge { source, target, weight }
    });
    Network::new((0..nodes).map(|node| node.to_string()).collect(), edges)
}
