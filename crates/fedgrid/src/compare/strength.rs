//! Strengths: the one number of a method that is chosen, the ridge beside it, and where both are sought.

use serde::{Deserialize, Serialize};

use super::{Contestant, Study};
use crate::error::Result;

/// Exponents of ten: the coarse grid of pulls, in units of the method.
// Units are chosen such that one is a fair first guess, so two decades on each side suffice to see where the
// error turns.
pub(super) const PULL_EXPONENTS: std::ops::RangeInclusive<i32> = -2..=2;

/// A pull and a ridge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// The pull α; zero for contestants without one.
    pub alpha: f64,
    /// The ridge of models that have one; none leaves it as the models say.
    pub ridge: Option<f64>,
}

/// The strengths at which a method is tried.
#[derive(Debug, Clone)]
pub enum Grid {
    /// One only.
    Fixed(f64),
    /// Powers of ten of a unit, wider where an edge wins and finer around the best.
    Decades(f64),
    /// These.
    Listed(Vec<f64>),
}

/// What the scale of a strength may depend on.
#[derive(Debug)]
pub struct Units<'a> {
    /// The study.
    pub study: &'a Study,
    /// The mean variance of the features.
    pub variance: f64,
    /// The mean degree of the nodes in the network that is used.
    pub mean_degree: f64,
}

impl Units<'_> {
    /// Powers of ten of a pull that counts once per node, not once per neighbour.
    pub(super) fn decades_over_degree(&self, unit: f64, hub: f64) -> Grid {
        if self.mean_degree + hub == 0.0 {
            Grid::Fixed(0.0)
        } else if self.mean_degree == 0.0 {
            Grid::Decades(unit)
        } else {
            Grid::Decades(unit / self.mean_degree)
        }
    }

    /// Powers of ten of a pull on weights, of which one counts as much as one on predictions.
    pub(super) fn pulls_of_weights(&self) -> Grid {
        Grid::Decades(2.0 * self.variance)
    }

    pub(super) fn nodes_with_rows(&self) -> usize {
        self.study.plan.train.iter().filter(|rows| !rows.is_empty()).count()
    }
}

impl Grid {
    pub(super) fn listed(strengths: &[f64]) -> Self {
        Self::Listed(strengths.to_vec())
    }

    pub(super) fn of(units: &Units, contestant: Contestant) -> Result<Self> {
        let study = units.study;
        match study.settings.alpha.filter(|_| study.is_own(contestant)) {
            Some(strength) => Ok(Self::Fixed(strength)),
            None => study.method_of(contestant).grid(units),
        }
    }

    /// The strengths that are tried first, from strong to weak.
    pub(super) fn first(&self) -> Vec<f64> {
        match self {
            Self::Fixed(alpha) => vec![*alpha],
            Self::Decades(unit) => {
                PULL_EXPONENTS.rev().map(|exponent| pull(*unit, exponent)).collect()
            }
            Self::Listed(strengths) => strengths.clone(),
        }
    }
}

/// A pull so many powers of ten from its unit.
pub(super) fn pull(unit: f64, exponent: i32) -> f64 {
    unit * 10_f64.powi(exponent)
}
