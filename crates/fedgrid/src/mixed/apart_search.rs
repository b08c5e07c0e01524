//! The largest likelihood without a network, over T: first over its diagonal, and from there over all of its triangle
//! where covariances are sought.
//!
//! ```text
//! at a minimum:   ∂/∂θ T = 0,   ∂/∂θ ⪰ 0
//! ```
//!
//! The first is where a search ends, the second what tells a minimum over covariances θ from a T that is flat
//! because a variance is zero: from there the search goes on with a little of the direction that the likelihood asks for.

use std::cell::Cell;

use super::{
    apart::{Apart, Whitened},
    bend::bend,
    quasi_newton::{Limits, Point},
    search::{AS_GOOD_AS_ZERO, LEAST_CURVATURE, LEAST_START, LIMITS, MOST_ESCAPES},
    trust_region::{Curved, minimise},
};
use crate::algebra::{Singular, dot};

/// The decrease of the likelihood that is not worth another step without covariances if they are sought.
const FIRST_DECREASE: f64 = 1.0;

/// Where a search has ended.
pub(super) struct Apartness {
    pub(super) factor: Vec<f64>,
    pub(super) deviance: f64,
    pub(super) converged: bool,
    pub(super) evaluations: usize,
}

/// The likelihood as a function of entries of T in their units.
struct Walk<'a> {
    apart: &'a Apart,
    units: &'a [f64],
    entries: Vec<(usize, usize)>,
    evaluations: Cell<usize>,
}

/// What was computed at a point.
struct Looked {
    factor: Vec<f64>,
    whitened: Whitened,
    /// The derivative by θ.
    slope: Vec<f64>,
}

/// The T of the largest likelihood from one near it, such as that of fewer rows; none where the likelihood has no value.
pub(super) fn minimum_from(
    apart: &Apart,
    (units, start): (&[f64], &[f64]),
    (correlated, refines): (bool, bool),
) -> Option<Apartness> {
    let q = units.len();
    let entries: Vec<(usize, usize)> = if correlated {
        (0..q).flat_map(|row| (0..=row).map(move |column| (row, column))).collect()
    } else {
        (0..q).map(|k| (k, k)).collect()
    };
    let entry = |&(row, column): &(usize, usize)| start[row * q + column] / units[row];
    let start: Vec<f64> = entries.iter().map(entry).collect();
    let walk = Walk { apart, units, entries, evaluations: Cell::new(0) };
    let (best, converged) = walk.down(walk.look(&start)?, Limits { refines, ..LIMITS });
    Some(Apartness {
        factor: best.extra.factor,
        deviance: best.value,
        converged,
        evaluations: walk.evaluations.get(),
    })
}

/// The T of the largest likelihood, from a fair guess for its diagonal; none where the likelihood has no value. To as many
/// digits as the gradient tells, or as the likelihood does.
pub(super) fn minimum(
    apart: &Apart,
    units: &[f64],
    (correlated, refines): (bool, bool),
) -> Option<Apartness> {
    let q = units.len();
    let first = Limits { decrease: FIRST_DECREASE, refines: false, ..LIMITS };
    let limits = if correlated { first } else { Limits { refines, ..LIMITS } };
    let entries = (0..q).map(|k| (k, k)).collect();
    let mut walk = Walk { apart, units, entries, evaluations: Cell::new(0) };
    let (mut best, mut converged) = walk.down(walk.look(&vec![1.0; q])?, limits);
    if correlated {
        let factor = &best.extra.factor;
        // A variance that is zero without covariances need not be so with them.
        let least = |k: usize| (factor[k * (q + 1)] / units[k]).abs().max(LEAST_START);
        walk.entries = (0..q).flat_map(|row| (0..=row).map(move |column| (row, column))).collect();
        let start = |&(row, column): &(usize, usize)| if row == column { least(row) } else { 0.0 };
        let start: Vec<f64> = walk.entries.iter().map(start).collect();
        (best, converged) = walk.down(walk.look(&start)?, Limits { refines, ..LIMITS });
    }
    Some(Apartness {
        factor: best.extra.factor,
        deviance: best.value,
        converged,
        evaluations: walk.evaluations.get(),
    })
}

