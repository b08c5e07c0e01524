//! What the repeats of a line gave: their middle and spread at every point,
//!
//! ```text
//! divided by another line   R = ȳ / x̄,   repeat k stands for  R + (y_k − R x_k) / x̄
//! ```
//!
//! so that the mean is the ratio of means, as in "Plug In and Learn", and the spread is that of the
//! ratio. A figure of single runs divides repeat by repeat instead.

use super::bands::{Ours, Reference};
use super::figure::Statistic;

/// The points of one repeat.
pub(super) type Curve = Vec<(f64, f64)>;

/// The repeats of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedLine {
    /// The values on the horizontal axis.
    pub xs: Vec<f64>,
    /// The values of each repeat.
    pub runs: Vec<Vec<f64>>,
    statistic: Statistic,
}

impl RepeatedLine {
    /// The repeats of one line, which all have the same values there.
    pub(super) fn new(curves: &[Curve], statistic: Statistic) -> Self {
        let xs = curves.first().map_or_else(Vec::new, xs_of);
        let values = |curve: &Curve| curve.iter().map(|(_, y)| *y).collect();
        Self { xs, runs: curves.iter().map(values).collect(), statistic }
    }

    /// The same, divided by another line of the same repeats: each repeat by its own, or the mean by
    /// the mean.
    #[must_use]
    pub(super) fn relative_to(&self, base: &Self, each: bool) -> Self {
        let count = self.runs.len().min(base.runs.len());
        let points = self.xs.len().min(base.xs.len());
        let mut runs = vec![vec![0.0; points]; count];
        for point in 0..points {
            let mean = |runs: &[Vec<f64>]| {
                runs[..count].iter().map(|run| run[point]).sum::<f64>() / count as f64
            };
            let below = mean(&base.runs);
            let ratio = mean(&self.runs) / below;
            for (k, run) in runs.iter_mut().enumerate() {
                let (own, other) = (self.runs[k][point], base.runs[k][point]);
                run[point] = if each { own / other } else { ratio + (own - ratio * other) / below };
            }
        }
        Self { xs: self.xs[..points].to_vec(), runs, statistic: self.statistic }
    }

    /// The middle of the repeats, point by point.
    #[must_use]
    pub fn middle(&self) -> Vec<f64> {
        (0..self.xs.len()).map(|point| middle(&self.at(point), self.statistic)).collect()
    }

    /// The range of the repeats, point by point: smallest to largest around a median; a standard
    /// deviation to either side of a mean, but not below the smallest.
    #[must_use]
    pub fn range(&self) -> Vec<(f64, f64)> {
        let of = |point| {
            let values = self.at(point);
            match self.statistic {
                Statistic::Mean => {
                    let (middle, spread) = (middle(&values, Statistic::Mean), deviation(&values));
                    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                    ((middle - spread).max(low), middle + spread)
                }
                Statistic::Median => {
                    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
                }
            }
        };
        (0..self.xs.len()).map(of).collect()
    }

    /// The middle at an x, if the line has it; at the last one if none is given.
    #[must_use]
    pub fn middle_at(&self, x: Option<f64>) -> Option<f64> {
        let point = match x {
            Some(x) => self.point(x)?,
            None => self.xs.len().checked_sub(1)?,
        };
        Some(middle(&self.at(point), self.statistic))
    }

    /// Our side of a reference; none if this run does not reach it.
    #[must_use]
    pub fn ours(&self, reference: &Reference) -> Option<Ours> {
        let values = match (reference.x, reference.below) {
            (Some(x), None) => self.at(self.point(x)?),
            (None, Some(level)) => self.first_below(level),
            _ => return None,
        };
        let value = middle(&values, reference.statistic);
        // Where most repeats never reach the level, the middle one is among those that do not.
        let reached = 2 * values.len() >= self.runs.len() && !values.is_empty();
        reached.then(|| Ours { value, sd: deviation(&values), runs: values.len() })
    }

    /// Where each repeat is first at or below a level; repeats that never are are left out.
    fn first_below(&self, level: f64) -> Vec<f64> {
        let first = |run: &Vec<f64>| run.iter().position(|y| *y <= level).map(|at| self.xs[at]);
        self.runs.iter().filter_map(first).collect()
    }

    fn point(&self, x: f64) -> Option<usize> {
        // Values are computed from steps and differ from those in files by rounding.
        self.xs.iter().position(|own| (own - x).abs() <= 1e-9 * x.abs().max(1.0))
    }

    fn at(&self, point: usize) -> Vec<f64> {
        self.runs.iter().map(|run| run[point]).collect()
    }
}

fn xs_of(curve: &Curve) -> Vec<f64> {
    curve.iter().map(|(x, _)| *x).collect()
}

/// The mean or the median.
fn middle(values: &[f64], statistic: Statistic) -> f64 {
    if statistic == Statistic::Mean {
        return values.iter().sum::<f64>() / values.len() as f64;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The standard deviation of the values; zero for one.
fn deviation(values: &[f64]) -> f64 {
    let mean = middle(values, Statistic::Mean);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Of one value, whose sum of squares is zero, the spread is zero and not undefined.
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(runs: &[&[f64]], statistic: Statistic) -> RepeatedLine {
        let curve = |run: &&[f64]| run.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
        RepeatedLine::new(&runs.iter().map(curve).collect::<Vec<_>>(), statistic)
    }

    #[test]
    fn a_line_relative_to_another_is_the_ratio_of_means() {
        let line = measured(&[&[1.0], &[3.0], &[2.0]], Statistic::Mean);
        let base = measured(&[&[4.0], &[2.0], &[6.0]], Statistic::Mean);
        assert!((line.relative_to(&base, false).middle()[0] - 0.5).abs() < 1e-15);
        let each = line.relative_to(&base, true).middle()[0];
        assert!((each - (0.25 + 1.5 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
        // What is always a third has no spread, however much both vary.
        let third = measured(&[&[4.0 / 3.0], &[2.0 / 3.0], &[2.0]], Statistic::Mean);
        let (low, high) = third.relative_to(&base, false).range()[0];
        assert!((low - 1.0 / 3.0).abs() < 1e-15 && (high - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_first_x_below_a_level_is_that_of_each_repeat() {
        let line =
            measured(&[&[9.0, 2.0, 1.0], &[9.0, 8.0, 1.0], &[9.0, 8.0, 7.0]], Statistic::Mean);
        assert_eq!(line.first_below(2.0), [1.0, 2.0]);
    }

    #[test]
    fn a_median_is_the_middle_value_and_its_range_that_of_all() {
        let line = measured(&[&[1.0], &[100.0], &[3.0]], Statistic::Median);
        assert_eq!((line.middle()[0], line.range()[0]), (3.0, (1.0, 100.0)));
        assert!((middle(&[1.0, 2.0, 4.0, 9.0], Statistic::Median) - 3.0).abs() < 1e-15);
    }
}
