//! A node's part of Laplace's approximation, for rows that stay where they are,
//!
//! ```text
//! f_i = −2 log p(y_i | β + T u_i) + Ω_ii uᵢᵀuᵢ,   D_i = T A_i T + Ω_ii I,   g_i = Ω_ii u_i − T s_i      T a diagonal
//! ```
//!
//! to which edges add `−ρ/d̄ A_ij` times what belongs to the other end. The gradient is that of
//! [`LaplaceModel`](super::LaplaceModel).

use super::{
    NodeRows,
    family::NodeLikelihood,
    node_system::{Columns, OwnPrecision, Question, weights},
};
use crate::algebra::{add_scaled, dot};

/// The rows of a node at some variances, ρ and mean coefficients.
#[derive(Debug)]
pub(crate) struct NodeLaplace<'a> {
    pub(crate) rows: &'a NodeRows,
    pub(crate) columns: &'a Columns,
    pub(crate) own: OwnPrecision,
    pub(crate) question: &'a Question,
}

/// The log-likelihood of a node's rows with the mean coefficients alone: its value, score and curvature.
pub(crate) fn totals(rows: &NodeRows, columns: &Columns, mean: &[f64]) -> Vec<f64> {
    let mut own = vec![0.0; columns.count];
    columns.fixed.iter().zip(mean).for_each(|(&column, mean)| own[column] = *mean);
    let NodeLikelihood { value, score, curvature } = rows.likelihood(&own);
    [vec![value], score, curvature].concat()
}

impl NodeLaplace<'_> {
    fn weights(&self, u: &[f64]) -> Vec<f64> {
        weights(self.columns, self.question, &self.question.mean, u)
    }

    /// The diagonal of the node's block of Ω.
    fn omega(&self, k: usize) -> f64 {
        self.own.diagonal(if k < self.columns.coupled() { self.question.rho } else { 0.0 })
    }

    /// f, D and g at some deviations, without what edges add.
    pub(crate) fn at(&self, u: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let found = self.rows.likelihood(&self.weights(u));
        let (d, q) = (self.columns.count, self.columns.random.len());
        let mut diagonal = vec![0.0; q * q];
        let mut gradient = vec![0.0; q];
        let mut value = -2.0 * found.value;
        for (a, (&row, t)) in self.columns.random.iter().zip(&self.question.factor).enumerate() {
            for (b, (&column, s)) in
                self.columns.random.iter().zip(&self.question.factor).enumerate()
            {
                diagonal[a * q + b] = t * found.curvature[row * d + column] * s;
            }
            diagonal[a * q + a] += self.omega(a);
            gradient[a] = self.omega(a) * u[a] - t * found.score[row];
            value += self.omega(a) * u[a] * u[a];
        }
        (value, diagonal, gradient)
    }

    /// t: the derivative of log|M| by the weights, with the node's block of M⁻¹.
    fn thirds(&self, u: &[f64], block: &[f64]) -> Vec<f64> {
        let (d, q) = (self.columns.count, self.columns.random.len());
        let mut spread = vec![0.0; d * d];
        for (a, (&row, t)) in self.columns.random.iter().zip(&self.question.factor).enumerate() {
            for (b, (&column, s)) in
                self.columns.random.iter().zip(&self.question.factor).enumerate()
            {
                spread[row * d + column] = t * block[a * q + b] * s;
            }
        }
        self.rows.third(&self.weights(u), &spread)
    }

    /// T t.
    pub(crate) fn turn(&self, u: &[f64], block: &[f64]) -> Vec<f64> {
        let thirds = self.thirds(u, block);
        let columns = self.columns.random.iter().zip(&self.question.factor);
        columns.map(|(&column, t)| t * thirds[column]).collect()
    }

    /// The node's parts of the gradient by ρ, by T and by the mean coefficients, without what edges add.
    pub(crate) fn slopes(&self, u: &[f64], v: &[f64], block: &[f64]) -> Vec<f64> {
        let (d, q, coupled) =
            (self.columns.count, self.columns.random.len(), self.columns.coupled());
        let found = self.rows.likelihood(&self.weights(u));
        let mut pull = self.thirds(u, block);
        add_scaled(&mut pull, -2.0, &found.score);
        // A T v as what a deviation v adds to the score.
        let moved = weights(self.columns, self.question, &[], v);
        for (pull, row) in pull.iter_mut().zip(found.curvature.chunks_exact(d)) {
            *pull -= dot(row, &moved);
        }
        let trace: f64 = block.iter().step_by(q + 1).take(coupled).sum();
        let squares = dot(&u[..coupled], &u[..coupled]) - dot(&v[..coupled], &u[..coupled]);
        let mut sums = vec![self.own.slope() * (trace + squares)];
        for (a, &row) in self.columns.random.iter().enumerate() {
            let places = self.columns.random.iter().zip(&self.question.factor).enumerate();
            let product: f64 = places
                .map(|(k, (&column, t))| found.curvature[row * d + column] * t * block[k * q + a])
                .sum();
            sums.push(2.0 * product + pull[row] * u[a] + found.score[row] * v[a]);
        }
        sums.extend(self.columns.fixed.iter().map(|&column| pull[column]));
        sums
    }
}
