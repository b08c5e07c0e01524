//! Quadratic problems with absolute values, by coordinate descent,
//!
//! ```text
//! min  ½ ‖B z − t‖² + ℓᵀz + Σ_j ½ p_j (z_j − c_j)² + Σ_j λ_j |z_j|
//! z_j ← soft(z_j − g_j / H_jj, λ_j / H_jj),      H = BᵀB + diag p,   g = H z − …
//! ```
//!
//! Sweeps find which coordinates are zero and the signs of the others. Given these the problem is
//! linear, so it is then solved at once; a coordinate that would change its sign on the way there
//! stops at zero and is left out. That ends after finitely many steps at the minimum.
//! [Friedman, Hastie & Tibshirani 2010; Lee, Battle, Raina & Ng 2007, feature-sign search.]

use crate::{
    algebra::{Cholesky, add_scaled, dot, norm},
    error::{Error, Result},
};

/// The conditions of the minimum hold to this share of the problem's size.
const VIOLATION_TOLERANCE: f64 = 1e-13;

/// Where rounding prevents the tolerance, so much is still a solution.
const WORST_VIOLATION_TOLERANCE: f64 = 1e-9;

/// Full sweeps at most.
const MOST_ROUNDS: usize = 2000;

/// Sweeps over the coordinates that are not zero, between two full ones.
const INNER_SWEEPS: usize = 20;

/// Up to so many coordinates the linear equations are solved at once.
const MOST_SOLVED_COORDINATES: usize = 2000;

/// Curvature relative to `H_jj` that stands in where columns depend on each other; every step begins
/// at the point reached, so it changes the way and not the end.
const RELATIVE_DAMPING: f64 = 1e-10;

/// Rounds after which a violation that does not become smaller is one of rounding.
const MOST_STALE_ROUNDS: usize = 100;

/// One problem, with columns scaled so that `H_jj` is one.
pub(crate) struct CoordinateDescent {
    columns: Vec<Vec<f64>>,
    scales: Vec<f64>,
    strengths: Vec<f64>,
    lassos: Vec<f64>,
    /// The point z.
    point: Vec<f64>,
    /// B z − t at that point.
    residual: Vec<f64>,
    /// `ℓ_j − p_j c_j`
    linear: Vec<f64>,
    /// How large a gradient can be called zero.
    tolerance: f64,
}

/// The parts of the problem that belong to single coordinates.
pub(crate) struct Separable<'a> {
    /// ℓ
    pub(crate) linear: &'a [f64],
    /// p
    pub(crate) strengths: &'a [f64],
    /// c
    pub(crate) centres: &'a [f64],
    /// λ
    pub(crate) lassos: &'a [f64],
}

impl CoordinateDescent {
    /// The problem at a first point z, from the rows of B and the residual B z − t there.
    pub(crate) fn new(rows: &[f64], residual: Vec<f64>, start: &[f64], own: &Separable) -> Self {
        let width = start.len();
        let column = |j: usize| rows.iter().skip(j).step_by(width).copied().collect::<Vec<f64>>();
        let mut columns: Vec<Vec<f64>> = (0..width).map(column).collect();
        let scale = |j: usize| (dot(&columns[j], &columns[j]) + own.strengths[j]).sqrt();
        let scales: Vec<f64> = (0..width).map(scale).collect();
        // A coordinate without curvature has nothing to say; it stays at its point.
        let over = |value: f64, scale: f64| if scale > 0.0 { value / scale } else { 0.0 };
        // With unit curvature a step along a coordinate is its gradient, and one tolerance fits all
        // units.
        for (column, scale) in columns.iter_mut().zip(&scales) {
            for x in column {
                *x = over(*x, *scale);
            }
        }
        let strengths: Vec<f64> =
            (0..width).map(|j| over(over(own.strengths[j], scales[j]), scales[j])).collect();
        let linear = |j: usize| over(own.linear[j] - own.strengths[j] * own.centres[j], scales[j]);
        let linear: Vec<f64> = (0..width).map(linear).collect();
        let largest = linear.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let pulled = own.strengths.iter().zip(start).map(|(p, z)| p.sqrt() * z.abs());
        let size = norm(&residual) + largest + pulled.fold(0.0, f64::max);
        let point: Vec<f64> = start.iter().zip(&scales).map(|(z, scale)| z * scale).collect();
        let furthest = point.iter().fold(0.0, |a: f64, z| a.max(z.abs()));
        Self {
            columns,
            strengths,
            lassos: (0..width).map(|j| over(own.lassos[j], scales[j])).collect(),
            point,
            residual,
            linear,
            // A point is known to its own rounding only.
            tolerance: VIOLATION_TOLERANCE * size + 1e-15 * furthest,
            scales,
        }
    }

