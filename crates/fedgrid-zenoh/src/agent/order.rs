//! What a project may order: to stop. An order is signed with the project's key,
//!
//! ```text
//! order u8 | seconds since 1970 u64 | Ed25519 signature
//! ```
//!
//! and holds for all of its processes that were started before it, of whatever run: one that is started
//! again goes on.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

// What is signed begins with this, so that no other signature of the project can pass for an order.
const DOMAIN: &[u8] = b"fedgrid order 2\0";
const BODY: usize = 1 + 8;

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorOrder {
    /// Keep the state and end; the process can be started again.
    Stop,
}

impl OperatorOrder {
    /// The signed order, given at this time.
    #[must_use]
    pub fn signed(self, key: &SigningKey, now: u64) -> Vec<u8> {
        let mut bytes = vec![match self {
            Self::Stop => 1,
        }];
        bytes.extend(now.to_le_bytes());
        let signature = key.sign(&[DOMAIN, &bytes].concat());
        bytes.extend(signature.to_bytes());
        bytes
    }

    /// The order in these bytes, if the project gave it after this process started.
    #[must_use]
    pub fn verified(bytes: &[u8], key: &VerifyingKey, started: u64) -> Option<Self> {
        if bytes.len() != BODY + 64 {
            return None;
        }
        let (body, signature) = bytes.split_at(BODY);
        let given = u64::from_le_bytes(body[1..].try_into().ok()?);
        let signature = Signature::from_bytes(signature.try_into().ok()?);
        key.verify_strict(&[DOMAIN, body].concat(), &signature).ok()?;
        // An order is not bound to a run: it would otherwise miss those who follow an older manifest.
        // A recorded order is of no use later, since it is older than the next start.
        (body[0] == 1 && given >= started).then_some(Self::Stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_project_orders_and_only_the_living() {
        let key = SigningKey::from_bytes(&[1; 32]);
        let bytes = OperatorOrder::Stop.signed(&key, 100);
        let read = |bytes: &[u8], key: &SigningKey, started| {
            OperatorOrder::verified(bytes, &key.verifying_key(), started)
        };
        assert_eq!(read(&bytes, &key, 90), Some(OperatorOrder::Stop));
        assert_eq!(read(&bytes, &key, 101), None);
        assert_eq!(read(&bytes, &SigningKey::from_bytes(&[2; 32]), 90), None);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped, &key, 0), None, "bit {bit}");
        }
        assert_eq!(read(&bytes[1..], &key, 0), None);
    }
}
