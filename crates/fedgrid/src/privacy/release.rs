//! What a node releases of its rows for linear models, with noise: as much as one row can change it, and no more.
//!
//! ```text
//! labels    t = Uᵀ(y − m)         U: orthonormal columns of (1, X)        Δ = 2 √(max_r ‖U_r‖²)
//! rows      S = Σ z zᵀ            z = (1, x, y − m), each within ±1       Δ = √(k (k + 1)/2), k numbers in z
//! ```
//!
//! `labels`: features are no secret, and a label may be any other within its bounds. From t̃ follows Xᵀy, with the noise of
//! least squares: no more than that of labels noised one by one (a row of U is no longer than 1), and far less where rows are many. `rows`: a row
//! may be there or not, so that their number is noised, too. Labels are measured from the middle of their bounds in
//! multiples of half their range; features, where they are private, in the same way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bits, noised};
use crate::{
    algebra::{Cholesky, Singular, add_outer, dot},
    data::{CondensedRows, Dataset},
    error::{Error, Result},
};

/// A direction of the features counts if it is at least this share of the largest: below it is rounding.
const RANK_SHARE: f64 = 1e-9;
/// How far labels scatter around a linear model, in half ranges, until their own rows say better: a twentieth of the range.
pub(super) const USUAL_SCATTER: f64 = 0.1;

/// What is private.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateKind {
    /// The labels; features and which rows there are is no secret.
    #[default]
    Labels,
    /// Whole rows, and whether they are there.
    Rows,
}

/// How a node's rows become what it releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mechanism {
    /// What is private.
    pub kind: PrivateKind,
    /// How much may be told of a row; infinite for no noise.
    pub mu: f64,
    /// The middle of the bounds of labels, in multiples of half their range.
    pub middle: f64,
}

/// How many values lay outside of their bounds and were moved there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clipped {
    /// Labels.
    pub labels: usize,
    /// Cells of private features.
    pub features: usize,
}

/// What noise is added to, and by how much one row can change it.
#[derive(Debug, Clone, PartialEq)]
pub struct Queries {
    /// The numbers.
    pub values: Vec<f64>,
    /// The largest change, in length.
    pub sensitivity: f64,
    /// What lay outside.
    pub clipped: Clipped,
}

/// What everybody may know of a node's rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    kind: PrivateKind,
    /// Σ z zᵀ over z = (1, x, y − middle), as far as it was released.
    moments: Vec<f64>,
    /// How many numbers z has.
    size: usize,
    /// The deviation of the noise.
    deviation: f64,
    /// What lay outside.
    pub clipped: Clipped,
}

impl Mechanism {
    /// The numbers that are released of some rows, before noise.
    #[must_use]
    pub fn queries(&self, rows: &Dataset) -> Queries {
        match self.kind {
            PrivateKind::Labels => {
                let (labels, clipped) = self.labels(rows);
                let basis = Basis::of(rows);
                let values = basis.columns.iter().map(|column| dot(column, &labels)).collect();
                let leverage =
                    |row: usize| basis.columns.iter().map(|u| u[row] * u[row]).sum::<f64>();
                let most = (0..rows.rows()).map(leverage).fold(0.0, f64::max);
                // Rounding may leave more than one.
                let sensitivity = 2.0 * most.min(1.0).sqrt();
                Queries { values, sensitivity, clipped }
            }
            PrivateKind::Rows => {
                let (mut labels, mut clipped) = self.labels(rows);
                let size = rows.features().columns() + 2;
                let mut sum = vec![0.0; size * size];
                for (x, label) in rows.features().iter().zip(labels.drain(..)) {
                    clipped.features += x.iter().filter(|value| value.abs() > 1.0).count();
                    let inside = x.iter().map(|value| value.clamp(-1.0, 1.0));
                    let z: Vec<f64> = [1.0].into_iter().chain(inside).chain([label]).collect();
                    add_outer(&mut sum, 1.0, &z);
                }
                let entries = triangle_places(size).map(|at| sum[at]).collect::<Vec<_>>();
                let sensitivity = (entries.len() as f64).sqrt();
                Queries { values: entries, sensitivity, clipped }
            }
        }
    }

