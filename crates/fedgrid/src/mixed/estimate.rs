//! Mixed models of numbers with normal errors.

use std::{borrow::Cow, sync::Arc};

use super::{
    Likelihood, NetworkRatio, NodeMoments, Precision,
    apart::Apart,
    apart_search::{Apartness, minimum, minimum_from},
    deviance::{Evaluation, Problem},
    evidence::ratio,
    search::{End, Relative, Search, Sought, failed, given, singular},
    structure::Structure,
};
use crate::{
    algebra::{Pattern, SelectedInverse, dot},
    error::{Error, Result},
};

/// A mixed model and the rows that it is estimated from.
#[derive(Debug, Clone, Copy)]
pub struct MixedModel<'a> {
    /// The rows of each node.
    pub nodes: &'a [NodeMoments],
    /// How many columns the features have, an intercept among them.
    pub columns: usize,
    /// The columns that have a mean coefficient: none is a combination of the others.
    pub fixed: &'a [usize],
    /// The columns whose coefficients differ from node to node.
    pub random: &'a [usize],
    /// The variance of each of these, where it is given; empty if none is.
    pub variances: &'a [Option<f64>],
    /// How many of these, the last, are each node's own: nothing draws them together.
    pub free: usize,
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
    /// The least of it at ρ = 0, where ρ was estimated.
    pub independent: Option<f64>,
    /// The nodes whose rows do not determine every coefficient of their own: these have the mean.
    pub undetermined: Vec<usize>,
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

impl MixedEstimate {
    /// The mean of the coefficients over the nodes whose rows determine them, of so many at each node.
    #[must_use]
    pub fn mean_coefficients(&self, size: usize) -> Vec<f64> {
        let all = self.coefficients.chunks_exact(size).enumerate();
        let known: Vec<&[f64]> =
            all.filter(|(node, _)| !self.undetermined.contains(node)).map(|(_, own)| own).collect();
        let count = known.len().max(1) as f64;
        (0..size).map(|k| known.iter().map(|own| own[k]).sum::<f64>() / count).collect()
    }
}

/// Where a search begins, such as at what was estimated from fewer rows; nothing begins at a fair guess.
#[derive(Debug, Clone, Default)]
pub struct SearchStart {
    /// T without a network.
    pub apart: Option<Vec<f64>>,
}

impl<'a> MixedModel<'a> {
    /// Estimates it.
    pub fn fit(&self) -> Result<MixedEstimate> {
        self.fit_from(&SearchStart::default())
    }

    /// The same, where the search may begin near its end.
    pub fn fit_from(&self, from: &SearchStart) -> Result<MixedEstimate> {
        let problem = self.problem()?;
        let end = if let Some(factor) = self.factor {
            problem.at(factor.to_vec(), self.rho.unwrap_or(0.0))?
        } else {
            let start = self.start(&problem)?;
            let sought = start.sought(self);
            match self.apart((&problem, from), &sought)? {
                Some(end) => end,
                None => Search::new(&problem, &sought).run()?,
            }
        };
        Ok(estimate(&problem, end))
    }

    /// The minimum from the one at ρ = 0, which is sought node by node; none if it is not of use, or not sought by T
    /// alone.
    fn apart(
        &self,
        (problem, from): (&Problem, &SearchStart),
        sought: &Sought,
    ) -> Result<Option<End<(Evaluation, SelectedInverse)>>> {
        let is_of_use = sought.rho.is_none_or(|rho| rho == 0.0);
        if !is_of_use || sought.noise.is_some() || self.random.is_empty() {
            return Ok(None);
        }
        let rows = (self.likelihood, problem.degrees_of_freedom());
        let apart = Apart::new(&problem.structure, self.nodes, rows);
        let least = |refines: bool| {
            let refines = (self.correlated, refines);
            let found = match &from.apart {
                Some(start) => minimum_from(&apart, (sought.units, start), refines),
                None => minimum(&apart, sought.units, refines),
            };
            found.ok_or_else(singular)
        };
        let without = least(sought.rho.is_some())?;
        let Apartness { mut factor, deviance, mut converged, mut evaluations } = without;
        let mut independent = None;
        if sought.rho.is_none() {
            let relative = Relative { factor: factor.clone(), rho: 0.0, noise: None };
            let mut search = Search::new(problem, sought);
            if let Some(with) = search.better_along(&relative, &[], deviance)? {
                return Ok(Some(End { evaluations: evaluations + with.evaluations, ..with }));
            }
            evaluations += search.evaluations();
            // The end is here, to as many digits as the gradient tells.
            let again = least(true)?;
            (factor, converged) = (again.factor, again.converged);
            (independent, evaluations) = (Some(deviance), evaluations + again.evaluations);
        }
        let end = problem.at(factor, 0.0)?;
        Ok(Some(End { independent, converged, evaluations: evaluations + 1, ..end }))
    }

