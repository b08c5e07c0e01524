//! What must never happen, whatever goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::disk::Disk;
use crate::{
    bytes::digest,
    network::NodeId,
    runtime::{
        layout::ProcessId,
        protocol::{Frame, Kind, Mode, PeerStatus, Settings, Slot},
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
    /// Something was said again, but differently.
    #[error("process {from} said something else of round {round} to {to} the second time")]
    OtherWords {
        /// Who said it.
        from: ProcessId,
        /// To whom.
        to: ProcessId,
        /// The round.
        round: u64,
    },
    /// A frame left before what it rests on was durable.
    #[error("process {from} spoke of round {round} before it was durable")]
    SpokeTooSoon {
        /// Who spoke.
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
    /// An older word of a neighbour has replaced a newer one.
    #[error("process {by} took an older word of {from} for the latest")]
    WentBack {
        /// Who did.
        by: ProcessId,
        /// Whose word.
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
        /// What it said.
        reason: String,
    },
}

/// Looks on and remembers what was promised.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) violations: Vec<Violation>,
    /// What was said: digest by sender, receiver, kind and round.
    said: BTreeMap<(ProcessId, ProcessId, Kind, u64), u64>,
    /// The last start of each sender that each receiver has accepted.
    accepted: BTreeMap<(ProcessId, ProcessId), (u64, u64)>,
    /// Who has heard from an old backup and knew better: receiver and nonce of the sender.
    pub(super) warned: BTreeSet<(ProcessId, u64)>,
}

impl Judge {
    pub(super) fn note(&mut self, violation: Violation) {
        if self.violations.len() < 100 {
            self.violations.push(violation);
        }
    }

    /// A process is started from an old backup: whom it has met, it may have forgotten.
    pub(super) fn forgets(&mut self, process: ProcessId) {
        self.accepted.retain(|(by, _), _| *by != process);
    }

    /// A frame leaves a process with this disk.
    pub(super) fn sent(&mut self, frame: &Frame, disk: &Disk, settings: &Settings) {
        let (from, to, round) = (frame.from, frame.to, frame.round);
        let word = |slot: Slot, at: usize| {
            let bytes = disk.seen(slot)?.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let epoch = word(Slot::Identity, 0).unwrap_or(0);
        // The state begins with its version and its round.
        let kept = word(Slot::State, 1).unwrap_or(0);
        let due = match frame.kind {
            Kind::State => (round - 1) / settings.keep * settings.keep,
            _ => 0,
        };
        let floor = if frame.floor == u64::MAX { 0 } else { frame.floor };
        if frame.epoch > epoch || kept < due.max(floor) {
            self.note(Violation::SpokeTooSoon { from, round });
        }
        let is_final = matches!(frame.kind, Kind::State | Kind::Sums | Kind::Verdict);
        if is_final && settings.mode == Mode::Synchronous {
            let now = digest(&frame.payload);
            if *self.said.entry((from, to, frame.kind, round)).or_insert(now) != now {
                self.note(Violation::OtherWords { from, to, round });
            }
        }
    }

    /// A process that may be believed has accepted a frame.
    pub(super) fn accepted(&mut self, frame: &Frame, before: PeerStatus) {
        let (by, from, epoch) = (frame.to, frame.from, frame.epoch);
        let now = (epoch, frame.nonce);
        let mut last = self.accepted.get(&(by, from)).copied().unwrap_or(now);
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
}
