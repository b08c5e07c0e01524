//! Least squares as its spectrum,
//!
//! ```text
//! L(w) = wᵀ H w − 2 qᵀw + constant,      H = ridge I + Σ_k (h_k − ridge) v_k v_kᵀ
//! ```
//!
//! where an intercept that is left uncoupled has been minimised over: rows and labels are centred.

use crate::{
    algebra::{Singular, add_scaled, dot, triangularise},
    data::{Dataset, Features, Labels},
    error::Result,
    model::{Linear, LinearProximal, SecondDerivative},
};

/// Curvatures of at most this share of the largest are none: the rows do not reach that direction. They are
/// squares of singular values, which are exact to 1e-13 of the largest.
const FLAT_SHARE: f64 = 1e-26;

/// Directions whose singular value is below this share of the largest are reached by no row.
pub(crate) const REACHED_SHARE: f64 = 1e-12;

/// Least squares as its spectrum.
#[derive(Debug)]
pub(crate) struct Quadratic {
    pub(crate) ridge: f64,
    /// The orthonormal directions `v_k`, one after the other.
    pub(crate) directions: Vec<f64>,
    pub(crate) curvatures: Vec<f64>,
    pub(crate) targets: Vec<f64>,
    pub(crate) constant: f64,
    /// The mean row and label, if the intercept is left uncoupled.
    pub(crate) centre: Option<(Vec<f64>, f64)>,
}

impl Quadratic {
    /// The spectrum of a linear model's data, its intercept minimised over in the profile.
    pub(crate) fn new(model: &Linear, data: &Dataset, profile: bool) -> Result<Self> {
        let centre = (profile && model.intercept).then(|| means(data));
        let proximal = match &centre {
            Some((x, y)) => {
                let model = Linear { ridge: model.ridge, intercept: false };
                LinearProximal::new(&model, &centred(data, x, *y)?)?
            }
            None => LinearProximal::new(model, data)?,
        };
        let level = centre.as_ref().map_or(0.0, |(_, y)| *y);
        let squares = data.labels().as_slice().iter().zip(data.weights());
        let constant = squares.map(|(y, weight)| weight * (y - level).powi(2)).sum();
        let mut quadratic = Self {
            ridge: proximal.ridge,
            directions: Vec::new(),
            curvatures: Vec::new(),
            targets: Vec::new(),
            constant,
            centre,
        };
        let largest = proximal.curvatures.iter().fold(0.0, |a: f64, b| a.max(*b));
        let terms = proximal.curvatures.into_iter().zip(proximal.targets);
        for ((h, q), direction) in terms.zip(proximal.directions) {
            // The rounding of no curvature is none: a target divided by it would be anything.
            if h > FLAT_SHARE * largest {
                quadratic.directions.extend(direction);
                quadratic.curvatures.push(h);
                quadratic.targets.push(q);
            }
        }
        Ok(quadratic)
    }

