//! A mixed model whose rows are at many places: whoever leads asks for sums over all nodes at some
//! variances and ρ, and the answers say where to look next.
//!
//! The search is the one of [`MixedModel`](super::MixedModel), run again from its start over the answers
//! so far: what it asks for first beyond them is the next question. So it needs no state but the answers.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use super::{
    Likelihood, Precision,
    laplace::MEAN_PRECISION,
    node_system::{Means, Question},
    search::{Look, Relative, Search, Sought, Surface, failed, given},
    structure::{LEAST_NOISE_SHARE, inverse},
};
use crate::{
    algebra::{Cholesky, Pattern, dot},
    error::Result,
};

/// Blocks of a factor of Ω that are worth their memory: a gigabyte.
const MOST_BLOCKS: usize = 1 << 27;

/// What is asked of the answers.
#[derive(Debug)]
pub(crate) struct Leader {
    precision: Arc<Precision>,
    pattern: Arc<Pattern>,
    pub(crate) likelihood: Likelihood,
    /// ρ; none estimates it.
    rho: Option<f64>,
}

/// What is known of the deviations beforehand.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Known {
    /// The variance of each, where it is given.
    pub(crate) variances: Vec<Option<f64>>,
    /// How many, the last, are each node's own.
    pub(crate) free: usize,
}

/// What all nodes are alike in, known before the search.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    /// A fair first guess for each entry of T.
    pub(crate) units: Vec<f64>,
    /// The rows that determine the noise.
    pub(crate) freedom: f64,
    /// Whether traces are drawn.
    pub(crate) is_noisy: bool,
    /// Where the search for σ² starts, if variances are given.
    pub(crate) noise: Option<f64>,
    /// Where the search for the mean coefficients starts with about their errors, if they do not follow.
    pub(crate) mean: Vec<(f64, f64)>,
}

/// An answered question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) deviance: f64,
    pub(crate) by_factor: Vec<f64>,
    pub(crate) by_rho: f64,
    /// By log σ², where it is sought.
    pub(crate) by_noise: f64,
    /// σ².
    pub(crate) noise: f64,
    /// By the mean coefficients, where they are sought.
    pub(crate) by_mean: Vec<f64>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A question.
    Ask(Question),
    /// Nothing: this one has the largest likelihood, which was this answer.
    Found { question: Question, answer: usize },
}

/// The sums that a question is answered with first: the mean coefficients with log|M| and log|S|; none if they
/// are not determined.
pub(crate) fn means(sums: &[f64], p: usize) -> Option<(Means, f64, f64)> {
    let (rows, logarithm) = sums.split_at_checked(p * (p + 1))?;
    let schur = rows.chunks_exact(p + 1).flat_map(|row| row[..p].to_vec()).collect();
    let schur = Cholesky::new(schur, p)?;
    let mut values: Vec<f64> = rows.chunks_exact(p + 1).map(|row| row[p]).collect();
    schur.solve(&mut values);
    let covariance = inverse(&schur, p);
    Some((Means { values, covariance }, *logarithm.last()?, schur.log_determinant()))
}

impl Known {
    fn coupled(&self) -> usize {
        self.variances.len() - self.free
    }

    /// Whether σ² must be sought: variances are given in the unit of labels.
    pub(crate) fn has_any(&self) -> bool {
        self.free > 0 || self.variances.iter().any(Option::is_some)
    }

    /// The question whose answer says where the search for σ² starts: nothing is drawn together where coefficients
    /// are each node's own, and all others as little as a first guess says.
    pub(crate) fn first_question(&self, units: &[f64]) -> Question {
        let guess = given(&[], units, self.free, 1.0);
        let one =
            |(k, unit): (usize, &f64)| guess.get(k).copied().flatten().map_or(*unit, f64::sqrt);
        let factor = units.iter().enumerate().map(one).collect();
        Question { factor, rho: 0.0, noise: None, mean: Vec::new() }
    }

    /// σ² to start from, from the noise of that answer and the sums of shares that rows leave open at so many nodes;
    /// none if no row is left to tell it.
    pub(crate) fn first_noise(
        &self,
        noise: f64,
        freedom: f64,
        (open, nodes): (&[f64], usize),
    ) -> Option<f64> {
        let known = |open: &f64| nodes as f64 - open;
        let used = open[self.coupled()..].iter().map(known).sum::<f64>() - self.free as f64;
        // Shares that are nearly one make up a little less than a number of rows.
        (freedom - used >= 0.5).then(|| noise * freedom / (freedom - used))
    }
}

impl Leader {
    pub(crate) fn new(
        precision: &Arc<Precision>,
        likelihood: Likelihood,
        rho: Option<f64>,
    ) -> Result<Self> {
        let pattern = Pattern::new(precision.neighbours(), 1, MOST_BLOCKS)
            .ok_or_else(|| failed("the network is too dense for a sparse factor"))?;
        let rho = if precision.has_edges() { rho } else { Some(0.0) };
        Ok(Self { precision: precision.clone(), pattern: Arc::new(pattern), likelihood, rho })
    }

