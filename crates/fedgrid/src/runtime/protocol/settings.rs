//! What a process is told, what it says, and how it is set.

use super::Frame;
use crate::{error::Error, network::NodeId, observe::Stop, runtime::layout::ProcessId};

/// The usual largest magnitude of a number in a message.
pub const LARGEST: f64 = 1e12;

/// How rounds of different processes go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A round ends when all neighbours have been heard.
    #[default]
    Synchronous,
    /// A round takes place at every tick, with the latest word of each neighbour.
    Asynchronous {
        /// For how many rounds a word may be used before the next must have come; none is no limit.
        staleness: Option<u64>,
    },
}

/// How a process takes part. All processes of a federation have the same settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How rounds go together.
    pub mode: Mode,
    /// When to stop: the number of rounds always ends a run.
    pub stop: Stop,
    /// After how many rounds all look together whether to stop; zero never does, and then only the
    /// number of rounds ends a run.
    pub look: u64,
    /// After how many rounds the state is kept, at least one. Where nothing may be forgotten, every
    /// round is kept whatever this says.
    pub keep: u64,
    /// After how many ticks of waiting those waited for are named.
    pub patience: u64,
    /// The largest magnitude of a number in a message. What is beyond it is neither sent nor accepted,
    /// so that one finite but absurd number cannot carry a neighbour's model off.
    pub largest: f64,
    /// Whether every round tells what its nodes are, as digests of their snapshots: to compare runs.
    pub digests: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let (mode, stop) = (Mode::Synchronous, Stop::default());
        Self { mode, stop, look: 10, keep: 1, patience: 20, largest: LARGEST, digests: false }
    }
}

/// What is kept: the two are written at different times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// Who one is and whom one has met: small, written at starts.
    Identity,
    /// What was learnt, and what may have to be said again.
    State,
}

/// What happens to a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It runs, and this is what was kept, if anything.
    Started {
        /// The last durable bytes of [`Slot::Identity`].
        identity: Option<Vec<u8>>,
        /// The last durable bytes of [`Slot::State`].
        state: Option<Vec<u8>>,
        /// A number that no other copy of this process has.
        nonce: u64,
    },
    /// A frame has come; its sender is proven.
    Received {
        /// The frame.
        frame: Frame,
    },
    /// What was to be kept is durable.
    Persisted {
        /// The number of the request.
        ticket: u64,
    },
    /// Some time has passed.
    Tick,
    /// A neighbour seems to be gone: asynchronous rounds go on without it until it is heard again.
    PeerLost {
        /// The neighbour.
        peer: ProcessId,
    },
    /// The operator takes this process out; it can be started again.
    Leave,
}

/// What a process wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make these bytes durable, then say so by [`Event::Persisted`].
    Persist {
        /// The number of the request.
        ticket: u64,
        /// In place of what was kept here before.
        slot: Slot,
        /// What to keep.
        bytes: Vec<u8>,
    },
    /// Send a frame; it may be lost.
    Send {
        /// The frame, which knows for whom it is.
        frame: Frame,
    },
    /// Something that an operator wants to know.
    Notice(Notice),
    /// Training has ended here, after this round.
    Finished {
        /// The round.
        round: u64,
        /// Whether all agreed that it has converged, or the rounds were used up.
        converged: bool,
    },
    /// All neighbours have finished, too: no one will ask for anything again.
    Settled,
    /// The state is kept and the process may end; it was asked to leave.
    Left,
    /// The process must end.
    Halt(Reason),
}

/// Something that an operator wants to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// These neighbours keep a round waiting.
    Waiting {
        /// The round.
        round: u64,
        /// The neighbours.
        on: Vec<ProcessId>,
    },
    /// A neighbour is here, for the first time or again.
    Joined {
        /// The neighbour.
        peer: ProcessId,
        /// How often it has started.
        epoch: u64,
    },
    /// A neighbour has left, and may come back.
    Left {
        /// The neighbour.
        peer: ProcessId,
    },
    /// What the hosted nodes are after a round, where that is asked for.
    Learnt {
        /// The round.
        round: u64,
        /// The digest of each node's snapshot.
        digests: Vec<(NodeId, u64)>,
    },
    /// A frame was not accepted.
    Rejected {
        /// Who sent it.
        peer: ProcessId,
        /// Why.
        reason: Reason,
    },
    /// A neighbour does not accept this process.
    RefusedBy {
        /// The neighbour.
        peer: ProcessId,
        /// Why.
        reason: Reason,
    },
}

/// Why a frame or a process is not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Reason {
    /// The process has been started again since.
    #[error("it has been started again since, as epoch {newer}")]
    OldEpoch {
        /// The epoch that is known.
        newer: u64,
    },
    /// Two copies of the process run.
    #[error("another copy of it runs with the same epoch")]
    Copy,
    /// The state is older than what the process had said was kept.
    #[error("its state is of round {found}, but it had kept round {kept}: an old backup")]
    Rollback {
        /// What it now says.
        found: u64,
        /// What it had said.
        kept: u64,
    },
    /// What was said before was said differently now.
    #[error("it said something else of round {round} before")]
    Changed {
        /// The round.
        round: u64,
    },
    /// The frame is for or from someone else.
    #[error("it is no neighbour here")]
    Stranger,
    /// The frame is not what is expected.
    #[error("{0}")]
    Malformed(Error),
    /// A participant or the stored state is at fault.
    #[error("{0}")]
    Failed(Error),
    /// No neighbour accepts this process.
    #[error("no neighbour accepts it")]
    Outcast,
}
