//! One end of an edge. The end with the smaller id owns the dual: it hears weights and answers with
//! the dual of the turn; the other end hears duals and answers with weights,
//!
//! ```text
//! z = w̃_i − w̃_j,      gap of the edge = g(z) + g*(ũ) − ũᵀz ≥ 0
//! ```
//!
//! Turns are numbered, so that what comes late or twice is known, and the last word is repeated until
//! it is answered.

use std::sync::Arc;

use super::super::{Message, Wire};
use crate::{
    algebra::{add_scaled, dot},
    bytes::{Reader, Writer},
    error::Result,
    network::{Neighbour, NodeId},
    penalty::Penalty,
};

/// What is said along an edge: weights to the owner of its dual, the dual to the other end.
#[derive(Debug, Clone)]
pub struct Turn {
    /// How many duals the edge has had.
    pub turn: usize,
    /// The whole of the coupled weights, or of the dual.
    pub values: Arc<[f64]>,
    /// The scale s of the speaker's steps.
    pub scale: f64,
    /// Whether the speaker has rows, or has heard of someone who has.
    pub informed: bool,
}

impl Message for Turn {
    fn bytes(&self) -> usize {
        Self::most_bytes(&self.values.len())
    }
}

/// How the last word of an end stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// It is to be said.
    Open,
    /// It was said a round ago, and its answer may be on its way; if not, it is said again.
    Said,
    /// It was heard.
    Answered,
}

/// A node's coupled weights before and after its update.
#[derive(Debug, Clone, Default)]
pub(super) struct Moved {
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
pub(super) struct Measured {
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
pub(super) struct End {
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
    /// How the own last word stands.
    word: Word,
    /// The dual u, after relaxation.
    dual: Arc<[f64]>,
    /// The dual ũ.
    proposed: Vec<f64>,
    /// ‖ũ − u‖² of the last update.
    pub(super) moved: f64,
    /// The weights last heard.
    heard: Option<Arc<[f64]>>,
    pub(super) measured: Measured,
}

impl End {
    pub(super) fn new(own: NodeId, neighbour: &Neighbour, strength: f64, size: usize) -> Self {
        Self {
            neighbour: neighbour.id,
            is_owner: own < neighbour.id,
            weight: neighbour.weight,
            strength,
            turn: 0,
            is_fresh: false,
            // The owner waits for weights to answer.
            word: if own < neighbour.id { Word::Answered } else { Word::Open },
            dual: vec![0.0; size].into(),
            proposed: vec![0.0; size],
            moved: 0.0,
            heard: None,
            measured: Measured::default(),
        }
    }

    /// Writes how the conversation stands.
    pub(super) fn write(&self, to: &mut Writer) {
        to.count(self.turn);
        to.flag(self.is_fresh);
        to.mark(match self.word {
            Word::Open => 0,
            Word::Said => 1,
            Word::Answered => 2,
        });
        to.numbers(&self.dual);
        to.numbers(&self.proposed);
        to.number(self.moved);
        to.flag(self.heard.is_some());
        to.numbers(self.heard.as_deref().unwrap_or_default());
        let Measured { variation, gap, change, size } = self.measured;
        to.numbers(&[variation, gap, change, size]);
    }

    pub(super) fn read(&mut self, size: usize, from: &mut Reader<'_>) -> Result<()> {
        (self.turn, self.is_fresh) = (from.count()?, from.flag()?);
        self.word = match from.mark()? {
            0 => Word::Open,
            1 => Word::Said,
            2 => Word::Answered,
            _ => return Err(from.refusal("has a word in an unknown state")),
        };
        (self.dual, self.proposed) = (from.numbers(size)?.into(), from.numbers(size)?);
        self.moved = from.number()?;
        self.heard = if from.flag()? { Some(from.numbers(size)?.into()) } else { None };
        let [variation, gap] = [from.number()?, from.number()?];
        let [change, size] = [from.number()?, from.number()?];
        self.measured = Measured { variation, gap, change, size };
        Ok(())
    }

    /// What is to be said: the dual until it is answered, or the weights until their dual is there.
    pub(super) fn speak(&mut self, weights: &Arc<[f64]>) -> Option<Arc<[f64]>> {
        let is_due = self.word == Word::Open;
        self.word = match self.word {
            Word::Open => Word::Said,
            Word::Said => Word::Open,
            Word::Answered => Word::Answered,
        };
        is_due.then(|| if self.is_owner { self.dual.clone() } else { weights.clone() })
    }

    /// The own weights have changed: their dual is not known yet.
    pub(super) fn expect_dual(&mut self) {
        self.is_fresh = false;
        if !self.is_owner {
            self.word = Word::Open;
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
    pub(super) fn hear_dual(&mut self, told: &Turn, relaxation: f64) {
        if told.turn != self.turn + 1 {
            return;
        }
        self.moved = 0.0;
        for (k, proposed) in self.proposed.iter_mut().enumerate() {
            let step = (told.values[k] - self.dual[k]) / relaxation;
            *proposed = self.dual[k] + step;
            self.moved += step * step;
        }
        self.dual = told.values.clone();
        self.turn += 1;
        (self.is_fresh, self.word) = (true, Word::Answered);
    }

    /// Updates the dual by the other end's weights.
    pub(super) fn hear_weights(&mut self, told: &Turn, own: &Moved, step: DualStep) {
        if told.turn != self.turn {
            return;
        }
        self.word = Word::Answered;
        // Weights that are a step ahead of one's own are told again.
        if self.is_fresh {
            return;
        }
        let before = self.heard.replace(told.values.clone()).unwrap_or_else(|| told.values.clone());
        let sigma = step.sigma.unwrap_or(1.0 / (step.scale + told.scale));
        let mut z = vec![0.0; before.len()];
        let earlier = |k: usize| own.before[k] - before[k];
        for k in 0..z.len() {
            let proposed = before[k] + (told.values[k] - before[k]) / step.relaxation;
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
        (self.is_fresh, self.word) = (true, Word::Open);
    }

    fn measure(&mut self, z: &[f64], penalty: Penalty, sigma: f64, change: f64) {
        // The dual update of a norm ends in its ball, where the conjugate is zero.
        let conjugate = penalty.rule().conjugate_nearly(&self.proposed, self.strength);
        let value = penalty.value(z);
        self.measured = Measured {
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
    use crate::data::Features;

    /// The end that owns the dual, after it has heard (0, 0) while its own weights went from (1, 0) to
    /// (3, 1).
    fn owner(penalty: Penalty, strength: f64) -> End {
        let public = Arc::new(Features::empty(Arc::from([])));
        let neighbour = Neighbour { id: 7, weight: 1.0, public };
        let mut end = End::new(3, &neighbour, strength, 2);
        let own = Moved { before: vec![1.0, 0.0], proposed: vec![3.0, 1.0] };
        let told = Turn { turn: 0, values: Arc::from([0.0, 0.0]), scale: 1.0, informed: true };
        let step = DualStep { penalty, relaxation: 1.0, scale: 1.0, sigma: None };
        end.hear_weights(&told, &own, step);
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
