//! What was given away, for ever: an append-only list of counts, each bound to the one before.
//!
//! ```text
//! number  node  zero  round  answers so far  BLAKE3(hash before ‖ these)      64 bytes
//! ```
//!
//! A node that answers probes has a budget, and its state counts the distinct questions that it has
//! answered. The count is written here after that state and before an answer leaves, so a state that
//! counts less than the ledger is an old one. A record that was cut short by a crash was never acted
//! on and is dropped; any other change breaks the chain and is an error.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::{
    disk,
    error::{Error, Result},
};

const BODY: usize = 32;
const RECORD: usize = 2 * BODY;
const LIMIT: usize = 1 << 30;

/// The counts of a process's nodes.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: PathBuf,
    head: [u8; 32],
    records: u64,
    charged: BTreeMap<u32, u64>,
}

impl Ledger {
    /// Opens or begins the ledger in a file and checks its chain.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = if path.exists() { disk::read(path, LIMIT)? } else { Vec::new() };
        let failed = |error| Error::file("open", path, &error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        let whole = bytes.len() - bytes.len() % RECORD;
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        let path = path.to_path_buf();
        let mut ledger = Self { file, path, head: [0; 32], records: 0, charged: BTreeMap::new() };
        for record in bytes[..whole].chunks_exact(RECORD) {
            let (body, hash) = record.split_at(BODY);
            let (node, round, count) = read(body);
            if body != ledger.body(node, round, count) || chained(&ledger.head, body) != hash {
                let found =
                    format!("its record {} does not follow from the ones before", ledger.records);
                return Err(Error::damaged(&ledger.path, found));
            }
            ledger.take(node, count, hash.try_into().expect("32 bytes"));
        }
        Ok(ledger)
    }

    /// Writes down how much a node has answered so far, if that is more than was known; when this
    /// returns it survives a loss of power.
    pub fn charge(&mut self, node: u32, round: u64, count: u64) -> Result<()> {
        if count <= self.charged(node) {
            return Ok(());
        }
        let body = self.body(node, round, count);
        let hash = chained(&self.head, &body);
        let length = self.records * RECORD as u64;
        let record = [body, hash].concat();
        let written = self.file.write_all(&record).and_then(|()| self.file.sync_all());
        if let Err(error) = written {
            // The next record begins where this one did.
            let _ = self.file.set_len(length).and_then(|()| self.file.seek(SeekFrom::End(0)));
            return Err(Error::file("write", &self.path, &error));
        }
        self.take(node, count, hash);
        Ok(())
    }

    /// How many distinct questions a node has answered; it never falls.
    #[must_use]
    pub fn charged(&self, node: u32) -> u64 {
        self.charged.get(&node).copied().unwrap_or(0)
    }

    fn take(&mut self, node: u32, count: u64, hash: [u8; 32]) {
        let known = self.charged.entry(node).or_default();
        *known = count.max(*known);
        self.head = hash;
        self.records += 1;
    }

    fn body(&self, node: u32, round: u64, count: u64) -> [u8; BODY] {
        let mut body = [0; BODY];
        body[..8].copy_from_slice(&self.records.to_le_bytes());
        body[8..12].copy_from_slice(&node.to_le_bytes());
        body[16..24].copy_from_slice(&round.to_le_bytes());
        body[24..].copy_from_slice(&count.to_le_bytes());
        body
    }
}

/// Node, round and count of a record.
fn read(body: &[u8]) -> (u32, u64, u64) {
    let word =
        |place: usize| u64::from_le_bytes(body[place..place + 8].try_into().expect("eight bytes"));
    let node = u32::from_le_bytes(body[8..12].try_into().expect("four bytes"));
    (node, word(16), word(24))
}

fn chained(head: &[u8; 32], body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(body);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("ledger");
        let mut ledger = Ledger::open(&path).unwrap();
        for (round, count) in [(1, 3), (2, 4), (2, 3), (3, 5)] {
            ledger.charge(7, round, count).unwrap();
        }
        path
    }

    #[test]
    fn a_count_never_falls_and_is_never_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let mut ledger = Ledger::open(&path).unwrap();
        assert_eq!((ledger.records, ledger.charged(7), ledger.charged(8)), (3, 5, 0));
        ledger.charge(8, 4, 1).unwrap();
        assert_eq!(Ledger::open(&path).unwrap().charged(8), 1);
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = fs::read(&path).unwrap();
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            assert!(matches!(Ledger::open(&path), Err(Error::Damaged { .. })), "bit {bit}");
        }
    }

    #[test]
    fn a_torn_last_record_was_never_acted_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = fs::read(&path).unwrap();
        for length in 2 * RECORD..3 * RECORD {
            fs::write(&path, &whole[..length]).unwrap();
            let mut ledger = Ledger::open(&path).unwrap();
            assert_eq!(ledger.charged(7), 4);
            ledger.charge(7, 9, 6).unwrap();
            assert_eq!(Ledger::open(&path).unwrap().charged(7), 6);
        }
    }
}
