//! The eigenvalues of a small symmetric matrix, `A = Σ_k a_k v_k v_kᵀ`, by Jacobi's rotations, and
//! functions of matrices made of them.

use crate::algebra::add_outer;

/// How often all pairs are rotated at most; a dozen is enough for any matrix.
const MOST_SWEEPS: usize = 60;

/// A symmetric matrix by its eigenvalues.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
    /// The eigenvalues, in no order.
    pub(super) values: Vec<f64>,
    /// The eigenvectors, of length one.
    vectors: Vec<Vec<f64>>,
}

impl Spectrum {
    /// Rotates rows and columns until nothing is left beside the diagonal.
    pub(super) fn new(mut matrix: Vec<f64>, size: usize) -> Self {
        let mut vectors: Vec<Vec<f64>> = (0..size)
            .map(|row| (0..size).map(|k| f64::from(u8::from(k == row))).collect())
            .collect();
        for _ in 0..MOST_SWEEPS {
            let mut has_rotated = false;
            for p in 0..size {
                for q in p + 1..size {
                    has_rotated |= rotate(&mut matrix, &mut vectors, (p, q));
                }
            }
            if !has_rotated {
                break;
            }
        }
        let values = (0..size).map(|k| matrix[k * size + k]).collect();
        Self { values, vectors }
    }

    /// The matrix of the same eigenvectors whose eigenvalues are functions of these.
    pub(super) fn map(&self, function: impl Fn(f64) -> f64) -> Vec<f64> {
        let size = self.values.len();
        let mut matrix = vec![0.0; size * size];
        for (value, vector) in self.values.iter().zip(&self.vectors) {
            add_outer(&mut matrix, function(*value), vector);
        }
        matrix
    }
}

/// Removes the entry (p, q) by a rotation; false if it is nothing already.
fn rotate(matrix: &mut [f64], vectors: &mut [Vec<f64>], (p, q): (usize, usize)) -> bool {
    let size = vectors.len();
    let at = |row: usize, column: usize| row * size + column;
    let (entry, app, aqq) = (matrix[at(p, q)], matrix[at(p, p)], matrix[at(q, q)]);
    if entry.abs() <= 1e-17 * (app.abs() + aqq.abs()) || entry == 0.0 {
        return false;
    }
    let zeta = (aqq - app) / (2.0 * entry);
    // The smaller of two angles: with the larger one sweeps need not converge.
    let tangent = 1.0_f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
    let cos = 1.0 / tangent.hypot(1.0);
    let sin = cos * tangent;
    for k in 0..size {
        let (a, b) = (matrix[at(k, p)], matrix[at(k, q)]);
        (matrix[at(k, p)], matrix[at(k, q)]) = (cos * a - sin * b, sin * a + cos * b);
    }
    for k in 0..size {
        let (a, b) = (matrix[at(p, k)], matrix[at(q, k)]);
        (matrix[at(p, k)], matrix[at(q, k)]) = (cos * a - sin * b, sin * a + cos * b);
    }
    // Zero by construction; what rounding leaves would keep the sweeps going.
    (matrix[at(p, q)], matrix[at(q, p)]) = (0.0, 0.0);
    let (head, tail) = vectors.split_at_mut(q);
    for (a, b) in head[p].iter_mut().zip(&mut tail[0]) {
        (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn eigenvalues_of_both_signs_give_the_matrix_and_its_square_back() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        for size in 1..9 {
            let half: Vec<f64> = (0..size * size).map(|_| stream.normal()).collect();
            let entry = |k: usize| half[k] + half[k % size * size + k / size];
            let matrix: Vec<f64> = (0..size * size).map(entry).collect();
            let spectrum = Spectrum::new(matrix.clone(), size);
            let square = spectrum.map(|value| value * value);
            for (k, value) in spectrum.map(|value| value).iter().enumerate() {
                assert!((value - matrix[k]).abs() < 1e-13 * size as f64);
                let (row, column) = (k / size, k % size);
                let terms = (0..size).map(|j| matrix[row * size + j] * matrix[j * size + column]);
                assert!((square[k] - terms.sum::<f64>()).abs() < 1e-12 * size as f64);
            }
        }
    }
}
