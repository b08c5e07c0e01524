//! Where a search starts: zero, or a minimum at another strength.

use super::{Minimum, frame::Frame, losses::Loss, squared, sweep::Point};
use crate::{
    error::{Result, same_size},
    penalty::Penalty,
};

/// The start: a given minimum with its duals brought into the balls of these strengths, or zero;
/// nodes that nothing is coupled to are at their own minimum.
pub(super) fn start_of(frame: &Frame, start: Option<&Minimum>) -> Result<Point> {
    let losses = frame.losses;
    let rows = frame.len() * frame.width;
    let edges = frame.layout.edges.len() * frame.width;
    let w = frame.layout.rows_in(&losses.start(), losses.size, frame.width);
    let mut point = Point { w, u: vec![0.0; edges], p: vec![0.0; rows] };
    if let Some(start) = start {
        same_size("starting weights", start.weights.len(), losses.len() * losses.size)?;
        same_size("starting duals", start.duals.len(), frame.layout.edges.len() * losses.coupled)?;
        point.w = frame.layout.rows_in(&start.weights, losses.size, frame.width);
        point.u = frame.layout.edges_in(&start.duals, losses.coupled, frame.width);
        into_balls(frame, &mut point);
    }
    for place in 0..frame.len() {
        if frame.alpha == 0.0 || frame.layout.degrees[place] == 0.0 {
            let row = &mut point.w[place * frame.width..][..losses.size];
            row.copy_from_slice(&alone(frame, place)?);
        }
    }
    Ok(point)
}

/// Brings duals into the balls of their strengths, and p with them.
pub(super) fn into_balls(frame: &Frame, point: &mut Point) {
    if frame.penalty != Penalty::SquaredNorm {
        for (u, c) in point.u.chunks_exact_mut(frame.width).zip(&frame.strengths) {
            frame.penalty.dual_update(u, *c, 1.0);
        }
    }
    point.p = squared::divergence(frame, &mut point.u);
}

/// The weights of a node by itself.
fn alone(frame: &Frame, place: usize) -> Result<Vec<f64>> {
    let size = frame.losses.size;
    match frame.loss(place) {
        Loss::None => Ok(vec![0.0; size]),
        Loss::Quadratic(quadratic) => Ok(quadratic.least(size).1),
        Loss::Convex(convex) => {
            let fitted = convex.model().fit(convex.data())?;
            let weights = convex.model().weights(fitted.as_ref());
            Ok(frame.losses.row_of_model(&weights.expect("a model knows its own hypothesis")))
        }
    }
}
