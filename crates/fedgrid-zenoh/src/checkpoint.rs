//! State that outlives its process: two files with the same content, written one after the other.
//!
//! ```text
//! "fgslot01"  owner (32)  sequence  bytes of state  state  BLAKE3 (32) over all before
//! ```
//!
//! Each is written whole or not at all (see [`disk::write`]), so a crash leaves at least one, the old
//! or the new; and a file that is damaged later has an undamaged twin. Neighbours hold only what was
//! sent since the newest state, so an older one would be of no use to them. The owner is a hash of run,
//! process and shape: the state of another is refused. There is one such pair for who a process is and
//! whom it has met, one for what it has learnt, and one for the checks from which a run with other members can go on.

use std::path::{Path, PathBuf};

use fedgrid::runtime::protocol::Slot;

use crate::{
    disk::{self, Access, Lock},
    error::{Error, Result},
};

const MAGIC: [u8; 8] = *b"fgslot01";
const HEADER_BYTES: usize = 8 + 32 + 2 * 8;
const HASH_BYTES: usize = 32;
/// The largest state that is read.
// A gigabyte: a wrong file is refused before it fills the memory.
pub const LARGEST_STATE_BYTES: usize = 1 << 30;

/// Whose state it is.
pub type Owner = [u8; 32];

/// A state that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredState {
    /// Which write it was.
    pub sequence: u64,
    /// The state.
    pub state: Vec<u8>,
}

impl StoredState {
    /// The bytes of a file.
    #[must_use]
    pub fn to_bytes(&self, owner: &Owner) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.state.len() + HASH_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(owner);
        for number in [self.sequence, self.state.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&self.state);
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }

    /// Reads the bytes of a file; what is wrong with them otherwise.
    pub fn from_bytes(bytes: &[u8], owner: &Owner) -> Result<Self, &'static str> {
        if bytes.len() < HEADER_BYTES + HASH_BYTES {
            return Err("it ends too early");
        }
        let (body, hash) = bytes.split_at(bytes.len() - HASH_BYTES);
        // The hash comes first: no other field of a damaged file means anything.
        if blake3::hash(body).as_bytes() != hash {
            return Err("its hash is wrong");
        }
        if body[..8] != MAGIC {
            return Err("it is of another format");
        }
        if body[8..40] != owner[..] {
            return Err("it is the state of another run, process or shape");
        }
        let number = |index: usize| {
            let bytes = &body[40 + 8 * index..48 + 8 * index];
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        let state = body[HEADER_BYTES..].to_vec();
        if number(1) != state.len() as u64 {
            return Err("its length is wrong");
        }
        Ok(Self { sequence: number(0), state })
    }
}

/// Two files with the same content.
#[derive(Debug)]
struct Pair {
    paths: [PathBuf; 2],
    owner: Owner,
    next: u64,
}

impl Pair {
    /// The newest undamaged state, and what is wrong with damaged ones.
    fn open(
        folder: &Path,
        name: &str,
        owner: Owner,
    ) -> Result<(Self, Option<StoredState>, Vec<Error>)> {
        let paths = ["a", "b"].map(|turn| folder.join(format!("{name}-{turn}")));
        let (mut newest, mut damage): (Option<StoredState>, _) = (None, Vec::new());
        for path in &paths {
            if !path.exists() {
                continue;
            }
            let bytes = disk::read(path, LARGEST_STATE_BYTES)?;
            match StoredState::from_bytes(&bytes, &owner) {
                Ok(slot) if newest.as_ref().is_none_or(|best| best.sequence < slot.sequence) => {
                    newest = Some(slot);
                }
                Ok(_) => {}
                Err(found) => damage.push(Error::damaged(path, found)),
            }
        }
        let next = newest.as_ref().map_or(0, |slot| slot.sequence + 1);
        let pair = Self { paths, owner, next };
        // A crash between the two writes left one older file, and what follows from the newest is about
        // to be sent: from here on either must do.
        if let Some(slot) = &newest {
            let whole = slot.to_bytes(&owner);
            for path in &pair.paths {
                if disk::read(path, LARGEST_STATE_BYTES).ok().as_ref() != Some(&whole) {
                    disk::write(path, &whole, Access::Private)?;
                }
            }
        }
        Ok((pair, newest, damage))
    }

    fn write(&mut self, state: Vec<u8>) -> Result<()> {
        let slot = StoredState { sequence: self.next, state };
        let bytes = slot.to_bytes(&self.owner);
        self.next += 1;
        self.paths.iter().try_for_each(|path| disk::write(path, &bytes, Access::Private))
    }
}

/// The state of a process in its own folder.
#[derive(Debug)]
pub struct Store {
    identity: Pair,
    state: Pair,
    bases: Pair,
    /// What was found damaged, and not used.
    pub damage: Vec<Error>,
    _lock: Lock,
}

/// What was durable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredBytes {
    /// Who the process is and whom it has met.
    pub identity: Option<Vec<u8>>,
    /// What it has learnt.
    pub state: Option<Vec<u8>>,
    /// From where a run with other members can go on.
    pub bases: Option<Vec<u8>>,
}

