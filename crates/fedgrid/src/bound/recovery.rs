//! How far the minimum of total variation can be from the optima of the clusters: with the strength
//!
//! ```text
//! λ = U L √M / K      Σ_edges A φ(e_i − e_j) ≤ 8 U L K √M / (C (L − 1)²),   e = ŵ − w̄
//! ```
//!
//! where w̄ is the pooled optimum of each cluster, U the largest `‖∇L_i(w̄_i)‖` and C half the smallest
//! curvature over the M nodes with rows, and L and K are those of condition (17).
//! ["Networked Federated Multi-Task Learning", Theorem 1; φ a norm.]

use super::{PooledModels, Sampling, sampling, weights_of};
use crate::{
    algebra::{Reflections, Singular, norm},
    error::{Result, same_size},
    model::{Linear, Parametric},
    network::{Network, Node},
    penalty::Penalty,
};

/// Singular values below this share of the largest are zero.
const RANK_SHARE: f64 = 1e-12;
/// Gradients below this share of those at weights of zero are rounding.
const ROUNDING_SHARE: f64 = 1e-9;

/// Theorem 1 for a network with clusters, its constants and what could not be checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// M: how many nodes have rows.
    pub labelled: usize,
    /// w̄: the weights of each node's cluster optimum.
    pub optima: Vec<Vec<f64>>,
    /// U: the largest norm of a gradient at a cluster's optimum, exact for these data.
    pub gradient: f64,
    /// C: half the smallest eigenvalue of a Hessian, exact for linear models, the ridge for others
    /// without intercept; zero where it is not known to be larger.
    pub curvature: f64,
    /// L and K, by flows.
    pub sampling: Sampling,
    /// λ: the α for which the bound holds; none if the theorem does not apply.
    pub alpha: Option<f64>,
    /// The bound (18) on the total variation of ŵ − w̄; none if the theorem does not apply.
    pub bound: Option<f64>,
    /// What could not be checked, and why there is no bound.
    pub warnings: Vec<String>,
}

/// Theorem 1 for parametric models whose weights are all coupled by a penalty.
pub fn recovery(
    nodes: &[Node],
    network: &Network,
    clusters: &[usize],
    penalty: Penalty,
) -> Result<Recovery> {
    same_size("nodes", nodes.len(), network.len())?;
    let pooled = PooledModels::fit(nodes, clusters)?;
    let optima = weights_of(nodes, &pooled.hypotheses, true)?;
    let labelled: Vec<bool> = nodes.iter().map(|node| node.data.total_weight() > 0.0).collect();
    let with_rows = || nodes.iter().zip(&labelled).filter(|(_, on)| **on).map(|(node, _)| node);
    let size = |node: &Node| gradient_norm(node, &optima[node.id]);
    let curvatures: Vec<f64> = with_rows().map(curvature).collect();
    let mut found = Recovery {
        labelled: with_rows().count(),
        gradient: with_rows().map(size).fold(0.0, f64::max),
        curvature: curvatures.iter().copied().fold(f64::INFINITY, f64::min),
        sampling: sampling(network, clusters, &labelled)?,
        optima,
        alpha: None,
        bound: None,
        warnings: Vec::new(),
    };
    // A single node without curvature makes the smallest C of all nodes zero.
    let flat = curvatures.iter().filter(|curvature| **curvature == 0.0).count();
    found.warnings = found.assumptions(nodes, &labelled, flat, penalty);
    found.apply(penalty);
    Ok(found)
}

