//! What a target remembers of a candidate: numbers about their probes, never what was answered.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Reader, Writer},
    error::Result,
    network::NodeId,
};

/// The probes of one target at one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Who asked.
    pub target: NodeId,
    /// Who was asked.
    pub candidate: NodeId,
    /// How often it was asked.
    pub probes: usize,
    /// How often it refused, for its budget was spent or it had no rows or another model.
    pub refused: usize,
    /// How often its budget was the reason.
    pub budget_spent: usize,
    /// How many of its answers were scored.
    pub rewarded: usize,
    /// How often its step was taken, alone or with others.
    pub adopted: usize,
    /// The bytes of questions and answers; zero where none travelled.
    pub bytes: usize,
    /// The sum of its rewards `L(ŵ) − L(w̃)`.
    pub reward: f64,
    /// The sum of its rewards relative to the loss before, each cut to ±1.
    pub relative: f64,
}

impl Tally {
    pub(super) fn new(target: NodeId, candidate: NodeId) -> Self {
        Self {
            target,
            candidate,
            probes: 0,
            refused: 0,
            budget_spent: 0,
            rewarded: 0,
            adopted: 0,
            bytes: 0,
            reward: 0.0,
            relative: 0.0,
        }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        let Self { probes, refused, budget_spent, rewarded, adopted, bytes, .. } = *self;
        for count in [probes, refused, budget_spent, rewarded, adopted, bytes] {
            to.count(count);
        }
        to.numbers(&[self.reward, self.relative]);
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        (self.probes, self.refused, self.budget_spent) =
            (from.count()?, from.count()?, from.count()?);
        (self.rewarded, self.adopted, self.bytes) = (from.count()?, from.count()?, from.count()?);
        (self.reward, self.relative) = (from.number()?, from.number()?);
        Ok(())
    }

    /// Remembers a reward and the loss before the step.
    pub(super) fn reward(&mut self, reward: f64, loss: f64) {
        self.rewarded += 1;
        self.reward += reward;
        // One probe near a perfect fit must not outweigh all others, so each counts for one at most.
        if loss > 0.0 {
            self.relative += (reward / loss).clamp(-1.0, 1.0);
        }
    }

    /// The mean relative reward; zero while there is none.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.relative / self.rewarded.max(1) as f64
    }
}
