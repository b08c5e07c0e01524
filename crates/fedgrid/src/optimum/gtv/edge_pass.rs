//! The pass over the edges of a tile: `u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))`, the next point, and p = Dᵀu of it.

use std::array;

use super::{
    layout::Ends,
    sweep::Next,
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
    pub(super) u: &'a mut [f64],
    pub(super) anchor: &'a [f64],
    pub(super) diagonal: bool,
    pub(super) x: &'a [f64],
    pub(super) y: &'a [f64],
    pub(super) p: &'a mut [f64],
    pub(super) q: &'a mut [f64],
    pub(super) penalty: Penalty,
    pub(super) coupled: usize,
    pub(super) width: usize,
    pub(super) sigma: f64,
    pub(super) next: Next,
}

impl Pass for Edges<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> f64 {
        if self.diagonal {
            self.p.fill(0.0);
        }
        if self.width > W {
            return self.wide::<ANCHORED>();
        }
        match (self.penalty, self.diagonal) {
            (Penalty::Norm, true) => self.tile::<W, ANCHORED, true, NORM>(),
            (Penalty::Norm, false) => self.tile::<W, ANCHORED, false, NORM>(),
            (Penalty::SquaredNorm, true) => self.tile::<W, ANCHORED, true, SQUARED>(),
            (Penalty::SquaredNorm, false) => self.tile::<W, ANCHORED, false, SQUARED>(),
            (Penalty::OneNorm, true) => self.tile::<W, ANCHORED, true, ONE>(),
            (Penalty::OneNorm, false) => self.tile::<W, ANCHORED, false, ONE>(),
        }
    }
}

const NORM: u8 = 0;
const SQUARED: u8 = 1;
const ONE: u8 = 2;

impl Edges<'_> {
    #[inline(always)]
    fn tile<const W: usize, const ANCHORED: bool, const DIAGONAL: bool, const PENALTY: u8>(
        self,
    ) -> f64 {
        let ((x, _), (y, _)) = (self.x.as_chunks::<W>(), self.y.as_chunks::<W>());
        let ((u, _), (z, _)) = (self.u.as_chunks_mut::<W>(), self.anchor.as_chunks::<W>());
        let ((p, _), (q, _)) = (self.p.as_chunks_mut::<W>(), self.q.as_chunks_mut::<W>());
        let (keep, pull) = self.next.factors();
        let steps: [f64; W] = array::from_fn(|k| if k < self.coupled { self.sigma } else { 0.0 });
        let mut moved = 0.0;
        for (number, ((ends, u), c)) in self.ends.iter().zip(u).zip(self.strengths).enumerate() {
            let (source, target) = (ends.source as usize, ends.target as usize);
            let (from, to, old) = (x[source], y[target], *u);
            let moving: [f64; W] = array::from_fn(|k| old[k] + steps[k] * (from[k] - to[k]));
            let new: [f64; W] = match PENALTY {
                NORM => {
                    // Without a branch, which no processor could foresee.
                    let factor = (c / dot(&moving, &moving).sqrt()).min(1.0);
                    array::from_fn(|k| factor * moving[k])
                }
                SQUARED => {
                    let factor = 1.0 / (1.0 + self.sigma / c);
                    array::from_fn(|k| factor * moving[k])
                }
                _ => array::from_fn(|k| moving[k].clamp(-c, *c)),
            };
            let kept: [f64; W] = if ANCHORED {
                let z = z[number];
                let step: [f64; W] = array::from_fn(|k| new[k] - old[k]);
                moved += dot(&step, &step);
                array::from_fn(|k| keep * (new[k] + step[k]) + pull * z[k])
            } else {
                new
            };
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
        let Edges { ends, strengths, u, anchor, diagonal, x, y, p, q, width, .. } = self;
        let (keep, pull) = self.next.factors();
        let mut new = vec![0.0; width];
        let mut moved = 0.0;
        for (number, (ends, u)) in ends.iter().zip(u.chunks_exact_mut(width)).enumerate() {
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            let (from, to) = (&x[source..source + width], &y[target..target + width]);
            new.copy_from_slice(u);
            for ((new, from), to) in new.iter_mut().zip(from).zip(to).take(self.coupled) {
                *new += self.sigma * (from - to);
            }
            self.penalty.dual_update(&mut new, strengths[number], self.sigma);
            moved += squared_distance(&new, u);
            if ANCHORED {
                let z = &anchor[number * width..(number + 1) * width];
                for ((u, new), z) in u.iter_mut().zip(&new).zip(z) {
                    *u = keep * (2.0 * new - *u) + pull * z;
                }
            } else {
                u.copy_from_slice(&new);
            }
            add_scaled(&mut p[source..source + width], 1.0, u);
            let q = if diagonal { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, u);
        }
        moved
    }
}