impl Store {
    /// Claims a folder and reads what was durable in it.
    pub fn open(folder: &Path, owner: Owner) -> Result<(Self, StoredBytes)> {
        disk::make_private_folder(folder)?;
        let lock = Lock::of(folder)?;
        let (identity, who, mut damage) = Pair::open(folder, "identity", owner)?;
        let (state, what, more) = Pair::open(folder, "state", owner)?;
        let (bases, from, most) = Pair::open(folder, "bases", owner)?;
        let lost = [(&who, &damage), (&what, &more), (&from, &most)];
        // Starting anew would forget the epoch, and neighbours would refuse this process for good.
        if let Some((_, damage)) = lost.iter().find(|(slot, bad)| slot.is_none() && !bad.is_empty())
        {
            return Err(damage[0].clone());
        }
        damage.extend(more.into_iter().chain(most));
        let [identity_bytes, state_bytes, bases_bytes] =
            [who, what, from].map(|slot| slot.map(|slot| slot.state));
        let found =
            StoredBytes { identity: identity_bytes, state: state_bytes, bases: bases_bytes };
        Ok((Self { identity, state, bases, damage, _lock: lock }, found))
    }

    /// Makes bytes durable; when this returns it survives a loss of power.
    pub fn save(&mut self, slot: Slot, bytes: Vec<u8>) -> Result<()> {
        match slot {
            Slot::Identity => self.identity.write(bytes),
            Slot::State => self.state.write(bytes),
            Slot::Bases => self.bases.write(bytes),
        }
    }

    /// From where a run with other members can go on, as an earlier run has left it in its folder; none if it has not.
    pub fn bases_of(folder: &Path, owner: Owner) -> Result<Option<Vec<u8>>> {
        if !folder.exists() {
            return Ok(None);
        }
        // Nobody may be at work there while what it leaves is taken up.
        let _lock = Lock::of(folder)?;
        let (_, newest, damage) = Pair::open(folder, "bases", owner)?;
        match (newest, damage.into_iter().next()) {
            (None, Some(damage)) => Err(damage),
            (newest, _) => Ok(newest.map(|slot| slot.state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OWNER: Owner = [9; 32];

    fn saved(folder: &Path, states: &[u8]) {
        let (mut store, _) = Store::open(folder, OWNER).unwrap();
        for &state in states {
            store.save(Slot::State, vec![state; 30]).unwrap();
        }
    }

    fn state(folder: &Path) -> Vec<u8> {
        Store::open(folder, OWNER).unwrap().1.state.unwrap()
    }

    #[test]
    fn the_newest_of_each_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        for boot in 1..6_u8 {
            let (mut store, found) = Store::open(folder.path(), OWNER).unwrap();
            let last = (boot > 1).then(|| vec![boot - 1, 2]);
            let expected = StoredBytes { identity: last.clone(), state: last.clone(), bases: last };
            assert_eq!(found, expected);
            for round in 0..3_u8 {
                store.save(Slot::Identity, vec![boot, round]).unwrap();
                store.save(Slot::State, vec![boot, round]).unwrap();
                store.save(Slot::Bases, vec![boot, round]).unwrap();
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_detected_and_the_other_file_is_used() {
        let folder = tempfile::tempdir().unwrap();
        saved(folder.path(), &[4, 5]);
        let path = folder.path().join("state-a");
        let whole = fs::read(&path).unwrap();
        assert_eq!(StoredState::from_bytes(&whole, &OWNER).unwrap().state, [5; 30]);
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(StoredState::from_bytes(&flipped, &OWNER).is_err(), "bit {bit}");
            fs::write(&path, &flipped).unwrap();
            let (_, slot, damage) = Pair::open(folder.path(), "state", OWNER).unwrap();
            assert_eq!((slot.unwrap().state, damage.len()), (vec![5; 30], 1), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(StoredState::from_bytes(&whole[..length], &OWNER).is_err(), "length {length}");
        }
    }

    #[test]
    fn two_damaged_files_are_an_error_and_never_a_fresh_start() {
        let folder = tempfile::tempdir().unwrap();
        saved(folder.path(), &[1, 2]);
        for name in ["state-a", "state-b"] {
            fs::write(folder.path().join(name), b"torn").unwrap();
        }
        assert!(matches!(Store::open(folder.path(), OWNER), Err(Error::Damaged { .. })));
    }

    #[test]
    fn the_state_of_another_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        saved(folder.path(), &[1]);
        let error = Store::open(folder.path(), [8; 32]).unwrap_err();
        assert!(error.to_string().contains("another run"), "{error}");
    }

    #[test]
    fn a_crash_between_any_two_steps_of_a_write_leaves_the_old_state_or_the_new() {
        // The folder after each step of the second write: a part of any length, the first file
        // renamed, a part of the second.
        let new = StoredState { sequence: 1, state: vec![2; 30] }.to_bytes(&OWNER);
        for (length, name) in (0..=new.len()).flat_map(|length| [(length, "a"), (length, "b")]) {
            let folder = tempfile::tempdir().unwrap();
            saved(folder.path(), &[1]);
            let path = |name: &str| folder.path().join(format!("state-{name}"));
            if name == "b" {
                fs::write(path("a"), &new).unwrap();
            }
            fs::write(path(&format!("{name}.part")), &new[..length]).unwrap();
            assert_eq!(state(folder.path()), [if name == "b" { 2 } else { 1 }; 30]);
            saved(folder.path(), &[3]);
            assert_eq!(state(folder.path()), [3; 30]);
        }
    }
}
