//! Small dense matrices, row by row in a slice: products, Cholesky, singular values.
//!
//! A node's matrices have a handful of columns, where plain loops beat a library's call.

mod batch;
mod block_sparse;
mod inner_products;
pub(crate) mod simd;
mod small;

use std::{cmp::Ordering, ops::Range};

pub use batch::{Batch, Factors, triangle};
pub use block_sparse::{BlockCholesky, Pattern, SelectedInverse};
pub(crate) use inner_products::{Panel, inner_products};
pub(crate) use simd::SimdTask;
pub(crate) use small::row_dot;
pub use small::{
    add_outers, add_symmetric_product, add_weighted_differences, add_weighted_rows,
    add_weighted_rows_each,
};

/// The inner product of two vectors.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four partial sums, so that additions need not wait for one another.
    let size = a.len().min(b.len());
    let (mut a, mut b) = (a[..size].chunks_exact(4), b[..size].chunks_exact(4));
    let mut sums = [0.0; 4];
    for (x, y) in a.by_ref().zip(b.by_ref()) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The squared Euclidean distance of two vectors.
#[must_use]
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    // Four partial sums, so that additions need not wait for one another.
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, y) in a.iter().zip(b) {
        for k in 0..4 {
            sums[k] += (x[k] - y[k]) * (x[k] - y[k]);
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(x, y)| (x - y) * (x - y)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The Euclidean norm.
#[must_use]
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `y ← y + factor · x`
pub fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// `y ← factor · y`
pub fn scale(y: &mut [f64], factor: f64) {
    for value in y {
        *value *= factor;
    }
}

/// `matrix ← matrix + factor · x xᵀ`
pub fn add_outer(matrix: &mut [f64], factor: f64, x: &[f64]) {
    for (row, a) in matrix.chunks_exact_mut(x.len()).zip(x) {
        add_scaled(row, factor * a, x);
    }
}

/// How many rows and columns of a matrix are factored together: so many rows of a few hundred numbers fit
/// into the second cache.
const TILE: usize = 24;

/// The lower triangle `L` of a positive definite matrix `A = L Lᵀ`.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    /// The triangle row by row, with one over its diagonal entries in their place.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix, or returns none if it is not positive definite.
    #[must_use]
    pub fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        // Tile by tile, because the rows of a large triangle do not fit into the cache at once. What columns left of a
        // tile take from it is one product of two panels.
        let tile = |first: usize| first..size.min(first + TILE);
        // Most matrices are one tile, from which nothing is taken: clearing a buffer would take longer than their factors.
        let mut taken = vec![0.0; if size > TILE { TILE * TILE } else { 0 }];
        for rows in (0..size).step_by(TILE).map(tile) {
            for columns in (0..rows.end).step_by(TILE).map(tile) {
                let (first, count) = (columns.start, columns.len());
                if first > 0 {
                    let panel = |tile: &Range<usize>| Panel {
                        numbers: &matrix[tile.start * size..],
                        stride: size,
                        rows: tile.len(),
                    };
                    let taken = &mut taken[..rows.len() * count];
                    inner_products(panel(&rows), panel(&columns), first, taken);
                    for (row, taken) in rows.clone().zip(taken.chunks_exact(count)) {
                        add_scaled(&mut matrix[row * size + first..][..count], -1.0, taken);
                    }
                }
                for column in columns {
                    for row in rows.start.max(column)..rows.end {
                        matrix[row * size + column] = entry(&matrix, size, row, column, first)?;
                    }
                }
            }
        }
        Some(Self { size, lower: matrix })
    }

    /// The logarithm of the determinant of `A`.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        // The triangle holds one over its diagonal entries, whose squares make up the determinant.
        (0..self.size).map(|k| -2.0 * self.lower[k * self.size + k].ln()).sum()
    }

    /// The triangle `L`, row by row, with zeros above its diagonal.
    #[must_use]
    pub fn lower(&self) -> Vec<f64> {
        let n = self.size;
        let entry = |row: usize, column: usize| match row.cmp(&column) {
            Ordering::Less => 0.0,
            Ordering::Equal => 1.0 / self.lower[row * n + row],
            Ordering::Greater => self.lower[row * n + column],
        };
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    /// The inverse `L⁻¹` of the triangle, row by row, with zeros above its diagonal.
    #[must_use]
    pub fn inverse_lower(&self) -> Vec<f64> {
        let n = self.size;
        let mut inverse = vec![0.0; n * n];
        for row in 0..n {
            let pivot = self.lower[row * n + row];
            let (known, own) = inverse.split_at_mut(row * n);
            for (k, known) in known.chunks_exact(n).enumerate() {
                add_scaled(&mut own[..=k], -pivot * self.lower[row * n + k], &known[..=k]);
            }
            own[row] = pivot;
        }
        inverse
    }

    /// Replaces `b` by the solution of `A x = b`.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for row in 0..n {
            let known = dot(&self.lower[row * n..row * n + row], &b[..row]);
            b[row] = (b[row] - known) * self.lower[row * n + row];
        }
        self.solve_upper(b);
    }

    /// Replaces `b` by the solution of `Lᵀx = b`.
    pub fn solve_upper(&self, b: &mut [f64]) {
        let n = self.size;
        // By the rows of L, which lie in memory as they are read; those of Lᵀ would jump.
        for row in (0..n).rev() {
            b[row] *= self.lower[row * n + row];
            let x = b[row];
            add_scaled(&mut b[..row], -x, &self.lower[row * n..row * n + row]);
        }
    }

    /// Replaces rows of so many numbers, one below the other, by the solution of `L X = B`.
    pub fn solve_lower(&self, b: &mut [f64], columns: usize) {
        let n = self.size;
        for row in 0..n {
            let (known, own) = b.split_at_mut(row * columns);
            let own = &mut own[..columns];
            for (entry, known) in self.lower[row * n..].iter().zip(known.chunks_exact(columns)) {
                add_scaled(own, -entry, known);
            }
            let pivot = self.lower[row * n + row];
            for value in own {
                *value *= pivot;
            }
        }
    }
}

