//! How the nodes of the network, and of its shuffles, learn together. A method is a variant here, an
//! arm in [`super::trainer`] and a unit of strength in [`super::tuning`].

use super::{Baseline, Contestant};
use crate::{
    method::{Coupling, FedRelax, PersFl, PrimalDual, PrimalStep, Scale, StopOn},
    optimum::gtv::Goal,
    penalty::Penalty,
};

/// A method that couples nodes.
#[derive(Debug, Clone)]
pub enum Approach {
    /// Exchange of predictions on public points; its pull, pooled models and start are set by the
    /// study.
    FedRelax(FedRelax),
    /// The minimum of the losses and the total variation of weights.
    Gtv(Gtv),
    /// Probes of the neighbours; its step is the strength that is tuned, and the rounds of the study
    /// are its iterations.
    PersFl(PersFl),
    /// A method that others are compared with.
    Baseline(Baseline),
    /// One of the methods without a network that every study compares with.
    Plain(Plain),
}

/// A method that needs no network and of which every comparison has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// Every node alone.
    Local,
    /// One model for all.
    Pooled,
    /// Every node pulled to the pooled model; the pull is its strength.
    Shrunk {
        /// Whether levels are pulled, too.
        couple_intercept: bool,
    },
}

impl Plain {
    /// Its row of the comparison.
    #[must_use]
    pub fn contestant(self) -> Contestant {
        match self {
            Self::Local => Contestant::Local,
            Self::Pooled => Contestant::Pooled,
            Self::Shrunk { .. } => Contestant::Shrunk,
        }
    }
}

/// Total variation of weights as it is minimised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gtv {
    /// What the difference of two neighbours' weights costs.
    pub penalty: Penalty,
    /// Whether intercepts are coupled too; otherwise every node keeps its own.
    pub couple_intercept: bool,
    /// The certified gap, relative to the objective, that is good enough.
    pub tolerance: f64,
    /// The largest number of steps over all edges.
    pub steps: usize,
    /// In rounds of messages: the scale of the steps.
    pub scale: Scale,
    /// In rounds: the share of each update that is taken.
    pub relaxation: f64,
    /// In rounds: how a node finds its next weights.
    pub step: PrimalStep,
    /// In rounds: a number that no node's weights exceed, to certify a gap by.
    pub radius: Option<f64>,
    /// In rounds: which number must fall to the tolerance.
    pub stop_on: StopOn,
    /// In rounds: what the authors' code does.
    pub paper_compat: bool,
}

impl Default for Gtv {
    fn default() -> Self {
        let Goal { tolerance, steps } = Goal::default();
        let PrimalDual { penalty, couple_intercept, scale, relaxation, step, radius, .. } =
            PrimalDual::default();
        Self {
            penalty,
            couple_intercept,
            tolerance,
            steps,
            scale,
            relaxation,
            step,
            radius,
            stop_on: StopOn::Gap,
            paper_compat: false,
        }
    }
}

impl Gtv {
    /// The rounds of messages that minimise it.
    #[must_use]
    pub fn rounds(self, alpha: f64) -> PrimalDual {
        let Self { penalty, couple_intercept, scale, relaxation, step, .. } = self;
        let Self { radius, stop_on, paper_compat, .. } = self;
        PrimalDual {
            alpha,
            penalty,
            couple_intercept,
            scale,
            relaxation,
            step,
            radius,
            stop_on,
            paper_compat,
            ..PrimalDual::default()
        }
    }
}

impl Default for Approach {
    fn default() -> Self {
        Self::FedRelax(FedRelax::default())
    }
}

impl Approach {
    /// Whether levels are coupled, or only what is left without them.
    #[must_use]
    pub fn couples_intercepts(&self) -> bool {
        match self {
            Self::FedRelax(method) => method.couple_intercept,
            Self::Gtv(method) => method.couple_intercept,
            Self::Plain(Plain::Shrunk { couple_intercept }) => *couple_intercept,
            Self::PersFl(_) | Self::Baseline(_) | Self::Plain(_) => true,
        }
    }

    /// The weight of the pooled model as one more neighbour of every node.
    #[must_use]
    pub fn hub(&self) -> f64 {
        match self {
            Self::FedRelax(method) => method.hub,
            Self::Baseline(baseline) if !baseline.uses_network() => 1.0,
            Self::Plain(Plain::Pooled | Plain::Shrunk { .. }) => 1.0,
            _ => 0.0,
        }
    }

    /// Whether both ends' public points count on an edge.
    pub(super) fn is_symmetric(&self) -> bool {
        matches!(self, Self::FedRelax(method) if method.coupling == Coupling::Symmetric)
    }
}
