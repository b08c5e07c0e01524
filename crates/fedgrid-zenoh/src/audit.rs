//! What a process has sent to whom, for ever: one record for every frame, chained by hashes.
//!
//! ```text
//!  0 version u8   1 kind u8   2 zero (2)   4 features, outputs, points: u32 each   16 seconds since 1970
//! 24 run (16)    40 round    48 epoch     56 bytes of the frame     64 bytes of its payload
//! 72 method (16) 88 receiver (64)        152 BLAKE3 of the payload (32)          in a chain of 224 bytes each
//! ```
//!
//! Numbers are little-endian. A record is written before its frame is handed to the transport, so it is there
//! whenever the process ends; before a state becomes durable, so are the records of all that was sent until then.
//! After a loss of power a process goes back to that state, and what it sends again is recorded again if its record
//! is gone. A frame that is sent once more, because it was lost on the way, is not recorded twice: the same
//! receiver, round, kind and payload are one record. The log holds no row and no payload.

use std::{collections::BTreeMap, path::Path};

use fedgrid::runtime::protocol::{Frame, FrameKind};

use crate::{
    chain::{Chain, ChainHash, ChainHead},
    error::{Error, Result},
    frame::RunId,
    manifest::{Manifest, SharedSizes},
};

const VERSION: u8 = 1;
const CONTENT_BYTES: usize = 184;
const METHOD_BYTES: usize = 16;
const RECEIVER_BYTES: usize = 64;
/// For how many rounds a frame that is sent again is known to be the same.
// More than lie between two checkpoints, after which a process that was killed sends its last rounds again.
const KNOWN_ROUNDS: u64 = 256;

/// A frame that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When, in seconds since 1970.
    pub time: u64,
    /// The run.
    pub run: RunId,
    /// The round.
    pub round: u64,
    /// How often the sender had started.
    pub epoch: u64,
    /// What it was about; none of a kind that this version does not know.
    pub kind: Option<FrameKind>,
    /// The method that the run is of.
    pub method: String,
    /// The sizes that messages have.
    pub shape: SharedSizes,
    /// To whom.
    pub receiver: String,
    /// The bytes of the frame.
    pub frame_bytes: u64,
    /// The bytes of its payload.
    pub payload_bytes: u64,
    /// The BLAKE3 hash of its payload.
    pub payload: ChainHash,
}

impl AuditEntry {
    fn to_content(&self) -> [u8; CONTENT_BYTES] {
        let SharedSizes { features, outputs, points } = self.shape;
        let mut content = Vec::with_capacity(CONTENT_BYTES);
        content.extend([VERSION, self.kind.map_or(0, |kind| kind as u8), 0, 0]);
        content.extend([features, outputs, points].iter().flat_map(|size| size.to_le_bytes()));
        content.extend(self.time.to_le_bytes());
        content.extend(self.run);
        for number in [self.round, self.epoch, self.frame_bytes, self.payload_bytes] {
            content.extend(number.to_le_bytes());
        }
        content.extend(field::<METHOD_BYTES>(&self.method));
        content.extend(field::<RECEIVER_BYTES>(&self.receiver));
        content.extend(self.payload);
        content.try_into().expect("the fields have the size of a record")
    }

    fn from_content(content: &[u8; CONTENT_BYTES]) -> Self {
        let size = |at: usize| u32::from_le_bytes(part(content, at));
        let word = |at: usize| u64::from_le_bytes(part(content, at));
        Self {
            time: word(16),
            run: part(content, 24),
            round: word(40),
            epoch: word(48),
            kind: FrameKind::from_mark(content[1]),
            method: text(&content[72..72 + METHOD_BYTES]),
            shape: SharedSizes { features: size(4), outputs: size(8), points: size(12) },
            receiver: text(&content[88..88 + RECEIVER_BYTES]),
            frame_bytes: word(56),
            payload_bytes: word(64),
            payload: part(content, 152),
        }
    }
}

/// Checks a log that an agent may be writing and shows every record; gives its head, and how many bytes of a
/// record that is not whole follow.
pub fn read(path: &Path, mut see: impl FnMut(AuditEntry)) -> Result<(ChainHead, usize)> {
    let mut other = None;
    let found = Chain::read(path, |content: &[u8; CONTENT_BYTES]| {
        other = other.or((content[0] != VERSION).then_some(content[0]));
        see(AuditEntry::from_content(content));
    })?;
    refuse_version(path, other)?;
    Ok(found)
}

/// A record of another version has other fields.
fn refuse_version(path: &Path, other: Option<u8>) -> Result<()> {
    let told = |version| {
        Error::damaged(
            path,
            format!("it has records of version {version}, this program reads version {VERSION}"),
        )
    };
    other.map_or(Ok(()), |version| Err(told(version)))
}

