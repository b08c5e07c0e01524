//! The pass over the edges of a tile: `u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))`, the next point, and p = Dᵀu of it.

use std::array;

use super::{
    layout::Ends,
    sweep::{ANCHOR, Next, PLAIN, RELAX},
    tiles::Block,
    width::{Pass, dot},
};
use crate::{
    algebra::{add_scaled, squared_distance},
    penalty::Penalty,
};

/// What the pass over a tile works on.
pub(super) struct Edges<'a> {
    pub(super) ends: &'a [Ends],
    pub(super) strengths: &'a [f64],
    pub(super) sigmas: &'a [f64],
    pub(super) u: &'a mut [f64],
    pub(super) anchor: &'a [f64],
    pub(super) diagonal: bool,
    pub(super) x: &'a [f64],
    pub(super) y: &'a [f64],
    pub(super) p: Block<'a>,
    pub(super) q: Block<'a>,
    pub(super) penalty: Penalty,
    pub(super) coupled: usize,
    /// Whether all weights are coupled; padding is zero and so never differs.
    pub(super) is_all: bool,
    pub(super) width: usize,
    pub(super) next: Next,
}

impl Pass for Edges<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> f64 {
        if self.width > W {
            return self.wide::<ANCHORED>();
        }
        // The norm is what large problems have; a plain step of another penalty goes beyond by nothing.
        match (self.penalty, self.next, self.is_all) {
            (Penalty::Norm, ..) if ANCHORED => self.tiles::<W, ANCHOR, false, NORM>(),
            (Penalty::Norm, Next::Plain, true) => self.tiles::<W, PLAIN, true, NORM>(),
            (Penalty::Norm, _, true) => self.tiles::<W, RELAX, true, NORM>(),
            (Penalty::Norm, _, false) => self.tiles::<W, RELAX, false, NORM>(),
            (Penalty::SquaredNorm, ..) if ANCHORED => self.tiles::<W, ANCHOR, false, SQUARED>(),
            (Penalty::SquaredNorm, ..) => self.tiles::<W, RELAX, false, SQUARED>(),
            (Penalty::OneNorm, ..) if ANCHORED => self.tiles::<W, ANCHOR, false, ONE>(),
            (Penalty::OneNorm, ..) => self.tiles::<W, RELAX, false, ONE>(),
        }
    }
}

const NORM: u8 = 0;
const SQUARED: u8 = 1;
const ONE: u8 = 2;

impl Edges<'_> {
    #[inline(always)]
    fn tiles<const W: usize, const STEP: u8, const ALL: bool, const PENALTY: u8>(self) -> f64 {
        if self.diagonal {
            self.tile::<W, STEP, ALL, true, PENALTY>()
        } else {
            self.tile::<W, STEP, ALL, false, PENALTY>()
        }
    }

    #[inline(always)]
    fn tile<
        const W: usize,
        const STEP: u8,
        const ALL: bool,
        const DIAGONAL: bool,
        const PENALTY: u8,
    >(
        self,
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
            let new: [f64; W] = match PENALTY {
                NORM => {
                    // Without a branch, which no processor could foresee.
                    let factor = (c / dot(&moving, &moving).sqrt()).min(1.0);
                    array::from_fn(|k| factor * moving[k])
                }
                SQUARED => {
                    let factor = 1.0 / (1.0 + sigma / c);
                    array::from_fn(|k| factor * moving[k])
                }
                _ => array::from_fn(|k| moving[k].clamp(-c, *c)),
            };
            let step: [f64; W] = array::from_fn(|k| new[k] - old[k]);
            let kept: [f64; W] = match STEP {
                PLAIN => new,
                RELAX => array::from_fn(|k| new[k] + keep * step[k]),
                _ => {
                    let z = z[number];
                    moved += dot(&step, &step);
                    array::from_fn(|k| keep * (new[k] + step[k]) + pull * z[k])
                }
            };
            if STEP == RELAX && counted {
                let squares = dot(&step, &step);
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
        let Edges { ends, strengths, sigmas, u, anchor, diagonal, x, y, p, q, width, .. } = self;
        let (Block { rows: p, counts: near }, Block { rows: q, counts: far }) = (p, q);
        let (keep, pull) = self.next.factors();
        let mut new = vec![0.0; width];
        let mut moved = 0.0;
        for (number, (ends, u)) in ends.iter().zip(u.chunks_exact_mut(width)).enumerate() {
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
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
            add_scaled(&mut p[source..source + width], 1.0, u);
            let q = if diagonal { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, u);
        }
        moved
    }
}
