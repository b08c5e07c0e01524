//! An append-only file whose records are chained by hashes: none can be changed, left out or put between
//! others without breaking all that follow.
//!
//! ```text
//! number (8)  what is recorded  BLAKE3(hash before ‖ number ‖ what is recorded) (32)
//! ```
//!
//! All records of a file have the same length. A record that was cut short by a crash was never acted on,
//! because whatever follows from it waits until it is written; it is dropped when the file is opened again.
//! Records that are cut off at the end leave a good chain: who must notice that keeps the head elsewhere.

use std::{
    fs::{File, OpenOptions},
    io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};

const NUMBER_BYTES: usize = 8;
const HASH_BYTES: usize = 32;

/// The hash that stands for all records of a file.
pub type ChainHash = [u8; HASH_BYTES];

/// How long a chain is, and its last hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainHead {
    /// How many whole records there are.
    pub records: u64,
    /// The hash of the last one; zeros if there is none.
    pub hash: ChainHash,
}

/// A chain of records of so many bytes each, beside their number and hash.
#[derive(Debug)]
pub struct Chain<const CONTENT: usize> {
    file: File,
    path: PathBuf,
    head: ChainHead,
}

impl<const CONTENT: usize> Chain<CONTENT> {
    /// The bytes of a record.
    pub const RECORD_BYTES: usize = NUMBER_BYTES + CONTENT + HASH_BYTES;

    /// Opens or begins a file for its only writer, checks it, and shows every record.
    pub fn open(path: &Path, see: impl FnMut(&[u8; CONTENT])) -> Result<Self> {
        let failed = |error| Error::file("open", path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        if file.try_lock().is_err() {
            return Err(Error::InUse { path: path.display().to_string() });
        }
        let (head, _) = Self::check(&file, path, see)?;
        let length = head.records * Self::RECORD_BYTES as u64;
        file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok(Self { file, path: path.to_path_buf(), head })
    }

    /// Checks a file that another process may be writing, shows every record, and says how many bytes of
    /// a record that is not whole follow the last one.
    pub fn read(path: &Path, see: impl FnMut(&[u8; CONTENT])) -> Result<(ChainHead, usize)> {
        let file = File::open(path).map_err(|error| Error::file("open", path, &error))?;
        Self::check(&file, path, see)
    }

    fn check(
        file: &File,
        path: &Path,
        mut see: impl FnMut(&[u8; CONTENT]),
    ) -> Result<(ChainHead, usize)> {
        let (mut from, mut head) = (BufReader::new(file), ChainHead::default());
        let mut record = vec![0; Self::RECORD_BYTES];
        loop {
            let got = fill(&mut from, &mut record);
            let got = got.map_err(|error| Error::file("read", path, &error))?;
            if got < record.len() {
                return Ok((head, got));
            }
            let (body, hash) = record.split_at(NUMBER_BYTES + CONTENT);
            let number = &body[..NUMBER_BYTES];
            if number != head.records.to_le_bytes() || chained(&head.hash, body) != *hash {
                let found =
                    format!("its record {} does not follow from the ones before", head.records);
                return Err(Error::damaged(path, found));
            }
            see(body[NUMBER_BYTES..].try_into().expect("the rest is what is recorded"));
            let hash = hash.try_into().expect("the end is a hash");
            head = ChainHead { records: head.records + 1, hash };
        }
    }

    /// Adds a record; when this returns it survives the end of this process.
    pub fn append(&mut self, content: &[u8; CONTENT]) -> Result<()> {
        let mut record = Vec::with_capacity(Self::RECORD_BYTES);
        record.extend(self.head.records.to_le_bytes());
        record.extend(content);
        let hash = chained(&self.head.hash, &record);
        record.extend(hash);
        if let Err(error) = self.file.write_all(&record) {
            return Err(self.undone(&error));
        }
        self.head = ChainHead { records: self.head.records + 1, hash };
        Ok(())
    }

    /// Adds a record; when this returns it survives a loss of power.
    pub fn append_durably(&mut self, content: &[u8; CONTENT]) -> Result<()> {
        let before = self.head;
        self.append(content)?;
        if let Err(error) = self.file.sync_all() {
            self.head = before;
            return Err(self.undone(&error));
        }
        Ok(())
    }

    /// When this returns all records survive a loss of power.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::file("write", &self.path, &error))
    }

    /// How long it is.
    #[must_use]
    pub fn head(&self) -> ChainHead {
        self.head
    }

    /// The next record begins where the one that failed did.
    fn undone(&mut self, error: &std::io::Error) -> Error {
        let length = self.head.records * Self::RECORD_BYTES as u64;
        let _ = self.file.set_len(length).and_then(|()| self.file.seek(SeekFrom::End(0)));
        Error::file("write", &self.path, error)
    }
}

/// Reads until the room is full or the file ends; how much was read.
fn fill(from: &mut impl Read, room: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < room.len() {
        match from.read(&mut room[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn chained(head: &ChainHash, body: &[u8]) -> ChainHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(body);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    type Small = Chain<4>;

    fn written(path: &Path, count: u8) -> Small {
        let mut chain = Small::open(path, |_| ()).unwrap();
        for value in 0..count {
            chain.append(&[value; 4]).unwrap();
        }
        chain
    }

    #[test]
    fn records_are_shown_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain");
        let head = written(&path, 3).head();
        let mut seen = Vec::new();
        assert_eq!(Small::read(&path, |content| seen.push(content[0])).unwrap(), (head, 0));
        assert_eq!((head.records, seen), (3, vec![0, 1, 2]));
    }

    #[test]
    fn a_record_that_is_left_out_put_in_or_moved_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain");
        drop(written(&path, 4));
        let whole = fs::read(&path).unwrap();
        let parts: Vec<&[u8]> = whole.chunks(Small::RECORD_BYTES).collect();
        for (order, first) in
            [(&[0, 2, 3][..], 1), (&[0, 1, 1, 2], 2), (&[0, 2, 1, 3], 1), (&[1], 0)]
        {
            let changed: Vec<u8> = order.iter().flat_map(|&at| parts[at].to_vec()).collect();
            fs::write(&path, changed).unwrap();
            let error = Small::read(&path, |_| ()).unwrap_err().to_string();
            assert!(error.contains(&format!("its record {first} does not follow")), "{error}");
        }
    }

    #[test]
    fn one_process_writes_and_others_may_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain");
        let mut chain = written(&path, 2);
        assert!(matches!(Small::open(&path, |_| ()), Err(Error::InUse { .. })));
        chain.append_durably(&[9; 4]).unwrap();
        chain.sync().unwrap();
        assert_eq!(Small::read(&path, |_| ()).unwrap(), (chain.head(), 0));
        // As a reader sees it while it is being written.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
        let (head, torn) = Small::read(&path, |_| ()).unwrap();
        assert_eq!((head.records, torn), (2, Small::RECORD_BYTES - 5));
    }
}
