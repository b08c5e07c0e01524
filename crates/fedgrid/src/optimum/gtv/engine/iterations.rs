//! The first-order iterations by themselves, for those who count their steps.

use super::{halpern::Halpern, relaxed::Relaxed};
use crate::{
    error::Result,
    network::Network,
    optimum::gtv::{
        kernel::{next_point::NextPoint, sweep::PrimalDualSweep},
        losses::Losses,
        minimum::Coupled,
        problem::{GtvProblem, PrimalDualPoint},
        start::start_of,
    },
};

/// A first-order iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstOrder {
    /// The paper's: plain steps with s = 1.
    Plain,
    /// What [`minimise`](super::super::minimise) takes: relaxed steps with adaptive scales, and where these
    /// are slow the restarted Halpern iteration.
    Adaptive,
}

/// Runs an iteration from zero for a number of steps. Every so many steps `watch` is told their number
/// and the objective, and stops the iteration by saying so.
pub fn run_iterations(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    iteration: FirstOrder,
    (steps, every): (usize, usize),
    mut watch: impl FnMut(usize, f64) -> bool,
) -> Result<()> {
    let problem = GtvProblem::new(losses, network, coupled);
    let mut point = start_of(&problem, None)?;
    let is_seen = |step: usize| step.is_multiple_of(every);
    let mut is_enough = |step: usize, weights: &[f64]| watch(step, problem.objective(weights));
    if iteration == FirstOrder::Plain {
        let mut sweep = PrimalDualSweep::new(&problem);
        sweep.set_scale(1.0);
        for step in 1..=steps {
            sweep.step(&mut point, &PrimalDualPoint::default(), NextPoint::Plain)?;
            if is_seen(step) && is_enough(step, &point.w) {
                break;
            }
        }
        return Ok(());
    }
    let mut relaxed = Relaxed::new(&problem, point, problem.scale());
    while !relaxed.is_slow() {
        if relaxed.steps == steps {
            return Ok(());
        }
        relaxed.iterate()?;
        if is_seen(relaxed.steps) && is_enough(relaxed.steps, &relaxed.proposed()) {
            return Ok(());
        }
    }
    let (before, scale) = (relaxed.steps, relaxed.scale());
    let mut halpern = Halpern::new(&problem, relaxed.point, scale);
    while before + halpern.steps < steps {
        // T(z) lies in the middle of z and its reflection, and z is gone after the step.
        let seen = is_seen(before + halpern.steps + 1).then(|| halpern.point.w.clone());
        let due = halpern.iterate()?;
        if let Some(mut weights) = seen {
            let reflected = weights.iter_mut().zip(&halpern.sweep.reflected);
            reflected.for_each(|(w, x)| *w = 0.5 * (x + *w));
            if is_enough(before + halpern.steps, &weights) {
                break;
            }
        }
        if due {
            halpern.restart()?;
            let step = before + halpern.steps;
            if is_seen(step) && is_enough(step, &halpern.point.w) {
                break;
            }
        }
    }
    Ok(())
}
