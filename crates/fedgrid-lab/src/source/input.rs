//! Bytes of a table, from a file, from standard input or from memory: unpacked, and as text in UTF-8 whatever they were.

use std::{
    fs::File,
    io::{self, Cursor, Read},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    error::{Error, Result},
    experiment::is_standard_input,
};

/// Where the bytes of a table are; it can be read again from the beginning.
pub(super) enum TableInput<'a> {
    File(&'a Path),
    Memory(Vec<u8>),
}

/// A stream of bytes.
pub(super) type ByteStream<'a> = Box<dyn Read + Send + 'a>;

impl<'a> TableInput<'a> {
    /// The file of a path; what comes from standard input is kept, because it comes once.
    pub(super) fn new(path: &'a Path) -> Result<Self> {
        if !is_standard_input(path) {
            return Ok(Self::File(path));
        }
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Error::input(format!("cannot read standard input: {error}")))?;
        Ok(Self::Memory(bytes))
    }

    /// The bytes from the beginning, and the hash of those that were read so far.
    pub(super) fn open(&self) -> Result<(ByteStream<'_>, SharedFingerprint)> {
        let hash = SharedFingerprint::default();
        let inner: ByteStream<'_> = match self {
            Self::File(path) => {
                let broken = |error| Error::file("read the table", path, &error);
                let file = File::open(path).map_err(broken)?;
                // Some systems open a folder like a file, and only refuse to read it.
                if file.metadata().is_ok_and(|about| about.is_dir()) {
                    return Err(broken(io::ErrorKind::IsADirectory.into()));
                }
                Box::new(file)
            }
            Self::Memory(bytes) => Box::new(Cursor::new(bytes)),
        };
        Ok((Box::new(Hashed { inner, hash: hash.clone() }), hash))
    }
}

/// Reads some bytes, fewer only at the end.
pub(super) fn head(stream: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(count);
    stream.take(count as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// A hash of bytes, eight at a time: there may be hundreds of millions.
#[derive(Debug, Default)]
struct Fingerprint {
    hash: u64,
    /// Bytes that are not yet eight.
    rest: Vec<u8>,
    count: u64,
}

impl Fingerprint {
    fn add(&mut self, mut bytes: &[u8]) {
        self.count += bytes.len() as u64;
        if !self.rest.is_empty() {
            let missing = (8 - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() < 8 {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            self.add_words(&rest);
        }
        let whole = bytes.len() - bytes.len() % 8;
        self.add_words(&bytes[..whole]);
        self.rest.extend_from_slice(&bytes[whole..]);
    }

    fn add_words(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<8>().0 {
            self.hash = mixed(self.hash, u64::from_le_bytes(*word));
        }
    }

    fn value(&self) -> u64 {
        // That the rest is shorter than eight bytes, the count tells.
        let rest = self.rest.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        mixed(mixed(self.hash, rest), self.count)
    }
}

fn mixed(hash: u64, word: u64) -> u64 {
    // The high half of a product depends on all bits, and comes to where the next word meets it.
    ((hash ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)).rotate_left(29)
}

/// The hash of a stream that another part reads.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedFingerprint(Arc<Mutex<Fingerprint>>);

impl SharedFingerprint {
    pub(super) fn value(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).value()
    }
}

struct Hashed<'a> {
    inner: ByteStream<'a>,
    hash: SharedFingerprint,
}

impl Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.0.lock().unwrap_or_else(PoisonError::into_inner).add(&buffer[..count]);
        Ok(count)
    }
}

/// How a stream is packed, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Its name; none if there is none.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// The stream unpacked.
    pub(super) fn unpacked(self, stream: ByteStream<'_>) -> io::Result<ByteStream<'_>> {
        Ok(match self {
            Self::None => stream,
            // Files that were packed one by one and put together are one file with several parts.
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
            Self::Zstd => Box::new(zstd::Decoder::new(stream)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_the_bytes_however_they_come() {
        let bytes: Vec<u8> = (0..1000_u32).map(|k| (k * k % 251) as u8).collect();
        let of_parts = |size: usize| {
            let mut hash = Fingerprint::default();
            bytes.chunks(size).for_each(|part| hash.add(part));
            hash.value()
        };
        let whole = of_parts(1000);
        for size in [1, 3, 7, 8, 9, 64, 999] {
            assert_eq!(of_parts(size), whole);
        }
        let hash = |bytes: &[u8]| {
            let mut hash = Fingerprint::default();
            hash.add(bytes);
            hash.value()
        };
        let mut all: Vec<u64> = (0..1000).map(|end| hash(&bytes[..end])).collect();
        for place in 0..1000 {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            all.push(hash(&changed));
        }
        all.extend([hash(&[0; 2]), hash(&[0; 8]), whole]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2003, "all are different");
    }
}
