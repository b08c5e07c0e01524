//! The search for relative variances, ρ and, where the likelihood needs it, mean coefficients: BFGS on
//! the deviance.
//!
//! Variances and ρ are sought where the deviance is smooth and even, so that the ends of their ranges
//! need no care: entries of T may have any sign, and 1 − ρ = ε + (1 − ε) exp(−η²). Where variances are given,
//! `T_kk = √(τ_k/σ²)` follows σ², which is then sought itself, by its logarithm.

use super::quasi_newton::{Function, Limits, Point, minimise};
use crate::error::{Error, Result};

/// The relative variances.
#[derive(Debug, Clone)]
pub(super) struct Relative {
    /// T, q × q: `T Tᵀ` is the covariance of a node's deviations over σ².
    pub(super) factor: Vec<f64>,
    pub(super) rho: f64,
    /// σ²; none if it is the best one for the others, or if there is none.
    pub(super) noise: Option<f64>,
}

impl Relative {
    /// T as a diagonal; none if it is not one.
    pub(super) fn diagonal(&self) -> Option<Vec<f64>> {
        let q = self.factor.len().isqrt();
        let mut rows = self.factor.chunks_exact(q.max(1)).enumerate();
        let is_diagonal =
            rows.all(|(k, row)| row[..k].iter().chain(&row[k + 1..]).all(|entry| *entry == 0.0));
        is_diagonal.then(|| self.factor.iter().step_by(q + 1).copied().collect())
    }
}

/// The deviance at a point with its gradient.
pub(super) struct Look<E> {
    pub(super) deviance: f64,
    /// By the entries of T that are sought, q × q.
    pub(super) by_factor: Vec<f64>,
    /// By ρ; zero where it is not asked for.
    pub(super) by_rho: f64,
    /// By log σ², where it is sought.
    pub(super) by_noise: f64,
    /// By the mean coefficients, where they are sought.
    pub(super) by_mean: Vec<f64>,
    /// What else was computed.
    pub(super) extra: E,
}

/// A likelihood as a function of what is sought.
pub(super) trait Surface {
    /// What is computed on the way to the deviance, from which its gradient goes on.
    type Half;

    /// What is computed on the way to both.
    type Extra;

    /// The deviance; none where it has no value.
    fn deviance(&self, relative: &Relative, mean: &[f64]) -> Option<(f64, Self::Half)>;

    /// The same with its gradient.
    fn completed(
        &self,
        relative: &Relative,
        mean: &[f64],
        half: (f64, Self::Half),
        by_rho: bool,
    ) -> Option<Look<Self::Extra>>;

    /// Whether something is known about the second derivatives.
    fn knows_curvature(&self) -> bool {
        false
    }

    /// About the second derivatives of the deviance by a diagonal T and then ρ; none if unknown.
    fn curvature(&self, _: &Relative, _: &Self::Extra, _by_rho: bool) -> Option<Vec<f64>> {
        None
    }

    /// The spread of deviations over τ, on average, at a ρ.
    fn mean_variance(&self, rho: f64) -> Option<f64>;

    /// Whether deviances and gradients belong to each other only about.
    fn is_noisy(&self) -> bool {
        false
    }
}

/// What is sought, and from where.
#[derive(Debug)]
pub(super) struct Sought<'a> {
    /// A fair first guess for each diagonal entry of T.
    pub(super) units: &'a [f64],
    /// The variance of each deviation, where it is given; empty if none is.
    pub(super) variances: &'a [Option<f64>],
    /// Where the search for σ² starts; none if it is not sought.
    pub(super) noise: Option<f64>,
    /// Whether T is a triangle rather than a diagonal.
    pub(super) correlated: bool,
    /// ρ; none estimates it.
    pub(super) rho: Option<f64>,
    /// The mean coefficients to start from with about their errors; none of them if they follow.
    pub(super) mean: &'a [(f64, f64)],
}

impl Sought<'_> {
    /// The variance of a deviation, if it is given.
    fn variance(&self, k: usize) -> Option<f64> {
        self.variances.get(k).copied().flatten()
    }
}