    /// The answer that sums give; none where the likelihood has no value.
    pub(crate) fn answer(
        &self,
        question: &Question,
        (setting, known): (&Setting, &Known),
        ((log_m, log_s), slopes): ((f64, f64), &[f64]),
    ) -> Option<Answer> {
        let (q, coupled) = (question.factor.len(), known.coupled() as f64);
        let freedom = setting.freedom;
        let [penalised, labels, quadratic, trace] = *slopes.first_chunk()?;
        let penalised = penalised + LEAST_NOISE_SHARE * labels;
        let noise = question.noise.unwrap_or(penalised / freedom);
        let by_noise = question.noise.map_or(0.0, |noise| freedom - penalised / noise);
        let omega = self.precision.log_determinant(&self.pattern, question.rho)?;
        let mut deviance = freedom * (1.0 + (2.0 * std::f64::consts::PI * noise).ln()) - by_noise
            + log_m
            - coupled * omega;
        if self.likelihood == Likelihood::Restricted {
            deviance += log_s;
        }
        let (curved, pulled) = slopes[4..].split_at(q);
        let by_factor = curved.iter().zip(pulled).map(|(g, r)| g - 2.0 / noise * r).collect();
        let omega_slope = self.precision.log_determinant_slope(&self.pattern, question.rho)?;
        let by_rho = trace - coupled * omega_slope + quadratic / noise;
        let by_mean = Vec::new();
        let answer = Answer { deviance, by_factor, by_rho, by_noise, noise, by_mean };
        deviance.is_finite().then_some(answer)
    }

    /// The answer of Laplace's approximation, from the minimum with log|M| and the sums of the gradient.
    pub(crate) fn laplace_answer(
        &self,
        question: &Question,
        known: &Known,
        ((minimum, log_m), slopes): ((f64, f64), &[f64]),
    ) -> Option<Answer> {
        let (q, coupled) = (question.factor.len(), known.coupled() as f64);
        let (&[by_rho], rest) = slopes.split_first_chunk()?;
        let (by_factor, by_mean) = rest.split_at_checked(q)?;
        let omega = self.precision.log_determinant(&self.pattern, question.rho)?;
        let omega_slope = self.precision.log_determinant_slope(&self.pattern, question.rho)?;
        let mean = &question.mean;
        let prior = by_mean.iter().zip(mean).map(|(slope, w)| slope + 2.0 * MEAN_PRECISION * w);
        let deviance = minimum + log_m - coupled * omega + MEAN_PRECISION * dot(mean, mean);
        let answer = Answer {
            deviance,
            by_factor: by_factor.to_vec(),
            by_rho: by_rho - coupled * omega_slope,
            by_noise: 0.0,
            noise: 1.0,
            by_mean: prior.collect(),
        };
        deviance.is_finite().then_some(answer)
    }

    /// Where to look next.
    pub(crate) fn next(
        &self,
        (setting, known): (&Setting, &Known),
        answers: &[Option<Answer>],
    ) -> Result<Next> {
        let surface = Answered {
            leader: self,
            answers,
            is_noisy: setting.is_noisy,
            used: Cell::new(0),
            asked: RefCell::new(None),
        };
        let (units, noise) = (&setting.units[..], setting.noise);
        let variances = &given(&known.variances, units, known.free, noise.unwrap_or(1.0))[..];
        let (correlated, rho, mean) = (false, self.rho, &setting.mean[..]);
        let sought = Sought { units, variances, noise, correlated, rho, mean };
        let end = Search::new(&surface, &sought).run();
        // First, because a search that ran out of answers may have failed for that alone.
        if let Some(question) = surface.asked.take() {
            return Ok(Next::Ask(question));
        }
        let end = end?;
        Ok(Next::Found { question: question(&end.relative, &end.mean), answer: end.extra })
    }
}

fn question(relative: &Relative, mean: &[f64]) -> Question {
    let q = relative.factor.len().isqrt();
    let factor = relative.factor.iter().step_by(q + 1).copied().collect();
    Question { factor, rho: relative.rho, noise: relative.noise, mean: mean.to_vec() }
}

/// A likelihood that is known where it was asked for, in the order of the questions. Beyond, it has no
/// value, which soon ends any search.
struct Answered<'a> {
    leader: &'a Leader,
    answers: &'a [Option<Answer>],
    is_noisy: bool,
    used: Cell<usize>,
    asked: RefCell<Option<Question>>,
}

impl Surface for Answered<'_> {
    /// Which answer: it has the gradient, too.
    type Half = usize;
    type Extra = usize;

    fn deviance(&self, relative: &Relative, mean: &[f64]) -> Option<(f64, usize)> {
        // The search is the same every time, so that its looks come in the order of the answers.
        let place = self.used.replace(self.used.get() + 1);
        let Some(answer) = self.answers.get(place) else {
            self.asked.borrow_mut().get_or_insert_with(|| question(relative, mean));
            return None;
        };
        answer.as_ref().map(|answer| (answer.deviance, place))
    }

    fn completed(
        &self,
        _: &Relative,
        _: &[f64],
        (deviance, place): (f64, usize),
        by_rho: bool,
    ) -> Option<Look<usize>> {
        let Answer { by_factor: slopes, by_rho: slope, by_noise, by_mean, .. } =
            self.answers.get(place)?.as_ref()?;
        let q = slopes.len();
        let mut by_factor = vec![0.0; q * q];
        slopes.iter().enumerate().for_each(|(k, slope)| by_factor[k * q + k] = *slope);
        let by_rho = if by_rho { *slope } else { 0.0 };
        let (by_noise, by_mean) = (*by_noise, by_mean.clone());
        Some(Look { deviance, by_factor, by_rho, by_noise, by_mean, extra: place })
    }

    fn mean_variance(&self, rho: f64) -> Option<f64> {
        self.leader.precision.mean_variance(&self.leader.pattern, rho)
    }

    fn is_noisy(&self) -> bool {
        self.is_noisy
    }
}
