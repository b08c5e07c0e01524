//! The two sums that all of PersFL on linear models consists of, over four rows at a time so that
//! what they share is loaded once. Sums run in fixed lanes: the same bits on every machine.

/// The inner products of one vector with four others of its length.
#[inline]
fn dots(one: &[f64], four: [&[f64]; 4]) -> [f64; 4] {
    let size = one.len();
    let four = four.map(|other| &other[..size]);
    let (chunks, rest) = one.as_chunks::<4>();
    let others = four.map(|other| other.as_chunks::<4>().0);
    let mut sums = [[0.0; 4]; 4];
    for (k, a) in chunks.iter().enumerate() {
        for (sum, other) in sums.iter_mut().zip(&others) {
            let b = &other[k];
            for lane in 0..4 {
                sum[lane] += a[lane] * b[lane];
            }
        }
    }
    let mut result = [0.0; 4];
    for ((result, sum), other) in result.iter_mut().zip(&sums).zip(&four) {
        let tail = &other[size - rest.len()..];
        let tail: f64 = rest.iter().zip(tail).map(|(a, b)| a * b).sum();
        *result = (sum[0] + sum[1]) + (sum[2] + sum[3]) + tail;
    }
    result
}

/// `out_k = rowₖᵀ v` for all rows.
pub(super) fn products(rows: &[f64], v: &[f64], out: &mut [f64]) {
    let size = v.len();
    let mut blocks = rows.chunks_exact(4 * size);
    let mut outs = out.chunks_exact_mut(4);
    for (block, out) in blocks.by_ref().zip(outs.by_ref()) {
        let row = |k: usize| &block[k * size..(k + 1) * size];
        out.copy_from_slice(&dots(v, [row(0), row(1), row(2), row(3)]));
    }
    let rest = blocks.remainder();
    for (row, out) in rest.chunks_exact(size).zip(outs.into_remainder()) {
        *out = dots(v, [row; 4])[0];
    }
}

/// `out = Σ_k factor_k row_k`
pub(super) fn combination(rows: &[f64], factors: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    let size = out.len();
    let (blocks, rest) = factors.as_chunks::<4>();
    for (block, f) in rows.chunks_exact(4 * size).zip(blocks) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| &block[k * size..(k + 1) * size]);
        for (k, out) in out.iter_mut().enumerate() {
            *out += (f[0] * a[k] + f[1] * b[k]) + (f[2] * c[k] + f[3] * d[k]);
        }
    }
    let tail = &rows[4 * blocks.len() * size..];
    for (row, factor) in tail.chunks_exact(size).zip(rest) {
        out.iter_mut().zip(row).for_each(|(out, x)| *out += factor * x);
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
        algebra::dot,
        random::{Purpose, Stream},
    };

    #[test]
    fn kernels_are_the_sums_they_stand_for_at_every_size() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut random = |count: usize| (0..count).map(|_| stream.normal()).collect::<Vec<_>>();
        for (m, d) in [(1, 1), (3, 5), (4, 4), (10, 7), (9, 18)] {
            let (rows, v, f) = (random(m * d), random(d), random(m));
            let (mut along, mut sum) = (vec![0.0; m], vec![7.0; d]);
            products(&rows, &v, &mut along);
            combination(&rows, &f, &mut sum);
            for k in 0..m {
                assert!((along[k] - dot(&rows[k * d..(k + 1) * d], &v)).abs() < 1e-13);
            }
            for c in 0..d {
                let column: f64 = (0..m).map(|k| f[k] * rows[k * d + c]).sum();
                assert!((sum[c] - column).abs() < 1e-13);
            }
            let others = random(3 * d);
            for (place, value) in gram(&rows, &others, d).iter().enumerate() {
                let (k, l) = (place / 3, place % 3);
                let plain = dot(&rows[k * d..(k + 1) * d], &others[l * d..(l + 1) * d]);
                assert!((value - plain).abs() < 1e-13);
            }
        }
    }
}
