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
    algebra::{Cholesky, add_outers, add_scaled, dot, triangle},
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
        let (mut gram, mut cross) = (vec![0.0; triangle(size)], vec![0.0; size]);
        let (mut square, mut rows) = (0.0, Vec::with_capacity(size * data.rows()));
        let mut counts = Vec::with_capacity(data.rows());
        for (row, x) in data.features().iter().enumerate() {
            let (y, count) = (data.labels().row(row)[output], data.count(row));
            rows.extend(intercept.then_some(1.0).iter().chain(x));
            add_scaled(&mut cross, count * y, &rows[row * size..]);
            square += count * (y * y);
            counts.push(count);
        }
        add_outers(&mut gram, &counts, &rows, size);
        let gram = whole(&gram, size);
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
        let whitened = |nodes: &[Moments]| self.whitened(nodes);
        let parts: Vec<Whitened> =
            nodes.par_chunks(NODES_PER_PART).map(whitened).collect::<Option<_>>()?;
        let (mut gram, mut cross) = (vec![0.0; triangle(size)], vec![0.0; size]);
        for part in &parts {
            add_scaled(&mut gram, 1.0, &part.gram);
            add_scaled(&mut cross, 1.0, &part.cross);
        }
        let mean = solved(whole(&gram, size), &cross)?;
        let left = |(nodes, part): (&[Moments], &Whitened)| part.left(nodes, &mean, self.noise);
        let sums: Vec<(Vec<f64>, f64)> =
            nodes.par_chunks(NODES_PER_PART).zip(&parts).map(left).collect();
        let (mut variances, mut squares) = (vec![0.0; size], 0.0);
        for (own, left) in &sums {
            add_scaled(&mut variances, 1.0 / nodes.len() as f64, own);
            squares += left;
        }
        Some(Self { mean, variances, noise: (squares / rows).max(least) })
    }

    /// `U = L⁻¹S` of some nodes, where S = diag(√τ) and `I + S XᵀX S/σ² = L Lᵀ`, and what it leaves of their moments.
    fn whitened(&self, nodes: &[Moments]) -> Option<Whitened> {
        let size = self.mean.len();
        let roots: Vec<f64> = self.variances.iter().map(|variance| variance.sqrt()).collect();
        let mut part = Whitened {
            roots: Vec::with_capacity(nodes.len() * size * size),
            traces: Vec::with_capacity(nodes.len()),
            gram: vec![0.0; triangle(size)],
            cross: vec![0.0; size],
        };
        let factors = vec![-1.0 / self.noise; size];
        let mut along = vec![0.0; size * size];
        for node in nodes {
            let mut matrix = node.gram.clone();
            for (k, row) in matrix.chunks_exact_mut(size).enumerate() {
                let factor = roots[k] / self.noise;
                row.iter_mut().zip(&roots).for_each(|(entry, root)| *entry *= factor * root);
                row[k] += 1.0;
            }
            let mut own = Cholesky::new(matrix, size)?.inverse_lower();
            for row in own.chunks_exact_mut(size) {
                row.iter_mut().zip(&roots).for_each(|(entry, root)| *entry *= root);
            }
            along.fill(0.0);
            let mut trace = 0.0;
            for (k, row) in along.chunks_exact_mut(size).enumerate() {
                let own = &own[k * size..=k * size + k];
                for (x, gram) in own.iter().zip(node.gram.chunks_exact(size)) {
                    add_scaled(row, *x, gram);
                }
                trace += dot(own, &row[..=k]);
                add_scaled(&mut part.cross, -dot(own, &node.cross[..=k]) / self.noise, row);
            }
            // `XᵀV⁻¹X` and `XᵀV⁻¹y` times σ², where V is the covariance of a node's labels.
            for k in 0..size {
                let row = &node.gram[k * size..=k * size + k];
                add_scaled(&mut part.gram[triangle(k)..=triangle(k) + k], 1.0, row);
            }
            add_outers(&mut part.gram, &factors, &along, size);
            add_scaled(&mut part.cross, 1.0, &node.cross);
            part.traces.push(trace);
            part.roots.extend_from_slice(&own);
        }
        Some(part)
    }
}

/// Nodes that one thread works on at a time.
const NODES_PER_PART: usize = 32;

/// What deviations leave of the moments of some nodes.
struct Whitened {
    /// U of each, whose square `UᵀU` is the covariance of its deviations.
    roots: Vec<f64>,
    /// `tr(U XᵀX Uᵀ)` of each.
    traces: Vec<f64>,
    /// The sum over nodes of `XᵀV⁻¹X` times σ², as a triangle.
    gram: Vec<f64>,
    /// The same of `XᵀV⁻¹y`.
    cross: Vec<f64>,
}

impl Whitened {
    /// The summed squares of deviations, and of what they leave of the labels, given β.
    fn left(&self, nodes: &[Moments], mean: &[f64], noise: f64) -> (Vec<f64>, f64) {
        let size = mean.len();
        let (mut variances, mut left) = (vec![0.0; size], 0.0);
        let roots = self.roots.chunks_exact(size * size);
        for (node, (own, trace)) in nodes.iter().zip(roots.zip(&self.traces)) {
            let gram = || node.gram.chunks_exact(size);
            let rest: Vec<f64> =
                gram().zip(&node.cross).map(|(row, cross)| cross - dot(row, mean)).collect();
            let mut deviation = vec![0.0; size];
            for (k, row) in own.chunks_exact(size).enumerate() {
                let row = &row[..=k];
                add_scaled(&mut deviation[..=k], dot(row, &rest[..=k]) / noise, row);
                variances.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
            }
            let weights: Vec<f64> = mean.iter().zip(&deviation).map(|(mean, b)| mean + b).collect();
            let explained: f64 = gram().zip(&weights).map(|(row, x)| x * dot(row, &weights)).sum();
            left += node.square - 2.0 * dot(&weights, &node.cross) + explained + trace;
            variances.iter_mut().zip(&deviation).for_each(|(sum, b)| *sum += b * b);
        }
        (variances, left)
    }
}

/// The matrix of a lower triangle.
fn whole(lower: &[f64], size: usize) -> Vec<f64> {
    let entry = |at: usize| {
        let (k, l) = (at / size, at % size);
        lower[triangle(k.max(l)) + k.min(l)]
    };
    (0..size * size).map(entry).collect()
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
