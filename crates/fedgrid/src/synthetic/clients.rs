//! The clients of the PersFL papers: one linear model per cluster, weights drawn evenly from
//! [−reach, reach]. ["Your Data, My Model", section 4.1; "PersFL via Active Sampling", section IV.]

use std::sync::Arc;

use rayon::prelude::*;
use serde::Deserialize;

use super::{feature_names, linear_rows, nodes};
use crate::{
    algebra::squared_distance,
    data::{Dataset, Features},
    error::Result,
    model::LocalModel,
    network::Node,
    random::{Purpose, Stream},
};

/// How clients are made.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPool {
    /// How many clusters.
    pub clusters: usize,
    /// How many clients; every cluster has the same number, or the first one more with a guest.
    pub clients: usize,
    /// Whether client 0, of the first cluster, comes in addition to them.
    #[serde(default)]
    pub guest: bool,
    /// Whether clusters are drawn for each client instead.
    #[serde(default)]
    pub random: bool,
    /// Weights are drawn from [−reach, reach].
    pub reach: f64,
}

/// Clients with data.
#[derive(Debug)]
pub struct SyntheticClients {
    /// The cluster of each.
    pub clusters: Arc<[usize]>,
    /// The true weights of each cluster.
    pub truth: Vec<Vec<f64>>,
    /// The names of the features.
    pub names: Arc<[String]>,
    /// The rows of each.
    pub data: Vec<Dataset>,
}

/// What the rows of clients look like.
#[derive(Debug, Clone, Copy)]
pub struct ClientRows {
    /// The dimension d.
    pub features: usize,
    /// The rows m of a client.
    pub rows: usize,
    /// The standard deviation σ of the noise.
    pub noise: f64,
    /// Weights are drawn from [−reach, reach].
    pub reach: f64,
    /// What decides the draws.
    pub seed: u64,
}

impl ClientRows {
    /// Draws clients of given clusters.
    pub fn make(self, clusters: Vec<usize>) -> Result<SyntheticClients> {
        let count = clusters.iter().max().map_or(0, |last| last + 1);
        self.make_of(count, clusters)
    }

    fn make_of(self, count: usize, clusters: Vec<usize>) -> Result<SyntheticClients> {
        let Self { features, rows, noise, reach, seed } = self;
        let names = feature_names(features);
        let truth: Vec<Vec<f64>> = (0..count)
            .map(|cluster| {
                // Round 0 belongs to the rows of the client with this number.
                let mut stream = Stream::new(seed, cluster, 1, Purpose::Data);
                (0..features).map(|_| reach * (2.0 * stream.uniform() - 1.0)).collect()
            })
            .collect();
        let data = clusters
            .par_iter()
            .enumerate()
            .map(|(client, &cluster)| {
                let mut stream = Stream::new(seed, client, 0, Purpose::Data);
                linear_rows(&names, &truth[cluster], rows, noise, &mut stream)
            })
            .collect::<Result<_>>()?;
        Ok(SyntheticClients { clusters: clusters.into(), truth, names, data })
    }
}

impl ClientPool {
    /// Draws the clients.
    pub fn make(
        self,
        features: usize,
        rows: usize,
        noise: f64,
        seed: u64,
    ) -> Result<SyntheticClients> {
        let rows = ClientRows { features, rows, noise, reach: self.reach, seed };
        rows.make_of(self.clusters, self.assignment(seed))
    }

    fn assignment(self, seed: u64) -> Vec<usize> {
        if self.random {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Network);
            return (0..self.clients).map(|_| stream.index(self.clusters)).collect();
        }
        let size = self.clients / self.clusters.max(1);
        // Clients beyond the last whole cluster belong to it.
        let own = (0..self.clients).map(|client| (client / size.max(1)).min(self.clusters - 1));
        self.guest.then_some(0).into_iter().chain(own).collect()
    }
}

impl SyntheticClients {
    /// The clients as nodes with one kind of model and one public set.
    #[must_use]
    pub fn nodes(&self, model: &Arc<dyn LocalModel>, public: Features) -> Vec<Node> {
        let public = Arc::new(public);
        nodes(self.data.iter().map(|data| (data.clone(), &public)), model)
    }

    /// ‖w − w̄‖² for a client's weights.
    #[must_use]
    pub fn error(&self, client: usize, weights: &[f64]) -> f64 {
        squared_distance(weights, &self.truth[self.clusters[client]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_comes_before_equal_clusters() {
        let pool = ClientPool { clusters: 2, clients: 6, guest: true, random: false, reach: 5.0 };
        let made = pool.make(2, 3, 0.0, 1).unwrap();
        assert_eq!(*made.clusters, [0, 0, 0, 0, 1, 1, 1]);
        assert!(made.truth.iter().flatten().all(|w| w.abs() <= 5.0));
        let alone = ClientPool { guest: false, ..pool }.make(2, 3, 0.0, 1).unwrap();
        assert_eq!(*alone.clusters, [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn drawn_clusters_are_about_equal() {
        let pool =
            ClientPool { clusters: 2, clients: 2000, guest: false, random: true, reach: 1.0 };
        let first = pool.assignment(4).iter().filter(|cluster| **cluster == 0).count();
        assert!(first.abs_diff(1000) < 100, "{first}");
    }
}
