//! Laplace's approximation to the likelihood of classes and counts,
//!
//! ```text
//! −2ℓ(T, ρ, β) = min over u of f(u) + log|M| − q log|Ω|
//! f = −2 Σ log p(y_i | β + T u_i) + uᵀ(Ω ⊗ I)u          M = blockdiag(Tᵀ A_i T) + Ω ⊗ I
//! ```
//!
//! where `A_i` is the curvature of node i's rows at the minimum, of which M is half the second derivative
//! of f. The minimum moves with T, ρ and β, and `A_i` with it: with s the scores, t the derivative of
//! log|M| by the weights of each node and v = M⁻¹ Tᵀt the gradient is
//!
//! ```text
//! ∂/∂β:   Σ −2 s_i + t_i − A_i T v_i
//! ∂/∂T:   Σ 2 A_i T P_ii + (t_i − 2 s_i − A_i T v_i) u_iᵀ + s_i v_iᵀ
//! ∂/∂ρ:   Σ_ij Ω'_ij tr P_ij − q tr(Ω⁻¹Ω') + uᵀΩ'u − vᵀΩ'u
//! ```

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rayon::prelude::*;

use super::{
    MixedEstimate, NetworkRatio, Precision,
    evidence::{Movable, ratio},
    family::{NodeLikelihood, NodeRows},
    search::{End, Look, Relative, Search, Sought, Surface, failed, given, singular},
    structure::{OPEN_SHARE, Solution, Structure, inverse},
};
use crate::{
    algebra::{BlockCholesky, Cholesky, Pattern, SelectedInverse, add_scaled, dot},
    error::Result,
};

/// A mixed model of classes or counts and the rows that it is estimated from.
#[derive(Debug, Clone, Copy)]
pub struct LaplaceModel<'a> {
    /// The rows of each node.
    pub nodes: &'a [NodeRows],
    /// How many coefficients a node has: the columns of every linear predictor, one after the other.
    pub columns: usize,
    /// The coefficients that have a mean: none is a combination of the others.
    pub fixed: &'a [usize],
    /// The coefficients that differ from node to node.
    pub random: &'a [usize],
    /// The variance of each of these, where it is given; empty if none is.
    pub variances: &'a [Option<f64>],
    /// How many of these, the last, are each node's own: nothing draws them together.
    pub free: usize,
    /// Whether the deviations of a node's coefficients may be correlated.
    pub correlated: bool,
    /// How deviations of different nodes belong together.
    pub precision: &'a Precision,
    /// ρ; none estimates it.
    pub rho: Option<f64>,
}

struct Problem<'a> {
    structure: Structure<'a>,
    nodes: Cow<'a, [NodeRows]>,
    /// Where the search for the minimum starts: where it was last.
    start: Mutex<Vec<f64>>,
}

/// The minimum over u at given T, ρ and β.
struct Mode {
    /// f.
    value: f64,
    deviations: Vec<f64>,
    likelihoods: Vec<NodeLikelihood>,
    factor: BlockCholesky,
}

/// Newton steps at most: a handful is usual, and damped ones are quick at first.
pub(super) const MOST_NEWTON_STEPS: usize = 100;
/// Halvings of a step at most: then only rounding is left.
pub(super) const MOST_HALVINGS: usize = 30;
/// Twice the decrease of f at which the minimum is found; the step after it is still taken.
pub(super) const LEAST_DECREASE: f64 = 1e-10;
/// The precision of a mean coefficient that is known beforehand: next to nothing in standardised columns,
/// and enough to keep coefficients finite where columns separate classes.
pub(super) const MEAN_PRECISION: f64 = 1e-5;
/// Why there is no model where mean coefficients alone give every row its class.
pub(crate) const TOLD_APART: &str = "its features tell the classes of all training rows apart, so that no finite coefficients are the most likely";
/// Numbers in the blocks of the factor that are worth their memory: a gigabyte.
const MOST_NUMBERS: usize = 1 << 27;

/// What a search starts from.
struct Start {
    units: Vec<f64>,
    variances: Vec<Option<f64>>,
    mean: Vec<(f64, f64)>,
    correlated: bool,
    rho: Option<f64>,
}