    /// The sum of several; none if there are none.
    pub(crate) fn sum(all: &[&Self], size: usize) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let (mut rows, mut right) = (Vec::new(), vec![0.0; size]);
        for own in all {
            for (v, h, q) in own.terms(size) {
                rows.extend(v.iter().map(|v| v * (h - own.ridge).max(0.0).sqrt()));
                add_scaled(&mut right, q, v);
            }
            // As few rows as keep memory small, and seldom enough for reductions to cost little.
            if rows.len() > 4 * size * size {
                reduce(&mut rows, size);
            }
        }
        reduce(&mut rows, size);
        let mut sum = Self {
            ridge: all.iter().map(|own| own.ridge).sum(),
            directions: Vec::new(),
            curvatures: Vec::new(),
            targets: Vec::new(),
            constant: all.iter().map(|own| own.constant).sum(),
            centre: None,
        };
        let spectrum = Singular::new(&rows, size);
        let largest = spectrum.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        for (value, direction) in spectrum.values.iter().zip(spectrum.right) {
            if *value > REACHED_SHARE * largest {
                sum.targets.push(dot(&direction, &right));
                sum.curvatures.push(value * value + sum.ridge);
                sum.directions.extend(direction);
            }
        }
        Some(sum)
    }

    /// The directions with their curvatures and targets.
    pub(crate) fn terms(&self, size: usize) -> impl Iterator<Item = (&[f64], f64, f64)> {
        let numbers = self.curvatures.iter().copied().zip(self.targets.iter().copied());
        self.directions.chunks_exact(size.max(1)).zip(numbers).map(|(v, (h, q))| (v, h, q))
    }

    pub(crate) fn value(&self, w: &[f64]) -> f64 {
        let mut value = self.constant + self.ridge * dot(w, w);
        for (v, h, q) in self.terms(w.len()) {
            let z = dot(v, w);
            value += ((h - self.ridge) * z - 2.0 * q) * z;
        }
        value
    }

    /// `H w` times two.
    pub(crate) fn add_curved(&self, out: &mut [f64], w: &[f64]) {
        add_scaled(out, 2.0 * self.ridge, w);
        for (v, h, _) in self.terms(w.len()) {
            add_scaled(out, 2.0 * (h - self.ridge) * dot(v, w), v);
        }
    }

    /// `2 H`.
    pub(crate) fn hessian(&self, size: usize) -> SecondDerivative {
        let mut lines = Vec::new();
        for (v, h, _) in self.terms(size) {
            let root = (2.0 * (h - self.ridge)).max(0.0).sqrt();
            lines.extend(v.iter().map(|v| root * v));
        }
        SecondDerivative { diagonal: vec![2.0 * self.ridge; size], lines }
    }

    /// The gradient `2 (H w − q)` added to a vector.
    pub(crate) fn add_gradient(&self, out: &mut [f64], w: &[f64]) {
        add_scaled(out, 2.0 * self.ridge, w);
        for (v, h, q) in self.terms(w.len()) {
            add_scaled(out, 2.0 * ((h - self.ridge) * dot(v, w) - q), v);
        }
    }

    /// The least value of the loss, and where it is nearest to zero.
    pub(crate) fn least(&self, size: usize) -> (f64, Vec<f64>) {
        let mut at = vec![0.0; size];
        let mut value = self.constant;
        for (v, h, q) in self.terms(size).filter(|(_, h, _)| *h > 0.0) {
            add_scaled(&mut at, q / h, v);
            value -= q * q / h;
        }
        (value, at)
    }

    /// The least curvature over all directions.
    pub(crate) fn least_curvature(&self, size: usize) -> f64 {
        let outside = if self.curvatures.len() < size { self.ridge } else { f64::INFINITY };
        self.curvatures.iter().fold(outside, |least, h| least.min(*h))
    }
}

/// Replaces rows by as few of the same length in every direction.
pub(crate) fn reduce(rows: &mut Vec<f64>, size: usize) {
    let count = rows.len() / size.max(1);
    if count > size {
        triangularise(rows, size, &mut vec![0.0; count]);
    }
}

fn means(data: &Dataset) -> (Vec<f64>, f64) {
    let total = data.total_weight();
    let mut x = vec![0.0; data.features().columns()];
    let mut y = 0.0;
    for ((row, label), weight) in
        data.features().iter().zip(data.labels().as_slice()).zip(data.weights())
    {
        add_scaled(&mut x, weight / total, row);
        y += weight / total * label;
    }
    (x, y)
}

fn centred(data: &Dataset, x: &[f64], y: f64) -> Result<Dataset> {
    let features = data.features();
    let values = features.iter().flat_map(|row| row.iter().zip(x).map(|(a, b)| a - b));
    let features = Features::new(features.names().clone(), values.collect())?;
    let labels = data.labels().as_slice().iter().map(|label| label - y).collect();
    Dataset::weighted(features, Labels::values(labels), data.weights().to_vec())
}
