//! Rows condensed to all that a squared loss knows of them: how many there are, their mean, and a triangle,
//!
//! ```text
//! n = Σ k_r      m = Σ k_r z_r / n      RᵀR = Σ k_r (z_r − m)(z_r − m)ᵀ      with z = (x, y), k_r what row r counts for
//! ```
//!
//! Two of them are joined without their rows: n and m are sums, and R is the triangle of both triangles and of the step
//! from one mean to the other. As many rows as 2j say the same, where R has j rows: `m ± √(j/n) R_i`, each counting for n/2j.
//! The triangle has the digits that `XᵀX`, `Xᵀy` and `yᵀy`, which are `RᵀR + n m mᵀ`, lose by squaring.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Dataset, FeatureMoments, Features, Labels, Task};
use crate::{
    algebra::{Reflections, add_outer},
    error::{Error, Result, same_size},
};

/// The sufficient statistics of some rows for linear models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CondensedRows {
    /// How many rows there were.
    rows: usize,
    /// How many these stand for.
    count: f64,
    /// The mean of each feature, and of the labels behind them; empty without a row.
    means: Vec<f64>,
    /// The rows of R, one after the other.
    triangle: Vec<f64>,
}

impl CondensedRows {
    /// No row.
    #[must_use]
    pub fn nothing() -> Self {
        Self { rows: 0, count: 0.0, means: Vec::new(), triangle: Vec::new() }
    }

    /// Of rows whose labels are numbers; refuses rows with exposures, which no squared loss is about.
    pub fn of(data: &Dataset) -> Result<Self> {
        if data.task() != Task::Regression || data.exposures().is_some() {
            let reason = "are classes or counts over exposures, expected numbers";
            return Err(Error::Malformed { what: "labels to be condensed", reason });
        }
        let pairs = data.features().iter().zip(data.labels().as_slice());
        let rows = pairs.flat_map(|(x, y)| x.iter().chain([y]).copied()).collect();
        let counts: Vec<f64> = (0..data.rows()).map(|row| data.count(row)).collect();
        Ok(Self::of_values(rows, &counts, data.features().columns() + 1))
    }

    /// Of points without labels.
    #[must_use]
    pub fn of_points(points: &Features) -> Self {
        Self::of_values(points.values().to_vec(), &vec![1.0; points.rows()], points.columns())
    }

