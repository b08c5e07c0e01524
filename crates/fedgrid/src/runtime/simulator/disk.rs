//! A disk that can fail in the ways that disks do: two sides per slot, written in turn,
//!
//! ```text
//! side = sequence u64 | digest u64 | bytes
//! ```
//!
//! A write that is not durable when its process crashes is there, is not there, or is torn: the first part
//! new, the rest what was there before. The side of the larger sequence whose digest is right counts.

use std::collections::BTreeMap;

use crate::{bytes::digest, random::Stream, runtime::protocol::Slot};

/// The bytes of a sector, which disks write as a whole.
const SECTOR_BYTES: usize = 512;

/// The kept bytes of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    sides: BTreeMap<Slot, [Vec<u8>; 2]>,
    sequence: u64,
    /// Writes that are not durable yet, in order.
    pending: Vec<(u64, Slot, Vec<u8>)>,
    /// Whether writes are never made durable, which is reported all the same: an injected bug.
    forgets_to_sync: bool,
    /// Writes that were reported as durable though they are not.
    unsynced: Vec<(Slot, Vec<u8>)>,
    /// How many writes were torn.
    pub(super) torn: u64,
    /// How many writes on their way were lost.
    pub(super) lost: u64,
}

fn sealed(sequence: u64, bytes: &[u8]) -> Vec<u8> {
    let mut side = sequence.to_le_bytes().to_vec();
    side.extend_from_slice(&(digest(bytes) ^ sequence).to_le_bytes());
    side.extend_from_slice(bytes);
    side
}

fn opened(side: &[u8]) -> Option<(u64, &[u8])> {
    let (sequence, rest) = side.split_first_chunk::<8>()?;
    let (check, bytes) = rest.split_first_chunk::<8>()?;
    let sequence = u64::from_le_bytes(*sequence);
    (u64::from_le_bytes(*check) == digest(bytes) ^ sequence).then_some((sequence, bytes))
}

impl Disk {
    /// A disk with an injected bug: writes are reported as durable and are not.
    #[cfg(test)]
    pub(super) fn unsynced() -> Self {
        Self { forgets_to_sync: true, ..Self::default() }
    }

    /// What is kept in a slot.
    pub(super) fn read(&self, slot: Slot) -> Option<&[u8]> {
        let sides = self.sides.get(&slot)?.iter().filter_map(|side| opened(side));
        sides.max_by_key(|(sequence, _)| *sequence).map(|(_, bytes)| bytes)
    }

    /// A new process finds only what is durable.
    pub(super) fn begin(&mut self) {
        self.pending.clear();
        self.unsynced.clear();
    }

    /// The round of the kept state, which begins with its version and its round.
    pub(super) fn round(&self) -> u64 {
        let bytes = self.read(Slot::State).and_then(|state| state.get(1..9));
        bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// A write that is on its way.
    pub(super) fn write(&mut self, ticket: u64, slot: Slot, bytes: Vec<u8>) {
        self.pending.push((ticket, slot, bytes));
    }

    /// All writes up to this one are durable.
    pub(super) fn sync(&mut self, ticket: u64) {
        while self.pending.first().is_some_and(|(first, ..)| *first <= ticket) {
            let (_, slot, bytes) = self.pending.remove(0);
            if self.forgets_to_sync {
                self.unsynced.push((slot, bytes));
            } else {
                self.put(slot, &bytes, None);
            }
        }
    }

    /// What the process sees of the disk while it runs: what is not durable is in memory.
    pub(super) fn seen(&self, slot: Slot) -> Option<&[u8]> {
        let last = self.unsynced.iter().rev().find(|(of, _)| *of == slot);
        last.map(|(_, bytes)| bytes.as_slice()).or_else(|| self.read(slot))
    }

    /// Writes the older side; as a whole, or up to some byte.
    fn put(&mut self, slot: Slot, bytes: &[u8], up_to: Option<usize>) {
        self.sequence += 1;
        let sides = self.sides.entry(slot).or_default();
        let age = |side: &Vec<u8>| opened(side).map_or(0, |(sequence, _)| sequence);
        // The newer side stays whole while the older is written over.
        let older = usize::from(age(&sides[0]) > age(&sides[1]));
        let new = sealed(self.sequence, bytes);
        match up_to {
            None => sides[older] = new,
            Some(end) => {
                let mut torn = new[..end.min(new.len())].to_vec();
                torn.extend(sides[older].iter().skip(torn.len()));
                sides[older] = torn;
            }
        }
    }

    /// The process crashes: some of the writes on their way are done, the next one is torn with this
    /// probability or else lost, and those after it are lost.
    pub(super) fn crash(&mut self, torn: f64, stream: &mut Stream) {
        self.unsynced.clear();
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        // Writes reach the disk in order, so there is one border between done and lost.
        let done = stream.index(pending.len() + 1);
        for (index, (_, slot, bytes)) in pending.iter().enumerate() {
            if index < done && !self.forgets_to_sync {
                self.put(*slot, bytes, None);
            } else if index == done && stream.uniform() < torn {
                let end = SECTOR_BYTES * stream.index(1 + bytes.len() / SECTOR_BYTES)
                    + stream.index(SECTOR_BYTES);
                self.put(*slot, bytes, Some(end));
                self.torn += 1;
            } else {
                self.lost += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn after_a_crash_a_slot_holds_what_was_durable_or_a_write_that_was_on_its_way() {
        for seed in 0..500 {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Faults);
            let mut disk = Disk::default();
            let value = |round: usize| vec![u8::try_from(round).unwrap(); 700 + 13 * round];
            for round in 0..5 {
                disk.write(round as u64, Slot::State, value(round));
                disk.sync(round as u64);
            }
            disk.write(5, Slot::State, value(5));
            disk.crash(0.5, &mut stream);
            let kept = disk.read(Slot::State).unwrap();
            assert!(kept == value(4) || kept == value(5), "seed {seed}");
        }
    }

    #[test]
    fn the_write_that_a_crash_interrupts_is_torn_or_lost_as_often_as_said() {
        for (share, torn, lost) in [(0.0, false, true), (1.0, true, false), (0.5, true, true)] {
            let mut found = [0, 0];
            for seed in 0..200 {
                let mut disk = Disk::default();
                disk.write(0, Slot::State, vec![1; 700]);
                disk.crash(share, &mut Stream::new(seed, 0, 0, Purpose::Faults));
                let is_there = disk.read(Slot::State).is_some();
                assert!(disk.torn == 1 || is_there == (disk.lost == 0), "seed {seed}");
                found = [found[0] + disk.torn, found[1] + disk.lost];
            }
            assert_eq!(found.map(|count| count > 0), [torn, lost], "{share}: {found:?}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed_and_the_other_side_counts() {
        let mut disk = Disk::default();
        for round in 0..2 {
            disk.write(round, Slot::State, vec![7; 20 + usize::from(round == 1)]);
            disk.sync(round);
        }
        for bit in 0..8 * (16 + 21) {
            let mut flipped = disk.clone();
            let sides = flipped.sides.get_mut(&Slot::State).unwrap();
            let newer = sides.iter_mut().max_by_key(|side| side.len()).unwrap();
            newer[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(flipped.read(Slot::State).unwrap().len(), 20, "bit {bit}");
        }
    }
}
