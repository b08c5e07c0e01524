//! How far the nodes of a cluster can be from their mean, and how far they are,
//!
//! ```text
//! Σ_{i ∈ C} ‖ŵ_i − mean‖² ≤ E/(α λ₂)  for ‖·‖²,   2E/(α λ₂)  for ½‖·‖²,   (E/α)²/(A_min λ₂)  for a norm
//! E = ε + α Σ_{edges inside C} A φ(w̄_i − w̄_j) + α Σ_{edges out of C} A [φ(w̄_i − ŵ_j) − φ(ŵ_i − ŵ_j)]
//! ```
//!
//! where ŵ is a minimiser and w̄ the pooled model of the cluster: changing the cluster's weights from ŵ
//! to w̄ cannot lower the objective. Without edges out of the cluster E = ε = `Σ_i L_i(w̄)`, which is the
//! paper's bound; the edges out are ours. ["Plug In and Learn", eq. 25; docs/mathematics.md, "Bounds".]

use super::{Cohesion, cluster_indices, cohesion, members};
use crate::{
    algebra::{add_scaled, dot, squared_distance},
    error::{Result, at_least_zero, same_size},
    network::{Edge, Network},
    penalty::Penalty,
};

/// What the difference z of two neighbours' points costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointDifference {
    /// ‖z‖², the squared discrepancy of predictions as [`predictions_of`](super::predictions_of) has them.
    Squared,
    /// φ(z) of weights.
    Weights(Penalty),
}

impl PointDifference {
    fn value(self, a: &[f64], b: &[f64]) -> f64 {
        let z: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        match self {
            Self::Squared => dot(&z, &z),
            Self::Weights(penalty) => penalty.value(&z),
        }
    }

    /// The largest Σ A ‖z‖² over edges of weight `least` or more for which Σ A φ(z) is at most `total`.
    fn largest_squares(self, total: f64, least: f64) -> f64 {
        match self {
            Self::Squared => total,
            Self::Weights(penalty) => penalty.rule().largest_squares(total, least),
        }
    }
}

/// A network that has been fitted, and the pooled model that it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct FittedNetwork<'a> {
    /// The network.
    pub network: &'a Network,
    /// The cluster of each node.
    pub clusters: &'a [usize],
    /// The strength α of the coupling.
    pub alpha: f64,
    /// What is coupled.
    pub difference: PointDifference,
    /// The point ŵ of each node: its weights, or its public predictions.
    pub points: &'a [Vec<f64>],
    /// The point w̄ of each node's pooled model.
    pub pooled: &'a [Vec<f64>],
    /// What the pooled model costs at each node, `L_i(w̄)`.
    pub losses: &'a [f64],
    /// How far the objective is from its minimum at most; zero for a minimiser.
    pub gap: f64,
}

/// The variation of one cluster beside its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    /// The number of the cluster.
    pub cluster: usize,
    /// How many nodes it has.
    pub nodes: usize,
    /// λ₂ of the cluster's Laplacian; zero in several pieces, none for a single node.
    pub lambda2: Option<f64>,
    /// ε = `Σ_i L_i(w̄)` at the pooled model.
    pub epsilon: f64,
    /// E − ε: what the pooled model costs more on edges, mostly those out of the cluster. May be
    /// negative.
    pub edges: f64,
    /// Σ ‖ŵ − mean‖² as it is.
    pub measured: f64,
    /// What it cannot exceed at a minimum; none without coupling or if the cluster is in pieces.
    pub bound: Option<f64>,
}

/// The variation of each cluster and its bound, in the order of their numbers.
///
/// It holds for minimisers of the sum of losses and coupling: exact local models, and for
/// predictions one public set.
pub fn variation_bound(fitted: &FittedNetwork<'_>) -> Result<Vec<Variation>> {
    fitted.check()?;
    let cohesion = cohesion(fitted.network, fitted.clusters)?;
    let members = members(fitted.network, fitted.clusters)?;
    let costs = fitted.costs(&members);
    let one = |((cohesion, members), costs): ((Cohesion, &Vec<usize>), &Costs)| {
        let epsilon = members.iter().map(|&node| fitted.losses[node]).sum::<f64>();
        let edges = fitted.alpha * costs.more;
        let total = (epsilon + edges + fitted.gap).max(0.0) / fitted.alpha;
        let bound = match cohesion.lambda2 {
            None => Some(0.0),
            Some(lambda2) if lambda2 > 0.0 && fitted.alpha > 0.0 => {
                Some(fitted.difference.largest_squares(total, costs.least) / lambda2)
            }
            Some(_) => None,
        };
        Variation {
            cluster: cohesion.cluster,
            nodes: members.len(),
            lambda2: cohesion.lambda2,
            epsilon,
            edges,
            measured: fitted.spread(members),
            bound,
        }
    };
    Ok(cohesion.into_iter().zip(&members).zip(&costs).map(one).collect())
}