impl Walk<'_> {
    fn is_diagonal(&self) -> bool {
        self.entries.len() == self.units.len()
    }

    fn down(&self, start: Point<Looked>, limits: Limits) -> (Point<Looked>, bool) {
        let (mut best, mut converged) = minimise(start, limits, self);
        for _ in 0..MOST_ESCAPES {
            let beside = if self.is_diagonal() { self.off_zero(&best) } else { self.wider(&best) };
            let next = beside.and_then(|at| self.look(&at));
            let Some(next) = next.filter(|next| next.value < best.value) else { break };
            (best, converged) = minimise(next, limits, self);
        }
        (best, converged)
    }

    /// A point beside variances that are zero and should not be.
    fn off_zero(&self, point: &Point<Looked>) -> Option<Vec<f64>> {
        let (mut at, mut falls, q) = (point.at.clone(), false, self.units.len());
        for (k, x) in at.iter_mut().enumerate() {
            let slope = point.extra.slope[k * (q + 1)] * self.units[k].powi(2);
            if x.abs() < AS_GOOD_AS_ZERO && slope < -LEAST_CURVATURE {
                (*x, falls) = (LEAST_START, true);
            }
        }
        falls.then_some(at)
    }

    /// A point with more of a combination of coefficients that should deviate more.
    fn wider(&self, point: &Point<Looked>) -> Option<Vec<f64>> {
        let (q, slope) = (self.units.len(), &point.extra.slope);
        let scaled: Vec<f64> =
            (0..q * q).map(|at| slope[at] * self.units[at / q] * self.units[at % q]).collect();
        let found = Singular::new(&scaled, q);
        let is_negative = |k: &usize| dot(&found.scaled_left[*k], &found.right[*k]) < 0.0;
        let steepest =
            (0..q).filter(is_negative).max_by(|a, b| found.values[*a].total_cmp(&found.values[*b]));
        let direction = &found.right[steepest.filter(|k| found.values[*k] > LEAST_CURVATURE)?];
        let mut factor = vec![0.0; q * q];
        for (&(row, column), x) in self.entries.iter().zip(&point.at) {
            factor[row * q + column] = *x;
        }
        let row = |k: usize| &factor[k * q..(k + 1) * q];
        let entry = |at: usize| {
            let (a, b) = (at / q, at % q);
            dot(row(a), row(b)) + LEAST_START.powi(2) * direction[a] * direction[b]
        };
        let root = semidefinite_root(&(0..q * q).map(entry).collect::<Vec<f64>>(), q);
        Some(self.entries.iter().map(|&(row, column)| root[row * q + column]).collect())
    }
}

/// A triangle T with T Tᵀ a matrix that may be singular.
fn semidefinite_root(matrix: &[f64], q: usize) -> Vec<f64> {
    let mut root = vec![0.0; q * q];
    for row in 0..q {
        for column in 0..=row {
            let (own, other) = (&root[row * q..][..column], &root[column * q..][..column]);
            let left = matrix[row * q + column] - dot(own, other);
            root[row * q + column] = if row == column {
                // What rounding has left of nothing is nothing.
                let least = f64::EPSILON * q as f64 * matrix[row * (q + 1)];
                if left > least { left.sqrt() } else { 0.0 }
            } else {
                let pivot = root[column * (q + 1)];
                if pivot > 0.0 { left / pivot } else { 0.0 }
            };
        }
    }
    root
}

