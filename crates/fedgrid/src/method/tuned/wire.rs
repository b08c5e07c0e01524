//! Messages as bytes, and the state of a node between two rounds.

use std::collections::VecDeque;

use super::{
    Adjustable, MOST_SIDE_BY_SIDE, TunedParticipant,
    lead::Lead,
    order::{
        Order, TreeSums, read_number_of_strengths, read_strengths, read_tried, write_strengths,
        write_tried,
    },
    participant::MessageOf,
};
use crate::{
    bytes::{NUMBER_BYTES, Reader, Writer},
    error::Result,
    method::{Durable, Memory, Message, Wire},
    network::NodeId,
};

/// What the method says, and what goes up or down the tree.
#[derive(Debug, Clone)]
pub struct TunedMessage<N> {
    /// At each of the strengths that run side by side; none where it says nothing.
    pub(super) method: Vec<Option<N>>,
    pub(super) up: Option<Vec<TreeSums>>,
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
        let method: usize = self.method.iter().flatten().map(Message::bytes).sum();
        let up = TreeSums::BYTES * self.up.as_ref().map_or(0, Vec::len);
        let mut down = Writer::default();
        self.down.iter().for_each(|order| order.write(&mut down));
        method + up + down.len()
    }
}

impl<N: Wire> Wire for TunedMessage<N> {
    type Shape = TunedShape<N::Shape>;

    /// How many strengths there are, whether there is a message at each, and whether sums and an order follow.
    const HEAD_BYTES: usize = 4 + MOST_SIDE_BY_SIDE;

    fn most_numbers(shape: &Self::Shape) -> usize {
        let method = shape.method.as_ref().map_or(0, N::most_numbers);
        let beside = (TREE_BYTES + Order::MOST_BYTES).div_ceil(NUMBER_BYTES);
        MOST_SIDE_BY_SIDE * method + beside
    }

    fn most_bytes(shape: &Self::Shape) -> usize {
        let method = shape.method.as_ref().map_or(0, N::most_bytes);
        let up = if shape.is_below { TREE_BYTES } else { 0 };
        let down = if shape.is_above { Order::MOST_BYTES } else { 0 };
        Self::HEAD_BYTES + MOST_SIDE_BY_SIDE * method + up + down
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        to.mark(u8::try_from(self.method.len()).unwrap_or(u8::MAX));
        for message in &self.method {
            to.flag(message.is_some());
            message.iter().try_for_each(|message| message.encode(to))?;
        }
        write_up(self.up.as_deref(), to);
        to.flag(self.down.is_some());
        self.down.iter().for_each(|order| order.write(to));
        Ok(())
    }

    fn decode(shape: &Self::Shape, from: &mut Reader<'_>) -> Result<Self> {
        let strengths = read_number_of_strengths(from)?;
        let message = |_| match (from.flag()?, &shape.method) {
            (false, _) => Ok(None),
            (true, Some(shape)) => N::decode(shape, from).map(Some),
            (true, None) => Err(from.refusal("holds a message for an unknown edge")),
        };
        let method = (0..strengths).map(message).collect::<Result<Vec<_>>>()?;
        let up = read_up(from)?;
        let down = if from.flag()? { Some(Order::read(from)?) } else { None };
        if up.is_some() && !shape.is_below || down.is_some() && !shape.is_above {
            return Err(from.refusal("goes along the tree where it has no edge"));
        }
        Ok(Self { method, up, down })
    }
}

/// The most bytes of sums, with their number.
const TREE_BYTES: usize = 1 + MOST_SIDE_BY_SIDE * TreeSums::BYTES;

/// Writes sums of one round at all strengths, or that there are none.
fn write_up(sums: Option<&[TreeSums]>, to: &mut Writer) {
    to.flag(sums.is_some());
    if let Some(sums) = sums {
        write_sums(sums, to);
    }
}

fn read_up(from: &mut Reader<'_>) -> Result<Option<Vec<TreeSums>>> {
    if from.flag()? { read_sums(from).map(Some) } else { Ok(None) }
}

fn write_sums(sums: &[TreeSums], to: &mut Writer) {
    to.mark(u8::try_from(sums.len()).unwrap_or(u8::MAX));
    for own in sums {
        own.write(to);
    }
}

fn read_sums(from: &mut Reader<'_>) -> Result<Vec<TreeSums>> {
    let strengths = read_number_of_strengths(from)?;
    (0..strengths).map(|_| TreeSums::read(from)).collect()
}

impl<M: Adjustable> Durable for TunedParticipant<M> {
    fn shape(&self, from: NodeId) -> Option<TunedShape<<MessageOf<M> as Wire>::Shape>> {
        Some(TunedShape {
            method: self.shown().shape(from),
            is_below: self.children().contains(&from),
            is_above: self.parent() == Some(from),
        })
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.tried.is_some());
        self.tried.iter().for_each(|tried| write_tried(tried, to));
        to.word(self.round);
        to.count(self.own.len());
        self.own.iter().for_each(|sums| write_sums(sums, to));
        write_up(self.up.as_deref(), to);
        to.flag(self.due.is_some());
        self.due.iter().for_each(|order| order.write(to));
        to.flag(self.passes_on);
        to.flag(self.lead.is_some());
        self.lead.iter().for_each(|lead| lead.write(to));
        write_strengths(&self.strengths(), to);
        self.lanes.iter().try_for_each(|lane| lane.inner.snapshot(to))
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.tried = if from.flag()? { Some(read_tried(from)?) } else { None };
        self.round = from.word()?;
        let kept = from.count()?;
        if kept > self.behind() {
            return Err(from.refusal("is of another node"));
        }
        self.own = (0..kept).map(|_| read_sums(from)).collect::<Result<VecDeque<_>>>()?;
        self.up = read_up(from)?;
        self.due = if from.flag()? { Some(Order::read(from)?) } else { None };
        self.passes_on = from.flag()?;
        self.lead = if from.flag()? { Some(Lead::read(from)?) } else { None };
        let strengths = read_strengths(from)?;
        self.lanes =
            strengths.into_iter().map(|alpha| self.joined(alpha)).collect::<Result<_>>()?;
        self.lanes.iter_mut().try_for_each(|lane| lane.inner.restore(from))
    }

    /// What was told of a round is told once, and must be again.
    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
