//! The first-order iterations by themselves, for those who count their steps.

use super::{
    Coupled,
    frame::Frame,
    halpern::Halpern,
    losses::Losses,
    relaxed::Relaxed,
    start::start_of,
    sweep::{Next, Point, Sweep},
};
use crate::{error::Result, network::Network};

/// Which iteration is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iteration {
    /// The paper's: plain steps with s = 1.
    Plain,
    /// What [`super::minimise`] takes: relaxed steps with adaptive scales, and where these are slow the
    /// restarted Halpern iteration.
    Adaptive,
}

/// Follows an iteration from zero for a number of steps. Every so many steps `watch` is told their number
/// and the objective, and stops the iteration by saying so.
pub fn follow(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    iteration: Iteration,
    (steps, every): (usize, usize),
    mut watch: impl FnMut(usize, f64) -> bool,
) -> Result<()> {
    let frame = Frame::new(losses, network, coupled);
    let point = start_of(&frame, None)?;
    let mut is_enough = |step: usize, weights: &[f64]| watch(step, frame.objective(weights));
    match iteration {
        Iteration::Plain => plain(&frame, point, (steps, every), &mut is_enough),
        Iteration::Adaptive => adaptive(&frame, point, (steps, every), &mut is_enough),
    }
}

type IsEnough<'a> = dyn FnMut(usize, &[f64]) -> bool + 'a;

fn plain(
    frame: &Frame,
    mut point: Point,
    (steps, every): (usize, usize),
    is_enough: &mut IsEnough,
) -> Result<()> {
    let mut sweep = Sweep::new(frame);
    sweep.set_scale(1.0);
    for step in 1..=steps {
        sweep.step(&mut point, &Point::default(), Next::Plain)?;
        if step.is_multiple_of(every) && is_enough(step, &point.w) {
            break;
        }
    }
    Ok(())
}

fn adaptive(
    frame: &Frame,
    point: Point,
    (steps, every): (usize, usize),
    is_enough: &mut IsEnough,
) -> Result<()> {
    let mut relaxed = Relaxed::new(frame, point, frame.scale());
    while !relaxed.is_slow() {
        if relaxed.steps == steps {
            return Ok(());
        }
        relaxed.step()?;
        let step = relaxed.steps;
        if step.is_multiple_of(every) && is_enough(step, &relaxed.proposed()) {
            return Ok(());
        }
    }
    let (before, scale) = (relaxed.steps, relaxed.scale());
    let mut halpern = Halpern::new(frame, relaxed.point, scale);
    while before + halpern.steps < steps {
        let is_seen = (before + halpern.steps + 1).is_multiple_of(every);
        let from = if is_seen { halpern.point.w.clone() } else { Vec::new() };
        let due = halpern.step()?;
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