    /// The minimiser.
    pub(crate) fn minimise(mut self) -> Result<Vec<f64>> {
        if self.descend() > self.tolerance * WORST_VIOLATION_TOLERANCE / VIOLATION_TOLERANCE {
            return Err(Error::NotConverged { what: "coordinate descent", steps: MOST_ROUNDS });
        }
        Ok(self.unscaled())
    }

    /// The minimiser, as far as rounding lets it be found.
    pub(crate) fn minimise_roughly(mut self) -> Vec<f64> {
        self.descend();
        self.unscaled()
    }

    /// Goes to the minimum, and returns by how much its conditions are still violated.
    fn descend(&mut self) -> f64 {
        let all: Vec<usize> = (0..self.point.len()).collect();
        let mut violation = self.violation();
        let (mut smallest, mut stale) = (violation, 0);
        for _ in 0..MOST_ROUNDS {
            if violation <= self.tolerance || stale > MOST_STALE_ROUNDS {
                break;
            }
            // Only a full sweep brings a zero coordinate in. The cheap ones after it settle the
            // others.
            self.sweep(&all);
            let active = self.active();
            for _ in 0..INNER_SWEEPS {
                if self.sweep(&active) <= self.tolerance {
                    break;
                }
            }
            // A factor costs the cube of their number.
            if active.len() <= MOST_SOLVED_COORDINATES {
                self.solve_signs();
            }
            violation = self.violation();
            stale = if violation < smallest { 0 } else { stale + 1 };
            smallest = smallest.min(violation);
        }
        violation
    }

    /// The point in the coordinates of the caller.
    fn unscaled(&self) -> Vec<f64> {
        // Adding zero takes the sign from a negative zero.
        let unscaled = |(z, scale): (&f64, &f64)| if *scale > 0.0 { z / scale + 0.0 } else { *z };
        self.point.iter().zip(&self.scales).map(unscaled).collect()
    }

    fn gradient(&self, j: usize) -> f64 {
        dot(&self.columns[j], &self.residual) + self.strengths[j] * self.point[j] + self.linear[j]
    }

    fn is_fixed(&self, j: usize) -> bool {
        self.scales[j] == 0.0
    }

    /// Coordinates that are not zero, or are free to be so at no cost.
    fn active(&self) -> Vec<usize> {
        let free = |j: &usize| self.point[*j] != 0.0 || self.lassos[*j] == 0.0;
        (0..self.point.len()).filter(free).filter(|j| !self.is_fixed(*j)).collect()
    }

    /// Minimises along each of the coordinates in turn; returns the largest change.
    fn sweep(&mut self, coordinates: &[usize]) -> f64 {
        let mut largest: f64 = 0.0;
        for &j in coordinates {
            if self.is_fixed(j) {
                continue;
            }
            let free = self.point[j] - self.gradient(j);
            let next = free.signum() * (free.abs() - self.lassos[j]).max(0.0);
            let change = next - self.point[j];
            if change != 0.0 {
                add_scaled(&mut self.residual, change, &self.columns[j]);
                self.point[j] = next;
                largest = largest.max(change.abs());
            }
        }
        largest
    }

    /// How far the conditions of the minimum are from holding.
    fn violation(&self) -> f64 {
        let of = |j: usize| {
            let (g, lasso) = (self.gradient(j), self.lassos[j]);
            if self.is_fixed(j) {
                0.0
            } else if self.point[j] == 0.0 {
                g.abs() - lasso
            } else {
                (g + lasso * self.point[j].signum()).abs()
            }
        };
        (0..self.point.len()).map(of).fold(0.0, f64::max)
    }

