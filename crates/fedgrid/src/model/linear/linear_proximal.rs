//! The proximal step of least squares, for any centre and step from one factorisation,
//!
//! ```text
//! L(z) = zᵀ H z − 2 qᵀz + …,   H = ridge I + Σ_k (h_k − ridge) v_k v_kᵀ
//! prox(v, τ) = v / (1 + 2τ ridge) + Σ_k v_k ((2τ q_k + v_kᵀv) / (1 + 2τ h_k) − v_kᵀv / (1 + 2τ ridge))
//! ```
//!
//! with z = (w, b). The directions `v_k` span the rows and the intercept, so there are at most as many
//! as rows plus one, and a step costs two products with them.

use super::Linear;
use crate::{
    algebra::{Singular, add_scaled, dot, triangularise},
    data::Dataset,
    error::{Result, at_least_zero},
    model::{check, solver::check_proximal},
};

/// Singular values below this share of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-14;

/// A linear model's data, factored for proximal steps.
///
/// ```
/// use fedgrid::{data::*, model::{Linear, LinearProximal}};
/// let features = Features::from_rows(&["x"], &[[1.0]])?;
/// let data = Dataset::new(features, Labels::values(vec![3.0]))?;
/// let proximal = LinearProximal::new(&Linear { ridge: 0.0, intercept: false }, &data)?;
/// assert_eq!(proximal.step(&[0.0], 0.5)?, [1.5]); // argmin (w − 3)² + w²
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinearProximal {
    pub(crate) size: usize,
    pub(crate) ridge: f64,
    /// The orthonormal directions `v_k`.
    pub(crate) directions: Vec<Vec<f64>>,
    /// The curvature `h_k` along each.
    pub(crate) curvatures: Vec<f64>,
    /// The part `q_k` of the linear term along each.
    pub(crate) targets: Vec<f64>,
}

impl LinearProximal {
    /// Factors the data once; they may have no weight at all.
    pub fn new(model: &Linear, data: &Dataset) -> Result<Self> {
        Self::of_span(&RowSpan::new(model.intercept, data)?, model.ridge)
    }

    /// The same of rows whose span is known, whatever the ridge.
    pub(crate) fn of_span(span: &RowSpan, ridge: f64) -> Result<Self> {
        at_least_zero("ridge", ridge)?;
        let RowSpan { size, columns, basis, rows, labels } = span;
        let (size, columns, width) = (*size, *columns, basis.len() + size - columns);
        let (mut reduced, mut b) = (rows.clone(), labels.clone());
        if ridge > 0.0 {
            let pull = ridge.sqrt();
            for k in 0..basis.len() {
                reduced.extend((0..width).map(|j| if j == k { pull } else { 0.0 }));
            }
        }
        b.resize(reduced.len().checked_div(width).unwrap_or(b.len()), 0.0);
        if b.len() > width {
            triangularise(&mut reduced, width, &mut b);
        }
        let svd = Singular::new(&reduced, width);
        let lift = |reduced: &Vec<f64>| {
            let mut direction = vec![0.0; size];
            for (factor, basis) in reduced.iter().zip(basis) {
                add_scaled(&mut direction[..columns], *factor, basis);
            }
            direction[columns..].copy_from_slice(&reduced[basis.len()..]);
            direction
        };
        Ok(Self {
            size,
            ridge,
            directions: svd.right.iter().map(lift).collect(),
            curvatures: svd.values.iter().map(|s| s * s).collect(),
            targets: svd.scaled_left.iter().map(|left| dot(left, &b)).collect(),
        })
    }

    /// The largest μ with L − μ/2 ‖·‖² convex; zero where some direction is not determined.
    #[must_use]
    pub fn convexity(&self) -> f64 {
        let least = self.curvatures.iter().fold(f64::INFINITY, |least, h| least.min(*h));
        // The ridge holds every direction outside the span but that of the intercept, which is inside.
        let outside = if self.directions.len() < self.size { self.ridge } else { f64::INFINITY };
        let least = least.min(outside);
        if least.is_finite() { 2.0 * least } else { 0.0 }
    }

    /// The proximal step from a centre, with τ = `step` > 0.
    pub fn step(&self, centre: &[f64], step: f64) -> Result<Vec<f64>> {
        check_proximal(centre, self.size, step)?;
        let outside = 1.0 / (1.0 + 2.0 * step * self.ridge);
        let mut weights: Vec<f64> = centre.iter().map(|v| v * outside).collect();
        for ((direction, h), q) in self.directions.iter().zip(&self.curvatures).zip(&self.targets) {
            let part = dot(direction, centre);
            let inside = (2.0 * step * q + part) / (1.0 + 2.0 * step * h);
            add_scaled(&mut weights, inside - part * outside, direction);
        }
        Ok(weights)
    }
}

/// The weighted rows of a linear model in the directions that they span, and its intercept: what is the same for all
/// ridges.
#[derive(Debug, Clone)]
pub(crate) struct RowSpan {
    size: usize,
    columns: usize,
    /// Orthonormal directions that span the rows.
    basis: Vec<Vec<f64>>,
    /// The rows in these coordinates and the intercept's, times the roots of their weights.
    rows: Vec<f64>,
    labels: Vec<f64>,
}

impl RowSpan {
    pub(crate) fn new(has_intercept: bool, data: &Dataset) -> Result<Self> {
        check::numbers("a linear model", data.task())?;
        let columns = data.features().columns();
        let data = data.without_zero_weights();
        let roots: Vec<f64> = data.weights().iter().map(|weight| weight.sqrt()).collect();
        let labels = data.labels().as_slice().iter().zip(&roots);
        let labels = labels.map(|(y, root)| root * y).collect();
        let whole: Vec<f64> = data
            .features()
            .iter()
            .zip(&roots)
            .flat_map(|(row, root)| row.iter().map(move |x| x * root))
            .collect();
        // Wide rows span few directions, and outside of their span a step only shrinks.
        let basis = span(&whole, columns);
        let mut rows = Vec::with_capacity(roots.len() * (basis.len() + 1));
        for (row, root) in roots.iter().enumerate() {
            let x = &whole[row * columns..(row + 1) * columns];
            rows.extend(basis.iter().map(|direction| dot(direction, x)));
            rows.extend(has_intercept.then_some(*root));
        }
        Ok(Self { size: columns + usize::from(has_intercept), columns, basis, rows, labels })
    }
}

/// Orthonormal directions that span the rows.
fn span(rows: &[f64], columns: usize) -> Vec<Vec<f64>> {
    let mut rows = rows.to_vec();
    let count = rows.len().checked_div(columns).unwrap_or(0);
    if count > columns {
        triangularise(&mut rows, columns, &mut vec![0.0; count]);
    }
    let svd = Singular::thin(&rows, columns);
    let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
    let spread = svd.values.into_iter().zip(svd.right);
    spread.filter(|(s, _)| *s > RANK_TOLERANCE * largest).map(|(_, direction)| direction).collect()
}
