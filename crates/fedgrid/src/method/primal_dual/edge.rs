//! One end of an edge. The end with the smaller id owns the dual: it receives weights and answers with
//! the dual of the turn; the other end receives duals and answers with weights,
//!
//! ```text
//! z = w̃_i − w̃_j,      gap of the edge = g(z) + g*(ũ) − ũᵀz ≥ 0
//! ```
//!
//! Turns are numbered, so that late and repeated messages are recognised, and the last message is sent
//! again until it is answered.

use std::sync::Arc;

use super::super::{Message, Wire};
use crate::{
    algebra::{add_scaled, dot},
    bytes::{Reader, Writer},
    data::Features,
    error::Result,
    network::{Neighbour, NodeId},
    penalty::Penalty,
};

/// How many bytes the turn, the scale and the mark take before the values.
pub(super) const HEADER_BYTES: usize = 8 + 8 + 1;

/// What is sent along an edge: weights to the owner of its dual, the dual to the other end.
#[derive(Debug, Clone)]
pub struct EdgeMessage {
    /// How many duals the edge has had.
    pub turn: usize,
    /// The whole of the coupled weights, or of the dual.
    pub values: Arc<[f64]>,
    /// The scale s of the sender's steps.
    pub scale: f64,
    /// Whether the sender has rows, or knows of someone who has.
    pub informed: bool,
}

impl Message for EdgeMessage {
    fn bytes(&self) -> usize {
        Self::most_bytes(&self.values.len())
    }
}

/// How far the last message of an endpoint has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// It is to be sent.
    Due,
    /// It was sent a round ago, and its answer may be on its way; if not, it is sent again.
    Sent,
    /// It was answered.
    Acknowledged,
}

/// A node's coupled weights before and after its update.
#[derive(Debug, Clone, Default)]
pub(super) struct CoupledUpdate {
    /// w.
    pub(super) before: Vec<f64>,
    /// w̃.
    pub(super) proposed: Vec<f64>,
}

/// How an owner updates its duals.
#[derive(Debug, Clone, Copy)]
pub(super) struct DualStep {
    pub(super) penalty: Penalty,
    pub(super) relaxation: f64,
    /// The own scale s.
    pub(super) scale: f64,
    /// The step σ where it is given, instead of one over the sum of both scales.
    pub(super) sigma: Option<f64>,
}

/// What an owner knows of its edge after an update; zero at the other end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EdgeMeasures {
    /// A φ(z).
    pub(super) variation: f64,
    /// The gap of the edge.
    pub(super) gap: f64,
    /// σ ‖·‖² of what the difference misses from belonging to the dual.
    pub(super) change: f64,
    /// ‖ũ‖² / σ.
    pub(super) size: f64,
}

/// One end of an edge.
#[derive(Debug)]
pub(super) struct EdgeEndpoint {
    /// Who is at the other end.
    pub(super) neighbour: NodeId,
    /// Whether this end owns the dual.
    pub(super) is_owner: bool,
    /// The weight A of the edge.
    weight: f64,
    /// The strength c of the penalty.
    strength: f64,
    /// How many duals the edge has had.
    pub(super) turn: usize,
    /// Whether the dual of the current weights is known.
    pub(super) is_fresh: bool,
    /// How far the own last message has come.
    delivery: Delivery,
    /// The dual u, after relaxation.
    dual: Arc<[f64]>,
    /// The dual ũ.
    proposed: Vec<f64>,
    /// ‖ũ − u‖² of the last update.
    pub(super) moved: f64,
    /// The weights last received.
    received: Option<Arc<[f64]>>,
    pub(super) measured: EdgeMeasures,
}

impl EdgeEndpoint {
    pub(super) fn new(own: NodeId, neighbour: &Neighbour, strength: f64, size: usize) -> Self {
        Self {
            neighbour: neighbour.id,
            is_owner: own < neighbour.id,
            weight: neighbour.weight,
            strength,
            turn: 0,
            is_fresh: false,
            // The owner waits for weights to answer.
            delivery: if own < neighbour.id { Delivery::Acknowledged } else { Delivery::Due },
            dual: vec![0.0; size].into(),
            proposed: vec![0.0; size],
            moved: 0.0,
            received: None,
            measured: EdgeMeasures::default(),
        }
    }