/// An entry of the triangle, given all entries to its left and those of the row `column`, of which those before `first`
/// are taken already; none if the matrix is not positive definite.
fn entry(matrix: &[f64], size: usize, row: usize, column: usize, first: usize) -> Option<f64> {
    let (own, pivot) = (&matrix[row * size..], &matrix[column * size..]);
    let value = own[column] - dot(&own[first..column], &pivot[first..column]);
    if row > column {
        Some(value * pivot[column])
    } else {
        // One over it, because all rows below multiply by it, and a division takes longer.
        (value > 0.0 && value.is_finite()).then(|| 1.0 / value.sqrt())
    }
}

/// Sweeps over all pairs of columns at most.
const MAX_JACOBI_SWEEPS: usize = 60;

/// The thin singular value decomposition of `m × n` rows: `A = Σ_k s_k u_k v_kᵀ`.
#[derive(Debug, Clone)]
pub struct Singular {
    /// Singular values, in no order.
    pub values: Vec<f64>,
    /// `s_k u_k`, each of length m.
    pub scaled_left: Vec<Vec<f64>>,
    /// `v_k`, each of length n.
    pub right: Vec<Vec<f64>>,
}

impl Singular {
    /// Rotates pairs of columns until all are orthogonal (one-sided Jacobi), which gives even
    /// tiny singular values to full relative accuracy.
    #[must_use]
    pub fn new(rows: &[f64], columns: usize) -> Self {
        let identity = (0..columns)
            .map(|column| (0..columns).map(|row| f64::from(u8::from(row == column))).collect())
            .collect();
        Self::rotated(rows, columns, identity)
    }

    /// The singular values alone, in half of the time.
    #[must_use]
    pub fn values(rows: &[f64], columns: usize) -> Vec<f64> {
        Self::rotated(rows, columns, vec![Vec::new(); columns]).values
    }

    /// The same rotations for the columns of another matrix.
    fn rotated(rows: &[f64], columns: usize, mut right: Vec<Vec<f64>>) -> Self {
        let m = rows.len().checked_div(columns).unwrap_or(0);
        let mut left: Vec<Vec<f64>> = (0..columns)
            .map(|column| (0..m).map(|row| rows[row * columns + column]).collect())
            .collect();
        // A dozen sweeps are usual; rounding may keep nearly equal columns turning for ever.
        for _ in 0..MAX_JACOBI_SWEEPS {
            let mut rotated = false;
            // Anew in every sweep, because what rotations make of them is rounded: the last sweep rotates nothing.
            let mut squares: Vec<f64> = left.iter().map(|column| dot(column, column)).collect();
            for p in 0..columns {
                for q in p + 1..columns {
                    let inner = dot(&left[p], &left[q]);
                    if let Some((cos, sin)) = rotation(squares[p], squares[q], inner) {
                        rotate(&mut left, p, q, cos, sin);
                        rotate(&mut right, p, q, cos, sin);
                        let moved = sin / cos * inner;
                        squares[p] = (squares[p] - moved).max(0.0);
                        squares[q] = (squares[q] + moved).max(0.0);
                        rotated = true;
                    }
                }
            }
            if !rotated {
                break;
            }
        }
        Self { values: left.iter().map(|column| norm(column)).collect(), scaled_left: left, right }
    }

