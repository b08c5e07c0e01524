//! What several models share: coordinates, equations, and the minimisers of their objectives.
//!
//! | file | solves | used by |
//! |---|---|---|
//! | `affine`, `affine_model` | loss, gradient and proximal step of one linear output | all linear models |
//! | `basis` | coordinates of equal spread | Huber, quantile, Poisson, logistic |
//! | `coordinate_descent` | quadratic + lasso | elastic net, logistic with a lasso |
//! | `damped_newton` | smooth convex loss + penalties | Poisson, proximal steps of logistic |
//! | `piecewise_quadratic` | losses whose derivative is a clipped line | Huber, quantile |
//! | `newton_system` | the linear equations of a Newton step | both of the above, logistic |
//! | `subgradient`, `level_set` | what certificates of networks need | all linear models |
//! | `softmax` | scores as probabilities | boosting, perceptron |
//! | `exponential` | exponentials of many numbers | kernels |
//! | `distinct_rows` | rows of equal features as one | neighbours, kernels, perceptron |

mod affine;
mod affine_model;
mod basis;
mod coordinate_descent;
mod damped_newton;
mod distinct_rows;
mod exponential;
mod level_set;
mod newton_system;
mod piecewise_quadratic;
mod softmax;
mod subgradient;

pub(super) use self::{
    affine::{Affine, QuadraticPulls, check_proximal},
    affine_model::AffineModel,
    basis::{Basis, CentredRegression, centre},
    coordinate_descent::{CoordinateDescent, Separable},
    damped_newton::{PenalisedLoss, RowLoss},
    distinct_rows::{DistinctRows, mean_of},
    exponential::exponentials,
    level_set::RowShape,
    newton_system::{add_block, damped_direction},
    piecewise_quadratic::PiecewiseQuadratic,
    softmax::{divide_by_sum, softmax},
};
