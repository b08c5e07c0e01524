//! The lower triangle of a positive definite matrix, in its place,
//!
//! ```text
//! L_rc = (A_rc − Σ_{k<c} L_rk L_ck) / L_cc      L_cc = √(A_cc − Σ_{k<c} L_ck²)
//! ```
//!
//! with one over the diagonal entries in their place. Sums are those of [`dot`](super::dot), each in its order of
//! additions, whatever the number of rows that are summed side by side.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use super::{SimdTask, simd};

/// How many rows and columns of a matrix are factored together: so many rows of a few hundred numbers fit
/// into the second cache.
pub(super) const TILE: usize = 24;

/// Rows that are summed side by side: their additions need not wait for one another.
const ROWS_TOGETHER: usize = 4;

/// Factors a symmetric matrix, of which the lower triangle is read; false if it is not positive definite.
pub(super) fn factor(matrix: &mut [f64], size: usize) -> bool {
    let mut is_definite = true;
    let task = Factor { matrix, size, is_definite: &mut is_definite };
    // Vectors are of no use to the smallest ones, of which there are many.
    if size > TILE {
        simd::dispatch(task);
    } else {
        task.run();
    }
    is_definite
}

struct Factor<'a> {
    matrix: &'a mut [f64],
    size: usize,
    is_definite: &'a mut bool,
}

impl SimdTask for Factor<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { matrix, size, is_definite } = self;
        // Tile by tile, because the rows of a large triangle do not fit into the cache at once.
        for first_row in (0..size).step_by(TILE) {
            let end = size.min(first_row + TILE);
            for first_column in (0..end).step_by(TILE) {
                for column in first_column..end.min(first_column + TILE) {
                    let mut row = first_row.max(column);
                    if row == column {
                        let [value] = rests(matrix, size, [row], column);
                        if !(value > 0.0 && value.is_finite()) {
                            *is_definite = false;
                            return;
                        }
                        // One over it, because all rows below multiply by it, and a division takes longer.
                        matrix[row * size + column] = 1.0 / value.sqrt();
                        row += 1;
                    }
                    let pivot = matrix[column * size + column];
                    while row + ROWS_TOGETHER <= end {
                        let rows = std::array::from_fn::<_, ROWS_TOGETHER, _>(|k| row + k);
                        let values = rests(matrix, size, rows, column);
                        for (row, value) in rows.into_iter().zip(values) {
                            matrix[row * size + column] = value * pivot;
                        }
                        row += ROWS_TOGETHER;
                    }
                    for row in row..end {
                        let [value] = rests(matrix, size, [row], column);
                        matrix[row * size + column] = value * pivot;
                    }
                }
            }
        }
    }
}

/// What is left of the entries of some rows in a column, given all entries to its left.
#[inline(always)]
fn rests<const ROWS: usize>(
    matrix: &[f64],
    size: usize,
    rows: [usize; ROWS],
    column: usize,
) -> [f64; ROWS] {
    let (pivots, last_pivots) = matrix[column * size..][..column].as_chunks::<4>();
    let own = rows.map(|row| matrix[row * size..][..column].as_chunks::<4>());
    let own_fours = own.map(|(fours, _)| &fours[..pivots.len()]);
    let mut sums = [[0.0; 4]; ROWS];
    for (place, pivot) in pivots.iter().enumerate() {
        for (sums, own) in sums.iter_mut().zip(own_fours) {
            for k in 0..4 {
                sums[k] += own[place][k] * pivot[k];
            }
        }
    }
    std::array::from_fn(|k| {
        let sums = sums[k];
        let rest: f64 = own[k].1.iter().zip(last_pivots).map(|(x, y)| x * y).sum();
        matrix[rows[k] * size + column] - ((sums[0] + sums[1]) + (sums[2] + sums[3]) + rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::dot,
        random::{Purpose, Stream},
    };

    #[test]
    fn rows_side_by_side_have_the_bits_of_single_entries() {
        for size in [1, 5, TILE, TILE + 1, 3 * TILE + 7] {
            let mut stream = Stream::new(2, size, 0, Purpose::Data);
            let rows: Vec<f64> = (0..size * size).map(|_| stream.normal()).collect();
            let row = |row: usize| &rows[row * size..][..size];
            let mut matrix: Vec<f64> =
                (0..size * size).map(|at| dot(row(at / size), row(at % size))).collect();
            (0..size).for_each(|k| matrix[k * size + k] += 1.0);
            let mut plain = matrix.clone();
            for column in 0..size {
                for row in column..size {
                    let (own, pivot) = (&plain[row * size..], &plain[column * size..]);
                    let value = own[column] - dot(&own[..column], &pivot[..column]);
                    let is_diagonal = row == column;
                    let entry =
                        if is_diagonal { 1.0 / value.sqrt() } else { value * pivot[column] };
                    plain[row * size + column] = entry;
                }
            }
            assert!(factor(&mut matrix, size));
            assert_eq!(matrix, plain, "size {size}");
            (0..size).for_each(|k| matrix[k * size + k] = -1.0);
            assert!(!factor(&mut matrix, size));
        }
    }
}
