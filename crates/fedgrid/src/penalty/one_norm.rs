//! ‖z‖₁: each weight is equal or differs by itself. Duals fill boxes.

use std::array;

use super::EdgePenalty;

/// ‖z‖₁.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntrywiseNorm;

impl EdgePenalty for EntrywiseNorm {
    fn name(&self) -> &'static str {
        "one-norm"
    }

    fn about(&self) -> &'static str {
        "one-norm ‖wᵢ − wⱼ‖₁: each weight is equal or differs by itself"
    }

    fn value(&self, z: &[f64]) -> f64 {
        z.iter().map(|z| z.abs()).sum()
    }

    fn dual_size(&self, u: &[f64]) -> f64 {
        u.iter().fold(0.0, |size, u| u.abs().max(size))
    }

    fn dual_update(&self, v: &mut [f64], c: f64, _sigma: f64) {
        for v in v {
            *v = v.clamp(-c, c);
        }
    }

    #[inline(always)]
    fn dual_update_row<const W: usize>(&self, v: [f64; W], c: f64, _sigma: f64) -> [f64; W] {
        array::from_fn(|k| v[k].clamp(-c, c))
    }

    fn spread_sizes(&self, z: &mut [f64]) {
        for z in z {
            *z = z.abs();
        }
    }

    fn dual_ratio(&self, size: usize) -> f64 {
        // The corner of a box is √d times as far away as its sides.
        (size as f64).sqrt()
    }
}
