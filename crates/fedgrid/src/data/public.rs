//! Public points: features without labels, on which nodes compare their predictions.
//!
//! How they are drawn is a choice that every report records. Means, covariances, smallest and
//! largest values of all rows are *shared statistics*: whoever uses them says so.

use std::{collections::BTreeSet, sync::Arc};

use super::Features;
use crate::{
    algebra::{Singular, add_outer, add_scaled},
    error::{Error, Result},
    random::Stream,
};

/// Points drawn from the normal distribution with the mean and covariance of the given rows.
pub fn normal_points(rows: &Features, points: usize, stream: &mut Stream) -> Result<Features> {
    let (mean, covariance) = moments(rows)?;
    // The covariance may be singular (a constant column), so its square root is spectral.
    let spectrum = Singular::new(&covariance, rows.columns());
    let mut values = Vec::with_capacity(points * rows.columns());
    for _ in 0..points {
        let mut point = mean.clone();
        for (variance, direction) in spectrum.values.iter().zip(&spectrum.right) {
            add_scaled(&mut point, variance.sqrt() * stream.normal(), direction);
        }
        values.extend(point);
    }
    Features::new(rows.names().clone(), values)
}

/// Points drawn uniformly from the box between given smallest and largest values.
pub fn uniform_points(
    names: Arc<[String]>,
    bounds: &[(f64, f64)],
    points: usize,
    stream: &mut Stream,
) -> Result<Features> {
    let mut values = Vec::with_capacity(points * bounds.len());
    for _ in 0..points {
        values.extend(bounds.iter().map(|(low, high)| low + (high - low) * stream.uniform()));
    }
    Features::new(names, values)
}

/// The distinct rows, at most `points` of them, drawn without replacement, in their first order.
#[must_use]
pub fn distinct_rows(rows: &Features, points: usize, stream: &mut Stream) -> Features {
    let mut seen = BTreeSet::new();
    let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let distinct: Vec<usize> =
        (0..rows.rows()).filter(|&row| seen.insert(bits(rows.row(row)))).collect();
    let mut chosen = stream.permutation(distinct.len());
    chosen.truncate(points);
    chosen.sort_unstable();
    rows.select(&chosen.into_iter().map(|position| distinct[position]).collect::<Vec<_>>())
}

/// The mean and the covariance (divided by the number of rows) of the columns.
fn moments(rows: &Features) -> Result<(Vec<f64>, Vec<f64>)> {
    let count = rows.rows() as f64;
    if rows.rows() == 0 {
        return Err(Error::NoData);
    }
    let mut mean = vec![0.0; rows.columns()];
    rows.iter().for_each(|row| add_scaled(&mut mean, 1.0 / count, row));
    let mut covariance = vec![0.0; rows.columns() * rows.columns()];
    for row in rows.iter() {
        let centred: Vec<f64> = row.iter().zip(&mean).map(|(x, m)| x - m).collect();
        add_outer(&mut covariance, 1.0 / count, &centred);
    }
    Ok((mean, covariance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn normal_points_have_the_moments_of_the_rows_and_keep_constant_columns() {
        let names = &["a", "b", "c"];
        let rows = [[0.0, 1.0, 7.0], [2.0, 3.0, 7.0], [4.0, 3.0, 7.0]];
        let rows = Features::from_rows(names, &rows).unwrap();
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        let points = normal_points(&rows, 100_000, &mut stream).unwrap();
        let (mean, covariance) = moments(&points).unwrap();
        let (true_mean, true_covariance) = moments(&rows).unwrap();
        for (a, b) in mean.iter().chain(&covariance).zip(true_mean.iter().chain(&true_covariance)) {
            assert!((a - b).abs() < 0.05, "{a} {b}");
        }
        assert!(points.iter().all(|point| (point[2] - 7.0).abs() < 1e-12));
    }

    #[test]
    fn distinct_rows_are_each_kept_once() {
        let rows = Features::from_rows(&["a"], &[[1.0], [2.0], [1.0], [3.0]]).unwrap();
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        assert_eq!(distinct_rows(&rows, 10, &mut stream).values(), [1.0, 2.0, 3.0]);
        assert_eq!(distinct_rows(&rows, 2, &mut stream).rows(), 2);
    }
}
