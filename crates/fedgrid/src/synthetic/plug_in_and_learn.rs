//! The networks of "Plug In and Learn" with rows, drawn as the authors' code draws them,
//!
//! ```text
//! y = w̄ᵀx + ε,   x ~ N(0, I),   ε ~ N(0, σ²)
//! ```
//!
//! with true weights w̄ that nodes of one cluster share, or that every node mixes in its own shares.
//! [Section IV and Algorithm 3.] The code differs from the paper, and so this module from
//! `clustered` and `mixture`: rows come from a pool with replacement, shares are rounded up. Every draw
//! is addressed by seed and node, so that the lines of a figure see the same data in the same repeat.

use std::sync::Arc;

use serde::Deserialize;

use super::{feature_names, linear_rows, nodes, normal_points, similarity, true_weights};
use crate::{
    data::{Dataset, Features, Labels},
    error::{Error, Result},
    model::LocalModel,
    network::{Clustered, Network, Node},
    random::{Purpose, Stream},
};

/// The size of the pool from which a node's rows are drawn with replacement, as in the authors' code.
const POOL_ROWS: usize = 1000;
/// How often a cluster in pieces is drawn at most: at the papers' probabilities one draw is enough.
const MAX_DRAWS: u64 = 100;
/// The rounds of the streams, one for each thing that is drawn for a node; round 1 is for true weights.
const TRAIN_ROUND: usize = 0;
const SHARES_ROUND: usize = 2;
const VALIDATION_ROUND: usize = 3;

/// How the nodes of "Plug In and Learn" are related.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Relation {
    /// Clusters of equally many nodes, joined at random.
    Clusters {
        /// How many.
        count: usize,
        /// How many nodes each has.
        nodes: usize,
        /// The probability of an edge inside.
        inside: f64,
        /// The probability of an edge between.
        between: f64,
    },
    /// Shares of common components; all pairs are joined.
    Mixture {
        /// How many components.
        components: usize,
        /// How many nodes.
        nodes: usize,
    },
}

/// How much data there is.
#[derive(Debug, Clone, Copy)]
pub struct DataSizes {
    /// The dimension d.
    pub features: usize,
    /// The rows m of a node.
    pub rows: usize,
    /// Its rows for validation.
    pub validation: usize,
    /// Its public points.
    pub public: usize,
    /// The standard deviation σ of the noise.
    pub noise: f64,
}

/// A network with data.
#[derive(Debug)]
pub struct SyntheticNetwork {
    /// Who knows whom.
    pub network: Network,
    /// The cluster of each node; all in one for a mixture.
    pub clusters: Vec<usize>,
    /// The true weights of each cluster or component.
    pub truth: Vec<Vec<f64>>,
    /// The training rows of each node.
    pub train: Vec<Dataset>,
    /// Its validation rows.
    pub validation: Vec<Dataset>,
    /// Its public points.
    pub public: Vec<Arc<Features>>,
}

impl Relation {
    /// Draws a network and its data.
    pub fn make(self, sizes: DataSizes, seed: u64) -> Result<SyntheticNetwork> {
        let names = feature_names(sizes.features);
        let (count, nodes) = match self {
            Self::Clusters { count, nodes, .. } => (count, count * nodes),
            Self::Mixture { components, nodes } => (components, nodes),
        };
        let truth = true_weights(count, sizes.features, seed);
        let public = (0..nodes).map(|node| {
            let mut stream = Stream::new(seed, node, 0, Purpose::Public);
            Ok(Arc::new(normal_points(&names, sizes.public, &mut stream)?))
        });
        let public = public.collect::<Result<_>>()?;
        let (network, clusters, data) = match self {
            Self::Clusters { count, nodes, inside, between } => {
                let made = Clustered { clusters: count, nodes, inside, between, seed };
                let (network, clusters) = in_one_piece(made)?;
                let rows = clusters.iter().enumerate();
                let rows = rows.map(|(node, &c)| pooled_rows(&names, &truth[c], sizes, seed, node));
                let data = rows.collect::<Result<Vec<_>>>()?;
                (network, clusters, data)
            }
            Self::Mixture { nodes, .. } => {
                let shares: Vec<Vec<f64>> =
                    (0..nodes).map(|node| shares(count, seed, node)).collect();
                let rows = shares.iter().enumerate();
                let rows = rows
                    .map(|(node, shares)| mixed_rows(&names, &truth, shares, sizes, (seed, node)));
                (similarity(&shares)?, vec![0; nodes], rows.collect::<Result<Vec<_>>>()?)
            }
        };
        let (train, validation) = data.into_iter().unzip();
        Ok(SyntheticNetwork { network, clusters, truth, train, validation, public })
    }
}

