//! Linear least squares made ready for rows whose labels change,
//!
//! ```text
//! √weight (X − 1 cᵀ) = Q R,   R = Σ_k s_k u_k v_kᵀ,      w = Σ_k v_k s_k u_kᵀ (Qᵀ √weight (y − ȳ)) / (s_k² + ridge)
//! ```
//!
//! A fit with other labels costs one product with Qᵀ and one with each of u and v.

use std::sync::Arc;

use super::{Linear, LinearHypothesis};
use crate::{
    algebra::{Cholesky, Reflections, Singular, add_outer, add_scaled, dot},
    data::{Features, Labels},
    error::{Result, same_size},
    model::{Hypothesis, Prepared, check, solver::centre},
};

/// Singular values below this share of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-12;

/// The factors of a linear model's rows.
#[derive(Debug)]
pub(super) struct FactoredRows {
    names: Arc<[String]>,
    ridge: f64,
    intercept: bool,
    weights: Vec<f64>,
    total: f64,
    centre: Vec<f64>,
    reflections: Option<Reflections>,
    svd: Singular,
}

/// The least ridge, relative to the squares of all columns together, at which a single fit goes by a triangle: there
/// eleven digits are left of it.
const LEAST_RIDGE_SHARE: f64 = 1e-5;

/// A fit of rows that are used once, by the Cholesky factor of `XᵀX + ridge` for a ridge that keeps it far from singular;
/// none elsewhere, where singular values tell what counts.
pub(super) fn fitted_once(
    model: &Linear,
    features: &Features,
    (weights, labels): (&[f64], &[f64]),
) -> Option<(Vec<f64>, f64)> {
    let (total, columns) = (weights.iter().sum::<f64>(), features.columns());
    let centre = centre(features, weights, model.intercept);
    let label = if model.intercept { dot(weights, labels) / total } else { 0.0 };
    let (mut gram, mut right) = (vec![0.0; columns * columns], vec![0.0; columns]);
    let mut centred = vec![0.0; columns];
    for ((x, y), weight) in features.iter().zip(labels).zip(weights) {
        centred.iter_mut().zip(x.iter().zip(&centre)).for_each(|(out, (x, c))| *out = x - c);
        add_outer(&mut gram, *weight, &centred);
        add_scaled(&mut right, weight * (y - label), &centred);
    }
    let squares: f64 = gram.iter().step_by(columns + 1).sum();
    if model.ridge <= LEAST_RIDGE_SHARE * squares {
        return None;
    }
    (0..columns).for_each(|k| gram[k * (columns + 1)] += model.ridge);
    Cholesky::new(gram, columns)?.solve(&mut right);
    let intercept = label - dot(&right, &centre);
    Some((right, intercept))
}

impl FactoredRows {
    /// Factors rows, of which some must have weight.
    pub(super) fn new(model: &Linear, features: &Features, weights: &[f64]) -> Result<Self> {
        let total: f64 = weights.iter().sum();
        check::weight("a linear model", total)?;
        let columns = features.columns();
        let centre = centre(features, weights, model.intercept);
        let mut rows = Vec::new();
        for (x, weight) in features.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            let root = weight.sqrt();
            rows.extend(x.iter().zip(&centre).map(|(x, c)| root * (x - c)));
        }
        // Reflections turn tall rows into a triangle once; other labels then cost one product with
        // them.
        let tall = weights.iter().filter(|weight| **weight > 0.0).count() > columns;
        let reflections = tall.then(|| Reflections::triangularising(&mut rows, columns));
        let svd = Singular::thin(&rows, columns);
        let (names, weights) = (features.names().clone(), weights.to_vec());
        let Linear { ridge, intercept } = *model;
        Ok(Self { names, ridge, intercept, weights, total, centre, reflections, svd })
    }

    /// The slopes and the intercept for these labels.
    pub(super) fn solve(&self, labels: &[f64]) -> (Vec<f64>, f64) {
        let weighted = labels.iter().zip(&self.weights);
        let label = if self.intercept {
            weighted.clone().fold(0.0, |sum, (y, weight)| sum + weight / self.total * y)
        } else {
            0.0
        };
        let kept = weighted.filter(|(_, weight)| **weight > 0.0);
        let mut b: Vec<f64> = kept.map(|(y, weight)| weight.sqrt() * (y - label)).collect();
        if let Some(reflections) = &self.reflections {
            reflections.apply(&mut b);
        }
        let slopes = self.shrunken_least_squares(&b);
        let intercept = label - dot(&slopes, &self.centre);
        (slopes, intercept)
    }

    /// `Σ_k v_k s_k (u_kᵀ b) / (s_k² + ridge)` over the singular values that count.
    fn shrunken_least_squares(&self, b: &[f64]) -> Vec<f64> {
        let svd = &self.svd;
        let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let mut solution = vec![0.0; self.centre.len()];
        for ((s, scaled_left), right) in svd.values.iter().zip(&svd.scaled_left).zip(&svd.right) {
            if *s > RANK_TOLERANCE * largest {
                add_scaled(&mut solution, dot(scaled_left, b) / (s * s + self.ridge), right);
            }
        }
        solution
    }

    /// The hypothesis for these labels.
    pub(super) fn hypothesis(&self, labels: &Labels) -> Result<LinearHypothesis> {
        check::numbers("a linear model", labels.task())?;
        same_size("labelled rows", labels.rows(), self.weights.len())?;
        let (slopes, intercept) = self.solve(labels.as_slice());
        Ok(LinearHypothesis { names: self.names.clone(), slopes, intercept })
    }
}

impl Prepared for FactoredRows {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.hypothesis(labels)?))
    }
}
