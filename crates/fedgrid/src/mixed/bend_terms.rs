//! The terms of which `bend.rs` makes second derivatives.

use super::apart::{Apart, NodePart, Whitened};
use crate::algebra::{SimdTask, add_scaled, dot, triangle};

impl NodePart {
    /// G, its lower triangle row by row, of the columns that deviate.
    pub(super) fn gram(&self, q: usize, out: &mut [f64]) {
        out.fill(0.0);
        for row in self.rows.chunks_exact(q) {
            for (k, x) in row.iter().enumerate() {
                add_scaled(&mut out[triangle(k)..=triangle(k) + k], *x, row);
            }
        }
    }

    /// W in the same way, from G.
    pub(super) fn weights(&self, q: usize, gram: &[f64], noise: f64, out: &mut [f64]) {
        out.iter_mut().zip(gram).for_each(|(out, gram)| *out = -gram);
        for (row, explained) in self.rows.chunks_exact(q).zip(self.explained.chunks_exact(q)) {
            for (k, x) in row.iter().enumerate() {
                add_scaled(&mut out[triangle(k)..=triangle(k) + k], 2.0 * x, explained);
            }
        }
        for (k, own) in self.slope.iter().enumerate() {
            let out = &mut out[triangle(k)..=triangle(k) + k];
            add_scaled(out, 2.0 / noise * own, &self.slope);
        }
    }

    /// `X̃ᵀX̃` of columns with a mean and those that deviate, p × q.
    pub(super) fn cross(&self, (p, q): (usize, usize), out: &mut [f64]) {
        out.fill(0.0);
        for (fixed, row) in self.fixed.chunks_exact(p).zip(self.rows.chunks_exact(q)) {
            for (out, x) in out.chunks_exact_mut(q).zip(fixed) {
                add_scaled(out, *x, row);
            }
        }
    }
}

/// What the mean coefficients and σ² take, as they move with θ.
pub(super) struct MeanTerms<'a> {
    p: usize,
    noise: f64,
    freedom: f64,
    moved: &'a [f64],
    /// B times these.
    solved: Vec<f64>,
    own: &'a [f64],
}

impl<'a> MeanTerms<'a> {
    /// From c, p numbers for every direction, and h.
    pub(super) fn new(apart: &Apart, found: &Whitened, moved: &'a [f64], own: &'a [f64]) -> Self {
        let p = apart.fixed.len();
        let solved = moved
            .chunks_exact(p.max(1))
            .flat_map(|c| found.mean_covariance.chunks_exact(p).map(|row| dot(row, c)))
            .collect();
        Self { p, noise: found.noise, freedom: apart.freedom, moved, solved, own }
    }

    pub(super) fn entry(&self, a: usize, b: usize) -> f64 {
        let p = self.p;
        let product = dot(&self.moved[a * p..(a + 1) * p], &self.solved[b * p..(b + 1) * p]);
        let noise = self.noise * self.noise * self.freedom;
        -2.0 / self.noise * product - self.own[a] * self.own[b] / noise
    }
}

/// tr(B dS B dS).
pub(super) struct SchurTerms {
    /// B dS of every direction, and its transpose.
    scaled: Vec<Vec<f64>>,
    turned: Vec<Vec<f64>>,
}

impl SchurTerms {
    /// From `Σ G_fb G_gc` for all f, b, g and c.
    pub(super) fn new(
        found: &Whitened,
        squares: &[f64],
        (p, q): (usize, usize),
        places: &[(usize, usize)],
    ) -> Self {
        let change = |&(b, c): &(usize, usize)| -> Vec<f64> {
            let at = |f: usize, g: usize| squares[(f * q + b) * p * q + g * q + c];
            let both = |k: usize| at(k / p, k % p) + if b == c { 0.0 } else { at(k % p, k / p) };
            (0..p * p).map(both).collect()
        };
        Self::of(found, p, places.iter().map(change))
    }

    /// From dS of every direction.
    pub(super) fn of(found: &Whitened, p: usize, changes: impl Iterator<Item = Vec<f64>>) -> Self {
        let scale = |change: Vec<f64>| -> Vec<f64> {
            let row = |k: usize| &found.mean_covariance[k * p..(k + 1) * p];
            (0..p * p).map(|at| dot(row(at / p), &change[at % p * p..][..p])).collect()
        };
        let scaled: Vec<Vec<f64>> = changes.map(scale).collect();
        let turn = |matrix: &Vec<f64>| (0..p * p).map(|at| matrix[at % p * p + at / p]).collect();
        let turned = scaled.iter().map(turn).collect();
        Self { scaled, turned }
    }

    pub(super) fn entry(&self, a: usize, b: usize) -> f64 {
        dot(&self.scaled[a], &self.turned[b])
    }
}

/// Adds the outer products of some rows.
pub(super) struct Products<'a> {
    pub(super) sum: &'a mut [f64],
    pub(super) left: &'a [f64],
    pub(super) right: &'a [f64],
    pub(super) pairs: usize,
}

impl SimdTask for Products<'_> {
    #[expect(
        clippy::inline_always,
        reason = "what is not inlined is not compiled for wide vectors"
    )]
    #[inline(always)]
    fn run(self) {
        let pairs = self.pairs;
        let row = |k: usize| &self.right[k * pairs..(k + 1) * pairs];
        let (r, s, t, u) = (row(0), row(1), row(2), row(3));
        for (at, sum) in self.sum.chunks_exact_mut(pairs).enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| self.left[k * pairs + at]);
            for k in 0..pairs {
                sum[k] += (a * r[k] + b * s[k]) + (c * t[k] + d * u[k]);
            }
        }
    }
}
