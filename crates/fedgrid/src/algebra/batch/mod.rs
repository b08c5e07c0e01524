//! Symmetric matrices of one size, eight at a time: products here, Cholesky factors and solutions in
//! `factors`.
//!
//! An entry of eight matrices lies in eight neighbouring numbers, so that one instruction does to
//! all of them what the few columns of one leave no room to do side by side. Only lower triangles
//! are kept, row by row: the entry (k, l) is number `k(k+1)/2 + l`.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

mod factors;

pub use factors::Factors;
use rayon::prelude::*;

use super::{SimdTask, simd};

/// How many matrices lie side by side: the numbers of the widest register there is.
const LANES: usize = 8;

/// How many matrices are a parallel task: enough to be worth handing over.
const TASK_MATRICES: usize = 8 * LANES;

/// One number of each of eight matrices or vectors.
type Lane = [f64; LANES];

/// How many numbers a lower triangle has.
#[must_use]
pub const fn triangle(size: usize) -> usize {
    size * (size + 1) / 2
}

/// Symmetric matrices of one size.
#[derive(Debug, Clone)]
pub struct Batch {
    size: usize,
    count: usize,
    /// Whether one matrix stands for all.
    common: bool,
    entries: Vec<Lane>,
}

impl Batch {
    /// So many matrices. `fill` is given the number of the first of some and their triangles, one
    /// after another and all zero, and writes them.
    #[must_use]
    pub fn new(count: usize, size: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Self {
        let length = triangle(size).max(1);
        let mut entries = vec![[0.0; LANES]; count.div_ceil(LANES) * length];
        entries.par_chunks_mut(TASK_MATRICES / LANES * length).enumerate().for_each(
            |(task, entries)| {
                let first = task * TASK_MATRICES;
                let mut triangles = vec![0.0; TASK_MATRICES.min(count - first) * length];
                fill(first, &mut triangles);
                let eights = triangles.chunks(LANES * length).zip(entries.chunks_exact_mut(length));
                for (triangles, entries) in eights {
                    for (lane, triangle) in triangles.chunks_exact(length).enumerate() {
                        entries.iter_mut().zip(triangle).for_each(|(entry, a)| entry[lane] = *a);
                    }
                }
            },
        );
        Self { size, count, common: false, entries }
    }

    /// One matrix, given by its triangle, that stands for any number of equal ones.
    #[must_use]
    pub fn common(matrix: &[f64], size: usize) -> Self {
        let entries = matrix.iter().map(|entry| [*entry; LANES]).collect();
        Self { size, count: 1, common: true, entries }
    }

    /// `out_i ← out_i + factor · A_i v_i`, from the matrix `first`, a multiple of eight, on.
    pub fn add_product(&self, out: &mut [f64], factor: f64, first: usize, v: &[f64]) {
        simd::dispatch(Product { batch: self, ridges: (&[], 0), out, factor, first, v });
    }

    /// The same with `A_i + ridge_i R`, where R has ones on the diagonal of the first so many columns.
    pub fn add_ridged_product(
        &self,
        ridges: (&[f64], usize),
        out: &mut [f64],
        factor: f64,
        first: usize,
        v: &[f64],
    ) {
        simd::dispatch(Product { batch: self, ridges, out, factor, first, v });
    }

    /// `out_i ← A_i v_i` and `other_out_i ← B_i v_i` with the matrices B of another batch of the same size,
    /// from the matrix `first`, a multiple of eight, on: vectors are laid side by side once for both.
    pub fn products(
        &self,
        out: &mut [f64],
        (other, other_out): (&Self, &mut [f64]),
        first: usize,
        v: &[f64],
    ) {
        debug_assert_eq!(self.size, other.size);
        simd::dispatch(ProductPair { batches: [self, other], outs: [out, other_out], first, v });
    }

    /// Adds the triangle of one matrix.
    pub fn add_to(&self, sum: &mut [f64], matrix: usize) {
        let lane = matrix % LANES;
        sum.iter_mut().zip(self.eight(matrix)).for_each(|(sum, entry)| *sum += entry[lane]);
    }

    /// The trace of one matrix.
    #[must_use]
    pub fn trace(&self, matrix: usize) -> f64 {
        let entries = self.eight(matrix);
        (0..self.size).map(|k| entries[triangle(k) + k][matrix % LANES]).sum()
    }

    /// The entries of the eight matrices from a given one on.
    #[inline]
    fn eight(&self, first: usize) -> &[Lane] {
        let length = triangle(self.size);
        if self.common { &self.entries } else { &self.entries[first / LANES * length..][..length] }
    }
}

struct Product<'a> {
    batch: &'a Batch,
    /// What is added to the diagonal of each matrix, and to how many of its columns.
    ridges: (&'a [f64], usize),
    out: &'a mut [f64],
    factor: f64,
    first: usize,
    v: &'a [f64],
}

impl SimdTask for Product<'_> {
    #[inline(always)]
    fn run(self) {
        let size = self.batch.size;
        // Once for all eights: an allocation costs as much as a small product.
        let (mut x, mut y) = (vec![[0.0; LANES]; size], vec![[0.0; LANES]; size]);
        let rows = self.v.chunks(LANES * size).zip(self.out.chunks_mut(LANES * size));
        for (eight, (v, out)) in rows.enumerate() {
            side_by_side(v, &mut x);
            let matrix = self.first + eight * LANES;
            let (ridges, ridged) = self.ridges;
            // Zeros where there are no ridges, and behind the last matrix.
            let mut ridge = [0.0; LANES];
            ridge.iter_mut().zip(ridges.iter().skip(matrix)).for_each(|(own, r)| *own = *r);
            multiply(self.batch.eight(matrix), &x, &mut y, (ridge, ridged));
            for (lane, out) in out.chunks_exact_mut(size).enumerate() {
                out.iter_mut().zip(&y).for_each(|(out, y)| *out += self.factor * y[lane]);
            }
        }
    }
}

