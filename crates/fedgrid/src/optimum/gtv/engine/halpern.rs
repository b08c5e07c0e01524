//! Restarted, reflected Halpern iteration of the primal-dual step T,
//!
//! ```text
//! z ← (k+1)/(k+2) · (2 T(z) − z) + 1/(k+2) · z₀
//! ```
//!
//! The anchor z₀ moves to T(z) when the fixed-point residual `r² = ‖Δw‖²_deg / s + 2s ‖Δu‖²` has fallen
//! enough, and the scale s of the steps (τ = s / degree, σ = 1/2s) is then balanced by how far primal
//! and dual have come. The paper's method is the plain iteration with s = 1. ["Networked Federated
//! Multi-Task Learning", Algorithm 1; Lu and Yang, "Restarted Halpern PDHG for Linear Programming".]

use std::borrow::Cow;

use super::{Engine, EngineKind, StepEnd};
use crate::{
    algebra::squared_distance,
    error::Result,
    optimum::gtv::{
        kernel::{
            next_point::NextPoint,
            sweep::{LARGEST_SCALE, LEAST_SCALE, PrimalDualSweep, StepSquares},
        },
        problem::{GtvProblem, PrimalDualPoint},
    },
};

// The three rules of restarts, and their shares, are those of Lu and Yang's cuPDLP.
/// A restart is due when the residual has fallen to this share of the last restart's,
const SUFFICIENT_FALL: f64 = 0.2;
/// or to this one and rises again,
const NECESSARY_FALL: f64 = 0.8;
/// or after this share of all steps.
const LONG_RUN_SHARE: f64 = 0.36;
/// The factor of the scale where only the primal has moved, or only the dual: there is no balance to go
/// by, so an order of magnitude is tried.
const SCALE_JUMP: f64 = 10.0;

/// A running iteration.
#[derive(Debug)]
pub(crate) struct Halpern<'a> {
    pub(crate) sweep: PrimalDualSweep<'a>,
    pub(crate) point: PrimalDualPoint,
    anchor: PrimalDualPoint,
    pub(crate) scale: f64,
    /// Steps since the last restart, and in all.
    since: usize,
    pub(crate) steps: usize,
    /// The residual of the first step after the last restart, and of the last step.
    first: f64,
    last: f64,
}

impl<'a> Halpern<'a> {
    pub(crate) fn new(problem: &'a GtvProblem<'a>, point: PrimalDualPoint, scale: f64) -> Self {
        let mut sweep = PrimalDualSweep::new(problem);
        sweep.set_scale(scale);
        Self {
            sweep,
            anchor: point.clone(),
            point,
            scale,
            since: 0,
            steps: 0,
            first: f64::INFINITY,
            last: f64::INFINITY,
        }
    }

    /// One step; tells whether a restart is due.
    pub(super) fn iterate(&mut self) -> Result<bool> {
        let k = self.since as f64;
        let next = NextPoint::Anchored { keep: (k + 1.0) / (k + 2.0), pull: 1.0 / (k + 2.0) };
        let moved = self.sweep.step(&mut self.point, &self.anchor, next)?;
        let residual = self.residual(moved);
        if self.since == 0 {
            self.first = residual;
        }
        self.since += 1;
        self.steps += 1;
        let due = residual <= SUFFICIENT_FALL * self.first
            || residual <= NECESSARY_FALL * self.first && residual > self.last
            // A single step would leave no time for the first two rules.
            || self.since > 1 && self.since as f64 >= LONG_RUN_SHARE * self.steps as f64;
        self.last = residual;
        Ok(due)
    }

    fn residual(&self, moved: StepSquares) -> f64 {
        (moved.primal / self.scale + 2.0 * self.scale * moved.dual).sqrt()
    }

    /// Moves the anchor to T(z), whose duals lie in their balls, and balances the steps.
    pub(crate) fn restart(&mut self) -> Result<()> {
        // Reflected duals lie outside of their balls; only those of T(z) have a certificate.
        let none = PrimalDualPoint::default();
        self.sweep.step(&mut self.point, &none, NextPoint::Plain)?;
        self.steps += 1;
        let problem = self.sweep.problem;
        let rows =
            self.point.w.chunks_exact(problem.width).zip(self.anchor.w.chunks_exact(problem.width));
        let coupled = problem.losses.coupled;
        let primal: f64 = rows
            .zip(&problem.layout.degrees)
            .map(|((w, anchor), degree)| {
                degree * squared_distance(&w[..coupled], &anchor[..coupled])
            })
            .sum::<f64>()
            .sqrt();
        let dual = (2.0 * squared_distance(&self.point.u, &self.anchor.u)).sqrt();
        self.balance(primal, dual);
        self.anchor.clone_from(&self.point);
        self.since = 0;
        self.last = f64::INFINITY;
        Ok(())
    }

    /// Balances the steps by how far primal and dual have come since the last restart.
    fn balance(&mut self, primal: f64, dual: f64) {
        // Duals that all stand still on their balls tell no balance, only that weights move too slowly.
        let scale = match (primal > 0.0, dual > 0.0) {
            (true, true) => (self.scale * primal / dual).sqrt(),
            (true, false) => SCALE_JUMP * self.scale,
            (false, true) => self.scale / SCALE_JUMP,
            (false, false) => self.scale,
        };
        self.scale = scale.clamp(LEAST_SCALE, LARGEST_SCALE);
        self.sweep.set_scale(self.scale);
    }
}

impl Engine for Halpern<'_> {
    /// Steps until a restart, after which the duals lie in their balls.
    fn step(&mut self, _products: usize) -> Result<StepEnd> {
        while !self.iterate()? {}
        self.restart()?;
        Ok(StepEnd::Due)
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        (Cow::Borrowed(&self.point), EngineKind::Halpern)
    }
}
