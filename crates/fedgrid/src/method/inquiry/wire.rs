//! Answers and conclusions as bytes, and the state of a node between two rounds.

use super::{Inquiry, InquiryParticipant};
use crate::{
    bytes::{NUMBER_BYTES, Reader, Writer},
    error::{Error, Result},
    method::{Durable, Memory, Message, Wire},
    network::{Network, NodeId},
};

/// Answers on their way up, or a conclusion on its way down.
#[derive(Debug, Clone)]
pub struct InquiryMessage {
    pub(super) numbers: Vec<f64>,
}

/// The most numbers that a message may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InquiryShape {
    most: usize,
}

impl Message for InquiryMessage {
    fn bytes(&self) -> usize {
        NUMBER_BYTES * self.numbers.len()
    }
}

impl Wire for InquiryMessage {
    type Shape = InquiryShape;

    /// How many numbers there are.
    const HEAD_BYTES: usize = 8;

    fn most_numbers(shape: &InquiryShape) -> usize {
        shape.most
    }

    /// Not bounded by the limit for messages, since what is told here moves no model; but finite.
    fn encode(&self, to: &mut Writer) -> Result<()> {
        check(&self.numbers)?;
        to.list(&self.numbers);
        Ok(())
    }

    fn decode(shape: &InquiryShape, from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count()?;
        if count > shape.most {
            return Err(from.refusal("holds more numbers than a node may answer"));
        }
        let numbers = from.numbers(count)?;
        check(&numbers)?;
        Ok(Self { numbers })
    }
}

fn check(numbers: &[f64]) -> Result<()> {
    if numbers.iter().all(|number| number.is_finite()) {
        return Ok(());
    }
    Err(Error::Malformed { what: "an answer", reason: "holds a number that is not finite" })
}

impl InquiryParticipant {
    /// The most numbers of any question, from below and from above.
    fn most(&self, from: NodeId) -> Option<usize> {
        let questions = 0..self.plan.questions.count();
        let is_below = self.plan.tree.parents[from] == Some(self.node);
        let is_above = self.plan.tree.parents[self.node] == Some(from);
        if is_below {
            questions.map(|question| self.plan.size_up(from, question)).max()
        } else if is_above {
            questions.map(|question| self.plan.questions.conclusion_size(question)).max()
        } else {
            None
        }
    }
}

impl Inquiry {
    /// The most bytes that a message along an edge of the network takes.
    #[must_use]
    pub fn largest_message(&self, network: &Network) -> usize {
        let plan = &self.plan;
        let sizes = (0..plan.questions.count()).flat_map(|question| {
            let up = (0..network.len()).filter(|node| plan.tree.parents[*node].is_some());
            let up = up.map(move |node| plan.size_up(node, question));
            up.chain([plan.questions.conclusion_size(question)])
        });
        InquiryMessage::most_bytes(&InquiryShape { most: sizes.max().unwrap_or(0) })
    }
}

impl Durable for InquiryParticipant {
    fn shape(&self, from: NodeId) -> Option<InquiryShape> {
        self.most(from).map(|most| InquiryShape { most })
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.word(self.round);
        to.count(self.conclusions.len());
        self.conclusions.iter().for_each(|numbers| to.list(numbers));
        to.list(&self.gathered);
        Ok(())
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.round = from.word()?;
        let known = from.count()?;
        if known > self.plan.questions.count() {
            return Err(from.refusal("is of other questions"));
        }
        self.conclusions = (0..known).map(|_| from.list()).collect::<Result<_>>()?;
        self.gathered = from.list()?;
        Ok(())
    }

    /// What was told is told once, and must be again.
    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
