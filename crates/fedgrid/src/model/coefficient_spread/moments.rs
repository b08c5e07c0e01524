//! Nodes with at least as many rows as coefficients, by what is summed over their rows.

use super::{Spread, Sums, whole};
use crate::{
    algebra::{Cholesky, add_outers, add_scaled, dot, triangle},
    data::Dataset,
};

/// `XᵀX`, `Xᵀy` and `yᵀy` of a node, each row counting for as many as it stands for.
pub(super) struct Moments {
    gram: Vec<f64>,
    cross: Vec<f64>,
    square: f64,
}

/// What deviations leave of a node.
pub(super) struct MomentsLeft {
    /// U = L⁻¹S, where S = diag(√τ) and `I + S XᵀX S/σ² = L Lᵀ`; `UᵀU` is the covariance of deviations.
    root: Vec<f64>,
    /// `tr(U XᵀX Uᵀ)`.
    trace: f64,
}

impl Moments {
    pub(super) fn of(data: &Dataset, output: usize, intercept: bool) -> Self {
        let size = data.features().columns() + usize::from(intercept);
        let (mut gram, mut cross) = (vec![0.0; triangle(size)], vec![0.0; size]);
        let (mut square, mut rows) = (0.0, Vec::with_capacity(size * data.rows()));
        let mut counts = Vec::with_capacity(data.rows());
        for (row, x) in data.features().iter().enumerate() {
            let (y, count) = (data.labels().row(row)[output], data.count(row));
            rows.extend(intercept.then_some(1.0).iter().chain(x));
            add_scaled(&mut cross, count * y, &rows[row * size..]);
            square += count * (y * y);
            counts.push(count);
        }
        add_outers(&mut gram, &counts, &rows, size);
        Self { gram: whole(&gram, size), cross, square }
    }

    pub(super) fn add_to(&self, sums: &mut Sums) {
        add_triangle(&mut sums.gram, &self.gram, self.cross.len());
        add_scaled(&mut sums.cross, 1.0, &self.cross);
        sums.square += self.square;
    }

    /// What deviations leave, which is added to the sums; `roots` are √τ.
    pub(super) fn left(
        &self,
        Spread { noise, .. }: &Spread,
        roots: &[f64],
        sums: &mut Sums,
    ) -> Option<MomentsLeft> {
        let size = roots.len();
        let mut matrix = self.gram.clone();
        for (k, row) in matrix.chunks_exact_mut(size).enumerate() {
            let factor = roots[k] / noise;
            row.iter_mut().zip(roots).for_each(|(entry, root)| *entry *= factor * root);
            row[k] += 1.0;
        }
        let mut root = Cholesky::new(matrix, size)?.inverse_lower();
        for row in root.chunks_exact_mut(size) {
            row.iter_mut().zip(roots).for_each(|(entry, root)| *entry *= root);
        }
        let mut along = vec![0.0; size * size];
        let mut trace = 0.0;
        for (k, row) in along.chunks_exact_mut(size).enumerate() {
            let own = &root[k * size..=k * size + k];
            for (x, gram) in own.iter().zip(self.gram.chunks_exact(size)) {
                add_scaled(row, *x, gram);
            }
            trace += dot(own, &row[..=k]);
            add_scaled(&mut sums.cross, -dot(own, &self.cross[..=k]) / noise, row);
        }
        add_triangle(&mut sums.gram, &self.gram, size);
        add_outers(&mut sums.gram, &vec![-1.0 / noise; size], &along, size);
        add_scaled(&mut sums.cross, 1.0, &self.cross);
        Some(MomentsLeft { root, trace })
    }
}

impl MomentsLeft {
    /// Adds the expected squares of deviations, given β, and says what these leave of the squares of labels.
    pub(super) fn squares(
        &self,
        (node, noise): (&Moments, f64),
        mean: &[f64],
        squares: &mut [f64],
    ) -> f64 {
        let size = mean.len();
        let gram = || node.gram.chunks_exact(size);
        let rest: Vec<f64> =
            gram().zip(&node.cross).map(|(row, cross)| cross - dot(row, mean)).collect();
        let mut deviation = vec![0.0; size];
        for (k, row) in self.root.chunks_exact(size).enumerate() {
            let row = &row[..=k];
            add_scaled(&mut deviation[..=k], dot(row, &rest[..=k]) / noise, row);
            squares.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
        }
        let weights: Vec<f64> = mean.iter().zip(&deviation).map(|(mean, b)| mean + b).collect();
        let explained: f64 = gram().zip(&weights).map(|(row, x)| x * dot(row, &weights)).sum();
        squares.iter_mut().zip(&deviation).for_each(|(sum, b)| *sum += b * b);
        node.square - 2.0 * dot(&weights, &node.cross) + explained + self.trace
    }
}

/// Adds the lower triangle of a matrix.
fn add_triangle(sums: &mut [f64], matrix: &[f64], size: usize) {
    for (k, row) in matrix.chunks_exact(size).enumerate() {
        add_scaled(&mut sums[triangle(k)..=triangle(k) + k], 1.0, &row[..=k]);
    }
}
