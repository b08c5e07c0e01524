//! Newton's method where every look is an answer of many nodes: run again from its start over the answers so far,
//! it says what to ask next. The steps are those of [`LaplaceModel`](super::LaplaceModel) in one place.

use super::{
    family::Family,
    laplace::{LEAST_DECREASE, MEAN_PRECISION, MOST_HALVINGS, MOST_NEWTON_STEPS},
    structure::inverse,
};
use crate::algebra::{Cholesky, add_scaled, dot};

/// What comes next in the search for the mean coefficients without deviations.
#[derive(Debug)]
pub(crate) enum PooledNext {
    /// The likelihood at these.
    Ask(Vec<f64>),
    /// They are found: each with its error, and the curvature of all columns.
    Found(Vec<(f64, f64)>, Vec<f64>),
    /// Columns are combinations of each other.
    Singular,
    /// They tell all classes apart.
    ToldApart,
}

/// The mean coefficients of these columns without deviations, from sums of the value, score and curvature of so many
/// columns.
pub(crate) fn pooled(
    family: Family,
    (fixed, columns): (&[usize], usize),
    answers: &[Vec<f64>],
) -> PooledNext {
    let p = fixed.len();
    let mut answers = answers.iter();
    let mut mean = vec![0.0; p];
    let Some(mut at) = answers.next().map(|sums| Total::new(sums, (fixed, columns), &mean)) else {
        return PooledNext::Ask(mean);
    };
    for _ in 0..MOST_NEWTON_STEPS {
        let Some(factor) = Cholesky::new(at.fixed_curvature.clone(), p) else {
            return PooledNext::Singular;
        };
        let mut step = at.score.clone();
        factor.solve(&mut step);
        let decrease = dot(&step, &at.score);
        let (mut length, mut next) = (1.0, None);
        for _ in 0..MOST_HALVINGS {
            let mut moved = mean.clone();
            add_scaled(&mut moved, length, &step);
            let Some(sums) = answers.next() else { return PooledNext::Ask(moved) };
            let found = Total::new(sums, (fixed, columns), &moved);
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
    let log_likelihood = at.value + 0.5 * MEAN_PRECISION * dot(&mean, &mean);
    if family.are_told_apart(log_likelihood) {
        return PooledNext::ToldApart;
    }
    let Some(factor) = Cholesky::new(at.fixed_curvature, p) else { return PooledNext::Singular };
    let errors = inverse(&factor, p);
    let with_errors = mean.iter().enumerate().map(|(k, w)| (*w, errors[k * p + k].sqrt()));
    PooledNext::Found(with_errors.collect(), at.curvature)
}

/// The likelihood of all rows, with what is known of mean coefficients beforehand.
struct Total {
    value: f64,
    score: Vec<f64>,
    curvature: Vec<f64>,
    fixed_curvature: Vec<f64>,
}

impl Total {
    fn new(sums: &[f64], (fixed, columns): (&[usize], usize), mean: &[f64]) -> Self {
        let mut curvature = sums[1 + columns..].to_vec();
        curvature.iter_mut().step_by(columns + 1).for_each(|entry| *entry += MEAN_PRECISION);
        let row = |&row: &usize| {
            let curvature = &curvature;
            fixed.iter().map(move |column| curvature[row * columns + column])
        };
        let score = fixed.iter().zip(mean).map(|(&k, w)| sums[1 + k] - MEAN_PRECISION * w);
        Self {
            value: sums[0] - 0.5 * MEAN_PRECISION * dot(mean, mean),
            score: score.collect(),
            fixed_curvature: fixed.iter().flat_map(row).collect(),
            curvature,
        }
    }
}

/// What comes next in the search for the minimum over all deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ModeNext {
    /// A look from where the last search ended, or from zeros.
    Start { is_fresh: bool },
    /// So much of the step from the point before; again if it is another share of the same step.
    Move { length: f64, is_again: bool },
    /// The last look is at the minimum.
    Found,
    /// There is none.
    Failed,
}

/// The next step to the minimum over all deviations, from the looks so far: the objective and twice its expected
/// decrease; none where it has no value.
pub(crate) fn mode(looks: &[Option<(f64, f64)>]) -> ModeNext {
    let mut looks = looks.iter();
    let first = match looks.next() {
        None => return ModeNext::Start { is_fresh: false },
        Some(Some(look)) => look,
        // Far from the last minimum an exponential may overflow: then from zeros, and from nowhere else.
        Some(None) => match looks.next() {
            None => return ModeNext::Start { is_fresh: true },
            Some(None) => return ModeNext::Failed,
            Some(Some(look)) => look,
        },
    };
    let (mut value, mut decrease) = *first;
    let mut is_last = false;
    for _ in 0..MOST_NEWTON_STEPS {
        let (mut length, mut better) = (1.0, None);
        for halving in 0..MOST_HALVINGS {
            match looks.next() {
                None => return ModeNext::Move { length, is_again: halving > 0 },
                Some(look) => better = look.filter(|(next, _)| *next <= value + LEAST_DECREASE),
            }
            if better.is_some() {
                break;
            }
            length *= 0.5;
        }
        let Some((next, further)) = better else {
            // Only rounding is left: back to where the step began.
            let back = ModeNext::Move { length: 0.0, is_again: true };
            return looks.next().map_or(back, |_| ModeNext::Found);
        };
        if is_last {
            break;
        }
        is_last = decrease < LEAST_DECREASE;
        (value, decrease) = (next, further);
    }
    ModeNext::Found
}
