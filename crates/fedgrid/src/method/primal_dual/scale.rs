//! The scale of a node's steps,
//!
//! ```text
//! s ← s · (t/s)^½,   t² = Σ |N(i)| ‖w̃ − w‖² / Σ Σ_e ‖ũ_e − u_e‖²
//! ```
//!
//! summed over the last iterations: where weights still move far and duals hardly, longer steps of
//! the weights are due. The m-th change is by a factor of at most 1 + 1000/m²; these have a finite
//! product, so that the steps settle and the method converges. ["A Practical Primal-Dual Hybrid
//! Gradient Method", PDLP, balances one scale of all in the same way.]

use crate::{
    bytes::{Reader, Writer},
    error::Result,
};

/// How many iterations pass between two changes of the scale: sums over fewer are too noisy.
const ITERATIONS_PER_CHANGE: usize = 5;

/// The m-th change is by a factor of at most one plus this over m². Scales that are wrong by powers of
/// ten are reached in the first few changes, and the product of all factors is still finite.
const LARGEST_FIRST_CHANGE: f64 = 1000.0;

/// The scale of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Scale {
    /// Every node balances its own, beginning at one.
    #[default]
    Adaptive,
    /// The same positive number at all nodes for all rounds. Large ones let weights move far and
    /// duals little. Residuals are measured in the metric of the steps, so at a scale that does not
    /// suit a network they are small long before the objective is near its minimum.
    Fixed(f64),
}

/// The scale of one node.
#[derive(Debug)]
pub(super) struct Balance {
    /// The scale s.
    pub(super) scale: f64,
    is_adaptive: bool,
    iterations: usize,
    changes: usize,
    weights_moved: f64,
    duals_moved: f64,
}

impl Balance {
    pub(super) fn new(scale: Scale) -> Self {
        let (scale, is_adaptive) = match scale {
            Scale::Adaptive => (1.0, true),
            Scale::Fixed(scale) => (scale, false),
        };
        let (iterations, changes, weights_moved, duals_moved) = (0, 0, 0.0, 0.0);
        Self { scale, is_adaptive, iterations, changes, weights_moved, duals_moved }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.number(self.scale);
        to.count(self.iterations);
        to.count(self.changes);
        to.numbers(&[self.weights_moved, self.duals_moved]);
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.scale = from.number()?;
        (self.iterations, self.changes) = (from.count()?, from.count()?);
        (self.weights_moved, self.duals_moved) = (from.number()?, from.number()?);
        Ok(())
    }

    /// Takes note of an iteration: the squares by which the weights (times the number of neighbours)
    /// and the duals of all own edges have moved.
    pub(super) fn watch(&mut self, weights_moved: f64, duals_moved: f64) {
        self.weights_moved += weights_moved;
        self.duals_moved += duals_moved;
        self.iterations += 1;
        if !self.is_adaptive || !self.iterations.is_multiple_of(ITERATIONS_PER_CHANGE) {
            return;
        }
        self.changes += 1;
        let target = (self.weights_moved / self.duals_moved).sqrt();
        // Nothing has moved on one side: that says nothing about the scale.
        if target > 0.0 && target.is_finite() {
            let largest = 1.0 + LARGEST_FIRST_CHANGE / (self.changes as f64).powi(2);
            self.scale *= (target / self.scale).sqrt().clamp(1.0 / largest, largest);
        }
        (self.weights_moved, self.duals_moved) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_where_both_sides_move_alike() {
        let mut balance = Balance::new(Scale::Adaptive);
        for _ in 0..500 {
            balance.watch(49.0, 1.0);
        }
        assert!((balance.scale - 7.0).abs() < 1e-6, "{}", balance.scale);
    }

    #[test]
    fn even_endless_demands_move_the_scale_by_a_bounded_factor() {
        let mut balance = Balance::new(Scale::Adaptive);
        for _ in 0..200_000 {
            balance.watch(1e200, 1e-200);
        }
        let then = balance.scale;
        for _ in 0..200_000 {
            balance.watch(1e200, 1e-200);
        }
        assert!(then.is_finite() && balance.scale / then < 1.03, "{}", balance.scale / then);
    }

    #[test]
    fn nothing_moving_and_a_fixed_scale_stay() {
        let (mut still, mut fixed) =
            (Balance::new(Scale::Adaptive), Balance::new(Scale::Fixed(3.0)));
        for _ in 0..20 {
            still.watch(0.0, 0.0);
            fixed.watch(5.0, 1.0);
        }
        assert_eq!((still.scale, fixed.scale), (1.0, 3.0));
    }
}