    /// Releases some rows, with noise.
    pub fn release(&self, rows: &Dataset, bits: &mut dyn Bits) -> Release {
        let Queries { values, sensitivity, clipped } = self.queries(rows);
        let (told, deviation) = noised(&values, sensitivity, self.mu, bits);
        let size = rows.features().columns() + 2;
        let moments = match self.kind {
            PrivateKind::Labels => {
                label_moments(rows, &told, (size, deviation), || self.labels(rows).0)
            }
            PrivateKind::Rows => {
                let mut full = vec![0.0; size * size];
                for (at, value) in triangle_places(size).zip(&told) {
                    full[at] = *value;
                    full[at % size * size + at / size] = *value;
                }
                // Below the noise a direction is not there: as large as the noise, and like no other.
                let floor = deviation * (size as f64).sqrt();
                if deviation > 0.0 { floored(&full, size, floor) } else { full }
            }
        };
        Release { kind: self.kind, moments, size, deviation, clipped }
    }

    /// The labels of rows between −1 and 1, measured from the middle.
    fn labels(&self, rows: &Dataset) -> (Vec<f64>, Clipped) {
        let from_middle = rows.labels().as_slice().iter().map(|label| label - self.middle);
        // What rounding of units leaves beyond a bound is on it.
        let is_outside = |label: &f64| label.abs() > 1.0 + 1e-12;
        let labels: Vec<f64> = from_middle.collect();
        let outside = labels.iter().filter(|label| is_outside(label)).count();
        let inside = labels.iter().map(|label| label.clamp(-1.0, 1.0)).collect();
        (inside, Clipped { labels: outside, features: 0 })
    }
}

impl Release {
    /// Few rows that linear models take for those that were released; nothing where no row can be told from the noise.
    pub fn condensed(&self, middle: f64) -> Result<CondensedRows> {
        let size = self.size;
        let count = self.moments[0];
        if count < 1.0 {
            return Ok(CondensedRows::nothing());
        }
        let means: Vec<f64> = (1..size).map(|k| self.moments[k] / count).collect();
        let inner = size - 1;
        let mut spread = vec![0.0; inner * inner];
        for (at, entry) in spread.iter_mut().enumerate() {
            let (a, b) = (at / inner, at % inner);
            *entry = self.moments[(a + 1) * size + b + 1] - count * means[a] * means[b];
        }
        let (values, vectors) = eigen(&spread, inner);
        let sides = values.iter().zip(&vectors).filter(|(value, _)| **value > 0.0);
        let sides = sides.flat_map(|(value, vector)| {
            vector.iter().map(|entry| value.sqrt() * entry).collect::<Vec<_>>()
        });
        let sides = sides.collect();
        let mut means = means;
        *means.last_mut().expect("labels are last") += middle;
        CondensedRows::from_parts(count, means, sides)
    }

    /// The same with noise of another deviation, as far as it matters for how sure the release is.
    pub(super) fn take_deviation(&mut self, deviation: f64) {
        self.deviation = if deviation.is_finite() { deviation } else { 0.0 };
    }

    /// Refuses what was not kept for rows of so many features.
    pub fn check(&self, columns: usize) -> Result<()> {
        let is_sound = self.size == columns + 2 && self.moments.len() == self.size * self.size;
        if is_sound && self.moments.iter().chain([&self.deviation]).all(|entry| entry.is_finite()) {
            return Ok(());
        }
        Err(Error::Malformed { what: "a release", reason: "is not of these columns" })
    }

    /// How many rows there are, as far as that was released.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.moments[0]
    }

    /// The deviation of the noise on each number, in the units of the release.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// What it says of the coefficients of (1, x), labels measured from the middle: the inverse of their covariance, and that
    /// times their estimate. `scatter` is the deviation of labels around a linear model.
    #[must_use]
    pub fn information(&self, scatter: f64) -> (Vec<f64>, Vec<f64>) {
        let (size, inner) = (self.size, self.size - 1);
        let own: Vec<f64> =
            (0..inner * inner).map(|at| self.moments[at / inner * size + at % inner]).collect();
        let labels: Vec<f64> = (0..inner).map(|k| self.moments[k * size + inner]).collect();
        let noise = self.deviation * self.deviation;
        if self.kind == PrivateKind::Labels || noise == 0.0 {
            let share = 1.0 / (scatter * scatter + noise);
            let scaled = |values: Vec<f64>| values.into_iter().map(|value| share * value).collect();
            return (scaled(own), scaled(labels));
        }
        // The error of S w − s is noise of both, for coefficients of length one, and what labels scatter.
        let mut error: Vec<f64> = own.iter().map(|entry| scatter * scatter * entry).collect();
        error.iter_mut().step_by(inner + 1).for_each(|entry| *entry += 2.0 * noise);
        let Some(factor) = Cholesky::new(error, inner) else {
            return (vec![0.0; inner * inner], vec![0.0; inner]);
        };
        let mut solved = own.clone();
        for row in solved.chunks_exact_mut(inner) {
            factor.solve(row);
        }
        // Both matrices are symmetric: rows of R⁻¹S are columns of S R⁻¹.
        let product = |column: &[f64]| -> Vec<f64> {
            own.chunks_exact(inner).map(|row| dot(row, column)).collect()
        };
        let precision = solved.chunks_exact(inner).flat_map(product).collect();
        let mut weighed = labels;
        factor.solve(&mut weighed);
        (precision, product(&weighed))
    }
}

