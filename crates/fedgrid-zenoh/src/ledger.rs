//! What a node has given away, for ever: an append-only list of counts, each bound to the one before.
//!
//! ```text
//! run (8)  asker (8)  round  answers to it so far       in a chain of 72 bytes each (see [`crate::chain`])
//! ```
//!
//! A node that answers probes has a budget for each that asks, and its state counts the distinct
//! questions that it has answered in its run. The count is written here after that state and before an
//! answer leaves, so a state that counts less than the ledger is an old one. The ledger outlives its
//! run: what an asker was told in earlier runs, whoever started them, is part of its budget. A record
//! that was cut short by a crash was never acted on and is dropped; any other change breaks the chain
//! and is an error.

use std::{collections::BTreeMap, path::Path};

use crate::{chain::Chain, disk, error::Result, frame::RunId, identity::Hex};

const CONTENT_BYTES: usize = 32;

/// Run and asker of a count.
type Whose = ([u8; 8], [u8; 8]);

/// The counts of a node.
#[derive(Debug)]
pub struct Ledger {
    chain: Chain<CONTENT_BYTES>,
    run: [u8; 8],
    counts: BTreeMap<Whose, u64>,
}

impl Ledger {
    /// Opens or begins the ledger of a node, for a run, and checks its chain. A node is at work in one
    /// run at a time: two would spend one budget twice.
    pub fn of_node(folder: &Path, node: &str, run: &RunId) -> Result<Self> {
        disk::make_private_folder(folder)?;
        Self::open(&folder.join(Hex(short(node)).to_string()), run)
    }

    /// Opens or begins the ledger in a file.
    pub fn open(path: &Path, run: &RunId) -> Result<Self> {
        let mut counts = BTreeMap::new();
        let chain = Chain::open(path, |content: &[u8; CONTENT_BYTES]| {
            let eight = |index: usize| content[index..index + 8].try_into().expect("eight bytes");
            take(&mut counts, (eight(0), eight(8)), u64::from_le_bytes(eight(24)));
        })?;
        let run = run[..8].try_into().expect("a run has sixteen bytes");
        Ok(Self { chain, run, counts })
    }

    /// Writes down how many questions of an asker were answered in this run so far, if that is more
    /// than was known; when this returns it survives a loss of power.
    pub fn charge(&mut self, asker: &str, round: u64, count: u64) -> Result<()> {
        // A process that goes back to its checkpoint counts the same questions again.
        if count <= self.charged(asker) {
            return Ok(());
        }
        let whose = (self.run, short(asker));
        let mut content = [0; CONTENT_BYTES];
        content[..8].copy_from_slice(&whose.0);
        content[8..16].copy_from_slice(&whose.1);
        content[16..24].copy_from_slice(&round.to_le_bytes());
        content[24..].copy_from_slice(&count.to_le_bytes());
        self.chain.append_durably(&content)?;
        take(&mut self.counts, whose, count);
        Ok(())
    }

    /// How many distinct questions of an asker were answered in this run; it never falls.
    #[must_use]
    pub fn charged(&self, asker: &str) -> u64 {
        self.counts.get(&(self.run, short(asker))).copied().unwrap_or(0)
    }

    /// How many questions of all askers were answered in this run.
    #[must_use]
    pub fn charged_in_all(&self) -> u64 {
        self.counts.iter().filter(|((run, _), _)| *run == self.run).map(|(_, count)| count).sum()
    }

    /// How many questions of an asker were answered in other runs.
    #[must_use]
    pub fn earlier(&self, asker: &str) -> u64 {
        let asker = short(asker);
        let others = self.counts.iter().filter(|((run, who), _)| *who == asker && *run != self.run);
        others.map(|(_, count)| count).sum()
    }
}

fn take(counts: &mut BTreeMap<Whose, u64>, whose: Whose, count: u64) {
    let known = counts.entry(whose).or_default();
    *known = count.max(*known);
}

/// A name of any length in eight bytes.
fn short(name: &str) -> [u8; 8] {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes()[..8].try_into().expect("eight bytes")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;
    use crate::error::Error;

    const RECORD_BYTES: usize = Chain::<CONTENT_BYTES>::RECORD_BYTES;

    const RUN: RunId = [1; 16];
    const NEXT: RunId = [2; 16];

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("ledger");
        let mut ledger = Ledger::open(&path, &RUN).unwrap();
        for (round, count) in [(1, 3), (2, 4), (2, 3), (3, 5)] {
            ledger.charge("a", round, count).unwrap();
        }
        path
    }

    #[test]
    fn a_count_never_falls_and_is_never_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let mut ledger = Ledger::open(&path, &RUN).unwrap();
        assert_eq!(
            (ledger.chain.head().records, ledger.charged("a"), ledger.charged("b")),
            (3, 5, 0)
        );
        ledger.charge("b", 4, 1).unwrap();
        assert_eq!((ledger.charged_in_all(), ledger.earlier("a")), (6, 0));
        drop(ledger);
        assert_eq!(Ledger::open(&path, &RUN).unwrap().charged("b"), 1);
    }

    #[test]
    fn what_was_answered_in_one_run_counts_in_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let mut ledger = Ledger::open(&path, &NEXT).unwrap();
        assert_eq!((ledger.charged("a"), ledger.earlier("a"), ledger.earlier("b")), (0, 5, 0));
        ledger.charge("a", 1, 2).unwrap();
        drop(ledger);
        let third = Ledger::open(&path, &[3; 16]).unwrap();
        assert_eq!((third.earlier("a"), third.charged_in_all()), (7, 0));
        drop(third);
        let first = Ledger::open(&path, &RUN).unwrap();
        assert_eq!((first.charged("a"), first.earlier("a")), (5, 2));
    }

    #[test]
    fn a_node_is_at_work_in_one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::of_node(folder.path(), "ward 1", &RUN).unwrap();
        let second = Ledger::of_node(folder.path(), "ward 1", &NEXT);
        assert!(matches!(second, Err(Error::InUse { .. })));
        assert!(Ledger::of_node(folder.path(), "ward 2", &NEXT).is_ok());
        drop(first);
        assert!(Ledger::of_node(folder.path(), "ward 1", &NEXT).is_ok());
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
            assert!(matches!(Ledger::open(&path, &RUN), Err(Error::Damaged { .. })), "bit {bit}");
        }
    }

    #[test]
    fn a_torn_last_record_was_never_acted_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let whole = fs::read(&path).unwrap();
        for length in 2 * RECORD_BYTES..3 * RECORD_BYTES {
            fs::write(&path, &whole[..length]).unwrap();
            let mut ledger = Ledger::open(&path, &RUN).unwrap();
            assert_eq!(ledger.charged("a"), 4);
            ledger.charge("a", 9, 6).unwrap();
            drop(ledger);
            assert_eq!(Ledger::open(&path, &RUN).unwrap().charged("a"), 6);
        }
    }
}
