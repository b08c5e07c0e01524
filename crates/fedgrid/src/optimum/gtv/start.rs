//! Where a search starts: zero, or a minimum at another strength.

use super::{
    kernel::operators::project_duals,
    losses::NodeLoss,
    minimum::Minimum,
    problem::{GtvProblem, PrimalDualPoint},
};
use crate::error::{Result, same_size};

/// The start: a given minimum with its duals brought into the balls of these strengths, or zero;
/// nodes that nothing is coupled to are at their own minimum.
pub(super) fn start_of(problem: &GtvProblem, start: Option<&Minimum>) -> Result<PrimalDualPoint> {
    let losses = problem.losses;
    let rows = problem.len() * problem.width;
    let edges = problem.layout.edges.len() * problem.width;
    let w = problem.layout.rows_in(&losses.start(), losses.size, problem.width);
    let mut point = PrimalDualPoint { w, u: vec![0.0; edges], p: vec![0.0; rows] };
    if let Some(start) = start {
        same_size("starting weights", start.weights.len(), losses.len() * losses.size)?;
        same_size(
            "starting duals",
            start.duals.len(),
            problem.layout.edges.len() * losses.coupled,
        )?;
        point.w = problem.layout.rows_in(&start.weights, losses.size, problem.width);
        point.u = problem.layout.edges_in(&start.duals, losses.coupled, problem.width);
        project_duals(problem, &mut point);
    }
    for slot in 0..problem.len() {
        // No step reaches a node without edges of any strength.
        if problem.alpha == 0.0 || problem.layout.degrees[slot] == 0.0 {
            let row = &mut point.w[slot * problem.width..][..losses.size];
            row.copy_from_slice(&alone(problem, slot)?);
        }
    }
    Ok(point)
}

/// The weights of a node by itself.
fn alone(problem: &GtvProblem, slot: usize) -> Result<Vec<f64>> {
    let size = problem.losses.size;
    match problem.loss(slot) {
        NodeLoss::None => Ok(vec![0.0; size]),
        NodeLoss::Quadratic(quadratic) => Ok(quadratic.minimiser(size)),
        NodeLoss::Convex(convex) => {
            let fitted = convex.model().fit(convex.data())?;
            let weights = convex.model().weights(fitted.as_ref());
            Ok(problem.losses.row_of_model(&weights.expect("a model knows its own hypothesis")))
        }
    }
}
