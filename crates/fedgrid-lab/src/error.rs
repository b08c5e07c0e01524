//! What is refused, and with which exit code a command ends.

use std::{io::ErrorKind, path::Path};

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
    /// What may pass by itself: no link, no space, a folder in use. A service tries again.
    #[error("{0}")]
    Later(String),
    /// All was done and written but for some parts, which the sentence counts.
    #[error("{0}")]
    InPart(String),
    /// The user stopped the run.
    #[error("interrupted; continue with --resume")]
    Interrupted,
    /// The user stopped the agent of a site.
    #[error("interrupted; the same command goes on")]
    Stopped,
}

impl Error {
    /// A sentence about wrong input; cells that it quotes may hold several lines.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::Input(sentence.into().lines().collect::<Vec<_>>().join(" "))
    }

    /// A failure to read or write a file.
    #[must_use]
    pub fn file(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let reason = reason(error, "there is no such file");
        Self::Input(format!("cannot {action} '{}': {reason}", path.display()))
    }

    /// A failure to make the folder of a run.
    #[must_use]
    pub fn folder(path: &Path, error: &std::io::Error) -> Self {
        let reason = reason(error, "no folder can be made there");
        let path = path.display();
        Self::Input(format!("cannot make '{path}': {reason}; give another folder with --out"))
    }

    /// The exit code: 1 for what was done in part, 2 for wrong input, 75 for what may pass by itself, 130 for an interruption.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::InPart(_) => 1,
            Self::Input(_) | Self::Core(_) => 2,
            // EX_TEMPFAIL of sysexits.h, which service managers take for "try again".
            Self::Later(_) => 75,
            Self::Interrupted | Self::Stopped => 130,
        }
    }
}

/// Why a file cannot be had, in words of our own where the system's are short of them.
fn reason(error: &std::io::Error, missing: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => missing.into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        ErrorKind::NotADirectory => "a part of its path is a file".into(),
        ErrorKind::InvalidData => "it is not a text file (UTF-8)".into(),
        _ => error.to_string(),
    }
}

impl From<fedgrid::Error> for Error {
    fn from(error: fedgrid::Error) -> Self {
        match error {
            // An interruption is no failure and has its own exit code.
            fedgrid::Error::Interrupted => Self::Interrupted,
            other => Self::Core(other),
        }
    }
}