    /// Writes how the conversation stands.
    pub(super) fn write(&self, to: &mut Writer) {
        to.count(self.turn);
        to.flag(self.is_fresh);
        to.mark(match self.delivery {
            Delivery::Due => 0,
            Delivery::Sent => 1,
            Delivery::Acknowledged => 2,
        });
        to.numbers(&self.dual);
        to.numbers(&self.proposed);
        to.number(self.moved);
        to.flag(self.received.is_some());
        to.numbers(self.received.as_deref().unwrap_or_default());
        let EdgeMeasures { variation, gap, change, size } = self.measured;
        to.numbers(&[variation, gap, change, size]);
    }

    pub(super) fn read(&mut self, size: usize, from: &mut Reader<'_>) -> Result<()> {
        (self.turn, self.is_fresh) = (from.count()?, from.flag()?);
        self.delivery = match from.mark()? {
            0 => Delivery::Due,
            1 => Delivery::Sent,
            2 => Delivery::Acknowledged,
            _ => return Err(from.refusal("has a word in an unknown state")),
        };
        (self.dual, self.proposed) = (from.numbers(size)?.into(), from.numbers(size)?);
        self.moved = from.number()?;
        self.received = if from.flag()? { Some(from.numbers(size)?.into()) } else { None };
        let [variation, gap] = [from.number()?, from.number()?];
        let [change, size] = [from.number()?, from.number()?];
        self.measured = EdgeMeasures { variation, gap, change, size };
        Ok(())
    }

    /// The dual of an end that was written among other neighbours.
    pub(super) fn read_dual(size: usize, from: &mut Reader<'_>) -> Result<Arc<[f64]>> {
        let public = Arc::new(Features::empty(Arc::from([])));
        let mut end = Self::new(0, &Neighbour { id: 1, weight: 1.0, public }, 0.0, size);
        end.read(size, from)?;
        Ok(end.dual)
    }

    /// Goes on from a dual; the conversation begins anew.
    pub(super) fn begin_from(&mut self, dual: Arc<[f64]>) {
        self.dual = dual;
    }

    /// What is to be sent: the dual until it is answered, or the weights until their dual is there.
    pub(super) fn outgoing(&mut self, weights: &Arc<[f64]>) -> Option<Arc<[f64]>> {
        let is_due = self.delivery == Delivery::Due;
        self.delivery = match self.delivery {
            Delivery::Due => Delivery::Sent,
            Delivery::Sent => Delivery::Due,
            Delivery::Acknowledged => Delivery::Acknowledged,
        };
        is_due.then(|| if self.is_owner { self.dual.clone() } else { weights.clone() })
    }

    /// The own weights have changed: their dual is not known yet.
    pub(super) fn expect_dual(&mut self) {
        self.is_fresh = false;
        if !self.is_owner {
            self.delivery = Delivery::Due;
        }
    }

    /// `sum ← sum + D_e u_e`
    pub(super) fn add_dual(&self, sum: &mut [f64]) {
        add_scaled(sum, self.sign(), &self.dual);
    }

    /// `sum ← sum + D_e ũ_e`
    pub(super) fn add_proposed(&self, sum: &mut [f64]) {
        add_scaled(sum, self.sign(), &self.proposed);
    }

    fn sign(&self) -> f64 {
        if self.is_owner { 1.0 } else { -1.0 }
    }

    /// Takes the next dual from its owner.
    pub(super) fn receive_dual(&mut self, message: &EdgeMessage, relaxation: f64) {
        if message.turn != self.turn + 1 {
            return;
        }
        // Only the relaxed dual travels; dividing by ρ gives ũ back without a second vector per message.
        self.moved = 0.0;
        for (k, proposed) in self.proposed.iter_mut().enumerate() {
            let step = (message.values[k] - self.dual[k]) / relaxation;
            *proposed = self.dual[k] + step;
            self.moved += step * step;
        }
        self.dual = message.values.clone();
        self.turn += 1;
        (self.is_fresh, self.delivery) = (true, Delivery::Acknowledged);
    }

