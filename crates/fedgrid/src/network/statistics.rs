//! What a network looks like: its components, its weighted degrees, and whether neighbours agree,
//!
//! ```text
//! homophily(x) = 1 − ( Σ_edges A (xᵢ − xⱼ)² / Σ_edges A ) / ( mean over all pairs of (xᵢ − xⱼ)² )
//! ```
//!
//! which is one minus Geary's contiguity ratio. [Geary, "The contiguity ratio and statistical
//! mapping", 1954.]

use super::{Network, NodeId};
use crate::error::{Error, Result, same_size};

/// Components and degrees of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The component of each node; components are numbered by their smallest node.
    pub components: Vec<usize>,
    /// How many nodes each component has.
    pub sizes: Vec<usize>,
    /// The nodes without neighbour, in order of their ids.
    pub isolated: Vec<NodeId>,
    /// The weighted degrees `Σ_j A_ij`; none of an empty network.
    pub degrees: Option<Degrees>,
}

/// The spread of the weighted degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Degrees {
    /// The smallest.
    pub min: f64,
    /// The middle one, or the mean of the two middle ones.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

impl Network {
    /// The nodes of each component, neighbours close together (breadth first from the smallest id).
    #[must_use]
    pub fn components(&self) -> Vec<Vec<NodeId>> {
        components(self)
    }

    /// Components and degrees.
    ///
    /// ```
    /// let statistics = fedgrid::network::star(5)?.statistics();
    /// assert_eq!(statistics.sizes, [5]);
    /// assert_eq!(statistics.degrees.map(|degrees| degrees.max), Some(4.0));
    /// # Ok::<(), fedgrid::Error>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let members = components(self);
        let mut components = vec![0; self.len()];
        for (component, members) in members.iter().enumerate() {
            for &node in members {
                components[node] = component;
            }
        }
        Statistics {
            components,
            sizes: members.iter().map(Vec::len).collect(),
            isolated: (0..self.len()).filter(|&node| self.neighbours(node).is_empty()).collect(),
            degrees: degrees((0..self.len()).map(|node| self.degree(node)).collect()),
        }
    }

    /// How much more alike neighbours are than any two nodes, for one value per node.
    ///
    /// One when neighbours agree, zero when edges say nothing, negative when neighbours differ;
    /// none where it has no meaning: without edges, or when all nodes have one value.
    pub fn homophily(&self, values: &[f64]) -> Result<Option<f64>> {
        same_size("node values", values.len(), self.len())?;
        if let Some(node) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NodeValue {
                what: "value",
                column: 0,
                name: self.names()[node].clone(),
                value: values[node],
            });
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        // Each node meets all others: the mean over pairs is twice the variance.
        let pairs = 2.0 * values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let total: f64 = self.edges().iter().map(|edge| edge.weight).sum();
        let apart = |(i, j): (NodeId, NodeId)| (values[i] - values[j]).powi(2);
        let edges: f64 =
            self.edges().iter().map(|edge| edge.weight * apart((edge.source, edge.target))).sum();
        // By differences, not by the variance, which rounding keeps above zero.
        let constant = values.iter().all(|value| value - values[0] == 0.0);
        Ok((total > 0.0 && !constant).then(|| 1.0 - edges / total / pairs))
    }
}

/// The nodes of each component, neighbours close together (breadth first from the smallest id).
pub(super) fn components(network: &Network) -> Vec<Vec<NodeId>> {
    let mut seen = vec![false; network.len()];
    let mut components = Vec::new();
    for start in 0..network.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let mut members = vec![start];
        let mut next = 0;
        while let Some(&node) = members.get(next) {
            next += 1;
            for &(neighbour, _) in network.neighbours(node) {
                if !seen[neighbour] {
                    seen[neighbour] = true;
                    members.push(neighbour);
                }
            }
        }
        components.push(members);
    }
    components
}

fn degrees(mut degrees: Vec<f64>) -> Option<Degrees> {
    let mean = degrees.iter().sum::<f64>() / degrees.len() as f64;
    let median = median(&mut degrees)?;
    Some(Degrees { min: degrees[0], median, mean, max: *degrees.last()? })
}

/// Sorts the values and gives the middle one, or the mean of the two middle ones.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(if values.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(values[values.len() / 2 - 1], upper)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Edge, complete, path, ring, shapes::numbered, star};

    fn three_parts() -> Network {
        let edges = [(0, 3, 2.0), (3, 4, 1.0), (1, 5, 0.5)];
        let edge = |(source, target, weight)| Edge { source, target, weight };
        Network::new(numbered(6), edges.map(edge)).unwrap()
    }

    #[test]
    fn components_are_numbered_by_their_smallest_node() {
        let statistics = three_parts().statistics();
        assert_eq!(statistics.components, [0, 1, 2, 0, 0, 1]);
        assert_eq!(statistics.sizes, [3, 2, 1]);
        assert_eq!(statistics.isolated, [2]);
    }

    #[test]
    fn degrees_are_weighted() {
        let degrees = three_parts().statistics().degrees.unwrap();
        assert_eq!((degrees.min, degrees.median, degrees.max), (0.0, 0.75, 3.0));
        assert!((degrees.mean - 7.0 / 6.0).abs() < 1e-15);
        let empty = Network::new(Vec::new(), []).unwrap().statistics();
        assert_eq!(empty.degrees, None);
        assert!(empty.sizes.is_empty());
    }

    #[test]
    fn homophily_is_one_when_neighbours_agree_and_zero_when_edges_say_nothing() {
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-14;
        let parts = three_parts();
        let agree = parts.homophily(&[1.0, 5.0, 9.0, 1.0, 1.0, 5.0]).unwrap();
        assert!(close(agree, 1.0));
        let all_pairs = complete(4).unwrap().homophily(&[3.0, -1.0, 0.5, 8.0]).unwrap();
        assert!(close(all_pairs, 0.0));
        // Neighbours on an even ring differ by 2, and so do 4 of 6 pairs.
        let differ = ring(4).unwrap().homophily(&[1.0, -1.0, 1.0, -1.0]).unwrap();
        assert!(close(differ, -0.5));
    }

    #[test]
    fn homophily_is_none_where_it_has_no_meaning() {
        assert_eq!(star(3).unwrap().homophily(&[0.1, 0.1, 0.1]).unwrap(), None);
        assert_eq!(path(1).unwrap().homophily(&[1.0]).unwrap(), None);
    }

    #[test]
    fn homophily_of_wrong_values_is_an_error_that_says_where() {
        let message = |values: &[f64]| path(3).unwrap().homophily(values).unwrap_err().to_string();
        assert_eq!(message(&[1.0]), "node values: found 1, expected 3");
        assert_eq!(
            message(&[1.0, f64::NAN, 2.0]),
            "value 0 of node '1' is NaN, expected a finite number"
        );
    }
}
