//! What a project may order: to stop. An order is signed with the project's key,
//!
//! ```text
//! order u8 | run (16) | seconds since 1970 u64 | Ed25519 signature
//! ```
//!
//! and holds for processes that were started before it: one that is started again goes on.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::frame::RunId;

const DOMAIN: &[u8] = b"fedgrid order 1\0";
const BODY: usize = 1 + 16 + 8;

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Keep the state and end; the process can be started again.
    Stop,
}

impl Order {
    /// The signed order, given at this time.
    #[must_use]
    pub fn signed(self, key: &SigningKey, run: &RunId, now: u64) -> Vec<u8> {
        let mut bytes = vec![match self {
            Self::Stop => 1,
        }];
        bytes.extend(run);
        bytes.extend(now.to_le_bytes());
        let signature = key.sign(&[DOMAIN, &bytes].concat());
        bytes.extend(signature.to_bytes());
        bytes
    }

    /// The order in these bytes, if the project gave it to this run after this process started.
    #[must_use]
    pub fn verified(bytes: &[u8], key: &VerifyingKey, run: &RunId, started: u64) -> Option<Self> {
        if bytes.len() != BODY + 64 || bytes[1..17] != run[..] {
            return None;
        }
        let (body, signature) = bytes.split_at(BODY);
        let given = u64::from_le_bytes(body[17..].try_into().ok()?);
        let signature = Signature::from_bytes(signature.try_into().ok()?);
        key.verify_strict(&[DOMAIN, body].concat(), &signature).ok()?;
        (body[0] == 1 && given >= started).then_some(Self::Stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_project_orders_and_only_the_living() {
        let (key, run) = (SigningKey::from_bytes(&[1; 32]), [5; 16]);
        let bytes = Order::Stop.signed(&key, &run, 100);
        let read = |bytes: &[u8], key: &SigningKey, run, started| {
            Order::verified(bytes, &key.verifying_key(), run, started)
        };
        assert_eq!(read(&bytes, &key, &run, 90), Some(Order::Stop));
        assert_eq!(read(&bytes, &key, &run, 101), None);
        assert_eq!(read(&bytes, &key, &[6; 16], 90), None);
        assert_eq!(read(&bytes, &SigningKey::from_bytes(&[2; 32]), &run, 90), None);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped, &key, &run, 0), None, "bit {bit}");
        }
        assert_eq!(read(&bytes[1..], &key, &run, 0), None);
    }
}
