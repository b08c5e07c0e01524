//! How much the coefficients of nodes differ, as a unit for each of them,
//!
//! ```text
//! y_i = X_i (β + b_i) + e_i,   b_ik ~ N(0, τ_k),   e ~ N(0, σ²)            rows of node i, features of unit variance
//! unit of slope k = ( τ_k (β_k² + τ_k) )^¼ / √τ_0                           τ_0 is that of the intercept
//! ```
//!
//! A method that couples weights wants slopes of one spread √τ, a ridge wants slopes of one size √(β² + τ): a
//! feature that is multiplied by the geometric mean of both serves either. Weights that are coupled together
//! with an intercept then differ by as much as it does. Standardised features alone would let a slope that
//! hardly differs, and is hardly there, count as much as any other.
//!
//! β, τ and σ² come from a given number of steps of expectation and maximisation. Units need no maximum of the
//! likelihood, and where it is flat, as with one row at each node, that would be anywhere; a given number of
//! steps is a smooth function of the rows.

use rayon::prelude::*;

use crate::{
    algebra::{Cholesky, add_outer, add_scaled, dot},
    data::Dataset,
};

/// Steps after which units have settled to a few per cent, on data with and without differences.
const STEPS: usize = 30;
/// With fewer nodes nothing is known of their spread.
const FEWEST_NODES: usize = 5;
/// More nodes would not change what is known of their spread.
const MOST_NODES: usize = 1000;
/// More columns would take longer than the fits that they are scaled for.
const MOST_COLUMNS: usize = 256;
/// A unit is at least this share of the largest: one of nothing would leave no slope.
const LEAST_UNIT_SHARE: f64 = 0.01;
/// The ridge of β, for columns that are combinations of each other, as a share of what their rows weigh.
const RELATIVE_RIDGE: f64 = 1e-6;
/// The least σ², as a share of the labels' variance: rows without noise leave nothing but rounding.
const LEAST_NOISE_SHARE: f64 = 1e-8;

/// The unit of each slope, relative to the intercept if there is one; none if too little is known. The features
/// have variance one.
pub(super) fn slope_units(nodes: &[Dataset], intercept: bool) -> Option<Vec<f64>> {
    let with_rows: Vec<&Dataset> = nodes.iter().filter(|data| data.rows() > 0).collect();
    let columns = with_rows.first()?.features().columns();
    if with_rows.len() < FEWEST_NODES || columns > MOST_COLUMNS || columns == 0 {
        return None;
    }
    let step = with_rows.len().div_ceil(MOST_NODES);
    let chosen: Vec<&Dataset> = with_rows.into_iter().step_by(step).collect();
    let outputs = chosen[0].task().outputs();
    // The first of several classes is what the others leave.
    let labels = if outputs > 1 { 1..outputs } else { 0..1 };
    let first = usize::from(intercept);
    let (mut spread, mut size) = (vec![0.0; first + columns], vec![0.0; first + columns]);
    for output in labels {
        let estimate = Spread::of(&chosen, output, intercept)?;
        for k in 0..first + columns {
            spread[k] += estimate.variances[k];
            size[k] += estimate.mean[k].powi(2) + estimate.variances[k];
        }
    }
    let unit = |k: usize| (spread[k] * size[k]).sqrt().sqrt();
    let units: Vec<f64> = (first..first + columns).map(unit).collect();
    let whole = if intercept {
        spread[0].sqrt()
    } else {
        (units.iter().map(|unit| unit * unit).sum::<f64>() / columns as f64).sqrt()
    };
    let largest = units.iter().copied().fold(0.0, f64::max);
    let least = LEAST_UNIT_SHARE * largest;
    let units: Vec<f64> = units.into_iter().map(|unit| unit.max(least) / whole).collect();
    units.iter().all(|unit| unit.is_finite() && *unit > 0.0).then_some(units)
}

/// `XᵀX`, `Xᵀy`, `yᵀy` and the number of rows of a node, each counting for as many as it stands for.
struct Moments {
    gram: Vec<f64>,
    cross: Vec<f64>,
    square: f64,
    rows: f64,
}

impl Moments {
    fn of(data: &Dataset, output: usize, intercept: bool) -> Self {
        let size = data.features().columns() + usize::from(intercept);
        let (mut gram, mut cross) = (vec![0.0; size * size], vec![0.0; size]);
        let mut square = 0.0;
        let constant = if intercept { &[1.0][..] } else { &[] };
        for (row, x) in data.features().iter().enumerate() {
            let (x, y) = ([constant, x].concat(), data.labels().row(row)[output]);
            let count = data.count(row);
            add_outer(&mut gram, count, &x);
            add_scaled(&mut cross, count * y, &x);
            square += count * (y * y);
        }
        Self { gram, cross, square, rows: data.row_count() }
    }
}

