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

use super::{
    frame::Frame,
    sweep::{Counts, Next, Point, Sweep},
};
use crate::error::Result;

/// A step goes beyond T(z) by this share: ρ − 1.
const BEYOND: f64 = 0.5;
/// Scales change after so many steps,
const PERIOD: usize = 8;
/// of which the last are counted.
const COUNTED: usize = 2;
/// The power of the balance that a change makes good for,
const POWER: f64 = 0.7;
/// by a factor of at most one plus this over m² the m-th time.
const LARGEST_CHANGE: f64 = 1000.0;
/// Factors whose logarithm is smaller are not worth new coefficients.
const SMALLEST_CHANGE: f64 = 0.2;
/// The factor where only the weights have moved, or only the duals.
const STEP_UP: f64 = 10.0;
/// Steps are slow if the residual is above the first, or over this many changes stays above this share.
const WINDOW: usize = 3;
const SLOW: f64 = 0.7;

/// A running iteration.
#[derive(Debug)]
pub(super) struct Relaxed<'a> {
    sweep: Sweep<'a>,
    pub(super) point: Point,
    /// Steps in all, and since the last change of the scales.
    pub(super) steps: usize,
    since: usize,
    /// The residual at each change of the scales.
    residuals: Vec<f64>,
}

impl<'a> Relaxed<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, point: Point, scale: f64) -> Self {
        let mut sweep = Sweep::new(frame);
        sweep.set_scale(scale);
        sweep.counts = Counts { weights: vec![0.0; frame.len()], duals: vec![0.0; frame.len()] };
        Self { sweep, point, steps: 0, since: 0, residuals: Vec::new() }
    }

    /// One step; tells whether the scales were changed after it.
    pub(super) fn step(&mut self) -> Result<bool> {
        let counted = self.since >= PERIOD - COUNTED;
        let next = Next::Relaxed { beyond: BEYOND, counted };
        self.sweep.step(&mut self.point, &Point::default(), next)?;
        self.steps += 1;
        self.since += 1;
        if self.since < PERIOD {
            return Ok(false);
        }
        self.since = 0;
        self.balance();
        Ok(true)
    }

    /// The weights of T(z) of the last step.
    pub(super) fn proposed(&self) -> Vec<f64> {
        let steps = self.sweep.reflected.iter().zip(&self.point.w);
        steps.map(|(x, w)| x - (x - w) / (1.0 - BEYOND)).collect()
    }

    /// A plain step, after which the duals lie in their balls.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.sweep.step(&mut self.point, &Point::default(), Next::Plain)?;
        self.steps += 1;
        Ok(())
    }

    /// Whether another iteration should be tried.
    pub(super) fn is_slow(&self) -> bool {
        let (Some(first), Some(last)) = (self.residuals.first(), self.residuals.last()) else {
            return false;
        };
        let before = self.residuals.len().checked_sub(1 + WINDOW);
        last > first || before.is_some_and(|k| *last > SLOW * self.residuals[k])
    }

    /// The geometric mean of the scales.
    pub(super) fn scale(&self) -> f64 {
        let logarithms: f64 = self.sweep.scales.iter().map(|scale| scale.ln()).sum();
        (logarithms / self.sweep.scales.len().max(1) as f64).exp()
    }

    /// Balances the scales by what was counted, and begins to count anew.
    fn balance(&mut self) {
        let Counts { mut weights, mut duals } = std::mem::take(&mut self.sweep.counts);
        let change = self.residuals.len() as f64 + 1.0;
        let largest = 1.0 + LARGEST_CHANGE / (change * change);
        let mut residual = 0.0;
        self.sweep.set_scales(|place, scale| {
            let (weights, duals) = (weights[place], duals[place]);
            residual += weights / scale + scale * duals;
            let factor = factor(weights, duals, scale).clamp(1.0 / largest, largest);
            let is_worth_it = factor.ln().abs() > SMALLEST_CHANGE;
            if is_worth_it { (scale * factor).clamp(1e-12, 1e12) } else { scale }
        });
        self.residuals.push(residual.sqrt());
        weights.fill(0.0);
        duals.fill(0.0);
        self.sweep.counts = Counts { weights, duals };
    }
}

/// The factor by which a scale comes nearer to its balance.
fn factor(weights: f64, duals: f64, scale: f64) -> f64 {
    // Duals that all stand still on their balls tell no balance, only that weights move too slowly.
    match (weights > 0.0, duals > 0.0) {
        (true, true) => ((weights / duals).sqrt() / scale).powf(POWER),
        (true, false) => STEP_UP,
        (false, true) => 1.0 / STEP_UP,
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
