//! Means and covariances of features: what public points are drawn by, from rows or from sums of several parts,
//!
//! ```text
//! mean = Σ_p (n_p/n) mean_p        covariance = Σ_p (n_p/n) (covariance_p + d_p d_pᵀ),   d_p = mean_p − mean
//! ```
//!
//! where part p has `n_p` of all n rows, or rows that stand for so many. Covariances of parts are about their own means, so that nothing is lost where
//! a mean is large beside its deviation.

use std::sync::Arc;

use super::Features;
use crate::{
    algebra::{add_outer, add_scaled, dot},
    error::{Error, Result, same_size},
    random::Stream,
};

/// The mean and the covariance (divided by the number of rows) of named features.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMoments {
    names: Arc<[String]>,
    rows: usize,
    /// How many rows these stand for.
    count: f64,
    means: Vec<f64>,
    /// Row by row.
    covariance: Vec<f64>,
}

impl FeatureMoments {
    /// Moments that are known.
    pub fn new(
        names: Arc<[String]>,
        rows: usize,
        means: Vec<f64>,
        covariance: Vec<f64>,
    ) -> Result<Self> {
        same_size("means of features", means.len(), names.len())?;
        same_size("covariances of features", covariance.len(), names.len() * names.len())?;
        if rows == 0 {
            return Err(Error::NoData);
        }
        Ok(Self { names, rows, count: rows as f64, means, covariance })
    }

    /// The same of rows that stand for so many in all.
    #[must_use]
    pub fn counting(self, count: f64) -> Self {
        Self { count, ..self }
    }

    /// The moments of some rows.
    pub fn of(rows: &Features) -> Result<Self> {
        Self::weighted(rows, None)
    }

    /// The same of rows that stand for so many each.
    pub(super) fn weighted(rows: &Features, counts: Option<&[f64]>) -> Result<Self> {
        let total = counts.map_or(rows.rows() as f64, |counts| counts.iter().sum());
        if total == 0.0 {
            return Err(Error::NoData);
        }
        let share = |row: usize| counts.map_or(1.0, |counts| counts[row]) / total;
        let mut means = vec![0.0; rows.columns()];
        rows.iter().enumerate().for_each(|(at, row)| add_scaled(&mut means, share(at), row));
        // In a second pass: products of large means would swallow small deviations.
        let mut covariance = vec![0.0; rows.columns() * rows.columns()];
        for (at, row) in rows.iter().enumerate() {
            let centred: Vec<f64> = row.iter().zip(&means).map(|(x, m)| x - m).collect();
            add_outer(&mut covariance, share(at), &centred);
        }
        let (names, rows) = (rows.names().clone(), rows.rows());
        Ok(Self { names, rows, count: total, means, covariance })
    }

    /// The moments of all rows of several parts.
    pub fn of_parts(parts: &[Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::NoData)?;
        let (size, rows) = (first.means.len(), parts.iter().map(|part| part.rows).sum::<usize>());
        let count = parts.iter().map(|part| part.count).sum::<f64>();
        let mut means = vec![0.0; size];
        for part in parts {
            same_size("features of a part", part.means.len(), size)?;
            add_scaled(&mut means, part.count / count, &part.means);
        }
        let mut covariance = vec![0.0; size * size];
        for part in parts {
            let share = part.count / count;
            let apart: Vec<f64> =
                part.means.iter().zip(&means).map(|(own, all)| own - all).collect();
            add_scaled(&mut covariance, share, &part.covariance);
            add_outer(&mut covariance, share, &apart);
        }
        Ok(Self { names: first.names.clone(), rows, count, means, covariance })
    }

    /// The names of the features.
    #[must_use]
    pub fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    /// How many rows they are of.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many rows these stand for.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The means.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The covariance of two features.
    #[must_use]
    pub fn covariance(&self, a: usize, b: usize) -> f64 {
        self.covariance[a * self.means.len() + b]
    }

    /// Points drawn from the normal distribution with these moments.
    ///
    /// ```text
    /// point = mean + R u      with u standard normal, R lower triangular, R Rᵀ = covariance
    /// ```
    ///
    /// A triangular root changes with the covariance without a jump; a spectral one would turn by any angle where
    /// rounding parts two equal eigenvalues.
    pub fn normal_points(&self, points: usize, stream: &mut Stream) -> Result<Features> {
        let (size, root) = (self.means.len(), self.triangular_root());
        let mut values = Vec::with_capacity(points * size);
        for _ in 0..points {
            // Also for columns that others determine: what is drawn for the rest must not hang on rounding.
            let drawn: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
            values.extend(
                (0..size)
                    .map(|row| self.means[row] + dot(&root[row * size..][..=row], &drawn[..=row])),
            );
        }
        Features::new(self.names.clone(), values)
    }

    /// The lower triangular root of the covariance (Cholesky); a column that the ones before determine has none.
    fn triangular_root(&self) -> Vec<f64> {
        let (size, covariance) = (self.means.len(), &self.covariance);
        // What rounding leaves along a direction in which rows do not vary, such as that of all dummies of a
        // category, would make public points tell what no row does.
        let rounding = 4.0 * f64::EPSILON * self.rows as f64;
        let mut root = vec![0.0; size * size];
        for column in 0..size {
            let known = |row: usize| row * size..row * size + column;
            let own = root[known(column)].to_vec();
            let left = covariance[column * size + column] - dot(&own, &own);
            if left <= rounding * covariance[column * size + column] {
                continue;
            }
            let deviation = left.sqrt();
            for row in column..size {
                let rest = covariance[row * size + column] - dot(&root[known(row)], &own);
                root[row * size + column] = rest / deviation;
            }
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn moments_of_parts_are_those_of_all_rows() {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        // Far from zero, where sums of squares would lose all digits.
        let row = |_| [1e8 + stream.normal(), stream.normal(), 7.0];
        let rows: Vec<[f64; 3]> = (0..90).map(row).collect();
        let of = |rows: &[[f64; 3]]| {
            FeatureMoments::of(&Features::from_rows(&["a", "b", "c"], rows).unwrap()).unwrap()
        };
        let (all, parts) = (of(&rows), [of(&rows[..7]), of(&rows[7..60]), of(&rows[60..])]);
        let joined = FeatureMoments::of_parts(&parts).unwrap();
        assert_eq!(joined.rows(), 90);
        for a in 0..3 {
            assert!((joined.means()[a] - all.means()[a]).abs() < 1e-7);
            for b in 0..3 {
                let (found, expected) = (joined.covariance(a, b), all.covariance(a, b));
                assert!((found - expected).abs() < 1e-7, "{found} {expected}");
            }
        }
        assert!(FeatureMoments::of_parts(&[]).is_err());
    }

    #[test]
    fn a_part_that_stands_for_twice_as_many_rows_is_that_part_twice() {
        let of = |rows: &[[f64; 1]]| {
            FeatureMoments::of(&Features::from_rows(&["a"], rows).unwrap()).unwrap()
        };
        let [few, many] = [of(&[[1.0], [3.0], [4.0]]), of(&[[7.0], [9.0]])];
        let twice = FeatureMoments::of_parts(&[few.clone(), few.clone(), many.clone()]).unwrap();
        let counted = FeatureMoments::of_parts(&[few.counting(6.0), many]).unwrap();
        assert_eq!((counted.rows(), twice.rows(), counted.count()), (5, 8, 8.0));
        assert!((counted.means()[0] - twice.means()[0]).abs() < 1e-12);
        assert!((counted.covariance(0, 0) - twice.covariance(0, 0)).abs() < 1e-12);
    }
}
