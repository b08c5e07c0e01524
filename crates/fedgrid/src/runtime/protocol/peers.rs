//! The neighbouring processes: who each of them is, what it has confirmed, and which frames to it may
//! have to be sent again.
//!
//! A neighbour is known by the epoch and the nonce of its last start. What is known of it is durable
//! before it is acted on:
//!
//! ```text
//! identity = own epoch | count | (process, epoch, nonce, durable round)*
//! ```

use super::{
    Reason,
    frame::{Frame, FrameKind, PeerIdentity, SentPayloads},
    rules::{Admission, KnownPeer, Rules},
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    runtime::layout::{Assignment, Peer, ProcessId},
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
    /// Its last durable round.
    pub durable_round: u64,
    /// How many frames of it were accepted.
    pub accepted_frames: u64,
    /// For how many rounds its latest message has been used, in asynchronous rounds.
    pub rounds_used: u64,
    /// The epoch and round of its latest message, in asynchronous rounds.
    pub latest: (u64, u64),
    /// Whether it has met this process as it is now.
    pub knows_us: bool,
    /// Whether it has finished.
    pub has_finished: bool,
}

/// What is known of one neighbour.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a neighbour that do not exclude each other"
)]
struct PeerLink {
    process: ProcessId,
    /// Who it is; none before it was met.
    identity: Option<PeerIdentity>,
    /// Who it will be once that is durable here.
    pending: Option<PeerIdentity>,
    /// A start of it that came from an old backup: it stays refused, however far it gets.
    barred: Option<PeerIdentity>,
    /// Its last durable round: it will never again need payloads up to this one.
    durable_round: u64,
    /// Whether it has met this process as it is now.
    knows_us: bool,
    /// Why it does not accept this process, if it does not.
    refusal: Option<Reason>,
    is_lost: bool,
    has_left: bool,
    has_finished: bool,
    /// The furthest round that it has sent a frame of.
    furthest_round: u64,
    accepted_frames: u64,
    sent: SentPayloads,
}

impl PeerLink {
    /// Drops payloads that the neighbour has confirmed.
    fn acknowledge(&mut self, durable_round: u64, is_synchronous: bool) {
        self.durable_round = self.durable_round.max(durable_round);
        let confirmed = self.durable_round;
        // In asynchronous rounds the numbers of two processes say nothing about each other.
        if is_synchronous {
            self.sent.retain(|&(round, kind), _| match kind {
                FrameKind::State => round > confirmed,
                // A verdict on a durable round may still be on its way.
                _ => round >= confirmed,
            });
        }
        self.has_finished |= confirmed == u64::MAX;
    }
}

/// All neighbours of a process, in order of their ids, and who the process itself is.
#[derive(Debug)]
pub(super) struct Peers {
    process: ProcessId,
    own: PeerIdentity,
    is_synchronous: bool,
    links: Vec<PeerLink>,
}