/// The least 1 − ρ: beyond, Ω is singular in rounding.
const LEAST_REST: f64 = 1e-7;
/// So many times that, and a search may be on its way to the limit.
const NEAR_THE_LIMIT: f64 = 10.0;
/// Deviances that are closer are the same but for the rounding of nearly singular systems, which is a few 1e-8, and far
/// below what rows can tell, which is about one.
const AS_GOOD: f64 = 1e-6;
/// Where ρ is tried first: deviances may have several minima in ρ.
const FIRST_RHOS: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// The deviance is known to some ten digits, and variances to half of that.
pub(super) const LIMITS: Limits =
    Limits { looks: 500, decrease: 1e-10, is_noisy: false, refines: true };
/// Likelihoods that are only compared with each other need no more digits than their sampling error leaves, which is
/// about one.
const ROUGH_LIMITS: Limits = Limits { looks: 60, decrease: 1e-3, is_noisy: false, refines: false };
/// About the width of the minimum, in units of the start: a variance is known to a few tenths.
const WIDTH: f64 = 0.3;
/// Below this share of its unit an entry of T is as good as zero.
pub(super) const AS_GOOD_AS_ZERO: f64 = 1e-2;
/// How often the search may leave a zero that is a maximum.
pub(super) const MOST_ESCAPES: usize = 3;
/// Added to every second derivative: a variance that the rows say nothing about has none.
pub(super) const LEAST_CURVATURE: f64 = 1e-6;
/// The least entry of T to start from, in its unit: at zero the deviance is flat.
pub(super) const LEAST_START: f64 = 0.1;
/// The variance of a coefficient that is each node's own, in units in which a node's rows and its deviation count
/// the same: its rows decide to eight digits, and the mean coefficient keeps as many.
const FREE_VARIANCE: f64 = 1e8;

/// The variances of deviations as the search takes them: those that are given and, for the last ones, which are
/// free, such large ones that nothing is drawn to the mean.
pub(super) fn given(
    variances: &[Option<f64>],
    units: &[f64],
    free: usize,
    noise: f64,
) -> Vec<Option<f64>> {
    if free == 0 && variances.iter().all(Option::is_none) {
        return Vec::new();
    }
    let coupled = units.len() - free;
    let one = |(k, unit): (usize, &f64)| {
        if k < coupled {
            variances.get(k).copied().flatten()
        } else {
            Some(FREE_VARIANCE * noise * unit * unit)
        }
    };
    units.iter().enumerate().map(one).collect()
}

/// Where the search has ended.
pub(super) struct End<E> {
    pub(super) relative: Relative,
    pub(super) mean: Vec<f64>,
    pub(super) extra: E,
    pub(super) deviance: f64,
    /// The least deviance at ρ = 0, where ρ was sought.
    pub(super) independent: Option<f64>,
    pub(super) converged: bool,
    /// How often the likelihood was computed.
    pub(super) evaluations: usize,
}

pub(super) struct Search<'a, S> {
    surface: &'a S,
    sought: &'a Sought<'a>,
    /// The entries of T that are sought, row and column.
    entries: Vec<(usize, usize)>,
    limits: Limits,
    evaluations: usize,
}

impl<'a, S: Surface> Search<'a, S> {
    pub(super) fn new(surface: &'a S, sought: &'a Sought<'a>) -> Self {
        let entries = (0..sought.units.len())
            .flat_map(|row| (0..=row).map(move |column| (row, column)))
            .filter(|(row, column)| sought.correlated || row == column)
            .filter(|(row, column)| [row, column].iter().all(|k| sought.variance(**k).is_none()))
            .collect();
        let limits = Limits { is_noisy: surface.is_noisy(), ..LIMITS };
        Self { surface, sought, entries, limits, evaluations: 0 }
    }

    /// The same, which stops where the likelihood is known to three digits behind the point.
    pub(super) fn rough(surface: &'a S, sought: &'a Sought<'a>) -> Self {
        Self { limits: ROUGH_LIMITS, ..Self::new(surface, sought) }
    }

    /// How often the likelihood was computed so far.
    pub(super) fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// The minimum of the deviance.
    pub(super) fn run(mut self) -> Result<End<S::Extra>> {
        let mut without = self.at_given_rho()?;
        if self.sought.rho.is_some() {
            return Ok(without);
        }
        let independent = Some(without.deviance);
        if let Some(with) = self.better_along(&without.relative, &without.mean, without.deviance)? {
            return Ok(with);
        }
        if self.knows_hessian() {
            without = self.walk((&without.relative, None), &without.mean, false)?;
        }
        Ok(End { independent, evaluations: self.evaluations, ..without })
    }

