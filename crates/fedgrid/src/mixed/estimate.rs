//! Mixed models of numbers with normal errors.

use std::sync::Arc;

use super::{
    Likelihood, NodeMoments, Precision,
    deviance::{Evaluation, Problem},
    search::{End, Relative, Search, Sought, Surface, failed},
    structure::Structure,
};
use crate::{
    algebra::{Pattern, SelectedInverse, dot},
    error::Result,
};

/// A mixed model and the rows that it is estimated from.
#[derive(Debug)]
pub struct MixedModel<'a> {
    /// The rows of each node.
    pub nodes: &'a [NodeMoments],
    /// How many columns the features have, an intercept among them.
    pub columns: usize,
    /// The columns that have a mean coefficient: none is a combination of the others.
    pub fixed: &'a [usize],
    /// The columns whose coefficients differ from node to node.
    pub random: &'a [usize],
    /// Whether the deviations of a node's coefficients may be correlated.
    pub correlated: bool,
    /// What is maximised.
    pub likelihood: Likelihood,
    /// How deviations of different nodes belong together.
    pub precision: &'a Precision,
    /// ρ; none estimates it.
    pub rho: Option<f64>,
    /// The factor T of the covariance over σ², where it is given.
    pub factor: Option<&'a [f64]>,
}

/// What was estimated.
#[derive(Debug, Clone)]
pub struct MixedEstimate {
    /// The mean coefficients β of the fixed columns.
    pub mean: Vec<f64>,
    /// The covariance of their errors.
    pub mean_covariance: Vec<f64>,
    /// σ².
    pub noise: f64,
    /// Σ on the random columns.
    pub covariance: Vec<f64>,
    /// T, with Σ = σ² T Tᵀ.
    pub factor: Vec<f64>,
    /// ρ.
    pub rho: f64,
    /// Minus twice the logarithm of the (restricted) likelihood.
    pub deviance: f64,
    /// Whether the estimates were found as closely as rounding allows.
    pub converged: bool,
    /// How often the likelihood was computed.
    pub evaluations: usize,
    /// The coefficients of each node.
    pub coefficients: Vec<f64>,
    /// The covariance of each node's coefficients, d × d.
    pub coefficient_covariances: Vec<f64>,
    /// The deviations b of each node from the mean.
    pub modes: Vec<f64>,
    /// The covariance of b given β, q × q.
    pub mode_covariances: Vec<f64>,
}

/// Numbers in the blocks of the factor that are worth their memory: a gigabyte.
const MOST_NUMBERS: usize = 1 << 27;

impl MixedModel<'_> {
    /// Estimates it.
    pub fn fit(&self) -> Result<MixedEstimate> {
        let most_blocks = MOST_NUMBERS / self.random.len().pow(2).max(1);
        let pattern = Pattern::new(self.precision.neighbours(), most_blocks)
            .ok_or_else(|| failed("the network is too dense for a sparse factor"))?;
        let structure = Structure {
            columns: self.columns,
            fixed: self.fixed,
            random: self.random,
            precision: self.precision,
            pattern: Arc::new(pattern),
        };
        let problem = Problem { structure, nodes: self.nodes, likelihood: self.likelihood };
        if problem.degrees_of_freedom() < 1.0 {
            return Err(failed("there are no more training rows than coefficients"));
        }
        let end = if let Some(factor) = self.factor {
            let relative = Relative { factor: factor.to_vec(), rho: self.rho.unwrap_or(0.0) };
            let look = problem.look(&relative, &[], false);
            let look = look.ok_or_else(|| failed("its columns are combinations of each other"))?;
            let (mean, deviance, extra) = (Vec::new(), look.deviance, look.extra);
            End { relative, mean, extra, deviance, converged: true, evaluations: 1 }
        } else {
            let rho = if self.precision.has_edges() { self.rho } else { Some(0.0) };
            let units = problem.units();
            let (correlated, mean) = (self.correlated, &[][..]);
            let sought = Sought { units: &units, correlated, rho, mean };
            Search::new(&problem, &sought).run()?
        };
        Ok(estimate(&problem, end))
    }
}

fn estimate(problem: &Problem, end: End<(Evaluation, SelectedInverse)>) -> MixedEstimate {
    let (evaluation, inverse) = end.extra;
    let relative = end.relative;
    let q = problem.structure.size();
    let noise = evaluation.noise;
    let row = |k: usize| &relative.factor[k * q..(k + 1) * q];
    let covariance = (0..q * q).map(|at| noise * dot(row(at / q), row(at % q))).collect();
    let posterior = problem.structure.posterior(&relative, &evaluation.solution(), &inverse);
    MixedEstimate {
        mean_covariance: evaluation.mean_covariance.iter().map(|entry| noise * entry).collect(),
        mean: evaluation.mean,
        noise,
        covariance,
        factor: relative.factor,
        rho: relative.rho,
        deviance: end.deviance,
        converged: end.converged,
        evaluations: end.evaluations,
        coefficients: posterior.coefficients,
        coefficient_covariances: posterior.coefficient_covariances,
        modes: posterior.modes,
        mode_covariances: posterior.mode_covariances,
    }
}
