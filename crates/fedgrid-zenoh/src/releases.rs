//! What a node has released of its rows, for ever: a ledger of budgets, and the noised numbers, each drawn once.
//!
//! ```text
//! ledger     node (8)  rows (8)  μ (8)  δ (8)  run (8)        in a chain of 80 bytes each (see [`crate::chain`])
//! release    the noised numbers of some rows of a node, with the number of the record that paid for them
//! ```
//!
//! A release is paid for before its noise is drawn, and is kept before anything of it is sent: whoever dies in between has
//! paid for nothing, and never publishes twice for one price. The same rows at the same budget are answered from what is
//! kept, which costs nothing more. Releases of a node add up as μ² does, over all runs. How long the ledger is stands beside
//! it, too: one that was put back from a backup is shorter, and is refused.

use std::path::{Path, PathBuf};

use fedgrid::privacy::{Bits, Release, composed, epsilon_of};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{Chain, ChainHead},
    disk::{self, Access},
    error::{Error, Result},
    frame::RunId,
    identity::{Hex, random_bytes},
};

const CONTENT_BYTES: usize = 40;
/// The largest file of a release: of a thousand features in text.
const MOST_BYTES: usize = 1 << 26;
/// How many bytes of the system's are drawn at once.
const DRAWN_BYTES: usize = 4096;

/// A budget that was spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    /// μ of the release.
    pub mu: f64,
    /// The δ that its ε was of.
    pub delta: f64,
}

/// What a release is of.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// A hash of the rows, their bounds and what is private of them.
    pub rows: [u8; 32],
    /// How much is told of a row.
    pub mu: f64,
    /// The δ of the budget.
    pub delta: f64,
    /// How much may be told in all, over all runs.
    pub most_mu: f64,
    /// The run.
    pub run: RunId,
}

/// A release as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Which record has paid for it.
    record: u64,
    parts: Vec<Release>,
}

/// All releases of a node.
#[derive(Debug)]
pub struct Releases {
    /// What its files are called.
    name: String,
    chain: Chain<CONTENT_BYTES>,
    charges: Vec<Charge>,
    folder: PathBuf,
}

impl Releases {
    /// Opens or begins those of a node in a folder; refuses a ledger that is shorter than it was.
    pub fn of_node(folder: &Path, node: &str) -> Result<Self> {
        disk::make_private_folder(folder)?;
        let name = Hex(short(node)).to_string();
        let mut charges = Vec::new();
        let path = folder.join(format!("{name}.privacy"));
        let chain = Chain::open(&path, |content: &[u8; CONTENT_BYTES]| {
            charges.push(Charge {
                mu: f64::from_le_bytes(eight(content, 16)),
                delta: f64::from_le_bytes(eight(content, 24)),
            });
        })?;
        let releases = Self { name, chain, charges, folder: folder.to_path_buf() };
        releases.check_length()?;
        Ok(releases)
    }

    /// How much was told of a row, over all runs, as μ.
    #[must_use]
    pub fn spent(&self) -> f64 {
        composed(self.charges.iter().map(|charge| charge.mu))
    }

