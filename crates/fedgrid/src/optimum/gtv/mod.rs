//! The minimiser of the losses and the generalised total variation of weights,
//!
//! ```text
//! P(w) = Σ_i L_i(w_i) + α Σ_edges A φ(w_i − w_j)
//! ```
//!
//! when one process holds everything, with a bound on how far from the minimum it is. The squared norm
//! with quadratic losses is a linear system, and with others that tell their second derivative a sequence
//! of them; everything else starts with relaxed primal-dual steps, goes
//! on with the restarted Halpern iteration where these are slow, and for the norm with quadratic losses
//! ends with Newton steps, which certify themselves. Where a minimum has few clusters, these are minimised
//! by themselves on the way.
//! ["Networked Federated Multi-Task Learning", eq. 4.]

#![expect(
    clippy::inline_always,
    reason = "passes over rows are compiled for the processor's registers where they are dispatched"
)]

mod augmented;
mod certificate;
mod contract;
mod critical;
mod direct;
mod edge_pass;
mod clusters;
mod engine;
mod follow;
mod frame;
mod halpern;
mod layout;
mod losses;
mod newton;
mod node_pass;
mod packed;
mod path;
mod pooled;
mod quadratic;
mod radius;
mod relaxed;
mod squared;
mod start;
mod sweep;
mod tiles;
mod width;

use std::fmt;

pub use certificate::Certificate;
pub use clusters::{clusters, clusters_of};
pub use critical::{Critical, critical};
pub use follow::{Iteration, follow};
pub use losses::Losses;
pub use path::{minima, strengths};

use engine::Search;
use frame::Frame;
use start::start_of;

use crate::{
    error::{Error, Result, at_least_zero, same_size},
    network::Network,
    penalty::Penalty,
};

/// How neighbours' weights are coupled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coupled {
    /// The strength α ≥ 0; zero leaves every node alone.
    pub alpha: f64,
    /// What the difference of two neighbours' weights costs.
    pub penalty: Penalty,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The certified gap P(w) − P*, relative to P(w), that is good enough.
    pub tolerance: f64,
    /// The largest number of steps over all edges.
    pub steps: usize,
}

impl Default for Goal {
    fn default() -> Self {
        Self { tolerance: 1e-6, steps: 20_000 }
    }
}

/// What has found a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
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
    /// Either, then Newton steps on the augmented Lagrangian.
    Newton,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alone => "every node alone",
            Self::SparseFactors => "sparse Cholesky factors",
            Self::ConjugateGradients => "conjugate gradients",
            Self::NewtonCg => "Newton with conjugate gradients",
            Self::Relaxed => "relaxed primal-dual",
            Self::Halpern => "restarted Halpern primal-dual",
            Self::Clusters => "primal-dual, then its clusters alone",
            Self::Newton => "primal-dual, then augmented Lagrangian",
        })
    }
}

/// The weights of all nodes and what is known about them.
#[derive(Debug, Clone)]
pub struct Minimum {
    /// The rows of weights, in the order of the nodes.
    pub weights: Vec<f64>,
    /// The duals of the edges, in their order.
    pub duals: Vec<f64>,
    /// P(w).
    pub objective: f64,
    /// How far from the minimum that is at most.
    pub certificate: Certificate,
    /// What has found it.
    pub engine: Engine,
    /// Steps over all edges: primal-dual steps and products with a matrix.
    pub steps: usize,
    /// The certified relative gaps on the way, or residuals where there is no certificate, each with the
    /// steps so far.
    pub history: Vec<(usize, f64)>,
    scale: Option<f64>,
}

impl Minimum {
    /// The certified gap relative to the objective; none if there is no finite bound.
    #[must_use]
    pub fn relative_gap(&self) -> Option<f64> {
        self.certificate.gap.map(|gap| relative(gap, self.objective))
    }
}

fn relative(gap: f64, objective: f64) -> f64 {
    gap / objective.abs().max(f64::MIN_POSITIVE)
}

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
    let frame = Frame::new(losses, network, coupled);
    let mut point = start_of(&frame, start)?;
    let mut search = Search::new(&frame, goal);
    if coupled.alpha == 0.0 || network.edges().is_empty() {
        search.look(&point, Engine::Alone);
    } else if coupled.penalty == Penalty::SquaredNorm
        && losses.is_quadratic()
        && losses.coupled == losses.size
    {
        search.solve_linear(point);
    } else if coupled.penalty != Penalty::SquaredNorm || !search.descend(&mut point) {
        search.iterate(point, start.and_then(|start| start.scale))?;
    }
    let Search { best, steps, history, scale, .. } = search;
    let best = best.filter(|best| best.objective.is_finite());
    let best =
        best.ok_or(Error::NotConverged { what: "the minimisation of total variation", steps })?;
    Ok(Minimum {
        weights: frame.layout.rows_out(&best.point.w, losses.size, frame.width),
        duals: frame.layout.edges_out(&best.point.u, losses.coupled, frame.width),
        objective: best.objective,
        certificate: best.certificate,
        engine: best.engine,
        steps,
        history,
        scale,
    })
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
    let frame = Frame::new(losses, network, coupled);
    Ok(frame.objective(&frame.layout.rows_in(weights, losses.size, frame.width)))
}
