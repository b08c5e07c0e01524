//! How a simulation has ended, and how often what happened on the way.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Digests, Violation,
    world::{TICK, World},
};
use crate::{
    method::{Durable, Method, Participant},
    model::Hypothesis,
    runtime::{layout::ProcessId, protocol::Mode},
};

/// How often what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames sent.
    pub sent: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Frames that arrived.
    pub delivered: u64,
    /// Frames lost, in a partition or otherwise.
    pub lost: u64,
    /// Frames doubled.
    pub duplicated: u64,
    /// Processes that fell.
    pub crashes: u64,
    /// Writes torn by a fall.
    pub torn: u64,
    /// Writes lost by a fall.
    pub unwritten: u64,
    /// Processes that went on beside their successor.
    pub zombies: u64,
    /// Starts from an old backup.
    pub backups: u64,
    /// Hostile frames.
    pub hostile: u64,
    /// Frames rejected for an older epoch or another copy.
    pub fenced: u64,
    /// Frames rejected because their sender came from an old backup.
    pub rollbacks: u64,
    /// Frames rejected for what they say.
    pub malformed: u64,
    /// How often a neighbour that kept others waiting was named.
    pub named: u64,
}

/// How a simulation has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What each node has learnt.
    pub hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    /// The last round.
    pub rounds: u64,
    /// Whether all agreed that it has converged.
    pub converged: bool,
    /// How many ticks have passed.
    pub ticks: u64,
    /// A number that depends on all that has happened.
    pub trace: u64,
    /// How often what happened.
    pub counts: Counts,
    /// The bytes of all frames that were sent in each tick, with their heads.
    pub traffic: Vec<u64>,
    /// The processes that were slow.
    pub slow: BTreeSet<ProcessId>,
    /// The processes that were named because they kept others waiting.
    pub named: BTreeSet<ProcessId>,
    /// What should not have happened.
    pub violations: Vec<Violation>,
    /// What each node was after each round, if that was asked for.
    pub digests: Digests,
}

impl<M: Method<Participant: Durable>> World<'_, M> {
    pub(super) fn conclude(mut self) -> Outcome {
        let is_synchronous = self.simulation.settings.mode == Mode::Synchronous;
        let first = self.has_finished.iter().flatten().next().copied();
        for (process, end) in self.has_finished.clone().into_iter().enumerate() {
            match (end, first) {
                (None, _) if self.judge.violations.is_empty() => {
                    self.judge.note(Violation::Stuck { process });
                }
                (Some(round), Some(other)) if round != other && is_synchronous => {
                    self.judge.note(Violation::OtherEnd { process, round, other });
                }
                _ => {}
            }
        }
        for own in self.bodies.iter().flatten().filter(|own| own.is_true) {
            for (node, participant) in own.process.participants() {
                self.hypotheses[node] = participant.hypothesis().cloned();
            }
        }
        Outcome {
            hypotheses: self.hypotheses,
            rounds: self.has_finished.iter().flatten().copied().max().unwrap_or(0),
            converged: self.converged,
            ticks: self.now / TICK,
            trace: self.trace,
            counts: self.counts,
            traffic: self.traffic,
            slow: (0..self.is_slow.len()).filter(|&process| self.is_slow[process]).collect(),
            named: self.named,
            violations: self.judge.violations,
            digests: self.digests,
        }
    }
}