impl Start {
    fn sought(&self) -> Sought<'_> {
        let Self { units, variances, mean, correlated, rho } = self;
        let (noise, correlated, rho) = (None, *correlated, *rho);
        Sought { units, variances, noise, correlated, rho, mean }
    }
}

impl<'a> LaplaceModel<'a> {
    /// Estimates it by maximum likelihood.
    pub fn fit(&self) -> Result<MixedEstimate> {
        let problem = self.problem()?;
        let start = self.start(&problem)?;
        let mut end = Search::new(&problem, &start.sought()).run()?;
        problem.centre(&mut end);
        problem.estimate(end)
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
        let start = Start { rho: None, ..self.start(&problem)? };
        ratio(&problem, (&start.sought(), without), (orders, most_work))
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
        let start = Mutex::new(vec![0.0; self.nodes.len() * self.random.len()]);
        Ok(Problem { structure, nodes: Cow::Borrowed(self.nodes), start })
    }

    fn start(&self, problem: &Problem) -> Result<Start> {
        let (mean, NodeLikelihood { value, curvature, .. }) = problem.pooled()?;
        let log_likelihood = value + 0.5 * MEAN_PRECISION * dot(&mean, &mean);
        if self.nodes.iter().any(|node| node.family().are_told_apart(log_likelihood)) {
            return Err(failed(TOLD_APART));
        }
        let own: Vec<f64> = problem.structure.fixed_part(&curvature);
        let p = self.fixed.len();
        let factor = Cholesky::new(own, p).ok_or_else(singular)?;
        let errors = inverse(&factor, p);
        let error = |k: usize| errors[k * p + k].sqrt();
        let mean: Vec<(f64, f64)> = mean.iter().enumerate().map(|(k, x)| (*x, error(k))).collect();
        let with_rows = self.nodes.iter().filter(|node| node.count() > 0).count().max(1) as f64;
        let unit = |&k: &usize| (with_rows / curvature[k * self.columns + k]).sqrt();
        let units: Vec<f64> = self.random.iter().map(unit).collect();
        let rho = if self.precision.has_edges() { self.rho } else { Some(0.0) };
        let variances = given(self.variances, &units, self.free, 1.0);
        Ok(Start { units, variances, mean, correlated: self.correlated, rho })
    }
}

