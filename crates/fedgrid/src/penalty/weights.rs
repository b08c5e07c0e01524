//! How the difference of two neighbours' weights counts: a convex φ, times the strength c = α A of
//! the edge,
//!
//! ```text
//! g(z) = c φ(z)      norm ‖z‖₂      squared norm ½ ‖z‖²      one-norm ‖z‖₁
//! ```
//!
//! and its conjugate g*(u), which is what the two ends of an edge agree on: a dual u with g*(u) finite.
//! A new penalty is a file with an [`EdgePenalty`], and a variant of [`Penalty`] with its two arms here.
//! ["Networked Federated Multi-Task Learning", eq. 4 and 11.]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    EdgePenalty, PenaltyTask, norm::EuclideanNorm, one_norm::EntrywiseNorm,
    squared_norm::HalfSquaredNorm,
};

/// What is summed over the edges of the difference of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Penalty {
    /// ‖z‖₂, the network lasso: neighbours are equal or differ as a whole.
    Norm,
    /// ½ ‖z‖², as in MOCHA: neighbours are similar, never equal.
    #[default]
    SquaredNorm,
    /// ‖z‖₁: each weight is equal or differs by itself.
    OneNorm,
}

impl Penalty {
    /// All penalties.
    pub const ALL: [Self; 3] = [Self::Norm, Self::SquaredNorm, Self::OneNorm];

    /// What it is asked for.
    #[must_use]
    pub fn rule(self) -> &'static dyn EdgePenalty {
        match self {
            Self::Norm => &EuclideanNorm,
            Self::SquaredNorm => &HalfSquaredNorm,
            Self::OneNorm => &EntrywiseNorm,
        }
    }

    /// Runs work that is compiled for each penalty.
    #[inline(always)]
    pub fn dispatch<T: PenaltyTask>(self, task: T) -> T::Output {
        match self {
            Self::Norm => task.run(&EuclideanNorm),
            Self::SquaredNorm => task.run(&HalfSquaredNorm),
            Self::OneNorm => task.run(&EntrywiseNorm),
        }
    }

    /// Its name in files and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.rule().name()
    }

    /// φ(z).
    #[must_use]
    pub fn value(self, z: &[f64]) -> f64 {
        self.rule().value(z)
    }

    /// g*(u): zero in the ball of radius c and infinite outside for the norms, ‖u‖² / 2c for the
    /// squared norm.
    #[must_use]
    pub fn conjugate(self, u: &[f64], c: f64) -> f64 {
        self.rule().conjugate(u, c)
    }

    /// The size of a dual, which the norms keep at most c: ‖u‖₂, or the largest entry.
    #[must_use]
    pub fn dual_size(self, u: &[f64]) -> f64 {
        self.rule().dual_size(u)
    }

    /// Replaces v by argmin over u of g*(u) + ‖u − v‖² / 2σ.
    #[inline]
    pub fn dual_update(self, v: &mut [f64], c: f64, sigma: f64) {
        self.rule().dual_update(v, c, sigma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::dot;

    #[test]
    fn squared_norm_dual_update_minimises_its_definition() {
        let (v, c, sigma) = (3.0, 0.7, 0.5);
        let objective = |z: f64| z * z / (2.0 * c) + (v - z).powi(2) / (2.0 * sigma);
        let mut z = [v];
        Penalty::SquaredNorm.dual_update(&mut z, c, sigma);
        assert!(objective(z[0]) <= objective(z[0] + 1e-4).min(objective(z[0] - 1e-4)));
    }

    #[test]
    fn the_dual_update_and_the_proximal_step_of_the_penalty_make_up_the_identity() {
        // Moreau: v = prox_{σ g*}(v) + σ prox_{g/σ}(v/σ), so p = (v − u)/σ minimises its own problem.
        let (v, c, sigma) = ([1.3, -0.4, 2.0], 0.8, 0.6);
        for penalty in Penalty::ALL {
            let mut u = v;
            penalty.dual_update(&mut u, c, sigma);
            let p: Vec<f64> = v.iter().zip(&u).map(|(v, u)| (v - u) / sigma).collect();
            let objective = |p: &[f64]| {
                let distance: f64 = p.iter().zip(&v).map(|(p, v)| (p - v / sigma).powi(2)).sum();
                c * penalty.value(p) + 0.5 * sigma * distance
            };
            for k in 0..3 {
                for step in [-1e-4, 1e-4] {
                    let mut other = p.clone();
                    other[k] += step;
                    assert!(objective(&p) <= objective(&other), "{penalty:?}");
                }
            }
        }
    }

    #[test]
    fn fenchel_young_holds_and_is_tight_at_the_dual_of_a_difference() {
        let (z, c) = ([0.3, -1.2], 0.9);
        for penalty in Penalty::ALL {
            for u in [[0.0, 0.0], [0.2, -0.6], [0.5, 0.5]] {
                let gap = c * penalty.value(&z) + penalty.conjugate(&u, c) - dot(&u, &z);
                assert!(gap >= -1e-15, "{penalty:?}");
            }
            // The largest dual of z is the limit of dual updates of ever longer multiples of z.
            let mut u = if penalty == Penalty::SquaredNorm {
                [c * z[0], c * z[1]]
            } else {
                [1e9 * z[0], 1e9 * z[1]]
            };
            if penalty != Penalty::SquaredNorm {
                penalty.dual_update(&mut u, c, 1.0);
                u = [u[0] * (1.0 - 1e-15), u[1] * (1.0 - 1e-15)];
            }
            let gap = c * penalty.value(&z) + penalty.conjugate(&u, c) - dot(&u, &z);
            assert!(gap.abs() < 1e-14, "{penalty:?}: {gap}");
        }
    }

    #[test]
    fn outside_of_its_ball_a_dual_of_a_norm_costs_everything() {
        assert!(Penalty::Norm.conjugate(&[0.8, 0.8], 1.0).is_infinite());
        assert!(Penalty::OneNorm.conjugate(&[0.8, 0.8], 1.0).abs() < 1e-300);
        assert!(Penalty::OneNorm.conjugate(&[1.1, 0.0], 1.0).is_infinite());
    }

    struct Row([f64; 2]);

    impl PenaltyTask for Row {
        type Output = [f64; 2];

        fn run<P: EdgePenalty>(self, penalty: &P) -> [f64; 2] {
            penalty.dual_update_row(self.0, 0.8, 0.6)
        }
    }

    #[test]
    fn a_row_in_registers_is_updated_as_a_slice_to_the_last_bit() {
        for penalty in Penalty::ALL {
            for v in [[1.3, -0.4], [0.1, 0.2], [0.0, 0.0], [-2.0, 0.8]] {
                let mut slice = v;
                penalty.dual_update(&mut slice, 0.8, 0.6);
                let row = penalty.dispatch(Row(v));
                assert_eq!(row.map(f64::to_bits), slice.map(f64::to_bits), "{penalty:?}");
            }
        }
    }
}
