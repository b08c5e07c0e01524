//! Messages that travel between processes, and participants that outlive theirs.
//!
//! A message has a fixed layout of little-endian numbers. Its size follows from a [`Wire::Shape`] that
//! the receiver knows before anything arrives ([`Durable::shape`]), so nothing in the bytes decides how
//! much room is made, and numbers that are not finite are refused.
//!
//! A snapshot holds all that a participant has learnt since it joined, bit for bit,
//!
//! ```text
//! restore(join(view), snapshot(p)) = p
//! ```
//!
//! in the sense that both send the same, and learn the same, ever after. Rows are not in it: a
//! participant is made from its view first, then restored.

use std::fmt::Debug;

use super::{Gap, Message, Participant, Report};
use crate::{
    bytes::{NUMBER_BYTES, Reader, Writer},
    error::{Error, Result},
    model::{Hypothesis, LocalModel},
    network::NodeId,
};

/// A message with a form of bytes.
pub trait Wire: Message + Debug {
    /// What a receiver knows of a message before it comes: the sizes of its parts.
    type Shape: Clone + Debug + PartialEq + Send + Sync;

    /// The bytes of a message beside its numbers.
    const HEAD_BYTES: usize;

    /// The most numbers that a message of this shape holds.
    fn most_numbers(shape: &Self::Shape) -> usize;

    /// The most bytes that a message of this shape takes.
    #[must_use]
    fn most_bytes(shape: &Self::Shape) -> usize {
        Self::HEAD_BYTES + NUMBER_BYTES * Self::most_numbers(shape)
    }

    /// Writes the message; refused if a number in it is not finite.
    fn encode(&self, to: &mut Writer) -> Result<()>;

    /// Reads a message of this shape, and not a byte more.
    fn decode(shape: &Self::Shape, from: &mut Reader<'_>) -> Result<Self>;
}

/// What a participant may forget without harm when its process crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// An older state is as good: others only ever use its latest message.
    Replaceable,
    /// What was sent must be remembered, or be sent again from the same messages of others.
    Conversation,
    /// Whatever was given away must be remembered before it leaves: every round is kept.
    Ledger,
}

/// A participant that can be saved and restored exactly.
pub trait Durable: Participant<Message: Wire> {
    /// What messages from this node look like; none from one that sends nothing here.
    fn shape(&self, from: NodeId) -> Option<<Self::Message as Wire>::Shape>;

    /// Writes all that was learnt since joining.
    fn snapshot(&self, to: &mut Writer) -> Result<()>;

    /// Takes the state of a snapshot; `self` has just joined with the same method and view.
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()>;

    /// Whether a node can go on among other neighbours.
    fn takes_changes(&self) -> bool {
        false
    }

    /// Takes over what a node has learnt among these neighbours, from its snapshot; `self` has just joined with the same
    /// method and rows, among others.
    fn inherit(&mut self, former: &[NodeId], from: &mut Reader<'_>) -> Result<()> {
        let _ = (former, from);
        Err(Error::Unsupported {
            what: "a change of members",
            needs: "a method whose nodes can go on among others: fedrelax or gtv with a strength that is given",
        })
    }

    /// The node has just joined, and its neighbours have learnt already.
    fn begin_late(&mut self) {}

    /// What may be forgotten.
    fn memory(&self) -> Memory;

    /// From now on messages may be stale, so growing changes are no longer a sign of divergence.
    fn expect_late_messages(&mut self) {}

    /// How many distinct questions of each other node were answered so far: no count ever falls.
    fn charges(&self) -> Vec<(NodeId, u64)> {
        Vec::new()
    }

    /// So many questions of another node were answered in earlier runs, and count in its budget.
    fn charge(&mut self, asker: NodeId, count: u64) {
        let _ = (asker, count);
    }
}

/// Writes how a round went.
pub(super) fn write_report(report: &Report, to: &mut Writer) {
    to.numbers(&[report.loss, report.variation, report.change, report.size]);
    to.flag(report.damped);
    to.flag(report.gap.is_some());
    if let Some(gap) = report.gap {
        to.flag(gap.iterate.is_some());
        // Written in any case, so that all reports with a gap have one length.
        to.count(gap.iterate.unwrap_or(0));
        to.number(gap.bound);
    }
}

/// Reads how a round went.
pub(super) fn read_report(from: &mut Reader<'_>) -> Result<Report> {
    let [loss, variation] = [from.number()?, from.number()?];
    let [change, size] = [from.number()?, from.number()?];
    let (damped, has_gap) = (from.flag()?, from.flag()?);
    let mut report = Report { loss, variation, change, size, damped, gap: None };
    if has_gap {
        let (is_of_one, iterate) = (from.flag()?, from.count()?);
        report.gap = Some(Gap { iterate: is_of_one.then_some(iterate), bound: from.number()? });
    }
    Ok(report)
}

/// Writes a hypothesis of a node with this model.
pub(super) fn write_hypothesis(
    hypothesis: &dyn Hypothesis,
    model: &dyn LocalModel,
    to: &mut Writer,
) -> Result<()> {
    to.part(&model.store(hypothesis)?);
    Ok(())
}

/// Reads a hypothesis of a node with this model.
pub(super) fn read_hypothesis(
    from: &mut Reader<'_>,
    model: &dyn LocalModel,
) -> Result<Box<dyn Hypothesis>> {
    match model.restore(from.part()?) {
        // Damaged bytes are reported as such; a hypothesis of another kind has an error that says more.
        Err(Error::Malformed { .. }) => Err(from.refusal("holds something else than a hypothesis")),
        restored => restored,
    }
}