impl SyntheticNetwork {
    /// The nodes with one kind of model.
    #[must_use]
    pub fn nodes(&self, model: &Arc<dyn LocalModel>) -> Vec<Node> {
        nodes(self.train.iter().cloned().zip(&self.public), model)
    }

    /// The rows of each cluster in one place, by clusters.
    pub fn pooled(&self) -> Result<Vec<Dataset>> {
        let count = self.clusters.iter().max().map_or(0, |last| last + 1);
        let pool = |cluster: usize| {
            let members = self.train.iter().zip(&self.clusters).filter(|(_, c)| **c == cluster);
            let mut parts = members.map(|(data, _)| data);
            let first = parts.next().ok_or(Error::NoData)?.clone();
            // A mean over all rows of the cluster, as the loss of a node is one over its own.
            let all = parts.try_fold(first, Dataset::stacked)?;
            Ok(all.with_total_weight(1.0))
        };
        (0..count).map(pool).collect()
    }
}

/// The network of some clusters. A single one that falls apart is drawn again: its bound needs λ₂ > 0.
fn in_one_piece(clustered: Clustered) -> Result<(Network, Vec<usize>)> {
    let mut made = clustered.make()?;
    for attempt in 1..MAX_DRAWS {
        if clustered.clusters > 1 || made.0.components().len() == 1 {
            break;
        }
        // In the upper half of the bits: repeats count their seeds on in the lower one.
        made = Clustered { seed: clustered.seed + (attempt << 32), ..clustered }.make()?;
    }
    Ok(made)
}

/// Training and validation rows of a node, both drawn with replacement from one pool. Only the rows of
/// the pool that are drawn are made.
fn pooled_rows(
    names: &Arc<[String]>,
    truth: &[f64],
    sizes: DataSizes,
    seed: u64,
    node: usize,
) -> Result<(Dataset, Dataset)> {
    let mut stream = Stream::new(seed, node, TRAIN_ROUND, Purpose::Data);
    let drawn: Vec<usize> =
        (0..sizes.rows + sizes.validation).map(|_| stream.index(POOL_ROWS)).collect();
    // A row that is drawn twice is the same row twice.
    let mut slot = vec![None; POOL_ROWS];
    let mut distinct = 0;
    for &index in &drawn {
        slot[index].get_or_insert_with(|| {
            distinct += 1;
            distinct - 1
        });
    }
    let pool = linear_rows(names, truth, distinct, sizes.noise, &mut stream)?;
    let slots: Vec<usize> = drawn.iter().filter_map(|&index| slot[index]).collect();
    let part =
        |slots: &[usize]| Dataset::new(pool.features().select(slots), pool.labels().select(slots));
    Ok((part(&slots[..sizes.rows])?, part(&slots[sizes.rows..])?))
}

