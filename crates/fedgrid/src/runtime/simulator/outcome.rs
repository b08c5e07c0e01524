//! How a simulation has ended, and how often what happened on the way.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Digests, Violation};
use crate::{
    model::Hypothesis,
    runtime::{layout::ProcessId, protocol::BasePlace},
};

/// How often what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts {
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
    /// Crashes of processes.
    pub crashes: u64,
    /// Writes torn by a crash.
    pub torn: u64,
    /// Writes lost by a crash.
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
    /// Frames rejected for their content.
    pub malformed: u64,
    /// How often a neighbour that kept others waiting was named.
    pub named: u64,
}

/// How a simulation has ended.
#[derive(Debug, Clone)]
pub struct SimulationOutcome {
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
    pub counts: FaultCounts,
    /// The bytes of all frames that were sent in each tick, with their heads.
    pub traffic: Vec<u64>,
    /// The processes that were slow.
    pub slow: BTreeSet<ProcessId>,
    /// The processes that were named because they kept others waiting.
    pub named: BTreeSet<ProcessId>,
    /// What should not have happened.
    pub violations: Vec<Violation>,
    /// From which base the members of each change went on, as far as any did.
    pub bases: BTreeMap<u64, BasePlace>,
    /// What each node was after each round, if that was asked for; of rounds that were done again, the last time.
    pub digests: Digests,
}