    /// What the network adds to the likelihood, and what it adds with nodes in other places: as many of these orders
    /// as take no more products of numbers than `most_work`, about.
    pub fn network_ratio(&self, orders: &[Vec<usize>], most_work: f64) -> Result<NetworkRatio> {
        self.network_ratio_beside(None, orders, most_work)
    }

    /// The same beside what was estimated of this model without a network.
    pub(crate) fn network_ratio_beside(
        &self,
        without: Option<&MixedEstimate>,
        orders: &[Vec<usize>],
        most_work: f64,
    ) -> Result<NetworkRatio> {
        let problem = self.problem()?;
        let start = self.start(&problem)?;
        let sought = &Sought { rho: None, ..start.sought(self) };
        ratio(&problem, (sought, without), (orders, most_work))
    }

    fn problem(&self) -> Result<Problem<'a>> {
        let pattern = Pattern::new(self.precision.neighbours(), self.random.len(), MOST_NUMBERS)
            .ok_or_else(|| failed("the network is too dense for a sparse factor"))?;
        let structure = Structure {
            columns: self.columns,
            fixed: self.fixed,
            random: self.random,
            free: self.free,
            precision: self.precision,
            pattern: Arc::new(pattern),
        };
        let nodes = Cow::Borrowed(self.nodes);
        let (likelihood, correlated) = (self.likelihood, self.correlated);
        let problem = Problem { structure, nodes, likelihood, correlated };
        if problem.degrees_of_freedom() < 1.0 { Err(too_few()) } else { Ok(problem) }
    }

    /// Where the search starts. If variances are given in the unit of labels, σ² is part of it: its start is what
    /// rows leave that are drawn to the mean as little as a first guess says, and not at all where they are free.
    fn start(&self, problem: &Problem) -> Result<Start> {
        let (units, q) = (problem.units(), self.random.len());
        if given(self.variances, &units, self.free, 1.0).is_empty() {
            return Ok(Start { units, variances: Vec::new(), noise: None });
        }
        let guess = given(&[], &units, self.free, 1.0);
        let mut factor = vec![0.0; q * q];
        for (k, unit) in units.iter().enumerate() {
            let variance = guess.get(k).copied().flatten();
            factor[k * q + k] = variance.map_or(*unit, f64::sqrt);
        }
        let relative = Relative { factor, rho: 0.0, noise: None };
        let found = problem.evaluate(&relative).ok_or_else(singular)?;
        let inverse = found.factor.selected_inverse();
        let open = |node: usize| inverse.node(node).iter().step_by(q + 1).skip(q - self.free);
        let known = |node: usize| open(node).map(|share| 1.0 - share).sum::<f64>();
        // Means of free coefficients are among those that the degrees of freedom lack already.
        let used = (0..self.nodes.len()).map(known).sum::<f64>() - self.free as f64;
        let (before, freedom) = (problem.degrees_of_freedom(), problem.degrees_of_freedom() - used);
        // Shares that are nearly one make up a little less than a number of rows.
        if freedom < 0.5 {
            return Err(too_few());
        }
        let noise = found.noise * before / freedom;
        Ok(Start {
            variances: given(self.variances, &units, self.free, noise),
            units,
            noise: Some(noise),
        })
    }
}

/// What a search starts from.
struct Start {
    units: Vec<f64>,
    variances: Vec<Option<f64>>,
    noise: Option<f64>,
}

impl Start {
    fn sought(&self, model: &MixedModel) -> Sought<'_> {
        let rho = if model.precision.has_edges() { model.rho } else { Some(0.0) };
        let Self { units, variances, noise } = self;
        Sought { units, variances, noise: *noise, correlated: model.correlated, rho, mean: &[] }
    }
}

fn too_few() -> Error {
    failed("there are no more training rows than coefficients")
}

fn estimate(problem: &Problem, end: End<(Evaluation, SelectedInverse)>) -> MixedEstimate {
    let (mut evaluation, inverse) = end.extra;
    let relative = end.relative;
    let Evaluation { mean, deviations, .. } = &mut evaluation;
    problem.structure.centre(&relative.factor, mean, deviations);
    let q = problem.structure.size();
    let noise = evaluation.noise;
    let row = |k: usize| &relative.factor[k * q..(k + 1) * q];
    let covariance = (0..q * q).map(|at| noise * dot(row(at / q), row(at % q))).collect();
    let posterior = problem.structure.posterior(&relative, &evaluation.solution(), &inverse);
    let mean_covariance = evaluation.mean_covariance.iter().map(|entry| noise * entry).collect();
    MixedEstimate {
        mean_covariance: problem.structure.without_free(mean_covariance),
        undetermined: problem.structure.undetermined(&inverse),
        independent: end.independent,
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