/// The log of a process, which it alone writes.
#[derive(Debug)]
pub struct AuditLog {
    chain: Chain<CONTENT_BYTES>,
    run: RunId,
    method: String,
    shape: SharedSizes,
    /// The payloads of late rounds, by receiver, round and kind.
    known: BTreeMap<(u32, u64, FrameKind), ChainHash>,
}

impl AuditLog {
    /// Opens or begins the log in a file, and checks it.
    pub fn open(path: &Path, manifest: &Manifest, method: &str) -> Result<Self> {
        let (mut known, mut other) = (BTreeMap::new(), None);
        let chain = Chain::open(path, |content: &[u8; CONTENT_BYTES]| {
            other = other.or((content[0] != VERSION).then_some(content[0]));
            let entry = AuditEntry::from_content(content);
            let to =
                manifest.processes.iter().position(|one| shortened(&one.name) == entry.receiver);
            if let (Some(to), Some(kind), true) = (to, entry.kind, entry.run == manifest.run.0) {
                let to = u32::try_from(to).unwrap_or(u32::MAX);
                keep(&mut known, (to, entry.round, kind), entry.payload);
            }
        })?;
        refuse_version(path, other)?;
        let (run, method, shape) = (manifest.run.0, method.to_string(), manifest.shape);
        Ok(Self { chain, run, method, shape, known })
    }

    /// Writes down a frame that is about to be sent to a process of this name, at this time.
    pub fn record(&mut self, frame: &Frame, bytes: usize, receiver: &str, now: u64) -> Result<()> {
        let payload = *blake3::hash(&frame.payload).as_bytes();
        let to = u32::try_from(frame.to).unwrap_or(u32::MAX);
        let which = (to, frame.round, frame.kind);
        if self.known.get(&which) == Some(&payload) {
            return Ok(());
        }
        let entry = AuditEntry {
            time: now,
            run: self.run,
            round: frame.round,
            epoch: frame.epoch,
            kind: Some(frame.kind),
            method: self.method.clone(),
            shape: self.shape,
            receiver: shortened(receiver),
            frame_bytes: bytes as u64,
            payload_bytes: frame.payload.len() as u64,
            payload,
        };
        self.chain.append(&entry.to_content())?;
        keep(&mut self.known, which, payload);
        Ok(())
    }

    /// When this returns all records survive a loss of power.
    pub fn sync(&mut self) -> Result<()> {
        self.chain.sync()
    }

    /// How many records there are, and the hash of the last.
    #[must_use]
    pub fn head(&self) -> ChainHead {
        self.chain.head()
    }
}

/// Remembers a payload, and forgets those to the same receiver of rounds long ago.
fn keep(
    known: &mut BTreeMap<(u32, u64, FrameKind), ChainHash>,
    which: (u32, u64, FrameKind),
    payload: ChainHash,
) {
    let (to, round, _) = which;
    known.insert(which, payload);
    let first = (to, 0, FrameKind::Hello);
    while let Some((&old, _)) = known.range(first..).next()
        && old.0 == to
        && old.1 + KNOWN_ROUNDS < round
    {
        known.remove(&old);
    }
}

/// A name as it fits a record; a long one ends with a part of its hash.
fn shortened(name: &str) -> String {
    if name.len() <= RECEIVER_BYTES {
        return name.into();
    }
    // Names of sites are plain letters, each of them one byte.
    let start = name.get(..RECEIVER_BYTES - 17).unwrap_or_default();
    format!("{start}~{}", &blake3::hash(name.as_bytes()).to_hex()[..16])
}

/// A text in so many bytes, with zeros after it.
fn field<const SIZE: usize>(text: &str) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let length = text.len().min(SIZE);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

fn text(field: &[u8]) -> String {
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..length]).into_owned()
}

