//! Losses whose derivative is a clipped line, by Newton steps of exact length,
//!
//! ```text
//! min_z  Σ_r weight_r φ_r(y_r − x_rᵀz) + Σ_j ½ p_j (z_j − c_j)²,      φ_r'(t) = clip(slope · t + shift_r, low, high)
//! ```
//!
//! The objective is quadratic in pieces. A Newton step is exact inside a piece, and the minimum
//! along it is found by walking over the kinks, so the method ends after finitely many steps.

use super::{affine::QuadraticPulls, newton_system::NewtonSystem};
use crate::{
    algebra::{add_scaled, dot},
    error::{Error, Result},
};

/// Newton steps at most.
const MOST_STEPS: usize = 500;

/// A gradient of this share of its terms is zero.
const GRADIENT_TOLERANCE: f64 = 1e-14;

/// Where rounding prevents the tolerance, so much is still a solution.
const WORST_GRADIENT_TOLERANCE: f64 = 1e-8;

/// The problem without its shifts.
pub(crate) struct PiecewiseQuadratic<'a> {
    /// Rows x of positive weight, one number per weight z.
    pub(crate) rows: &'a [f64],
    pub(crate) labels: &'a [f64],
    pub(crate) weights: &'a [f64],
    /// The pulls p to the centres c.
    pub(crate) pulls: &'a QuadraticPulls,
    pub(crate) slope: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl PiecewiseQuadratic<'_> {
    /// The minimiser for given shifts, sought from a first point.
    pub(crate) fn minimise(&self, shifts: &[f64], mut point: Vec<f64>) -> Result<Vec<f64>> {
        let curved = NewtonSystem::new(self.rows, point.len(), &self.pulls.strengths);
        let (mut pieces, mut whole) = (Vec::new(), false);
        let mut error = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            let lines = self.lines(shifts, &point);
            let now: Vec<i8> = lines.iter().map(|line| self.piece(*line)).collect();
            let (gradient, size) = self.gradient(&lines, &point);
            // Residuals that are small differences of large numbers let no gradient be known better
            // than this.
            let noise = self.noise(&now, &point);
            let share = |k: usize| {
                let known = (gradient[k].abs() - noise[k]).max(0.0);
                if size[k] > 0.0 { known / size[k] } else { 0.0 }
            };
            error = (0..point.len()).map(share).fold(0.0, f64::max);
            // A whole Newton step that stays in its piece ends at the exact minimum of that
            // parabola.
            if error <= GRADIENT_TOLERANCE || (whole && now == pieces) {
                return Ok(point);
            }
            pieces = now;
            let inside = |(piece, weight): (&i8, &f64)| {
                if *piece == 0 { (weight * self.slope).sqrt() } else { 0.0 }
            };
            let roots: Vec<f64> = pieces.iter().zip(self.weights).map(inside).collect();
            let direction = curved.direction(&roots, 1, &gradient);
            let length = self.length(&lines, &direction, dot(&gradient, &direction));
            // Only rounding lets a Newton direction lead nowhere.
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            add_scaled(&mut point, length, &direction);
            whole = (length - 1.0).abs() < 1e-9;
        }
        if error <= WORST_GRADIENT_TOLERANCE {
            return Ok(point);
        }
        Err(Error::NotConverged { what: "the Newton method on kinks", steps: MOST_STEPS })
    }

    /// The residuals y − xᵀz.
    pub(crate) fn residuals(&self, point: &[f64]) -> Vec<f64> {
        if point.is_empty() {
            return self.labels.to_vec();
        }
        let rows = self.rows.chunks_exact(point.len());
        rows.zip(self.labels).map(|(x, y)| y - dot(x, point)).collect()
    }

    /// The derivatives φ' at given residuals.
    pub(crate) fn forces(&self, shifts: &[f64], residuals: &[f64]) -> Vec<f64> {
        let force = |(t, shift): (&f64, &f64)| (self.slope * t + shift).clamp(self.low, self.high);
        residuals.iter().zip(shifts).map(force).collect()
    }

    /// The lines before they are clipped.
    fn lines(&self, shifts: &[f64], point: &[f64]) -> Vec<f64> {
        let residuals = self.residuals(point);
        residuals.iter().zip(shifts).map(|(t, shift)| self.slope * t + shift).collect()
    }

    fn piece(&self, line: f64) -> i8 {
        i8::from(line >= self.high) - i8::from(line <= self.low)
    }

    /// The gradient, and the sum of the sizes of its terms.
    fn gradient(&self, lines: &[f64], point: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let pulls = self.pulls.strengths.iter().zip(&self.pulls.centres).zip(point);
        let mut gradient: Vec<f64> = pulls.map(|((p, c), z)| p * (z - c)).collect();
        let mut size: Vec<f64> = gradient.iter().map(|g| g.abs()).collect();
        let rows = self.rows.chunks_exact(point.len().max(1));
        for ((x, line), weight) in rows.zip(lines).zip(self.weights) {
            let force = weight * line.clamp(self.low, self.high);
            for ((g, size), x) in gradient.iter_mut().zip(&mut size).zip(x) {
                *g -= force * x;
                *size += (force * x).abs();
            }
        }
        (gradient, size)
    }

    /// How much of the gradient may be the rounding of residuals.
    fn noise(&self, pieces: &[i8], point: &[f64]) -> Vec<f64> {
        let mut noise = vec![0.0; point.len()];
        let rows = self.rows.chunks_exact(point.len().max(1));
        for (row, x) in rows.enumerate().filter(|(row, _)| pieces[*row] == 0) {
            let terms: f64 = x.iter().zip(point).map(|(x, z)| (x * z).abs()).sum();
            let residual = f64::EPSILON * (terms + self.labels[row].abs());
            for (noise, x) in noise.iter_mut().zip(x) {
                *noise += self.weights[row] * self.slope * residual * x.abs();
            }
        }
        noise
    }

    /// The length at which the objective is smallest along a direction of given first derivative.
    fn length(&self, lines: &[f64], direction: &[f64], derivative: f64) -> f64 {
        let pulls = self.pulls.strengths.iter().zip(direction);
        let pull: f64 = pulls.map(|(p, d)| p * d * d).sum();
        let mut curvature = pull;
        let mut kinks = Vec::new();
        let rows = self.rows.chunks_exact(direction.len().max(1));
        for ((x, line), weight) in rows.zip(lines).zip(self.weights) {
            let fall = self.slope * dot(x, direction);
            let own = weight * fall * fall / self.slope;
            let (a, b) = ((line - self.low) / fall, (line - self.high) / fall);
            let (enters, leaves) = (a.min(b), a.max(b));
            if own > 0.0 && leaves > 0.0 {
                if enters > 0.0 {
                    kinks.push((enters, own));
                } else {
                    curvature += own;
                }
                kinks.push((leaves, -own));
            }
        }
        // Between kinks the derivative is a line: where it changes its sign lies the minimum.
        kinks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut length, mut derivative) = (0.0, derivative);
        for (kink, change) in kinks {
            let rise = curvature * (kink - length);
            if derivative + rise >= 0.0 {
                break;
            }
            derivative += rise;
            length = kink;
            // Rounding must not take away the curvature that the pulls always leave.
            curvature = (curvature + change).max(pull);
        }
        if curvature > 0.0 { length - derivative / curvature } else { length }
    }
}
