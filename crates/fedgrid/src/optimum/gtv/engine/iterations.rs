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
    /// What [`minimise`](super::super::minimise) takes: relaxed steps with adaptive scales, and where these are slow the
    /// restarted Halpern iteration.
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
    let point = start_of(&problem, None)?;
    let mut is_enough = |step: usize, weights: &[f64]| watch(step, problem.objective(weights));
    match iteration {
        FirstOrder::Plain => plain(&problem, point, (steps, every), &mut is_enough),
        FirstOrder::Adaptive => adaptive(&problem, point, (steps, every), &mut is_enough),
    }
}

type IsEnough<'a> = dyn FnMut(usize, &[f64]) -> bool + 'a;

fn plain(
    problem: &GtvProblem,
    mut point: PrimalDualPoint,
    (steps, every): (usize, usize),
    is_enough: &mut IsEnough,
) -> Result<()> {
    let mut sweep = PrimalDualSweep::new(problem);
    sweep.set_scale(1.0);
    for step in 1..=steps {
        sweep.step(&mut point, &PrimalDualPoint::default(), NextPoint::Plain)?;
        if step.is_multiple_of(every) && is_enough(step, &point.w) {
            break;
        }
    }
    Ok(())
}

fn adaptive(
    problem: &GtvProblem,
    point: PrimalDualPoint,
    (steps, every): (usize, usize),
    is_enough: &mut IsEnough,
) -> Result<()> {
    let mut relaxed = Relaxed::new(problem, point, problem.scale());
    while !relaxed.is_slow() {
        if relaxed.steps == steps {
            return Ok(());
        }
        relaxed.iterate()?;
        let step = relaxed.steps;
        if step.is_multiple_of(every) && is_enough(step, &relaxed.proposed()) {
            return Ok(());
        }
    }
    let (before, scale) = (relaxed.steps, relaxed.scale());
    let mut halpern = Halpern::new(problem, relaxed.point, scale);
    while before + halpern.steps < steps {
        let is_seen = (before + halpern.steps + 1).is_multiple_of(every);
        let from = if is_seen { halpern.point.w.clone() } else { Vec::new() };
        let due = halpern.iterate()?;
        if is_seen {
            let reflected = halpern.sweep.reflected.iter().zip(&from);
            let weights: Vec<f64> = reflected.map(|(x, w)| 0.5 * (x + w)).collect();
            if is_enough(before + halpern.steps, &weights) {
                break;
            }
        }
        if due {
            halpern.restart()?;
            let step = before + halpern.steps;
            if step.is_multiple_of(every) && is_enough(step, &halpern.point.w) {
                break;
            }
        }
    }
    Ok(())
}
