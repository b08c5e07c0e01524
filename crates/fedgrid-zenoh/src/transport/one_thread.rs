//! How Zenoh's threads must be set where links are over TLS.
//!
//! `zenoh-link-tls` 1.10 reads and writes one TLS stream from two tasks without a lock, and says that this is sound
//! because only one reads and only one writes. It is not: both change the same state of the TLS session. On two
//! threads at once that ends in an abort, most often when a neighbour falls and the link is being closed. On one
//! thread tasks take turns, and a turn ends only where the stream is at rest. So the runtimes that touch links are
//! one, with one thread, and nothing that waits for a link is done on it: frames and answers are sent from threads of
//! the outboxes. (The runtime `app` only waits for others, on the threads that ask.)

use crate::manifest::{LinkProtocol, Manifest};

/// The variable that Zenoh reads, once in a process, before its first session.
pub const RUNTIME_VARIABLE: &str = "ZENOH_RUNTIME";

/// Its value that puts all work on links on one thread.
pub const ONE_THREAD: &str =
    "(rx:(handover:net),tx:(handover:net),acc:(handover:net),net:(worker_threads:1))";

/// Whether links of this federation need it.
#[must_use]
pub fn needs_one_thread(manifest: &Manifest) -> bool {
    manifest.link == LinkProtocol::Tls
}

/// Whether this process has what its links need.
#[must_use]
pub fn has_one_thread() -> bool {
    std::env::var(RUNTIME_VARIABLE).is_ok_and(|value| value == ONE_THREAD)
}