/// Orthonormal columns that span a constant and the features.
struct Basis {
    columns: Vec<Vec<f64>>,
}

impl Basis {
    fn of(rows: &Dataset) -> Self {
        let size = rows.features().columns() + 1;
        let design: Vec<f64> = rows
            .features()
            .iter()
            .flat_map(|x| [1.0].into_iter().chain(x.iter().copied()))
            .collect();
        let parts = Singular::thin(&design, size);
        let largest = parts.values.iter().copied().fold(0.0, f64::max);
        let kept = parts.values.iter().zip(parts.scaled_left);
        let kept = kept.filter(|(value, _)| **value > RANK_SHARE * largest);
        let columns = kept.map(|(value, left)| left.iter().map(|entry| entry / value).collect());
        Self { columns: columns.collect() }
    }
}

/// The moments that follow from released coordinates of the labels; all that is not in them is taken for noise of the same
/// size, or, where there is none, for what it is.
fn label_moments(
    rows: &Dataset,
    told: &[f64],
    (size, deviation): (usize, f64),
    clean: impl Fn() -> Vec<f64>,
) -> Vec<f64> {
    let basis = Basis::of(rows);
    let mut labels = vec![0.0; rows.rows()];
    for (column, told) in basis.columns.iter().zip(told) {
        labels.iter_mut().zip(column).for_each(|(label, entry)| *label += told * entry);
    }
    let rest = if deviation > 0.0 {
        let variance = deviation * deviation + USUAL_SCATTER * USUAL_SCATTER;
        variance * (rows.rows() as f64 - told.len() as f64).max(0.0)
    } else {
        clean().iter().zip(&labels).map(|(clean, told)| (clean - told).powi(2)).sum()
    };
    let mut moments = vec![0.0; size * size];
    for (x, label) in rows.features().iter().zip(&labels) {
        let z: Vec<f64> = [1.0].into_iter().chain(x.iter().copied()).chain([*label]).collect();
        add_outer(&mut moments, 1.0, &z);
    }
    moments[size * size - 1] += rest;
    moments
}

/// The places of the lower triangle of a matrix, row by row.
fn triangle_places(size: usize) -> impl Iterator<Item = usize> {
    (0..size).flat_map(move |row| (0..=row).map(move |column| row * size + column))
}

/// Values and vectors of a symmetric matrix.
pub(super) fn eigen(matrix: &[f64], size: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    // Shifted until none is negative, where singular values are what is sought.
    let shift = matrix.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    let mut shifted = matrix.to_vec();
    shifted.iter_mut().step_by(size + 1).for_each(|entry| *entry += shift);
    let parts = Singular::new(&shifted, size);
    (parts.values.iter().map(|value| value - shift).collect(), parts.right)
}