    /// The same with at most m terms, all of positive value, at the cost of the smaller side.
    #[must_use]
    pub fn thin(rows: &[f64], columns: usize) -> Self {
        let m = rows.len().checked_div(columns).unwrap_or(0);
        // Rotations cost the square of the columns, so the shorter side is rotated.
        let mut svd = if m < columns {
            let transposed: Vec<f64> = (0..columns)
                .flat_map(|column| (0..m).map(move |row| rows[row * columns + column]))
                .collect();
            let Self { values, scaled_left, right } = Self::new(&transposed, m);
            let mut swapped = Self { values, scaled_left: right, right: scaled_left };
            for (k, s) in swapped.values.iter().enumerate().filter(|(_, s)| **s > 0.0) {
                scale(&mut swapped.scaled_left[k], *s);
                scale(&mut swapped.right[k], 1.0 / s);
            }
            swapped
        } else {
            Self::new(rows, columns)
        };
        svd.keep_positive();
        svd
    }

    fn keep_positive(&mut self) {
        for k in (0..self.values.len()).rev() {
            if self.values[k] <= 0.0 {
                self.values.remove(k);
                self.scaled_left.remove(k);
                self.right.remove(k);
            }
        }
    }
}

/// The rotation that makes two columns of these squares and inner product orthogonal, or none if they are.
fn rotation(aa: f64, bb: f64, ab: f64) -> Option<(f64, f64)> {
    // About the rounding of an inner product: less cannot be told from zero.
    if ab.abs() <= 1e-15 * (aa * bb).sqrt() || ab == 0.0 {
        return None;
    }
    let zeta = (bb - aa) / (2.0 * ab);
    // The smaller of two angles, for which rotations converge.
    let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
    Some((cos, cos * tangent))
}

