//! A node that takes part: it waits until every edge has the dual of its weights, updates its weights,
//! and tells them on. What it reports is the last iterate that was completed on all its edges,
//!
//! ```text
//! r_i = slope of L_i at w̃_i + Σ_e D_ei ũ_e      zero at a minimum
//! P(w̃) − min P ≤ Σ_e gap_e + Σ_i ⟨r_i, w̃_i − w_i*⟩
//! ```
//!
//! and, for a loss of modulus μ, or where no weights at the minimum are longer than R,
//!
//! ```text
//! ⟨r_i, w̃_i − w_i*⟩ ≤ ‖r_i‖² / 2μ,      ⟨r_i, w̃_i − w_i*⟩ ≤ ‖r_i‖ (‖w̃_i‖ + R)
//! ```

use std::sync::Arc;

use super::{
    EdgeMessage, PrimalDual,
    edge::{CoupledUpdate, DualStep, EdgeEndpoint},
    local_loss::{LocalLoss, Update},
    scale::Balance,
};
use crate::{
    algebra::{dot, norm, squared_distance},
    bytes::{Reader, Writer},
    error::{Error, Result},
    method::{Durable, Gap, Participant, Report},
    model::{Hypothesis, kind_of},
    network::{NodeId, View},
};

/// The step σ of the authors' code, a little below the largest one, 1/2, that converges with τ = 1/|N(i)|.
const COMPAT_SIGMA: f64 = 0.45;

/// How many rounds of messages an iteration takes when nothing is lost: weights there, duals back.
const ROUNDS_PER_ITERATION: usize = 2;

/// A node that takes part in the primal-dual method.
#[derive(Debug)]
pub struct PrimalDualParticipant {
    method: Arc<PrimalDual>,
    id: NodeId,
    pub(super) local: LocalLoss,
    /// The indices of the coupled weights.
    pub(super) coupled: Vec<usize>,
    pub(super) ends: Vec<EdgeEndpoint>,
    pub(super) balance: Balance,
    /// The weights w after relaxation.
    pub(super) weights: Vec<f64>,
    /// The last update; none at the start.
    pub(super) update: Option<Update>,
    /// The coupled weights before and after the last update.
    pub(super) moved: CoupledUpdate,
    /// The coupled weights as they are sent.
    pub(super) shared: Arc<[f64]>,
    pub(super) iterate: usize,
    pub(super) waited: usize,
    pub(super) is_informed: bool,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
    pub(super) report: Report,
}

impl PrimalDualParticipant {
    pub(super) fn new(method: &Arc<PrimalDual>, view: View) -> Result<Self> {
        let View { mut node, neighbours } = view;
        let id = node.id;
        if node.model.as_parametric().is_none() {
            return Err(Error::NotParametric { node: id, model: kind_of(node.model.as_ref()) });
        }
        if method.paper_compat {
            let rows = node.data.row_count();
            node.data = node.data.with_total_weight(rows);
        }
        let local = LocalLoss::new(node, method.step, method.relaxation)?;
        let given = method.start.as_ref().and_then(|start| start[id].clone());
        let given = given.and_then(|hypothesis| local.weights(hypothesis.as_ref()));
        let weights = given.unwrap_or_else(|| local.start());
        let intercepts = if method.couple_intercept { Vec::new() } else { local.intercepts() };
        let coupled: Vec<usize> = (0..weights.len()).filter(|k| !intercepts.contains(k)).collect();
        // Without strength duals stay zero, so messages would change nothing.
        let neighbours = if method.alpha > 0.0 { neighbours } else { Vec::new() };
        let strength = method.alpha * dual_share(method);
        let ends = neighbours.iter();
        let ends =
            ends.map(|other| EdgeEndpoint::new(id, other, strength * other.weight, coupled.len()));
        let mut participant = Self {
            ends: ends.collect(),
            method: method.clone(),
            id,
            balance: Balance::new(method.scale),
            moved: CoupledUpdate::default(),
            shared: Arc::from([]),
            iterate: 0,
            waited: 0,
            is_informed: local.has_rows(),
            hypothesis: None,
            // A change as large as the weights: before the first iteration nothing has come to rest.
            report: Report { change: 1.0, size: 1.0, ..Report::default() },
            update: None,
            local,
            coupled,
            weights,
        };
        participant.begin()?;
        Ok(participant)
    }

