//! What the command refuses, and with which exit code.

use std::path::Path;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command ended without its result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's input cannot be used; the sentence says where and what would do.
    #[error("{0}")]
    Input(String),
    /// The mathematics refuses what it was given.
    #[error(transparent)]
    Core(fedgrid::Error),
    /// The user stopped the run.
    #[error("interrupted; continue with --resume")]
    Interrupted,
}

impl Error {
    /// A sentence about wrong input.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::Input(sentence.into())
    }

    /// A failure to read or write a file.
    #[must_use]
    pub fn file(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_string(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
            _ => error.to_string(),
        };
        Self::Input(format!("cannot {action} '{}': {reason}", path.display()))
    }

    /// The exit code: 2 for wrong input, 130 for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Core(_) => 2,
            Self::Interrupted => 130,
        }
    }
}

impl From<fedgrid::Error> for Error {
    fn from(error: fedgrid::Error) -> Self {
        match error {
            fedgrid::Error::Interrupted => Self::Interrupted,
            other => Self::Core(other),
        }
    }
}
