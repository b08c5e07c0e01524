//! Public points: features without labels, on which nodes compare their predictions.
//!
//! How they are drawn is a choice that every report records. Means, covariances, smallest and
//! largest values of all rows are *shared statistics*: whoever uses them says so.

use std::{cmp::Ordering, sync::Arc};

use super::{FeatureMoments, Features};
use crate::{error::Result, random::Stream};

/// Points drawn from the normal distribution with the mean and covariance of the given rows.
pub fn normal_points(rows: &Features, points: usize, stream: &mut Stream) -> Result<Features> {
    weighted_normal_points(rows, None, points, stream)
}

/// The same of rows that stand for so many each.
pub fn weighted_normal_points(
    rows: &Features,
    counts: Option<&[f64]>,
    points: usize,
    stream: &mut Stream,
) -> Result<Features> {
    FeatureMoments::weighted(rows, counts)?.normal_points(points, stream)
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
        let found = FeatureMoments::of(&points).unwrap();
        let truth = FeatureMoments::of(&rows).unwrap();
        for a in 0..3 {
            assert!((found.means()[a] - truth.means()[a]).abs() < 0.05);
            for b in 0..3 {
                let (found, truth) = (found.covariance(a, b), truth.covariance(a, b));
                assert!((found - truth).abs() < 0.05, "{found} {truth}");
            }
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
        let found = FeatureMoments::of(&points).unwrap();
        for (k, scale) in [(1, 1e-9_f64), (3, 1e9)] {
            let variance = found.covariance(k, k) / (scale * scale);
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
