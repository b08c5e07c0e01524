//! The Cholesky factors of symmetric matrices, eight at a time, and solutions by them.

use rayon::prelude::*;

use super::{
    super::{Cholesky, SimdTask, simd},
    Batch, LANES, Lane, TASK_MATRICES, each, less, side_by_side, times, triangle,
};

/// How many lanes are copied by a parallel task: a quarter of a megabyte.
const COPIED_LANES: usize = 4096;

/// The Cholesky factors of symmetric matrices `A_i + shift_i I`.
///
/// Shifts are zero but where a matrix is singular, which gets the smallest that makes it positive
/// definite; one of zeros, or with none small enough, is replaced by I, with a shift of one.
#[derive(Debug, Clone)]
pub struct Factors {
    lower: Batch,
    /// What was added to each diagonal.
    pub shifts: Vec<f64>,
}

impl Factors {
    /// Factors all matrices, in their place.
    #[must_use]
    pub fn new(mut matrices: Batch) -> Self {
        let (size, count) = (matrices.size, matrices.count);
        let length = triangle(size).max(1);
        let mut shifts = vec![0.0; count];
        let tasks = matrices.entries.par_chunks_mut(TASK_MATRICES / LANES * length);
        tasks.zip(shifts.par_chunks_mut(TASK_MATRICES)).for_each(|(entries, shifts)| {
            let eights = entries.chunks_exact_mut(length).zip(shifts.chunks_mut(LANES));
            let mut before = vec![[0.0; LANES]; length];
            for (entries, shifts) in eights {
                // Factors take the place of matrices, and some of these may have to be factored again.
                before.copy_from_slice(entries);
                simd::dispatch(Factorisation { size, entries });
                for (lane, shift) in shifts.iter_mut().enumerate() {
                    if !is_definite(&before, entries, lane, size) {
                        *shift = refactor(&before, entries, lane, size);
                    }
                }
            }
        });
        Self { lower: matrices, shifts }
    }

    /// The same for matrices that are needed on; they are copied on all cores.
    #[must_use]
    pub fn of(matrices: &Batch) -> Self {
        let mut entries = vec![[0.0; LANES]; matrices.entries.len()];
        let parts =
            entries.par_chunks_mut(COPIED_LANES).zip(matrices.entries.par_chunks(COPIED_LANES));
        parts.for_each(|(to, from)| to.copy_from_slice(from));
        Self::new(Batch { entries, ..*matrices })
    }

    /// Replaces each `b_i` by the solution of `(A_i + shift_i I) x = b_i`, from the matrix `first`, a
    /// multiple of eight, on.
    pub fn solve(&self, first: usize, b: &mut [f64]) {
        simd::dispatch(Solve { lower: &self.lower, first, b });
    }
}

/// Whether the factor of one of eight matrices is that of a positive definite one, well enough.
fn is_definite(before: &[Lane], entries: &[Lane], lane: usize, size: usize) -> bool {
    (0..size).map(|k| triangle(k) + k).all(|k| {
        let over = entries[k][lane];
        // A pivot that has lost thirteen digits of its diagonal entry is rounding.
        over > 0.0 && over * over * before[k][lane] < 1e13
    })
}

/// Factors one of eight matrices with something on its diagonal, and returns what.
fn refactor(before: &[Lane], entries: &mut [Lane], lane: usize, size: usize) -> f64 {
    let entry = |row: usize, column: usize| before[triangle(row) + column][lane];
    let largest = (0..size).map(|k| entry(k, k)).fold(0.0, f64::max);
    // The smallest shift that makes the matrix definite in double precision disturbs it least.
    let factored = [1e-12, 1e-10, 1e-8].iter().find_map(|jitter| {
        let mut matrix = vec![0.0; size * size];
        for row in 0..size {
            (0..row).for_each(|column| matrix[row * size + column] = entry(row, column));
            matrix[row * size + row] = entry(row, row) + jitter * largest;
        }
        Cholesky::new(matrix, size).map(|factor| (factor, jitter * largest))
    });
    for row in 0..size {
        for column in 0..=row {
            let identity = f64::from(u8::from(row == column));
            entries[triangle(row) + column][lane] =
                factored.as_ref().map_or(identity, |(factor, _)| factor.lower[row * size + column]);
        }
    }
    factored.map_or(1.0, |(_, shift)| shift)
}

