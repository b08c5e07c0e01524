//! Two clusters of nodes with two weights each, of which only some have labels,
//!
//! ```text
//! y = w̄ᵀx + ε,   x ~ N(0, I),   w̄ = (2, 2) in the first cluster, (−2, 2) in the second
//! ```
//!
//! ["Networked Federated Multi-Task Learning", Figures 2 and 3.]

use std::sync::Arc;

use super::{feature_names, nodes};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Labels, Task},
    error::Result,
    model::{Linear, LocalModel},
    network::{Clustered, Network, Node},
    random::{Purpose, Stream},
};

/// How the clusters are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledClusters {
    /// The two clusters.
    pub clusters: Clustered,
    /// The share of nodes that have labels.
    pub labelled: f64,
    /// The rows of a node.
    pub rows: usize,
    /// The standard deviation σ of the noise.
    pub noise: f64,
    /// Whether all rows of a node share one noise, a slip of the authors' code.
    pub one_noise: bool,
}

/// A network with rows, of which only those of labelled nodes are known.
#[derive(Debug, Clone)]
pub struct LabelledNetwork {
    /// Who knows whom.
    pub network: Network,
    /// The cluster of each node.
    pub clusters: Vec<usize>,
    /// The rows of each node.
    pub rows: Vec<Dataset>,
    /// Whether each node has labels.
    pub labelled: Vec<bool>,
}

impl LabelledClusters {
    /// The true weights of the two clusters.
    pub const TRUTH: [[f64; 2]; 2] = [[2.0, 2.0], [-2.0, 2.0]];

    /// Draws the network and its rows.
    pub fn make(&self) -> Result<LabelledNetwork> {
        let (network, clusters) = self.clusters.make()?;
        let names = feature_names(2);
        let rows = clusters.iter().enumerate().map(|(id, &c)| self.rows(&names, id, c));
        let rows = rows.collect::<Result<_>>()?;
        let order =
            Stream::new(self.clusters.seed, 0, 0, Purpose::Shuffle).permutation(clusters.len());
        let share = (self.labelled * clusters.len() as f64).floor();
        // By rank, so that it is exactly this share and not only on average.
        let labelled = order.into_iter().map(|rank| (rank as f64) < share).collect();
        Ok(LabelledNetwork { network, clusters, rows, labelled })
    }

    fn rows(&self, names: &Arc<[String]>, id: usize, cluster: usize) -> Result<Dataset> {
        let mut stream = Stream::new(self.clusters.seed, id, 0, Purpose::Data);
        let x: Vec<f64> = (0..2 * self.rows).map(|_| stream.normal()).collect();
        // Drawn in both cases, so that the rows of both have the same streams.
        let mut noise = self.noise * stream.normal();
        let label = |x: &[f64]| {
            if !self.one_noise {
                noise = self.noise * stream.normal();
            }
            dot(x, &Self::TRUTH[cluster]) + noise
        };
        let labels = Labels::values(x.chunks_exact(2).map(label).collect());
        Dataset::new(Features::new(names.clone(), x)?, labels)
    }
}

impl LabelledNetwork {
    /// The nodes with linear models, and with rows where they have labels.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        let names = feature_names(2);
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let public = Arc::new(Features::empty(names.clone()));
        let empty = Dataset::empty(names, Task::Regression);
        let known = self.rows.iter().zip(&self.labelled);
        let known = known.map(|(rows, known)| if *known { rows.clone() } else { empty.clone() });
        nodes(known.map(|data| (data, &public)), &model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_of_a_node_may_share_one_noise() {
        let spread = |one_noise| {
            let clusters = Clustered { clusters: 2, nodes: 12, inside: 0.6, between: 0.1, seed: 4 };
            let made = LabelledClusters { clusters, labelled: 0.6, rows: 5, noise: 0.3, one_noise };
            let rows = &made.make().unwrap().rows[0];
            let noise = |(x, y): (&[f64], &f64)| y - dot(x, &LabelledClusters::TRUTH[0]);
            let noises: Vec<f64> =
                rows.features().iter().zip(rows.labels().as_slice()).map(noise).collect();
            noises.iter().map(|e| (e - noises[0]).abs()).sum::<f64>()
        };
        assert!(spread(true) < 1e-12);
        assert!(spread(false) > 0.1);
    }
}
