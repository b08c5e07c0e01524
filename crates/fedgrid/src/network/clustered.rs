//! The stochastic block model: nodes of one cluster know each other more often than others,
//!
//! ```text
//! Prob{ {i, i'} is an edge } = p_in  if c⁽ⁱ⁾ = c⁽ⁱ'⁾, otherwise p_out
//! ```
//!
//! ["Plug In and Learn", section IV-A. The gaps between edges are geometric: Batagelj and Brandes,
//! "Efficient generation of large random networks".]

use std::ops::Range;

use super::{Edge, Network, NodeId, shapes::numbered};
use crate::{
    error::{Error, Result, at_least},
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

    /// The cluster of each node.
    pub(crate) fn assignment(&self) -> Vec<usize> {
        (0..self.clusters * self.nodes).map(|node| node / self.nodes).collect()
    }

    pub(crate) fn check(&self) -> Result<()> {
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
    // ln(1 − p) by its own function: for the small p of large networks 1 − p would round to one.
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
    }
}
