//! Sums over blocks of a few numbers, with the size known to the compiler up to 24: then a block's
//! sums stay in registers, which makes them two to four times as fast as loops over slices.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use super::{SimdTask, add_scaled, simd, triangle};

/// The inner product of two rows in four partial sums. Its order of additions is not that of
/// [`dot`](super::dot): rows of two or three numbers, the most frequent ones, need no zeros added.
#[inline(always)]
pub(crate) fn row_dot<const W: usize>(a: &[f64; W], b: &[f64; W]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let mut rest = [0.0; 2];
    for (k, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        rest[k % 2] += a * b;
    }
    ((sums[0] + sums[2]) + (sums[1] + sums[3])) + (rest[0] + rest[1])
}

/// Calls a function of a constant size where the size is small, and another one elsewhere.
macro_rules! by_size {
    ($size:expr, $small:ident($($argument:expr),*), $any:expr) => {
        by_size!(@match $size, $small($($argument),*), $any,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24)
    };
    (@match $size:expr, $small:ident $arguments:tt, $any:expr, $($constant:literal)*) => {
        match $size {
            $($constant => by_size!(@call $small, $constant, $arguments),)*
            _ => $any,
        }
    };
    (@call $small:ident, $constant:literal, ($($argument:expr),*)) => {
        $small::<$constant>($($argument),*)
    };
}

/// `out ← out + factor · A v` for a symmetric matrix, whose rows are its columns.
pub fn add_symmetric_product(out: &mut [f64], factor: f64, matrix: &[f64], v: &[f64]) {
    by_size!(v.len(), product(out, factor, matrix, v), {
        for (column, x) in matrix.chunks_exact(v.len()).zip(v) {
            add_scaled(out, factor * x, column);
        }
    });
}

fn product<const N: usize>(out: &mut [f64], factor: f64, matrix: &[f64], v: &[f64]) {
    let mut sum = [0.0; N];
    let (columns, _) = matrix.as_chunks::<N>();
    for (column, x) in columns.iter().zip(v) {
        for (sum, entry) in sum.iter_mut().zip(column) {
            *sum += x * entry;
        }
    }
    add_scaled(out, factor, &sum);
}

/// `out ← out + factor · Σ weight_j row_j` over the given rows of so many numbers each.
pub fn add_weighted_rows(out: &mut [f64], factor: f64, terms: &[(usize, f64)], rows: &[f64]) {
    by_size!(out.len(), weighted_rows(out, factor, terms, rows), {
        let size = out.len();
        for &(row, weight) in terms {
            add_scaled(out, factor * weight, &rows[row * size..(row + 1) * size]);
        }
    });
}

fn weighted_rows<const N: usize>(
    out: &mut [f64],
    factor: f64,
    terms: &[(usize, f64)],
    rows: &[f64],
) {
    let mut sum = [0.0; N];
    let (rows, _) = rows.as_chunks::<N>();
    for &(row, weight) in terms {
        for (sum, value) in sum.iter_mut().zip(&rows[row]) {
            *sum += weight * value;
        }
    }
    add_scaled(out, factor, &sum);
}

/// How many columns of wide rows are summed at once.
const STRIP: usize = 16;

/// `out_i ← out_i + factor · Σ weight_j row_j` for all rows of `out`, each with terms of its own.
pub fn add_weighted_rows_each<'a>(
    out: &mut [f64],
    factor: f64,
    terms: impl Fn(usize) -> &'a [(usize, f64)],
    rows: &[f64],
    width: usize,
) {
    // Wide rows strip by strip, because the sums of a strip stay in registers.
    let narrow = width <= 24;
    let whole = if narrow { 0 } else { width / STRIP * STRIP };
    for from in (0..whole).step_by(STRIP) {
        strip::<STRIP>(out, factor, &terms, rows, (from, width));
    }
    // All of a narrow row, or what is left of a wide one, which may be nothing.
    by_size!(width - whole, strip(out, factor, &terms, rows, (whole, width)), {});
}

fn strip<'a, const N: usize>(
    out: &mut [f64],
    factor: f64,
    terms: &impl Fn(usize) -> &'a [(usize, f64)],
    rows: &[f64],
    (from, width): (usize, usize),
) {
    simd::dispatch(Strip::<_, N> { out, factor, terms, rows, from, width });
}

/// The columns `from..from + N` of the rows.
struct Strip<'b, F, const N: usize> {
    out: &'b mut [f64],
    factor: f64,
    terms: &'b F,
    rows: &'b [f64],
    from: usize,
    width: usize,
}

impl<'a, F: Fn(usize) -> &'a [(usize, f64)], const N: usize> SimdTask for Strip<'_, F, N> {
    #[inline(always)]
    fn run(self) {
        let Self { out, factor, terms, rows, from, width } = self;
        let row = |row: usize| rows[row * width + from..].first_chunk::<N>().expect("N columns");
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            // Two sums, so that additions need not wait for one another.
            let mut sums = [[0.0; N]; 2];
            let (pairs, rest) = terms(i).as_chunks::<2>();
            for pair in pairs {
                for (sum, (j, weight)) in sums.iter_mut().zip(pair) {
                    sum.iter_mut().zip(row(*j)).for_each(|(sum, value)| *sum += weight * value);
                }
            }
            for (j, weight) in rest {
                sums[0].iter_mut().zip(row(*j)).for_each(|(sum, value)| *sum += weight * value);
            }
            let out = &mut out[from..][..N];
            for ((out, a), b) in out.iter_mut().zip(sums[0]).zip(sums[1]) {
                *out += factor * (a + b);
            }
        }
    }
}