/// What is known of the coefficients of all nodes.
struct Spread {
    /// β.
    mean: Vec<f64>,
    /// τ.
    variances: Vec<f64>,
    /// σ².
    noise: f64,
}

impl Spread {
    fn of(nodes: &[&Dataset], output: usize, intercept: bool) -> Option<Self> {
        let moments: Vec<Moments> =
            nodes.par_iter().map(|data| Moments::of(data, output, intercept)).collect();
        let (gram, cross) = summed(moments.iter().map(|node| (&node.gram, &node.cross)))?;
        let mean = solved(gram, &cross)?;
        let rows: f64 = moments.iter().map(|node| node.rows).sum();
        let square: f64 = moments.iter().map(|node| node.square).sum();
        let least = LEAST_NOISE_SHARE * square / rows;
        if least == 0.0 {
            return None;
        }
        let noise = ((square - dot(&mean, &cross)) / rows).max(least);
        let variances = vec![noise / mean.len() as f64; mean.len()];
        let mut spread = Self { mean, variances, noise };
        for _ in 0..STEPS {
            spread = spread.next(&moments, (rows, least))?;
        }
        Some(spread)
    }

    /// One step: deviations and their covariances given all else, and all else given these.
    fn next(&self, nodes: &[Moments], (rows, least): (f64, f64)) -> Option<Self> {
        let size = self.mean.len();
        let covariances: Vec<Vec<f64>> =
            nodes.par_iter().map(|node| self.covariance(node)).collect::<Option<_>>()?;
        let weighed: Vec<(Vec<f64>, Vec<f64>)> = (nodes.par_iter().zip(&covariances))
            .map(|(node, covariance)| self.weighed(node, covariance))
            .collect();
        let (gram, cross) = summed(weighed.iter().map(|(gram, cross)| (gram, cross)))?;
        let mean = solved(gram, &cross)?;
        let (mut variances, mut left) = (vec![0.0; size], 0.0);
        for (node, covariance) in nodes.iter().zip(&covariances) {
            let rest: Vec<f64> =
                (0..size).map(|k| node.cross[k] - dot(row(&node.gram, k, size), &mean)).collect();
            let deviation: Vec<f64> =
                (0..size).map(|k| dot(row(covariance, k, size), &rest) / self.noise).collect();
            let own: Vec<f64> = mean.iter().zip(&deviation).map(|(mean, b)| mean + b).collect();
            let along: Vec<f64> = (0..size).map(|k| dot(row(&node.gram, k, size), &own)).collect();
            left += node.square - 2.0 * dot(&own, &node.cross) + dot(&own, &along);
            left += dot(covariance, &node.gram);
            for k in 0..size {
                variances[k] += deviation[k].powi(2) + covariance[k * size + k];
            }
        }
        for variance in &mut variances {
            *variance /= nodes.len() as f64;
        }
        Some(Self { mean, variances, noise: (left / rows).max(least) })
    }

    /// The covariance of a node's deviations, `S (I + S XᵀX S/σ²)⁻¹ S` with S = diag(√τ).
    fn covariance(&self, node: &Moments) -> Option<Vec<f64>> {
        let size = self.mean.len();
        let roots: Vec<f64> = self.variances.iter().map(|variance| variance.sqrt()).collect();
        let mut matrix = node.gram.clone();
        for (at, entry) in matrix.iter_mut().enumerate() {
            let (k, l) = (at / size, at % size);
            *entry *= roots[k] * roots[l] / self.noise;
            *entry += f64::from(u8::from(k == l));
        }
        let lower = Cholesky::new(matrix, size)?.inverse_lower();
        let mut covariance = vec![0.0; size * size];
        lower.chunks_exact(size).for_each(|row| add_outer(&mut covariance, 1.0, row));
        for (at, entry) in covariance.iter_mut().enumerate() {
            *entry *= roots[at / size] * roots[at % size];
        }
        Some(covariance)
    }

    /// `XᵀV⁻¹X` and `XᵀV⁻¹y` times σ², where V is the covariance of a node's labels.
    fn weighed(&self, node: &Moments, covariance: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let size = self.mean.len();
        let (mut gram, mut cross) = (node.gram.clone(), node.cross.clone());
        for k in 0..size {
            let own = row(&node.gram, k, size);
            let along: Vec<f64> = (0..size).map(|l| dot(row(covariance, l, size), own)).collect();
            for l in 0..size {
                gram[k * size + l] -= dot(&along, row(&node.gram, l, size)) / self.noise;
            }
            cross[k] -= dot(&along, &node.cross) / self.noise;
        }
        (gram, cross)
    }
}