struct Factorisation<'a> {
    size: usize,
    entries: &'a mut [Lane],
}

impl SimdTask for Factorisation<'_> {
    /// Leaves one over the diagonal entries in their place, and no positive number where the matrix
    /// is not positive definite.
    #[inline(always)]
    fn run(self) {
        for row in 0..self.size {
            let (above, own) = self.entries.split_at_mut(triangle(row));
            for column in 0..row {
                let pivot = &above[triangle(column)..=triangle(column) + column];
                let sum = subtract_products(own[column], &own[..column], pivot);
                own[column] = times(sum, pivot[column]);
            }
            let sum = subtract_products(own[row], &own[..row], &own[..row]);
            // Without a branch for every lane: a pivot below zero gives no number, one of zero an infinite one.
            own[row] = each(sum, sum, |sum, _| 1.0 / sum.sqrt());
        }
    }
}

struct Solve<'a> {
    lower: &'a Batch,
    first: usize,
    b: &'a mut [f64],
}

impl SimdTask for Solve<'_> {
    #[inline(always)]
    fn run(self) {
        let size = self.lower.size;
        let mut x = vec![[0.0; LANES]; size];
        for (eight, rows) in self.b.chunks_mut(LANES * size).enumerate() {
            side_by_side(rows, &mut x);
            let lower = self.lower.eight(self.first + eight * LANES);
            for row in 0..size {
                let (known, rest) = x.split_at_mut(row);
                let entries = &lower[triangle(row)..=triangle(row) + row];
                let sum = subtract_products(rest[0], &entries[..row], known);
                rest[0] = times(sum, entries[row]);
            }
            for row in (0..size).rev() {
                let (open, rest) = x.split_at_mut(row);
                let entries = &lower[triangle(row)..=triangle(row) + row];
                rest[0] = times(rest[0], entries[row]);
                for (open, entry) in open.iter_mut().zip(entries) {
                    *open = less(*open, times(rest[0], *entry));
                }
            }
            for (lane, row) in rows.chunks_exact_mut(size).enumerate() {
                row.iter_mut().zip(&x).for_each(|(b, x)| *b = x[lane]);
            }
        }
    }
}

/// `start − Σ_k a_k b_k`
#[inline(always)]
fn subtract_products(start: Lane, a: &[Lane], b: &[Lane]) -> Lane {
    a.iter().zip(b).fold(start, |sum, (a, b)| less(sum, times(*a, *b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singular_matrices_are_shifted_and_leave_the_others_alone() {
        let plain = [[2.0, 0.5, 3.0], [1.0, 0.0, 1.0]];
        let with = |matrices: [[f64; 3]; 2]| {
            Batch::new(3, 2, |_, triangles| {
                triangles[..6].copy_from_slice(&matrices.concat());
                triangles[6..].copy_from_slice(&[2.0, 0.0, 4.0]);
            })
        };
        assert_eq!(Factors::new(with(plain)).shifts, [0.0; 3]);
        let factors = Factors::new(with([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]));
        assert!(factors.shifts[0] > 0.0 && factors.shifts[0] < 1e-6);
        assert_eq!(factors.shifts[1..], [1.0, 0.0]);
        let mut x = [1.0, 1.0, 3.0, 5.0, 1.0, 1.0];
        factors.solve(0, &mut x);
        assert!((x[0] - 0.5).abs() < 1e-3 && (x[1] - 0.5).abs() < 1e-3);
        assert_eq!(x[2..4], [3.0, 5.0]);
        assert!((x[4] - 0.5).abs() < 1e-15 && (x[5] - 0.25).abs() < 1e-15);
    }
    #[test]
    fn factors_of_matrices_that_stay_are_those_of_matrices_that_go() {
        let made = || {
            Batch::new(70, 3, |first, triangles| {
                for (node, lower) in (first..).zip(triangles.chunks_exact_mut(6)) {
                    lower.copy_from_slice(&[2.0 + node as f64, 0.5, 3.0, 0.1, -0.2, 1.0]);
                }
            })
        };
        let (stays, b) = (made(), (0..210).map(f64::from).collect::<Vec<_>>());
        let (mut x, mut y) = (b.clone(), b);
        Factors::of(&stays).solve(0, &mut x);
        Factors::new(made()).solve(0, &mut y);
        assert_eq!(x, y);
    }
}
