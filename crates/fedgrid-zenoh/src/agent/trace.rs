//! The hash of every node's state after every round that is kept: two runs are the same if these are.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use fedgrid::{bytes::Writer, method::Durable, runtime::protocol::Process};

use crate::{
    error::{Error, Result},
    identity::Hex,
};

/// A file with one line per node and round: `round node hash`. A process that is started again
/// appends to it.
#[derive(Debug)]
pub(super) struct Trace {
    file: File,
    path: PathBuf,
    round: Option<u64>,
}

impl Trace {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| Error::file("open", path, &error))?;
        Ok(Self { file, path: path.to_path_buf(), round: None })
    }

    /// Writes the states of a round that was not written yet.
    pub(super) fn write<P: Durable>(&mut self, process: &Process<P>) -> Result<()> {
        let round = process.round();
        if self.round == Some(round) || round == 0 {
            return Ok(());
        }
        self.round = Some(round);
        let mut lines = String::new();
        for (node, participant) in process.participants() {
            lines.push_str(&format!("{round} {node} {}\n", Hex(state_hash(participant)?)));
        }
        // One write per round: a killed process leaves whole lines, or a last one that is cut.
        self.file
            .write_all(lines.as_bytes())
            .map_err(|error| Error::file("write", &self.path, &error))
    }
}

/// The hash of all that a participant has learnt.
pub fn state_hash<P: Durable>(participant: &P) -> Result<[u8; 16]> {
    let mut to = Writer::default();
    participant.snapshot(&mut to)?;
    let hash = blake3::hash(&to.into_bytes());
    Ok(hash.as_bytes()[..16].try_into().expect("a hash has more bytes"))
}
