//! Public points: features without labels, on which nodes compare their predictions.
//!
//! How they are drawn is a choice that every report records. Means, covariances, smallest and
//! largest values of all rows are *shared statistics*: whoever uses them says so.

use std::{cmp::Ordering, sync::Arc};

use super::Features;
use crate::{
    algebra::{add_outer, add_scaled, dot},
    error::{Error, Result},
    random::Stream,
};

/// Points drawn from the normal distribution with the mean and covariance of the given rows.
///
/// ```text
/// point = mean + R u      with u standard normal, R lower triangular, R Rᵀ = covariance
/// ```
///
/// A triangular root changes with the covariance without a jump; a spectral one would turn by any angle where
/// rounding parts two equal eigenvalues.
pub fn normal_points(rows: &Features, points: usize, stream: &mut Stream) -> Result<Features> {
    let (mean, covariance) = moments(rows)?;
    let (size, root) = (rows.columns(), triangular_root(&covariance, rows));
    let mut values = Vec::with_capacity(points * size);
    for _ in 0..points {
        let drawn: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
        values.extend(
            (0..size).map(|row| mean[row] + dot(&root[row * size..][..=row], &drawn[..=row])),
        );
    }
    Features::new(rows.names().clone(), values)
}

/// The lower triangular root of a covariance (Cholesky); a column that the ones before determine has none.
fn triangular_root(covariance: &[f64], rows: &Features) -> Vec<f64> {
    let size = rows.columns();
    // What rounding leaves along a direction in which rows do not vary, such as that of all dummies of a
    // category, would make public points tell what no row does.
    let rounding = 4.0 * f64::EPSILON * rows.rows() as f64;
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

/// The distinct rows, at most `points` of them, drawn without replacement, by size of their columns.
#[must_use]
pub fn distinct_rows(rows: &Features, points: usize, stream: &mut Stream) -> Features {
    let compare = |a: &usize, b: &usize| {
        let mut pairs = rows.row(*a).iter().zip(rows.row(*b)).map(|(a, b)| a.total_cmp(b));
        pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    // By what they hold, not by where they stand: the same rows in another order are the same points.
    let mut distinct: Vec<usize> = (0..rows.rows()).collect();
    distinct.sort_by(compare);
    distinct.dedup_by(|a, b| compare(a, b).is_eq());
    let mut chosen = stream.permutation(distinct.len());
    chosen.truncate(points);
    // In their order: only which rows are chosen is random, not how sums over them round.
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
    fn normal_points_keep_what_all_rows_have_in_common() {
        // Dummies that add up to one, and columns of very different units.
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        let row = |_| {
            let level = stream.index(3);
            let dummy = |k: usize| f64::from(u8::from(level == k));
            [dummy(0), 1e-9 * stream.normal(), dummy(1), 1e9 * stream.normal(), dummy(2)]
        };
        let rows: Vec<[f64; 5]> = (0..2000).map(row).collect();
        let rows = Features::from_rows(&["a", "x", "b", "z", "c"], &rows).unwrap();
        let points = normal_points(&rows, 500, &mut stream).unwrap();
        for point in points.iter() {
            let sum = point[0] + point[2] + point[4];
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
        let (_, covariance) = moments(&points).unwrap();
        for (k, scale) in [(1, 1e-9_f64), (3, 1e9)] {
            let variance = covariance[k * 5 + k] / (scale * scale);
            assert!((0.8..1.2).contains(&variance), "{variance}");
        }
    }

    #[test]
    fn distinct_rows_are_each_kept_once() {
        let rows = Features::from_rows(&["a"], &[[1.0], [2.0], [1.0], [3.0]]).unwrap();
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        assert_eq!(distinct_rows(&rows, 10, &mut stream).values(), [1.0, 2.0, 3.0]);
        assert_eq!(distinct_rows(&rows, 2, &mut stream).rows(), 2);
    }
}
