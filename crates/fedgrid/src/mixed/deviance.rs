//! Minus twice the logarithm of the likelihood of numbers with normal errors, with its gradient.
//!
//! ```text
//! y_i = X_i (β + b_i) + e_i,    b_i = T u_i on the random columns,    u ~ N(0, σ² (Ω ⊗ I)⁻¹),  e ~ N(0, σ²)
//! r² = min over β, u of ‖y − X(β + T u)‖² + uᵀ(Ω ⊗ I)u
//! ML:    N log(2π r²/N) + N + log|M| − q log|Ω|
//! REML:  (N − p) (log(2π r²/(N − p)) + 1) + log|M| − q log|Ω| + log|S|
//! ```
//!
//! β and σ² are those that minimise it; where σ² is given instead, −2ℓ has `log(2πσ²)` for `log(2π r²/(N − p))` and
//! r²/σ² for N − p. With P = M⁻¹ and e the residuals its gradient is
//!
//! ```text
//! ∂/∂T:   Σ_i 2 [A_i T (P_ii + W_i B W_iᵀ) − A_i B W_iᵀ] − (2/σ²) Σ_i X_iᵀe_i u_iᵀ
//! ∂/∂ρ:   Σ_ij Ω'_ij tr(P_ij + W_i B W_jᵀ) − q tr(Ω⁻¹Ω') + uᵀΩ'u/σ²,      Ω' = L/d̄ − I
//! ```
//!
//! (without the terms in B for ML), where only blocks of P of nodes and edges are needed.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{
    Likelihood, NodeMoments,
    evidence::Movable,
    search::{End, Look, Relative, Surface, singular},
    structure::{LEAST_NOISE_SHARE, Solution, Structure, inverse},
};
use crate::{
    algebra::{BlockCholesky, Cholesky, SelectedInverse, add_scaled, dot},
    error::Result,
};

/// What is estimated from.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    pub(super) structure: Structure<'a>,
    /// The rows of each node.
    pub(super) nodes: Cow<'a, [NodeMoments]>,
    pub(super) likelihood: Likelihood,
    /// Whether entries of T beside its diagonal are sought, too.
    pub(super) correlated: bool,
}

/// The likelihood and what it took.
#[derive(Debug)]
pub(super) struct Evaluation {
    deviance: f64,
    /// σ².
    pub(super) noise: f64,
    /// The derivative by log σ²; zero where σ² is the best one.
    by_noise: f64,
    /// The mean coefficients β.
    pub(super) mean: Vec<f64>,
    /// B = S⁻¹.
    pub(super) mean_covariance: Vec<f64>,
    pub(super) deviations: Vec<f64>,
    pub(super) projected: Vec<f64>,
    pub(super) factor: BlockCholesky,
    /// That of Ω.
    pub(super) omega: BlockCholesky,
}