    /// From how many rows they stand for, their means, and any root of their spread, row by row.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of rows is far below 2⁵², and one at least"
    )]
    pub(crate) fn from_parts(count: f64, means: Vec<f64>, triangle: Vec<f64>) -> Result<Self> {
        let columns = means.len();
        let rows = count.round().max(1.0) as usize;
        let made = Self { rows, count, means, triangle };
        made.check(columns).map(|()| made)
    }

    fn of_values(mut values: Vec<f64>, counts: &[f64], columns: usize) -> Self {
        let count: f64 = counts.iter().sum();
        if counts.is_empty() || count <= 0.0 || columns == 0 {
            return Self::nothing();
        }
        let mean = |column: usize| {
            let all = || values[column..].iter().step_by(columns);
            let first = values[column];
            // Exactly what it is, so that a column that is constant stays so.
            if all().all(|value| value.to_bits() == first.to_bits()) {
                return first;
            }
            let sum: f64 = all().zip(counts).map(|(value, own)| own * (value - first)).sum();
            first + sum / count
        };
        let means: Vec<f64> = (0..columns).map(mean).collect();
        for (row, own) in values.chunks_exact_mut(columns).zip(counts) {
            let root = own.sqrt();
            row.iter_mut().zip(&means).for_each(|(value, mean)| *value = root * (*value - mean));
        }
        Self { rows: counts.len(), count, triangle: triangle(values, columns), means }
    }

    /// These rows and others, in any order.
    pub fn joined(&self, other: &Self) -> Result<Self> {
        if self.rows == 0 || other.rows == 0 {
            return Ok(if self.rows == 0 { other.clone() } else { self.clone() });
        }
        same_size("columns of condensed rows", other.means.len(), self.means.len())?;
        let count = self.count + other.count;
        let steps = self.means.iter().zip(&other.means).map(|(own, other)| other - own);
        let root = (self.count * other.count / count).sqrt();
        let step: Vec<f64> = steps.clone().map(|step| root * step).collect();
        let share = other.count / count;
        let means = self.means.iter().zip(steps).map(|(own, step)| own + share * step).collect();
        let rows = [&self.triangle[..], &other.triangle, &step].concat();
        let triangle = triangle(rows, self.means.len());
        Ok(Self { rows: self.rows + other.rows, count, means, triangle })
    }

    /// How many rows there were.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many these stand for.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Means and covariances of the features, whose names these are; fails without a row.
    pub fn feature_moments(&self, names: Arc<[String]>) -> Result<FeatureMoments> {
        self.check(names.len() + 1)?;
        let (size, width) = (names.len(), self.means.len());
        let mut covariance = vec![0.0; size * size];
        for side in self.triangle.chunks_exact(width) {
            add_outer(&mut covariance, 1.0 / self.count, &side[..size]);
        }
        let means = self.means.iter().take(size).copied().collect();
        Ok(FeatureMoments::new(names, self.rows, means, covariance)?.counting(self.count))
    }

    /// The same rows in other units: column k is made of the column `order[k]`, whose values become `value(k, _)` and
    /// whose differences are multiplied by `factor(k)`.
    #[must_use]
    pub(crate) fn mapped(
        &self,
        order: &[usize],
        value: impl Fn(usize, f64) -> f64,
        factor: impl Fn(usize) -> f64,
    ) -> Self {
        if self.rows == 0 {
            return Self::nothing();
        }
        let means = order.iter().enumerate().map(|(k, &at)| value(k, self.means[at])).collect();
        let sides = self.triangle.chunks_exact(self.means.len());
        // Any root will do, so that it need not be a triangle in the new order.
        let side =
            |side: &[f64]| order.iter().enumerate().map(|(k, &at)| factor(k) * side[at]).collect();
        let triangle = sides.flat_map(|own| -> Vec<f64> { side(own) }).collect();
        Self { means, triangle, ..self.clone() }
    }

    /// Refuses what was not stored for so many columns, labels among them.
    pub fn check(&self, columns: usize) -> Result<()> {
        let (size, all) = (self.means.len(), self.means.iter().chain(&self.triangle));
        let is_sound = match self.rows {
            0 => size == 0 && self.triangle.is_empty(),
            _ => size == columns && self.triangle.len().is_multiple_of(columns.max(1)),
        };
        if is_sound && self.count >= 0.0 && all.chain([&self.count]).all(|value| value.is_finite())
        {
            return Ok(());
        }
        Err(Error::Malformed { what: "condensed rows", reason: "are not of these columns" })
    }

    /// Few rows that any squared loss takes for those there were.
    pub fn expanded(&self, names: Arc<[String]>) -> Result<Dataset> {
        if self.rows == 0 {
            return Ok(Dataset::empty(names, Task::Regression));
        }
        self.check(names.len() + 1)?;
        let width = self.means.len();
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        for row in self.points().chunks_exact(width) {
            features.extend_from_slice(&row[..width - 1]);
            labels.push(row[width - 1]);
        }
        let counts = vec![self.count / labels.len() as f64; labels.len()];
        Dataset::counted(Features::new(names, features)?, Labels::values(labels), counts)
    }

    /// The same of points.
    pub fn expanded_points(&self, names: Arc<[String]>) -> Result<Features> {
        if self.rows == 0 {
            return Ok(Features::empty(names));
        }
        self.check(names.len())?;
        Features::new(names, self.points())
    }

    /// `m ± √(j/n) R_i`, of equal weight; m alone where R is nothing.
    fn points(&self) -> Vec<f64> {
        let width = self.means.len();
        let sides: Vec<&[f64]> = self.triangle.chunks_exact(width).collect();
        if sides.is_empty() {
            return self.means.clone();
        }
        let factor = (sides.len() as f64 / self.count).sqrt();
        let point = |side: &[f64], sign: f64| -> Vec<f64> {
            self.means.iter().zip(side).map(|(mean, own)| mean + sign * factor * own).collect()
        };
        let pairs = sides.iter().flat_map(|side| [point(side, 1.0), point(side, -1.0)]);
        pairs.flatten().collect()
    }
}

