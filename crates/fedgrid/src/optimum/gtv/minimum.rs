//! What is asked for and what is found: how weights are coupled, when to stop, and a minimum with its
//! certificate.

use super::{certificate::GapCertificate, engine::EngineKind};
use crate::penalty::Penalty;

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
    pub certificate: GapCertificate,
    /// What has found it.
    pub engine: EngineKind,
    /// Steps over all edges: primal-dual steps and products with a matrix.
    pub steps: usize,
    /// The certified relative gaps on the way, or residuals where there is no certificate, each with the
    /// steps so far.
    pub history: Vec<(usize, f64)>,
    /// The scale of the steps at the end, with which a search at a close strength starts.
    pub(super) scale: Option<f64>,
}

impl Minimum {
    /// The certified gap relative to the objective; none if there is no finite bound.
    #[must_use]
    pub fn relative_gap(&self) -> Option<f64> {
        self.certificate.gap.map(|gap| relative(gap, self.objective))
    }
}

/// A gap relative to an objective.
pub(super) fn relative(gap: f64, objective: f64) -> f64 {
    gap / objective.abs().max(f64::MIN_POSITIVE)
}
