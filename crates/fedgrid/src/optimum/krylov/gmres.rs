//! Restarted GMRES: the best step in a space that every product widens by one direction.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use rayon::prelude::*;

use super::{BLOCK_NUMBERS, Krylov, Limit, SplitSystem, dot, residual_of};
use crate::algebra::{SimdTask, add_scaled, scale, simd};

/// Directions of a cycle at most: each costs a vector of memory and an inner product in every later step.
const CYCLE_DIRECTIONS: usize = 60;
/// A cycle that leaves more than this share of the residual has met the rounding errors.
const WORTHLESS_CYCLE: f64 = 0.99;
/// Below this share of its length a direction is orthogonalised again: cancellation has eaten digits.
const REORTHOGONALISE: f64 = 0.3;

/// Restarted GMRES with the preconditioner on the right, so that the residual is the true one.
pub(in crate::optimum) fn gmres(
    system: &SplitSystem,
    b: &[f64],
    start: Vec<f64>,
    limit: Limit,
) -> Krylov {
    let size = dot(b, b).sqrt();
    let mut x = start;
    let mut history = Vec::new();
    if size == 0.0 {
        x.fill(0.0);
        return Krylov { x, products: 0, residual: 0.0, history };
    }
    let mut last = f64::INFINITY;
    // From zero the residual is known.
    let mut residual =
        if x.iter().all(|x| *x == 0.0) { b.to_vec() } else { residual_of(system.apply, b, &x) };
    loop {
        let now = dot(&residual, &residual).sqrt();
        history.push(now / size);
        let is_lost = !now.is_finite();
        let done = now / size <= limit.tolerance || now >= WORTHLESS_CYCLE * last || is_lost;
        if done || history.len() >= limit.products {
            return Krylov { x, products: history.len(), residual: now / size, history };
        }
        last = now;
        let mut cycle = Cycle::new(residual, now);
        while cycle.basis.len() <= CYCLE_DIRECTIONS && history.len() < limit.products {
            let mut product = vec![0.0; b.len()];
            (system.both)(&cycle.basis[cycle.basis.len() - 1], &mut product);
            history.push(cycle.extend(product) / size);
            // A little less than asked for, because rounding takes a little.
            if history[history.len() - 1] <= 0.8 * limit.tolerance || cycle.exhausted {
                break;
            }
        }
        let mut step = vec![0.0; b.len()];
        (system.precondition)(&cycle.step(), &mut step);
        add_scaled(&mut x, 1.0, &step);
        residual = residual_of(system.apply, b, &x);
    }
}

/// One cycle of GMRES: an orthonormal basis and the small triangular problem on it.
struct Cycle {
    basis: Vec<Vec<f64>>,
    /// Columns of the upper triangle.
    triangle: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    right: Vec<f64>,
    exhausted: bool,
}

impl Cycle {
    fn new(mut residual: Vec<f64>, length: f64) -> Self {
        scale(&mut residual, 1.0 / length);
        Self {
            basis: vec![residual],
            triangle: Vec::new(),
            rotations: Vec::new(),
            right: vec![length],
            exhausted: false,
        }
    }

    /// Adds a direction; returns the norm of the residual that is left.
    fn extend(&mut self, mut product: Vec<f64>) -> f64 {
        let mut column = vec![0.0; self.basis.len()];
        let mut length = dot(&product, &product).sqrt();
        // Where little is left, rounding matters: a second pass removes what it left of the first.
        loop {
            let before = length;
            let along = dots(&self.basis, &product);
            length = subtract(&self.basis, &along, &mut product).sqrt();
            add_scaled(&mut column, 1.0, &along);
            // Far from a solution a system may hold no numbers, of which nothing can be removed.
            if length > REORTHOGONALISE * before || length == 0.0 || !length.is_finite() {
                break;
            }
        }
        for (k, (cos, sin)) in self.rotations.iter().enumerate() {
            let (a, b) = (column[k], column[k + 1]);
            (column[k], column[k + 1]) = (cos * a + sin * b, cos * b - sin * a);
        }
        let last = column.len() - 1;
        let radius = column[last].hypot(length);
        let (cos, sin) = (column[last] / radius, length / radius);
        column[last] = radius;
        let right = self.right[last];
        self.right[last] = cos * right;
        self.right.push(-sin * right);
        self.rotations.push((cos, sin));
        self.triangle.push(column);
        // The space holds the solution: a further direction would be rounding.
        self.exhausted = length <= 1e-14 * radius;
        scale(&mut product, 1.0 / length.max(f64::MIN_POSITIVE));
        self.basis.push(product);
        (sin * right).abs()
    }

