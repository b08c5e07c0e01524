//! ‖z‖₂, the network lasso: neighbours are equal or differ as a whole. Duals fill Euclidean balls.

use std::array;

use super::EdgePenalty;
use crate::algebra::{norm, row_dot, scale};

/// ‖z‖₂.
#[derive(Debug, Clone, Copy)]
pub(super) struct EuclideanNorm;

impl EdgePenalty for EuclideanNorm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn about(&self) -> &'static str {
        "norm ‖wᵢ − wⱼ‖₂: neighbours are equal or differ as a whole"
    }

    fn value(&self, z: &[f64]) -> f64 {
        norm(z)
    }

    fn dual_update(&self, v: &mut [f64], c: f64, _sigma: f64) {
        let size = norm(v);
        if size > c {
            scale(v, c / size);
        }
    }

    #[inline(always)]
    fn dual_update_row<const W: usize>(&self, v: [f64; W], c: f64, _sigma: f64) -> [f64; W] {
        // Without a branch, which no processor could foresee.
        let factor = (c / row_dot(&v, &v).sqrt()).min(1.0);
        array::from_fn(|k| factor * v[k])
    }

    fn spread_sizes(&self, z: &mut [f64]) {
        // All entries are bent together, by the length of the whole.
        let size = norm(z);
        z.fill(size);
    }

    #[inline(always)]
    fn is_euclidean(&self) -> bool {
        true
    }
}