    /// A node that goes on from the weights and duals to which another strength has led it, maybe on other rows.
    pub(super) fn from(method: &Arc<PrimalDual>, view: View, before: &Self) -> Result<Self> {
        let mut participant = Self::new(method, view)?;
        let mut state = Writer::default();
        before.snapshot(&mut state)?;
        let state = state.into_bytes();
        let mut from = Reader::new("the state at another strength", &state);
        participant.restore(&mut from)?;
        // No edge knows how far this strength is from rest before its dual was updated by it.
        for end in participant.ends.iter_mut().filter(|end| end.is_owner) {
            (end.measured.gap, end.measured.change) = (f64::INFINITY, f64::INFINITY);
        }
        participant.report = Report { change: 1.0, size: 1.0, gap: None, ..participant.report };
        Ok(participant)
    }

    /// A node without edges is done when it is fitted; others begin by sending their start.
    pub(super) fn begin(&mut self) -> Result<()> {
        if self.ends.is_empty() {
            self.hypothesis = self.local.fit()?;
            let fitted = self.hypothesis.as_ref().and_then(|own| self.local.weights(own.as_ref()));
            let loss = fitted.map_or(0.0, |weights| self.local.loss(&weights));
            let gap = self.local.is_convex().then_some(Gap { iterate: None, bound: 0.0 });
            self.report = Report { loss, gap, ..Report::default() };
            return Ok(());
        }
        if self.is_informed {
            self.hypothesis = Some(self.local.hypothesis(&self.weights));
        }
        let start = self.weights.clone();
        self.share(&start, &start);
        Ok(())
    }

    /// Makes the coupled weights before and after an update known to the edges.
    fn share(&mut self, before: &[f64], proposed: &[f64]) {
        let coupled = |weights: &[f64]| self.coupled.iter().map(|&k| weights[k]).collect();
        self.moved = CoupledUpdate { before: coupled(before), proposed: coupled(proposed) };
        let shared: Vec<f64> = coupled(&self.weights);
        self.shared = shared.into();
    }

    fn end_of(&self, message: &(NodeId, EdgeMessage)) -> Result<Option<usize>> {
        let (from, message) = message;
        let Ok(index) = self.ends.binary_search_by_key(from, |end| end.neighbour) else {
            return Ok(None);
        };
        let (own, other) = (self.coupled.len(), message.values.len());
        if own == other {
            return Ok(Some(index));
        }
        Err(Error::MixedSizes { node: self.id, own, neighbour: *from, other })
    }

    /// Whether all edges have the dual of the current weights, or have been waited for long enough.
    fn is_ready(&self) -> bool {
        let is_out_of_patience = self
            .method
            .patience
            .is_some_and(|patience| self.waited >= ROUNDS_PER_ITERATION + patience);
        !self.ends.is_empty() && (is_out_of_patience || self.ends.iter().all(|end| end.is_fresh))
    }

    /// Sums over all edges, at the indices of the coupled weights; zero at the others.
    fn sum_of_duals(&self, add: fn(&EdgeEndpoint, &mut [f64])) -> Vec<f64> {
        let mut coupled = vec![0.0; self.coupled.len()];
        self.ends.iter().for_each(|end| add(end, &mut coupled));
        let mut sum = vec![0.0; self.weights.len()];
        self.coupled.iter().zip(&coupled).for_each(|(&index, value)| sum[index] = *value);
        sum
    }

    /// Reports the iterate that all edges know by now.
    fn conclude(&mut self) {
        let owned = |value: fn(&EdgeEndpoint) -> f64| self.ends.iter().map(value).sum::<f64>();
        let proposed = self.update.as_ref().map_or(&self.weights, |update| &update.proposed);
        self.report = Report {
            loss: self.local.loss(proposed),
            // Both ends of an edge are expected to report it; only its owner knows it.
            variation: 2.0 * owned(|end| end.measured.variation),
            ..self.report
        };
        if let Some(Update { proposed, slope, step }) = &self.update {
            let mut rest = self.sum_of_duals(EdgeEndpoint::add_proposed);
            rest.iter_mut().zip(slope).for_each(|(rest, slope)| *rest += slope);
            let gap = self.node_gap(norm(&rest), norm(proposed));
            self.report.change = step * dot(&rest, &rest) + owned(|end| end.measured.change);
            self.report.size = dot(proposed, proposed) / step + owned(|end| end.measured.size);
            self.report.gap = gap.map(|gap| Gap {
                iterate: Some(self.iterate),
                bound: gap + owned(|end| end.measured.gap),
            });
        }
        if self.is_informed {
            self.hypothesis = Some(self.local.hypothesis(proposed));
        }
    }

