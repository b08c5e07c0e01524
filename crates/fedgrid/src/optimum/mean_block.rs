//! A preconditioner for strong pulls on networks whose blocks elimination fills in too much: all nodes have the mean
//! block,
//!
//! ```text
//! P = I ⊗ Ū + α (D − A) ⊗ I = (I ⊗ V) (Λ ⊗ I + I ⊗ α (D − A)) (I ⊗ Vᵀ)        Ū = V Λ Vᵀ
//! ```
//!
//! so that its factors are those of the network alone, with one number for every node, once for each eigenvalue of Ū.
//! Under a strong pull neighbours have nearly the same weights, and blocks matter by their mean over many nodes.

use crate::{
    algebra::{BlockCholesky, Singular, add_scaled, dot},
    network::Network,
};

/// Eigenvalues are at least this share of what edges put on the diagonal: below, rounding makes factors singular.
const LEAST_SHARE: f64 = 1e-11;

/// The factors.
#[derive(Debug)]
pub(super) struct MeanBlock {
    /// The eigenvectors of the mean block, row by row.
    directions: Vec<f64>,
    /// A factor of the network for each.
    factors: Vec<BlockCholesky>,
}

impl MeanBlock {
    /// The factors for a mean block of so many rows; none where the network alone fills in too much.
    pub(super) fn new(network: &Network, alpha: f64, mean: &[f64], size: usize) -> Option<Self> {
        let pattern = network.scalar_pattern(size)?;
        let spectrum = Singular::new(mean, size);
        let pulls: Vec<f64> = (0..network.len()).map(|node| alpha * network.degree(node)).collect();
        let most = pulls.iter().fold(0.0, |a: f64, b| a.max(*b));
        let factor = |value: &f64| {
            let own = value.max(LEAST_SHARE * most);
            let diagonal: Vec<f64> = pulls.iter().map(|pull| own + pull).collect();
            BlockCholesky::new(&pattern, 1, &diagonal, (-alpha, 1))
        };
        let factors = spectrum.values.iter().map(factor).collect::<Option<_>>()?;
        Some(Self { directions: spectrum.right.concat(), factors })
    }

    /// Replaces the rows of all nodes by `P⁻¹` times them.
    pub(super) fn solve(&self, rows: &mut [f64]) {
        let size = self.factors.len();
        let directions = || self.directions.chunks_exact(size).enumerate();
        let mut parts = vec![vec![0.0; rows.len() / size]; size];
        for (node, row) in rows.chunks_exact(size).enumerate() {
            directions().for_each(|(k, direction)| parts[k][node] = dot(direction, row));
        }
        for (part, factor) in parts.iter_mut().zip(&self.factors) {
            factor.solve(part, 1);
        }
        for (node, row) in rows.chunks_exact_mut(size).enumerate() {
            row.fill(0.0);
            directions().for_each(|(k, direction)| add_scaled(row, parts[k][node], direction));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::grid;

    #[test]
    fn equal_blocks_are_solved_exactly() {
        let (network, size, alpha) = (grid(6, 5).unwrap(), 3, 2.5);
        let mean = [2.0, 0.3, -0.1, 0.3, 1.0, 0.2, -0.1, 0.2, 0.5];
        let block = MeanBlock::new(&network, alpha, &mean, size).unwrap();
        let expected: Vec<f64> = (0..30 * size).map(|k| (k as f64).sin()).collect();
        let mut rows = vec![0.0; expected.len()];
        for (node, out) in rows.chunks_exact_mut(size).enumerate() {
            let own = &expected[node * size..][..size];
            mean.chunks_exact(size).zip(&mut *out).for_each(|(line, out)| *out = dot(line, own));
            for &(other, weight) in network.neighbours(node) {
                let theirs = &expected[other * size..][..size];
                for ((out, own), theirs) in out.iter_mut().zip(own).zip(theirs) {
                    *out += alpha * weight * (own - theirs);
                }
            }
        }
        block.solve(&mut rows);
        for (found, expected) in rows.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