/// The triangle of some rows, without rows of zeros.
fn triangle(mut rows: Vec<f64>, columns: usize) -> Vec<f64> {
    Reflections::triangularising(&mut rows, columns);
    let is_something = |row: &&[f64]| row.iter().any(|value| *value != 0.0);
    rows.chunks_exact(columns).filter(is_something).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn names() -> Arc<[String]> {
        ["a", "b", "c"].map(String::from).into()
    }

    /// Rows with a column that is constant and one that is far from zero.
    fn data(rows: usize, seed: u64, is_counted: bool) -> Dataset {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let values = (0..rows).flat_map(|_| [stream.normal(), 0.1, 1e6 + stream.normal()]);
        let features = Features::new(names(), values.collect()).unwrap();
        let labels = Labels::values((0..rows).map(|_| 1e3 + stream.normal()).collect());
        let counts = (0..rows).map(|_| 0.5 + stream.uniform()).collect();
        if is_counted {
            Dataset::counted(features, labels, counts).unwrap()
        } else {
            Dataset::new(features, labels).unwrap()
        }
    }

    /// Σ k z zᵀ with a constant in z, so that it has counts and means, too.
    fn moments(data: &Dataset) -> Vec<f64> {
        let mut sums = vec![0.0; 25];
        for row in 0..data.rows() {
            // From a fixed place near the rows, because squares of 1e6 would leave no digits to compare.
            let x = data.features().row(row);
            let z = [1.0, x[0], x[1], x[2] - 1e6, data.labels().row(row)[0] - 1e3];
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += data.count(row) * z[at / 5] * z[at % 5];
            }
        }
        sums
    }

    fn check_same(a: &[f64], b: &[f64], tolerance: f64) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} {b}");
        }
    }

    #[test]
    fn expanded_rows_have_the_moments_of_those_that_were_condensed() {
        for rows in [1, 2, 3, 5, 40] {
            for is_counted in [false, true] {
                let data = data(rows, 7, is_counted);
                let condensed = CondensedRows::of(&data).unwrap();
                let expanded = condensed.expanded(names()).unwrap();
                assert!((expanded.row_count() - data.row_count()).abs() < 1e-12 * data.row_count());
                check_same(&moments(&expanded), &moments(&data), 1e-8);
                // A feature that is equal in all rows of a node stays so to the bit.
                assert!(expanded.features().iter().all(|x| x[1].to_bits() == 0.1_f64.to_bits()));
                assert_eq!((condensed.rows(), expanded.rows() <= 8), (rows, true));
            }
        }
    }

    #[test]
    fn parts_that_are_joined_in_any_order_are_the_whole() {
        let whole = data(30, 3, true);
        let part = |rows: std::ops::Range<usize>| {
            CondensedRows::of(&whole.select(&rows.collect::<Vec<_>>())).unwrap()
        };
        let [a, b, c] = [part(0..11), part(11..12), part(12..30)];
        let nothing = CondensedRows::nothing();
        let ways = [
            a.joined(&b).unwrap().joined(&c).unwrap(),
            c.joined(&nothing).unwrap().joined(&a).unwrap().joined(&b).unwrap(),
            nothing.joined(&b).unwrap().joined(&c.joined(&a).unwrap()).unwrap(),
        ];
        for joined in ways {
            assert_eq!(joined.rows(), 30);
            check_same(&moments(&joined.expanded(names()).unwrap()), &moments(&whole), 1e-8);
        }
    }

    #[test]
    fn what_is_no_such_thing_is_refused() {
        let condensed = CondensedRows::of(&data(4, 1, false)).unwrap();
        assert!(condensed.check(4).is_ok() && condensed.check(3).is_err());
        assert!(condensed.joined(&CondensedRows::of_points(data(4, 1, false).features())).is_err());
        let classes = Labels::classes(2, &[0, 1]).unwrap();
        let features = Features::from_rows(&["a"], &[[1.0], [2.0]]).unwrap();
        assert!(CondensedRows::of(&Dataset::new(features, classes).unwrap()).is_err());
    }

    #[test]
    fn points_keep_their_covariance() {
        let points = data(50, 9, false).features().clone();
        let condensed = CondensedRows::of_points(&points);
        let expanded = condensed.expanded_points(names()).unwrap();
        let moments = |points: &Features| {
            let share = 1.0 / points.rows() as f64;
            let mut sums = vec![0.0; 9];
            for x in points.iter() {
                let z = [1.0, x[0], x[2] - 1e6];
                (0..9).for_each(|at| sums[at] += share * z[at / 3] * z[at % 3]);
            }
            sums
        };
        check_same(&moments(&expanded), &moments(&points), 1e-8);
    }
}
