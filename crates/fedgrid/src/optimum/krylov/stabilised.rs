//! `BiCGSTAB`, the stabilised bi-conjugate gradients of van der Vorst (1992): few products and no
//! basis to keep, for systems whose preconditioned product is not far from the identity.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{BLOCK_NUMBERS, Krylov, Limit, SplitSystem, dot, residual_of};
use crate::algebra::{self, add_scaled, squared_distance};

/// `BiCGSTAB` with the preconditioner on the right. It may break down short of the tolerance, which
/// the residual then says.
pub(in crate::optimum) fn stabilised(
    system: &SplitSystem,
    b: &[f64],
    start: Vec<f64>,
    limit: Limit,
) -> Krylov {
    let size = dot(b, b).sqrt().max(f64::MIN_POSITIVE);
    // A little less than asked for, because the recurrence drifts from the true residual.
    let enough = 0.8 * limit.tolerance * size;
    let mut x = start;
    let known = x.iter().all(|x| *x == 0.0);
    let first = if known { Cow::Borrowed(b) } else { residual_of(system.apply, b, &x).into() };
    let mut state = BiCgStab::new(&first);
    let mut history = vec![state.length / size];
    while state.length > enough && history.len() + 2 < limit.products {
        let before = state.length;
        state.advance(system, enough);
        history.extend([state.length / size; 2]);
        // A breakdown: the shadow has become orthogonal to the residual. Another method takes over.
        if !state.length.is_finite() || state.length > 1e3 * before {
            return Krylov { residual: f64::INFINITY, products: history.len(), x, history };
        }
    }
    let BiCgStab { sum, products: [mut step, mut product], .. } = state;
    (system.precondition)(&sum, &mut step);
    add_scaled(&mut x, 1.0, &step);
    (system.apply)(&x, &mut product);
    let residual = squared_distance(&product, b).sqrt() / size;
    history.push(residual);
    Krylov { x, products: history.len(), residual, history }
}

struct BiCgStab<'a> {
    /// What the directions are kept orthogonal to: the first residual.
    shadow: &'a [f64],
    residual: Vec<f64>,
    length: f64,
    direction: Vec<f64>,
    /// The sum of all steps, before the preconditioner.
    sum: Vec<f64>,
    /// `shadow · residual`
    along: f64,
    products: [Vec<f64>; 2],
}

impl<'a> BiCgStab<'a> {
    fn new(residual: &'a [f64]) -> Self {
        let along = dot(residual, residual);
        let zeros = || vec![0.0; residual.len()];
        Self {
            shadow: residual,
            length: along.sqrt(),
            direction: residual.to_vec(),
            sum: zeros(),
            along,
            products: [zeros(), zeros()],
            residual: residual.to_vec(),
        }
    }

    /// Two products and two steps, or one if that is enough.
    fn advance(&mut self, system: &SplitSystem, enough: f64) {
        let [v, t] = &mut self.products;
        (system.both)(&self.direction, v);
        let first = self.along / dot(self.shadow, v);
        let (residual, v) = (&mut self.residual, &*v);
        let lengths = in_blocks(residual, |from, r| {
            add_scaled(r, -first, &v[from..]);
            algebra::dot(r, r)
        });
        self.length = lengths.iter().sum::<f64>().sqrt();
        if self.length <= enough {
            add_scaled(&mut self.sum, first, &self.direction);
            return;
        }
        (system.both)(residual, t);
        let (direction, known) = (&mut self.direction, &*residual);
        let parts = in_blocks(t, |from, t| (algebra::dot(t, &known[from..]), algebra::dot(t, t)));
        let (straight, square) = total(&parts);
        let second = straight / square;
        let (shadow, t) = (self.shadow, &*t);
        let parts: Vec<(f64, f64)> = (self.sum.par_chunks_mut(BLOCK_NUMBERS))
            .zip(residual.par_chunks_mut(BLOCK_NUMBERS))
            .enumerate()
            .map(|(block, (sum, r))| {
                let from = block * BLOCK_NUMBERS;
                for ((sum, p), r) in sum.iter_mut().zip(&direction[from..]).zip(&*r) {
                    *sum += first * p + second * r;
                }
                add_scaled(r, -second, &t[from..]);
                (algebra::dot(r, r), algebra::dot(r, &shadow[from..]))
            })
            .collect();
        let (square, along) = total(&parts);
        self.length = square.sqrt();
        let keep = along / self.along * (first / second);
        self.along = along;
        let residual = &*residual;
        in_blocks(direction, |from, p| {
            for ((p, r), v) in p.iter_mut().zip(&residual[from..]).zip(&v[from..]) {
                *p = r + keep * (*p - second * v);
            }
        });
    }
}

/// The sums of the first and of the second numbers.
fn total(parts: &[(f64, f64)]) -> (f64, f64) {
    parts.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d))
}

/// Does something with each block, in parallel; the answers are in the order of the blocks.
fn in_blocks<T: Send>(values: &mut [f64], work: impl Fn(usize, &mut [f64]) -> T + Sync) -> Vec<T> {
    let blocks = values.par_chunks_mut(BLOCK_NUMBERS).enumerate();
    blocks.map(|(block, values)| work(block * BLOCK_NUMBERS, values)).collect()
}
