//! The two sums that all of PersFL on linear models consists of, over four rows at a time so that
//! what they share is loaded once. Sums run in eight fixed lanes and products are rounded before
//! they are added: the same bits with and without the wide registers that `pulp` finds.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide registers")]

use pulp::{Arch, Simd, WithSimd};

/// A vector in registers of four lanes.
#[inline(always)]
fn registers<S: Simd>(v: &[f64], size: usize) -> &[S::f64s] {
    S::as_simd_f64s(&v[..size]).0
}

/// The inner products of one vector with others of its length, which stand one after the other, in
/// registers of four lanes.
#[inline(always)]
fn wide<S: Simd, const R: usize>(simd: S, one: &[f64], rows: &[f64]) -> [f64; R] {
    let size = one.len();
    let x = registers::<S>(one, size);
    let row = |k: usize| &rows[k * size..(k + 1) * size];
    let y: [&[S::f64s]; R] = std::array::from_fn(|k| &registers::<S>(row(k), size)[..x.len()]);
    let zero = simd.splat_f64s(0.0);
    let (mut low, mut high) = ([zero; R], [zero; R]);
    let pairs = x.len() / 2 * 2;
    let mut k = 0;
    while k < pairs {
        for r in 0..R {
            low[r] = simd.add_f64s(low[r], simd.mul_f64s(x[k], y[r][k]));
            high[r] = simd.add_f64s(high[r], simd.mul_f64s(x[k + 1], y[r][k + 1]));
        }
        k += 2;
    }
    if k < x.len() {
        for r in 0..R {
            low[r] = simd.add_f64s(low[r], simd.mul_f64s(x[k], y[r][k]));
        }
    }
    std::array::from_fn(|r| total(simd, low[r], high[r], one, row(r)))
}

/// The sum of all lanes and of the products after the last register.
#[inline(always)]
fn total<S: Simd>(simd: S, low: S::f64s, high: S::f64s, one: &[f64], row: &[f64]) -> f64 {
    let mut q = [0.0; 4];
    if let Some(sum) = S::as_mut_simd_f64s(&mut q).0.first_mut() {
        *sum = simd.add_f64s(low, high);
    }
    tail(one, row, (q[0] + q[1]) + (q[2] + q[3]))
}

/// The same one by one, for any registers.
#[inline(always)]
fn narrow(one: &[f64], row: &[f64]) -> f64 {
    let (x, y) = (one.as_chunks::<4>().0, row.as_chunks::<4>().0);
    let mut sums = [[0.0; 4]; 2];
    for (k, (x, y)) in x.iter().zip(y).enumerate() {
        for lane in 0..4 {
            sums[k % 2][lane] += x[lane] * y[lane];
        }
    }
    let [s, t] = sums;
    tail(one, row, ((s[0] + t[0]) + (s[1] + t[1])) + ((s[2] + t[2]) + (s[3] + t[3])))
}

/// Adds the products after the last whole run of four lanes.
#[inline(always)]
fn tail(one: &[f64], row: &[f64], sum: f64) -> f64 {
    let whole = one.len() / 4 * 4;
    one[whole..].iter().zip(&row[whole..]).fold(sum, |sum, (x, y)| sum + x * y)
}

/// `out_k = rowₖᵀ v` for all rows.
pub(super) fn products(rows: &[f64], v: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(RowProducts(rows, v, out));
}

struct RowProducts<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl WithSimd for RowProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, v, out) = self;
        let size = v.len();
        if S::F64_LANES != 4 {
            for (row, out) in rows.chunks_exact(size).zip(out) {
                *out = narrow(v, row);
            }
            return;
        }
        // Four rows share each load of the vector; two and one serve what is left over.
        let (outs, rest) = out.as_chunks_mut::<4>();
        let (rows, rows_rest) = rows.split_at(4 * size * outs.len());
        for (rows, out) in rows.chunks_exact(4 * size).zip(outs) {
            *out = wide::<S, 4>(simd, v, rows);
        }
        let (outs, rest) = rest.as_chunks_mut::<2>();
        let (rows, rows_rest) = rows_rest.split_at(2 * size * outs.len());
        for (rows, out) in rows.chunks_exact(2 * size).zip(outs) {
            *out = wide::<S, 2>(simd, v, rows);
        }
        for (row, out) in rows_rest.chunks_exact(size).zip(rest) {
            [*out] = wide::<S, 1>(simd, v, row);
        }
    }
}

