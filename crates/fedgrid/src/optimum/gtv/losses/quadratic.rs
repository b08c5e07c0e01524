//! Least squares as its spectrum,
//!
//! ```text
//! L(w) = wᵀ H w − 2 qᵀw + constant,      H = ridge I + Σ_k (h_k − ridge) v_k v_kᵀ
//! ```
//!
//! where an intercept that is left uncoupled has been minimised over: rows and labels are centred.

use std::sync::Arc;

use crate::{
    algebra::{Singular, add_scaled, dot, scale, triangle, triangularise},
    data::{Dataset, Features, Labels},
    error::Result,
    model::{Linear, LinearProximal, RowSpan, SecondDerivative},
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
    /// The span of the rows, for other ridges; none of a sum.
    span: Option<Arc<RowSpan>>,
}

impl Quadratic {
    /// The spectrum of a linear model's data, its intercept minimised over in the profile.
    pub(crate) fn new(model: &Linear, data: &Dataset, profile: bool) -> Result<Self> {
        let centre = (profile && model.intercept).then(|| means(data));
        let span = match &centre {
            Some((x, y)) => RowSpan::new(false, &centred(data, x, *y)?)?,
            None => RowSpan::new(model.intercept, data)?,
        };
        let level = centre.as_ref().map_or(0.0, |(_, y)| *y);
        let squares = data.labels().as_slice().iter().zip(data.weights());
        let constant = squares.map(|(y, weight)| weight * (y - level).powi(2)).sum();
        Self::of_span(span.into(), model.ridge, (constant, centre))
    }

    /// The same rows at another ridge; none of a sum.
    pub(crate) fn with_ridge(&self, ridge: f64) -> Option<Result<Self>> {
        let span = self.span.clone()?;
        Some(Self::of_span(span, ridge, (self.constant, self.centre.clone())))
    }

