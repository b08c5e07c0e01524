//! What all nodes of a connected part have in common, solved for at once: on vectors that are equal over a part
//! pulls vanish where second derivatives are equal, and about so elsewhere,
//!
//! ```text
//! E c = Σ_i r_i      with  E = Σ_i (H_i + α · hub · K_i),  i over the nodes of the part
//! ```

use super::{
    Curvatures,
    equations::{Equations, factored},
};
use crate::algebra::{Cholesky, add_scaled};

/// The small systems of all parts.
pub(super) struct Coarse {
    size: usize,
    /// The part of each node; none of one that is not coupled.
    parts: Vec<Option<usize>>,
    factors: Vec<Option<Cholesky>>,
}

impl Coarse {
    /// The small systems of a network in which neighbours pull harder than rows; none elsewhere.
    pub(super) fn new(equations: &Equations, curvatures: &Curvatures) -> Option<Self> {
        if !equations.is_pulled_hard(curvatures) {
            return None;
        }
        let (size, statistics) = (equations.smooth.size, equations.network.statistics());
        let is_coupled = |node: usize| !curvatures[node].0.is_empty();
        let components = statistics.components.iter().enumerate();
        let parts: Vec<Option<usize>> =
            components.map(|(node, &part)| is_coupled(node).then_some(part)).collect();
        let mut sums = vec![Vec::new(); statistics.sizes.len()];
        for (part, own) in parts.iter().zip(curvatures) {
            let Some(part) = part else { continue };
            sums[*part].resize(size * size, 0.0);
            add_scaled(&mut sums[*part], 1.0, &equations.common_block(own));
        }
        let factor = |mut sum: Vec<f64>| {
            (!sum.is_empty()).then(|| {
                equations.fill_common_shift(&mut sum);
                factored(sum, size)
            })
        };
        Some(Self { size, parts, factors: sums.into_iter().map(factor).collect() })
    }

    /// What the nodes of every part have in common, at every node.
    pub(super) fn solve(&self, residual: &[f64]) -> Vec<f64> {
        let size = self.size.max(1);
        let mut sums = vec![0.0; self.factors.len() * size];
        for (own, part) in residual.chunks_exact(size).zip(&self.parts) {
            if let Some(part) = part {
                add_scaled(&mut sums[part * size..][..size], 1.0, own);
            }
        }
        for (sum, factor) in sums.chunks_exact_mut(size).zip(&self.factors) {
            if let Some(factor) = factor {
                factor.solve(sum);
            }
        }
        let mut common = vec![0.0; residual.len()];
        for (own, part) in common.chunks_exact_mut(size).zip(&self.parts) {
            if let Some(part) = part {
                own.copy_from_slice(&sums[part * size..][..size]);
            }
        }
        common
    }
}
