//! Where a run can go on with other members: the states of a process at the last checks,
//!
//! ```text
//! base = change u64, round u64 | nodes: id, neighbours, snapshot         the two newest are kept
//! ```
//!
//! All processes wait for each other at a check, and a process keeps its base before it tells the sums of the check.
//! So whoever is beyond a check knows that all have kept a base of it, the bases of any two processes are at most one
//! check apart, and the newest base that all have is one that each still has. A process that is new since a change has
//! no base of runs before, and lacks none.

use std::sync::Arc;

use crate::{
    bytes::{Reader, Writer},
    error::Result,
    network::NodeId,
};

/// The version of the layout.
const VERSION: u8 = 1;

/// How many bases a process keeps: the one of the last check may be missing elsewhere, the one before is not.
const MOST_BASES: usize = 2;

/// Which base: of two the later change is newer, then the later round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct BasePlace {
    /// How often members had changed before.
    pub change: u64,
    /// After which round.
    pub round: u64,
}

impl BasePlace {
    /// Where the first members begin.
    pub const BEGINNING: Self = Self { change: 0, round: 0 };

    fn write(self, to: &mut Writer) {
        to.words(&[self.change, self.round]);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { change: from.word()?, round: from.word()? })
    }
}

/// A node at a base.
#[derive(Debug, Clone)]
pub(super) struct BaseNode {
    pub(super) id: NodeId,
    /// Its neighbours then, in order of their ids.
    pub(super) neighbours: Vec<NodeId>,
    pub(super) snapshot: Arc<[u8]>,
}

/// The hosted nodes after a round at which all waited for each other.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) place: BasePlace,
    pub(super) nodes: Vec<BaseNode>,
}

/// The bases that a process keeps, oldest first.
#[derive(Debug)]
pub(super) struct Bases {
    kept: Vec<Base>,
}

impl Bases {
    /// Those of a process that has done nothing yet; one that is new since a change was not there at the beginning.
    pub(super) fn new(is_new: bool) -> Self {
        let beginning = Base { place: BasePlace::BEGINNING, nodes: Vec::new() };
        Self { kept: if is_new { Vec::new() } else { vec![beginning] } }
    }

    pub(super) fn has(&self, place: BasePlace) -> bool {
        self.get(place).is_some()
    }

    pub(super) fn get(&self, place: BasePlace) -> Option<&Base> {
        self.kept.iter().find(|base| base.place == place)
    }

    pub(super) fn keep(&mut self, base: Base) {
        self.kept.push(base);
        if self.kept.len() > MOST_BASES {
            self.kept.remove(0);
        }
    }

    /// All go on from this one: later ones belong to rounds that are done again.
    pub(super) fn keep_only(&mut self, place: BasePlace) {
        self.kept.retain(|base| base.place == place);
    }

    /// What there is to choose from, before this round.
    pub(super) fn held(&self, since: u64, before: u64) -> Held {
        let places = self.kept.iter().map(|base| base.place);
        Held { places: places.filter(|place| place.round < before).collect(), since }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.mark(VERSION);
        to.count(self.kept.len());
        for Base { place, nodes } in &self.kept {
            place.write(&mut to);
            to.count(nodes.len());
            for node in nodes {
                to.count(node.id);
                to.count(node.neighbours.len());
                node.neighbours.iter().for_each(|&id| to.count(id));
                to.part(&node.snapshot);
            }
        }
        to.into_bytes()
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new("the kept bases", bytes);
        if from.mark()? != VERSION {
            return Err(from.refusal("are of another version"));
        }
        let count = from.count()?;
        if count > MOST_BASES {
            return Err(from.refusal("are more than are kept"));
        }
        let kept = (0..count).map(|_| read_base(&mut from)).collect::<Result<_>>()?;
        from.finish()?;
        Ok(Self { kept })
    }
}

fn read_base(from: &mut Reader<'_>) -> Result<Base> {
    let (place, count) = (BasePlace::read(from)?, from.count()?);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let (id, degree) = (from.count()?, from.count()?);
        let mut neighbours = Vec::new();
        for _ in 0..degree {
            neighbours.push(from.count()?);
        }
        nodes.push(BaseNode { id, neighbours, snapshot: from.part()?.into() });
    }
    Ok(Base { place, nodes })
}

/// The bases that every one of some processes has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    places: Vec<BasePlace>,
    /// All of the processes are new since this change, and lack no base before it.
    since: u64,
}

