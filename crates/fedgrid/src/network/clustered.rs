//! The stochastic block model: nodes of one cluster know each other more often than others,
//!
//! ```text
//! Prob{ {i, i'} is an edge } = p_in  if c⁽ⁱ⁾ = c⁽ⁱ'⁾, otherwise p_out
//! y⁽ⁱʳ⁾ = (w̄⁽ᶜ⁽ⁱ⁾⁾)ᵀ x⁽ⁱʳ⁾ + ε⁽ⁱʳ⁾      x ~ N(0, I), w̄ ~ N(0, I), ε ~ N(0, σ²)
//! ```
//!
//! with linear data whose true weights are those of the node's cluster. ["Plug In and Learn",
//! section IV-A and eq. 17. The gaps between edges are geometric: Batagelj and Brandes, "Efficient
//! generation of large random networks".]

use std::{ops::Range, sync::Arc};

use super::{
    Edge, Network, NodeId,
    shapes::{at_least, numbered},
};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Labels},
    error::{Error, Result, at_least_zero},
    random::{Purpose, Stream},
};

/// Clusters of equally many nodes, joined at random with unit weights.
///
/// ```
/// use fedgrid::network::Clustered;
/// let clustered = Clustered { clusters: 3, nodes: 50, inside: 0.8, between: 0.2, seed: 1 };
/// let (network, clusters) = clustered.make()?;
/// assert_eq!((network.len(), clusters[149]), (150, 2));
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clustered {
    /// How many clusters there are, one or more.
    pub clusters: usize,
    /// How many nodes each cluster has, one or more.
    pub nodes: usize,
    /// The probability `p_in` of an edge inside a cluster; one joins all.
    pub inside: f64,
    /// The probability `p_out` of an edge between clusters; zero makes them islands.
    pub between: f64,
    /// What decides the draws.
    pub seed: u64,
}

/// Linear data of a network whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearData {
    /// The true weights w̄ of each cluster.
    pub weights: Vec<Vec<f64>>,
    /// The rows of each node.
    pub data: Vec<Dataset>,
}

impl Clustered {
    /// The network, and the cluster of each node.
    pub fn make(&self) -> Result<(Network, Vec<usize>)> {
        self.check()?;
        let count = self.clusters * self.nodes;
        let mut edges = Vec::new();
        for source in 0..count {
            let end = (source / self.nodes + 1) * self.nodes;
            let stream = &mut Stream::new(self.seed, source, 0, Purpose::Network);
            let mut join = |target| edges.push(Edge { source, target, weight: 1.0 });
            chosen(source + 1..end, self.inside, stream, &mut join);
            chosen(end..count, self.between, stream, &mut join);
        }
        Ok((Network::new(numbered(count), edges)?, self.assignment()))
    }

    /// True weights for each cluster, and rows for each node: σ = `noise` is a standard deviation.
    pub fn linear_data(&self, features: usize, rows: usize, noise: f64) -> Result<LinearData> {
        self.check()?;
        at_least(features, "features", 1, "one or more")?;
        at_least_zero("noise", noise)?;
        let weights = true_weights(self.clusters, features, self.seed);
        let names = feature_names(features);
        let node = |(id, cluster): (NodeId, usize)| {
            let stream = &mut Stream::new(self.seed, id, 0, Purpose::Data);
            let rows = (0..rows).map(|_| linear_row(&weights[cluster], noise, stream)).collect();
            dataset(names.clone(), rows)
        };
        let data = self.assignment().into_iter().enumerate().map(node).collect::<Result<_>>()?;
        Ok(LinearData { weights, data })
    }

    fn assignment(&self) -> Vec<usize> {
        (0..self.clusters * self.nodes).map(|node| node / self.nodes).collect()
    }

    fn check(&self) -> Result<()> {
        at_least(self.clusters, "clusters", 1, "one or more")?;
        at_least(self.nodes, "nodes", 1, "one or more")?;
        for (name, value) in [("inside", self.inside), ("between", self.between)] {
            if !(0.0..=1.0).contains(&value) {
                let expected = "a probability from zero to one";
                return Err(Error::Parameter { name, value, expected });
            }
        }
        Ok(())
    }
}

/// Calls `join` for every node of the range with this probability, in time proportional to the
/// number of calls.
fn chosen(
    range: Range<NodeId>,
    probability: f64,
    stream: &mut Stream,
    mut join: impl FnMut(NodeId),
) {
    if probability == 0.0 {
        return;
    }
    let rate = (-probability).ln_1p();
    let mut next = range.start;
    while next < range.end {
        let gap = ((1.0 - stream.uniform()).ln() / rate).floor();
        if gap >= (range.end - next) as f64 {
            return;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the gap is a whole number from zero to the length of the range"
        )]
        let gap = gap as usize;
        join(next + gap);
        next += gap + 1;
    }
}