impl Problem<'_> {
    /// The mean coefficients without deviations, and the likelihood there.
    fn pooled(&self) -> Result<(Vec<f64>, NodeLikelihood)> {
        let p = self.structure.means();
        let mut mean = vec![0.0; p];
        let mut at = self.total(&mean);
        for _ in 0..MOST_NEWTON_STEPS {
            let factor =
                Cholesky::new(self.structure.fixed_part(&at.curvature), p).ok_or_else(singular)?;
            let score: Vec<f64> = self.structure.fixed.iter().map(|&k| at.score[k]).collect();
            let mut step = score.clone();
            factor.solve(&mut step);
            let decrease = dot(&step, &score);
            let mut length = 1.0;
            let mut next = None;
            for _ in 0..MOST_HALVINGS {
                let mut moved = mean.clone();
                add_scaled(&mut moved, length, &step);
                let found = self.total(&moved);
                // A full step may overshoot where probabilities are near zero or one.
                if found.value >= at.value {
                    next = Some((moved, found));
                    break;
                }
                length *= 0.5;
            }
            let Some((moved, found)) = next else { break };
            (mean, at) = (moved, found);
            if decrease < LEAST_DECREASE {
                break;
            }
        }
        Ok((mean, at))
    }

    fn start(&self) -> MutexGuard<'_, Vec<f64>> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The likelihood of all rows with the mean coefficients.
    fn total(&self, mean: &[f64]) -> NodeLikelihood {
        let d = self.structure.columns;
        let mut weights = vec![0.0; d];
        self.structure.fixed.iter().zip(mean).for_each(|(&k, mean)| weights[k] = *mean);
        let parts: Vec<NodeLikelihood> =
            self.nodes.par_iter().map(|node| node.likelihood(&weights)).collect();
        let mut total = NodeLikelihood {
            value: -0.5 * MEAN_PRECISION * dot(mean, mean),
            score: weights.iter().map(|w| -MEAN_PRECISION * w).collect(),
            curvature: vec![0.0; d * d],
        };
        total.curvature.iter_mut().step_by(d + 1).for_each(|entry| *entry = MEAN_PRECISION);
        for part in &parts {
            total.value += part.value;
            add_scaled(&mut total.score, 1.0, &part.score);
            add_scaled(&mut total.curvature, 1.0, &part.curvature);
        }
        total
    }

    fn likelihoods(&self, relative: &Relative, mean: &[f64], u: &[f64]) -> Vec<NodeLikelihood> {
        let q = self.structure.size();
        let of_node = |(i, node): (usize, &NodeRows)| {
            let own = &u[i * q..(i + 1) * q];
            node.likelihood(&self.structure.coefficients(relative, mean, own))
        };
        self.nodes.par_iter().enumerate().map(of_node).collect()
    }

    fn objective(&self, relative: &Relative, likelihoods: &[NodeLikelihood], u: &[f64]) -> f64 {
        let fit: f64 = likelihoods.iter().map(|node| node.value).sum();
        self.structure.precision.quadratic(relative.rho, u, self.structure.width()) - 2.0 * fit
    }

    /// The minimum over u, by Newton's method.
    fn mode(&self, relative: &Relative, mean: &[f64]) -> Option<Mode> {
        let (structure, q) = (&self.structure, self.structure.size());
        // The search moves little from look to look, and so does the minimum.
        let mut u = self.start().clone();
        let mut likelihoods = self.likelihoods(relative, mean, &u);
        let mut value = self.objective(relative, &likelihoods, &u);
        // Far from the last point an exponential may overflow.
        if !value.is_finite() {
            u.fill(0.0);
            likelihoods = self.likelihoods(relative, mean, &u);
            value = self.objective(relative, &likelihoods, &u);
        }
        let mut is_last = false;
        for _ in 0..MOST_NEWTON_STEPS {
            let factor = structure.factor(relative, |i| &likelihoods[i].curvature)?;
            let mut step = structure.precision.times(relative.rho, &u, structure.width());
            for (i, node) in likelihoods.iter().enumerate() {
                let pulled = structure.pulled_back(&node.score, relative);
                add_scaled(&mut step[i * q..(i + 1) * q], -1.0, &pulled);
            }
            let gradient = step.clone();
            factor.solve(&mut step, 1);
            let decrease = dot(&gradient, &step);
            let mut length = 1.0;
            let mut is_better = false;
            for _ in 0..MOST_HALVINGS {
                let mut moved = u.clone();
                add_scaled(&mut moved, -length, &step);
                let found = self.likelihoods(relative, mean, &moved);
                let next = self.objective(relative, &found, &moved);
                // Where the objective is flat, rounding may raise it a little.
                if next <= value + LEAST_DECREASE {
                    (u, likelihoods, value, is_better) = (moved, found, next, true);
                    break;
                }
                length *= 0.5;
            }
            if is_last || !is_better {
                break;
            }
            // One step more doubles the digits: the gradient below is that of an exact minimum.
            is_last = decrease < LEAST_DECREASE;
        }
        let factor = structure.factor(relative, |i| &likelihoods[i].curvature)?;
        self.start().clone_from(&u);
        value.is_finite().then_some(Mode { value, deviations: u, likelihoods, factor })
    }

    fn deviance_of(&self, relative: &Relative, mean: &[f64], mode: &Mode) -> Option<f64> {
        let structure = &self.structure;
        let omega = structure.precision.log_determinant(&structure.pattern, relative.rho)?;
        let deviance = mode.value + mode.factor.log_determinant()
            - structure.width().coupled as f64 * omega
            + MEAN_PRECISION * dot(mean, mean);
        deviance.is_finite().then_some(deviance)
    }

    /// t of each node, and v of all.
    fn movement(
        &self,
        relative: &Relative,
        mean: &[f64],
        mode: &Mode,
        inverse: &SelectedInverse,
    ) -> (Vec<Vec<f64>>, Vec<f64>) {
        let (structure, q) = (&self.structure, self.structure.size());
        let of_node = |(i, node): (usize, &NodeRows)| {
            let own = &mode.deviations[i * q..(i + 1) * q];
            let weights = structure.coefficients(relative, mean, own);
            let spread = structure.embedded(&structure.spread(relative, inverse.node(i)));
            node.third(&weights, &spread)
        };
        let thirds: Vec<Vec<f64>> = self.nodes.par_iter().enumerate().map(of_node).collect();
        // All nodes at once: the minimum of each moves with those of its neighbours.
        let mut v: Vec<f64> =
            thirds.iter().flat_map(|t| structure.pulled_back(t, relative)).collect();
        mode.factor.solve(&mut v, 1);
        (thirds, v)
    }

    /// Puts the mean of a coefficient that is each node's own at the mean of the nodes that determine it. The
    /// likelihood hardly knows of it, but nodes whose rows say nothing have it.
    fn centre(&self, end: &mut End<Mode>) {
        let (structure, q) = (&self.structure, self.structure.size());
        if structure.free == 0 {
            return;
        }
        let (inverse, u) = (end.extra.factor.selected_inverse(), &end.extra.deviations);
        for k in structure.width().coupled..q {
            let Some(place) = structure.fixed.iter().position(|&own| own == structure.random[k])
            else {
                continue;
            };
            let known: Vec<f64> = (0..structure.nodes())
                .filter(|&node| inverse.node(node)[k * (q + 1)] <= OPEN_SHARE)
                .map(|node| end.relative.factor[k * (q + 1)] * u[node * q + k])
                .collect();
            end.mean[place] += known.iter().sum::<f64>() / known.len().max(1) as f64;
        }
        if let Some(mode) = self.mode(&end.relative, &end.mean) {
            end.extra = mode;
        }
    }

    fn estimate(&self, end: End<Mode>) -> Result<MixedEstimate> {
        let (structure, relative, mode) = (&self.structure, end.relative, end.extra);
        let (p, q) = (structure.means(), structure.size());
        // No right side: the minimum is known, and only its errors are asked for.
        let zeros = vec![0.0; structure.columns];
        let gram = |i: usize| &mode.likelihoods[i].curvature[..];
        let mut projection = structure.project(&relative, &mode.factor, gram, |_| &zeros);
        projection.schur.iter_mut().step_by(p + 1).for_each(|entry| *entry += MEAN_PRECISION);
        let schur = Cholesky::new(projection.schur, p).ok_or_else(singular)?;
        let mean_covariance = inverse(&schur, p);
        let solution = Solution {
            noise: 1.0,
            mean: &end.mean,
            mean_covariance: &mean_covariance,
            deviations: &mode.deviations,
            projected: &projection.projected,
        };
        let inverse = mode.factor.selected_inverse();
        let posterior = structure.posterior(&relative, &solution, &inverse);
        let row = |k: usize| &relative.factor[k * q..(k + 1) * q];
        Ok(MixedEstimate {
            covariance: (0..q * q).map(|at| dot(row(at / q), row(at % q))).collect(),
            mean: end.mean,
            mean_covariance: structure.without_free(mean_covariance),
            noise: 1.0,
            factor: relative.factor,
            rho: relative.rho,
            deviance: end.deviance,
            independent: end.independent,
            undetermined: structure.undetermined(&inverse),
            converged: end.converged,
            evaluations: end.evaluations,
            coefficients: posterior.coefficients,
            coefficient_covariances: posterior.coefficient_covariances,
            modes: posterior.modes,
            mode_covariances: posterior.mode_covariances,
        })
    }
}