impl Problem<'_> {
    /// The rows that determine the noise.
    pub(super) fn degrees_of_freedom(&self) -> f64 {
        let rows: f64 = self.nodes.iter().map(|node| node.count).sum();
        match self.likelihood {
            Likelihood::Restricted => rows - self.structure.means() as f64,
            Likelihood::Full => rows,
        }
    }

    /// A fair first guess for T in any unit: a node's rows and its deviation count the same.
    pub(super) fn units(&self) -> Vec<f64> {
        let with_rows = self.nodes.iter().filter(|node| node.count > 0.0).count().max(1) as f64;
        let unit = |&column: &usize| {
            let at = column * self.structure.columns + column;
            let total: f64 = self.nodes.iter().map(|node| node.gram[at]).sum();
            if total > 0.0 { (with_rows / total).sqrt() } else { 1.0 }
        };
        self.structure.random.iter().map(unit).collect()
    }

    /// The likelihood; none where the system is singular in rounding.
    pub(super) fn evaluate(&self, relative: &Relative) -> Option<Evaluation> {
        let structure = &self.structure;
        let p = structure.means();
        let gram = |i: usize| &self.nodes[i].gram[..];
        let factor = structure.factor(relative, gram)?;
        let omega = structure.precision.factor(&structure.pattern, relative.rho)?;
        let cross = |i: usize| &self.nodes[i].cross[..];
        let projection = structure.project(relative, &factor, gram, cross);
        let schur = Cholesky::new(projection.schur, p)?;
        let mut mean = projection.target;
        schur.solve(&mut mean);
        let rows = projection.projected.par_chunks_exact(p + 1);
        let deviations: Vec<f64> = rows.map(|row| row[p] - dot(&row[..p], &mean)).collect();
        let freedom = self.degrees_of_freedom();
        let penalised = self.penalised(relative, &mean, &deviations);
        // At the best σ² the likelihood has a closed form, so that the search has one number less to find.
        let noise = relative.noise.unwrap_or(penalised / freedom);
        let by_noise = relative.noise.map_or(0.0, |noise| freedom - penalised / noise);
        let mut deviance = freedom * (1.0 + (2.0 * std::f64::consts::PI * noise).ln()) - by_noise
            + factor.log_determinant()
            - structure.width().coupled as f64 * omega.log_determinant();
        if self.likelihood == Likelihood::Restricted {
            deviance += schur.log_determinant();
        }
        // A system that is singular in rounding gives no finite number rather than an error.
        deviance.is_finite().then_some(Evaluation {
            deviance,
            noise,
            by_noise,
            mean,
            mean_covariance: inverse(&schur, p),
            deviations,
            projected: projection.projected,
            factor,
            omega,
        })
    }

    /// The likelihood at a T and a ρ as where a search has ended.
    pub(super) fn at(
        &self,
        factor: Vec<f64>,
        rho: f64,
    ) -> Result<End<(Evaluation, SelectedInverse)>> {
        let relative = Relative { factor, rho, noise: None };
        let evaluation = self.evaluate(&relative).ok_or_else(singular)?;
        let inverse = evaluation.factor.selected_inverse();
        let (mean, deviance, extra) = (Vec::new(), evaluation.deviance, (evaluation, inverse));
        let (independent, converged, evaluations) = (None, true, 1);
        Ok(End { relative, mean, extra, deviance, independent, converged, evaluations })
    }

    /// r².
    fn penalised(&self, relative: &Relative, mean: &[f64], deviations: &[f64]) -> f64 {
        let q = self.structure.size();
        // From compressed rows: yᵀy − 2wᵀXᵀy + wᵀXᵀXw would cancel where rows are fitted closely.
        let residual = |(i, node): (usize, &NodeMoments)| {
            let own = &deviations[i * q..(i + 1) * q];
            node.squared_residuals(&self.structure.coefficients(relative, mean, own))
        };
        let parts: Vec<f64> = self.nodes.par_iter().enumerate().map(residual).collect();
        let squares: f64 = self.nodes.iter().map(|node| node.label_squares).sum();
        parts.iter().sum::<f64>()
            + self.structure.precision.quadratic(relative.rho, deviations, self.structure.width())
            + LEAST_NOISE_SHARE * squares
    }
}

impl Surface for Problem<'_> {
    type Half = Evaluation;
    type Extra = (Evaluation, SelectedInverse);

    fn deviance(&self, relative: &Relative, _: &[f64]) -> Option<(f64, Evaluation)> {
        self.evaluate(relative).map(|evaluation| (evaluation.deviance, evaluation))
    }

    fn completed(
        &self,
        relative: &Relative,
        _: &[f64],
        (_, evaluation): (f64, Evaluation),
        by_rho: bool,
    ) -> Option<Look<Self::Extra>> {
        // The dearest part, which gives all traces of the gradient at once.
        let inverse = evaluation.factor.selected_inverse();
        let by_rho = if by_rho { evaluation.rho_derivative(self, &inverse)? } else { 0.0 };
        Some(Look {
            deviance: evaluation.deviance,
            by_factor: if self.correlated {
                evaluation.factor_gradient(self, relative, &inverse)
            } else {
                evaluation.diagonal_gradient(self, relative, &inverse)
            },
            by_rho,
            by_noise: evaluation.by_noise,
            by_mean: Vec::new(),
            extra: (evaluation, inverse),
        })
    }

    fn knows_curvature(&self) -> bool {
        true
    }

    fn curvature(
        &self,
        relative: &Relative,
        (evaluation, _): &Self::Extra,
        by_rho: bool,
    ) -> Option<Vec<f64>> {
        Some(evaluation.average_information(self, relative, by_rho))
    }

    fn mean_variance(&self, rho: f64) -> Option<f64> {
        self.structure.precision.mean_variance(&self.structure.pattern, rho)
    }
}

