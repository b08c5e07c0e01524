//! What can be seen of a process from outside.

use super::{Process, process::Stage};
use crate::{
    method::Durable,
    network::NodeId,
    observe::Round,
    runtime::{layout::ProcessId, sums::Sums},
};

/// What a process knows of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStatus {
    /// The neighbour.
    pub peer: ProcessId,
    /// How often it has started; zero if it was never met.
    pub epoch: u64,
    /// The nonce of its last start.
    pub nonce: u64,
    /// The last round that it has kept.
    pub floor: u64,
    /// How many frames of it were accepted.
    pub accepted: u64,
    /// For how many rounds its latest word has been used, in asynchronous rounds.
    pub age: u64,
    /// The epoch and round of its latest word, in asynchronous rounds.
    pub latest: (u64, u64),
    /// Whether it has met this process as it is now.
    pub knows_us: bool,
    /// Whether it has finished.
    pub has_finished: bool,
}

impl<P: Durable> Process<P> {
    /// Which process this is.
    #[must_use]
    pub fn id(&self) -> ProcessId {
        self.seat.process
    }

    /// How often it has started.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many rounds it has completed.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Whether training has ended here.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// The hosted nodes and their participants, in order of ids.
    pub fn participants(&self) -> impl Iterator<Item = (NodeId, &P)> {
        self.hosted.iter().map(|hosted| (hosted.node, &hosted.participant))
    }

    /// The last round that all have looked at together, with sums over all nodes.
    #[must_use]
    pub fn record(&self) -> Option<&Round> {
        self.record.as_ref()
    }

    /// How the last round went in this process alone.
    #[must_use]
    pub fn own_record(&self) -> Round {
        let round = usize::try_from(self.round).unwrap_or(usize::MAX);
        self.own_sums().round(round, self.alpha)
    }

    /// What is known of each neighbour, in order of their ids.
    pub fn peers(&self) -> impl Iterator<Item = PeerStatus> {
        self.links.iter().map(|link| PeerStatus {
            peer: link.peer,
            epoch: link.met.map_or(0, |met| met.epoch),
            nonce: link.met.map_or(0, |met| met.nonce),
            floor: link.floor,
            accepted: link.accepted,
            age: link.age,
            latest: link.latest.unwrap_or_default(),
            knows_us: link.knows_us,
            has_finished: link.has_finished,
        })
    }

    /// The most bytes that a payload from this neighbour takes; none if it is no neighbour.
    #[must_use]
    pub fn largest_payload(&self, peer: ProcessId) -> Option<usize> {
        let link = self.links.iter().find(|link| link.peer == peer)?;
        Some(link.largest.max(Sums::SIZE + 1))
    }
}