impl Peers {
    pub(super) fn new(assignment: &Assignment, is_synchronous: bool) -> Self {
        let link = |peer: &Peer| PeerLink { process: peer.process, ..PeerLink::default() };
        Self {
            process: assignment.process,
            own: PeerIdentity { epoch: 0, nonce: 0 },
            is_synchronous,
            links: assignment.peers.iter().map(link).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn index_of(&self, process: ProcessId) -> Option<usize> {
        self.links.iter().position(|link| link.process == process)
    }

    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    /// The start of this process itself.
    pub(super) fn own(&self) -> PeerIdentity {
        self.own
    }

    pub(super) fn start(&mut self, nonce: u64, rules: &impl Rules) {
        self.own = PeerIdentity { epoch: rules.next_epoch(self.own.epoch), nonce };
    }

    /// Whether a frame counts.
    pub(super) fn admit(&mut self, link: usize, frame: &Frame, rules: &impl Rules) -> Admission {
        let link = &mut self.links[link];
        let PeerLink { identity, barred, durable_round, .. } = *link;
        let admission = rules.admit(&KnownPeer { identity, barred, durable_round }, frame);
        if let Admission::Refused(Reason::Rollback { .. }) = admission {
            let sender = frame.sender();
            link.barred = Some(sender);
            // It may be about to be met, since less was known when it came.
            link.pending = link.pending.filter(|pending| *pending != sender);
        }
        admission
    }

    /// Takes note of a frame that counts; true if its sender knows this start only since now.
    pub(super) fn accept(&mut self, link: usize, frame: &Frame) -> bool {
        let link = &mut self.links[link];
        link.accepted_frames += 1;
        (link.is_lost, link.has_left) = (false, frame.kind == FrameKind::Leave);
        link.has_finished |= frame.kind == FrameKind::Done;
        let knew_us = link.knows_us;
        link.knows_us |= frame.known_epoch == self.own.epoch;
        if matches!(frame.kind, FrameKind::State | FrameKind::Hello | FrameKind::Done) {
            link.furthest_round = link.furthest_round.max(frame.round);
        }
        link.acknowledge(frame.durable_round, self.is_synchronous);
        link.knows_us && !knew_us
    }

    /// Puts a newcomer aside until it is durable that it has been met; whether it was not there yet.
    pub(super) fn meet(&mut self, link: usize, newcomer: PeerIdentity) -> bool {
        self.links[link].pending.replace(newcomer) != Some(newcomer)
    }

    /// The identity is durable: the newcomers that are met by that.
    pub(super) fn confirm_meetings(&mut self) -> Vec<(usize, PeerIdentity)> {
        let mut met = Vec::new();
        for (index, link) in self.links.iter_mut().enumerate() {
            if let Some(newcomer) = link.pending.take() {
                link.identity = Some(newcomer);
                (link.knows_us, link.refusal) = (false, None);
                met.push((index, newcomer));
            }
        }
        met
    }

    /// A frame to a neighbour; none to one that accepts nothing from here.
    pub(super) fn frame(
        &self,
        link: usize,
        kind: FrameKind,
        (round, durable_round): (u64, u64),
        payload: Vec<u8>,
    ) -> Option<Frame> {
        let link = &self.links[link];
        link.refusal.is_none().then(|| Frame {
            kind,
            from: self.process,
            to: link.process,
            epoch: self.own.epoch,
            nonce: self.own.nonce,
            known_epoch: link.identity.map_or(0, |peer| peer.epoch),
            durable_round,
            round,
            payload,
        })
    }

    /// Keeps a payload that may have to be sent again.
    pub(super) fn keep(&mut self, link: usize, kind: FrameKind, round: u64, payload: Vec<u8>) {
        let sent = &mut self.links[link].sent;
        // Asynchronous rounds only ever use the newest payload of each kind.
        if !self.is_synchronous {
            sent.retain(|(_, other), _| *other != kind);
        }
        sent.insert((round, kind), payload);
    }

    /// What was sent; none to one that has not met this start: whoever has seen a later state of this
    /// process would refuse it, and must be asked first.
    pub(super) fn sent(&self, link: usize, round: u64, kind: FrameKind) -> Option<&[u8]> {
        let link = &self.links[link];
        link.sent.get(&(round, kind)).filter(|_| link.knows_us).map(Vec::as_slice)
    }

    /// The round and kind of all that may have to be sent again.
    pub(super) fn all_sent(&self, link: usize) -> Vec<(u64, FrameKind)> {
        self.links[link].sent.keys().copied().collect()
    }

    pub(super) fn payloads_mut(&mut self) -> impl Iterator<Item = &mut SentPayloads> {
        self.links.iter_mut().map(|link| &mut link.sent)
    }

    /// A neighbour does not accept this process; whether none does.
    pub(super) fn refuse(&mut self, link: usize, reason: Reason) -> bool {
        self.links[link].refusal = Some(reason);
        self.links.iter().all(|link| link.refusal.is_some())
    }

    pub(super) fn mark_lost(&mut self, process: ProcessId) {
        if let Some(link) = self.index_of(process) {
            self.links[link].is_lost = true;
        }
    }

    pub(super) fn unfinished(&self) -> Vec<usize> {
        (0..self.len()).filter(|&link| !self.links[link].has_finished).collect()
    }

    /// Whether a neighbour that was met is beyond this round.
    pub(super) fn is_beyond(&self, link: usize, round: u64) -> bool {
        self.links[link].furthest_round > round && self.links[link].identity.is_some()
    }

    /// Whether asynchronous rounds have to wait for a neighbour.
    pub(super) fn is_expected(&self, link: usize) -> bool {
        let link = &self.links[link];
        !link.is_lost && !link.has_left && link.refusal.is_none()
    }

    pub(super) fn accepted_frames(&self) -> Vec<u64> {
        self.links.iter().map(|link| link.accepted_frames).collect()
    }

    /// What is known of a neighbour, but for its messages.
    pub(super) fn status(&self, link: usize) -> PeerStatus {
        let link = &self.links[link];
        PeerStatus {
            peer: link.process,
            epoch: link.identity.map_or(0, |peer| peer.epoch),
            nonce: link.identity.map_or(0, |peer| peer.nonce),
            durable_round: link.durable_round,
            accepted_frames: link.accepted_frames,
            rounds_used: 0,
            latest: (0, 0),
            knows_us: link.knows_us,
            has_finished: link.has_finished,
        }
    }

    pub(super) fn identity_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.word(self.own.epoch);
        to.count(self.links.len());
        for link in &self.links {
            // Pending ones count as met: this write is what makes it so.
            let peer = link.pending.or(link.identity);
            let peer = peer.unwrap_or(PeerIdentity { epoch: 0, nonce: 0 });
            to.words(&[link.process as u64, peer.epoch, peer.nonce, link.durable_round]);
        }
        to.into_bytes()
    }

    pub(super) fn read_identity(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new("the kept identity", bytes);
        self.own.epoch = from.word()?;
        if from.count()? != self.links.len() {
            return Err(from.refusal("is of another federation"));
        }
        for link in &mut self.links {
            if from.word()? != link.process as u64 {
                return Err(from.refusal("is of another federation"));
            }
            let peer = PeerIdentity { epoch: from.word()?, nonce: from.word()? };
            // Epochs begin at one; zero stands for a neighbour that was never met.
            link.identity = (peer.epoch > 0).then_some(peer);
            link.acknowledge(from.word()?, self.is_synchronous);
        }
        from.finish()
    }

    /// Writes what may have to be sent again.
    pub(super) fn write(&self, to: &mut Writer) {
        to.count(self.links.len());
        for link in &self.links {
            to.word(link.durable_round);
            to.count(link.sent.len());
            for ((round, kind), payload) in &link.sent {
                to.word(*round);
                to.mark(*kind as u8);
                to.part(payload);
            }
        }
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>, rules: &impl Rules) -> Result<()> {
        if from.count()? != self.links.len() {
            return Err(from.refusal("is of another federation"));
        }
        for link in &mut self.links {
            let (durable_round, count) = (from.word()?, from.count()?);
            let mut sent = SentPayloads::new();
            for _ in 0..count {
                let (round, kind) = (from.word()?, FrameKind::from_mark(from.mark()?));
                let Some(kind) = kind else { return Err(from.refusal("holds an unknown kind")) };
                sent.insert((round, kind), from.part()?.to_vec());
            }
            link.sent = rules.restore_sent(sent);
            link.acknowledge(durable_round, self.is_synchronous);
        }
        Ok(())
    }
}