impl Held {
    fn has(&self, place: BasePlace) -> bool {
        place.change < self.since || self.places.contains(&place)
    }

    /// What all of these processes and of those have.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut places: Vec<BasePlace> = Vec::new();
        let of_own = self.places.iter().filter(|&&place| other.has(place));
        let of_other = other.places.iter().filter(|&&place| self.has(place));
        places.extend(of_own.chain(of_other));
        places.sort_unstable();
        places.dedup();
        Self { places, since: self.since.min(other.since) }
    }

    /// The newest; none if they have none in common.
    pub(super) fn newest(&self) -> Option<BasePlace> {
        let all_are_new = (self.since > 0).then_some(BasePlace::BEGINNING);
        self.places.iter().copied().max().or(all_are_new)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.word(self.since);
        to.count(self.places.len());
        self.places.iter().for_each(|place| place.write(&mut to));
        to.into_bytes()
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new("the bases of a neighbour", bytes);
        let (since, count) = (from.word()?, from.count()?);
        if count > MOST_BASES {
            return Err(from.refusal("are more than are kept"));
        }
        let places = (0..count).map(|_| BasePlace::read(&mut from)).collect::<Result<_>>()?;
        from.finish()?;
        Ok(Self { places, since })
    }
}

/// A base as the payload of the frame that says that it was chosen.
pub(super) fn choice_to_bytes(place: BasePlace) -> Vec<u8> {
    let mut to = Writer::default();
    place.write(&mut to);
    to.into_bytes()
}

/// Reads what [`choice_to_bytes`] wrote.
pub(super) fn read_choice(bytes: &[u8]) -> Result<BasePlace> {
    let mut from = Reader::new("a choice", bytes);
    let place = BasePlace::read(&mut from)?;
    from.finish()?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(change: u64, round: u64) -> BasePlace {
        BasePlace { change, round }
    }

    fn held(places: &[(u64, u64)], since: u64) -> Held {
        Held { places: places.iter().map(|&(change, round)| place(change, round)).collect(), since }
    }

    #[test]
    fn the_newest_base_that_all_have_is_chosen() {
        let (ahead, behind) = (held(&[(0, 20), (0, 30)], 0), held(&[(0, 10), (0, 20)], 0));
        assert_eq!(ahead.and(&behind).newest(), Some(place(0, 20)));
        // One who has gone on with the members of a change that others have not heard of comes back.
        let gone_on = held(&[(0, 20), (1, 20)], 0);
        assert_eq!(gone_on.and(&behind).newest(), Some(place(0, 20)));
        assert_eq!(held(&[(0, 40)], 0).and(&behind).newest(), None);
    }

    #[test]
    fn a_newcomer_lacks_no_base_of_a_time_before_it() {
        let newcomer = held(&[], 2);
        assert_eq!(newcomer.and(&held(&[(1, 30)], 0)).newest(), Some(place(1, 30)));
        assert_eq!(newcomer.and(&held(&[(1, 30), (2, 40)], 0)).newest(), Some(place(1, 30)));
        assert_eq!(held(&[(2, 40)], 2).and(&held(&[(2, 40)], 0)).newest(), Some(place(2, 40)));
        assert_eq!(newcomer.newest(), Some(BasePlace::BEGINNING));
    }

    #[test]
    fn bases_are_kept_two_at_a_time_and_come_back_as_bytes() {
        let mut bases = Bases::new(false);
        for round in [10, 20] {
            let node = BaseNode { id: 3, neighbours: vec![1, 7], snapshot: Arc::from([1, 2]) };
            bases.keep(Base { place: place(0, round), nodes: vec![node] });
        }
        let bytes = bases.to_bytes();
        let mut back = Bases::read(&bytes).unwrap();
        assert_eq!(back.held(0, 21), held(&[(0, 10), (0, 20)], 0));
        assert_eq!(back.held(0, 20), held(&[(0, 10)], 0));
        assert_eq!(back.get(place(0, 20)).unwrap().nodes[0].neighbours, [1, 7]);
        back.keep_only(place(0, 10));
        assert!(back.has(place(0, 10)) && !back.has(place(0, 20)));
        assert!(Bases::read(&bytes[..bytes.len() - 1]).is_err());
        let told = held(&[(0, 10), (1, 20)], 4);
        assert_eq!(Held::read(&told.to_bytes()).unwrap(), told);
        assert_eq!(read_choice(&choice_to_bytes(place(4, 7))).unwrap(), place(4, 7));
    }
}
