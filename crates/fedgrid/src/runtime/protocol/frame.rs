//! What processes send each other: a fixed head, then the payload,
//!
//! ```text
//! kind u8 | from u32 | to u32 | epoch, nonce, known epoch, durable round, round: u64 each | payload
//! ```
//!
//! A transport adds what it must (version, run, signature) and hands over only frames whose sender it
//! has checked. The payload's size is checked against the shapes that the receiver expects.

use std::collections::BTreeMap;

use crate::{
    bytes::{Reader, Writer},
    error::Result,
    runtime::layout::ProcessId,
};

/// How many bytes come before the payload.
pub const FRAME_HEAD_BYTES: usize = 1 + 4 + 4 + 5 * 8;

/// What a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum FrameKind {
    /// I am here (again), and stand at this round. Answered by the same.
    Hello = 1,
    /// All messages of a round from the sender's nodes to the receiver's.
    State = 2,
    /// How a round went in the sender's part of the tree, for its parent.
    Sums = 3,
    /// What the root has decided after a round, for the sender's children.
    Verdict = 4,
    /// Something of this round is missing here; the payload is the kind.
    Ask = 5,
    /// Your frames are not accepted; the payload says why.
    Refusal = 6,
    /// I leave, and may come back.
    Leave = 7,
    /// I am done at this round.
    Done = 8,
    /// The bases that all of the sender's part of the tree have, for its parent.
    Held = 9,
    /// The base from which all go on, for the sender's children.
    Chosen = 10,
}

impl FrameKind {
    /// The kind of this number.
    #[must_use]
    pub fn from_mark(mark: u8) -> Option<Self> {
        let all = [
            Self::Hello,
            Self::State,
            Self::Sums,
            Self::Verdict,
            Self::Ask,
            Self::Refusal,
            Self::Leave,
            Self::Done,
            Self::Held,
            Self::Chosen,
        ];
        all.into_iter().find(|kind| *kind as u8 == mark)
    }
}

/// Payloads that may have to be sent again, by round and kind.
pub(in crate::runtime) type SentPayloads = BTreeMap<(u64, FrameKind), Vec<u8>>;

/// One start of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerIdentity {
    /// How often it has started.
    pub epoch: u64,
    /// What tells two copies with the same epoch apart.
    pub nonce: u64,
}

/// What one process sends another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is about.
    pub kind: FrameKind,
    /// Who sent it.
    pub from: ProcessId,
    /// For whom it is.
    pub to: ProcessId,
    /// How often the sender has started.
    pub epoch: u64,
    /// What tells two copies of the sender with the same epoch apart.
    pub nonce: u64,
    /// The receiver's epoch as far as the sender knows; zero if it knows none.
    pub known_epoch: u64,
    /// The sender's last durable round: it never falls, and what was sent in rounds up to it is never
    /// needed again.
    pub durable_round: u64,
    /// The round that the payload belongs to.
    pub round: u64,
    /// What is sent.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Which start of the sender sent it.
    pub(in crate::runtime) fn sender(&self) -> PeerIdentity {
        PeerIdentity { epoch: self.epoch, nonce: self.nonce }
    }

    /// The frame as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::after(Vec::with_capacity(FRAME_HEAD_BYTES + self.payload.len()));
        to.mark(self.kind as u8);
        for process in [self.from, self.to] {
            // An id beyond the range cannot be a neighbour's; as the largest number it reaches nobody.
            to.short(u32::try_from(process).unwrap_or(u32::MAX));
        }
        to.words(&[self.epoch, self.nonce, self.known_epoch, self.durable_round, self.round]);
        let mut bytes = to.into_bytes();
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The frame in these bytes, if its payload is no larger than this.
    pub fn decode(bytes: &[u8], largest: usize) -> Result<Self> {
        let mut from = Reader::new("a frame", bytes);
        if bytes.len() > FRAME_HEAD_BYTES + largest {
            return Err(from.refusal("is longer than expected"));
        }
        let Some(kind) = FrameKind::from_mark(from.mark()?) else {
            return Err(from.refusal("is of an unknown kind"));
        };
        let (sender, to) = (from.short()? as ProcessId, from.short()? as ProcessId);
        Ok(Self {
            kind,
            from: sender,
            to,
            epoch: from.word()?,
            nonce: from.word()?,
            known_epoch: from.word()?,
            durable_round: from.word()?,
            round: from.word()?,
            payload: bytes[FRAME_HEAD_BYTES..].to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_a_bad_one_is_named() {
        let frame = Frame {
            kind: FrameKind::State,
            from: 3,
            to: 70_000,
            epoch: 1,
            nonce: u64::MAX,
            known_epoch: 2,
            durable_round: 0,
            round: 9,
            payload: vec![1, 2, 3],
        };
        let bytes = frame.encode();
        assert_eq!(bytes.len(), FRAME_HEAD_BYTES + 3);
        assert_eq!(Frame::decode(&bytes, 3).unwrap(), frame);
        let message = |bytes: &[u8]| Frame::decode(bytes, 2).unwrap_err().to_string();
        assert_eq!(message(&bytes), "a frame is longer than expected");
        assert_eq!(message(&bytes[..FRAME_HEAD_BYTES - 1]), "a frame is shorter than expected");
        assert_eq!(
            message(&[&[0], &bytes[1..FRAME_HEAD_BYTES]].concat()),
            "a frame is of an unknown kind"
        );
    }
}
