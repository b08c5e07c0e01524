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
//! | `distinct_rows` | rows of equal features as one | neighbours, kernels, perceptron |

pub(super) mod affine;
pub(super) mod affine_model;
pub(super) mod basis;
pub(super) mod coordinate_descent;
pub(super) mod damped_newton;
pub(super) mod distinct_rows;
pub(super) mod level_set;
pub(super) mod newton_system;
pub(super) mod piecewise_quadratic;
mod subgradient;
