//! How sure predictions and coefficients are.
//!
//! An interval of node i around a prediction ŷ at x has the form
//!
//! ```text
//! ŷ ± q_i s_i(x)          s_i(x)² = σ² + xᵀ C_i x    with a posterior; otherwise s = 1
//! ```
//!
//! where `C_i` is the covariance of the errors of the node's coefficients. The factor `q_i` comes from rows that
//! the models have not seen, those of the node and, as far as needed, of its neighbours:
//!
//! ```text
//! q_i = min { q : Σ_r w_r [ |y_r − ŷ_r| ≤ q s(x_r) ] ≥ level (1 + Σ_r w_r) }
//! ```
//!
//! If the scores |y − ŷ|/s of these rows and of a new one are exchangeable, the interval covers the new row with
//! probability `level` at least, for any number of rows; otherwise it lacks at most `Σ_r w_r d_r / (1 + Σ_r w_r)`
//! of it, `d_r` the distance in total variation that trading row r for the new one makes. [Barber, Candès, Ramdas
//! and Tibshirani 2023, theorem 2.] `docs/uncertainty.md` has an example.

mod calibration;
mod distribution;
mod intervals;
mod posterior;
mod predictive;

pub use distribution::normal_quantile;
pub use intervals::{Band, CalibrationRows, Intervals, Reach, Residuals};
pub use posterior::{
    CoefficientSpread, CovarianceChoice, Posterior, PredictorPosterior, VarianceSource,
};
pub use predictive::{Predictive, Response};
