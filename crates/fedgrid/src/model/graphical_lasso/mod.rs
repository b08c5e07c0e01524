//! The graphical lasso: rows as draws of one Gaussian vector z = (features, target), by the entries of
//! its precision matrix Θ,
//!
//! ```text
//! Θ = argmin  Σ_r weight_r (z_rᵀ Θ z_r − log det Θ) + ridge tr Θ + lasso Σ_{a≠b} |Θ_ab|
//! E[y | x] = −Σ_k Θ_yk x_k / Θ_yy
//! ```
//!
//! Zero entries are pairs that are independent given all others. A constant counts as one more variable
//! where there is an intercept, without lasso: so levels are learnt and nothing needs to be centred. The
//! prediction of the target is that of a linear model whose slopes the other pairs have a say in.
//! [Friedman, Hastie and Tibshirani, "Sparse inverse covariance estimation with the graphical lasso";
//! "Networked Federated Multi-Task Learning", section 1.1, names it as a local loss.]
//!
//! The weights are the upper triangle of Θ row by row, off-diagonal entries times √2, so that the length of
//! weights is that of matrices. The loss is convex, but infinite where Θ is not positive definite.

mod solve;
mod eigenvalues;

use std::{f64::consts::SQRT_2, sync::Arc};

use self::solve::PrecisionProblem;
use super::{
    Hypothesis, LocalModel, LossShape, Parametric, Rescaling, Steps, Storable, Stored, Tunable,
    Vanishing, check, solver::check_proximal,
};
use crate::{
    algebra::{Cholesky, add_outer, dot},
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, at_least_zero, same_size},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME: &str = "a graphical lasso";

/// A Gaussian model of features and target together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GraphicalLasso {
    /// The pull ≥ 0 on the variances; zero needs more rows than variables, none of them a mixture of
    /// others.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// The pull ≥ 0 of the off-diagonal entries to zero; zero is maximum likelihood.
    #[schemars(range(min = 0))]
    pub lasso: f64,
    /// Whether a constant counts as one more variable.
    pub intercept: bool,
}

impl Default for GraphicalLasso {
    fn default() -> Self {
        Self { ridge: 1e-3, lasso: 1e-2, intercept: true }
    }
}

impl GraphicalLasso {
    fn check(&self, data: &Dataset) -> Result<()> {
        at_least_zero("ridge", self.ridge)?;
        at_least_zero("lasso", self.lasso)?;
        check::numbers(NAME, data.task())
    }

    /// How many variables there are for so many features.
    fn variables(&self, columns: usize) -> usize {
        columns + 1 + usize::from(self.intercept)
    }

    fn problem(&self, data: &Dataset) -> PrecisionProblem {
        let columns = data.features().columns();
        let size = self.variables(columns);
        let mut moments = vec![0.0; size * size];
        for (row, x) in data.features().iter().enumerate() {
            let constant = if self.intercept { &[1.0][..] } else { &[] };
            let z = [x, data.labels().row(row), constant].concat();
            add_outer(&mut moments, data.weights()[row], &z);
        }
        (0..size).for_each(|k| moments[k * size + k] += self.ridge);
        let lasso = |k: usize| {
            let (a, b) = (k / size, k % size);
            let is_free = a == b || a.max(b) > columns;
            if is_free { 0.0 } else { self.lasso }
        };
        let lassos = (0..size * size).map(lasso).collect();
        PrecisionProblem { size, moments, total: data.total_weight(), lassos }
    }
}

impl LocalModel for GraphicalLasso {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.check(data)?;
        check::weight(NAME, data.total_weight())?;
        let Some(precision) = self.problem(data).minimum()? else {
            let reason = "its rows leave a variance zero; a ridge above zero would do".into();
            return Err(Error::Fit { model: NAME, reason });
        };
        let weights = weights_of(&precision, self.variables(data.features().columns()));
        Ok(self.hypothesis(data.features().names(), data.task(), &weights))
    }

    /// Its loss has one minimum, or none at all.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        Vanishing::Forgotten
    }

    fn rescaling(&self) -> Rescaling {
        Rescaling::Standardised { intercept: self.intercept }
    }

    fn as_tunable(&self) -> Option<&dyn Tunable> {
        Some(self)
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        Some(self)
    }
}

impl Tunable for GraphicalLasso {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl Parametric for GraphicalLasso {
    fn size(&self, columns: usize, _task: Task) -> usize {
        let size = self.variables(columns);
        size * (size + 1) / 2
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        let problem = self.problem(data);
        let matrix = matrix_of(weights, problem.size);
        let lasso = matrix.iter().zip(&problem.lassos).map(|(entry, lasso)| lasso * entry.abs());
        let linear = dot(&matrix, &problem.moments) + lasso.sum::<f64>();
        // Without weight a matrix need not be positive definite, and has no logarithm to speak of.
        if problem.total == 0.0 {
            return linear;
        }
        match Cholesky::new(matrix, problem.size) {
            Some(factor) => linear - problem.total * factor.log_determinant(),
            None => f64::INFINITY,
        }
    }