    /// How many releases were paid for.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.chain.head().records
    }

    /// What is kept of these rows at this budget; otherwise it is paid for, drawn with noise of the system's, and kept.
    pub fn release(
        &mut self,
        asked: &Asked,
        draw: impl FnOnce(&mut dyn Bits) -> Vec<Release>,
    ) -> Result<Vec<Release>> {
        let path = self.folder.join(format!("{}.release", file_name(asked)));
        if path.exists() {
            return self.kept(&path);
        }
        let total = composed([self.spent(), asked.mu]);
        // As much as rounding of a root.
        if total > asked.most_mu * (1.0 + 1e-12) {
            return Err(Error::Input(format!(
                "node '{}' has told ε = {:.3} of its rows in earlier runs (δ = {:e}), and this release would make it \
                 {:.3}, above the {:.3} that it may tell in all",
                asked.node,
                epsilon_of(self.spent(), asked.delta),
                asked.delta,
                epsilon_of(total, asked.delta),
                epsilon_of(asked.most_mu, asked.delta)
            )));
        }
        let record = self.charge(asked)?;
        let parts = draw(&mut SystemBits::new()?);
        let kept = Kept { record, parts };
        let text =
            serde_json::to_vec(&kept).map_err(|error| Error::damaged(&path, error.to_string()))?;
        disk::write(&path, &text, Access::Private)?;
        Ok(kept.parts)
    }

    /// Writes a budget down; when this returns it survives a loss of power.
    fn charge(&mut self, asked: &Asked) -> Result<u64> {
        let record = self.chain.head().records;
        let charge = Charge { mu: asked.mu, delta: asked.delta };
        let mut content = [0; CONTENT_BYTES];
        content[..8].copy_from_slice(&short(asked.node));
        content[8..16].copy_from_slice(&asked.rows[..8]);
        content[16..24].copy_from_slice(&asked.mu.to_le_bytes());
        content[24..32].copy_from_slice(&asked.delta.to_le_bytes());
        content[32..].copy_from_slice(&asked.run[..8]);
        self.chain.append_durably(&content)?;
        self.charges.push(charge);
        self.keep_length()?;
        Ok(record)
    }

    fn kept(&self, path: &Path) -> Result<Vec<Release>> {
        let bytes = disk::read(path, MOST_BYTES)?;
        let kept: Kept = serde_json::from_slice(&bytes)
            .map_err(|error| Error::damaged(path, error.to_string()))?;
        if kept.record >= self.chain.head().records {
            return Err(self.is_old(kept.record + 1));
        }
        Ok(kept.parts)
    }

    /// Where the length of the ledger is kept, too: beside the folder, so that a folder that is put back does not hold it.
    fn length_path(&self) -> PathBuf {
        let mut name = self.folder.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.length", self.name));
        self.folder.with_file_name(name)
    }

    fn keep_length(&self) -> Result<()> {
        let ChainHead { records, hash } = self.chain.head();
        let text = format!("{records} {}\n", Hex(hash));
        disk::write(&self.length_path(), text.as_bytes(), Access::Private)
    }

    fn check_length(&self) -> Result<()> {
        let path = self.length_path();
        if !path.exists() {
            return Ok(());
        }
        let text = disk::read_text(&path, 256)?;
        let damaged = || Error::damaged(&path, "expected a number and a hash");
        let (records, hash) = text.trim().split_once(' ').ok_or_else(damaged)?;
        let records: u64 = records.parse().map_err(|_| damaged())?;
        let hash = Hex::<32>::parse(hash).ok_or_else(damaged)?;
        let head = self.chain.head();
        // A process that died before it wrote the length has one record more.
        if head.records < records || head.records == records && head.hash != hash.0 {
            return Err(self.is_old(records));
        }
        Ok(())
    }

    fn is_old(&self, records: u64) -> Error {
        let path = self.folder.join(format!("{}.privacy", self.name));
        Error::damaged(
            &path,
            format!(
                "it has {} records where there were {records}: it is an old copy, and what was told since would be \
                 forgotten; restore the newest",
                self.chain.head().records
            ),
        )
    }
}

/// Bits that nobody can guess.
struct SystemBits {
    drawn: Vec<u8>,
}

impl SystemBits {
    fn new() -> Result<Self> {
        // Before the first number is noised, so that a system without randomness is refused and not a panic.
        Ok(Self { drawn: random_bytes::<DRAWN_BYTES>()?.to_vec() })
    }
}

impl Bits for SystemBits {
    fn next(&mut self) -> u64 {
        if self.drawn.len() < 8 {
            let more = random_bytes::<DRAWN_BYTES>();
            self.drawn.extend(more.expect("the system has given random bytes before"));
        }
        let at = self.drawn.len() - 8;
        let eight = self.drawn.split_off(at);
        u64::from_le_bytes(eight.try_into().expect("eight bytes"))
    }
}

/// A hash of rows.
#[must_use]
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// The file of a release: of these rows, at this budget.
fn file_name(asked: &Asked) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(asked.node.as_bytes()).update(&[0]).update(&asked.rows);
    hasher.update(&asked.mu.to_le_bytes());
    Hex(eight(hasher.finalize().as_bytes(), 0)).to_string()
}

fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    bytes[at..at + 8].try_into().expect("eight bytes")
}

