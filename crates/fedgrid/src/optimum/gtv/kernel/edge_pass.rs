//! The pass over the edges of a tile: `u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))`, the next point, and p = Dᵀu of it.

use std::array;

use super::{
    layout::Tile,
    next_point::{ANCHOR, NextPoint, PLAIN, RELAX},
    tiles::BlockRows,
    width::WidthPass,
};
use crate::{
    algebra::{row_dot, squared_distance},
    optimum::gtv::problem::GtvProblem,
    penalty::{EdgePenalty, PenaltyTask},
};

/// What the pass over a tile works on.
pub(crate) struct EdgeTile<'a> {
    pub(crate) problem: &'a GtvProblem<'a>,
    pub(crate) tile: &'a Tile,
    /// `2w⁺ − w` of all nodes, and the steps σ and anchors of all edges.
    pub(crate) reflected: &'a [f64],
    pub(crate) sigmas: &'a [f64],
    pub(crate) anchor: &'a [f64],
    /// The duals of the tile's edges.
    pub(crate) u: &'a mut [f64],
    /// What is written about the tile's two blocks of nodes.
    pub(crate) p: BlockRows<'a>,
    pub(crate) q: BlockRows<'a>,
    pub(crate) next: NextPoint,
}

impl WidthPass for EdgeTile<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> f64 {
        self.problem.penalty.dispatch(SizedTile::<W, ANCHORED>(self))
    }
}

/// A tile of rows of a width that the compiler knows.
struct SizedTile<'a, const W: usize, const ANCHORED: bool>(EdgeTile<'a>);

impl<const W: usize, const ANCHORED: bool> PenaltyTask for SizedTile<'_, W, ANCHORED> {
    type Output = f64;

    #[inline(always)]
    fn run<P: EdgePenalty>(self, penalty: &P) -> f64 {
        let tile = self.0;
        let losses = tile.problem.losses;
        if tile.problem.width > W {
            return tile.wide::<ANCHORED, P>(penalty);
        }
        // Where all weights are coupled, padding is zero and so never differs.
        match (tile.next, losses.coupled == losses.size) {
            _ if ANCHORED => tile.either::<W, ANCHOR, false, P>(penalty),
            // Large problems have the Euclidean norm. Others share loops, which saves compile time: a
            // plain step goes beyond by nothing, and all shares are ones.
            _ if !penalty.is_euclidean() => tile.either::<W, RELAX, false, P>(penalty),
            (NextPoint::Plain, true) => tile.either::<W, PLAIN, true, P>(penalty),
            (_, true) => tile.either::<W, RELAX, true, P>(penalty),
            (_, false) => tile.either::<W, RELAX, false, P>(penalty),
        }
    }
}

impl EdgeTile<'_> {
    #[inline(always)]
    fn either<const W: usize, const STEP: u8, const ALL: bool, P: EdgePenalty>(
        self,
        by: &P,
    ) -> f64 {
        if self.tile.is_diagonal() {
            self.rows::<W, STEP, ALL, true, P>(by)
        } else {
            self.rows::<W, STEP, ALL, false, P>(by)
        }
    }

    #[inline(always)]
    fn rows<
        const W: usize,
        const STEP: u8,
        const ALL: bool,
        const DIAGONAL: bool,
        P: EdgePenalty,
    >(
        self,
        penalty: &P,
    ) -> f64 {
        let (problem, range) = (self.problem, self.tile.edges.clone());
        let (x, _) = problem.block(self.reflected, self.tile.first).as_chunks::<W>();
        let (y, _) = problem.block(self.reflected, self.tile.second).as_chunks::<W>();
        let ((u, _), (z, _)) = (self.u.as_chunks_mut::<W>(), self.anchor.as_chunks::<W>());
        let ((p, _), (q, _)) = (self.p.rows.as_chunks_mut::<W>(), self.q.rows.as_chunks_mut::<W>());
        let (near, far) = (self.p.counts, self.q.counts);
        let counted = !near.is_empty();
        let (keep, pull) = self.next.factors();
        let coupled = problem.losses.coupled;
        let share: [f64; W] = array::from_fn(|k| if k < coupled { 1.0 } else { 0.0 });
        let mut moved = 0.0;
        let numbers = problem.strengths[range.clone()].iter().zip(&self.sigmas[range.clone()]);
        let ends = problem.layout.ends[range.clone()].iter().zip(u);
        for (edge, ((ends, u), (c, sigma))) in range.zip(ends.zip(numbers)) {
            let (source, target) = (ends.source as usize, ends.target as usize);
            let (from, to, old) = (x[source], y[target], *u);
            let moving: [f64; W] = array::from_fn(|k| {
                let sigma = if ALL { *sigma } else { sigma * share[k] };
                old[k] + sigma * (from[k] - to[k])
            });
            let new = penalty.dual_update_row(moving, *c, *sigma);
            let step: [f64; W] = array::from_fn(|k| new[k] - old[k]);
            let kept: [f64; W] = match STEP {
                PLAIN => new,
                RELAX => array::from_fn(|k| new[k] + keep * step[k]),
                _ => {
                    let z = z[edge];
                    moved += row_dot(&step, &step);
                    array::from_fn(|k| keep * (new[k] + step[k]) + pull * z[k])
                }
            };
            if STEP == RELAX && counted {
                let squares = row_dot(&step, &step);
                near[source] += squares;
                (if DIAGONAL { &mut *near } else { &mut *far })[target] += squares;
            }
            *u = kept;
            let row = p[source];
            p[source] = array::from_fn(|k| row[k] + kept[k]);
            let rows = if DIAGONAL { &mut *p } else { &mut *q };
            let row = rows[target];
            rows[target] = array::from_fn(|k| row[k] - kept[k]);
        }
        moved
    }

    /// The pass for rows wider than any other.
    #[inline(always)]
    fn wide<const ANCHORED: bool, P: EdgePenalty>(self, penalty: &P) -> f64 {
        let EdgeTile { problem, tile, reflected, sigmas, anchor, u, p, q, next } = self;
        let (width, coupled) = (problem.width, problem.losses.coupled);
        let (x, y) = (problem.block(reflected, tile.first), problem.block(reflected, tile.second));
        let (keep, pull) = next.factors();
        let mut new = vec![0.0; width];
        let mut moved = 0.0;
        for (edge, u) in tile.edges.clone().zip(u.chunks_exact_mut(width)) {
            let (ends, sigma) = (problem.layout.ends[edge], sigmas[edge]);
            let (source, target) = ends.offsets(width);
            let (from, to) = (&x[source..source + coupled], &y[target..target + coupled]);
            new.copy_from_slice(u);
            for ((new, from), to) in new.iter_mut().zip(from).zip(to) {
                *new += sigma * (from - to);
            }
            penalty.dual_update(&mut new, problem.strengths[edge], sigma);
            let squares = squared_distance(&new, u);
            moved += squares;
            if !p.counts.is_empty() {
                let far = if tile.is_diagonal() { &mut *p.counts } else { &mut *q.counts };
                far[ends.target as usize] += squares;
                p.counts[ends.source as usize] += squares;
            }
            if ANCHORED {
                let z = &anchor[edge * width..(edge + 1) * width];
                for ((u, new), z) in u.iter_mut().zip(&new).zip(z) {
                    *u = keep * (2.0 * new - *u) + pull * z;
                }
            } else {
                u.iter_mut().zip(&new).for_each(|(u, new)| *u = new + keep * (new - *u));
            }
            ends.scatter(u, p.rows, q.rows, tile.is_diagonal());
        }
        moved
    }
}
