//! Messages as bytes, and the state of a node between two rounds.

use std::collections::VecDeque;

use super::{
    Adjustable, TunedParticipant,
    lead::Lead,
    order::{Order, TreeSums, read_tried, write_tried},
    participant::MessageOf,
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Durable, Memory, Message, Wire},
    network::NodeId,
};

/// What the method says, and what goes up or down the tree.
#[derive(Debug, Clone)]
pub struct TunedMessage<N> {
    pub(super) method: Option<N>,
    pub(super) up: Option<TreeSums>,
    pub(super) down: Option<Order>,
}

/// What a message may hold.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedShape<S> {
    /// What the method says; none if the sender says nothing here.
    pub method: Option<S>,
    /// Whether the sender is below the receiver in the tree.
    pub is_below: bool,
    /// Whether it is above.
    pub is_above: bool,
}

impl<N: Message> Message for TunedMessage<N> {
    fn bytes(&self) -> usize {
        let method: usize = self.method.iter().map(Message::bytes).sum();
        let up = if self.up.is_some() { TreeSums::BYTES } else { 0 };
        let mut down = Writer::default();
        self.down.iter().for_each(|order| order.write(&mut down));
        method + up + down.len()
    }
}

impl<N: Wire> Wire for TunedMessage<N> {
    type Shape = TunedShape<N::Shape>;

    /// Whether a message of the method, sums and an order follow.
    const HEAD_BYTES: usize = 3;

    fn most_numbers(shape: &Self::Shape) -> usize {
        let method = shape.method.as_ref().map_or(0, N::most_numbers);
        method + (TreeSums::BYTES + Order::MOST_BYTES).div_ceil(8)
    }

    fn most_bytes(shape: &Self::Shape) -> usize {
        let method = shape.method.as_ref().map_or(0, N::most_bytes);
        let up = if shape.is_below { TreeSums::BYTES } else { 0 };
        let down = if shape.is_above { Order::MOST_BYTES } else { 0 };
        Self::HEAD_BYTES + method + up + down
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.method.is_some());
        self.method.iter().try_for_each(|message| message.encode(to))?;
        to.flag(self.up.is_some());
        self.up.iter().for_each(|sums| sums.write(to));
        to.flag(self.down.is_some());
        self.down.iter().for_each(|order| order.write(to));
        Ok(())
    }

    fn decode(shape: &Self::Shape, from: &mut Reader<'_>) -> Result<Self> {
        let method = match (from.flag()?, &shape.method) {
            (false, _) => None,
            (true, Some(shape)) => Some(N::decode(shape, from)?),
            (true, None) => return Err(from.refusal("holds a message for an unknown edge")),
        };
        let up = if from.flag()? { Some(TreeSums::read(from)?) } else { None };
        let down = if from.flag()? { Some(Order::read(from)?) } else { None };
        if up.is_some() && !shape.is_below || down.is_some() && !shape.is_above {
            return Err(from.refusal("goes along the tree where it has no edge"));
        }
        Ok(Self { method, up, down })
    }
}

impl<M: Adjustable> Durable for TunedParticipant<M> {
    fn shape(&self, from: NodeId) -> Option<TunedShape<<MessageOf<M> as Wire>::Shape>> {
        Some(TunedShape {
            method: self.inner.shape(from),
            is_below: self.children().contains(&from),
            is_above: self.parent() == Some(from),
        })
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.tried.is_some());
        self.tried.iter().for_each(|tried| write_tried(tried, to));
        to.number(self.alpha);
        to.word(self.round);
        to.count(self.own.len());
        self.own.iter().for_each(|sums| sums.write(to));
        to.flag(self.up.is_some());
        self.up.iter().for_each(|sums| sums.write(to));
        to.flag(self.due.is_some());
        self.due.iter().for_each(|order| order.write(to));
        to.flag(self.passes_on);
        to.flag(self.lead.is_some());
        self.lead.iter().for_each(|lead| lead.write(to));
        self.inner.snapshot(to)
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.tried = if from.flag()? { Some(read_tried(from)?) } else { None };
        self.alpha = from.number()?;
        self.round = from.word()?;
        let kept = from.count()?;
        if kept > self.behind() {
            return Err(from.refusal("is of another node"));
        }
        self.own = (0..kept).map(|_| TreeSums::read(from)).collect::<Result<VecDeque<_>>>()?;
        self.up = if from.flag()? { Some(TreeSums::read(from)?) } else { None };
        self.due = if from.flag()? { Some(Order::read(from)?) } else { None };
        self.passes_on = from.flag()?;
        self.lead = if from.flag()? { Some(Lead::read(from)?) } else { None };
        self.inner = self.joined()?;
        self.inner.restore(from)
    }

    /// What was told of a round is told once, and must be again.
    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
