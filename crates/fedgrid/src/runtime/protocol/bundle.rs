//! The messages of a round from one process to another travel as one bundle,
//!
//! ```text
//! bundle = (index of the edge u32, message)*      indices in rising order
//! ```
//!
//! where edges are counted in the order that both sides know from the layout.

use crate::{
    bytes::{Reader, Writer},
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

/// The edges from one neighbouring process.
#[derive(Debug)]
pub(super) struct IncomingEdges<M: Wire> {
    edges: Vec<IncomingEdge<M::Shape>>,
    /// The most bytes that a bundle takes.
    pub(super) largest_bytes: usize,
    /// The largest magnitude of a number in one.
    largest_number: f64,
}

impl<M: Wire> IncomingEdges<M> {
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
        let largest_bytes = shapes.map(|shape| EDGE_INDEX_BYTES + M::most_bytes(shape)).sum();
        Self { edges, largest_bytes, largest_number }
    }

    /// The messages in a bundle, all checked.
    pub(super) fn unpack(&self, payload: &[u8]) -> Result<Vec<Inbound<M>>> {
        let mut from = Reader::new("a bundle", payload).with_limit(self.largest_number);
        // Before anything is decoded: no neighbour decides how much room is made here.
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
            // One order only: otherwise two payloads of the same messages would have different digests.
            if index < next {
                return Err(from.refusal("holds messages out of order"));
            }
            next = index + 1;
            messages.push((*receiver, *sender, M::decode(shape, &mut from)?));
        }
        Ok(messages)
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