/// The edges of a cluster.
#[derive(Debug, Clone, Copy)]
struct Costs {
    /// What the pooled model costs inside, and how much more than the fitted one on edges out.
    more: f64,
    /// The smallest weight inside.
    least: f64,
}

impl FittedNetwork<'_> {
    fn check(&self) -> Result<()> {
        at_least_zero("alpha", self.alpha)?;
        at_least_zero("gap", self.gap)?;
        let nodes = self.network.len();
        same_size("points", self.points.len(), nodes)?;
        same_size("pooled points", self.pooled.len(), nodes)?;
        same_size("losses", self.losses.len(), nodes)?;
        let size = self.points.first().map_or(0, Vec::len);
        for point in self.points.iter().chain(self.pooled) {
            same_size("coordinates", point.len(), size)?;
        }
        Ok(())
    }

    /// The costs of every cluster's edges.
    fn costs(&self, members: &[Vec<usize>]) -> Vec<Costs> {
        let indices = cluster_indices(members, self.network.len());
        let mut costs = vec![Costs { more: 0.0, least: f64::INFINITY }; members.len()];
        for &Edge { source, target, weight } in self.network.edges() {
            let cost = |a: &[f64], b: &[f64]| weight * self.difference.value(a, b);
            if indices[source] == indices[target] {
                let costs = &mut costs[indices[source]];
                costs.more += cost(&self.pooled[source], &self.pooled[target]);
                costs.least = costs.least.min(weight);
                continue;
            }
            // An edge out of a cluster is also one into another, and each would change its own end alone.
            let now = cost(&self.points[source], &self.points[target]);
            for (own, other) in [(source, target), (target, source)] {
                costs[indices[own]].more += cost(&self.pooled[own], &self.points[other]) - now;
            }
        }
        costs
    }

    /// Σ ‖ŵ − mean‖² over some nodes.
    fn spread(&self, members: &[usize]) -> f64 {
        let mut mean = vec![0.0; self.points[members[0]].len()];
        for &node in members {
            add_scaled(&mut mean, 1.0 / members.len() as f64, &self.points[node]);
        }
        members.iter().map(|&node| squared_distance(&self.points[node], &mean)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::path;

    /// Two nodes with the losses (w − 1)² and (v − 3)² on one edge, at w and 4 − w.
    fn two(difference: PointDifference, alpha: f64, w: f64) -> Variation {
        let (network, pooled) = (path(2).unwrap(), [vec![2.0], vec![2.0]]);
        let points = [vec![w], vec![4.0 - w]];
        let fitted = FittedNetwork {
            network: &network,
            clusters: &[0, 0],
            alpha,
            difference,
            points: &points,
            pooled: &pooled,
            losses: &[1.0, 1.0],
            gap: 0.0,
        };
        variation_bound(&fitted).unwrap()[0]
    }

    #[test]
    fn two_nodes_have_bounds_in_closed_form() {
        // λ₂ = 2 and ε = 2; the variation is 2 (w − 2)².
        for alpha in [0.01_f64, 0.1, 1.0, 1.9, 10.0, 100.0] {
            let squared = (1.0 + 4.0 * alpha) / (1.0 + 2.0 * alpha);
            let half = (2.0 + 4.0 * alpha) / (2.0 + 2.0 * alpha);
            let norm = (1.0 + alpha / 2.0).min(2.0);
            let cases = [
                (PointDifference::Squared, squared, 1.0 / alpha),
                (PointDifference::Weights(Penalty::SquaredNorm), half, 2.0 / alpha),
                (PointDifference::Weights(Penalty::Norm), norm, 2.0 / (alpha * alpha)),
            ];
            for (difference, minimiser, bound) in cases {
                let variation = two(difference, alpha, minimiser);
                let found = variation.bound.unwrap();
                assert!((found / bound - 1.0).abs() < 1e-8, "{difference:?} {alpha}");
                let expected = 2.0 * (minimiser - 2.0).powi(2);
                assert!((variation.measured - expected).abs() < 1e-12);
                assert!(variation.measured <= found, "{difference:?} {alpha}");
            }
        }
    }

    #[test]
    fn without_coupling_or_in_pieces_there_is_no_bound() {
        assert_eq!(two(PointDifference::Squared, 0.0, 1.0).bound, None);
        let (network, points) = (path(3).unwrap(), [vec![1.0], vec![2.0], vec![3.0]]);
        let fitted = FittedNetwork {
            network: &network,
            clusters: &[0, 1, 0],
            alpha: 1.0,
            difference: PointDifference::Squared,
            points: &points,
            pooled: &points,
            losses: &[0.0; 3],
            gap: 0.0,
        };
        let found = variation_bound(&fitted).unwrap();
        assert_eq!((found[0].bound, found[0].lambda2), (None, Some(0.0)));
        assert_eq!((found[1].bound, found[1].measured), (Some(0.0), 0.0));
        let error =
            variation_bound(&FittedNetwork { losses: &[], ..fitted }).unwrap_err().to_string();
        assert_eq!(error, "losses: found 0, expected 3");
    }
}
