//! The pass over the edges of a tile: `u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))`, the next point, and p = Dᵀu of it.

use std::array;

use super::{
    layout::Ends,
    next_point::{ANCHOR, NextPoint, PLAIN, RELAX},
    tiles::BlockRows,
    width::WidthPass,
};
use crate::{
    algebra::{row_dot, squared_distance},
    penalty::{EdgePenalty, Penalty, PenaltyTask},
};

/// What the pass over a tile works on.
pub(crate) struct EdgeTile<'a> {
    pub(crate) ends: &'a [Ends],
    pub(crate) strengths: &'a [f64],
    pub(crate) sigmas: &'a [f64],
    pub(crate) u: &'a mut [f64],
    pub(crate) anchor: &'a [f64],
    pub(crate) diagonal: bool,
    pub(crate) x: &'a [f64],
    pub(crate) y: &'a [f64],
    pub(crate) p: BlockRows<'a>,
    pub(crate) q: BlockRows<'a>,
    pub(crate) penalty: Penalty,
    pub(crate) coupled: usize,
    /// Whether all weights are coupled; padding is zero and so never differs.
    pub(crate) is_all: bool,
    pub(crate) width: usize,
    pub(crate) next: NextPoint,
}

impl WidthPass for EdgeTile<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> f64 {
        if self.width > W {
            return self.wide::<ANCHORED>();
        }
        self.penalty.dispatch(SizedTile::<W, ANCHORED>(self))
    }
}

/// A tile of rows of a width that the compiler knows.
struct SizedTile<'a, const W: usize, const ANCHORED: bool>(EdgeTile<'a>);

impl<const W: usize, const ANCHORED: bool> PenaltyTask for SizedTile<'_, W, ANCHORED> {
    type Output = f64;

    #[inline(always)]
    fn run<P: EdgePenalty + Copy>(self, penalty: P) -> f64 {
        let tile = self.0;
        match (tile.next, tile.is_all) {
            _ if ANCHORED => tile.tiles::<W, ANCHOR, false, P>(penalty),
            // Fewer loops to compile: a plain step goes beyond by nothing, and shares are ones.
            _ if !penalty.has_own_loops() => tile.tiles::<W, RELAX, false, P>(penalty),
            (NextPoint::Plain, true) => tile.tiles::<W, PLAIN, true, P>(penalty),
            (_, true) => tile.tiles::<W, RELAX, true, P>(penalty),
            (_, false) => tile.tiles::<W, RELAX, false, P>(penalty),
        }
    }
}

impl EdgeTile<'_> {
    #[inline(always)]
    fn tiles<const W: usize, const STEP: u8, const ALL: bool, P: EdgePenalty>(
        self,
        penalty: P,
    ) -> f64 {
        if self.diagonal {
            self.tile::<W, STEP, ALL, true, P>(penalty)
        } else {
            self.tile::<W, STEP, ALL, false, P>(penalty)
        }
    }

    #[inline(always)]
    fn tile<
        const W: usize,
        const STEP: u8,
        const ALL: bool,
        const DIAGONAL: bool,
        P: EdgePenalty,
    >(
        self,
        penalty: P,
    ) -> f64 {
        let ((x, _), (y, _)) = (self.x.as_chunks::<W>(), self.y.as_chunks::<W>());
        let ((u, _), (z, _)) = (self.u.as_chunks_mut::<W>(), self.anchor.as_chunks::<W>());
        let ((p, _), (q, _)) = (self.p.rows.as_chunks_mut::<W>(), self.q.rows.as_chunks_mut::<W>());
        let (near, far) = (self.p.counts, self.q.counts);
        let counted = !near.is_empty();
        let (keep, pull) = self.next.factors();
        let share: [f64; W] = array::from_fn(|k| if k < self.coupled { 1.0 } else { 0.0 });
        let mut moved = 0.0;
        let numbers = self.strengths.iter().zip(self.sigmas);
        for (number, ((ends, u), (c, sigma))) in self.ends.iter().zip(u).zip(numbers).enumerate() {
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
                    let z = z[number];
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
    fn wide<const ANCHORED: bool>(self) -> f64 {
        let EdgeTile { ends, strengths, sigmas, u, anchor, diagonal, x, y, p, q, width, .. } = self;
        let (BlockRows { rows: p, counts: near }, BlockRows { rows: q, counts: far }) = (p, q);
        let (keep, pull) = self.next.factors();
        let mut new = vec![0.0; width];
        let mut moved = 0.0;
        for (number, (ends, u)) in ends.iter().zip(u.chunks_exact_mut(width)).enumerate() {
            let (source, target) = ends.offsets(width);
            let (from, to) = (&x[source..source + width], &y[target..target + width]);
            let sigma = sigmas[number];
            new.copy_from_slice(u);
            for ((new, from), to) in new.iter_mut().zip(from).zip(to).take(self.coupled) {
                *new += sigma * (from - to);
            }
            self.penalty.dual_update(&mut new, strengths[number], sigma);
            let squares = squared_distance(&new, u);
            moved += squares;
            if !near.is_empty() {
                near[ends.source as usize] += squares;
                (if diagonal { &mut *near } else { &mut *far })[ends.target as usize] += squares;
            }
            if ANCHORED {
                let z = &anchor[number * width..(number + 1) * width];
                for ((u, new), z) in u.iter_mut().zip(&new).zip(z) {
                    *u = keep * (2.0 * new - *u) + pull * z;
                }
            } else {
                u.iter_mut().zip(&new).for_each(|(u, new)| *u = new + keep * (new - *u));
            }
            ends.scatter(u, p, q, diagonal);
        }
        moved
    }
}