    fn of_span(
        span: Arc<RowSpan>,
        ridge: f64,
        (constant, centre): (f64, Option<(Vec<f64>, f64)>),
    ) -> Result<Self> {
        let proximal = LinearProximal::of_span(&span, ridge)?;
        let mut quadratic = Self {
            ridge: proximal.ridge,
            directions: Vec::new(),
            curvatures: Vec::new(),
            targets: Vec::new(),
            constant,
            centre,
            span: Some(span),
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
        let mut ridge = 0.0;
        for own in all {
            let (own_ridge, lines) = own.lines(size);
            ridge += own_ridge;
            rows.extend(lines);
            for (v, _, q) in own.terms(size) {
                add_scaled(&mut right, q, v);
            }
            // As few rows as keep memory small, and seldom enough for reductions to cost little.
            if rows.len() > 4 * size * size {
                reduce(&mut rows, size);
            }
        }
        reduce(&mut rows, size);
        let mut sum = Self {
            ridge,
            directions: Vec::new(),
            curvatures: Vec::new(),
            targets: Vec::new(),
            constant: all.iter().map(|own| own.constant).sum(),
            centre: None,
            span: None,
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

    /// H as `ridge I + Σ r rᵀ`: the ridge, and the lines r.
    fn lines(&self, size: usize) -> (f64, Vec<f64>) {
        // An intercept has no ridge, and where it is coupled it may have less curvature than that.
        if self.curvatures.iter().all(|h| *h >= self.ridge) {
            let line = |(v, h, _): (&[f64], f64, f64)| {
                let root = (h - self.ridge).sqrt();
                v.iter().map(|v| root * v).collect::<Vec<_>>()
            };
            return (self.ridge, self.terms(size).flat_map(line).collect());
        }
        let mut lower = vec![0.0; triangle(size)];
        self.add_hessian(&mut lower, size);
        let entry = |row: usize, column: usize| lower[triangle(row.max(column)) + row.min(column)];
        let whole: Vec<f64> = (0..size * size).map(|at| entry(at / size, at % size)).collect();
        let spectrum = Singular::new(&whole, size);
        let lines = spectrum.values.iter().zip(&spectrum.right);
        let line = |(value, v): (&f64, &Vec<f64>)| {
            let root = (0.5 * value).sqrt();
            v.iter().map(|v| root * v).collect::<Vec<_>>()
        };
        (0.0, lines.flat_map(line).collect())
    }

    /// `2 H`.
    pub(crate) fn hessian(&self, size: usize) -> SecondDerivative {
        let (ridge, mut lines) = self.lines(size);
        scale(&mut lines, 2.0_f64.sqrt());
        SecondDerivative { diagonal: vec![2.0 * ridge; size], lines }
    }

    /// Adds the lower triangle of `2 H`, row by row.
    pub(crate) fn add_hessian(&self, lower: &mut [f64], size: usize) {
        for row in 0..size {
            lower[triangle(row) + row] += 2.0 * self.ridge;
        }
        for (v, h, _) in self.terms(size) {
            for (row, x) in v.iter().enumerate() {
                add_scaled(&mut lower[triangle(row)..][..=row], 2.0 * (h - self.ridge) * x, v);
            }
        }
    }

    /// The gradient `2 (H w − q)` added to a vector.
    pub(crate) fn add_gradient(&self, out: &mut [f64], w: &[f64]) {
        add_scaled(out, 2.0 * self.ridge, w);
        for (v, h, q) in self.terms(w.len()) {
            add_scaled(out, 2.0 * ((h - self.ridge) * dot(v, w) - q), v);
        }
    }

    /// The least value of the loss.
    pub(crate) fn least(&self) -> f64 {
        let terms = self.curvatures.iter().zip(&self.targets).filter(|(h, _)| **h > 0.0);
        self.constant - terms.map(|(h, q)| q * q / h).sum::<f64>()
    }

    /// Where the loss is least and nearest to zero.
    pub(crate) fn minimiser(&self, size: usize) -> Vec<f64> {
        let mut at = vec![0.0; size];
        for (v, h, q) in self.terms(size).filter(|(_, h, _)| *h > 0.0) {
            add_scaled(&mut at, q / h, v);
        }
        at
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn second_derivatives_and_sums_are_right_where_a_ridge_is_above_the_curvature_of_an_intercept()
    {
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        for ridge in [0.0, 0.2, 30.0] {
            let mut made = |rows: usize| {
                let values = (0..2 * rows).map(|_| stream.normal()).collect();
                let features = Features::new(["a", "b"].map(String::from).into(), values).unwrap();
                let labels = (0..rows).map(|_| stream.normal()).collect();
                let data = Dataset::new(features, Labels::values(labels)).unwrap();
                Quadratic::new(&Linear { ridge, intercept: true }, &data, false).unwrap()
            };
            let (one, two) = (made(4), made(1));
            // What is shared by ridges changes no bit.
            let again = one.with_ridge(7.0).unwrap().unwrap().with_ridge(ridge).unwrap().unwrap();
            assert_eq!((&again.curvatures, &again.targets), (&one.curvatures, &one.targets));
            let sum = Quadratic::sum(&[&one, &two], 3).unwrap();
            let w = [0.3, -1.2, 2.0];
            let gradient = |of: &Quadratic, w: &[f64]| {
                let mut out = vec![0.0; 3];
                of.add_gradient(&mut out, w);
                out
            };
            let both = gradient(&one, &w).into_iter().zip(gradient(&two, &w)).map(|(a, b)| a + b);
            for (found, expected) in gradient(&sum, &w).iter().zip(both) {
                assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{ridge}");
            }
            let values = one.value(&w) + two.value(&w);
            assert!((sum.value(&w) - values).abs() < 1e-10 * values.abs(), "{ridge}");
            for of in [&one, &two, &sum] {
                let (matrix, zero) = (of.hessian(3).matrix(), gradient(of, &[0.0; 3]));
                let mut lower = vec![0.0; 6];
                of.add_hessian(&mut lower, 3);
                for column in 0..3 {
                    let mut unit = [0.0; 3];
                    unit[column] = 1.0;
                    for (row, at) in gradient(of, &unit).iter().enumerate() {
                        let expected = at - zero[row];
                        let near = |found: f64| (found - expected).abs() < 1e-10 * (1.0 + ridge);
                        assert!(near(matrix[row * 3 + column]), "{ridge}");
                        assert!(row < column || near(lower[triangle(row) + column]), "{ridge}");
                    }
                }
            }
        }
    }
}