    /// The minimum over ρ, too, if it is less than this one at ρ = 0: along a network only if the rows speak for it.
    pub(super) fn better_along(
        &mut self,
        without: &Relative,
        mean: &[f64],
        deviance: f64,
    ) -> Result<Option<End<S::Extra>>> {
        let with = self.along(without, mean)?.filter(|with| with.deviance < deviance);
        Ok(with.map(|with| End { independent: Some(deviance), ..with }))
    }

    /// The minimum at the ρ that is given, or else at zero: there to as many digits as the deviance tells, where it is
    /// easy to go on from it.
    pub(super) fn at_given_rho(&mut self) -> Result<End<S::Extra>> {
        let limits = self.limits;
        self.limits.refines &= self.sought.rho.is_some() || !self.knows_hessian();
        let end = self.at_first_rho();
        self.limits = limits;
        end
    }

    fn at_first_rho(&mut self) -> Result<End<S::Extra>> {
        let q = self.sought.units.len();
        let mut factor = vec![0.0; q * q];
        (0..q).for_each(|k| factor[k * q + k] = self.sought.units[k]);
        let mean: Vec<f64> = self.sought.mean.iter().map(|(value, _)| *value).collect();
        let (rho, noise) = (self.sought.rho.unwrap_or(0.0), self.sought.noise);
        self.walk((&Relative { factor, rho, noise }, None), &mean, false)
    }

    /// Whether the deviance tells about its Hessian. With covariances second derivatives are often singular, and BFGS
    /// copes better; where some variances are given, those by σ² are not known.
    fn knows_hessian(&self) -> bool {
        let is_plain = !self.sought.correlated && self.sought.variances.is_empty();
        is_plain && self.surface.knows_curvature()
    }

    /// The minimum over ρ, too, from the one at ρ = 0; none if the deviance has no value beside it.
    pub(super) fn along(
        &mut self,
        without: &Relative,
        mean: &[f64],
    ) -> Result<Option<End<S::Extra>>> {
        let mut best: Option<(Relative, (f64, S::Half))> = None;
        for start in self.starts(without, &FIRST_RHOS) {
            self.evaluations += 1;
            let Some(half) = self.surface.deviance(&start, mean) else { continue };
            if best.as_ref().is_none_or(|(_, (least, _))| half.0 < *least) {
                best = Some((start, half));
            }
        }
        let Some((start, half)) = best else { return Ok(None) };
        let end = self.walk((&start, Some(half)), mean, true)?;
        let is_near_the_limit = 1.0 - end.relative.rho < NEAR_THE_LIMIT * LEAST_REST;
        Ok(Some(if is_near_the_limit { self.at_limit(end) } else { end }))
    }

    /// Where the deviance falls up to the largest ρ there is no point at which a search must end: the limit itself is
    /// taken, unless it is worse.
    fn at_limit(&mut self, end: End<S::Extra>) -> End<S::Extra> {
        let start = Relative { rho: 1.0 - LEAST_REST, ..end.relative.clone() };
        match self.walk((&start, None), &end.mean, false) {
            Ok(limit) if limit.deviance <= end.deviance + AS_GOOD => limit,
            _ => End { evaluations: self.evaluations, ..end },
        }
    }

    /// Where the deviance is looked at along a network, from the minimum at ρ = 0.
    pub(super) fn starts(&self, without: &Relative, rhos: &[f64]) -> Vec<Relative> {
        rhos.iter().filter_map(|rho| self.rescaled(without, *rho)).collect()
    }

    /// The same spread of deviations at another ρ.
    fn rescaled(&self, relative: &Relative, rho: f64) -> Option<Relative> {
        let scale = self.surface.mean_variance(rho)?.sqrt().recip();
        let mut factor = relative.factor.clone();
        let q = self.sought.units.len();
        for &(row, column) in &self.entries {
            let own = &mut factor[row * q + column];
            if row == column {
                // A variance that is zero without the network need not be so with it.
                *own = own.abs().max(LEAST_START * self.sought.units[row]);
            }
            *own *= scale;
        }
        Some(Relative { factor, rho, noise: relative.noise })
    }

