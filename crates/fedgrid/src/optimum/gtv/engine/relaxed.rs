//! Relaxed primal-dual steps, in which every node has a scale of its own,
//!
//! ```text
//! z ← z + ρ (T(z) − z),      τ_i = s_i/|N(i)|,   σ_e = 1/(s_i + s_j)
//! s_i ← s_i (t/s_i)^0.7,     t² = Σ |N(i)| ‖Δw_i‖² / Σ Σ_e ‖Δu_e‖²      over the counted steps
//! ```
//!
//! the federated method's iteration with all nodes in one place: nothing but the duals and the weights
//! is read and written in a step. The m-th change of a scale is by a factor of at most 1 + 1000/m², so
//! the metric settles and the iteration converges; where it is slow, that is seen from the residual
//! `Σ_i (|N(i)| ‖Δw_i‖²/s_i + s_i Σ_e ‖Δu_e‖²)`.

use std::borrow::Cow;

use super::{Engine, EngineKind, StepEnd};
use crate::{
    error::Result,
    optimum::gtv::{
        kernel::{
            next_point::NextPoint,
            sweep::{LARGEST_SCALE, LEAST_SCALE, MovementCounts, PrimalDualSweep},
        },
        problem::{GtvProblem, PrimalDualPoint},
    },
};

/// A step goes beyond T(z) by this share: ρ − 1. Any below one converges.
const BEYOND_SHARE: f64 = 0.5;
/// Scales change after so many steps,
const PERIOD_STEPS: usize = 8;
/// of which the last are counted: the first still show the change before.
const COUNTED_STEPS: usize = 2;
/// The power of the balance that a change makes good for: one whole would overshoot,
const BALANCE_POWER: f64 = 0.7;
/// by a factor of at most one plus this over m² the m-th time: the product of all factors is finite, so the
/// metric settles.
const LARGEST_CHANGE: f64 = 1000.0;
/// Factors whose logarithm is smaller are not worth new coefficients.
const SMALLEST_LOG_CHANGE: f64 = 0.2;
/// The factor where only the weights have moved, or only the duals.
const SCALE_JUMP: f64 = 10.0;
/// Steps are slow if the residual is above the first, or over this many changes stays above this share.
const SLOW_CHANGES: usize = 3;
const SLOW_SHARE: f64 = 0.7;
/// After how many changes of the scales the objective is looked at: it costs as much as a step.
const CHANGES_PER_LOOK: usize = 3;

/// A running iteration.
#[derive(Debug)]
pub(crate) struct Relaxed<'a> {
    sweep: PrimalDualSweep<'a>,
    pub(crate) point: PrimalDualPoint,
    /// Steps in all, and since the last change of the scales.
    pub(crate) steps: usize,
    since: usize,
    /// Changes of the scales since the iteration last settled.
    changes: usize,
    /// The residual at each change of the scales.
    residuals: Vec<f64>,
}

impl<'a> Relaxed<'a> {
    pub(crate) fn new(problem: &'a GtvProblem<'a>, point: PrimalDualPoint, scale: f64) -> Self {
        let mut sweep = PrimalDualSweep::new(problem);
        sweep.set_scale(scale);
        sweep.counts =
            MovementCounts { weights: vec![0.0; problem.len()], duals: vec![0.0; problem.len()] };
        Self { sweep, point, steps: 0, since: 0, changes: 0, residuals: Vec::new() }
    }

    /// One step, after which the scales may change.
    pub(super) fn iterate(&mut self) -> Result<()> {
        let counted = self.since >= PERIOD_STEPS - COUNTED_STEPS;
        let next = NextPoint::Relaxed { beyond: BEYOND_SHARE, counted };
        self.sweep.step(&mut self.point, &PrimalDualPoint::default(), next)?;
        self.steps += 1;
        self.since += 1;
        if self.since == PERIOD_STEPS {
            self.since = 0;
            self.changes += 1;
            self.balance();
        }
        Ok(())
    }

