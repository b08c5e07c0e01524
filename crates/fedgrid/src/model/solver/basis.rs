//! Coordinates in which every direction of the features has about the same spread,
//!
//! ```text
//! u = S⁻¹ Vᵀ (x − c),      w = V S⁻¹ θ,      wᵀ(x − c) = θᵀu,      ‖w‖² = ‖S⁻¹ θ‖²
//! ```
//!
//! so that Newton's equations are well conditioned whatever the units of the features are.

use std::sync::Arc;

use crate::{
    algebra::{Singular, add_scaled, dot, triangularise},
    data::{Dataset, Features},
    model::LinearHypothesis,
};

/// Directions whose spread is below this share of the largest do not vary.
const RANK_TOLERANCE: f64 = 1e-12;

/// A centre c, orthonormal directions V and their scales S.
pub(crate) struct Basis {
    /// The weighted mean row, or zero without intercept.
    pub(crate) centre: Vec<f64>,
    /// The spread along each direction; infinite for a column that does not vary.
    pub(crate) scales: Vec<f64>,
    /// The directions, or none where they are the columns themselves.
    rotation: Option<Vec<Vec<f64>>>,
}

impl Basis {
    /// The principal directions; directions in which the rows do not vary are left out.
    pub(crate) fn principal(data: &Dataset, intercept: bool) -> Self {
        let columns = data.features().columns();
        let centre = centre(data.features(), data.weights(), intercept);
        let total = data.total_weight();
        let mut rows = Vec::with_capacity(data.rows() * columns);
        for (x, weight) in data.features().iter().zip(data.weights()) {
            // Shares, so that the scales do not depend on the total weight and one tolerance fits
            // all.
            let root = (weight / total).sqrt();
            rows.extend(x.iter().zip(&centre).map(|(x, c)| root * (x - c)));
        }
        // The triangle has the singular values of all rows, and is never larger than a square.
        if data.rows() > columns {
            triangularise(&mut rows, columns, &mut vec![0.0; data.rows()]);
        }
        let svd = Singular::thin(&rows, columns);
        let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let varying = svd.values.into_iter().zip(svd.right);
        // A direction without spread cannot be told from the centre: its slope would be rounding
        // over rounding.
        let (scales, directions) =
            varying.filter(|(spread, _)| *spread > RANK_TOLERANCE * largest).unzip();
        Self { centre, scales, rotation: Some(directions) }
    }

    /// The columns themselves, scaled so that loss and ridge together curve alike along each.
    pub(crate) fn columns(data: &Dataset, intercept: bool, ridge: f64) -> Self {
        let centre = centre(data.features(), data.weights(), intercept);
        let total = data.total_weight();
        // The cross-entropy curves by at most a quarter of the square, the ridge by two: a factor
        // of eight makes both one sum.
        let mut squares = vec![8.0 * ridge / total; centre.len()];
        for (x, weight) in data.features().iter().zip(data.weights()) {
            for ((square, x), c) in squares.iter_mut().zip(x).zip(&centre) {
                *square += weight / total * (x - c).powi(2);
            }
        }
        // A column that never varies has coordinates of zero, and gets a slope of zero.
        let scale = |square: f64| if square > 0.0 { square.sqrt() } else { f64::INFINITY };
        Self { centre, scales: squares.into_iter().map(scale).collect(), rotation: None }
    }

    /// Appends the coordinates u of a row x.
    fn extend_with_coordinates(&self, rows: &mut Vec<f64>, x: &[f64]) {
        let centred: Vec<f64> = x.iter().zip(&self.centre).map(|(x, c)| x - c).collect();
        match &self.rotation {
            Some(directions) => {
                rows.extend(directions.iter().zip(&self.scales).map(|(v, s)| dot(v, &centred) / s));
            }
            None => rows.extend(centred.iter().zip(&self.scales).map(|(x, s)| x / s)),
        }
    }