    /// The best step in the space spanned so far.
    fn step(&self) -> Vec<f64> {
        let columns = self.triangle.len();
        let mut weights = self.right[..columns].to_vec();
        for k in (0..columns).rev() {
            weights[k] /= self.triangle[k][k];
            let weight = weights[k];
            add_scaled(&mut weights[..k], -weight, &self.triangle[k][..k]);
        }
        let mut step = vec![0.0; self.basis[0].len()];
        scale(&mut weights, -1.0);
        subtract(&self.basis[..columns], &weights, &mut step);
        step
    }
}

/// The inner products of a vector with others, in fixed blocks.
fn dots(vectors: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let partial: Vec<Vec<f64>> = v
        .par_chunks(BLOCK_NUMBERS)
        .enumerate()
        .map(|(block, v)| {
            let mut out = vec![0.0; vectors.len()];
            simd::dispatch(Dots { vectors, from: block * BLOCK_NUMBERS, v, out: &mut out });
            out
        })
        .collect();
    (0..vectors.len()).map(|k| partial.iter().map(|partial| partial[k]).sum()).collect()
}

struct Dots<'a> {
    vectors: &'a [Vec<f64>],
    from: usize,
    v: &'a [f64],
    out: &'a mut [f64],
}

impl SimdTask for Dots<'_> {
    #[inline(always)]
    fn run(self) {
        for (out, vector) in self.out.iter_mut().zip(self.vectors) {
            let mut sums = [0.0; 16];
            let vector = &vector[self.from..][..self.v.len()];
            let ((a, a_rest), (b, b_rest)) = (vector.as_chunks::<16>(), self.v.as_chunks::<16>());
            for (a, b) in a.iter().zip(b) {
                for k in 0..16 {
                    sums[k] += a[k] * b[k];
                }
            }
            let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
            *out = sums.iter().sum::<f64>() + rest;
        }
    }
}

/// `v ← v − Σ_k factor_k vector_k`, in fixed blocks; returns ‖v‖² after it.
fn subtract(vectors: &[Vec<f64>], factors: &[f64], v: &mut [f64]) -> f64 {
    let partial: Vec<f64> = v
        .par_chunks_mut(BLOCK_NUMBERS)
        .enumerate()
        .map(|(block, v)| {
            simd::dispatch(Subtract { vectors, factors, from: block * BLOCK_NUMBERS, v });
            crate::algebra::dot(v, v)
        })
        .collect();
    partial.iter().sum()
}

struct Subtract<'a> {
    vectors: &'a [Vec<f64>],
    factors: &'a [f64],
    from: usize,
    v: &'a mut [f64],
}

impl SimdTask for Subtract<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { vectors, factors, from, v } = self;
        let length = v.len();
        let part = |k: usize| &vectors[k][from..][..length];
        // Four at once, so that v is read and written a quarter as often.
        let fours = vectors.len() / 4 * 4;
        for k in (0..fours).step_by(4) {
            let (a, b, c, d) = (part(k), part(k + 1), part(k + 2), part(k + 3));
            let f = &factors[k..k + 4];
            for (i, v) in v.iter_mut().enumerate() {
                *v = *v - f[0] * a[i] - f[1] * b[i] - f[2] * c[i] - f[3] * d[i];
            }
        }
        for (k, factor) in factors.iter().enumerate().skip(fours) {
            add_scaled(v, -factor, part(k));
        }
    }
}