    /// Walks from a start, where the deviance may be known, to a minimum.
    fn walk(
        &mut self,
        (start, half): (&Relative, Option<(f64, S::Half)>),
        mean: &[f64],
        by_rho: bool,
    ) -> Result<End<S::Extra>> {
        let q = self.sought.units.len();
        let mut at: Vec<f64> = self
            .entries
            .iter()
            .map(|&(row, column)| start.factor[row * q + column] / self.sought.units[row])
            .collect();
        // The minimum is about as wide as the start is large.
        let mut scale: Vec<f64> = self
            .entries
            .iter()
            .map(|&(row, _)| start.factor[row * q + row].abs() / self.sought.units[row])
            // A variance that was zero with fewer rows may be none now.
            .map(|size| WIDTH * if size > 0.0 { size } else { LEAST_START })
            .collect();
        if by_rho {
            at.push(eta(start.rho));
            scale.push(WIDTH);
        }
        if let Some(noise) = start.noise {
            at.push(noise.ln());
            scale.push(WIDTH);
        }
        at.extend(mean);
        scale.extend(self.sought.mean.iter().map(|(_, error)| *error));
        let (rho, even) = (start.rho, self.entries.len() + usize::from(by_rho));
        let limits = self.limits;
        let mut walk = Walk { search: self, rho, by_rho };
        let first = match half {
            Some(half) => walk.point(&at, (start, mean), half),
            None => walk.look(&at)?,
        };
        let (mut best, mut converged) =
            minimise(first.ok_or_else(singular)?, &scale, limits, &mut walk)?;
        // At zero the deviance is flat also where it is a maximum: then the search goes on from beside it.
        for _ in 0..MOST_ESCAPES {
            let Some(at) = beside_zeros(&best, even) else { break };
            let Some(next) = walk.look(&at)?.filter(|next| next.value < best.value) else { break };
            (best, converged) = minimise(next, &scale, limits, &mut walk)?;
        }
        let (relative, mean) = self.read(&best.at, rho, by_rho);
        Ok(End {
            relative,
            mean,
            extra: best.extra,
            deviance: best.value,
            independent: None,
            converged,
            evaluations: self.evaluations,
        })
    }

    /// What a point of the search means.
    fn read(&self, at: &[f64], rho: f64, by_rho: bool) -> (Relative, Vec<f64>) {
        let q = self.sought.units.len();
        let (entries, rest) = at.split_at(self.entries.len());
        let mut factor = vec![0.0; q * q];
        for (&(row, column), value) in self.entries.iter().zip(entries) {
            factor[row * q + column] = value * self.sought.units[row];
        }
        let (eta, rest) = rest.split_at(usize::from(by_rho));
        // By `exp_m1`, which keeps the digits of a small ρ.
        let rho = eta.first().map_or(rho, |eta| -(1.0 - LEAST_REST) * (-eta * eta).exp_m1());
        let (noise, mean) = rest.split_at(usize::from(self.sought.noise.is_some()));
        let noise = noise.first().map(|logarithm| logarithm.exp());
        for (k, variance) in self.sought.variances.iter().enumerate() {
            let Some(variance) = variance else { continue };
            factor[k * q + k] = (variance / noise.unwrap_or(1.0)).sqrt();
        }
        (Relative { factor, rho, noise }, mean.to_vec())
    }

    /// The derivative by log σ², which entries of T follow that belong to given variances.
    fn noise_slope(&self, relative: &Relative, look: &Look<S::Extra>) -> f64 {
        let q = self.sought.units.len();
        let given = (0..q).filter(|&k| self.sought.variance(k).is_some()).map(|k| k * q + k);
        look.by_noise - given.map(|at| 0.5 * relative.factor[at] * look.by_factor[at]).sum::<f64>()
    }
}

/// The deviance as a function of the coordinates of a search.
struct Walk<'s, 'a, S> {
    search: &'s mut Search<'a, S>,
    /// ρ, where it is not sought.
    rho: f64,
    by_rho: bool,
}

impl<S: Surface> Walk<'_, '_, S> {
    /// The deviance that is known at a point, with its gradient.
    fn point(
        &self,
        at: &[f64],
        (relative, mean): (&Relative, &[f64]),
        half: (f64, S::Half),
    ) -> Option<Point<S::Extra>> {
        let Search { surface, sought, entries, .. } = &*self.search;
        let look = surface.completed(relative, mean, half, self.by_rho)?;
        let q = sought.units.len();
        let mut gradient: Vec<f64> = entries
            .iter()
            .map(|&(row, column)| look.by_factor[row * q + column] * sought.units[row])
            .collect();
        if self.by_rho {
            gradient.push(look.by_rho * rho_slope(at[entries.len()]));
        }
        if relative.noise.is_some() {
            gradient.push(self.search.noise_slope(relative, &look));
        }
        gradient.extend(&look.by_mean);
        Some(Point { at: at.to_vec(), value: look.deviance, gradient, extra: look.extra })
    }
}