/// A name of any length in eight bytes.
fn short(name: &str) -> [u8; 8] {
    eight(blake3::hash(name.as_bytes()).as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use fedgrid::{
        data::{Dataset, Features, Labels},
        privacy::{Mechanism, PrivateKind},
    };

    use super::*;

    fn rows(level: f64) -> Dataset {
        let features = Features::from_rows(&["x"], &[[0.1], [0.7], [-0.4]]).unwrap();
        Dataset::new(features, Labels::values(vec![level, 0.3, -0.2])).unwrap()
    }

    fn asked(node: &str, rows: u8, mu: f64, most_mu: f64) -> Asked<'_> {
        Asked { node, rows: [rows; 32], mu, delta: 1e-5, most_mu, run: [1; 16] }
    }

    fn drawn(mu: f64) -> impl FnOnce(&mut dyn Bits) -> Vec<Release> {
        let mechanism = Mechanism { kind: PrivateKind::Labels, mu, middle: 0.0 };
        move |bits| vec![mechanism.release(&rows(0.5), bits)]
    }

    fn text(parts: &[Release]) -> String {
        serde_json::to_string(parts).unwrap()
    }

    fn open(folder: &Path) -> Result<Releases> {
        Releases::of_node(folder, "a")
    }

    /// The ledger of the node, and where its length is kept.
    fn files(root: &Path) -> [PathBuf; 2] {
        let name = Hex(short("a"));
        [root.join(format!("ledgers/{name}.privacy")), root.join(format!("ledgers.{name}.length"))]
    }

    #[test]
    fn the_same_rows_are_released_once_and_other_budgets_add_up() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ledgers");
        let first = {
            let mut releases = open(&folder).unwrap();
            text(&releases.release(&asked("a", 1, 1.0, 9.0), drawn(1.0)).unwrap())
        };
        let mut releases = open(&folder).unwrap();
        // Bit for bit, in another process, and for nothing.
        let again = releases.release(&asked("a", 1, 1.0, 9.0), |_| unreachable!()).unwrap();
        assert_eq!((text(&again), releases.records()), (first.clone(), 1));
        let other = releases.release(&asked("a", 2, 2.0, 9.0), drawn(2.0)).unwrap();
        assert_ne!(text(&other), first);
        assert!((releases.spent() - 5.0_f64.sqrt()).abs() < 1e-12);
        assert!(Releases::of_node(&folder, "b").unwrap().spent() == 0.0);
        drop(releases);
        assert!((open(&folder).unwrap().spent() - 5.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_is_above_the_budget_of_all_runs_is_refused_and_costs_nothing() {
        let root = tempfile::tempdir().unwrap();
        let mut releases = open(&root.path().join("ledgers")).unwrap();
        releases.release(&asked("a", 1, 1.0, 1.2), drawn(1.0)).unwrap();
        let refused = releases.release(&asked("a", 2, 1.0, 1.2), |_| unreachable!()).unwrap_err();
        assert!(refused.to_string().contains("above the"), "{refused}");
        assert_eq!(releases.records(), 1);
    }

    #[test]
    fn whoever_dies_after_any_write_has_told_no_more_than_the_ledger_says() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ledgers");
        open(&folder).unwrap().release(&asked("a", 1, 1.0, 9.0), drawn(1.0)).unwrap();
        let [ledger, length] = files(root.path());
        let kept = folder.join(format!("{}.release", file_name(&asked("a", 1, 1.0, 9.0))));
        let whole = [&ledger, &length, &kept].map(|path| fs::read(path).unwrap());
        let restart = |bytes: usize, has_length: bool, has_release: bool| {
            fs::write(&ledger, &whole[0][..bytes]).unwrap();
            for (path, bytes, is_there) in
                [(&length, &whole[1], has_length), (&kept, &whole[2], has_release)]
            {
                if is_there {
                    fs::write(path, bytes).unwrap();
                } else {
                    let _ = fs::remove_file(path);
                }
            }
            let mut releases = open(&folder)?;
            releases.release(&asked("a", 1, 1.0, 9.0), drawn(1.0))?;
            Ok::<f64, Error>(releases.spent())
        };
        let full = whole[0].len();
        // Within the record: it was never acted on. A release that is drawn anew has its own price.
        for bytes in 0..full {
            assert!((restart(bytes, false, false).unwrap() - 1.0).abs() < 1e-12, "{bytes}");
        }
        // Behind the record, behind its length: paid for and never published.
        for has_length in [false, true] {
            let spent = restart(full, has_length, false).unwrap();
            assert!((spent - 2.0_f64.sqrt()).abs() < 1e-12, "{has_length}");
        }
        // Behind the release: nothing more.
        assert!((restart(full, true, true).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_old_copy_of_the_ledger_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ledgers");
        let [ledger, length] = files(root.path());
        let release = |rows: u8| {
            let mut releases = open(&folder)?;
            releases.release(&asked("a", rows, 1.0, 99.0), drawn(1.0)).map(|_| ())
        };
        release(1).unwrap();
        let backup = fs::read(&ledger).unwrap();
        release(2).unwrap();
        let newest = fs::read(&ledger).unwrap();
        for old in [&backup[..], &[]] {
            fs::write(&ledger, old).unwrap();
            let refused = release(3).unwrap_err().to_string();
            assert!(refused.contains("it is an old copy"), "{refused}");
        }
        // Also where the length was put back, too, by a release that the ledger does not know.
        fs::write(&ledger, &backup).unwrap();
        fs::remove_file(&length).unwrap();
        let refused = release(2).unwrap_err().to_string();
        assert!(refused.contains("it is an old copy"), "{refused}");
        fs::write(&ledger, &newest).unwrap();
        release(3).unwrap();
    }

    #[test]
    fn bits_of_the_system_are_no_constant() {
        let mut bits = SystemBits::new().unwrap();
        let drawn: std::collections::BTreeSet<u64> = (0..2000).map(|_| bits.next()).collect();
        assert_eq!(drawn.len(), 2000);
    }
}
