//! The two sums that all of PersFL on linear models consists of, over four rows at a time so that
//! what they share is loaded once. Sums run in eight fixed lanes and products are rounded before
//! they are added: the same bits with and without the wide registers that `pulp` finds.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide registers")]

use pulp::{Arch, Simd, WithSimd};

const LANES: usize = 8;

/// A vector in pairs of registers.
#[inline(always)]
fn registers<S: Simd>(v: &[f64]) -> &[[S::f64s; 2]] {
    S::as_simd_f64s(v).0.as_chunks::<2>().0
}

/// The inner products of one vector with four others of its length, in registers of four lanes.
#[inline(always)]
fn wide<S: Simd>(simd: S, one: &[f64], [a, b, c, d]: [&[f64]; 4]) -> [f64; 4] {
    let whole = one.len() / LANES * LANES;
    let zero = [simd.splat_f64s(0.0); 2];
    let (mut s, mut t, mut u, mut v) = (zero, zero, zero, zero);
    let [x, a_registers, b_registers, c_registers, d_registers] =
        [one, a, b, c, d].map(|v| registers::<S>(&v[..whole]));
    let rows = a_registers.iter().zip(b_registers).zip(c_registers).zip(d_registers);
    for (x, (((a, b), c), d)) in x.iter().zip(rows) {
        for k in 0..2 {
            s[k] = simd.add_f64s(s[k], simd.mul_f64s(x[k], a[k]));
            t[k] = simd.add_f64s(t[k], simd.mul_f64s(x[k], b[k]));
            u[k] = simd.add_f64s(u[k], simd.mul_f64s(x[k], c[k]));
            v[k] = simd.add_f64s(v[k], simd.mul_f64s(x[k], d[k]));
        }
    }
    let total = |[low, high]: [S::f64s; 2], row: &[f64]| {
        let mut q = [0.0; 4];
        if let Some(sum) = S::as_mut_simd_f64s(&mut q).0.first_mut() {
            *sum = simd.add_f64s(low, high);
        }
        tail(one, row, whole, (q[0] + q[1]) + (q[2] + q[3]))
    };
    [total(s, a), total(t, b), total(u, c), total(v, d)]
}

/// The same one by one, for any registers.
#[inline(always)]
fn narrow(one: &[f64], row: &[f64]) -> f64 {
    let whole = one.len() / LANES * LANES;
    let (x, y) = (one[..whole].as_chunks::<LANES>().0, row[..whole].as_chunks::<LANES>().0);
    let mut s = [0.0; LANES];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            s[lane] += x[lane] * y[lane];
        }
    }
    tail(one, row, whole, ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])))
}

/// Adds the products after the last whole run of lanes.
#[inline(always)]
fn tail(one: &[f64], row: &[f64], whole: usize, sum: f64) -> f64 {
    one[whole..].iter().zip(&row[whole..]).fold(sum, |sum, (x, y)| sum + x * y)
}

/// `out_k = rowₖᵀ v` for all rows.
pub(super) fn products(rows: &[f64], v: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(Products { rows, v, out });
}

struct Products<'a> {
    rows: &'a [f64],
    v: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, v, out } = self;
        let size = v.len();
        if S::F64_LANES != 4 {
            for (row, out) in rows.chunks_exact(size).zip(out) {
                *out = narrow(v, row);
            }
            return;
        }
        for (rows, out) in rows.chunks(4 * size).zip(out.chunks_mut(4)) {
            // The last row stands in for those that are missing.
            let row = |k: usize| {
                let k = k.min(out.len() - 1);
                &rows[k * size..(k + 1) * size]
            };
            let sums = wide(simd, v, [row(0), row(1), row(2), row(3)]);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
        }
    }
}

/// `out = Σ_k factor_k row_k`
pub(super) fn combination(rows: &[f64], factors: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(Combination { rows, factors, out });
}

struct Combination<'a> {
    rows: &'a [f64],
    factors: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Combination<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, factors, out } = self;
        out.fill(0.0);
        let size = out.len();
        let (blocks, rest) = factors.as_chunks::<4>();
        for (block, f) in rows.chunks_exact(4 * size).zip(blocks) {
            let (a, tail) = block.split_at(size);
            let (b, tail) = tail.split_at(size);
            let (c, d) = tail.split_at(size);
            for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *out += (f[0] * a + f[1] * b) + (f[2] * c + f[3] * d);
            }
        }
        let tail = &rows[4 * blocks.len() * size..];
        for (row, factor) in tail.chunks_exact(size).zip(rest) {
            out.iter_mut().zip(row).for_each(|(out, x)| *out += factor * x);
        }
    }
}

/// All inner products of rows with other rows: `out_kl = rowₖᵀ other_l`.
pub(super) fn gram(rows: &[f64], others: &[f64], size: usize) -> Vec<f64> {
    let count = others.len() / size;
    let mut out = vec![0.0; rows.len() / size * count];
    for (row, out) in rows.chunks_exact(size).zip(out.chunks_exact_mut(count.max(1))) {
        products(others, row, out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra,
        random::{Purpose, Stream},
    };

    #[test]
    fn kernels_are_the_sums_they_stand_for_at_every_size() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut random = |count: usize| (0..count).map(|_| stream.normal()).collect::<Vec<_>>();
        for (m, d) in [(1, 1), (3, 5), (4, 4), (10, 7), (9, 18), (2, 39)] {
            let (rows, v, f) = (random(m * d), random(d), random(m));
            let (mut along, mut sum) = (vec![0.0; m], vec![7.0; d]);
            products(&rows, &v, &mut along);
            combination(&rows, &f, &mut sum);
            for k in 0..m {
                assert!((along[k] - algebra::dot(&rows[k * d..(k + 1) * d], &v)).abs() < 1e-13);
            }
            for c in 0..d {
                let column: f64 = (0..m).map(|k| f[k] * rows[k * d + c]).sum();
                assert!((sum[c] - column).abs() < 1e-13);
            }
            let others = random(3 * d);
            for (place, value) in gram(&rows, &others, d).iter().enumerate() {
                let (k, l) = (place / 3, place % 3);
                let plain = algebra::dot(&rows[k * d..(k + 1) * d], &others[l * d..(l + 1) * d]);
                assert!((value - plain).abs() < 1e-13);
            }
        }
    }
}