/// A symmetric matrix whose values are at least so large.
fn floored(matrix: &[f64], size: usize, floor: f64) -> Vec<f64> {
    let (values, vectors) = eigen(matrix, size);
    let mut made = vec![0.0; size * size];
    for (value, vector) in values.iter().zip(&vectors) {
        add_outer(&mut made, value.max(floor), vector);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        model::{Linear, LinearHypothesis, LocalModel},
        random::{Purpose, Stream},
    };

    fn rows(count: usize, seed: u64) -> Dataset {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let values: Vec<f64> = (0..2 * count).map(|_| 2.0 * stream.uniform() - 1.0).collect();
        let labels =
            values.chunks_exact(2).map(|x| 3.0 + 0.4 * x[0] - 0.3 * x[1] + 0.05 * stream.normal());
        let labels = Labels::values(labels.collect());
        Dataset::new(Features::new(["a", "b"].map(String::from).into(), values).unwrap(), labels)
            .unwrap()
    }

    fn weights(rows: &Dataset) -> Vec<f64> {
        let model = Linear::default().fit(rows).unwrap();
        let model: &LinearHypothesis = model.downcast_ref().unwrap();
        [&model.slopes[..], &[model.intercept]].concat()
    }

    fn far(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn without_noise_the_released_rows_have_the_models_of_the_rows() {
        for kind in [PrivateKind::Labels, PrivateKind::Rows] {
            let mechanism = Mechanism { kind, mu: f64::INFINITY, middle: 3.0 };
            let rows = rows(30, 1);
            let release = mechanism.release(&rows, &mut Stream::new(1, 0, 0, Purpose::Privacy));
            assert_eq!(release.clipped, Clipped::default());
            let made =
                release.condensed(3.0).unwrap().expanded(rows.features().names().clone()).unwrap();
            assert!(far(&weights(&made), &weights(&rows)) < 1e-9, "{kind:?}");
            assert!((made.row_count() - 30.0).abs() < 1e-9);
        }
    }

    #[test]
    fn noise_falls_as_rows_become_more_and_is_what_was_promised() {
        for kind in [PrivateKind::Labels, PrivateKind::Rows] {
            let error = |count: usize| {
                let mechanism = Mechanism { kind, mu: 1.0, middle: 3.0 };
                let rows = rows(count, 2);
                let of = |seed| {
                    let bits = &mut Stream::new(seed, 0, 0, Purpose::Privacy);
                    let release = mechanism.release(&rows, bits);
                    let names = rows.features().names().clone();
                    let made = release.condensed(3.0).unwrap().expanded(names).unwrap();
                    far(&weights(&made), &weights(&rows))
                };
                (0..20).map(of).sum::<f64>() / 20.0
            };
            let errors = [20, 200, 2000].map(error);
            assert!(errors[2] < 0.2 * errors[1] && errors[1] < errors[0], "{kind:?}: {errors:?}");
        }
    }

    #[test]
    fn no_row_changes_what_is_released_by_more_than_the_sensitivity() {
        let all = rows(12, 5);
        let change = |kind: PrivateKind, other: &Dataset| {
            let mechanism = Mechanism { kind, mu: 1.0, middle: 3.0 };
            let (a, b) = (mechanism.queries(&all), mechanism.queries(other));
            let square: f64 = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).powi(2)).sum();
            (square.sqrt(), a.sensitivity.max(b.sensitivity))
        };
        let mut largest: f64 = 0.0;
        for row in 0..12 {
            let less: Vec<usize> = (0..12).filter(|other| *other != row).collect();
            let (moved, most) = change(PrivateKind::Rows, &all.select(&less));
            assert!(moved <= most, "{row}");
            // From one bound to the other, and from far outside of them.
            let with = |label: f64| {
                let mut labels = all.labels().as_slice().to_vec();
                labels[row] = label;
                Dataset::new(all.features().clone(), Labels::values(labels)).unwrap()
            };
            let mechanism = Mechanism { kind: PrivateKind::Labels, mu: 1.0, middle: 3.0 };
            let [low, high] = [-1e9, 1e9].map(|label| mechanism.queries(&with(label)));
            let square: f64 =
                low.values.iter().zip(&high.values).map(|(a, b)| (a - b).powi(2)).sum();
            assert!(square.sqrt() <= low.sensitivity * (1.0 + 1e-12), "{row}");
            assert_eq!(low.clipped.labels, 1);
            largest = largest.max(square.sqrt() / low.sensitivity);
        }
        // The row of the largest leverage reaches it.
        assert!(largest > 1.0 - 1e-9, "{largest}");
    }

    #[test]
    fn nodes_without_rows_release_noise_at_most() {
        let nothing = rows(0, 1);
        for kind in [PrivateKind::Labels, PrivateKind::Rows] {
            let mechanism = Mechanism { kind, mu: 1.0, middle: 0.0 };
            let release = mechanism.release(&nothing, &mut Stream::new(1, 0, 0, Purpose::Privacy));
            assert!(release.condensed(0.0).is_ok());
            assert_eq!(release.rows() == 0.0, kind == PrivateKind::Labels);
        }
    }
}