fn part<const SIZE: usize>(content: &[u8], at: usize) -> [u8; SIZE] {
    content[at..at + SIZE].try_into().expect("the slice has the size of the field")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        identity::Hex,
        manifest::{LinkProtocol, NodeEntry, ProcessEntry},
    };

    fn manifest() -> Manifest {
        let process = |name: &str| ProcessEntry {
            name: name.into(),
            key: None,
            certificate: None,
            address: None,
            since: 0,
        };
        Manifest {
            project: "p".into(),
            run: Hex([7; 16]),
            number: 1,
            former: Vec::new(),
            experiment: Hex([1; 32]),
            public: Hex([2; 32]),
            link: LinkProtocol::Tcp,
            authority: None,
            router: None,
            shape: SharedSizes { features: 3, outputs: 1, points: 20 },
            checkpoint_every: 1,
            largest_number: 1e12,
            processes: vec![process("a"), process(&"b".repeat(90))],
            nodes: vec![NodeEntry { name: "n".into(), process: 0 }],
            edges: Vec::new(),
            left: Vec::new(),
            updated: None,
        }
    }

    fn frame(to: usize, round: u64, payload: &[u8]) -> Frame {
        Frame {
            kind: FrameKind::State,
            from: 0,
            to,
            epoch: 2,
            nonce: 1,
            known_epoch: 1,
            durable_round: 0,
            round,
            payload: payload.into(),
        }
    }

    fn entries(path: &Path) -> Vec<AuditEntry> {
        let mut all = Vec::new();
        read(path, |entry| all.push(entry)).unwrap();
        all
    }

    #[test]
    fn a_record_says_what_was_sent_to_whom() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = AuditLog::open(&path, &manifest(), "fedrelax").unwrap();
        log.record(&frame(1, 5, b"payload"), 171, &"b".repeat(90), 1_000).unwrap();
        let entry = entries(&path).remove(0);
        let expected = AuditEntry {
            time: 1_000,
            run: [7; 16],
            round: 5,
            epoch: 2,
            kind: Some(FrameKind::State),
            method: "fedrelax".into(),
            shape: SharedSizes { features: 3, outputs: 1, points: 20 },
            receiver: shortened(&"b".repeat(90)),
            frame_bytes: 171,
            payload_bytes: 7,
            payload: *blake3::hash(b"payload").as_bytes(),
        };
        assert_eq!(entry, expected);
        assert_eq!(entry.receiver.len(), RECEIVER_BYTES);
        assert_eq!(AuditEntry::from_content(&expected.to_content()), expected);
    }

    #[test]
    fn a_copy_is_not_recorded_again_also_after_a_start_and_another_payload_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = AuditLog::open(&path, &manifest(), "gtv").unwrap();
        for (to, payload) in [(0, b"x"), (0, b"x"), (1, b"x"), (0, b"y"), (0, b"y")] {
            log.record(&frame(to, 3, payload), 100, "a", 1).unwrap();
        }
        assert_eq!(log.head().records, 3);
        drop(log);
        let mut log = AuditLog::open(&path, &manifest(), "gtv").unwrap();
        log.record(&frame(0, 3, b"y"), 100, "a", 2).unwrap();
        assert_eq!(log.head().records, 3);
        // The same in another run is another record.
        drop(log);
        let other = Manifest { run: Hex([8; 16]), ..manifest() };
        let mut log = AuditLog::open(&path, &other, "gtv").unwrap();
        log.record(&frame(0, 3, b"y"), 100, "a", 2).unwrap();
        assert_eq!(log.head().records, 4);
    }

    #[test]
    fn what_is_remembered_of_a_long_run_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = AuditLog::open(&path, &manifest(), "gtv").unwrap();
        for round in 0..2_000 {
            log.record(&frame(0, round, &round.to_le_bytes()), 100, "a", 1).unwrap();
            log.record(&frame(1, round / 2, &round.to_le_bytes()), 100, "b", 1).unwrap();
        }
        assert_eq!(log.known.len() as u64, 2 * (KNOWN_ROUNDS + 1));
    }

    #[test]
    fn records_of_a_later_version_are_refused_rather_than_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut chain = Chain::open(&path, |_| ()).unwrap();
        let mut content = [0; CONTENT_BYTES];
        content[0] = VERSION + 1;
        chain.append(&content).unwrap();
        drop(chain);
        let expected = "records of version 2, this program reads version 1";
        let refused = read(&path, |_| ()).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        let refused = AuditLog::open(&path, &manifest(), "gtv").unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }

    #[test]
    fn a_changed_log_is_refused_and_a_torn_record_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = AuditLog::open(&path, &manifest(), "gtv").unwrap();
        for round in 1..4 {
            log.record(&frame(0, round, b"x"), 100, "a", 1).unwrap();
        }
        drop(log);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let mut log = AuditLog::open(&path, &manifest(), "gtv").unwrap();
        assert_eq!(log.head().records, 2);
        // Its frame was never sent, or will be sent again: it is recorded now.
        log.record(&frame(0, 3, b"x"), 100, "a", 1).unwrap();
        drop(log);
        assert_eq!(fs::read(&path).unwrap(), whole);
        let mut changed = whole.clone();
        changed[Chain::<CONTENT_BYTES>::RECORD_BYTES + 60] ^= 1;
        fs::write(&path, &changed).unwrap();
        let refused = AuditLog::open(&path, &manifest(), "gtv").unwrap_err();
        assert!(matches!(&refused, Error::Damaged { found, .. } if found.contains("record 1")));
    }
}
