//! What travels between two processes: a frame of the protocol, bound to its run and signed.
//!
//! ```text
//!  0 "fgrd"    4 version   6 kind    7 zero    8 run (16)   24 sender   28 receiver   32 epoch
//! 40 round    48 nonce    56 known epoch   64 durable round   72 shape   80 payload bytes
//! 84 payload  then 16 bytes of BLAKE3 over all before, then 64 bytes of Ed25519 signature
//! ```
//!
//! Numbers are little-endian. The payload of a round holds the messages of all edges between the two
//! processes, so one signature covers them all; it is over the whole BLAKE3 hash. Frames of this
//! layout can be read for ever: golden frames in the tests hold it.

mod verify;
mod refusal;

use ed25519_dalek::{Signer, SigningKey};
pub use fedgrid::runtime::protocol::{Frame, FrameKind};
pub use refusal::FrameRefusal;
pub use verify::{ExpectedSender, FrameVerifier};

/// The version of the layout.
pub const VERSION: u16 = 1;
/// The bytes before the payload.
pub const HEADER_BYTES: usize = 84;
/// The bytes after the payload.
pub const TRAILER_BYTES: usize = HASH_BYTES + 64;
/// The largest frame.
// A receiver may have to hold this much for every frame in a neighbour's queue.
pub const LARGEST_FRAME_BYTES: usize = 16 << 20;

const MAGIC: [u8; 4] = *b"fgrd";
const HASH_BYTES: usize = 16;
/// What is signed begins with this, so that no other signature of a key can pass for a frame's.
const DOMAIN: &[u8] = b"fedgrid frame 1\0";

/// A run of a federation.
pub type RunId = [u8; 16];

/// A frame as signed bytes; none if it is larger than any receiver accepts.
#[must_use]
pub fn seal(frame: &Frame, run: &RunId, shape: u64, key: &SigningKey) -> Option<Vec<u8>> {
    let size = HEADER_BYTES + frame.payload.len() + TRAILER_BYTES;
    if size > LARGEST_FRAME_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(size);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([frame.kind as u8, 0]);
    bytes.extend(run);
    for process in [frame.from, frame.to] {
        bytes.extend(u32::try_from(process).ok()?.to_le_bytes());
    }
    for word in
        [frame.epoch, frame.round, frame.nonce, frame.known_epoch, frame.durable_round, shape]
    {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(u32::try_from(frame.payload.len()).ok()?.to_le_bytes());
    bytes.extend(&frame.payload);
    // The hash finds damage before the signature is checked, which costs far more.
    let hash = blake3::hash(&bytes);
    let signature = key.sign(&signed(&hash));
    bytes.extend(&hash.as_bytes()[..HASH_BYTES]);
    bytes.extend(signature.to_bytes());
    Some(bytes)
}

/// What the signature is over.
fn signed(hash: &blake3::Hash) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..16].copy_from_slice(DOMAIN);
    bytes[16..].copy_from_slice(hash.as_bytes());
    bytes
}

#[cfg(test)]
mod tests;