fn row(matrix: &[f64], row: usize, size: usize) -> &[f64] {
    &matrix[row * size..(row + 1) * size]
}

/// The sums of matrices and vectors, in their order.
fn summed<'a>(
    mut parts: impl Iterator<Item = (&'a Vec<f64>, &'a Vec<f64>)>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let (mut gram, mut cross) = parts.next().map(|(gram, cross)| (gram.clone(), cross.clone()))?;
    for (other, along) in parts {
        add_scaled(&mut gram, 1.0, other);
        add_scaled(&mut cross, 1.0, along);
    }
    Some((gram, cross))
}

/// The solution of a system that may be singular.
fn solved(mut gram: Vec<f64>, cross: &[f64]) -> Option<Vec<f64>> {
    let size = cross.len();
    let trace: f64 = (0..size).map(|k| gram[k * size + k]).sum();
    (0..size).for_each(|k| gram[k * size + k] += RELATIVE_RIDGE * trace / size as f64);
    let mut solution = cross.to_vec();
    Cholesky::new(gram, size)?.solve(&mut solution);
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        random::{Purpose, Stream},
    };

    /// Rows of nodes whose coefficients are `mean + spread · normal`, the intercept first.
    fn rows(nodes: usize, rows: usize, mean: [f64; 3], spread: [f64; 3]) -> Vec<Dataset> {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let node = |_| {
            let w: Vec<f64> = (0..3).map(|k| mean[k] + spread[k] * stream.normal()).collect();
            let x: Vec<[f64; 2]> = (0..rows).map(|_| [stream.normal(), stream.normal()]).collect();
            let y = x.iter().map(|x| w[0] + w[1] * x[0] + w[2] * x[1] + 0.3 * stream.normal());
            let labels = Labels::values(y.collect());
            Dataset::new(Features::from_rows(&["a", "b"], &x).unwrap(), labels).unwrap()
        };
        (0..nodes).map(node).collect()
    }

    fn units(data: &[Dataset], intercept: bool) -> Option<Vec<f64>> {
        slope_units(data, intercept)
    }

    #[test]
    fn the_spread_of_coefficients_is_found() {
        let data = rows(400, 4, [1.0, 2.0, 0.0], [1.5, 0.8, 0.2]);
        let found = Spread::of(&data.iter().collect::<Vec<_>>(), 0, true).unwrap();
        for (found, truth) in found.variances.iter().zip([1.5_f64, 0.8, 0.2]) {
            assert!((found.sqrt() / truth - 1.0).abs() < 0.15, "{found} {truth}");
        }
        for (found, truth) in found.mean.iter().zip([1.0, 2.0, 0.0]) {
            assert!((found - truth).abs() < 0.2, "{found} {truth}");
        }
        assert!((found.noise.sqrt() - 0.3).abs() < 0.05, "{}", found.noise);
        let units = units(&data, true).unwrap();
        let expected = (0.8_f64 * (2.0_f64.powi(2) + 0.8_f64.powi(2)).sqrt()).sqrt() / 1.5;
        assert!((units[0] / expected - 1.0).abs() < 0.15, "{units:?}");
    }

    #[test]
    fn the_unit_of_the_labels_does_not_matter_and_one_row_a_node_will_do() {
        for intercept in [true, false] {
            let data = rows(60, 1, [1.0, 2.0, 0.5], [1.0, 0.5, 0.5]);
            let other = data.iter().map(|data| {
                let labels = data.labels().as_slice().iter().map(|y| 1e7 * y).collect();
                Dataset::new(data.features().clone(), Labels::values(labels)).unwrap()
            });
            let other: Vec<Dataset> = other.collect();
            let (found, again) =
                (units(&data, intercept).unwrap(), units(&other, intercept).unwrap());
            for (a, b) in found.iter().zip(&again) {
                assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn of_few_nodes_or_without_labels_that_differ_from_zero_nothing_is_known() {
        assert_eq!(units(&rows(4, 9, [1.0; 3], [1.0; 3]), true), None);
        assert_eq!(units(&[], true), None);
        let data = rows(9, 3, [1.0; 3], [1.0; 3]).into_iter();
        let zero = data.map(|data| {
            Dataset::new(data.features().clone(), Labels::values(vec![0.0; data.rows()])).unwrap()
        });
        assert_eq!(units(&zero.collect::<Vec<_>>(), true), None);
    }
}