    /// The coordinates of all rows, each followed by a one where there is an intercept.
    pub(crate) fn rows(&self, data: &Dataset, intercept: bool) -> Vec<f64> {
        let mut rows = Vec::with_capacity(data.rows() * (self.scales.len() + 1));
        for x in data.features().iter() {
            self.extend_with_coordinates(&mut rows, x);
            rows.extend(intercept.then_some(1.0));
        }
        rows
    }

    /// The ridge in these coordinates, none on the intercept.
    pub(crate) fn penalties(&self, ridge: f64, intercept: bool) -> Vec<f64> {
        let mut penalties: Vec<f64> =
            self.scales.iter().map(|scale| ridge / (scale * scale)).collect();
        penalties.extend(intercept.then_some(0.0));
        penalties
    }

    /// The slopes and the intercept that parameters stand for, the level last where there is one.
    pub(crate) fn affine(&self, parameters: &[f64]) -> (Vec<f64>, f64) {
        let slopes = self.slopes(&parameters[..self.scales.len()]);
        let level = parameters.get(self.scales.len()).copied().unwrap_or(0.0);
        let intercept = level - dot(&slopes, &self.centre);
        (slopes, intercept)
    }

    /// The slopes w that parameters θ stand for.
    fn slopes(&self, parameters: &[f64]) -> Vec<f64> {
        let scaled = parameters.iter().zip(&self.scales).map(|(parameter, s)| parameter / s);
        match &self.rotation {
            Some(directions) => {
                let mut slopes = vec![0.0; self.centre.len()];
                for (factor, direction) in scaled.zip(directions) {
                    add_scaled(&mut slopes, factor, direction);
                }
                slopes
            }
            None => scaled.collect(),
        }
    }
}

/// A regression in the principal basis of its rows, with labels around their mean.
pub(crate) struct CentredRegression {
    pub(crate) basis: Basis,
    /// The coordinates of the rows.
    pub(crate) rows: Vec<f64>,
    /// The labels less their mean, or as they are without an intercept.
    pub(crate) labels: Vec<f64>,
    mean: f64,
    names: Arc<[String]>,
}

impl CentredRegression {
    pub(crate) fn new(data: &Dataset, intercept: bool) -> Self {
        let basis = Basis::principal(data, intercept);
        let rows = basis.rows(data, intercept);
        let mean = if intercept { data.mean_label()[0] } else { 0.0 };
        let labels = data.labels().as_slice().iter().map(|y| y - mean).collect();
        Self { basis, rows, labels, mean, names: data.features().names().clone() }
    }

    /// The hypothesis of parameters in this basis.
    pub(crate) fn hypothesis(&self, parameters: &[f64]) -> LinearHypothesis {
        let (slopes, intercept) = self.basis.affine(parameters);
        LinearHypothesis { names: self.names.clone(), slopes, intercept: intercept + self.mean }
    }
}

/// The weighted mean row, or zero without intercept; a column that never varies has exactly its value.
///
/// Centring by it removes the intercept exactly, because the intercept is not penalised.
pub(crate) fn centre(features: &Features, weights: &[f64], intercept: bool) -> Vec<f64> {
    let columns = features.columns();
    let mut mean = vec![0.0; columns];
    if !intercept {
        return mean;
    }
    let total: f64 = weights.iter().sum();
    let (mut low, mut high) = (vec![f64::INFINITY; columns], vec![f64::NEG_INFINITY; columns]);
    for (x, weight) in features.iter().zip(weights).filter(|(_, w)| **w > 0.0) {
        add_scaled(&mut mean, weight / total, x);
        low.iter_mut().zip(x).for_each(|(low, x)| *low = low.min(*x));
        high.iter_mut().zip(x).for_each(|(high, x)| *high = high.max(*x));
    }
    // A mean that rounding moved out of the range would give a constant column a slope.
    for (mean, (low, high)) in mean.iter_mut().zip(low.iter().zip(&high)) {
        *mean = mean.max(*low).min(*high);
    }
    mean
}