    /// Updates the dual by the other end's weights.
    pub(super) fn receive_weights(
        &mut self,
        message: &EdgeMessage,
        own: &CoupledUpdate,
        step: DualStep,
    ) {
        if message.turn != self.turn {
            return;
        }
        self.delivery = Delivery::Acknowledged;
        // The other end is a step ahead: it sends these weights again when own weights of the same iterate are
        // there.
        if self.is_fresh {
            return;
        }
        // The first weights have no predecessor: taken as their own, they are a step of zero.
        let before =
            self.received.replace(message.values.clone()).unwrap_or_else(|| message.values.clone());
        let sigma = step.sigma.unwrap_or(1.0 / (step.scale + message.scale));
        let mut z = vec![0.0; before.len()];
        let earlier = |k: usize| own.before[k] - before[k];
        for k in 0..z.len() {
            // As with duals, w̃ of the other end follows from its relaxed weights.
            let proposed = before[k] + (message.values[k] - before[k]) / step.relaxation;
            z[k] = own.proposed[k] - proposed;
            self.proposed[k] = self.dual[k] + sigma * (2.0 * z[k] - earlier(k));
        }
        step.penalty.dual_update(&mut self.proposed, self.strength, sigma);
        let mut change = 0.0;
        self.moved = 0.0;
        for (k, z) in z.iter().enumerate() {
            let moved = self.proposed[k] - self.dual[k];
            change += (earlier(k) - z + moved / sigma).powi(2);
            self.moved += moved * moved;
        }
        self.measure(&z, step.penalty, sigma, change);
        let relaxed = self.dual.iter().zip(&self.proposed);
        self.dual = relaxed.map(|(u, next)| u + step.relaxation * (next - u)).collect();
        self.turn += 1;
        (self.is_fresh, self.delivery) = (true, Delivery::Due);
    }

    fn measure(&mut self, z: &[f64], penalty: Penalty, sigma: f64, change: f64) {
        // The dual update of a norm ends in its ball, where the conjugate is zero.
        let conjugate = penalty.rule().conjugate_nearly(&self.proposed, self.strength);
        let value = penalty.value(z);
        // The gap is never negative; what rounding leaves below zero would cancel other edges' gaps.
        self.measured = EdgeMeasures {
            variation: self.weight * value,
            gap: (self.strength * value + conjugate - dot(&self.proposed, z)).max(0.0),
            change: sigma * change,
            size: dot(&self.proposed, &self.proposed) / sigma,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end that owns the dual, after it has received (0, 0) while its own weights went from (1, 0)
    /// to (3, 1).
    fn owner(penalty: Penalty, strength: f64) -> EdgeEndpoint {
        let public = Arc::new(Features::empty(Arc::from([])));
        let neighbour = Neighbour { id: 7, weight: 1.0, public };
        let mut end = EdgeEndpoint::new(3, &neighbour, strength, 2);
        let own = CoupledUpdate { before: vec![1.0, 0.0], proposed: vec![3.0, 1.0] };
        let message =
            EdgeMessage { turn: 0, values: Arc::from([0.0, 0.0]), scale: 1.0, informed: true };
        let step = DualStep { penalty, relaxation: 1.0, scale: 1.0, sigma: None };
        end.receive_weights(&message, &own, step);
        end
    }

    #[test]
    fn the_gap_of_an_edge_is_what_its_difference_and_dual_miss_from_belonging_together() {
        // σ (2w̃ − w) = (2.5, 1), divided by 1 + σ/c = 1.25; the gap is c/2 ‖z − ũ/c‖².
        let squared = owner(Penalty::SquaredNorm, 2.0);
        assert!((squared.measured.gap - 4.36).abs() < 1e-12, "{:?}", squared.measured);
        let one = owner(Penalty::OneNorm, 1.0);
        assert!(one.measured.gap.abs() < 1e-12, "both entries are at their bound");
        let norm = owner(Penalty::Norm, 1.0);
        let expected = 10.0_f64.sqrt() - 8.5 / 7.25_f64.sqrt();
        assert!((norm.measured.gap - expected).abs() < 1e-12, "{:?}", norm.measured);
    }
}
