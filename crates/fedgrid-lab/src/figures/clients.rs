//! The clients of the PersFL papers: one linear model per cluster, weights drawn evenly from
//! [−reach, reach]. ["Your Data, My Model", section 4.1; "PersFL via Active Sampling", section IV.]

use std::sync::Arc;

use fedgrid::{
    Result,
    algebra::squared_distance,
    data::{Dataset, Features},
    model::LocalModel,
    network::Node,
    random::{Purpose, Stream},
};
use rayon::prelude::*;
use serde::Deserialize;

use super::setting::{feature_names, rows};

/// How clients are made.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    /// How many clusters.
    pub(super) clusters: usize,
    /// How many clients; every cluster has the same number, or the first one more with a guest.
    pub(super) clients: usize,
    /// Whether client 0, of the first cluster, comes in addition to them.
    #[serde(default)]
    pub(super) guest: bool,
    /// Whether clusters are drawn for each client instead.
    #[serde(default)]
    pub(super) random: bool,
    /// Weights are drawn from [−reach, reach].
    pub(super) reach: f64,
}

/// Clients with data.
#[derive(Debug)]
pub(super) struct Clients {
    /// The cluster of each.
    pub(super) clusters: Arc<[usize]>,
    /// The true weights of each cluster.
    pub(super) truth: Vec<Vec<f64>>,
    pub(super) names: Arc<[String]>,
    pub(super) data: Vec<Dataset>,
}

impl Pool {
    /// Draws the clients.
    pub(super) fn make(
        self,
        features: usize,
        count: usize,
        noise: f64,
        seed: u64,
    ) -> Result<Clients> {
        let names = feature_names(features);
        let truth: Vec<Vec<f64>> = (0..self.clusters)
            .map(|cluster| {
                let mut stream = Stream::new(seed, cluster, 1, Purpose::Data);
                (0..features).map(|_| self.reach * (2.0 * stream.uniform() - 1.0)).collect()
            })
            .collect();
        let clusters = self.assignment(seed);
        let data = clusters
            .par_iter()
            .enumerate()
            .map(|(client, &cluster)| {
                let mut stream = Stream::new(seed, client, 0, Purpose::Data);
                rows(&names, &truth[cluster], count, noise, &mut stream)
            })
            .collect::<Result<_>>()?;
        Ok(Clients { clusters: clusters.into(), truth, names, data })
    }

    fn assignment(self, seed: u64) -> Vec<usize> {
        if self.random {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Network);
            return (0..self.clients).map(|_| stream.index(self.clusters)).collect();
        }
        let size = self.clients / self.clusters.max(1);
        let own = (0..self.clients).map(|client| (client / size.max(1)).min(self.clusters - 1));
        self.guest.then_some(0).into_iter().chain(own).collect()
    }
}

impl Clients {
    /// The clients as nodes with one kind of model and one public set.
    pub(super) fn nodes(&self, model: &Arc<dyn LocalModel>, public: Features) -> Vec<Node> {
        let public = Arc::new(public);
        let node = |(id, data): (usize, &Dataset)| Node {
            id,
            data: data.clone(),
            model: model.clone(),
            public: public.clone(),
        };
        self.data.iter().enumerate().map(node).collect()
    }

    /// ‖w − w̄‖² for a client's weights.
    pub(super) fn error(&self, client: usize, weights: &[f64]) -> f64 {
        squared_distance(weights, &self.truth[self.clusters[client]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_comes_before_equal_clusters() {
        let pool = Pool { clusters: 2, clients: 6, guest: true, random: false, reach: 5.0 };
        let made = pool.make(2, 3, 0.0, 1).unwrap();
        assert_eq!(*made.clusters, [0, 0, 0, 0, 1, 1, 1]);
        assert!(made.truth.iter().flatten().all(|w| w.abs() <= 5.0));
        let alone = Pool { guest: false, ..pool }.make(2, 3, 0.0, 1).unwrap();
        assert_eq!(*alone.clusters, [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn drawn_clusters_are_about_equal() {
        let pool = Pool { clusters: 2, clients: 2000, guest: false, random: true, reach: 1.0 };
        let first = pool.assignment(4).iter().filter(|cluster| **cluster == 0).count();
        assert!(first.abs_diff(1000) < 100, "{first}");
    }
}
