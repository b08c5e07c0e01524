//! The squared norm with quadratic losses is one linear system,
//!
//! ```text
//! (2 H_i + α Σ_j A_ij) w_i − α Σ_j A_ij w_j = 2 q_i
//! ```
//!
//! solved by conjugate gradients with the diagonal blocks as preconditioner, each inverted in the
//! basis where its H is diagonal.

use rayon::prelude::*;

use super::{direct::Factors, frame::Frame, losses::Loss, sweep::Point, tiles::over_tiles};
use crate::{
    algebra::{add_scaled, dot, norm},
    optimum::krylov::{Limit, conjugate_gradient},
};

/// The solution from a start, with its duals u = α A Dw, and how many products it took.
pub(super) fn solve(frame: &Frame, start: Vec<f64>, limit: Limit) -> (Point, usize) {
    let right = right(frame);
    if norm(&right) == 0.0 {
        let w = vec![0.0; right.len()];
        return (duals(frame, w), 0);
    }
    let pulls = pulls(frame);
    let apply = |v: &[f64], out: &mut [f64]| product(frame, v, out);
    let precondition = |v: &[f64], out: &mut [f64]| {
        out.par_chunks_mut(frame.width).enumerate().for_each(|(place, out)| {
            let size = frame.losses.size;
            block_inverse(frame, place, pulls[place], frame.row(v, place), &mut out[..size]);
        });
    };
    let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
    (duals(frame, solved.x), solved.products)
}

/// The solution by factors, with its duals.
pub(super) fn solve_by(frame: &Frame, factors: &Factors) -> Point {
    let mut w = right(frame);
    factors.solve(&mut w, frame.width);
    duals(frame, w)
}

fn right(frame: &Frame) -> Vec<f64> {
    let mut right = vec![0.0; frame.len() * frame.width];
    for (place, row) in right.chunks_exact_mut(frame.width).enumerate() {
        if let Loss::Quadratic(quadratic) = frame.loss(place) {
            for (direction, _, q) in quadratic.terms(frame.losses.size) {
                add_scaled(&mut row[..frame.losses.size], 2.0 * q, direction);
            }
        }
    }
    right
}

/// `α Σ_j A_ij` of every place.
pub(super) fn pulls(frame: &Frame) -> Vec<f64> {
    let mut pulls = vec![0.0; frame.len()];
    for tile in frame.layout.rounds.iter().flatten() {
        let (first, second) = (tile.first * frame.layout.block, tile.second * frame.layout.block);
        for edge in tile.edges.clone() {
            pulls[first + frame.layout.ends[edge].source as usize] += frame.strengths[edge];
            pulls[second + frame.layout.ends[edge].target as usize] += frame.strengths[edge];
        }
    }
    pulls
}

fn product(frame: &Frame, v: &[f64], out: &mut [f64]) {
    out.par_chunks_mut(frame.width).enumerate().for_each(|(place, out)| {
        out.fill(0.0);
        if let Loss::Quadratic(quadratic) = frame.loss(place) {
            quadratic.add_curved(&mut out[..frame.losses.size], frame.row(v, place));
        }
    });
    add_pulled(frame, v, out);
}

/// Adds `α Dᵀ A D v`.
pub(super) fn add_pulled(frame: &Frame, v: &[f64], out: &mut [f64]) {
    let (width, layout, coupled) = (frame.width, &frame.layout, frame.losses.coupled);
    let rows = layout.block * width;
    over_tiles(layout, width, &mut [], out, |tile, _, p, q| {
        let (x, y) = (&v[tile.first * rows..], &v[tile.second * rows..]);
        for edge in tile.edges.clone() {
            let ends = layout.ends[edge];
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            let c = frame.strengths[edge];
            for k in 0..coupled {
                let pull = c * (x[source + k] - y[target + k]);
                p[source + k] += pull;
                if tile.first == tile.second {
                    p[target + k] -= pull;
                } else {
                    q[target + k] -= pull;
                }
            }
        }
        0.0
    });
}

/// `out ← (2H + pull I)⁻¹ v`, with the pull on coupled weights alone.
fn block_inverse(frame: &Frame, place: usize, pull: f64, v: &[f64], out: &mut [f64]) {
    let Loss::Quadratic(quadratic) = frame.loss(place) else {
        let factor = if pull > 0.0 { 1.0 / pull } else { 0.0 };
        out.iter_mut().zip(v).for_each(|(out, v)| *out = factor * v);
        return;
    };
    // An isolated node without ridge has no curvature outside its rows' span; nothing pulls there.
    let inverse = |curvature: f64| if curvature > 0.0 { 1.0 / curvature } else { 0.0 };
    let outside = inverse(pull + 2.0 * quadratic.ridge);
    out.iter_mut().zip(v).for_each(|(out, v)| *out = outside * v);
    for (direction, h, _) in quadratic.terms(v.len()) {
        add_scaled(out, dot(direction, v) * (inverse(pull + 2.0 * h) - outside), direction);
    }
}

/// The point of given weights: u = α A Dw and p = Dᵀu.
pub(super) fn duals(frame: &Frame, w: Vec<f64>) -> Point {
    let (width, layout, coupled) = (frame.width, &frame.layout, frame.losses.coupled);
    let mut u = vec![0.0; layout.edges.len() * width];
    let mut p = vec![0.0; w.len()];
    let rows = layout.block * width;
    over_tiles(layout, width, &mut u, &mut p, |tile, u, p, q| {
        let (x, y) = (&w[tile.first * rows..], &w[tile.second * rows..]);
        for (edge, u) in tile.edges.clone().zip(u.chunks_exact_mut(width)) {
            let ends = layout.ends[edge];
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            for k in 0..coupled {
                u[k] = frame.strengths[edge] * (x[source + k] - y[target + k]);
            }
            add_scaled(&mut p[source..source + width], 1.0, u);
            let q = if tile.first == tile.second { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, u);
        }
        0.0
    });
    Point { w, u, p }
}

/// `p = Dᵀu`.
pub(super) fn divergence(frame: &Frame, u: &mut [f64]) -> Vec<f64> {
    let (width, layout) = (frame.width, &frame.layout);
    let mut p = vec![0.0; frame.len() * width];
    over_tiles(layout, width, u, &mut p, |tile, u, p, q| {
        for (edge, u) in tile.edges.clone().zip(u.chunks_exact(width)) {
            let ends = layout.ends[edge];
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            add_scaled(&mut p[source..source + width], 1.0, u);
            let q = if tile.first == tile.second { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, u);
        }
        0.0
    });
    p
}
