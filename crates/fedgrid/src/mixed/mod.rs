//! Mixed models: coefficients that differ from node to node, by as much as the training rows say.
//!
//! ```text
//! y_i = X_i w_i + e_i,   e ~ N(0, σ²)                rows of node i
//! w_i = β + b_i,         cov(b_i, b_j) = Σ (Ω⁻¹)_ij  on the random columns; Σ is diagonal, or is not
//! Ω(ρ) = ρ L/d̄ + (1 − ρ) I,   0 ≤ ρ < 1              L the network's Laplacian, d̄ its mean degree
//! ```
//!
//! σ², Σ and ρ are estimated from training rows by (restricted) maximum likelihood; β and b follow, with
//! their errors. ρ = 0 is the mixed model of every textbook, without a network; Σ = 0 is the pooled model;
//! Σ → ∞ is local training. `docs/mixed-models.md` has the mathematics.

mod apart;
mod apart_search;
mod bend;
mod bend_terms;
mod by_answers;
mod chebyshev;
mod design;
mod deviance;
mod estimate;
mod evidence;
mod family;
mod front;
mod information;
mod laplace;
mod newton;
mod node_laplace;
mod moments;
mod node_system;
mod precision;
mod quasi_newton;
mod search;
mod structure;
mod trust_region;
mod whitening;

pub(crate) use by_answers::{Answer, Known, Leader, Next, Setting, means};
pub(crate) use chebyshev::Chebyshev;
pub(crate) use design::{ColumnSums, Pooling, add_ranges, may_deviate};
pub use design::{Design, RandomColumns};
pub use estimate::{MixedEstimate, MixedModel, SearchStart};
pub use evidence::NetworkRatio;
pub use family::{Family, NodeRows};
pub(crate) use front::{Eliminated, Front};
pub use laplace::LaplaceModel;
pub(crate) use laplace::TOLD_APART;
pub use moments::NodeMoments;
pub(crate) use newton::{ModeNext, PooledNext, mode, pooled};
pub(crate) use node_laplace::{NodeLaplace, totals};
pub(crate) use node_system::{
    Columns, Means, NodeBlock, NodePart, NodeSeries, NodeSystem, OwnPrecision, Probes, Question,
    slopes, weights,
};
pub use precision::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub(crate) use structure::{OPEN_SHARE, mean_places};

/// What is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Likelihood {
    /// The likelihood of what rows say beside the mean coefficients: variances are not too small.
    #[default]
    #[serde(rename = "reml")]
    Restricted,
    /// The likelihood of all rows.
    #[serde(rename = "ml")]
    Full,
}