impl Movable for Problem<'_> {
    fn moved(&self, order: &[usize]) -> Self {
        let nodes: Vec<NodeRows> = order.iter().map(|&node| self.nodes[node].clone()).collect();
        // Of its own: a start that threads shared would make results hang on which was first.
        let start = Mutex::new(vec![0.0; nodes.len() * self.structure.size()]);
        Self { structure: self.structure.clone(), nodes: nodes.into(), start }
    }

    fn work(&self) -> f64 {
        // Newton's method factors a handful of times at every point, and goes through all rows.
        let rows: usize = self.nodes.iter().map(NodeRows::count).sum();
        let columns = self.structure.columns;
        6.0 * (self.structure.work() + (rows * columns * columns) as f64)
    }
}

impl Surface for Problem<'_> {
    type Half = Mode;
    type Extra = Mode;

    fn deviance(&self, relative: &Relative, mean: &[f64]) -> Option<(f64, Mode)> {
        let mode = self.mode(relative, mean)?;
        Some((self.deviance_of(relative, mean, &mode)?, mode))
    }

    fn completed(
        &self,
        relative: &Relative,
        mean: &[f64],
        (deviance, mode): (f64, Mode),
        by_rho: bool,
    ) -> Option<Look<Mode>> {
        let (structure, q) = (&self.structure, self.structure.size());
        let inverse = mode.factor.selected_inverse();
        let (thirds, v) = self.movement(relative, mean, &mode, &inverse);
        let mut by_mean: Vec<f64> = mean.iter().map(|w| 2.0 * MEAN_PRECISION * w).collect();
        let mut by_factor = vec![0.0; q * q];
        for (i, node) in mode.likelihoods.iter().enumerate() {
            let (u, v) = (&mode.deviations[i * q..(i + 1) * q], &v[i * q..(i + 1) * q]);
            // A T v as what a deviation v adds to the score.
            let moved = structure.coefficients(relative, &[], v);
            let mut pull = thirds[i].clone();
            add_scaled(&mut pull, -2.0, &node.score);
            for (pull, row) in pull.iter_mut().zip(node.curvature.chunks_exact(moved.len())) {
                *pull -= dot(row, &moved);
            }
            for (by_mean, &column) in by_mean.iter_mut().zip(structure.fixed) {
                *by_mean += pull[column];
            }
            let product = structure.times_factor(&node.curvature, relative);
            for (a, &column) in structure.random.iter().enumerate() {
                let row = &mut by_factor[a * q..(a + 1) * q];
                for k in 0..q {
                    let p = &inverse.node(i)[k * q..(k + 1) * q];
                    add_scaled(row, 2.0 * product[a * q + k], p);
                }
                add_scaled(row, pull[column], u);
                add_scaled(row, node.score[column], v);
            }
        }
        let by_rho = if by_rho {
            let (precision, width) = (structure.precision, structure.width());
            let determinant = precision.log_determinant_slope(&structure.pattern, relative.rho)?;
            precision.trace_slope(&inverse, width) - width.coupled as f64 * determinant
                + precision.product_slope(&mode.deviations, &mode.deviations, width)
                - precision.product_slope(&v, &mode.deviations, width)
        } else {
            0.0
        };
        Some(Look { deviance, by_factor, by_rho, by_noise: 0.0, by_mean, extra: mode })
    }

    fn mean_variance(&self, rho: f64) -> Option<f64> {
        self.structure.precision.mean_variance(&self.structure.pattern, rho)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mixed::{Family, search::differences},
        network::ring,
        random::{Purpose, Stream},
    };

    #[test]
    fn the_gradient_is_that_of_differences() {
        for family in [Family::Classes(2), Family::Classes(3), Family::Counts] {
            let mut stream = Stream::new(1, 0, 0, Purpose::Data);
            let mut node = |rows: usize| {
                let features: Vec<f64> = (0..rows).flat_map(|_| [1.0, stream.normal()]).collect();
                let labels = (0..rows).flat_map(|row| match family {
                    Family::Classes(classes) => {
                        (0..classes).map(|c| f64::from(u8::from(row % classes == c))).collect()
                    }
                    Family::Counts => vec![(row % 4) as f64],
                });
                NodeRows::new(family, 2, features, labels.collect(), vec![1.0; rows])
            };
            let nodes: Vec<NodeRows> = [3, 0, 9, 2, 5].into_iter().map(&mut node).collect();
            let precision = Precision::along(&ring(5).unwrap());
            let pattern = Arc::new(Pattern::new(precision.neighbours(), 2, usize::MAX).unwrap());
            let columns = 2 * family.outputs();
            let random: Vec<usize> = (0..columns).collect();
            let (fixed, random) = (&random, &random);
            let (free, precision) = (1, &precision);
            let structure = Structure { columns, fixed, random, free, precision, pattern };
            let start = Mutex::new(vec![0.0; 5 * columns]);
            let problem = Problem { structure, nodes: Cow::Borrowed(&nodes), start };
            let mut factor = vec![0.0; columns * columns];
            for row in 0..columns {
                for column in 0..=row {
                    factor[row * columns + column] = if row == column { 0.8 } else { 0.2 };
                }
            }
            let mean: Vec<f64> = (0..columns).map(|k| 0.3 - 0.2 * k as f64).collect();
            differences(&problem, &Relative { factor, rho: 0.6, noise: None }, &mean);
        }
    }
}
