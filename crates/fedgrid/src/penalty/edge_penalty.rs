//! What is asked of a penalty φ on an edge of strength c, and how work is compiled for each.

use crate::algebra::norm;

/// Work whose inner loop is compiled for each penalty.
pub trait PenaltyTask {
    /// What it answers.
    type Output;

    /// Does the work; to be marked `inline(always)` where it is compiled for wide registers.
    fn run<P: EdgePenalty>(self, penalty: &P) -> Self::Output;
}

/// A share by which scaling into a ball may leave a dual outside, by rounding.
const BALL_ROUNDING: f64 = 1e-12;

/// What methods, minimisers and bounds ask of a penalty φ on an edge of strength c, with g = c φ.
///
/// What has a default is that of a norm, whose duals fill the ball of radius c.
pub trait EdgePenalty: Send + Sync {
    /// Its name in files and results.
    fn name(&self) -> &'static str;

    /// What it is and does, in a line of a report.
    fn about(&self) -> &'static str;

    /// φ(z).
    fn value(&self, z: &[f64]) -> f64;

    /// Replaces v by argmin over u of g*(u) + ‖u − v‖² / 2σ.
    fn dual_update(&self, v: &mut [f64], c: f64, sigma: f64);

    /// The same for a row in registers.
    fn dual_update_row<const W: usize>(&self, v: [f64; W], c: f64, sigma: f64) -> [f64; W]
    where
        Self: Sized;

    /// Replaces each entry of a difference by the size ‖z‖ that it counts with: ω = 1 / ‖z‖ are the weights
    /// with which Σ ω z² bends like φ.
    fn spread_sizes(&self, z: &mut [f64]);

    /// The size of a dual: for a norm its dual norm.
    fn dual_size(&self, u: &[f64]) -> f64 {
        norm(u)
    }

    /// Whether φ is a norm: it makes neighbours equal from some strength on. If not, it is quadratic.
    fn is_norm(&self) -> bool {
        true
    }

    /// Whether φ is the Euclidean norm, which semismooth Newton steps and the fastest loops are written for.
    #[inline(always)]
    fn is_euclidean(&self) -> bool {
        false
    }

    /// g*(u).
    fn conjugate(&self, u: &[f64], c: f64) -> f64 {
        if self.dual_size(u) > c { f64::INFINITY } else { 0.0 }
    }

    /// g*(u) of a dual that an update has given, and that rounding may have left outside of its ball.
    fn conjugate_nearly(&self, u: &[f64], c: f64) -> f64 {
        self.conjugate(u, c * (1.0 + BALL_ROUNDING))
    }

    /// Brings a dual of another strength to where g* is finite.
    fn project_dual(&self, u: &mut [f64], c: f64) {
        // A projection onto the ball has no step.
        self.dual_update(u, c, 1.0);
    }

    /// The largest ‖u‖₂ of a dual of size one with so many entries. For a norm φ(z) is at most this
    /// many times ‖z‖₂.
    fn dual_ratio(&self, _size: usize) -> f64 {
        1.0
    }

    /// The largest Σ A ‖z‖² over edges of weight `weakest` or more for which Σ A φ(z) is at most `total`.
    fn largest_squares(&self, total: f64, weakest: f64) -> f64 {
        // Σ A‖z‖² ≤ (Σ √A‖z‖)² ≤ (Σ A‖z‖)² / A_min, and ‖z‖₂ ≤ ‖z‖₁.
        total * total / weakest
    }

    /// The largest ‖Σ z‖ along a way of so many edges of strength `weakest` or more for which Σ c φ(z) is
    /// at most `total`.
    fn largest_distance(&self, total: f64, weakest: f64, _edges: usize) -> f64 {
        total / weakest
    }

    /// The share of the strength that the dual update printed in the paper belongs to.
    fn printed_share(&self) -> f64 {
        1.0
    }
}
