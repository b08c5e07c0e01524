//! What a process knows of a neighbour, and the bundles of messages between the two,
//!
//! ```text
//! bundle = (place of the edge u32, message)*      places in rising order
//! ```
//!
//! where edges are counted in the order that both sides know from the layout.

use std::collections::BTreeMap;

use super::{Kind, Reason};
use crate::{
    bytes::{Reader, Writer, digest},
    error::Result,
    method::Wire,
    network::NodeId,
    runtime::{
        layout::{Peer, ProcessId},
        sums::Sums,
    },
};

/// A message for a hosted node: its place here, the sender, what was said.
pub(super) type Said<M> = (usize, NodeId, M);

/// Who a neighbour was when it was last met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) epoch: u64,
    pub(super) nonce: u64,
}

/// A neighbouring process.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a neighbour that do not exclude each other"
)]
pub(super) struct Link<M: Wire> {
    pub(super) peer: ProcessId,
    /// Place of the receiver here, sender there and shape of each incoming edge.
    incoming: Vec<(usize, NodeId, Option<M::Shape>)>,
    /// The most bytes that a bundle from there takes.
    pub(super) largest: usize,
    /// The largest magnitude of a number in one.
    pub(super) limit: f64,
    /// Who it is; none before it was met.
    pub(super) met: Option<Met>,
    /// Who it will be once that is durable here.
    pub(super) meeting: Option<Met>,
    /// A start of it that came from an old backup: it stays refused, however far it gets.
    pub(super) barred: Option<Met>,
    /// What it will never need again.
    pub(super) floor: u64,
    /// Whether it has met this process as it is now.
    pub(super) knows_us: bool,
    /// Why it does not accept this process, if it does not.
    pub(super) refused: Option<Reason>,
    pub(super) is_lost: bool,
    pub(super) has_left: bool,
    pub(super) has_finished: bool,
    /// The furthest round that it has spoken of.
    pub(super) ahead: u64,
    /// Whether rounds here and there are the same.
    pub(super) is_timely: bool,
    /// How many frames were accepted.
    pub(super) accepted: u64,
    /// The messages of the next rounds, as far as they have come.
    pub(super) heard: BTreeMap<u64, Vec<Said<M>>>,
    /// What payloads of past rounds were, to notice if they are said again and differ.
    digests: BTreeMap<u64, u64>,
    /// Of which epoch and round the latest word is, in asynchronous rounds.
    pub(super) latest: Option<(u64, u64)>,
    /// For how many rounds that word was used.
    pub(super) age: u64,
    /// Its sums by round; in asynchronous rounds only the latest.
    pub(super) sums: BTreeMap<u64, Sums>,
    /// What may have to be said again.
    pub(super) outbox: BTreeMap<(u64, Kind), Vec<u8>>,
}

impl<M: Wire> Link<M> {
    pub(super) fn new(
        peer: &Peer,
        mut place_of: impl FnMut(NodeId) -> Option<usize>,
        shape: impl Fn(usize, NodeId) -> Option<M::Shape>,
    ) -> Self {
        let incoming = peer.incoming.iter().filter_map(|&(from, to)| {
            let place = place_of(to)?;
            Some((place, from, shape(place, from)))
        });
        let incoming: Vec<_> = incoming.collect();
        let size =
            |shape: &Option<M::Shape>| shape.as_ref().map_or(0, |shape| 4 + M::largest(shape));
        Self {
            peer: peer.process,
            largest: incoming.iter().map(|(.., shape)| size(shape)).sum(),
            limit: f64::MAX,
            incoming,
            met: None,
            meeting: None,
            barred: None,
            floor: 0,
            knows_us: false,
            refused: None,
            is_lost: false,
            has_left: false,
            has_finished: false,
            ahead: 0,
            is_timely: true,
            accepted: 0,
            heard: BTreeMap::new(),
            digests: BTreeMap::new(),
            latest: None,
            age: 0,
            sums: BTreeMap::new(),
            outbox: BTreeMap::new(),
        }
    }

    /// Whether rounds have to wait for it.
    pub(super) fn is_expected(&self) -> bool {
        !self.is_lost && !self.has_left && self.refused.is_none()
    }

    /// The messages in a bundle, all checked.
    pub(super) fn unpack(&self, payload: &[u8]) -> Result<Vec<Said<M>>> {
        let mut from = Reader::new("a bundle", payload).with_limit(self.limit);
        if payload.len() > self.largest {
            return Err(from.refusal("is longer than expected"));
        }
        let (mut said, mut next) = (Vec::new(), 0);
        while from.left() > 0 {
            let place = from.short()? as usize;
            let Some((to, sender, Some(shape))) = self.incoming.get(place) else {
                return Err(from.refusal("holds a message for an unknown edge"));
            };
            if place < next {
                return Err(from.refusal("holds messages out of order"));
            }
            next = place + 1;
            said.push((*to, *sender, M::decode(shape, &mut from)?));
        }
        Ok(said)
    }

    /// Whether a payload of this round is the first, or the same as before; then it is remembered.
    pub(super) fn is_as_before(&mut self, round: u64, payload: &[u8]) -> bool {
        let now = digest(payload);
        *self.digests.entry(round).or_insert(now) == now
    }

    /// Forgets payloads of rounds that the neighbour can no longer say again.
    pub(super) fn forget(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        let floor = self.floor;
        // Rounds that are not the same tell nothing of each other.
        if self.is_timely {
            self.outbox.retain(|&(round, kind), _| match kind {
                Kind::State => round > floor,
                _ => round >= floor,
            });
        }
        self.has_finished |= floor == u64::MAX;
    }

    /// Forgets what was heard of rounds before this one.
    pub(super) fn forget_before(&mut self, round: u64) {
        self.digests = self.digests.split_off(&round);
        self.sums = self.sums.split_off(&round);
    }

    pub(super) fn write_outbox(&self, to: &mut Writer) {
        to.count(self.outbox.len());
        for ((round, kind), payload) in &self.outbox {
            to.word(*round);
            to.mark(*kind as u8);
            to.part(payload);
        }
    }

    pub(super) fn read_outbox(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.outbox.clear();
        for _ in 0..from.count()? {
            let (round, kind) = (from.word()?, Kind::from_mark(from.mark()?));
            let Some(kind) = kind else { return Err(from.refusal("holds an unknown kind")) };
            self.outbox.insert((round, kind), from.part()?.to_vec());
        }
        Ok(())
    }
}

/// Packs messages, given by the places of their edges.
pub(super) fn pack<M: Wire>(mut said: Vec<(u32, M)>, limit: f64) -> Result<Vec<u8>> {
    said.sort_by_key(|(place, _)| *place);
    let mut to = Writer::default().with_limit(limit);
    for (place, message) in said {
        to.short(place);
        message.encode(&mut to)?;
    }
    Ok(to.into_bytes())
}
