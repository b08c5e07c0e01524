//! Messages as bytes, and the state of a node between two rounds.

use std::sync::Arc;

use super::participant::{MixedParticipant, Phase, Scalar};
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
    /// `L⁻ᵀ t` of the mean coefficients, the labels and all probes, or a scalar.
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
    /// For rows of so many features.
    #[must_use]
    pub fn of_features(features: usize) -> Self {
        let columns = features + 1;
        let vectors = columns * (columns + 1 + super::participant::MOST_UNIT_PROBES);
        // Orders and sums hold a matrix, a few vectors and a few numbers.
        Self { vectors, tree: columns * columns + 3 * columns + 8 }
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
        is_neighbour.then(|| MixedShape::of_features(self.data.features().columns()))
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
        let question = self.question.as_ref();
        to.list(&question.map_or_else(Vec::new, |q| [&[q.rho], &q.factor[..]].concat()));
        to.number(self.radius);
        to.numbers(&[self.scalar.value, self.scalar.ratio]);
        let NodeSeries { term, before, current, beyond, logarithm } = &self.series;
        to.count(*term);
        to.list(before);
        to.list(current);
        to.list(beyond);
        to.number(*logarithm);
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
        let question = from.list()?;
        self.question = question
            .split_first()
            .map(|(rho, factor)| Question { rho: *rho, factor: factor.to_vec() });
        self.radius = from.number()?;
        self.scalar = Scalar { value: from.number()?, ratio: from.number()? };
        self.series = NodeSeries {
            term: from.count()?,
            before: from.list()?,
            current: from.list()?,
            beyond: from.list()?,
            logarithm: from.number()?,
        };
        self.ending = from.list()?;
        if let Some(lead) = &mut self.lead {
            lead.read(from)?;
        }
        self.remember()
    }

    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
