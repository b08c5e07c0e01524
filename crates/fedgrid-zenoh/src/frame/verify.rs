//! The checks of a received frame: size first, then everything that costs little, the signature
//! last. Nothing is allocated before all have passed. What is inside of a payload (its parts, finite
//! numbers) is checked by the protocol against the shapes that it expects.

use std::{collections::BTreeMap, ops::RangeInclusive};

use ed25519_dalek::{Signature, VerifyingKey};

use super::{
    Frame, FrameKind, FrameRefusal, HASH_BYTES, HEADER_BYTES, LARGEST_FRAME_BYTES, MAGIC, RunId,
    TRAILER_BYTES, VERSION, signed,
};

/// What a receiver expects of one sender, from its manifest and from what it has seen.
#[derive(Debug, Clone)]
pub struct ExpectedSender {
    /// The sender's key.
    pub key: VerifyingKey,
    /// The epochs that are of use: none below the highest that was accepted.
    pub epochs: RangeInclusive<u64>,
    /// The largest payload that the edges to the sender can fill.
    pub largest: usize,
}

/// What a receiver expects of its neighbours.
#[derive(Debug, Clone)]
pub struct FrameVerifier {
    /// The run.
    pub run: RunId,
    /// The receiver.
    pub own: u32,
    /// The fingerprint of what the manifest says about messages.
    pub shape: u64,
    /// The last round that is of use.
    pub last_round: u64,
    /// The neighbours.
    pub senders: BTreeMap<u32, ExpectedSender>,
}

impl FrameVerifier {
    /// The frame in these bytes, if it passes all checks.
    pub fn verify(&self, bytes: &[u8]) -> Result<Frame, FrameRefusal> {
        let kind = kind_of(bytes)?;
        if bytes[8..24] != self.run {
            return Err(FrameRefusal::Run);
        }
        let (from, to) = (short(bytes, 24), short(bytes, 28));
        if to != self.own {
            return Err(FrameRefusal::Receiver(to));
        }
        let expected = self.senders.get(&from).ok_or(FrameRefusal::Sender(from))?;
        let (epoch, round) = (word(bytes, 32), word(bytes, 40));
        if !expected.epochs.contains(&epoch) {
            return Err(FrameRefusal::Epoch(epoch));
        }
        if round > self.last_round {
            return Err(FrameRefusal::Round(round));
        }
        if word(bytes, 72) != self.shape {
            return Err(FrameRefusal::SharedSizes);
        }
        let (length, end) = (short(bytes, 80), bytes.len() - TRAILER_BYTES);
        if length as usize != end - HEADER_BYTES {
            return Err(FrameRefusal::Length(length));
        }
        if length as usize > expected.largest {
            return Err(FrameRefusal::Payload(length));
        }
        let hash = blake3::hash(&bytes[..end]);
        if bytes[end..end + HASH_BYTES] != hash.as_bytes()[..HASH_BYTES] {
            return Err(FrameRefusal::Hash);
        }
        let signature = Signature::from_bytes(&array(&bytes[end + HASH_BYTES..]));
        expected
            .key
            .verify_strict(&signed(&hash), &signature)
            .map_err(|_| FrameRefusal::Signature)?;
        let (nonce, known_epoch, durable_round) =
            (word(bytes, 48), word(bytes, 56), word(bytes, 64));
        let payload = bytes[HEADER_BYTES..end].to_vec();
        let (from, to) = (from as usize, to as usize);
        Ok(Frame { kind, from, to, epoch, nonce, known_epoch, durable_round, round, payload })
    }
}

/// The kind of what is a frame by its size and first bytes.
fn kind_of(bytes: &[u8]) -> Result<FrameKind, FrameRefusal> {
    if bytes.len() > LARGEST_FRAME_BYTES {
        return Err(FrameRefusal::TooLarge(bytes.len()));
    }
    if bytes.len() < HEADER_BYTES + TRAILER_BYTES {
        return Err(FrameRefusal::TooSmall(bytes.len()));
    }
    if bytes[..4] != MAGIC {
        return Err(FrameRefusal::Magic);
    }
    let version = u16::from_le_bytes(array(&bytes[4..6]));
    if version != VERSION {
        return Err(FrameRefusal::Version(version));
    }
    // A later layout may give the byte a meaning; until then nobody may smuggle bits in it.
    if bytes[7] != 0 {
        return Err(FrameRefusal::Reserved);
    }
    FrameKind::from_mark(bytes[6]).ok_or(FrameRefusal::FrameKind(bytes[6]))
}

fn short(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(array(&bytes[index..index + 4]))
}

fn word(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(array(&bytes[index..index + 8]))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice has the size of the field")
}
