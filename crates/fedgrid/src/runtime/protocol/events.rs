//! What happens to a process, what it wants done, and why it refuses something.

use super::{BasePlace, Frame};
use crate::{error::Error, network::NodeId, runtime::layout::ProcessId};

/// What is made durable: the two are written at different times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// Who the process is and whom it has met: small, written at starts.
    Identity,
    /// What was learnt, and what may have to be sent again.
    State,
    /// The states from which a run with other members can go on: written at checks.
    Bases,
}

/// What happens to a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It runs, and this is what was durable, if anything.
    Started {
        /// The last durable bytes of [`Slot::Identity`].
        identity: Option<Vec<u8>>,
        /// The last durable bytes of [`Slot::State`].
        state: Option<Vec<u8>>,
        /// The last durable bytes of [`Slot::Bases`]: of this run, or else of the newest run before it that left some.
        bases: Option<Vec<u8>>,
        /// A number that no other copy of this process has.
        nonce: u64,
    },
    /// A frame has come; its sender is proven.
    Received {
        /// The frame.
        frame: Frame,
    },
    /// A write is durable.
    Persisted {
        /// The number of the request.
        ticket: u64,
    },
    /// Some time has passed.
    Tick,
    /// A neighbour seems to be gone: asynchronous rounds go on without it until a frame of it comes.
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
    /// Make these bytes durable, then report it by [`Event::Persisted`].
    Persist {
        /// The number of the request.
        ticket: u64,
        /// Where they replace the former bytes.
        slot: Slot,
        /// The bytes.
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
    /// The state is durable and the process may end; it was asked to leave.
    Left,
    /// The process must end.
    Halt(Reason),
}

/// Something that an operator wants to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A round waits for these neighbours.
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
    /// All go on from a base: members have changed.
    GoesOn {
        /// The base.
        from: BasePlace,
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
    /// The state is older than what the process had reported as durable.
    #[error("its state is of round {found}, but it had kept round {kept}: an old backup")]
    Rollback {
        /// The round it reports now.
        found: u64,
        /// The round it had reported.
        kept: u64,
    },
    /// A payload differs from the one that was sent for the same round before.
    #[error("it sent another payload for round {round} before")]
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