/// `out = Σ_k factor_k row_k`
pub(super) fn combination(rows: &[f64], factors: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(RowCombination(rows, factors, out));
}

struct RowCombination<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl WithSimd for RowCombination<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, factors, out) = self;
        let size = out.len();
        let (blocks, single) = factors.as_chunks::<4>();
        let (fours, ones) = rows.split_at(4 * size * blocks.len());
        let (registers, rest) = S::as_mut_simd_f64s(out);
        let whole = registers.len() * S::F64_LANES;
        // Every sum stays in its register until it is done.
        for (begin, out) in (0..).step_by(S::F64_LANES).zip(registers) {
            let at = |row: &[f64]| S::as_simd_f64s(&row[begin..begin + S::F64_LANES]).0[0];
            let term = |factor: f64, row: &[f64]| simd.mul_f64s(simd.splat_f64s(factor), at(row));
            let mut sum = simd.splat_f64s(0.0);
            for (rows, f) in fours.chunks_exact(4 * size).zip(blocks) {
                let first = simd.add_f64s(term(f[0], rows), term(f[1], &rows[size..]));
                let second =
                    simd.add_f64s(term(f[2], &rows[2 * size..]), term(f[3], &rows[3 * size..]));
                sum = simd.add_f64s(sum, simd.add_f64s(first, second));
            }
            for (row, factor) in ones.chunks_exact(size).zip(single) {
                sum = simd.add_f64s(sum, term(*factor, row));
            }
            *out = sum;
        }
        for (index, out) in (whole..).zip(rest) {
            let mut sum = 0.0;
            for (rows, f) in fours.chunks_exact(4 * size).zip(blocks) {
                let term = |k: usize| f[k] * rows[k * size + index];
                sum += (term(0) + term(1)) + (term(2) + term(3));
            }
            for (row, factor) in ones.chunks_exact(size).zip(single) {
                sum += factor * row[index];
            }
            *out = sum;
        }
    }
}

/// How many numbers a row of `gram` has for so many others: whole registers, the last ones zero.
pub(super) fn gram_row(others: usize) -> usize {
    others.next_multiple_of(4)
}

/// All inner products of rows with other rows: `out_kl = rowₖᵀ other_l`.
pub(super) fn gram(rows: &[f64], others: &[f64], size: usize) -> Vec<f64> {
    let count = others.len() / size;
    let length = gram_row(count);
    let mut out = vec![0.0; rows.len() / size * length];
    for (row, out) in rows.chunks_exact(size).zip(out.chunks_exact_mut(length.max(1))) {
        products(others, row, &mut out[..count]);
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
    fn wide_registers_change_no_bit() {
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        for size in 1..40 {
            let rows: Vec<f64> = (0..5 * size).map(|_| stream.normal()).collect();
            let v: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
            let mut out = [0.0; 5];
            products(&rows, &v, &mut out);
            for (row, out) in rows.chunks_exact(size).zip(out) {
                assert_eq!(narrow(&v, row).to_bits(), out.to_bits());
            }
        }
    }

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
            for (index, value) in gram(&rows, &others, d).iter().enumerate() {
                let (k, l) = (index / 4, index % 4);
                let other = others.get(l * d..(l + 1) * d);
                let plain = other.map_or(0.0, |o| algebra::dot(&rows[k * d..(k + 1) * d], o));
                assert!((value - plain).abs() < 1e-13);
            }
        }
    }
}