    /// The weights of T(z) of the last step.
    pub(crate) fn proposed(&self) -> Vec<f64> {
        let steps = self.sweep.reflected.iter().zip(&self.point.w);
        steps.map(|(x, w)| x - (x - w) / (1.0 - BEYOND_SHARE)).collect()
    }

    /// A plain step, after which the duals lie in their balls.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.sweep.step(&mut self.point, &PrimalDualPoint::default(), NextPoint::Plain)?;
        self.steps += 1;
        self.changes = 0;
        Ok(())
    }

    /// Whether another iteration should be tried.
    pub(crate) fn is_slow(&self) -> bool {
        let (Some(first), Some(last)) = (self.residuals.first(), self.residuals.last()) else {
            return false;
        };
        let before = self.residuals.len().checked_sub(1 + SLOW_CHANGES);
        last > first || before.is_some_and(|k| *last > SLOW_SHARE * self.residuals[k])
    }

    /// The geometric mean of the scales.
    pub(crate) fn scale(&self) -> f64 {
        let logarithms: f64 = self.sweep.scales.iter().map(|scale| scale.ln()).sum();
        (logarithms / self.sweep.scales.len().max(1) as f64).exp()
    }

    /// Balances the scales by what was counted, and begins to count anew.
    fn balance(&mut self) {
        let MovementCounts { mut weights, mut duals } = std::mem::take(&mut self.sweep.counts);
        let change = self.residuals.len() as f64 + 1.0;
        let largest = 1.0 + LARGEST_CHANGE / (change * change);
        let mut residual = 0.0;
        self.sweep.set_scales(|slot, scale| {
            let (weights, duals) = (weights[slot], duals[slot]);
            residual += weights / scale + scale * duals;
            let factor = factor(weights, duals, scale).clamp(1.0 / largest, largest);
            // New coefficients cost as much as a step of the node.
            let is_worth_it = factor.ln().abs() > SMALLEST_LOG_CHANGE;
            if is_worth_it { (scale * factor).clamp(LEAST_SCALE, LARGEST_SCALE) } else { scale }
        });
        self.residuals.push(residual.sqrt());
        weights.fill(0.0);
        duals.fill(0.0);
        self.sweep.counts = MovementCounts { weights, duals };
    }
}

impl Engine for Relaxed<'_> {
    fn step(&mut self, _products: usize) -> Result<StepEnd> {
        self.iterate()?;
        Ok(match self.changes {
            _ if self.is_slow() => StepEnd::Exhausted,
            CHANGES_PER_LOOK.. => StepEnd::Due,
            _ => StepEnd::Running,
        })
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        (Cow::Borrowed(&self.point), EngineKind::Relaxed)
    }
}

/// The factor by which a scale comes nearer to its balance.
fn factor(weights: f64, duals: f64, scale: f64) -> f64 {
    // Duals that all stand still on their balls tell no balance, only that weights move too slowly.
    match (weights > 0.0, duals > 0.0) {
        (true, true) => ((weights / duals).sqrt() / scale).powf(BALANCE_POWER),
        (true, false) => SCALE_JUMP,
        (false, true) => 1.0 / SCALE_JUMP,
        (false, false) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_in_balance_stays_and_any_other_comes_nearer() {
        assert!((factor(49.0, 1.0, 7.0) - 1.0).abs() < 1e-15);
        for scale in [0.1, 1.0, 70.0] {
            let nearer = scale * factor(49.0, 1.0, scale);
            assert!((nearer / 7.0).ln().abs() < (scale / 7.0_f64).ln().abs(), "{scale}");
        }
        assert!(factor(1.0, 0.0, 7.0) > 1.0 && factor(0.0, 1.0, 7.0) < 1.0);
        assert!((factor(0.0, 0.0, 7.0) - 1.0).abs() < 1e-15);
    }
}
