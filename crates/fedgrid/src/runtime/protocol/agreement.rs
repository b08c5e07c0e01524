//! When to stop: sums travel up the tree of processes, the verdict of the root travels down.
//!
//! In synchronous rounds all wait for the verdict after every so many rounds, so that the run ends at
//! the same round everywhere. Sums are formed in the order of the tree: their last bits depend on the
//! split of the nodes into processes, those of the models do not.
//!
//! In asynchronous rounds processes are in different rounds, so their sums are of no one iterate: the
//! rule must hold for three looks in a row between which all have been heard anew.

use super::{Kind, Process, mutant::Mutant, process::Stage};
use crate::{
    bytes::Writer,
    method::Durable,
    runtime::sums::{Sums, is_reached, remember},
};

/// How many looks in a row must agree that an asynchronous run has converged.
const CALM: u64 = 3;

impl<P: Durable> Process<P> {
    pub(super) fn own_sums(&self) -> Sums {
        let reports: Vec<_> = self.hosted.iter().map(|own| own.participant.report()).collect();
        Sums::of(&reports, self.bytes)
    }

    /// Begins to gather the sums of a round.
    pub(super) fn gather(&mut self) {
        (self.stage, self.waited) = (Stage::Gathering, 0);
        self.try_gather();
    }

    /// The places of the children whose sums are missing.
    pub(super) fn missing_sums(&self) -> Vec<usize> {
        let is_missing = |place: &usize| {
            let link = &self.links[*place];
            self.seat.children.contains(&link.peer) && !link.sums.contains_key(&self.round)
        };
        (0..self.links.len()).filter(is_missing).collect()
    }

    /// Passes the sums on if all children have told theirs.
    pub(super) fn try_gather(&mut self) {
        if self.stage != Stage::Gathering || !self.missing_sums().is_empty() {
            return;
        }
        let mut total = self.own_sums();
        for link in &self.links {
            if let Some(sums) = link.sums.get(&self.round) {
                total.add(sums);
                if self.errs(Mutant::SumsTwice) && link.accepted.is_multiple_of(2) {
                    total.add(sums);
                }
            }
        }
        let parent = self.links.iter().position(|link| Some(link.peer) == self.seat.parent);
        let round = self.round;
        self.stage = Stage::Deciding;
        if let Some(parent) = parent {
            let mut to = Writer::default();
            total.write(&mut to);
            self.say_for_good(parent, Kind::Sums, round, to.into_bytes());
        } else {
            let converged = self.judge(&total);
            self.take_verdict(round, converged, &total);
        }
    }

    /// The verdict of the root.
    fn judge(&mut self, total: &Sums) -> bool {
        let round = usize::try_from(self.round).unwrap_or(usize::MAX);
        let record = total.round(round, self.alpha);
        let reached = is_reached(&self.settings.stop, self.stop_on, &record, &self.objectives);
        remember(record.objective, &mut self.objectives);
        reached
    }

    /// Takes a verdict and passes it on.
    pub(super) fn take_verdict(&mut self, round: u64, converged: bool, total: &Sums) {
        let is_awaited = self.stage == Stage::Deciding && round == self.round;
        let is_synchronous = self.settings.mode == super::Mode::Synchronous;
        if self.stage == Stage::Finished || (is_synchronous && !is_awaited) {
            return;
        }
        let number = usize::try_from(round).unwrap_or(usize::MAX);
        self.record = Some(total.round(number, self.alpha));
        let mut to = Writer::default();
        to.flag(converged);
        total.write(&mut to);
        let payload = to.into_bytes();
        for link in 0..self.links.len() {
            if self.seat.children.contains(&self.links[link].peer) {
                if !is_synchronous {
                    self.links[link].outbox.retain(|(_, kind), _| *kind != Kind::Verdict);
                }
                self.say_for_good(link, Kind::Verdict, round, payload.clone());
            }
        }
        if converged && self.stage == Stage::Keeping {
            self.ends = true;
        } else if converged {
            (self.converged, self.is_last) = (true, true);
            self.keep_state();
        } else if is_synchronous {
            self.begin_round();
        }
    }

    /// Passes the latest sums on in asynchronous rounds; the root judges them.
    pub(super) fn look_on(&mut self) {
        let latest = |child: &usize| {
            let link = self.links.iter().find(|link| link.peer == *child)?;
            link.sums.last_key_value().map(|(round, sums)| (*round, *sums))
        };
        let below: Option<Vec<(u64, Sums)>> = self.seat.children.iter().map(latest).collect();
        if let Some(below) = below {
            let mut total = self.own_sums();
            for (_, sums) in &below {
                total.add(sums);
            }
            let rounds: Vec<u64> = below.iter().map(|(round, _)| *round).collect();
            let is_new = rounds.iter().zip(&self.seen_sums).all(|(now, then)| now > then);
            let parent = self.links.iter().position(|link| Some(link.peer) == self.seat.parent);
            match parent {
                Some(parent) if is_new => {
                    let mut to = Writer::default();
                    total.write(&mut to);
                    self.links[parent].outbox.retain(|(_, kind), _| *kind != Kind::Sums);
                    let round = self.round;
                    self.say_for_good(parent, Kind::Sums, round, to.into_bytes());
                }
                None if is_new => {
                    self.calm = if self.judge(&total) { self.calm + 1 } else { 0 };
                    if self.calm >= CALM {
                        return self.take_verdict(self.round, true, &total);
                    }
                    let number = usize::try_from(self.round).unwrap_or(usize::MAX);
                    self.record = Some(total.round(number, self.alpha));
                }
                _ => {}
            }
            if is_new {
                self.seen_sums = rounds;
            }
        }
        self.begin_round();
    }
}
