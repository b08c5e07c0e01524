//! What must never happen, whatever goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::disk::Disk;
use crate::{
    bytes::digest,
    network::NodeId,
    runtime::{
        layout::ProcessId,
        protocol::{Frame, FrameKind, PeerStatus, ProtocolSettings, RoundMode, Slot},
    },
};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A node has learnt something else than without faults.
    #[error("node {node} differs from the undisturbed run after round {round}")]
    OtherBits {
        /// The node.
        node: NodeId,
        /// The round.
        round: u64,
    },
    /// A payload was sent again, but with other bytes.
    #[error("process {from} sent another payload for round {round} to {to} the second time")]
    OtherPayload {
        /// The sender.
        from: ProcessId,
        /// The receiver.
        to: ProcessId,
        /// The round.
        round: u64,
    },
    /// A frame left before what it rests on was durable.
    #[error("process {from} sent a frame of round {round} before what it rests on was durable")]
    SentTooSoon {
        /// The sender.
        from: ProcessId,
        /// The round.
        round: u64,
    },
    /// A frame of an older start, or of a copy, was accepted.
    #[error("process {by} accepted epoch {epoch} of {from} after a later one, or of a copy")]
    AcceptedStale {
        /// Who accepted it.
        by: ProcessId,
        /// Who sent it.
        from: ProcessId,
        /// The epoch.
        epoch: u64,
    },
    /// An old backup was accepted by one who knew better.
    #[error("process {by} accepted {from} from an old backup")]
    AcceptedBackup {
        /// Who accepted it.
        by: ProcessId,
        /// Who was started from it.
        from: ProcessId,
    },
    /// An older message of a neighbour has replaced a newer one.
    #[error("process {by} took an older message of {from} for the latest")]
    WentBack {
        /// The receiver.
        by: ProcessId,
        /// The sender.
        from: ProcessId,
    },
    /// Processes did not end at one round.
    #[error("process {process} ended at round {round}, another at {other}")]
    OtherEnd {
        /// One process.
        process: ProcessId,
        /// Where it ended.
        round: u64,
        /// Where another did.
        other: u64,
    },
    /// Processes went on from different bases.
    #[error("process {process} went on from the check after round {round}, another from {other}")]
    OtherBase {
        /// One process.
        process: ProcessId,
        /// Where it went on.
        round: u64,
        /// Where another did.
        other: u64,
    },
    /// Something did not end.
    #[error("process {process} had not finished by the deadline")]
    Stuck {
        /// Which process.
        process: ProcessId,
    },
    /// A process ended though nothing was wrong with it.
    #[error("process {process} halted: {reason}")]
    Halted {
        /// Which process.
        process: ProcessId,
        /// Its reason.
        reason: String,
    },
}

/// How many broken promises are listed: one is enough to fail, and one fault can break thousands.
const MOST_VIOLATIONS: usize = 100;

/// Watches all frames and remembers what was promised.
#[derive(Debug, Default)]
pub(super) struct Invariants {
    violations: Vec<Violation>,
    /// The digests of payloads by sender, receiver, kind and round.
    sent: BTreeMap<(ProcessId, ProcessId, FrameKind, u64), u64>,
    /// The last start of each sender that each receiver has accepted.
    accepted: BTreeMap<(ProcessId, ProcessId), (u64, u64)>,
    /// Who has got a frame from an old backup and knew better: receiver and nonce of the sender.
    warned: BTreeSet<(ProcessId, u64)>,
}

impl Invariants {
    pub(super) fn note(&mut self, violation: Violation) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(violation);
        }
    }

    pub(super) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// A process is started from an old backup: it may have forgotten whom it has met.
    pub(super) fn forget_accepted(&mut self, process: ProcessId) {
        self.accepted.retain(|(by, _), _| *by != process);
    }

    /// A process has crashed: it may have to learn anew which rounds of others are durable.
    pub(super) fn forget_warnings(&mut self, process: ProcessId) {
        self.warned.retain(|(by, _)| *by != process);
    }

    /// A frame from an old backup reaches one who knows better.
    pub(super) fn warn(&mut self, frame: &Frame) {
        self.warned.insert((frame.to, frame.nonce));
    }

    /// A frame leaves a process with this disk.
    pub(super) fn sent(&mut self, frame: &Frame, disk: &Disk, settings: &ProtocolSettings) {
        let (from, to, round) = (frame.from, frame.to, frame.round);
        let word = |slot: Slot, at: usize| {
            let bytes = disk.seen(slot)?.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let epoch = word(Slot::Identity, 0).unwrap_or(0);
        // The state begins with its version and its round.
        let kept = word(Slot::State, 1).unwrap_or(0);
        let due = match frame.kind {
            FrameKind::State => (round - 1) / settings.checkpoint_every * settings.checkpoint_every,
            _ => 0,
        };
        // A finished process claims all rounds, whatever its last one was.
        let claimed = if frame.durable_round == u64::MAX { 0 } else { frame.durable_round };
        if frame.epoch > epoch || kept < due.max(claimed) {
            self.note(Violation::SentTooSoon { from, round });
        }
        let is_final =
            matches!(frame.kind, FrameKind::State | FrameKind::Sums | FrameKind::Verdict);
        // In asynchronous rounds a restarted process may come to other states.
        if is_final && settings.mode == RoundMode::Synchronous {
            let now = digest(&frame.payload);
            if *self.sent.entry((from, to, frame.kind, round)).or_insert(now) != now {
                self.note(Violation::OtherPayload { from, to, round });
            }
        }
    }

    /// A process that is no zombie has accepted a frame.
    pub(super) fn accepted(&mut self, frame: &Frame, before: PeerStatus) {
        let (by, from, epoch) = (frame.to, frame.from, frame.epoch);
        let now = (epoch, frame.nonce);
        let mut last = self.accepted.get(&(by, from)).copied().unwrap_or(now);
        // What the receiver itself knows counts, too: it may have met a start from which no frame was accepted.
        if before.epoch >= last.0 {
            last = (before.epoch, before.nonce);
        }
        if epoch < last.0 || (epoch == last.0 && now != last) {
            self.note(Violation::AcceptedStale { by, from, epoch });
        }
        if self.warned.contains(&(by, frame.nonce)) {
            self.note(Violation::AcceptedBackup { by, from });
        }
        if epoch >= last.0 {
            self.accepted.insert((by, from), now);
        }
    }

    /// The run is over, and each of these processes has finished at this round, or has not.
    pub(super) fn ended(&mut self, finished_at: &[(ProcessId, Option<u64>)], is_synchronous: bool) {
        let first = finished_at.iter().find_map(|(_, end)| *end);
        for (process, end) in finished_at {
            let process = *process;
            match (*end, first) {
                (None, _) if self.violations.is_empty() => {
                    self.note(Violation::Stuck { process });
                }
                (Some(round), Some(other)) if round != other && is_synchronous => {
                    self.note(Violation::OtherEnd { process, round, other });
                }
                _ => {}
            }
        }
    }
}
