//! The digest of every node's state after every round: two runs are the same if these are.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use fedgrid::network::NodeId;

use crate::error::{Error, Result};

/// A file with one line per node and round: `round node digest`. A process that is started again
/// appends to it.
#[derive(Debug)]
pub(super) struct Trace {
    file: File,
    path: PathBuf,
}

impl Trace {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| Error::file("open", path, &error))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Writes the digests of a round, at once: a killed process leaves whole lines, or a last one that
    /// is cut.
    pub(super) fn write(&mut self, round: u64, digests: &[(NodeId, u64)]) -> Result<()> {
        let mut lines = String::new();
        for (node, digest) in digests {
            let _ = writeln!(lines, "{round} {node} {digest:016x}");
        }
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| Error::file("write", &self.path, &error))
    }
}
