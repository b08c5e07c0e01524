//! How far from the minimum a point is at most. For weights w and duals u in their balls, with
//! p = Dᵀu and `r_i = ∇L_i(w_i) + p_i`,
//!
//! ```text
//! P(w) − P* ≤ Σ_edges [ g(Dw) + g*(u) − uᵀDw ] + Σ_i [ r_iᵀδ_i − curvature of L_i along δ_i ],   δ = w − w*
//! ```
//!
//! by convexity of the losses and the inequality of Fenchel and Young. Where a loss has kinks ∇L is the
//! subgradient nearest to −p, and its excess is added. Along a direction in which a loss
//! curves by h the node term is at most r²/4h; elsewhere it is at most |r| times a bound on `‖δ_i‖`
//! (`radius`). Where no such bound exists there is no certificate, and the residuals of the
//! optimality conditions are all that is told.

mod radius;

use rayon::prelude::*;

use super::{
    kernel::tiles::over_edges,
    losses::{NodeLoss, Quadratic},
    problem::{GtvProblem, PrimalDualPoint},
};
use crate::algebra::{add_scaled, dot, norm};
use radius::Radii;

/// What is known about a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapCertificate {
    /// P(w) − P* is at most this; none if no finite bound is known.
    pub gap: Option<f64>,
    /// The largest `‖∇L_i + p_i‖` over the nodes, relative to the gradient where that is above one.
    pub node_residual: f64,
    /// The largest distance of a dual from its own update with σ = 1, relative to its strength.
    pub edge_residual: f64,
    /// Why there is no bound.
    pub unbounded: Option<&'static str>,
}

/// A share of the objective, and of the squares it is a difference of, that rounding may hide.
const ROUNDING_SHARE: f64 = 1e-15;

/// Residuals below this share of the gradients are rounding, not information.
const NEGLIGIBLE_SHARE: f64 = 1e-14;

/// How often a bound is used to tighten itself at most,
const MAX_TIGHTENINGS: usize = 4;
/// and only while it falls to less than this share: a pass over all nodes has to be worth it.
const WORTH_TIGHTENING: f64 = 0.7;

/// The certificate of a point with P(w) = `objective` and duals in their balls.
pub(crate) fn certify(
    problem: &GtvProblem,
    point: &PrimalDualPoint,
    objective: f64,
) -> GapCertificate {
    let PrimalDualPoint { w, u, p } = point;
    let (slopes, excess) = problem.subgradients(w, p);
    let (slopes, penalty) = (slopes.as_slice(), problem.penalty.rule());
    let edge_gap = over_edges(&problem.layout, |edge, ends, z| {
        problem.difference(w, ends, z);
        let (u, c) = (problem.edge(u, edge), problem.strengths[edge]);
        // Scaling into the ball costs a rounding error; the conjugate is then finite.
        let conjugate = penalty.conjugate_nearly(u, c);
        (c * penalty.value(z) + conjugate - dot(u, z)).max(0.0)
    });
    let size = problem.losses.size.max(1);
    let mut residuals = vec![0.0; problem.len() * size];
    residuals.par_chunks_exact_mut(size).enumerate().for_each(|(slot, r)| {
        r.copy_from_slice(problem.row(p, slot));
        add_scaled(r, 1.0, problem.row(slopes, slot));
    });
    let (gap, unbounded) = match bound(problem, w, &residuals, objective, edge_gap + excess) {
        Ok(gap) => {
            (Some(gap + ROUNDING_SHARE * (objective.abs() + problem.losses.squares())), None)
        }
        Err(reason) => (None, Some(reason)),
    };
    let node_residual = residuals
        .chunks_exact(size)
        .enumerate()
        .map(|(slot, r)| norm(r) / norm(problem.row(slopes, slot)).max(1.0))
        .fold(0.0, f64::max);
    GapCertificate { gap, node_residual, edge_residual: edge_residual(problem, w, u), unbounded }
}

