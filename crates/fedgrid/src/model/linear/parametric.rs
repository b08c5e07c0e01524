//! A linear model as a vector of weights: slopes, then the intercept.

use std::sync::Arc;

use super::{Linear, LinearProximal};
use crate::{
    data::{Dataset, Task},
    error::Result,
    model::{Hypothesis, Parametric, Shape, solver::affine::Affine},
};

impl From<&Linear> for Affine {
    fn from(model: &Linear) -> Self {
        Self { ridge: model.ridge, lasso: 0.0, intercept: model.intercept }
    }
}

impl Parametric for Linear {
    fn size(&self, columns: usize, _task: Task) -> usize {
        Affine::from(self).size(columns)
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        Affine::from(self).loss(data, weights, |y, output| (output - y).powi(2))
    }

    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        Affine::from(self).gradient(data, weights, |y, output| 2.0 * (output - y))
    }

    fn proximal(&self, data: &Dataset, centre: &[f64], step: f64) -> Result<Vec<f64>> {
        LinearProximal::new(self, data)?.step(centre, step)
    }

    fn shape(&self) -> Shape {
        Shape { convex: true, smooth: true, ridge: self.ridge }
    }

    fn hypothesis(&self, names: &Arc<[String]>, _: Task, weights: &[f64]) -> Box<dyn Hypothesis> {
        Box::new(Affine::hypothesis(names, weights))
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        Affine::from(self).weights(hypothesis)
    }

    fn intercepts(&self, columns: usize, _task: Task) -> Vec<usize> {
        Affine::from(self).intercepts(columns, 1)
    }
}
