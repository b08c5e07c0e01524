//! Nodes with fewer rows than coefficients, by matrices of the size of their rows,
//!
//! ```text
//! L Lᵀ = I + X diag(τ) Xᵀ/σ²,    W = L⁻¹X,    u = L⁻¹y,    v = u − W β,    V = σ² L Lᵀ
//! σ² XᵀV⁻¹X = WᵀW,    σ² XᵀV⁻¹y = Wᵀu
//! deviations  τ_k (Wᵀv)_k/σ²,    their variances  τ_k − τ_k² Σ_r W_rk²/σ²,    residuals  L⁻ᵀv
//! ```
//!
//! which is what [`moments`](super::moments) say of the same rows.

use super::{Spread, Sums};
use crate::{
    algebra::{Cholesky, add_outers, add_scaled, dot},
    data::Dataset,
};

/// The rows of a node and its labels, each times the root of how many it stands for.
pub(super) struct FewRows {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// What deviations leave of a node.
pub(super) struct FewRowsLeft {
    /// L.
    factor: Cholesky,
    /// W.
    rows: FewRows,
}

impl FewRows {
    pub(super) fn of(data: &Dataset, output: usize, intercept: bool) -> Self {
        let mut x = Vec::with_capacity((data.features().columns() + 1) * data.rows());
        let mut y = Vec::with_capacity(data.rows());
        for (row, features) in data.features().iter().enumerate() {
            let root = data.count(row).sqrt();
            x.extend(intercept.then_some(root));
            x.extend(features.iter().map(|value| root * value));
            y.push(root * data.labels().row(row)[output]);
        }
        Self { x, y }
    }

    pub(super) fn add_to(&self, sums: &mut Sums) {
        let size = sums.cross.len();
        add_outers(&mut sums.gram, &vec![1.0; self.y.len()], &self.x, size);
        for (y, row) in self.y.iter().zip(self.x.chunks_exact(size)) {
            add_scaled(&mut sums.cross, *y, row);
            sums.square += y * y;
        }
    }

    /// What deviations leave, which is added to the sums.
    pub(super) fn left(&self, spread: &Spread, sums: &mut Sums) -> Option<FewRowsLeft> {
        let (size, count) = (spread.mean.len(), self.y.len());
        let mut matrix = vec![0.0; count * count];
        let mut scaled = vec![0.0; size];
        for (row, x) in self.x.chunks_exact(size).enumerate() {
            for ((own, x), variance) in scaled.iter_mut().zip(x).zip(&spread.variances) {
                *own = x * (variance / spread.noise);
            }
            // Only the lower triangle is factored.
            for (column, other) in self.x.chunks_exact(size).take(row + 1).enumerate() {
                matrix[row * count + column] = dot(&scaled, other);
            }
            matrix[row * count + row] += 1.0;
        }
        let factor = Cholesky::new(matrix, count)?;
        let mut rows = Self { x: self.x.clone(), y: self.y.clone() };
        factor.solve_lower(&mut rows.x, size);
        factor.solve_lower(&mut rows.y, 1);
        rows.add_to(sums);
        Some(FewRowsLeft { factor, rows })
    }
}

impl FewRowsLeft {
    /// Adds the expected squares of deviations, given β, and says what these leave of the squares of labels.
    pub(super) fn squares(self, spread: &Spread, mean: &[f64], squares: &mut [f64]) -> f64 {
        let (size, FewRows { x, y: mut rest }) = (mean.len(), self.rows);
        let (mut along, mut known) = (vec![0.0; size], vec![0.0; size]);
        for (rest, row) in rest.iter_mut().zip(x.chunks_exact(size)) {
            *rest -= dot(row, mean);
            add_scaled(&mut along, *rest, row);
            known.iter_mut().zip(row).for_each(|(known, x)| *known += x * x);
        }
        let mut trace = 0.0;
        for (k, (variance, square)) in spread.variances.iter().zip(squares).enumerate() {
            let share = variance / spread.noise;
            // Rounding may take a little more than there is.
            let unknown = (variance - variance * share * known[k]).max(0.0);
            *square += unknown + (share * along[k]).powi(2);
            trace += variance * known[k];
        }
        self.factor.solve_upper(&mut rest);
        dot(&rest, &rest) + trace
    }
}
