//! The messages of a round from one process to another travel as one bundle,
//!
//! ```text
//! bundle = (index of the edge u32, message)*      indices in rising order
//! ```
//!
//! where edges are counted in the order that both sides know from the layout.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::{
    bytes::{Reader, Writer, digest},
    error::Result,
    method::Wire,
    network::NodeId,
    runtime::layout::Peer,
};

/// The bytes of an edge's index, which each message in a bundle begins with.
pub const EDGE_INDEX_BYTES: usize = 4;

/// A message for a hosted node: the node's index here, the sender, the message.
pub(super) type Inbound<M> = (usize, NodeId, M);

/// An edge from a neighbouring process.
#[derive(Debug)]
struct IncomingEdge<S> {
    /// The index of the receiver here.
    receiver: usize,
    sender: NodeId,
    /// None if the sender has nothing to tell the receiver.
    shape: Option<S>,
}

/// What comes from one neighbouring process.
#[derive(Debug)]
pub(super) struct InboundLink<M: Wire> {
    edges: Vec<IncomingEdge<M::Shape>>,
    /// The most bytes that a bundle takes.
    largest_bytes: usize,
    /// The largest magnitude of a number in one.
    largest_number: f64,
    /// The messages of the next rounds, as far as they have come.
    rounds: BTreeMap<u64, Vec<Inbound<M>>>,
    /// The digests of payloads by round, to notice one that comes again and differs.
    digests: BTreeMap<u64, u64>,
    /// Epoch and round of the latest message, in asynchronous rounds.
    latest: Option<(u64, u64)>,
    /// For how many rounds that message was used.
    rounds_used: u64,
}

impl<M: Wire> InboundLink<M> {
    pub(super) fn new(
        peer: &Peer,
        largest_number: f64,
        index_of: impl Fn(NodeId) -> Option<usize>,
        shape: impl Fn(usize, NodeId) -> Option<M::Shape>,
    ) -> Self {
        let edge = |&(sender, to): &(NodeId, NodeId)| {
            let receiver = index_of(to)?;
            Some(IncomingEdge { receiver, sender, shape: shape(receiver, sender) })
        };
        let edges: Vec<_> = peer.incoming.iter().filter_map(edge).collect();
        let shapes = edges.iter().filter_map(|edge| edge.shape.as_ref());
        Self {
            largest_bytes: shapes.map(|shape| EDGE_INDEX_BYTES + M::largest(shape)).sum(),
            largest_number,
            edges,
            rounds: BTreeMap::new(),
            digests: BTreeMap::new(),
            latest: None,
            rounds_used: 0,
        }
    }

    pub(super) fn largest_bytes(&self) -> usize {
        self.largest_bytes
    }

    /// The messages in a bundle, all checked.
    pub(super) fn unpack(&self, payload: &[u8]) -> Result<Vec<Inbound<M>>> {
        let mut from = Reader::new("a bundle", payload).with_limit(self.largest_number);
        if payload.len() > self.largest_bytes {
            return Err(from.refusal("is longer than expected"));
        }
        let (mut messages, mut next) = (Vec::new(), 0);
        while from.left() > 0 {
            let index = from.short()? as usize;
            let Some(IncomingEdge { receiver, sender, shape: Some(shape) }) = self.edges.get(index)
            else {
                return Err(from.refusal("holds a message for an unknown edge"));
            };
            if index < next {
                return Err(from.refusal("holds messages out of order"));
            }
            next = index + 1;
            messages.push((*receiver, *sender, M::decode(shape, &mut from)?));
        }
        Ok(messages)
    }

    /// Whether a payload of this round is the first, or the same as before; then it is remembered.
    pub(super) fn is_unchanged(&mut self, round: u64, payload: &[u8], rules: &impl Rules) -> bool {
        let now = digest(payload);
        rules.is_unchanged(*self.digests.entry(round).or_insert(now), now)
    }

    pub(super) fn store(&mut self, round: u64, messages: Vec<Inbound<M>>) {
        self.rounds.entry(round).or_insert(messages);
    }

    pub(super) fn has(&self, round: u64) -> bool {
        self.rounds.contains_key(&round)
    }

    pub(super) fn take(&mut self, round: u64) -> Vec<Inbound<M>> {
        self.rounds.remove(&round).unwrap_or_default()
    }

    /// Forgets digests of rounds before this one.
    pub(super) fn forget_before(&mut self, round: u64) {
        self.digests = self.digests.split_off(&round);
    }

    /// Whether a message of this epoch and round replaces the latest, in asynchronous rounds.
    pub(super) fn replaces_latest(&mut self, now: (u64, u64), rules: &impl Rules) -> bool {
        let replaces = self.latest.is_none_or(|latest| rules.is_newer(latest, now));
        if replaces {
            (self.latest, self.rounds_used) = (Some(now), 0);
        }
        replaces
    }

    /// Epoch and round of the latest message, and for how many rounds it was used.
    pub(super) fn latest(&self) -> ((u64, u64), u64) {
        (self.latest.unwrap_or_default(), self.rounds_used)
    }

    /// Whether an asynchronous round must wait for the next message.
    pub(super) fn is_stale(&self, most_rounds: Option<u64>) -> bool {
        self.latest.is_none() || most_rounds.is_some_and(|most| self.rounds_used >= most)
    }

    pub(super) fn use_latest(&mut self) {
        self.rounds_used += 1;
    }
}

/// Packs messages, given by the indices of their edges.
pub(super) fn pack<M: Wire>(mut messages: Vec<(u32, M)>, largest_number: f64) -> Result<Vec<u8>> {
    messages.sort_by_key(|(index, _)| *index);
    let mut to = Writer::default().with_limit(largest_number);
    for (index, message) in messages {
        to.short(index);
        message.encode(&mut to)?;
    }
    Ok(to.into_bytes())
}
