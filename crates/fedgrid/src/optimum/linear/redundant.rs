//! Directions of the weights that no row and no public point can tell: collinear columns, such as all
//! dummies of a category beside the intercept.
//!
//! ```text
//! S = mean of all Q_i and K_j,   Ŝ = D⁻¹ S D⁻¹ with D² = diag S,   Ŝ n = 0
//! ```
//!
//! Predictions do not depend on the part of D w along such n, and the system is singular there, up to
//! rounding of either sign, on which Krylov methods stall. Adding `D P D` to every diagonal block, where P
//! projects on all n, makes the system definite and leaves all predictions on rows and public points alone;
//! of all solutions it takes the one of least ‖D w‖, whatever the units of the columns.

use crate::algebra::{add_scaled, dot, norm, scale, triangle};

/// What rounding leaves of a sum over so many rows that should be zero, as a share of its terms.
fn rounding_share(rows: usize) -> f64 {
    4.0 * f64::EPSILON * (rows.max(25) as f64)
}

/// The columns of all rows.
pub(super) struct DesignColumns {
    /// How many rows there are.
    pub(super) rows: usize,
    /// Which columns do not vary.
    pub(super) constant: Vec<bool>,
}

/// The triangle of `D P D` for the triangle of S; none if no column is redundant. The last column comes
/// first, because where it is the intercept others are redundant beside it. Of what the first column
/// leaves of another (its variance, beside an intercept), those in between must leave more than rounding
/// does.
pub(super) fn unseen(moment: &[f64], columns: &DesignColumns) -> Option<Vec<f64>> {
    let (size, rounding) = (columns.constant.len(), rounding_share(columns.rows));
    let entry = |row: usize, column: usize| moment[triangle(row.max(column)) + row.min(column)];
    let scales: Vec<f64> = (0..size).map(|k| entry(k, k).sqrt()).collect();
    let scaled = |row: usize, column: usize| {
        let by = scales[row] * scales[column];
        if by > 0.0 { entry(row, column) / by } else { 0.0 }
    };
    // Cholesky by rows; rows of redundant columns are kept aside.
    let (mut pivots, mut lower) = (Vec::new(), Vec::<Vec<f64>>::new());
    let mut nulls = Vec::new();
    for column in (0..size).rev() {
        let mut row: Vec<f64> = Vec::with_capacity(pivots.len() + 1);
        for (index, &pivot) in pivots.iter().enumerate() {
            let known = dot(&row, &lower[index][..index]);
            row.push((scaled(column, pivot) - known) / lower[index][index]);
        }
        let left = scaled(column, column) - dot(&row, &row);
        let whole = scaled(column, column);
        // Far from zero a variance is small beside the second moment, and still no rounding.
        let beside_first = whole - row.first().map_or(0.0, |first| first * first);
        let scale = if columns.constant[column] { whole } else { beside_first };
        if left > rounding * scale {
            row.push(left.sqrt());
            pivots.push(column);
            lower.push(row);
        } else {
            nulls.push(null(column, &row, &pivots, &lower, size));
        }
    }
    if nulls.is_empty() {
        return None;
    }
    orthonormalise(&mut nulls);
    let mut projector = vec![0.0; triangle(size)];
    for null in &nulls {
        for row in 0..size {
            let entries = &mut projector[triangle(row)..=triangle(row) + row];
            let others = null[..=row].iter().zip(&scales).map(|(n, scale)| n * scale);
            let own = null[row] * scales[row];
            entries.iter_mut().zip(others).for_each(|(entry, other)| *entry += own * other);
        }
    }
    // A column of zeros has no scale of its own.
    for column in (0..size).filter(|&column| scales[column] == 0.0) {
        projector[triangle(column) + column] = 1.0;
    }
    Some(projector)
}

/// The vector n with which a redundant column is the sum of others: `x_k = Σ c_j x_j`, `n = e_k − c`.
fn null(column: usize, row: &[f64], pivots: &[usize], lower: &[Vec<f64>], size: usize) -> Vec<f64> {
    let mut shares = row.to_vec();
    for index in (0..shares.len()).rev() {
        shares[index] /= lower[index][index];
        let share = shares[index];
        add_scaled(&mut shares[..index], -share, &lower[index][..index]);
    }
    let mut null = vec![0.0; size];
    null[column] = 1.0;
    pivots.iter().zip(&shares).for_each(|(&pivot, share)| null[pivot] = -share);
    null
}

/// Makes independent vectors orthonormal, twice over, so that rounding leaves nothing behind.
fn orthonormalise(vectors: &mut [Vec<f64>]) {
    for index in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(index);
        for _ in 0..2 {
            for other in &*before {
                let share = dot(other, &rest[0]);
                add_scaled(&mut rest[0], -share, other);
            }
            let length = norm(&rest[0]);
            scale(&mut rest[0], 1.0 / length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: usize) -> DesignColumns {
        DesignColumns { rows, constant: vec![false, false, false, true] }
    }

    /// The triangle of the mean second moment of some rows.
    fn moment(rows: &[[f64; 4]]) -> Vec<f64> {
        let mut moment = vec![0.0; triangle(4)];
        for x in rows {
            for row in 0..4 {
                for column in 0..=row {
                    moment[triangle(row) + column] += x[row] * x[column] / rows.len() as f64;
                }
            }
        }
        moment
    }

    #[test]
    fn independent_columns_are_left_alone_also_far_from_zero() {
        let rows: Vec<[f64; 4]> = (0..9)
            .map(f64::from)
            .map(|k| [1e5 + k.sin(), 1e-9 * (k * k).cos(), 3e8 * (k + 1.0).sqrt(), 1.0])
            .collect();
        assert_eq!(unseen(&moment(&rows), &columns(1_000_000)), None);
    }

    #[test]
    fn what_no_row_can_tell_costs_something_and_what_rows_tell_costs_nothing() {
        // Two dummies that add up to the intercept, in other units, and a column of its own.
        let rows = [[7.0, 0.0, 0.3, 1.0], [0.0, 2.0, -0.1, 1.0], [0.0, 2.0, 0.7, 1.0]];
        let added = unseen(&moment(&rows), &columns(3)).unwrap();
        let cost = |w: [f64; 4]| -> f64 {
            (0..16)
                .map(|k| (k / 4, k % 4))
                .map(|(a, b)| w[a] * w[b] * added[triangle(a.max(b)) + a.min(b)])
                .sum()
        };
        // Along this direction all rows predict zero.
        assert!(cost([1.0 / 7.0, 0.5, 0.0, -1.0]) > 0.1);
        assert!(cost([0.0, 0.0, 5.0, 0.0]).abs() < 1e-12);
    }
}
