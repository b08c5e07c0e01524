//! What can be seen of a process from outside.

use super::{Process, Stage};
use crate::{
    method::Durable,
    network::NodeId,
    observe::Round,
    runtime::{
        layout::ProcessId,
        protocol::{peers::PeerStatus, rules::Rules},
        sums::Sums,
    },
};

impl<P: Durable, R: Rules> Process<P, R> {
    /// Which process this is.
    #[must_use]
    pub fn id(&self) -> ProcessId {
        self.peers.process()
    }

    /// How often it has started.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.peers.own().epoch
    }

    /// How many rounds it has completed.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.rounds.round()
    }

    /// Whether training has ended here.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// The hosted nodes and their participants, in order of ids.
    pub fn participants(&self) -> impl Iterator<Item = (NodeId, &P)> {
        self.rounds.participants()
    }

    /// The last round that all have checked together, with sums over all nodes.
    #[must_use]
    pub fn record(&self) -> Option<&Round> {
        self.agreement.record()
    }

    /// How the last round went in this process alone.
    #[must_use]
    pub fn own_record(&self) -> Round {
        self.agreement.round(self.rounds.round(), &self.rounds.sums())
    }

    /// What is known of each neighbour, in order of their ids.
    pub fn peers(&self) -> impl Iterator<Item = PeerStatus> {
        (0..self.peers.len()).map(|link| {
            let (latest, rounds_used) = self.rounds.latest(link);
            PeerStatus { rounds_used, latest, ..self.peers.status(link) }
        })
    }

    /// The most bytes that a payload from this neighbour takes; none if it is no neighbour.
    #[must_use]
    pub fn largest_payload(&self, peer: ProcessId) -> Option<usize> {
        let bundle = self.rounds.largest_bundle(self.peers.index_of(peer)?);
        // A verdict is a flag and sums.
        Some(bundle.max(1 + Sums::BYTES))
    }
}
