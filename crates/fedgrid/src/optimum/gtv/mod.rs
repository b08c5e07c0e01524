//! The minimiser of the losses and the generalised total variation of weights,
//!
//! ```text
//! P(w) = Σ_i L_i(w_i) + α Σ_edges A φ(w_i − w_j)
//! ```
//!
//! when one process holds everything, with a bound on how far from the minimum it is. The squared norm
//! with quadratic losses is a linear system, and with others that tell their second derivative a sequence
//! of them. The norm with such losses takes Newton steps on the augmented Lagrangian, which certify themselves.
//! Everything else, and what these do not solve, takes relaxed primal-dual steps and goes on with the restarted
//! Halpern iteration where these are slow; the norm with quadratic losses begins with them, as they cost little
//! there. Where a minimum of quadratic losses has few clusters, these are minimised by themselves on the way.
//! ["Networked Federated Multi-Task Learning", eq. 4.]

#![expect(
    clippy::inline_always,
    reason = "passes over rows are compiled for the processor's registers where they are dispatched"
)]

mod certificate;
mod clusters;
mod critical;
mod engine;
mod kernel;
mod losses;
mod minimum;
mod path;
mod problem;
mod start;

pub use certificate::GapCertificate;
pub use clusters::{clusters, clusters_of};
pub use critical::{Critical, critical};
pub use engine::{EngineKind, FirstOrder, run_iterations};
pub use losses::Losses;
pub use minimum::{Coupled, Goal, Minimum};
pub use path::{minima, strengths};

use crate::{
    error::{Result, at_least_zero, same_size},
    network::Network,
};
use problem::GtvProblem;

/// Minimises P for a network and a strength, from a minimum at another strength if there is one.
pub fn minimise(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    start: Option<&Minimum>,
    goal: Goal,
) -> Result<Minimum> {
    at_least_zero("alpha", coupled.alpha)?;
    same_size("nodes", network.len(), losses.len())?;
    engine::search(&GtvProblem::new(losses, network, coupled), start, goal)
}

/// P(w) for rows of weights, in the order of the nodes.
pub fn objective(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    weights: &[f64],
) -> Result<f64> {
    same_size("nodes", network.len(), losses.len())?;
    same_size("weights", weights.len(), losses.len() * losses.size)?;
    let problem = GtvProblem::new(losses, network, coupled);
    Ok(problem.objective(&problem.layout.rows_in(weights, losses.size, problem.width)))
}
