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

mod few_rows;
mod moments;

use rayon::prelude::*;

use self::{
    few_rows::{FewRows, FewRowsLeft},
    moments::{Moments, MomentsLeft},
};
use crate::{
    algebra::{Cholesky, add_scaled, dot, triangle},
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

/// What the rows of a node say.
enum NodeRows {
    /// Fewer than coefficients.
    Few(FewRows),
    /// As many, or more.
    Many(Moments),
}

impl NodeRows {
    fn of(data: &Dataset, output: usize, intercept: bool) -> Self {
        let size = data.features().columns() + usize::from(intercept);
        if data.rows() < size {
            Self::Few(FewRows::of(data, output, intercept))
        } else {
            Self::Many(Moments::of(data, output, intercept))
        }
    }

    fn add_to(&self, sums: &mut Sums) {
        match self {
            Self::Few(rows) => rows.add_to(sums),
            Self::Many(moments) => moments.add_to(sums),
        }
    }
}

/// Products of rows, summed over nodes.
struct Sums {
    /// `XᵀX`, as a triangle.
    gram: Vec<f64>,
    /// `Xᵀy`.
    cross: Vec<f64>,
    /// `yᵀy`.
    square: f64,
}

impl Sums {
    fn nothing(size: usize) -> Self {
        Self { gram: vec![0.0; triangle(size)], cross: vec![0.0; size], square: 0.0 }
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
        let own = |data: &&Dataset| NodeRows::of(data, output, intercept);
        let known: Vec<NodeRows> = nodes.par_iter().map(own).collect();
        let size = nodes.first()?.features().columns() + usize::from(intercept);
        let mut sums = Sums::nothing(size);
        for node in &known {
            node.add_to(&mut sums);
        }
        let Sums { gram, cross, square } = sums;
        let mean = solved(whole(&gram, size), &cross)?;
        let rows: f64 = nodes.iter().map(|data| data.row_count()).sum();
        let least = LEAST_NOISE_SHARE * square / rows;
        if least == 0.0 {
            return None;
        }
        let noise = ((square - dot(&mean, &cross)) / rows).max(least);
        let variances = vec![noise / mean.len() as f64; mean.len()];
        let mut spread = Self { mean, variances, noise };
        for _ in 0..STEPS {
            spread = spread.next(&known, (rows, least))?;
        }
        Some(spread)
    }

    /// One step: deviations and their covariances given all else, and all else given these.
    fn next(&self, nodes: &[NodeRows], (rows, least): (f64, f64)) -> Option<Self> {
        let size = self.mean.len();
        let part = |nodes: &[NodeRows]| self.part(nodes);
        let parts: Vec<Part> = nodes.par_chunks(NODES_PER_PART).map(part).collect::<Option<_>>()?;
        let mut sums = Sums::nothing(size);
        for part in &parts {
            add_scaled(&mut sums.gram, 1.0, &part.sums.gram);
            add_scaled(&mut sums.cross, 1.0, &part.sums.cross);
        }
        let mean = solved(whole(&sums.gram, size), &sums.cross)?;
        let left = |(nodes, part): (&[NodeRows], Part)| part.left(nodes, (self, &mean));
        let sums: Vec<(Vec<f64>, f64)> =
            nodes.par_chunks(NODES_PER_PART).zip(parts).map(left).collect();
        let (mut variances, mut squares) = (vec![0.0; size], 0.0);
        for (own, left) in &sums {
            add_scaled(&mut variances, 1.0 / nodes.len() as f64, own);
            squares += left;
        }
        Some(Self { mean, variances, noise: (squares / rows).max(least) })
    }

    /// What deviations leave of some nodes; none where a system is singular in rounding.
    fn part(&self, nodes: &[NodeRows]) -> Option<Part> {
        let mut sums = Sums::nothing(self.mean.len());
        let roots: Vec<f64> = self.variances.iter().map(|variance| variance.sqrt()).collect();
        let mut own = |node: &NodeRows| {
            Some(match node {
                NodeRows::Few(rows) => NodeLeft::Few(rows.left(self, &mut sums)?),
                NodeRows::Many(moments) => NodeLeft::Many(moments.left(self, &roots, &mut sums)?),
            })
        };
        let nodes = nodes.iter().map(&mut own).collect::<Option<_>>()?;
        Some(Part { nodes, sums })
    }
}

/// Nodes that one thread works on at a time.
const NODES_PER_PART: usize = 32;

/// What deviations leave of some nodes.
struct Part {
    nodes: Vec<NodeLeft>,
    /// The sums of `XᵀV⁻¹X` and `XᵀV⁻¹y` times σ², where V is the covariance of a node's labels.
    sums: Sums,
}

/// What deviations leave of a node.
enum NodeLeft {
    Few(FewRowsLeft),
    Many(MomentsLeft),
}

impl Part {
    /// The summed squares of deviations, and of what they leave of the labels, given β.
    fn left(self, nodes: &[NodeRows], (spread, mean): (&Spread, &[f64])) -> (Vec<f64>, f64) {
        let (mut squares, mut left) = (vec![0.0; mean.len()], 0.0);
        for (node, own) in nodes.iter().zip(self.nodes) {
            left += match (node, own) {
                (NodeRows::Many(moments), NodeLeft::Many(own)) => {
                    own.squares((moments, spread.noise), mean, &mut squares)
                }
                (_, NodeLeft::Few(own)) => own.squares(spread, mean, &mut squares),
                (NodeRows::Few(_), NodeLeft::Many(_)) => unreachable!("each is of its node"),
            };
        }
        (squares, left)
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
    fn few_rows_say_what_their_sums_say() {
        let data = rows(40, 2, [1.0, 2.0, 0.5], [1.0, 0.0, 0.5]);
        let (few, many): (Vec<NodeRows>, Vec<NodeRows>) = data
            .iter()
            .map(|data| {
                let (x, y) = (data.features().clone(), data.labels().clone());
                let data = Dataset::counted(x, y, vec![2.0, 0.5]).unwrap();
                let few = NodeRows::of(&data, 0, true);
                assert!(matches!(few, NodeRows::Few(_)));
                (few, NodeRows::Many(Moments::of(&data, 0, true)))
            })
            .unzip();
        let (mean, variances) = (vec![0.9, 1.8, 0.4], vec![1.0, 1e-9, 0.3]);
        for noise in [1.0, 1e-4] {
            let spread = Spread { mean: mean.clone(), variances: variances.clone(), noise };
            let next = |nodes: &[NodeRows]| spread.next(nodes, (100.0, 1e-12)).unwrap();
            let (a, b) = (next(&few), next(&many));
            let pairs = a.mean.iter().zip(&b.mean).chain(a.variances.iter().zip(&b.variances));
            for (a, b) in pairs.chain([(&a.noise, &b.noise)]) {
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
