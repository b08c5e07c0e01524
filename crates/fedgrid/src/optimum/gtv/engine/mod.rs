//! The engines that find a minimum, each an iteration behind one trait, and the search that runs them one
//! after the other until a certificate is good enough.

mod augmented;
mod curvatures;
mod halpern;
mod iterations;
mod linear_system;
mod merged_clusters;
mod newton_cg;
mod relaxed;
mod search;
mod sparse_cholesky;

use std::{borrow::Cow, fmt};

pub use iterations::{FirstOrder, run_iterations};
pub(super) use search::search;

use super::problem::PrimalDualPoint;
use crate::error::Result;

/// What has found a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Every node was fitted alone.
    Alone,
    /// Sparse Cholesky factors of one linear system.
    SparseFactors,
    /// Conjugate gradients on one linear system.
    ConjugateGradients,
    /// Newton's method with conjugate gradients.
    NewtonCg,
    /// Relaxed steps of the primal-dual method.
    Relaxed,
    /// The same where they are not slow, else its restarted Halpern iteration.
    Halpern,
    /// The minimum of the clusters that one of these has found.
    Clusters,
    /// Newton steps on the augmented Lagrangian.
    Augmented,
    /// First-order steps, then those.
    Newton,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "every node alone",
            Self::SparseFactors => "sparse Cholesky factors",
            Self::ConjugateGradients => "conjugate gradients",
            Self::NewtonCg => "Newton with conjugate gradients",
            Self::Relaxed => "relaxed primal-dual",
            Self::Halpern => "restarted Halpern primal-dual",
            Self::Clusters => "primal-dual, then its clusters alone",
            Self::Augmented => "augmented Lagrangian",
            Self::Newton => "primal-dual, then augmented Lagrangian",
        })
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepEnd {
    /// There is nothing to look at yet.
    Running,
    /// The point is worth a certificate.
    Due,
    /// More steps would be in vain, or too slow.
    Exhausted,
}

/// An iteration from a point to better ones.
trait Engine {
    /// One step, with at most so many products where it takes any.
    fn step(&mut self, products: usize) -> Result<StepEnd>;

    /// Steps over all edges so far: primal-dual steps and products with a matrix.
    fn steps(&self) -> usize;

    /// Where it stands, and what it is called if that is the minimum.
    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind);

    /// Whether to leave it, by the gaps before and after its last step.
    fn is_stalled(&self, _before: f64, _after: f64) -> bool {
        false
    }
}