    /// Where Θ is not positive definite there is none; its entries are not numbers.
    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        let problem = self.problem(data);
        let size = problem.size;
        let matrix = matrix_of(weights, size);
        let mut gradient = problem.moments.clone();
        for ((slope, entry), lasso) in gradient.iter_mut().zip(&matrix).zip(&problem.lassos) {
            *slope += if *entry == 0.0 { 0.0 } else { lasso * entry.signum() };
        }
        if problem.total > 0.0 {
            let Some(factor) = Cholesky::new(matrix, size) else {
                return vec![f64::NAN; weights.len()];
            };
            for column in 0..size {
                let mut inverse = vec![0.0; size];
                inverse[column] = 1.0;
                factor.solve(&mut inverse);
                for (row, entry) in inverse.iter().enumerate() {
                    gradient[row * size + column] -= problem.total * entry;
                }
            }
        }
        weights_of(&gradient, size)
    }

    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.check(data)?;
        let columns = data.features().columns();
        check_proximal(centre, self.size(columns, data.task()), steps.slopes)?;
        let problem = self.problem(data);
        let matrix = problem.proximal(&matrix_of(centre, problem.size), 1.0 / steps.slopes)?;
        Ok(weights_of(&matrix, problem.size))
    }

    fn hypothesis(&self, names: &Arc<[String]>, _: Task, weights: &[f64]) -> Box<dyn Hypothesis> {
        let (names, intercept) = (names.clone(), self.intercept);
        Box::new(GraphicalLassoHypothesis { names, intercept, weights: weights.to_vec() })
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        let own = hypothesis.downcast_ref::<GraphicalLassoHypothesis>()?;
        (own.intercept == self.intercept).then(|| own.weights.clone())
    }

    /// Independent variables of variance one.
    fn start(&self, columns: usize, _task: Task) -> Vec<f64> {
        let size = self.variables(columns);
        let identity: Vec<f64> =
            (0..size * size).map(|k| f64::from(u8::from(k / size == k % size))).collect();
        weights_of(&identity, size)
    }

    fn shape(&self) -> LossShape {
        LossShape { convex: true, smooth: false, ridge: 0.0 }
    }

    /// None that is known: the logarithm of the determinant has no bound.
    fn least_loss(&self, _data: &Dataset) -> f64 {
        f64::NEG_INFINITY
    }
}

/// The upper triangle of a symmetric matrix, off-diagonal entries times √2.
fn weights_of(matrix: &[f64], size: usize) -> Vec<f64> {
    let entry = |row: usize, column: usize| {
        let entry = f64::midpoint(matrix[row * size + column], matrix[column * size + row]);
        if row == column { entry } else { SQRT_2 * entry }
    };
    (0..size).flat_map(|row| (row..size).map(move |column| entry(row, column))).collect()
}

/// The matrix of these weights.
fn matrix_of(weights: &[f64], size: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; size * size];
    let entries = (0..size).flat_map(|row| (row..size).map(move |column| (row, column)));
    for ((row, column), weight) in entries.zip(weights) {
        let entry = if row == column { *weight } else { weight / SQRT_2 };
        (matrix[row * size + column], matrix[column * size + row]) = (entry, entry);
    }
    matrix
}

/// A learnt precision matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphicalLassoHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// Whether a constant is the last variable.
    pub intercept: bool,
    /// The upper triangle of the precision matrix of features, target and constant, row by row,
    /// off-diagonal entries times √2.
    pub weights: Vec<f64>,
}

impl GraphicalLassoHypothesis {
    fn variables(&self) -> usize {
        self.names.len() + 1 + usize::from(self.intercept)
    }

    /// The precision matrix Θ of features, target and constant, row by row.
    #[must_use]
    pub fn precision(&self) -> Vec<f64> {
        matrix_of(&self.weights, self.variables())
    }
}

impl Hypothesis for GraphicalLassoHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let (size, columns) = (self.variables(), self.names.len());
        let precision = self.precision();
        let row = &precision[columns * size..(columns + 1) * size];
        let level = if self.intercept { row[columns + 1] } else { 0.0 };
        let predict = |x: &[f64]| -(dot(&row[..columns], x) + level) / row[columns];
        // On its way to a minimum a node without rows may have no variance yet.
        let is_sound = row[columns] > 0.0;
        Labels::values(features.iter().map(|x| if is_sound { predict(x) } else { 0.0 }).collect())
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for GraphicalLassoHypothesis {
    const KIND: &'static str = "graphical-lasso";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), Task::Regression)
    }

    /// Refuses a triangle of another size, entries without a value, and a target of no variance.
    fn check(&self) -> Result<()> {
        let size = self.variables();
        let what = "entries of a precision matrix";
        same_size(what, self.weights.len(), size * (size + 1) / 2)?;
        check::finite("an entry of a precision matrix", &self.weights)?;
        let target = self.names.len();
        check::positive("precision of the target", &[self.precision()[target * size + target]])
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod laws {
    use super::*;
    use crate::testing;

    #[test]
    fn without_lasso_it_keeps_the_laws_of_local_models() {
        // Rows of weight 10¹⁰ ask for a ridge that still counts against rounding. The lasso's turns end at
        // a share of Θ, whose entries differ by as much there: tests.rs has its laws.
        for intercept in [true, false] {
            let model = GraphicalLasso { ridge: 1.0, lasso: 0.0, intercept };
            testing::check_local_model(&model, Task::Regression);
        }
    }
}
