//! The primal-dual method: neighbours' weights are held together by one dual per edge,
//!
//! ```text
//! minimise  Σ_i L_i(w_i) + α Σ_e A_e φ(w_i − w_j)                        over all w, with e = {i, j}
//!
//! w̃_i = argmin L_i(w) + ‖w − w_i + τ_i Σ_e D_ei u_e‖² / 2τ_i             at every node i
//! ũ_e = argmin g_e*(u) + ‖u − u_e − σ_e D_e(2w̃ − w)‖² / 2σ_e             at the owner of every edge e
//! w ← w + ρ (w̃ − w),   u ← u + ρ (ũ − u)
//!
//! τ_i = s_i / |N(i)|,   σ_e = 1 / (s_i + s_j),   g_e = α A_e φ,   (Dw)_e = w_i − w_j for i < j
//! ```
//!
//! ["Networked Federated Multi-Task Learning", Algorithm 1, with all scales s and ρ equal to one.] Here
//! every node has a scale of its own, which converges for any scales (docs/mathematics.md), and which it
//! adapts by what it sees of its own weights and edges.
//!
//! An edge is a conversation in turns: the end with the larger id tells its weights, the end with the
//! smaller id owns the dual, updates it and tells it back. So one iteration is two rounds of messages,
//! each of one message per edge. What is not answered is said again as a whole, so that a lost message
//! costs time and changes no number.

mod edge;
mod local_loss;
mod participant;
mod scale;
mod wire;

use std::sync::Arc;

pub use edge::EdgeMessage;
pub use local_loss::PrimalStep;
pub use participant::PrimalDualParticipant;
pub use scale::Scale;

use super::{Method, PartialHypotheses, StopOn};
use crate::{
    error::{Error, Result, at_least_zero, positive},
    model::LocalModel,
    network::View,
    penalty::Penalty,
};

/// Minimisation of the generalised total variation of weights.
///
/// ```
/// use fedgrid::{data::*, method::PrimalDual, model::Linear, network::{self, Node}, penalty::Penalty};
/// use fedgrid::runtime::InProcess;
/// use std::sync::Arc;
///
/// # fn main() -> fedgrid::Result<()> {
/// // Two nodes with one reading each, y = x and y = 3 x.
/// let public = Arc::new(Features::from_rows(&["x"], &[[1.0]])?);
/// let model = Arc::new(Linear { ridge: 0.0, intercept: false });
/// let nodes = [1.0, 3.0].iter().enumerate().map(|(id, slope)| {
///     let data = Dataset::new(public.as_ref().clone(), Labels::values(vec![*slope]))?;
///     Ok(Node { id, data, model: model.clone(), public: public.clone() })
/// });
/// let views = network::path(2)?.views(nodes.collect::<fedgrid::Result<_>>()?)?;
///
/// let method = PrimalDual { alpha: 1.0, penalty: Penalty::Norm, ..PrimalDual::default() };
/// let run = InProcess::default().run(&method, views)?;
/// let slope = |node: usize| run.hypotheses[node].as_ref().map(|h| h.predict(&public).row(0)[0]);
/// assert!((slope(0).unwrap() - 1.5).abs() < 1e-4); // the minimiser of (w − 1)² + (v − 3)² + |w − v|
/// assert!((slope(1).unwrap() - 2.5).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PrimalDual {
    /// The strength α ≥ 0 of the coupling; zero trains every node alone.
    pub alpha: f64,
    /// How the difference φ of neighbours' weights counts.
    pub penalty: Penalty,
    /// Whether intercepts are coupled like all weights, or stay each node's own. A node without rows
    /// has nothing to learn its own from and keeps that of its start.
    pub couple_intercept: bool,
    /// The scale s > 0 of the steps; one is the paper.
    pub scale: Scale,
    /// The share ρ of each update that is taken, in (0, 2); one is the paper, and 1.5 needs the
    /// fewest rounds.
    pub relaxation: f64,
    /// How a node finds its next weights.
    pub step: PrimalStep,
    /// How many rounds a node waits for missing messages before it goes on with what it last heard;
    /// none waits for ever, and then losses change no number.
    pub patience: Option<usize>,
    /// A number that no node's weights exceed in length at the minimum. It is needed to certify a
    /// gap where a node's own rows do not determine its weights; none leaves such networks without.
    pub radius: Option<f64>,
    /// Which number of a round must fall to the tolerance.
    pub stop_on: StopOn,
    /// The hypotheses to start from; where there is none, the start of the model, mostly zero.
    pub start: Option<PartialHypotheses>,
    /// What the authors' code does, whatever is said above: σ = 0.45, τ = 1/|N(i)|, ρ = 1, losses
    /// summed over a node's rows instead of their mean, and duals of the squared norm divided by
    /// 1 + 2σ/c, which minimises half of its penalty. Two slips are not followed: τ taken from other
    /// nodes, and one noise for all rows of a node.
    pub paper_compat: bool,
}

impl Default for PrimalDual {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            penalty: Penalty::default(),
            couple_intercept: true,
            scale: Scale::Adaptive,
            relaxation: 1.5,
            step: PrimalStep::Proximal,
            patience: None,
            radius: None,
            stop_on: StopOn::Residual,
            start: None,
            paper_compat: false,
        }
    }
}

impl PrimalDual {
    /// Whether a minimum can be certified with this model at a node: only a convex loss has one that
    /// is seen from its slopes. A perceptron is trained without.
    #[must_use]
    pub fn certifies(model: &dyn LocalModel) -> bool {
        model.as_parametric().is_some_and(|model| model.shape().convex)
    }

    fn check(&self) -> Result<()> {
        at_least_zero("alpha", self.alpha)?;
        at_least_zero("radius", self.radius.unwrap_or(0.0))?;
        if !(self.relaxation > 0.0 && self.relaxation < 2.0) {
            let (value, expected) = (self.relaxation, "a number between zero and two");
            return Err(Error::Parameter { name: "relaxation", value, expected });
        }
        if let Scale::Fixed(scale) = self.scale {
            positive("scale", scale)?;
        }
        if let PrimalStep::Inexact { error } = self.step {
            positive("error", error)?;
        }
        Ok(())
    }

    /// One node takes part from where another strength has led it.
    pub(super) fn join_from(
        &self,
        view: View,
        before: &PrimalDualParticipant,
    ) -> Result<PrimalDualParticipant> {
        self.check()?;
        PrimalDualParticipant::from(&Arc::new(self.settled()), view, before)
    }

    /// The same with what the authors' code does in its place, where that is asked for.
    fn settled(&self) -> Self {
        let mut own = self.clone();
        if self.paper_compat {
            own.scale = Scale::Fixed(1.0);
            own.relaxation = 1.0;
        }
        own
    }
}

impl Method for PrimalDual {
    type Participant = PrimalDualParticipant;

    fn join(&self, view: View) -> Result<PrimalDualParticipant> {
        self.check()?;
        PrimalDualParticipant::new(&Arc::new(self.settled()), view)
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }

    fn stop_on(&self) -> StopOn {
        self.stop_on
    }
}