impl Recovery {
    /// The total variation of weights minus the clusters' optima: what the bound is about.
    pub fn error(&self, network: &Network, penalty: Penalty, weights: &[Vec<f64>]) -> Result<f64> {
        same_size("weights", weights.len(), self.optima.len())?;
        same_size("nodes", network.len(), self.optima.len())?;
        let apart = |node: usize| weights[node].iter().zip(&self.optima[node]).map(|(w, o)| w - o);
        let term = |edge: &crate::network::Edge| {
            let pairs = apart(edge.source).zip(apart(edge.target));
            edge.weight * penalty.value(&pairs.map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        Ok(network.edges().iter().map(term).sum())
    }

    /// What could not be checked, where so many nodes have no curvature.
    fn assumptions(
        &self,
        nodes: &[Node],
        labelled: &[bool],
        flat: usize,
        penalty: Penalty,
    ) -> Vec<String> {
        let mut warnings = self.sampling.warnings.clone();
        if !penalty.rule().is_norm() {
            warnings.push("Theorem 1 is about norms, and the squared norm is none".into());
        }
        let with_rows = || nodes.iter().zip(labelled).filter(|(_, on)| **on).map(|(node, _)| node);
        let rough = |node: &&Node| {
            let shape = node.model.as_parametric().map(Parametric::shape);
            !shape.is_some_and(|shape| shape.convex && shape.smooth)
        };
        if let Some(node) = with_rows().find(rough) {
            warnings.push(format!(
                "the loss of node {} is not known to be convex and smooth, as assumption 1 asks",
                node.id
            ));
        }
        if flat > 0 {
            warnings.push(format!(
                "C is zero: {flat} of {} nodes with rows have a loss that is not known to curve in all \
                 directions (too few rows, or no ridge), so assumption 1 fails",
                self.labelled
            ));
        }
        let at_zero = |node: &Node| gradient_norm(node, &vec![0.0; self.optima[node.id].len()]);
        if self.gradient <= ROUNDING_SHARE * with_rows().map(at_zero).fold(0.0, f64::max) {
            let reason = "U is zero up to rounding: every node agrees with its cluster, whatever α";
            warnings.push(reason.into());
        }
        warnings
    }

    /// Sets strength and bound where all assumptions hold.
    fn apply(&mut self, penalty: Penalty) {
        let Some((l, k)) = self.sampling.constants.filter(|_| self.warnings.is_empty()) else {
            return;
        };
        // The flow bounds sums of φ(w), of which φ(w) ≤ ratio · ‖w‖₂ makes what K multiplies.
        let k = k * penalty.rule().dual_ratio(self.optima[0].len());
        let root = (self.labelled as f64).sqrt();
        self.alpha = Some(self.gradient * l * root / k);
        self.bound =
            Some(8.0 * self.gradient * l * k * root / (self.curvature * (l - 1.0).powi(2)));
    }
}

fn gradient_norm(node: &Node, weights: &[f64]) -> f64 {
    let model = node.model.as_parametric();
    model.map_or(0.0, |model| norm(&model.gradient(&node.data, weights)))
}

/// The C of a node: ∇²L ⪰ 2 C.
fn curvature(node: &Node) -> f64 {
    if let Some(linear) = node.model.as_linear() {
        return linear_curvature(linear, node);
    }
    let Some(model) = node.model.as_parametric() else { return 0.0 };
    let free = model.intercepts(node.data.features().columns(), node.data.task());
    let shape = model.shape();
    // A ridge does not hold intercepts, so with one nothing is known of the curvature along it.
    if shape.convex && free.is_empty() { shape.ridge } else { 0.0 }
}

/// The smallest eigenvalue of Q + ridge R.
fn linear_curvature(model: &Linear, node: &Node) -> f64 {
    let columns = node.data.features().columns();
    let size = columns + usize::from(model.intercept);
    let mut rows = Vec::new();
    for (x, weight) in node.data.features().iter().zip(node.data.weights()) {
        let one = model.intercept.then_some(1.0);
        rows.extend(x.iter().copied().chain(one).map(|x| weight.sqrt() * x));
    }
    for slope in 0..columns {
        rows.extend((0..size).map(|k| if k == slope { model.ridge.sqrt() } else { 0.0 }));
    }
    // Singular values of rows and not eigenvalues of their squares, which would lose half the digits.
    Reflections::triangularising(&mut rows, size);
    let values = Singular::values(&rows, size);
    let largest = values.iter().copied().fold(0.0, f64::max);
    let smallest = values.into_iter().fold(f64::INFINITY, f64::min);
    if smallest > RANK_SHARE * largest && smallest.is_finite() { smallest * smallest } else { 0.0 }
}