/// `out ← out + Σ weight_j (own − row_j)`: differences lose no digits where rows are close.
pub fn add_weighted_differences(
    out: &mut [f64],
    own: &[f64],
    terms: &[(usize, f64)],
    rows: &[f64],
) {
    by_size!(out.len(), weighted_differences(out, own, terms, rows), {
        let size = out.len();
        for &(row, weight) in terms {
            let row = &rows[row * size..(row + 1) * size];
            for ((out, own), value) in out.iter_mut().zip(own).zip(row) {
                *out += weight * (own - value);
            }
        }
    });
}

fn weighted_differences<const N: usize>(
    out: &mut [f64],
    own: &[f64],
    terms: &[(usize, f64)],
    rows: &[f64],
) {
    let mut sum = [0.0; N];
    let (rows, _) = rows.as_chunks::<N>();
    let own: &[f64; N] = own.first_chunk().expect("a block has the size of its sum");
    for &(row, weight) in terms {
        for ((sum, own), value) in sum.iter_mut().zip(own).zip(&rows[row]) {
            *sum += weight * (own - value);
        }
    }
    add_scaled(out, 1.0, &sum);
}

/// Adds the lower triangle of `Σ_r factor_r x_r x_rᵀ`, where the rows have so many numbers.
pub fn add_outers(sum: &mut [f64], factors: &[f64], rows: &[f64], size: usize) {
    by_size!(size, outers(sum, factors, rows), {
        for (x, factor) in rows.chunks_exact(size.max(1)).zip(factors) {
            for (k, a) in x.iter().enumerate() {
                add_scaled(&mut sum[triangle(k)..=triangle(k) + k], factor * a, x);
            }
        }
    });
}

fn outers<const N: usize>(sum: &mut [f64], factors: &[f64], rows: &[f64]) {
    simd::dispatch(Outers::<N> { sum, factors, rows: rows.as_chunks().0 });
}

struct Outers<'a, const N: usize> {
    sum: &'a mut [f64],
    factors: &'a [f64],
    rows: &'a [[f64; N]],
}

impl<const N: usize> SimdTask for Outers<'_, N> {
    #[inline(always)]
    fn run(self) {
        let lower = |k: usize| triangle(k)..=triangle(k) + k;
        let mut square = [[0.0; N]; N];
        for (k, row) in square.iter_mut().enumerate() {
            row[..=k].copy_from_slice(&self.sum[lower(k)]);
        }
        // A few rows at a time, for which the sums of a line stay in registers.
        for (rows, factors) in self.rows.chunks(8).zip(self.factors.chunks(8)) {
            for (k, line) in square.iter_mut().enumerate() {
                let mut sums = *line;
                for (x, factor) in rows.iter().zip(factors) {
                    let a = factor * x[k];
                    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += a * x);
                }
                *line = sums;
            }
        }
        for (k, row) in square.iter().enumerate() {
            self.sum[lower(k)].copy_from_slice(&row[..=k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn all_sizes_give_what_plain_loops_give() {
        let mut stream = Stream::new(8, 0, 0, Purpose::Data);
        for size in 1..30 {
            let mut draw = |count: usize| (0..count).map(|_| stream.normal()).collect::<Vec<f64>>();
            let (rows, own, half) = (draw(5 * size), draw(size), draw(size * size));
            let symmetric: Vec<f64> =
                (0..size * size).map(|k| half[k] + half[k % size * size + k / size]).collect();
            let terms = [(4, 0.5), (0, -2.0), (2, 1.5)];
            let mut expected = [vec![1.0; size], vec![1.0; size], vec![1.0; size]];
            for k in 0..size {
                for j in 0..size {
                    expected[0][k] += 0.7 * symmetric[k * size + j] * own[j];
                }
                for (row, weight) in terms {
                    expected[1][k] += 0.7 * weight * rows[row * size + k];
                    expected[2][k] += weight * (own[k] - rows[row * size + k]);
                }
            }
            let mut found = [vec![1.0; size], vec![1.0; size], vec![1.0; size]];
            add_symmetric_product(&mut found[0], 0.7, &symmetric, &own);
            add_weighted_rows(&mut found[1], 0.7, &terms, &rows);
            add_weighted_differences(&mut found[2], &own, &terms, &rows);
            assert!(found.iter().zip(&expected).all(|(a, b)| close(a, b)), "size {size}");

            let factors = [0.3, 1.0, 0.0, -2.0, 0.7];
            let (mut plain, mut sum) = (vec![1.0; triangle(size)], vec![1.0; triangle(size)]);
            for (x, factor) in rows.chunks_exact(size).zip(factors) {
                for k in 0..size {
                    (0..=k).for_each(|l| plain[triangle(k) + l] += factor * x[k] * x[l]);
                }
            }
            add_outers(&mut sum, &factors, &rows, size);
            assert_eq!(plain, sum, "size {size}");
        }
    }
}