struct ProductPair<'a> {
    batches: [&'a Batch; 2],
    outs: [&'a mut [f64]; 2],
    first: usize,
    v: &'a [f64],
}

impl SimdTask for ProductPair<'_> {
    #[inline(always)]
    fn run(self) {
        let size = self.batches[0].size;
        let (mut x, mut y) = (vec![[0.0; LANES]; size], vec![[0.0; LANES]; size]);
        let [a, b] = self.outs.map(|out| out.chunks_mut(LANES * size));
        for (eight, ((v, a), b)) in self.v.chunks(LANES * size).zip(a).zip(b).enumerate() {
            side_by_side(v, &mut x);
            for (batch, out) in self.batches.into_iter().zip([a, b]) {
                multiply(batch.eight(self.first + eight * LANES), &x, &mut y, ([0.0; LANES], 0));
                for (lane, out) in out.chunks_exact_mut(size).enumerate() {
                    out.iter_mut().zip(&y).for_each(|(out, y)| *out = y[lane]);
                }
            }
        }
    }
}

/// The products of eight triangles, with something more on so many diagonal entries, and eight vectors.
#[inline(always)]
fn multiply(entries: &[Lane], x: &[Lane], y: &mut [Lane], (ridge, ridged): (Lane, usize)) {
    for row in 0..x.len() {
        let entries = &entries[triangle(row)..=triangle(row) + row];
        let own = x[row];
        let diagonal = if row < ridged { plus(entries[row], ridge) } else { entries[row] };
        let mut sum = [0.0; LANES];
        // Each entry below the diagonal serves both its row and its column while it is in a register.
        for ((entry, x), y) in entries[..row].iter().zip(x).zip(&mut *y) {
            sum = plus(sum, times(*entry, *x));
            *y = plus(*y, times(*entry, own));
        }
        y[row] = plus(sum, times(diagonal, own));
    }
}

/// Lays up to eight rows side by side.
#[inline(always)]
fn side_by_side(rows: &[f64], lanes: &mut [Lane]) {
    // Lanes without a row keep old numbers, which nobody reads back.
    for (lane, row) in rows.chunks_exact(lanes.len()).enumerate() {
        lanes.iter_mut().zip(row).for_each(|(entry, a)| entry[lane] = *a);
    }
}

#[inline(always)]
fn each(a: Lane, b: Lane, f: impl Fn(f64, f64) -> f64) -> Lane {
    let mut out = a;
    for (out, b) in out.iter_mut().zip(b) {
        *out = f(*out, b);
    }
    out
}

#[inline(always)]
fn plus(a: Lane, b: Lane) -> Lane {
    each(a, b, |a, b| a + b)
}

#[inline(always)]
fn less(a: Lane, b: Lane) -> Lane {
    each(a, b, |a, b| a - b)
}

