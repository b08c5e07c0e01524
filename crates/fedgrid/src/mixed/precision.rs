//! The precision Ω(ρ) = ρ L/d̄ + (1 − ρ) I of deviations along a network (Leroux's form).

use std::sync::Arc;

use crate::{
    algebra::{BlockCholesky, Pattern, SelectedInverse, add_scaled, dot},
    network::Network,
};

/// How many numbers a node has; the first of them belong together along the network, the others have Ω = I.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    pub(super) all: usize,
    pub(super) coupled: usize,
}

/// One number of each node.
const ONE: Width = Width { all: 1, coupled: 1 };

/// Ω, without its ρ.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
    neighbours: Vec<Vec<(usize, f64)>>,
    degrees: Vec<f64>,
    mean_degree: f64,
}

impl Precision {
    /// Along a network.
    #[must_use]
    pub fn along(network: &Network) -> Self {
        let nodes = 0..network.len();
        let degrees: Vec<f64> = nodes.clone().map(|node| network.degree(node)).collect();
        let mean_degree = degrees.iter().sum::<f64>() / degrees.len().max(1) as f64;
        Self {
            neighbours: nodes.map(|node| network.neighbours(node).to_vec()).collect(),
            degrees,
            mean_degree,
        }
    }

    /// Of nodes that have nothing to do with each other: Ω = I.
    #[must_use]
    pub fn independent(nodes: usize) -> Self {
        Self { neighbours: vec![Vec::new(); nodes], degrees: vec![0.0; nodes], mean_degree: 0.0 }
    }

    /// Whether there is an edge, without which ρ means nothing.
    #[must_use]
    pub fn has_edges(&self) -> bool {
        self.mean_degree > 0.0
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.degrees.len()
    }

    pub(super) fn neighbours(&self) -> &[Vec<(usize, f64)>] {
        &self.neighbours
    }

    /// 1/d̄; zero without an edge.
    pub(super) fn per_weight(&self) -> f64 {
        if self.has_edges() { 1.0 / self.mean_degree } else { 0.0 }
    }

    /// What an edge of weight one puts beside the diagonal.
    pub(super) fn coupling(&self, rho: f64) -> f64 {
        -rho * self.per_weight()
    }

    pub(super) fn diagonal(&self, node: usize, rho: f64) -> f64 {
        1.0 + rho * self.slope(node)
    }

    /// The derivative of a diagonal entry with respect to ρ; zero without an edge, where Ω = I.
    pub(super) fn slope(&self, node: usize) -> f64 {
        if self.has_edges() { self.degrees[node] / self.mean_degree - 1.0 } else { 0.0 }
    }

    /// The factor of Ω; none if it is singular in rounding.
    pub(super) fn factor(&self, pattern: &Arc<Pattern>, rho: f64) -> Option<BlockCholesky> {
        let diagonal: Vec<f64> =
            (0..self.degrees.len()).map(|node| self.diagonal(node, rho)).collect();
        BlockCholesky::new(pattern, 1, &diagonal, (self.coupling(rho), 1))
    }

    /// log|Ω|.
    pub(super) fn log_determinant(&self, pattern: &Arc<Pattern>, rho: f64) -> Option<f64> {
        // Ω = I, and the first half of a search is there.
        if rho == 0.0 {
            return Some(0.0);
        }
        self.factor(pattern, rho).map(|factor| factor.log_determinant())
    }

    /// tr(Ω⁻¹Ω').
    pub(super) fn log_determinant_slope(&self, pattern: &Arc<Pattern>, rho: f64) -> Option<f64> {
        Some(self.factored_slope(&self.factor(pattern, rho)?))
    }

    /// The same of a factored Ω.
    pub(super) fn factored_slope(&self, factor: &BlockCholesky) -> f64 {
        self.trace_slope(&factor.selected_inverse(), ONE)
    }

    /// `Σ_ij Ω'_ij tr(P_ij)` for blocks of so many rows.
    pub(super) fn trace_slope(&self, inverse: &SelectedInverse, width: Width) -> f64 {
        let diagonal = |node: usize| inverse.node(node).iter().step_by(width.all + 1);
        let trace = |node: usize| diagonal(node).take(width.coupled).sum::<f64>();
        let own: f64 = (0..self.degrees.len()).map(|node| self.slope(node) * trace(node)).sum();
        own - 2.0 * self.per_weight() * inverse.weighted_traces()
    }

    /// The mean of the diagonal of Ω⁻¹: the variance of a deviation over τ, on average.
    pub(super) fn mean_variance(&self, pattern: &Arc<Pattern>, rho: f64) -> Option<f64> {
        let inverse = self.factor(pattern, rho)?.selected_inverse();
        let total: f64 = (0..self.degrees.len()).map(|node| inverse.node(node)[0]).sum();
        Some(total / self.degrees.len() as f64)
    }

    /// uᵀ(Ω ⊗ I)u for so many numbers per node.
    pub(super) fn quadratic(&self, rho: f64, u: &[f64], width: Width) -> f64 {
        // Without a walk along edges where Ω = I.
        let slope = if rho == 0.0 { 0.0 } else { self.product_slope(u, u, width) };
        dot(u, u) + rho * slope
    }

    /// (Ω ⊗ I)u.
    pub(super) fn times(&self, rho: f64, u: &[f64], width: Width) -> Vec<f64> {
        let mut out = u.to_vec();
        add_scaled(&mut out, rho, &self.times_slope(u, width));
        out
    }

    /// vᵀ(Ω' ⊗ I)u.
    pub(super) fn product_slope(&self, v: &[f64], u: &[f64], width: Width) -> f64 {
        dot(v, &self.times_slope(u, width))
    }

    /// (Ω' ⊗ I)u.
    pub(super) fn times_slope(&self, u: &[f64], width: Width) -> Vec<f64> {
        let mut out = vec![0.0; u.len()];
        for (node, neighbours) in self.neighbours.iter().enumerate() {
            let of = |node: usize| node * width.all..node * width.all + width.coupled;
            let own = of(node);
            add_scaled(&mut out[own.clone()], self.slope(node), &u[own.clone()]);
            for &(other, weight) in neighbours {
                let there = &u[of(other)];
                add_scaled(&mut out[own.clone()], -weight * self.per_weight(), there);
            }
        }
        out
    }
}
