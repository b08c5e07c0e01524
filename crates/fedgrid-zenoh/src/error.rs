//! What can go wrong in a federation, in sentences that tell an operator what to do.

use std::{io, path::Path};

use crate::frame::FrameRefusal;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refusal. The fields hold plain values: an error is a report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} '{path}': {reason}")]
    File { doing: &'static str, path: String, reason: String },

    /// The disk is full. What was written before is intact; the run goes on once there is space.
    #[error("cannot write '{path}': no space is left; free some and join again")]
    NoSpace { path: String },

    /// A file holds other bytes than were written.
    #[error("'{path}' is damaged: {found}")]
    Damaged { path: String, found: String },

    /// Another process works in the same folder.
    #[error("'{path}' is in use by another process")]
    InUse { path: String },

    /// A manifest that is not what the project signed, or not for this process.
    #[error("wrong manifest: {found}")]
    Manifest { found: String },

    /// A certificate that does not fit the manifest, or is out of date.
    #[error("wrong certificate: {found}")]
    Certificate { found: String },

    /// A key that does not fit the manifest.
    #[error("wrong key: {found}")]
    Key { found: String },

    /// Public points other than the manifest's.
    #[error("wrong public set: {found}")]
    PublicSet { found: String },

    /// Rows or messages of another shape than the manifest's.
    #[error("wrong shape: {found}")]
    SharedSizes { found: String },

    /// A neighbour that cannot be what the manifest says.
    #[error("neighbour '{name}': {found}")]
    Neighbour { name: String, found: String },

    /// A frame that is not accepted.
    #[error("frame refused: {0}")]
    Frame(#[from] FrameRefusal),

    /// A round with larger messages than a frame holds: it would be waited for without end.
    #[error(
        "the messages of a round to '{name}' take {bytes} bytes, more than the {cap} of a frame; make the \
         project with fewer public points, or with more processes"
    )]
    TooLarge { name: String, bytes: usize, cap: usize },

    /// The network of processes cannot be reached.
    #[error("cannot {doing}: {reason}")]
    Transport { doing: &'static str, reason: String },

    /// A restored old state: neighbours have seen a later one.
    #[error(
        "the state in '{path}' is older than what neighbours have seen (epoch {found}, they saw \
         {seen}); restore the newest state, or rotate the site's key"
    )]
    RolledBack { path: String, found: u64, seen: u64 },

    /// What was asked for does not fit the project.
    #[error("{0}")]
    Input(String),

    /// The method itself failed.
    #[error(transparent)]
    Method(#[from] fedgrid::Error),
}

impl Error {
    /// What an operation on a file gave.
    #[must_use]
    pub fn file(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        let path = path.display().to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::File { doing, path, reason: error.to_string() },
        }
    }

    /// A file whose bytes are not what was written.
    pub fn damaged(path: &Path, found: impl Into<String>) -> Self {
        Self::Damaged { path: path.display().to_string(), found: found.into() }
    }

    /// What Zenoh reports about a failure, without positions in its source.
    #[must_use]
    pub fn transport(doing: &'static str, text: &str) -> Self {
        Self::Transport { doing, reason: without_source_positions(text) }
    }
}

/// A message in which `said at /path/file.rs:388.` has become `said`.
fn without_source_positions(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let position = word.trim_end_matches(['.', ',', ')', ';']);
        let is_position =
            position.rsplit_once(".rs:").is_some_and(|(_, line)| line.parse::<u32>().is_ok());
        if !is_position {
            words.push(word);
        } else if words.last() == Some(&"at") {
            words.pop();
        }
    }
    words.join(" ").trim_end_matches([' ', '-', '.']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_source_files_are_cut_from_what_zenoh_says() {
        let text = "Can not listen on tcp/x:1: [] at /home/me/registry/zenoh/orchestrator.rs:388. - Caused \
                    by: Address in use at src/lib.rs:7.";
        let expected = "Can not listen on tcp/x:1: [] - Caused by: Address in use";
        assert_eq!(without_source_positions(text), expected);
        let plain = "Unable to connect to any of [tcp/a:1]!";
        assert_eq!(
            Error::transport("reach it", plain).to_string(),
            format!("cannot reach it: {plain}")
        );
    }
}
