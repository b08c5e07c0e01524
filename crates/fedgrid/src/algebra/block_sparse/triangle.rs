//! The inverse of the triangle of a small positive definite matrix, by one elimination in its place.
//!
//! ```text
//! A = L Lᵀ       for k = 0, 1, …:   row_i ← row_i − (A_ik / A_kk) row_k   for all i > k
//! ```
//!
//! takes from the identity what it takes from A. What A has left of row k is zero before its diagonal, where the rows of
//! the changed identity fit in; divided by `√A_kk` these are the rows of L⁻¹.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use super::kernel::Place;
use crate::algebra::{SimdTask, simd};

/// Columns at most: their rows are a few vectors, and the whole square stays in the first cache.
pub(super) const MOST_COLUMNS: usize = 24;

/// Replaces the lower triangle of a matrix of so many rows by the inverse of its factor, with zeros above, and gives the
/// logarithm of the determinant; none if the matrix is not positive definite.
pub(super) fn invert(rows: &mut [f64], place: Place, count: usize) -> Option<f64> {
    let mut logarithm = None;
    match count.div_ceil(4) {
        0 | 1 => simd::dispatch(Inverted::<4> { rows, place, count, logarithm: &mut logarithm }),
        2 => simd::dispatch(Inverted::<8> { rows, place, count, logarithm: &mut logarithm }),
        3 => simd::dispatch(Inverted::<12> { rows, place, count, logarithm: &mut logarithm }),
        4 => simd::dispatch(Inverted::<16> { rows, place, count, logarithm: &mut logarithm }),
        5 => simd::dispatch(Inverted::<20> { rows, place, count, logarithm: &mut logarithm }),
        _ => simd::dispatch(Inverted::<MOST_COLUMNS> {
            rows,
            place,
            count,
            logarithm: &mut logarithm,
        }),
    }
    logarithm
}

/// The same for at most N columns.
struct Inverted<'a, const N: usize> {
    rows: &'a mut [f64],
    place: Place,
    count: usize,
    logarithm: &'a mut Option<f64>,
}

impl<const N: usize> SimdTask for Inverted<'_, N> {
    #[inline(always)]
    fn run(self) {
        let Self { rows, place, count, logarithm } = self;
        let mut square = [[0.0; N]; N];
        for (row, from) in rows.chunks(place.stride).take(count).enumerate() {
            // Both triangles, because a row meets those below it with what stands after its diagonal.
            for (column, entry) in from[place.at..=place.at + row].iter().enumerate() {
                (square[row][column], square[column][row]) = (*entry, *entry);
            }
        }
        let (mut roots, mut sum) = ([0.0; N], 0.0);
        for k in 0..count {
            // A copy: rows that may be the same would be read again for every number.
            let mut own = square[k];
            let pivot = own[k];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return;
            }
            sum += pivot.ln();
            roots[k] = 1.0 / pivot.sqrt();
            own[k] = 1.0;
            square[k] = own;
            for row in &mut square[k + 1..count] {
                let factor = row[k] / pivot;
                row[k] = 0.0;
                for c in 0..N {
                    row[c] -= factor * own[c];
                }
            }
        }
        for (row, to) in rows.chunks_mut(place.stride).take(count).enumerate() {
            let to = &mut to[place.at..place.at + count];
            for (to, entry) in to[..=row].iter_mut().zip(&square[row]) {
                *to = roots[row] * entry;
            }
            to[row + 1..].fill(0.0);
        }
        *logarithm = Some(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::{Cholesky, add_outer},
        random::{Purpose, Stream},
    };

    #[test]
    fn the_inverse_is_that_of_the_factor_wherever_the_matrix_lies() {
        let mut stream = Stream::new(4, 0, 0, Purpose::Data);
        for count in 1..=MOST_COLUMNS {
            let mut matrix = vec![0.0; count * count];
            for _ in 0..2 * count {
                let x: Vec<f64> = (0..count).map(|_| stream.normal()).collect();
                add_outer(&mut matrix, 0.3, &x);
            }
            let reference = Cholesky::new(matrix.clone(), count).unwrap();
            let (stride, at) = (count + 3, 2);
            // Only the lower triangle is given, and nothing beside it is touched.
            let mut rows = vec![7.0; count * stride];
            for (row, from) in matrix.chunks_exact(count).enumerate() {
                rows[row * stride + at..][..=row].copy_from_slice(&from[..=row]);
            }
            let logarithm = invert(&mut rows, Place { stride, at }, count).unwrap();
            assert!((logarithm - reference.log_determinant()).abs() < 1e-11, "{count}");
            let expected = reference.inverse_lower();
            for (row, from) in expected.chunks_exact(count).enumerate() {
                let found = &rows[row * stride..][..stride];
                for (found, expected) in found[at..].iter().zip(from) {
                    assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{count}");
                }
                assert_eq!((found[1].to_bits(), found[stride - 1].to_bits()), {
                    let seven = 7.0_f64.to_bits();
                    (seven, seven)
                });
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_none() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut rows = [1.0, 0.0, 0.0, bad];
            assert_eq!(invert(&mut rows, Place { stride: 2, at: 0 }, 2), None);
        }
    }
}