/// Weights w̄ ~ N(0, I), one vector for each cluster or component.
pub(super) fn true_weights(count: usize, features: usize, seed: u64) -> Vec<Vec<f64>> {
    let draw = |index| {
        // Round 0 belongs to the rows of the node with this number.
        let mut stream = Stream::new(seed, index, 1, Purpose::Data);
        (0..features).map(|_| stream.normal()).collect()
    };
    (0..count).map(draw).collect()
}

/// A row x ~ N(0, I) and its label wᵀx + ε.
pub(super) fn linear_row(weights: &[f64], noise: f64, stream: &mut Stream) -> (Vec<f64>, f64) {
    let x: Vec<f64> = weights.iter().map(|_| stream.normal()).collect();
    let label = dot(weights, &x) + noise * stream.normal();
    (x, label)
}

/// The names x1, x2, … of made features.
pub(super) fn feature_names(features: usize) -> Arc<[String]> {
    (1..=features).map(|feature| format!("x{feature}")).collect()
}

/// Rows and labels as a dataset.
pub(super) fn dataset(names: Arc<[String]>, rows: Vec<(Vec<f64>, f64)>) -> Result<Dataset> {
    let (features, labels): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Dataset::new(Features::new(names, features.concat())?, Labels::values(labels))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clustered(inside: f64, between: f64) -> Clustered {
        Clustered { clusters: 3, nodes: 50, inside, between, seed: 5 }
    }

    #[test]
    fn edges_inside_and_between_come_as_often_as_asked() {
        let (network, clusters) = clustered(0.8, 0.2).make().unwrap();
        let same = |edge: &&Edge| clusters[edge.source] == clusters[edge.target];
        let inside = network.edges().iter().filter(same).count() as f64;
        let between = network.edges().len() as f64 - inside;
        let (pairs_inside, pairs_between) = (3.0 * 1225.0, 7500.0);
        // Four standard deviations.
        assert!((inside / pairs_inside - 0.8).abs() < 4.0 * (0.16_f64 / pairs_inside).sqrt());
        assert!((between / pairs_between - 0.2).abs() < 4.0 * (0.16_f64 / pairs_between).sqrt());
    }

    #[test]
    fn probabilities_zero_and_one_are_certain() {
        let (network, _) = clustered(1.0, 0.0).make().unwrap();
        assert_eq!(network.statistics().sizes, [50, 50, 50]);
        assert_eq!(network.edges().len(), 3 * 1225);
    }

    #[test]
    fn the_seed_decides_the_network() {
        let network = |seed| Clustered { seed, ..clustered(0.5, 0.1) }.make().unwrap();
        assert_eq!(network(1), network(1));
        assert_ne!(network(1), network(2));
    }

    #[test]
    fn a_hundred_thousand_nodes_have_the_mean_degree_asked_for() {
        let (inside, between) = (8.0 / 9_999.0, 2.0 / 90_000.0);
        let large = Clustered { clusters: 10, nodes: 10_000, inside, between, seed: 1 };
        let (network, _) = large.make().unwrap();
        assert!((network.edges().len() as f64 / 500_000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn without_noise_labels_are_those_of_the_clusters_weights() {
        let clustered = clustered(0.8, 0.2);
        let LinearData { weights, data } = clustered.linear_data(4, 6, 0.0).unwrap();
        for (node, data) in data.iter().enumerate() {
            assert_eq!(data.rows(), 6);
            for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
                assert!((dot(&weights[node / 50], x) - y).abs() < 1e-14);
            }
        }
        assert_ne!(weights[0], weights[1]);
        assert_ne!(data[0].features(), data[1].features());
    }

    #[test]
    fn noise_is_a_standard_deviation() {
        let LinearData { weights, data } = clustered(0.8, 0.2).linear_data(2, 100, 3.0).unwrap();
        let square = |(node, data): (usize, &Dataset)| {
            let error = |(x, y): (&[f64], &f64)| (dot(&weights[node / 50], x) - y).powi(2);
            data.features().iter().zip(data.labels().as_slice()).map(error).sum::<f64>()
        };
        let mean = data.iter().enumerate().map(square).sum::<f64>() / 15_000.0;
        assert!((mean / 9.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let message = |clustered: Clustered| clustered.make().unwrap_err().to_string();
        let expected = "inside is 1.5, expected a probability from zero to one";
        assert_eq!(message(clustered(1.5, 0.0)), expected);
        assert_eq!(
            message(clustered(0.5, f64::NAN)),
            "between is NaN, expected a probability from zero to one"
        );
        let none = Clustered { clusters: 0, ..clustered(0.5, 0.5) };
        assert_eq!(message(none), "clusters is 0, expected one or more");
        let data = |features, noise| clustered(0.5, 0.5).linear_data(features, 1, noise);
        let message = |features, noise| data(features, noise).unwrap_err().to_string();
        assert_eq!(message(0, 0.0), "features is 0, expected one or more");
        assert_eq!(message(1, -1.0), "noise is -1, expected zero or more");
    }
}