impl<S: Surface> Function for Walk<'_, '_, S> {
    type Extra = S::Extra;

    fn look(&mut self, at: &[f64]) -> Result<Option<Point<S::Extra>>> {
        let (relative, mean) = self.search.read(at, self.rho, self.by_rho);
        self.search.evaluations += 1;
        let half = self.search.surface.deviance(&relative, &mean);
        Ok(half.and_then(|half| self.point(at, (&relative, &mean), half)))
    }

    /// Away from the minimum an even function bends by its slope over the distance from zero, too: what keeps a
    /// variance of zero there.
    fn hessian(&self, point: &Point<S::Extra>) -> Option<Vec<f64>> {
        if !self.search.knows_hessian() {
            return None;
        }
        let (at, gradient) = (&point.at, &point.gradient);
        let (relative, _) = self.search.read(at, self.rho, self.by_rho);
        let mut hessian = self.search.surface.curvature(&relative, &point.extra, self.by_rho)?;
        let size = gradient.len();
        let unit = |k: usize| match self.search.sought.units.get(k) {
            Some(unit) => *unit,
            None => rho_slope(at[k]),
        };
        for row in 0..size {
            for column in 0..size {
                hessian[row * size + column] *= unit(row) * unit(column);
            }
            let bend = if at[row] == 0.0 { 0.0 } else { gradient[row] / at[row] };
            hessian[row * size + row] += bend.max(0.0) + LEAST_CURVATURE;
        }
        Some(hessian)
    }
}

/// A point beside the zeros of even coordinates from which the deviance falls; none if it falls from none.
fn beside_zeros<E>(point: &Point<E>, even: usize) -> Option<Vec<f64>> {
    let mut at = point.at.clone();
    let mut falls = false;
    for (x, slope) in at.iter_mut().zip(&point.gradient).take(even) {
        // An even function is a maximum at zero if it falls away from it.
        if *x != 0.0 && x.abs() < AS_GOOD_AS_ZERO && slope / *x < -LEAST_CURVATURE {
            *x = LEAST_START;
            falls = true;
        }
    }
    falls.then_some(at)
}

/// Where ρ is sought.
fn eta(rho: f64) -> f64 {
    (-((1.0 - rho - LEAST_REST) / (1.0 - LEAST_REST)).ln()).max(0.0).sqrt()
}

/// The derivative of ρ by η.
fn rho_slope(eta: f64) -> f64 {
    (1.0 - LEAST_REST) * 2.0 * eta * (-eta * eta).exp()
}

pub(super) fn singular() -> Error {
    failed("its columns are combinations of each other")
}

/// A mixed model that cannot be fitted.
pub(super) fn failed(reason: &str) -> Error {
    Error::Fit { model: "a mixed model", reason: reason.into() }
}

/// Checks a gradient by differences.
#[cfg(test)]
pub(super) fn differences<S: Surface>(surface: &S, relative: &Relative, mean: &[f64]) {
    let half = surface.deviance(relative, mean).unwrap();
    let look = surface.completed(relative, mean, half, true).unwrap();
    let step = 1e-5;
    let check = |found: f64, change: &dyn Fn(f64) -> (Relative, Vec<f64>)| {
        let at = |sign: f64| {
            let (relative, mean) = change(sign * step);
            surface.deviance(&relative, &mean).unwrap().0
        };
        let expected = (at(1.0) - at(-1.0)) / (2.0 * step);
        assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
    };
    for (k, found) in look.by_factor.iter().enumerate().filter(|(k, _)| relative.factor[*k] != 0.0)
    {
        check(*found, &|by| {
            let mut moved = relative.clone();
            moved.factor[k] += by;
            (moved, mean.to_vec())
        });
    }
    check(look.by_rho, &|by| {
        (Relative { rho: relative.rho + by, ..relative.clone() }, mean.to_vec())
    });
    if let Some(noise) = relative.noise {
        check(look.by_noise, &|by| {
            (Relative { noise: Some(noise * by.exp()), ..relative.clone() }, mean.to_vec())
        });
    }
    for (k, found) in look.by_mean.iter().enumerate() {
        check(*found, &|by| {
            let mut moved = mean.to_vec();
            moved[k] += by;
            (relative.clone(), moved)
        });
    }
}