impl Movable for Problem<'_> {
    fn moved(&self, order: &[usize]) -> Self {
        // The pattern and its order of elimination stay: only rows change places.
        let nodes = order.iter().map(|&node| self.nodes[node].clone()).collect();
        Self { structure: self.structure.clone(), nodes, ..*self }
    }

    fn work(&self) -> f64 {
        self.structure.work()
    }
}

impl Evaluation {
    /// What the coefficients of all nodes are made of.
    pub(super) fn solution(&self) -> Solution<'_> {
        Solution {
            noise: self.noise,
            mean: &self.mean,
            mean_covariance: &self.mean_covariance,
            deviations: &self.deviations,
            projected: &self.projected,
        }
    }

    /// `P_ii + W_i B W_iᵀ`, or `P_ii` for ML; and `A_i B W_iᵀ` of the random columns.
    fn covariance(&self, problem: &Problem, i: usize, own: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let structure = &problem.structure;
        let (d, p, q) = (structure.columns, structure.means(), structure.size());
        let mut covariance = own.to_vec();
        let mut mixed = vec![0.0; q * q];
        if problem.likelihood == Likelihood::Restricted {
            let gram = &problem.nodes[i].gram;
            for k in 0..q {
                let row = structure.w(&self.projected, i, k);
                let scaled: Vec<f64> =
                    self.mean_covariance.chunks_exact(p).map(|b| dot(b, row)).collect();
                for (a, &column) in structure.random.iter().enumerate() {
                    covariance[a * q + k] += dot(structure.w(&self.projected, i, a), &scaled);
                    let own = &gram[column * d..(column + 1) * d];
                    let products = structure.fixed.iter().zip(&scaled);
                    mixed[a * q + k] = products.map(|(&fixed, x)| own[fixed] * x).sum();
                }
            }
        }
        (covariance, mixed)
    }

    /// The gradient with respect to T, q × q.
    fn factor_gradient(
        &self,
        problem: &Problem,
        relative: &Relative,
        inverse: &SelectedInverse,
    ) -> Vec<f64> {
        let structure = &problem.structure;
        let q = structure.size();
        let of_node = |i: usize| {
            let node = &problem.nodes[i];
            let (covariance, mixed) = self.covariance(problem, i, inverse.node(i));
            let product = structure.times_factor(&node.gram, relative);
            let own = &self.deviations[i * q..(i + 1) * q];
            let residuals =
                node.cross_residuals(&structure.coefficients(relative, &self.mean, own));
            let mut gradient = vec![0.0; q * q];
            for (a, &column) in structure.random.iter().enumerate() {
                let row = &mut gradient[a * q..(a + 1) * q];
                for k in 0..q {
                    add_scaled(row, 2.0 * product[a * q + k], &covariance[k * q..(k + 1) * q]);
                }
                add_scaled(row, -2.0, &mixed[a * q..(a + 1) * q]);
                add_scaled(row, -2.0 / self.noise * residuals[column], own);
            }
            gradient
        };
        structure.summed(q * q, |i, gradient| add_scaled(gradient, 1.0, &of_node(i)))
    }

    /// The same with respect to the diagonal of a diagonal T alone, with zeros beside it:
    /// `2 (A_i T P_ii)_kk + 2 ((A_i T W_i − A_i) B W_iᵀ)_kk` of every node, and what residuals add.
    fn diagonal_gradient(
        &self,
        problem: &Problem,
        relative: &Relative,
        inverse: &SelectedInverse,
    ) -> Vec<f64> {
        let structure = &problem.structure;
        let (d, p, q) = (structure.columns, structure.means(), structure.size());
        structure.summed(q * q, |i, gradient| {
            let (node, own) = (&problem.nodes[i], &self.deviations[i * q..(i + 1) * q]);
            let product = structure.times_factor(&node.gram, relative);
            let weights = structure.coefficients(relative, &self.mean, own);
            let (mut left, mut scaled) = (vec![0.0; p], vec![0.0; p]);
            for (k, &column) in structure.random.iter().enumerate() {
                let gram = &node.gram[column * d..(column + 1) * d];
                let row = &product[k * q..(k + 1) * q];
                let mut slope = dot(row, &inverse.node(i)[k * q..(k + 1) * q]);
                if problem.likelihood == Likelihood::Restricted {
                    let entries = left.iter_mut().zip(structure.fixed);
                    entries.for_each(|(left, &fixed)| *left = -gram[fixed]);
                    for (other, entry) in row.iter().enumerate() {
                        add_scaled(&mut left, *entry, structure.w(&self.projected, i, other));
                    }
                    scaled.fill(0.0);
                    for (entry, b) in left.iter().zip(self.mean_covariance.chunks_exact(p)) {
                        add_scaled(&mut scaled, *entry, b);
                    }
                    slope += dot(&scaled, structure.w(&self.projected, i, k));
                }
                let residual = node.cross[column] - dot(gram, &weights);
                gradient[k * q + k] += 2.0 * (slope - residual * own[k] / self.noise);
            }
        })
    }

    /// The derivative with respect to ρ; none where B is singular in rounding.
    fn rho_derivative(&self, problem: &Problem, inverse: &SelectedInverse) -> Option<f64> {
        let structure = &problem.structure;
        let (p, width) = (structure.means(), structure.width());
        let precision = structure.precision;
        let mut derivative = precision.trace_slope(inverse, width);
        if problem.likelihood == Likelihood::Restricted {
            // Σ Ω'_ij tr(W_i B W_jᵀ): the columns of B^½ as so many deviations.
            let lower = Cholesky::new(self.mean_covariance.clone(), p)?.lower();
            let of_column = |column: usize| {
                let direction: Vec<f64> = (0..p).map(|row| lower[row * p + column]).collect();
                let rows = self.projected.chunks_exact(p + 1);
                let deviations: Vec<f64> = rows.map(|row| dot(&row[..p], &direction)).collect();
                precision.product_slope(&deviations, &deviations, width)
            };
            let parts: Vec<f64> = (0..p).into_par_iter().map(of_column).collect();
            derivative += parts.iter().sum::<f64>();
        }
        derivative -= width.coupled as f64 * precision.factored_slope(&self.omega);
        let own = precision.product_slope(&self.deviations, &self.deviations, width);
        Some(derivative + own / self.noise)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        algebra::Pattern,
        mixed::{Precision, search::differences},
        network::ring,
        random::{Purpose, Stream},
    };

    #[test]
    fn the_gradient_is_that_of_differences() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut node = |rows: usize| {
            let rows: Vec<(Vec<f64>, f64)> = (0..rows)
                .map(|_| (vec![1.0, stream.normal(), stream.normal() + 1.0], stream.normal()))
                .collect();
            NodeMoments::new(3, rows.iter().map(|(x, y)| (&x[..], *y, 1.0)))
        };
        let nodes: Vec<NodeMoments> = [3, 0, 9, 2, 5, 7].into_iter().map(&mut node).collect();
        let precision = Precision::along(&ring(6).unwrap());
        let pattern = Arc::new(Pattern::new(precision.neighbours(), 2, usize::MAX).unwrap());
        for (likelihood, free, noise) in [
            (Likelihood::Restricted, 0, None),
            (Likelihood::Restricted, 1, Some(0.7)),
            (Likelihood::Full, 0, None),
            (Likelihood::Full, 1, Some(0.7)),
        ] {
            let (random, precision, pattern) = (&[0, 2], &precision, pattern.clone());
            let (columns, fixed) = (3, &[0, 1, 2]);
            let structure = Structure { columns, fixed, random, free, precision, pattern };
            let nodes = Cow::Borrowed(&nodes[..]);
            let problem = Problem { structure, nodes, likelihood, correlated: true };
            let relative = Relative { factor: vec![0.8, 0.0, -0.3, 0.5], rho: 0.6, noise };
            differences(&problem, &relative, &[]);
            let relative = Relative { factor: vec![0.8, 0.0, 0.0, 0.5], ..relative };
            differences(&Problem { correlated: false, ..problem }, &relative, &[]);
        }
    }
}