#[inline(always)]
fn times(a: Lane, b: Lane) -> Lane {
    each(a, b, |a, b| a * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::{Cholesky, add_outer, add_symmetric_product},
        random::{Purpose, Stream},
    };

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        (0..count).map(|_| stream.normal()).collect()
    }

    /// Positive definite matrices, as squares and side by side.
    fn made(count: usize, size: usize) -> (Vec<Vec<f64>>, Batch) {
        let square = |node: usize| {
            let mut matrix = vec![0.0; size * size];
            let rows = random(3 * size * size, node as u64);
            rows.chunks_exact(size).for_each(|x| add_outer(&mut matrix, 1.0, x));
            matrix
        };
        let squares: Vec<Vec<f64>> = (0..count).map(square).collect();
        let batch = Batch::new(count, size, |first, triangles| {
            let each = triangles.chunks_exact_mut(triangle(size)).zip(&squares[first..]);
            each.for_each(|(triangle, square)| write(triangle, square, size));
        });
        (squares, batch)
    }

    fn write(lower: &mut [f64], square: &[f64], size: usize) {
        for (row, values) in square.chunks_exact(size).enumerate() {
            lower[triangle(row)..=triangle(row) + row].copy_from_slice(&values[..=row]);
        }
    }

    #[test]
    fn eight_at_a_time_is_one_at_a_time() {
        for (count, size) in [(1, 3), (8, 1), (70, 5), (13, 30)] {
            let (squares, batch) = made(count, size);
            let v = random(count * size, 99);
            let (mut out, mut expected) = (vec![1.0; v.len()], vec![1.0; v.len()]);
            batch.add_product(&mut out, 0.5, 0, &v);
            let blocks = expected.chunks_exact_mut(size).zip(v.chunks_exact(size));
            blocks.zip(&squares).for_each(|((out, v), a)| add_symmetric_product(out, 0.5, a, v));
            assert!(out.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10));
            let (mut one, mut other) = (v.clone(), v.clone());
            batch.products(&mut one, (&batch, &mut other), 0, &v);
            out.fill(0.0);
            batch.add_product(&mut out, 1.0, 0, &v);
            assert!(one == out && other == out, "both at once is one after the other");
            let factors = Factors::new(batch);
            assert!(factors.shifts.iter().all(|shift| *shift == 0.0));
            let mut x = expected.clone();
            factors.solve(0, &mut x);
            for (block, square) in expected.chunks_exact_mut(size).zip(squares) {
                Cholesky::new(square, size).unwrap().solve(block);
            }
            assert!(x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{count} {size}");
        }
    }

    #[test]
    fn a_common_matrix_stands_for_all() {
        let (squares, _) = made(1, 4);
        let mut lower = vec![0.0; triangle(4)];
        write(&mut lower, &squares[0], 4);
        let v = random(11 * 4, 7);
        let (mut out, mut one) = (vec![0.0; v.len()], [0.0; 4]);
        Batch::common(&lower, 4).add_product(&mut out, 1.0, 0, &v);
        add_symmetric_product(&mut one, 1.0, &squares[0], &v[40..]);
        assert!(out[40..].iter().zip(&one).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn a_ridge_in_the_product_is_one_in_the_matrices_to_the_last_bit() {
        let (count, size) = (13, 4);
        let (squares, batch) = made(count, size);
        let (ridges, v) = (random(count, 5), random(count * size, 6));
        let with = Batch::new(count, size, |first, triangles| {
            for (node, own) in (first..).zip(triangles.chunks_exact_mut(triangle(size))) {
                write(own, &squares[node], size);
                (0..3).for_each(|k| own[triangle(k) + k] += ridges[node]);
            }
        });
        let (mut out, mut expected) = (vec![1.0; 5 * size], vec![1.0; 5 * size]);
        batch.add_ridged_product((&ridges, 3), &mut out, 0.5, 8, &v[8 * size..]);
        with.add_product(&mut expected, 0.5, 8, &v[8 * size..]);
        assert_eq!(out, expected);
        let mut sum = vec![0.0; triangle(size)];
        with.add_to(&mut sum, 9);
        let trace: f64 = (0..size).map(|k| sum[triangle(k) + k]).sum();
        assert_eq!(trace.to_bits(), with.trace(9).to_bits());
    }
}
