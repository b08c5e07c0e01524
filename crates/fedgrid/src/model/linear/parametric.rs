//! A linear model as a vector of weights: slopes, then the intercept.

use super::{Linear, LinearProximal};
use crate::{
    data::Dataset,
    error::Result,
    model::{
        Steps,
        solver::{Affine, AffineModel},
    },
};

impl AffineModel for Linear {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: 0.0, intercept: self.intercept }
    }

    fn row_loss(&self, label: f64, output: f64) -> f64 {
        (output - label).powi(2)
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        2.0 * (output - label)
    }

    // Networks of linear models profile their intercepts out, so these have no step of their own.
    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        LinearProximal::new(self, data)?.step(centre, steps.slopes)
    }

    // Certificates bound a quadratic by its own factors, which is tighter.
    fn radius_of(&self, _data: &Dataset, _bound: f64) -> Option<f64> {
        None
    }
}