    /// The minimum over points of the present signs: either inside, or with a coordinate less.
    fn solve_signs(&mut self) {
        let mut active = self.active();
        'fewer: while !active.is_empty() {
            let Some(factor) = self.factor(&active) else { return };
            // The damping leaves each solution a little short of the minimum; repeating removes the
            // rest.
            for _ in 0..10 {
                let slope = |j: &usize| {
                    let sign = if self.point[*j] == 0.0 { 0.0 } else { self.point[*j].signum() };
                    self.gradient(*j) + self.lassos[*j] * sign
                };
                let mut direction: Vec<f64> = active.iter().map(|j| -slope(j)).collect();
                let size = direction.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                if size <= 0.1 * self.tolerance {
                    break;
                }
                factor.solve(&mut direction);
                if let Some(blocked) = self.step(&active, &direction) {
                    active.retain(|j| *j != blocked);
                    continue 'fewer;
                }
            }
            return;
        }
    }

    /// Goes along a direction until a coordinate under a lasso would change its sign; that one.
    fn step(&mut self, active: &[usize], direction: &[f64]) -> Option<usize> {
        let mut length = 1.0;
        let mut blocked = None;
        for (j, d) in active.iter().zip(direction) {
            let crosses = -self.point[*j] / d;
            if self.lassos[*j] > 0.0 && crosses > 0.0 && crosses < length {
                (length, blocked) = (crosses, Some(*j));
            }
        }
        for (j, d) in active.iter().zip(direction) {
            // Exactly zero: rounding must not leave it on the other side.
            let next = if blocked == Some(*j) { 0.0 } else { self.point[*j] + length * d };
            add_scaled(&mut self.residual, next - self.point[*j], &self.columns[*j]);
            self.point[*j] = next;
        }
        blocked
    }

    /// The factor of H on some coordinates.
    fn factor(&self, active: &[usize]) -> Option<Cholesky> {
        let size = active.len();
        let mut gram = vec![0.0; size * size];
        for (a, &j) in active.iter().enumerate() {
            for (b, &k) in active[..=a].iter().enumerate() {
                gram[a * size + b] = dot(&self.columns[j], &self.columns[k]);
            }
            gram[a * size + a] += self.strengths[j] + RELATIVE_DAMPING;
        }
        Cholesky::new(gram, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// The largest violation of the conditions of the minimum, from their definition.
    fn violation(rows: &[f64], t: &[f64], own: &Separable, z: &[f64]) -> f64 {
        let n = z.len();
        let residuals = rows.chunks_exact(n).zip(t).map(|(x, t)| dot(x, z) - t);
        let mut g: Vec<f64> =
            (0..n).map(|j| own.linear[j] + own.strengths[j] * (z[j] - own.centres[j])).collect();
        rows.chunks_exact(n).zip(residuals).for_each(|(x, r)| add_scaled(&mut g, r, x));
        let of = |j: usize| match z[j] {
            0.0 => (g[j].abs() - own.lassos[j]).max(0.0),
            z => (g[j] + own.lassos[j] * z.signum()).abs(),
        };
        (0..n).map(of).fold(0.0, f64::max)
    }

    #[test]
    fn the_conditions_of_the_minimum_hold_also_with_dependent_and_many_columns() {
        for (m, n, lasso, strength) in
            [(30, 5, 1.0, 0.0), (8, 40, 0.5, 0.0), (8, 40, 0.1, 0.3), (30, 5, 0.0, 1e-3)]
        {
            let mut stream = Stream::new(n as u64, 0, 0, Purpose::Data);
            let mut rows: Vec<f64> = (0..m * n).map(|_| stream.normal()).collect();
            for x in rows.chunks_exact_mut(n) {
                x[1] = x[0]; // twins
                x[2] = x[3] + 1e-4 * x[2]; // almost twins
            }
            let t: Vec<f64> = (0..m).map(|_| stream.normal()).collect();
            let mut lassos = vec![lasso; n];
            lassos[n - 1] = 0.0;
            let own = Separable {
                linear: &vec![0.01; n],
                strengths: &vec![strength; n],
                centres: &vec![0.2; n],
                lassos: &lassos,
            };
            // With twins a linear term that differs from the lasso would have no minimum.
            let residual = t.iter().map(|t| -t).collect();
            let z = CoordinateDescent::new(&rows, residual, &vec![0.0; n], &own).minimise();
            if lasso > 0.0 || strength > 0.0 {
                let violation = violation(&rows, &t, &own, &z.unwrap());
                assert!(violation < 1e-10, "{m} rows, {n} columns: {violation}");
            }
        }
    }
}