impl Curved for Walk<'_> {
    type Extra = Looked;

    fn look(&self, at: &[f64]) -> Option<Point<Looked>> {
        self.evaluations.set(self.evaluations.get() + 1);
        let q = self.units.len();
        let mut factor = vec![0.0; q * q];
        for (&(row, column), x) in self.entries.iter().zip(at) {
            factor[row * q + column] = x * self.units[row];
        }
        let whitened = self.apart.whitened(&factor)?;
        let slope = self.apart.slope(&whitened);
        // ∂/∂T = 2 ∂/∂θ T.
        let by_entry = |&(row, column): &(usize, usize)| {
            let along: f64 = (column..q).map(|k| slope[row * q + k] * factor[k * q + column]).sum();
            2.0 * along * self.units[row]
        };
        let gradient = self.entries.iter().map(by_entry).collect();
        let value = whitened.deviance;
        let extra = Looked { factor, whitened, slope };
        Some(Point { at: at.to_vec(), value, gradient, extra })
    }

    fn bend(&self, point: &Point<Looked>) -> Vec<f64> {
        let Looked { factor, whitened, slope } = &point.extra;
        let mut bend = bend(self.apart, whitened, (factor, slope), &self.entries);
        let size = self.entries.len();
        for (row, (a, _)) in bend.chunks_exact_mut(size).zip(&self.entries) {
            for (entry, (b, _)) in row.iter_mut().zip(&self.entries) {
                *entry *= self.units[*a] * self.units[*b];
            }
        }
        bend
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        algebra::Pattern,
        mixed::{Likelihood, NodeMoments, Precision, structure::Structure},
        random::{Purpose, Stream},
    };

    fn apart(likelihood: Likelihood) -> Apart {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut node = |rows: usize| {
            let own = stream.normal();
            let rows: Vec<(Vec<f64>, f64)> = (0..rows)
                .map(|_| {
                    let x = vec![1.0, stream.normal(), stream.normal() + 1.0];
                    let y = own * (1.0 + x[2]) + stream.normal();
                    (x, y)
                })
                .collect();
            NodeMoments::new(3, rows.iter().map(|(x, y)| (&x[..], *y, 1.0)))
        };
        let nodes: Vec<NodeMoments> = [3, 0, 9, 2, 1, 7].into_iter().map(&mut node).collect();
        let precision = Precision::independent(nodes.len());
        let pattern = Arc::new(Pattern::new(precision.neighbours(), 2, usize::MAX).unwrap());
        let (columns, fixed, random, free) = (3, &[0, 1], &[2, 0], 0);
        let structure = Structure { columns, fixed, random, free, precision: &precision, pattern };
        Apart::new(&structure, &nodes, (likelihood, 17.0))
    }

    /// Of entries of a diagonal or of a triangle.
    fn check(apart: &Apart, entries: Vec<(usize, usize)>, at: &[f64]) {
        let walk = Walk { apart, units: &[0.7, 1.2], entries, evaluations: Cell::new(0) };
        let found = walk.look(at).unwrap();
        let (bend, size) = (walk.bend(&found), at.len());
        for k in 0..size {
            let step = 1e-5;
            let beside = |sign: f64| {
                let mut at = at.to_vec();
                at[k] += sign * step;
                walk.look(&at).unwrap()
            };
            let (up, down) = (beside(1.0), beside(-1.0));
            let difference = |a: f64, b: f64| (a - b) / (2.0 * step);
            let slope = difference(up.value, down.value);
            assert!((slope - found.gradient[k]).abs() < 1e-6 * (1.0 + slope.abs()));
            for l in 0..size {
                let expected = difference(up.gradient[l], down.gradient[l]);
                let error = (bend[k * size + l] - expected).abs();
                assert!(error <= 1e-6 * (1.0 + expected.abs()), "{k} {l}: {error} of {expected}");
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for likelihood in [Likelihood::Restricted, Likelihood::Full] {
            let few = apart(likelihood);
            check(&few, vec![(0, 0), (1, 1)], &[0.8, 0.5]);
            check(&few, vec![(0, 0), (1, 0), (1, 1)], &[0.8, -0.3, 0.5]);
        }
    }

    #[test]
    fn a_root_of_a_singular_matrix_gives_it_back() {
        let matrix = [0.0, 0.0, 0.0, 0.0, 4.0, 2.0, 0.0, 2.0, 1.0];
        let root = semidefinite_root(&matrix, 3);
        let row = |k: usize| &root[3 * k..3 * k + 3];
        for (at, entry) in matrix.iter().enumerate() {
            assert!((dot(row(at / 3), row(at % 3)) - entry).abs() < 1e-12);
        }
    }
}
