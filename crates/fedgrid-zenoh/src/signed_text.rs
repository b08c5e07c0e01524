//! Texts that are signed: a line with the kind and the signature, then the body.
//!
//! ```text
//! fedgrid-manifest 1 <Ed25519 signature of kind and body, in hexadecimal>
//! { … }
//! ```

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::identity::Hex;

/// A signed text of some kind.
#[must_use]
pub fn sign(kind: &str, body: &str, key: &SigningKey) -> String {
    let signature = key.sign(&signed(kind, body));
    format!("{kind} {}\n{body}\n", Hex(signature.to_bytes()))
}

/// The body of a text of this kind, whoever signed it.
#[must_use]
pub fn body<'a>(kind: &str, text: &'a str) -> Option<&'a str> {
    parts(kind, text).map(|(_, body)| body)
}

/// Whether this key signed a text of this kind.
#[must_use]
pub fn is_signed(kind: &str, text: &str, key: &VerifyingKey) -> bool {
    parts(kind, text).is_some_and(|(signature, body)| {
        key.verify_strict(&signed(kind, body), &Signature::from_bytes(&signature.0)).is_ok()
    })
}

fn parts<'a>(kind: &str, text: &'a str) -> Option<(Hex<64>, &'a str)> {
    let (head, body) = text.split_once('\n')?;
    let signature = head.strip_prefix(kind)?.strip_prefix(' ')?;
    Some((Hex::parse(signature)?, body.strip_suffix('\n').unwrap_or(body)))
}

fn signed(kind: &str, body: &str) -> Vec<u8> {
    [kind.as_bytes(), b"\0", blake3::hash(body.as_bytes()).as_bytes()].concat()
}
