//! ½ ‖z‖², as in MOCHA: neighbours are similar, never equal. Every dual is possible, at a price.

use std::array;

use super::EdgePenalty;
use crate::algebra::{dot, scale};

/// ½ ‖z‖².
#[derive(Debug, Clone, Copy)]
pub(super) struct HalfSquaredNorm;

impl EdgePenalty for HalfSquaredNorm {
    fn name(&self) -> &'static str {
        "squared-norm"
    }

    fn about(&self) -> &'static str {
        "squared norm ½‖wᵢ − wⱼ‖²: neighbours are similar"
    }

    fn value(&self, z: &[f64]) -> f64 {
        0.5 * dot(z, z)
    }

    /// The paper prints 1 + 2σ/c; eq. 11 with φ* = ½‖·‖² gives the form used here.
    fn dual_update(&self, v: &mut [f64], c: f64, sigma: f64) {
        scale(v, 1.0 / (1.0 + sigma / c));
    }

    #[inline(always)]
    fn dual_update_row<const W: usize>(&self, v: [f64; W], c: f64, sigma: f64) -> [f64; W] {
        let factor = 1.0 / (1.0 + sigma / c);
        array::from_fn(|k| factor * v[k])
    }

    fn is_norm(&self) -> bool {
        false
    }

    fn conjugate(&self, u: &[f64], c: f64) -> f64 {
        0.5 * dot(u, u) / c
    }

    fn conjugate_nearly(&self, u: &[f64], c: f64) -> f64 {
        self.conjugate(u, c)
    }

    fn project_dual(&self, _u: &mut [f64], _c: f64) {}

    fn spread_sizes(&self, z: &mut [f64]) {
        z.fill(1.0);
    }

    fn largest_squares(&self, total: f64, _weakest: f64) -> f64 {
        2.0 * total
    }

    fn largest_distance(&self, total: f64, weakest: f64, edges: usize) -> f64 {
        // Cauchy and Schwarz over the edges of a way: (Σ ‖z‖)² ≤ ℓ Σ ‖z‖².
        (2.0 * edges as f64 * total / weakest).sqrt()
    }

    fn printed_share(&self) -> f64 {
        // 1 + 2σ/c is 1 + σ/(c/2).
        0.5
    }
}
