//! Edges tested by the effect of pooling: two nodes are joined unless one regression for both is
//! worse than one for each by more than chance (Chow's test),
//!
//! ```text
//! F = ((R_ij − R_i − R_j) / q) / ((R_i + R_j) / (m_i + m_j − p))
//! ```
//!
//! where R are residual sums of squares, p the weights that the two separate regressions determine
//! and q those that one regression saves. Nodes with too few rows for a remainder cannot be tested:
//! pairs of them are not joined.

use rayon::prelude::*;

use super::distributions::fisher_tail;
use crate::{
    algebra::{Singular, dot},
    data::Dataset,
    error::{Error, Result, same_size},
    network::{Edge, Network, Node, NodeId},
};

/// Singular values below this share of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-10;

/// Joins the pairs whose regressions (with an intercept) do not differ at the given level, among the
/// `neighbours` most alike of either end; the weight of an edge is its p-value.
pub fn pooling_network(
    names: Vec<String>,
    nodes: &[Node],
    level: f64,
    neighbours: usize,
) -> Result<Network> {
    same_size("names of nodes", names.len(), nodes.len())?;
    if !(0.0..1.0).contains(&level) {
        let expected = "zero or more and below one";
        return Err(Error::Parameter { name: "level", value: level, expected });
    }
    let alone: Vec<Regression> =
        nodes.par_iter().map(|node| Regression::of(&[&node.data])).collect();
    let alike = |i: NodeId| -> Vec<(f64, NodeId)> {
        let tested = (0..nodes.len()).filter(|&j| j != i).filter_map(|j| {
            let both = Regression::of(&[&nodes[i].data, &nodes[j].data]);
            alone[i].same(&alone[j], &both).map(|p| (p, j))
        });
        let mut alike: Vec<(f64, NodeId)> = tested.filter(|(p, _)| *p > level).collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        alike.truncate(neighbours);
        alike
    };
    let found: Vec<Vec<(f64, NodeId)>> = (0..nodes.len()).into_par_iter().map(alike).collect();
    let mut edges: Vec<Edge> = Vec::new();
    for (node, alike) in found.iter().enumerate() {
        for &(p, other) in alike {
            let asked_too = found[other].iter().any(|(_, id)| *id == node);
            if node < other || !asked_too {
                let weight = p.max(f64::MIN_POSITIVE);
                edges.push(Edge { source: node.min(other), target: node.max(other), weight });
            }
        }
    }
    Network::new(names, edges)
}

/// What a regression leaves over and how many weights it determines.
#[derive(Debug, Clone, Copy)]
struct Regression {
    /// How many there are, or stand for.
    rows: f64,
    rank: usize,
    residual: f64,
}

impl Regression {
    fn of(parts: &[&Dataset]) -> Self {
        let columns = parts[0].features().columns() + 1;
        let (mut rows, mut labels, mut count) = (Vec::new(), Vec::new(), 0.0);
        for data in parts {
            for (row, weight) in data.weights().iter().enumerate() {
                if *weight > 0.0 {
                    let root = data.count(row).sqrt();
                    rows.extend(data.features().row(row).iter().map(|x| root * x));
                    rows.push(root);
                    labels.push(root * data.labels().row(row)[0]);
                    count += data.count(row);
                }
            }
        }
        let svd = Singular::thin(&rows, columns);
        let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let (mut residual, mut rank) = (dot(&labels, &labels), 0);
        for (s, left) in svd.values.iter().zip(&svd.scaled_left) {
            if *s > RANK_TOLERANCE * largest {
                residual -= (dot(left, &labels) / s).powi(2);
                rank += 1;
            }
        }
        Self { rows: count, rank, residual: residual.max(0.0) }
    }

    /// The probability of so large a difference between two nodes of one regression; none if there
    /// is nothing to measure it by.
    fn same(&self, other: &Self, both: &Self) -> Option<f64> {
        let separate = self.rank + other.rank;
        let saved = separate.checked_sub(both.rank).filter(|saved| *saved > 0)?;
        let free = Some(self.rows + other.rows - separate as f64).filter(|free| *free > 0.0)?;
        let within = self.residual + other.residual;
        let saved = saved as f64;
        let ratio = (both.residual - within).max(0.0) / saved / (within / free);
        Some(if ratio.is_nan() { 1.0 } else { fisher_tail(ratio, saved, free) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Clustered;

    fn nodes(rows: usize) -> Vec<Node> {
        let made = Clustered { clusters: 2, nodes: 6, inside: 0.5, between: 0.0, seed: 1 };
        let data = made.linear_data(3, rows, 0.5).unwrap().data;
        let public = std::sync::Arc::new(data[0].features().clone());
        let node = |(id, data)| Node {
            id,
            data,
            model: std::sync::Arc::new(crate::model::Linear::default()),
            public: public.clone(),
        };
        data.into_iter().enumerate().map(node).collect()
    }

    fn names() -> Vec<String> {
        (0..12).map(|id| id.to_string()).collect()
    }

    #[test]
    fn pooling_joins_nodes_of_one_regression_and_no_others() {
        let network = pooling_network(names(), &nodes(40), 0.05, 12).unwrap();
        assert!(network.edges().iter().all(|edge| edge.source / 6 == edge.target / 6));
        // Of the 30 pairs of one cluster, about one in twenty is told apart by chance.
        assert!(network.edges().len() >= 24, "{}", network.edges().len());
    }

    #[test]
    fn pairs_with_too_few_rows_cannot_be_tested() {
        let network = pooling_network(names(), &nodes(4), 0.05, 12).unwrap();
        assert_eq!(network.edges(), []);
    }
}
