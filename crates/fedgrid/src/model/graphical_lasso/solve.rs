//! The proximal step of the graphical lasso,
//!
//! ```text
//! argmin  tr(C Θ) − W log det Θ + κ/2 ‖Θ − V‖² + lasso ‖off-diagonal Θ‖₁
//! ```
//!
//! Without lasso the eigenvalues a of V − C/κ become (a + √(a² + 4W/κ)) / 2. With lasso the same
//! step and a threshold take turns (ADMM) until both agree.

use super::eigenvalues::Spectrum;
use crate::{
    algebra::{Cholesky, scale, squared_distance},
    error::{Error, Result},
};

/// How many turns are taken at most.
const MOST_TURNS: usize = 50_000;

/// The two sides agree when they differ by this share of their size.
const AGREEMENT_TOLERANCE: f64 = 1e-11;

/// How often the two sides are balanced, and until when.
const TURNS_PER_BALANCE: usize = 10;
const LAST_BALANCE_TURN: usize = 1000;

/// What is minimised, but for the centre V.
#[derive(Debug, Clone)]
pub(super) struct PrecisionProblem {
    /// The number of variables.
    pub(super) size: usize,
    /// C, row by row.
    pub(super) moments: Vec<f64>,
    /// W.
    pub(super) total: f64,
    /// The lasso of each entry, row by row.
    pub(super) lassos: Vec<f64>,
}

impl PrecisionProblem {
    fn has_lasso(&self) -> bool {
        self.lassos.iter().any(|lasso| *lasso > 0.0)
    }

    /// The minimiser with a centre.
    pub(super) fn proximal(&self, centre: &[f64], kappa: f64) -> Result<Vec<f64>> {
        if self.total == 0.0 {
            let entries = centre.iter().zip(&self.moments).zip(&self.lassos);
            return Ok(entries.map(|((v, c), l)| soft(v - c / kappa, l / kappa)).collect());
        }
        if self.has_lasso() { self.turns(centre, kappa) } else { Ok(self.smooth(centre, kappa)) }
    }

    /// The minimiser without a centre; none if the moments leave a direction free.
    pub(super) fn minimum(&self) -> Result<Option<Vec<f64>>> {
        let spectrum = Spectrum::new(self.moments.clone(), self.size);
        let largest = spectrum.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        // A variance of zero has a likelihood without bound.
        if spectrum.values.iter().any(|value| *value <= 1e-15 * largest) {
            return Ok(None);
        }
        if !self.has_lasso() {
            return Ok(Some(spectrum.map(|value| self.total / value)));
        }
        self.turns(&spectrum.map(|value| self.total / value), 0.0).map(Some)
    }

    /// The step without lasso.
    fn smooth(&self, centre: &[f64], kappa: f64) -> Vec<f64> {
        let shifted = centre.iter().zip(&self.moments).map(|(v, c)| v - c / kappa).collect();
        let room = 4.0 * self.total / kappa;
        Spectrum::new(shifted, self.size).map(|a| {
            let root = (a * a + room).sqrt();
            // The sum would cancel for large negative values.
            if a > 0.0 { f64::midpoint(a, root) } else { 0.5 * room / (root - a) }
        })
    }

    fn turns(&self, centre: &[f64], kappa: f64) -> Result<Vec<f64>> {
        let start = if kappa > 0.0 { self.smooth(centre, kappa) } else { centre.to_vec() };
        // The curvature of the logarithm at the start.
        let mut rho = self.total * (self.size as f64) / start.iter().map(|t| t * t).sum::<f64>();
        let (mut sparse, mut dual) = (start, vec![0.0; centre.len()]);
        for turn in 1..=MOST_TURNS {
            let pull = sparse.iter().zip(&dual).zip(centre);
            let both = pull.map(|((z, u), v)| (rho * (z - u) + kappa * v) / (rho + kappa));
            let dense = self.smooth(&both.collect::<Vec<_>>(), rho + kappa);
            let summed = dense.iter().zip(&dual).map(|(t, u)| t + u);
            let next: Vec<f64> =
                summed.zip(&self.lassos).map(|(entry, lasso)| soft(entry, lasso / rho)).collect();
            for ((u, t), z) in dual.iter_mut().zip(&dense).zip(&next) {
                *u += t - z;
            }
            let apart = squared_distance(&dense, &next).sqrt();
            let moved = squared_distance(&next, &sparse).sqrt();
            sparse = next;
            let size = 1.0 + sparse.iter().map(|z| z * z).sum::<f64>().sqrt();
            if apart.max(moved) <= AGREEMENT_TOLERANCE * size {
                // Thresholding may leave a matrix that is not positive definite; the other side
                // always is.
                let is_sound = Cholesky::new(sparse.clone(), self.size).is_some();
                return Ok(if is_sound { sparse } else { dense });
            }
            // Too weak a pull leaves the sides apart, too strong a one holds both back. It must
            // end: turns are sure to converge under a constant pull only.
            if turn % TURNS_PER_BALANCE == 0 && turn <= LAST_BALANCE_TURN {
                let factor = if apart > 10.0 * moved {
                    2.0
                } else if moved > 10.0 * apart {
                    0.5
                } else {
                    1.0
                };
                rho *= factor;
                scale(&mut dual, 1.0 / factor);
            }
        }
        Err(Error::NotConverged { what: "the graphical lasso", steps: MOST_TURNS })
    }
}

/// The entry moved towards zero by at most so much.
fn soft(entry: f64, threshold: f64) -> f64 {
    (entry.abs() - threshold).max(0.0).copysign(entry)
}
