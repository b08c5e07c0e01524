//! Who a process is and whom it has met: durable before it acts on it.

use super::{Kind, Notice, Process, Slot, link::Met, process::Stage};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::Durable,
};

impl<P: Durable> Process<P> {
    pub(super) fn keep_identity(&mut self) {
        let mut to = Writer::default();
        to.word(self.epoch);
        to.count(self.links.len());
        for link in &self.links {
            let met = link.meeting.or(link.met).unwrap_or(Met { epoch: 0, nonce: 0 });
            to.words(&[link.peer as u64, met.epoch, met.nonce, link.floor]);
        }
        self.persist(Slot::Identity, to.into_bytes());
    }

    pub(super) fn read_identity(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new("the kept identity", bytes);
        self.epoch = from.word()?;
        if from.count()? != self.links.len() {
            return Err(from.refusal("is of another federation"));
        }
        for link in &mut self.links {
            if from.word()? != link.peer as u64 {
                return Err(from.refusal("is of another federation"));
            }
            let met = Met { epoch: from.word()?, nonce: from.word()? };
            link.met = (met.epoch > 0).then_some(met);
            link.forget(from.word()?);
        }
        from.finish()
    }

    pub(super) fn identity_kept(&mut self) {
        if self.kept.iter().any(|(_, slot)| *slot == Slot::Identity) {
            return;
        }
        let mut joined = Vec::new();
        for (place, link) in self.links.iter_mut().enumerate() {
            if let Some(met) = link.meeting.take() {
                link.met = Some(met);
                link.knows_us = false;
                link.refused = None;
                joined.push((place, link.peer, met.epoch));
            }
        }
        for (place, peer, epoch) in joined {
            self.notice(Notice::Joined { peer, epoch });
            self.say(place, Kind::Hello, self.round, Vec::new());
        }
        if self.stage == Stage::Booting {
            self.resume();
        }
    }

    /// Puts a newcomer aside until it is durable that it has been met.
    pub(super) fn meet(&mut self, link: usize, met: Met) {
        if self.links[link].meeting != Some(met) {
            self.links[link].meeting = Some(met);
            self.keep_identity();
        }
    }
}
