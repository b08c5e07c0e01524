//! Messages as bytes, and the state of a node between two rounds.

use std::sync::Arc;

use super::{
    FrontSizes,
    modes::Modes,
    participant::{MixedParticipant, Phase, Scalar},
};
use crate::{
    bytes::{NUMBER_BYTES, Reader, Writer},
    error::Result,
    method::{Durable, Memory, Message, Wire},
    mixed::{NodeSeries, Question},
    network::NodeId,
};

/// What travels along an edge: the vectors of a series, or what goes up or down the tree.
#[derive(Debug, Clone)]
pub struct MixedMessage {
    /// `L⁻ᵀ t` of the mean coefficients, the labels and all probes, a scalar, or what was eliminated.
    pub(super) vectors: Arc<[f64]>,
    /// An order, or sums.
    pub(super) tree: Arc<[f64]>,
}

/// The most numbers of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixedShape {
    vectors: usize,
    tree: usize,
}

impl MixedShape {
    /// Along an edge, for so many coefficients of every node.
    #[must_use]
    pub fn new(columns: usize, fronts: &FrontSizes, edge: (NodeId, NodeId)) -> Self {
        let left = fronts.left_along(edge);
        // Orders and sums hold a matrix, a few vectors and a few numbers.
        let tree = if left.is_some() { columns * columns + 4 * columns + 16 } else { 0 };
        if !fronts.are_eliminated(columns) {
            let vectors = columns * (columns + 1 + super::participant::DRAWN_PROBES);
            return Self { vectors, tree };
        }
        let Some(left) = left.map(|nodes| nodes * columns) else {
            return Self { vectors: 0, tree: 0 };
        };
        let all = left + columns + 1;
        Self { vectors: left * (all + 1), tree: tree.max(2 + all * (all + 1) / 2) }
    }
}

impl Message for MixedMessage {
    fn bytes(&self) -> usize {
        NUMBER_BYTES * (self.vectors.len() + self.tree.len())
    }
}

impl Wire for MixedMessage {
    type Shape = MixedShape;

    /// The counts of both parts.
    const HEAD_BYTES: usize = 16;

    fn most_numbers(shape: &MixedShape) -> usize {
        shape.vectors + shape.tree
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        to.count(self.vectors.len());
        to.finite("a vector", &self.vectors)?;
        to.count(self.tree.len());
        to.finite("a sum", &self.tree)
    }

    fn decode(shape: &MixedShape, from: &mut Reader<'_>) -> Result<Self> {
        let mut part = |most: usize| {
            let count = from.count()?;
            if count > most {
                return Err(from.refusal("holds more numbers than expected"));
            }
            Ok(Arc::from(from.finite(count)?))
        };
        Ok(Self { vectors: part(shape.vectors)?, tree: part(shape.tree)? })
    }
}

impl Durable for MixedParticipant {
    fn shape(&self, from: NodeId) -> Option<MixedShape> {
        let is_neighbour = self.neighbours.iter().any(|(neighbour, _)| *neighbour == from);
        is_neighbour
            .then(|| MixedShape::new(self.most_columns(), self.front_sizes(), (from, self.id)))
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.mark(self.phase as u8);
        to.count(self.left);
        to.list(&self.order);
        to.list(&self.sums);
        to.list(&self.means);
        to.list(&self.scales);
        to.count(self.deviating.len());
        self.deviating.iter().for_each(|&flag| to.flag(flag));
        Question::write(self.question.as_ref(), to);
        to.number(self.radius);
        to.numbers(&[self.scalar.value, self.scalar.ratio]);
        let NodeSeries { term, before, current, beyond, logarithm } = &self.series;
        to.count(*term);
        to.list(before);
        to.list(current);
        to.list(beyond);
        to.number(*logarithm);
        if let Some(elimination) = &self.elimination {
            elimination.heard.iter().for_each(|told| to.list(told));
            to.list(&elimination.told);
        }
        let Modes { deviations, before, step, block, is_turned } = &self.modes;
        for list in [deviations, before, step, block] {
            to.list(list);
        }
        to.flag(*is_turned);
        to.list(&self.ending);
        if let Some(lead) = &self.lead {
            lead.write(to);
        }
        Ok(())
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let phase = Phase::ALL.get(usize::from(from.mark()?)).copied();
        self.phase = phase.ok_or_else(|| from.refusal("is of an unknown phase"))?;
        self.left = from.count()?;
        (self.order, self.sums) = (from.list()?, from.list()?);
        (self.means, self.scales) = (from.list()?, from.list()?);
        self.deviating = (0..from.count()?).map(|_| from.flag()).collect::<Result<_>>()?;
        self.question = Question::read(from)?;
        self.radius = from.number()?;
        self.scalar = Scalar { value: from.number()?, ratio: from.number()? };
        self.series = NodeSeries {
            term: from.count()?,
            before: from.list()?,
            current: from.list()?,
            beyond: from.list()?,
            logarithm: from.number()?,
        };
        if let Some(elimination) = &mut self.elimination {
            for told in &mut elimination.heard {
                *told = from.list()?;
            }
            elimination.told = from.list()?;
        }
        self.modes = Modes {
            deviations: from.list()?,
            before: from.list()?,
            step: from.list()?,
            block: from.list()?,
            is_turned: from.flag()?,
        };
        self.ending = from.list()?;
        if let Some(lead) = &mut self.lead {
            lead.read(from)?;
        }
        let ending = std::mem::take(&mut self.ending);
        self.remember()?;
        self.recall()?;
        // The model is made of what was recalled.
        self.ending = ending;
        self.remember()
    }

    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