/// The shares ρ = softmax(s), s ~ N(0, I), of the components at a node.
fn shares(components: usize, seed: u64, node: usize) -> Vec<f64> {
    let mut stream = Stream::new(seed, node, SHARES_ROUND, Purpose::Data);
    let powers: Vec<f64> = (0..components).map(|_| stream.normal().exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}

/// Training and validation rows of a node that mixes components. As in the authors' code ⌈ρ (m + 1)⌉
/// rows of each component are drawn and m of all kept.
fn mixed_rows(
    names: &Arc<[String]>,
    truth: &[Vec<f64>],
    shares: &[f64],
    sizes: DataSizes,
    (seed, node): (u64, usize),
) -> Result<(Dataset, Dataset)> {
    let part = |count: usize, round: usize| {
        let mut stream = Stream::new(seed, node, round, Purpose::Data);
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        for (truth, share) in truth.iter().zip(shares) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of the rows is a number from zero to their number"
            )]
            let drawn = (share * (count + 1) as f64).ceil() as usize;
            let some = linear_rows(names, truth, drawn, sizes.noise, &mut stream)?;
            features.extend_from_slice(some.features().values());
            labels.extend_from_slice(some.labels().as_slice());
        }
        let mut kept = stream.permutation(labels.len());
        // Shares of one row more, rounded up: there are always more than are kept.
        kept.truncate(count);
        let (features, labels) = (Features::new(names.clone(), features)?, Labels::values(labels));
        Dataset::new(features.select(&kept), labels.select(&kept))
    };
    Ok((part(sizes.rows, TRAIN_ROUND)?, part(sizes.validation, VALIDATION_ROUND)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::dot;

    const SIZES: DataSizes =
        DataSizes { features: 3, rows: 10, validation: 100, public: 20, noise: 0.0 };

    #[test]
    fn labels_are_those_of_the_clusters_weights_and_repeated_rows_are_equal() {
        let relation = Relation::Clusters { count: 2, nodes: 20, inside: 0.5, between: 0.1 };
        let made = relation.make(SIZES, 3).unwrap();
        let mut repeated = 0;
        for ((train, validation), &cluster) in
            made.train.iter().zip(&made.validation).zip(&made.clusters)
        {
            for data in [train, validation] {
                for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
                    assert!((dot(&made.truth[cluster], x) - y).abs() < 1e-12);
                }
            }
            let known = |x: &[f64]| train.features().iter().any(|own| own == x);
            repeated += validation.features().iter().filter(|x| known(x)).count();
        }
        // 40 nodes with 100 validation rows, each one of ten in a pool of a thousand: 40 expected.
        assert!((20..60).contains(&repeated), "{repeated}");
    }

    #[test]
    fn a_node_mixes_its_components_about_in_its_shares() {
        let relation = Relation::Mixture { components: 3, nodes: 12 };
        let made = relation.make(SIZES, 1).unwrap();
        assert_eq!(made.network.edges().len(), 66);
        for (node, data) in made.validation.iter().enumerate() {
            let shares = shares(3, 1, node);
            for (truth, share) in made.truth.iter().zip(&shares) {
                let rows = data.features().iter().zip(data.labels().as_slice());
                let own = rows.filter(|(x, y)| (dot(truth, x) - **y).abs() < 1e-12).count();
                assert!((own as f64 - 100.0 * share).abs() <= 3.0, "{own} {share}");
            }
        }
    }

    #[test]
    fn a_single_cluster_is_in_one_piece() {
        let alone = |seed| Clustered { clusters: 1, nodes: 12, inside: 0.2, between: 0.0, seed };
        let pieces = |network: &Network| network.components().len();
        assert!((0..20).any(|seed| pieces(&alone(seed).make().unwrap().0) > 1));
        assert!((0..20).all(|seed| pieces(&in_one_piece(alone(seed)).unwrap().0) == 1));
    }

    #[test]
    fn another_dimension_leaves_the_network_as_it_is() {
        let relation = Relation::Clusters { count: 2, nodes: 20, inside: 0.5, between: 0.1 };
        let large = DataSizes { features: 7, ..SIZES };
        let network = |sizes| relation.make(sizes, 3).unwrap().network;
        assert_eq!(network(SIZES), network(large));
    }
}
