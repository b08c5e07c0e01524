//! A dense part of a symmetric system, of which the first unknowns are eliminated,
//!
//! ```text
//! F = ⎡E  G⎤     K = E⁻¹G,   F/E = R − GᵀK,   log|F| = log|E| + log|F/E|
//!     ⎣Gᵀ R⎦     x_E = −K x_R   where F x = 0 in the first rows
//!                P_EE = E⁻¹ + K P_RR Kᵀ,   P_ER = −K P_RR
//! ```
//!
//! so that a tree of such parts solves a system and gives those entries of its inverse that belong to the parts
//! [Takahashi 1973; Duff and Reid 1983]. Unknowns at the end that are never eliminated, such as mean coefficients
//! and the right side, take part as all others do.

use crate::algebra::{Cholesky, add_scaled, dot};

/// A part before anything is eliminated.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    pivots: usize,
    size: usize,
    /// F, all of it.
    matrix: Vec<f64>,
}

/// A part after its first unknowns were eliminated.
#[derive(Debug)]
pub(crate) struct Eliminated {
    pivots: usize,
    rest: usize,
    /// E⁻¹.
    inverse: Vec<f64>,
    /// K.
    gain: Vec<f64>,
    /// F/E.
    pub(crate) left: Vec<f64>,
    /// log|E|.
    pub(crate) log_determinant: f64,
}

impl Front {
    /// Zeros, of so many unknowns with so many to be eliminated.
    pub(crate) fn new(pivots: usize, size: usize) -> Self {
        Self { pivots, size, matrix: vec![0.0; size * size] }
    }

    /// Adds to an entry and to the one across the diagonal.
    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.matrix[row * self.size + column] += value;
        if row != column {
            self.matrix[column * self.size + row] += value;
        }
    }

    /// Adds a symmetric matrix whose unknowns are at these places.
    pub(crate) fn add_at(&mut self, places: &[usize], matrix: &[f64]) {
        for (&row, from) in places.iter().zip(matrix.chunks_exact(places.len().max(1))) {
            for (&column, value) in places.iter().zip(from) {
                self.matrix[row * self.size + column] += value;
            }
        }
    }

    /// Eliminates; none if that is singular in rounding.
    pub(crate) fn eliminated(&self) -> Option<Eliminated> {
        let (e, size) = (self.pivots, self.size);
        let rest = size - e;
        let part = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| -> Vec<f64> {
            rows.flat_map(|row| {
                self.matrix[row * size + columns.start..row * size + columns.end].to_vec()
            })
            .collect()
        };
        let mut left = part(e..size, e..size);
        let across = part(e..size, 0..e);
        let factor = Cholesky::new(part(0..e, 0..e), e)?;
        let (mut inverse, mut gain) = (vec![0.0; e * e], vec![0.0; e * rest]);
        for (k, row) in inverse.chunks_exact_mut(e.max(1)).enumerate() {
            row[k] = 1.0;
            factor.solve(row);
        }
        // Once for all right sides, because the factor is used again below.
        let mut solved = across.clone();
        for (column, solved) in solved.chunks_exact_mut(e.max(1)).enumerate() {
            factor.solve(solved);
            solved.iter().enumerate().for_each(|(k, x)| gain[k * rest + column] = *x);
        }
        for (row, left) in left.chunks_exact_mut(rest.max(1)).enumerate() {
            for (k, entry) in across[row * e..(row + 1) * e].iter().enumerate() {
                add_scaled(left, -entry, &gain[k * rest..(k + 1) * rest]);
            }
        }
        let log_determinant = factor.log_determinant();
        // Rounding makes a singular part one of tiny pivots, whose inverse overflows.
        let is_finite = log_determinant.is_finite() && left.iter().all(|entry| entry.is_finite());
        is_finite.then_some(Eliminated { pivots: e, rest, inverse, gain, left, log_determinant })
    }
}

impl Eliminated {
    /// `x` of all unknowns from those that are left.
    pub(crate) fn solution(&self, rest: &[f64]) -> Vec<f64> {
        let gain = self.gain.chunks_exact(self.rest.max(1)).take(self.pivots);
        let mut all: Vec<f64> = gain.map(|row| -dot(row, rest)).collect();
        // If nothing is left, K has no entries, and x is zero.
        all.resize(self.pivots, 0.0);
        all.extend(rest);
        all
    }

    /// P of all unknowns from that of those that are left.
    pub(crate) fn inverse(&self, rest: &[f64]) -> Vec<f64> {
        let (e, r) = (self.pivots, self.rest);
        let size = e + r;
        let mut all = vec![0.0; size * size];
        for (row, from) in rest.chunks_exact(r.max(1)).enumerate() {
            all[(e + row) * size + e..(e + row + 1) * size].copy_from_slice(from);
        }
        for row in 0..e {
            let gain = &self.gain[row * r..(row + 1) * r];
            for (k, entry) in gain.iter().enumerate() {
                let from = &rest[k * r..(k + 1) * r];
                add_scaled(&mut all[row * size + e..(row + 1) * size], -entry, from);
            }
            (e..size).for_each(|column| all[column * size + row] = all[row * size + column]);
        }
        for row in 0..e {
            let across = all[row * size + e..(row + 1) * size].to_vec();
            for column in 0..e {
                let gain = &self.gain[column * r..(column + 1) * r];
                all[row * size + column] = self.inverse[row * e + column] - dot(&across, gain);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::add_outer;

    #[test]
    fn two_parts_solve_and_invert_what_one_does() {
        let size = 5;
        let mut whole = vec![0.0; size * size];
        for k in 0..7 {
            let row: Vec<f64> =
                (0..size).map(|j| ((3 * k + 5 * j + k * j * j) as f64).sin()).collect();
            add_outer(&mut whole, 1.0, &row);
        }
        let one = || {
            let mut front = Front::new(2, size);
            front.add_at(&[0, 1, 2, 3, 4], &whole);
            front.eliminated().unwrap()
        };
        let first = one();
        // The last unknown is the right side.
        let mut front = Front::new(2, 3);
        front.add_at(&[0, 1, 2], &first.left);
        let second = front.eliminated().unwrap();
        let solution = first.solution(&second.solution(&[-1.0]));
        for row in whole.chunks_exact(size).take(4) {
            assert!(dot(row, &solution).abs() < 1e-12);
        }
        let inverse = first.inverse(&second.inverse(&[0.0]));
        for row in 0..4 {
            for column in 0..4 {
                let product: f64 =
                    (0..4).map(|k| whole[row * size + k] * inverse[k * size + column]).sum();
                assert!((product - f64::from(u8::from(row == column))).abs() < 1e-11);
            }
        }
        let four: Vec<f64> =
            whole.chunks_exact(size).take(4).flat_map(|row| row[..4].to_vec()).collect();
        let expected = Cholesky::new(four, 4).unwrap().log_determinant();
        assert!((first.log_determinant + second.log_determinant - expected).abs() < 1e-12);
    }
}
