//! Products with D, which takes the difference of an edge's ends, and with Dᵀ, which adds duals up at nodes.

use super::tiles::over_tiles;
use crate::optimum::gtv::problem::{GtvProblem, PrimalDualPoint};

/// `α Σ_j A_ij` of every slot.
pub(crate) fn pulls(problem: &GtvProblem) -> Vec<f64> {
    let mut pulls = vec![0.0; problem.len()];
    for (edge, from, to) in problem.layout.edge_ends() {
        pulls[from] += problem.strengths[edge];
        pulls[to] += problem.strengths[edge];
    }
    pulls
}

/// Adds `α Dᵀ A D v`.
pub(crate) fn add_laplacian(problem: &GtvProblem, v: &[f64], out: &mut [f64]) {
    let (width, layout, coupled) = (problem.width, &problem.layout, problem.losses.coupled);
    over_tiles(layout, width, &mut [], out, |tile, _, p, q| {
        let (x, y) = (problem.block(v, tile.first), problem.block(v, tile.second));
        for edge in tile.edges.clone() {
            let (source, target) = layout.ends[edge].offsets(width);
            let c = problem.strengths[edge];
            for k in 0..coupled {
                let pull = c * (x[source + k] - y[target + k]);
                p[source + k] += pull;
                // On the diagonal both ends lie in one block, which can be borrowed once only.
                if tile.is_diagonal() {
                    p[target + k] -= pull;
                } else {
                    q[target + k] -= pull;
                }
            }
        }
        0.0
    });
}

/// The point of given weights with the squared norm's duals: u = α A Dw and p = Dᵀu.
pub(crate) fn with_duals(problem: &GtvProblem, w: Vec<f64>) -> PrimalDualPoint {
    let (width, layout, coupled) = (problem.width, &problem.layout, problem.losses.coupled);
    let mut u = vec![0.0; layout.edges.len() * width];
    let mut p = vec![0.0; w.len()];
    over_tiles(layout, width, &mut u, &mut p, |tile, u, p, q| {
        let (x, y) = (problem.block(&w, tile.first), problem.block(&w, tile.second));
        for (edge, u) in tile.edges.clone().zip(u.chunks_exact_mut(width)) {
            let (source, target) = layout.ends[edge].offsets(width);
            for k in 0..coupled {
                u[k] = problem.strengths[edge] * (x[source + k] - y[target + k]);
            }
            layout.ends[edge].scatter(u, p, q, tile.is_diagonal());
        }
        0.0
    });
    PrimalDualPoint { w, u, p }
}

/// `p = Dᵀu`.
pub(crate) fn divergence(problem: &GtvProblem, u: &mut [f64]) -> Vec<f64> {
    let (width, layout) = (problem.width, &problem.layout);
    let mut p = vec![0.0; problem.len() * width];
    over_tiles(layout, width, u, &mut p, |tile, u, p, q| {
        for (edge, u) in tile.edges.clone().zip(u.chunks_exact(width)) {
            layout.ends[edge].scatter(u, p, q, tile.is_diagonal());
        }
        0.0
    });
    p
}

/// Brings duals to where their conjugates are finite at these strengths, and p with them.
pub(crate) fn project_duals(problem: &GtvProblem, point: &mut PrimalDualPoint) {
    for (u, c) in point.u.chunks_exact_mut(problem.width).zip(&problem.strengths) {
        problem.penalty.rule().project_dual(u, *c);
    }
    point.p = divergence(problem, &mut point.u);
}
