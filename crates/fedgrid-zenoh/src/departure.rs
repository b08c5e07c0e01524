//! A site that leaves by itself: what it says is signed with its own key, so that the project need not be asked.
//!
//! ```text
//! fedgrid-leave 1 <Ed25519 signature of what follows, in hexadecimal>
//! { project, authority, process, time }
//! ```
//!
//! It follows the manifest in the same text, and holds for as long as the manifest names the key that signed it. All who
//! have the same manifest and the same departures take the same members out in the same order, and so have the same run.

use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::{identity::Hex, signed_text};

const KIND: &str = "fedgrid-leave 1";

/// What a site says that leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Departure {
    /// The name of the project.
    pub project: String,
    /// The hash of the certificate of its authority, if it has one.
    pub authority: Option<Hex<32>>,
    /// The name of the process that leaves.
    pub process: String,
    /// When, in seconds since 1970: of several the first counts first.
    pub time: u64,
}

impl Departure {
    /// The signed text.
    #[must_use]
    pub fn signed(&self, key: &SigningKey) -> String {
        let body = serde_json::to_string(self).expect("a departure is plain values");
        signed_text::sign(KIND, &body, key)
    }

    /// What a text says, whoever has signed it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(signed_text::body(KIND, text)?).ok()
    }

    /// Whether this key has signed a text.
    #[must_use]
    pub fn is_signed(text: &str, key: &VerifyingKey) -> bool {
        signed_text::is_signed(KIND, text, key)
    }
}

/// The run of those who are left once a process has left a run.
#[must_use]
pub fn run_without(run: &Hex<16>, process: u32) -> Hex<16> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"fedgrid leave").update(&run.0).update(&process.to_le_bytes());
    let mut next = [0; 16];
    next.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Hex(next)
}

/// The signed parts of a text: a manifest, and departures after it. Each is two lines.
#[must_use]
pub fn parts_of(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(2).map(|part| format!("{}\n", part.join("\n"))).collect()
}