fn rotate(columns: &mut [Vec<f64>], p: usize, q: usize, cos: f64, sin: f64) {
    let (head, tail) = columns.split_at_mut(q);
    for (a, b) in head[p].iter_mut().zip(&mut tail[0]) {
        (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
    }
}

/// The reflections of `A = Q R` (Householder): they apply `Qᵀ` to any number of vectors.
#[derive(Debug, Clone)]
pub struct Reflections {
    columns: usize,
    /// The first row that a reflection touches, its factor and its vector.
    each: Vec<(usize, f64, Vec<f64>)>,
}

impl Reflections {
    /// Replaces `m × n` rows, m ≥ n, by the n × n upper triangle `R`.
    pub fn triangularising(rows: &mut Vec<f64>, columns: usize) -> Self {
        let n = columns;
        let m = rows.len().checked_div(n).unwrap_or(0);
        let mut each = Vec::new();
        // The last row alone is a triangle already.
        for k in 0..n.min(m.saturating_sub(1)) {
            let square = (k..m).map(|row| rows[row * n + k].powi(2)).sum::<f64>();
            // Of columns that are multiples of each other every reflection leaves 1e-16 times as much, until squares have
            // no digits any more: that is nothing.
            if square < f64::MIN_POSITIVE {
                (k..m).for_each(|row| rows[row * n + k] = 0.0);
                continue;
            }
            let length = square.sqrt();
            let pivot = rows[k * n + k];
            // The sign that does not cancel.
            let diagonal = if pivot > 0.0 { -length } else { length };
            let mut v: Vec<f64> = (k..m).map(|row| rows[row * n + k]).collect();
            v[0] -= diagonal;
            // Not zero: with that sign v is at least as long as the column.
            let scale = 2.0 / dot(&v, &v);
            let mut product = vec![0.0; n];
            for (row, v) in (k..m).zip(&v) {
                add_scaled(&mut product, *v, &rows[row * n..(row + 1) * n]);
            }
            for (row, v) in (k..m).zip(&v) {
                add_scaled(&mut rows[row * n..(row + 1) * n], -scale * v, &product);
            }
            for row in k + 1..m {
                rows[row * n + k] = 0.0;
            }
            each.push((k, scale, v));
        }
        rows.truncate(n.min(m) * n);
        Self { columns, each }
    }

    /// Replaces `b` by the first n entries of `Qᵀ b`.
    pub fn apply(&self, b: &mut Vec<f64>) {
        for (first, scale, v) in &self.each {
            let product = dot(v, &b[*first..]);
            for (b, v) in b[*first..].iter_mut().zip(v) {
                *b -= scale * v * product;
            }
        }
        b.truncate(self.columns);
    }
}

/// Replaces `m × n` rows, m ≥ n, by the n × n upper triangle `R` of `A = Q R` and applies `Qᵀ` to
/// `b`: least-squares problems keep their solutions and become small.
pub fn triangularise(rows: &mut Vec<f64>, columns: usize, b: &mut Vec<f64>) {
    Reflections::triangularising(rows, columns).apply(b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        (0..count).map(|_| stream.normal()).collect()
    }

    #[test]
    fn cholesky_solves_and_refuses_what_is_not_positive_definite() {
        for n in [1, 7, TILE, 2 * TILE + 5] {
            check_cholesky(n);
        }
    }

    fn check_cholesky(n: usize) {
        let mut matrix = vec![0.0; n * n];
        random(n * 3 * n.max(5), 1).chunks_exact(n).for_each(|x| add_outer(&mut matrix, 1.0, x));
        let truth = random(n, 2);
        let mut b = vec![0.0; n];
        add_symmetric_product(&mut b, 1.0, &matrix, &truth);
        Cholesky::new(matrix.clone(), n).unwrap().solve(&mut b);
        assert!(b.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-12));
        matrix[n * n - 1] = -1.0;
        assert!(Cholesky::new(matrix, n).is_none());
    }

    #[test]
    fn singular_vectors_give_the_matrix_back_after_triangularising_too() {
        let (m, n) = (9, 4);
        let rows = random(m * n, 3);
        let mut small = rows.clone();
        triangularise(&mut small, n, &mut random(m, 4));
        let gram = |rows: &[f64]| {
            let mut gram = vec![0.0; n * n];
            rows.chunks_exact(n).for_each(|x| add_outer(&mut gram, 1.0, x));
            gram
        };
        let svd = Singular::new(&small, n);
        let mut rebuilt = vec![0.0; n * n];
        for (s, v) in svd.values.iter().zip(&svd.right) {
            add_outer(&mut rebuilt, s * s, v);
        }
        for (a, b) in gram(&rows).iter().zip(&rebuilt) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn many_columns_that_are_multiples_of_each_other_have_a_triangle() {
        let (m, n) = (60, 40);
        let varying = random(m, 6);
        let rows: Vec<f64> = (0..m * n)
            .map(|at| if at % n == n - 1 { varying[at / n] } else { 0.3 + (at % n) as f64 / 7.0 })
            .collect();
        let mut small = rows.clone();
        // Twice, as rows of a node are that are a triangle already.
        for _ in 0..2 {
            let mut sides = vec![0.0; small.len() / n];
            triangularise(&mut small, n, &mut sides);
        }
        let product = |rows: &[f64], a: usize, b: usize| -> f64 {
            rows.chunks_exact(n).map(|row| row[a] * row[b]).sum()
        };
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let (found, expected) = (product(&small, a, b), product(&rows, a, b));
            assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{a} {b}: {found}");
        }
    }

    #[test]
    fn a_thin_decomposition_gives_wide_and_tall_rows_back() {
        for (m, n) in [(3, 8), (8, 3), (1, 1), (0, 4)] {
            let mut rows = random(m * n, 5);
            // A row of zeros takes a term away.
            rows.iter_mut().take(n).for_each(|x| *x *= if m == 3 { 0.0 } else { 1.0 });
            let svd = Singular::thin(&rows, n);
            assert!(svd.values.len() <= m.min(n) && svd.right.len() == svd.values.len());
            for (index, value) in rows.iter().enumerate() {
                let terms = svd.scaled_left.iter().zip(&svd.right);
                let rebuilt: f64 = terms.map(|(u, v)| u[index / n] * v[index % n]).sum();
                assert!((rebuilt - value).abs() < 1e-13);
            }
        }
    }
}