    /// What the node adds to the certified gap; none if nothing can be said.
    fn node_gap(&self, rest: f64, size: f64) -> Option<f64> {
        // An edge that has missed a turn holds duals and weights of different iterates.
        let is_whole = self.ends.iter().all(|end| end.turn == self.iterate + 1);
        if !self.local.is_convex() || !is_whole || dual_share(&self.method) < 1.0 {
            return None;
        }
        // Exactly optimal weights are certified even where neither μ nor R is known.
        if rest == 0.0 {
            return Some(0.0);
        }
        if self.local.convexity > 0.0 {
            return Some(rest * rest / (2.0 * self.local.convexity));
        }
        self.method.radius.map(|radius| rest * (size + radius))
    }

    /// Updates the weights by the duals of all edges.
    fn advance(&mut self) -> Result<()> {
        let degree = self.ends.len() as f64;
        // Edges that have missed a turn would tell of other iterates.
        let is_whole = self.ends.iter().all(|end| end.is_fresh);
        if self.update.is_some() && is_whole {
            let moved = squared_distance(&self.moved.before, &self.moved.proposed);
            let weights_moved = degree * moved;
            let duals_moved = self.ends.iter().map(|end| end.moved).sum();
            self.balance.watch(weights_moved, duals_moved);
        }
        self.iterate += 1;
        self.waited = 0;
        self.ends.iter_mut().for_each(EdgeEndpoint::expect_dual);
        let pull = self.sum_of_duals(EdgeEndpoint::add_dual);
        let before = std::mem::take(&mut self.weights);
        let kappa = degree / self.balance.scale;
        let update = self.local.update(&before, &pull, kappa, self.iterate)?;
        let rho = self.method.relaxation;
        let relaxed = before.iter().zip(&update.proposed).map(|(w, next)| w + rho * (next - w));
        self.weights = relaxed.collect();
        self.share(&before, &update.proposed);
        self.update = Some(update);
        Ok(())
    }
}

impl Participant for PrimalDualParticipant {
    type Message = EdgeMessage;

    fn send(&mut self) -> Vec<(NodeId, EdgeMessage)> {
        let (scale, informed) = (self.balance.scale, self.is_informed);
        let shared = self.shared.clone();
        let message = |end: &mut EdgeEndpoint| {
            let values = end.outgoing(&shared)?;
            Some((end.neighbour, EdgeMessage { turn: end.turn, values, scale, informed }))
        };
        self.ends.iter_mut().filter_map(message).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, EdgeMessage)]) -> Result<()> {
        self.waited += 1;
        let mut weights = Vec::new();
        for message in inbox {
            let Some(index) = self.end_of(message)? else { continue };
            self.is_informed |= message.1.informed;
            if self.ends[index].is_owner {
                weights.push((index, &message.1));
            } else {
                self.ends[index].receive_dual(&message.1, self.method.relaxation);
            }
        }
        // Before the own duals are updated: so all nodes conclude an iterate in the same round.
        if self.is_ready() {
            self.conclude();
            self.advance()?;
        }
        let step = DualStep {
            penalty: self.method.penalty,
            relaxation: self.method.relaxation,
            scale: self.balance.scale,
            sigma: self.method.paper_compat.then_some(COMPAT_SIGMA),
        };
        for (index, message) in weights {
            self.ends[index].receive_weights(message, &self.moved, step);
        }
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        self.report
    }
}

/// The share of the penalty that the duals belong to.
fn dual_share(method: &PrimalDual) -> f64 {
    if method.paper_compat { method.penalty.rule().printed_share() } else { 1.0 }
}