/// The bound, tightened by what it says about the minimiser itself.
fn bound(
    problem: &GtvProblem,
    w: &[f64],
    residuals: &[f64],
    objective: f64,
    edge_gap: f64,
) -> Result<f64, &'static str> {
    if let Some(reason) = problem.losses.not_convex() {
        return Err(reason);
    }
    let mut radii = Radii::new(problem, w, objective);
    let mut best = f64::INFINITY;
    for _ in 0..MAX_TIGHTENINGS {
        let term = |(slot, r): (usize, &[f64])| node_term(problem, slot, r, radii.of(slot));
        let rows = residuals.par_chunks_exact(problem.losses.size.max(1));
        let terms: Vec<f64> = rows.enumerate().map(term).collect();
        let gap = edge_gap + terms.iter().sum::<f64>();
        let enough = gap >= WORTH_TIGHTENING * best;
        best = gap.min(best);
        if enough {
            break;
        }
        radii.tighten(problem, w, gap);
    }
    if best.is_finite() { Ok(best) } else { Err(radii.reason()) }
}

/// The most that a node's residual can be worth.
fn node_term(problem: &GtvProblem, slot: usize, r: &[f64], radius: f64) -> f64 {
    let scaled = |size: f64| if size == 0.0 { 0.0 } else { size * radius };
    match problem.loss(slot) {
        NodeLoss::None => scaled(norm(r)),
        NodeLoss::Quadratic(quadratic) => quadratic_term(quadratic, r, radius),
        NodeLoss::Convex(convex) => {
            let ridge = convex.model().shape().ridge;
            if ridge == 0.0 {
                return scaled(norm(r));
            }
            // The ridge curves the slopes; intercepts have only the radius.
            let mut slopes = 0.0;
            let mut rest = 0.0;
            for (k, r) in r.iter().enumerate() {
                if problem.losses.is_intercept(k) { rest += r * r } else { slopes += r * r }
            }
            (slopes / (4.0 * ridge)).min(scaled(slopes.sqrt())) + scaled(rest.sqrt())
        }
    }
}

fn quadratic_term(quadratic: &Quadratic, r: &[f64], radius: f64) -> f64 {
    let mut outside = r.to_vec();
    let (mut curved, mut flat) = (0.0, 0.0);
    for (direction, h, _) in quadratic.terms(r.len()) {
        let part = dot(direction, r);
        add_scaled(&mut outside, -part, direction);
        if h > 0.0 && part * part / (4.0 * h) < part.abs() * radius {
            curved += part * part / (4.0 * h);
        } else {
            flat += part * part;
        }
    }
    let mut rest = if quadratic.curvatures.len() < r.len() { dot(&outside, &outside) } else { 0.0 };
    // What is left of a projection is rounding where it is far below the vector itself.
    if rest < NEGLIGIBLE_SHARE.powi(2) * dot(r, r) {
        rest = 0.0;
    }
    if quadratic.ridge > 0.0 {
        curved += rest / (4.0 * quadratic.ridge);
    } else {
        flat += rest;
    }
    if flat == 0.0 { curved } else { curved + flat.sqrt() * radius }
}

fn edge_residual(problem: &GtvProblem, w: &[f64], u: &[f64]) -> f64 {
    let largest = std::sync::Mutex::new(0.0_f64);
    over_edges(&problem.layout, |edge, ends, v| {
        problem.difference(w, ends, v);
        let (u, c) = (problem.edge(u, edge), problem.strengths[edge]);
        add_scaled(v, 1.0, u);
        problem.penalty.dual_update(v, c, 1.0);
        add_scaled(v, -1.0, u);
        let residual = norm(v) / c.max(f64::MIN_POSITIVE);
        let mut largest = largest.lock().expect("no pass panics");
        *largest = largest.max(residual);
        0.0
    });
    largest.into_inner().expect("no pass panics")
}
