//! The rounds: all hosted nodes speak, their neighbours are heard, they learn, and what must be kept is
//! kept before the next words leave.

use rayon::prelude::*;

use super::{
    Action, Kind, Mode, Notice, Process, Reason, Slot,
    link::pack,
    mutant::Mutant,
    process::{Hosted, Road, Stage},
};
use crate::{
    bytes::{Writer, digest},
    error::Result,
    method::{Durable, Memory, Message},
};

/// From how many hosted nodes on they learn on all cores.
const MANY: usize = 16;

impl<P: Durable> Process<P> {
    fn is_synchronous(&self) -> bool {
        self.settings.mode == Mode::Synchronous
    }

    /// Lets the hosted nodes speak.
    pub(super) fn begin_round(&mut self) {
        if self.is_leaving {
            return self.say_goodbye();
        }
        (self.stage, self.waited) = (Stage::Exchanging, 0);
        if let Err(error) = self.speak() {
            return self.halt(Reason::Failed(error));
        }
        if self.is_synchronous() {
            self.catch_up();
            self.try_round();
        } else {
            self.deliver_here();
        }
    }

    /// Asks those who are further for what they have said before.
    fn catch_up(&mut self) {
        let next = self.round + 1;
        for link in 0..self.links.len() {
            let other = &self.links[link];
            if other.ahead > next && other.met.is_some() && !other.heard.contains_key(&next) {
                self.say(link, Kind::Ask, next, vec![Kind::State as u8]);
            }
        }
    }

    fn speak(&mut self) -> Result<()> {
        let send = |hosted: &mut Hosted<P>| hosted.participant.send();
        let outboxes: Vec<_> = if self.hosted.len() < MANY {
            self.hosted.iter_mut().map(send).collect()
        } else {
            self.hosted.par_iter_mut().map(send).collect()
        };
        let mut bundles: Vec<Vec<(u32, P::Message)>> = vec![Vec::new(); self.links.len()];
        self.bytes = 0;
        self.spoken.clear();
        for (hosted, outbox) in self.hosted.iter().zip(outboxes) {
            for (to, message) in outbox {
                let road = hosted.roads.binary_search_by_key(&to, |(id, _)| *id);
                let Ok(road) = road else { continue };
                self.bytes += message.bytes();
                match hosted.roads[road].1 {
                    Road::Here(place) => self.spoken.push((place, hosted.node, message)),
                    Road::There(link, edge) => bundles[link].push((edge, message)),
                }
            }
        }
        let round = self.round + 1;
        for (link, bundle) in bundles.into_iter().enumerate() {
            let payload = pack(bundle, self.settings.largest)?;
            if !self.is_synchronous() {
                // Only the latest word counts.
                self.links[link].outbox.retain(|(_, kind), _| *kind != Kind::State);
            }
            self.say_for_good(link, Kind::State, round, payload);
        }
        Ok(())
    }

    /// Hands on what was said between hosted nodes.
    fn deliver_here(&mut self) {
        for (place, from, message) in self.spoken.drain(..) {
            let inbox = &mut self.hosted[place].inbox;
            match inbox.binary_search_by_key(&from, |(id, _)| *id) {
                Ok(known) => inbox[known].1 = message,
                Err(new) => inbox.insert(new, (from, message)),
            }
        }
    }

    /// Ends a synchronous round if all neighbours have been heard.
    pub(super) fn try_round(&mut self) {
        let next = self.round + 1;
        let is_heard = self.links.iter().all(|link| link.heard.contains_key(&next));
        if self.stage != Stage::Exchanging || !is_heard {
            return;
        }
        self.hosted.iter_mut().for_each(|hosted| hosted.inbox.clear());
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        if self.errs(Mutant::ArrivalOrder) {
            order.sort_by_key(|&link| self.links[link].accepted);
        }
        for link in order {
            let said = self.links[link].heard.remove(&next).unwrap_or_default();
            self.spoken.extend(said);
        }
        for (place, from, message) in self.spoken.drain(..) {
            self.hosted[place].inbox.push((from, message));
        }
        if !self.errs(Mutant::ArrivalOrder) {
            self.hosted.iter_mut().for_each(|hosted| hosted.inbox.sort_by_key(|(from, _)| *from));
        }
        self.learn();
    }

    /// Lets the hosted nodes learn from their inboxes: the end of a round.
    fn learn(&mut self) {
        let receive = |hosted: &mut Hosted<P>| hosted.participant.receive(&hosted.inbox);
        let learnt = if self.hosted.len() < MANY {
            self.hosted.iter_mut().try_for_each(receive)
        } else {
            self.hosted.par_iter_mut().try_for_each(receive)
        };
        if let Err(error) = learnt {
            return self.halt(Reason::Failed(error));
        }
        self.round += 1;
        let round = self.round;
        if self.settings.digests {
            self.tell_digests();
        }
        if self.is_synchronous() {
            let oldest = round.saturating_sub(self.settings.keep + 2);
            self.links.iter_mut().for_each(|link| link.forget_before(oldest));
        }
        self.is_last = round >= self.settings.stop.rounds as u64;
        let is_due = round.is_multiple_of(self.settings.keep) || self.is_last || self.keeps_all();
        if is_due { self.keep_state() } else { self.after_round() }
    }

    fn tell_digests(&mut self) {
        let taken = self.hosted.iter().map(|hosted| {
            let mut to = Writer::default();
            hosted.participant.snapshot(&mut to)?;
            Ok((hosted.node, digest(&to.into_bytes())))
        });
        if let Ok(digests) = taken.collect::<Result<Vec<_>>>() {
            let round = self.round;
            self.notice(Notice::Learnt { round, digests });
        }
    }

    /// Whether every round must be kept.
    fn keeps_all(&self) -> bool {
        match self.memory {
            Memory::Replaceable => false,
            Memory::Conversation => !self.is_synchronous(),
            Memory::Ledger => true,
        }
    }

    /// Asks to keep the state as it is after the round.
    pub(super) fn keep_state(&mut self) {
        self.stage = Stage::Keeping;
        match self.write_state() {
            Ok(bytes) => self.persist(Slot::State, bytes),
            Err(error) => return self.halt(Reason::Failed(error)),
        }
        if self.errs(Mutant::EarlyFloor) {
            self.floor = self.round;
        }
        if self.errs(Mutant::SpeakBeforeKept) {
            self.state_kept();
        }
    }

    pub(super) fn state_kept(&mut self) {
        if self.stage != Stage::Keeping {
            return;
        }
        self.stage = Stage::Exchanging;
        self.floor = self.floor.max(self.round);
        if self.errs(Mutant::EarlyForgetting) {
            let floor = self.round;
            self.links.iter_mut().for_each(|link| link.outbox.retain(|key, _| key.0 > floor));
        }
        if self.is_last {
            self.finish();
        } else if self.ends {
            (self.converged, self.is_last) = (true, true);
            self.keep_state();
        } else {
            self.after_round();
        }
    }

    /// Looks whether to stop, where that is due; else the next round begins.
    pub(super) fn after_round(&mut self) {
        let look = self.settings.look;
        let is_due = look > 0 && self.round.is_multiple_of(look);
        if self.errs(Mutant::StopAlone) && is_due {
            let record = self.own_record();
            if record.residual <= self.settings.stop.tolerance {
                (self.converged, self.is_last) = (true, true);
                return self.keep_state();
            }
        }
        match (is_due, self.is_synchronous()) {
            (true, true) => self.gather(),
            (true, false) => self.look_on(),
            (false, _) => self.begin_round(),
        }
    }

    /// Training has ended here, and that is durable.
    pub(super) fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.floor = u64::MAX;
        let (round, converged) = (self.round, self.converged);
        self.actions.push(Action::Finished { round, converged });
        // The last word is that of the last state.
        if !self.is_synchronous()
            && let Err(error) = self.speak()
        {
            return self.halt(Reason::Failed(error));
        }
        (0..self.links.len()).for_each(|link| self.say(link, Kind::Done, round, vec![1]));
        self.settle();
    }

    /// Whether no one will need anything any more.
    pub(super) fn settle(&mut self) {
        let is_over = self.links.iter().all(|link| link.has_finished);
        if self.stage == Stage::Finished && is_over && !self.is_settled {
            self.is_settled = true;
            self.actions.push(Action::Settled);
        }
    }

    /// Some time has passed.
    pub(super) fn tick(&mut self) {
        if matches!(self.stage, Stage::New | Stage::Booting) {
            return;
        }
        for link in 0..self.links.len() {
            if !self.links[link].knows_us {
                self.say(link, Kind::Hello, self.round, Vec::new());
            }
        }
        match self.stage {
            Stage::Exchanging if self.is_synchronous() => {
                let next = self.round + 1;
                let missing = |place: &usize| !self.links[*place].heard.contains_key(&next);
                let missing = (0..self.links.len()).filter(missing).collect();
                self.ask(missing, next, Kind::State);
            }
            Stage::Exchanging => self.tick_on(),
            Stage::Gathering => {
                let missing = self.missing_sums();
                self.ask(missing, self.round, Kind::Sums);
            }
            Stage::Deciding => {
                let parent = self.links.iter().position(|link| Some(link.peer) == self.seat.parent);
                self.ask(parent.into_iter().collect(), self.round, Kind::Verdict);
            }
            Stage::Finished => self.help_others(),
            _ => {}
        }
    }

    /// Asks neighbours for what is missing, and names them when that has taken long.
    fn ask(&mut self, missing: Vec<usize>, round: u64, kind: Kind) {
        self.waited += 1;
        let is_long = self.waited.is_multiple_of(self.settings.patience.max(1));
        if is_long && !missing.is_empty() {
            let on = missing.iter().map(|&link| self.links[link].peer).collect();
            self.notice(Notice::Waiting { round, on });
        }
        for link in missing {
            // Whoever has not been met yet is greeted first.
            if self.links[link].met.is_some() {
                self.say(link, Kind::Ask, round, vec![kind as u8]);
            }
        }
    }

    /// An asynchronous round, unless a neighbour's word is too old.
    fn tick_on(&mut self) {
        let Mode::Asynchronous { staleness } = self.settings.mode else { return };
        let is_stale = |place: &usize| {
            let link = &self.links[*place];
            let is_old = staleness.is_some_and(|limit| link.age >= limit) && !link.has_finished;
            link.is_expected() && (link.latest.is_none() || is_old)
        };
        let missing: Vec<usize> = (0..self.links.len()).filter(is_stale).collect();
        if !missing.is_empty() {
            return self.ask(missing, self.round, Kind::State);
        }
        self.links.iter_mut().for_each(|link| link.age += 1);
        self.learn();
    }

    /// Says again what those who have not finished may be missing.
    fn help_others(&mut self) {
        let open: Vec<usize> =
            (0..self.links.len()).filter(|&link| !self.links[link].has_finished).collect();
        for link in open {
            if !self.is_synchronous() {
                self.answer_latest(link);
            }
            self.say(link, Kind::Done, self.round, vec![1]);
        }
    }

    fn answer_latest(&mut self, link: usize) {
        let said: Vec<_> = self.links[link].outbox.keys().copied().collect();
        for (round, kind) in said {
            self.say_again(link, round, kind);
        }
    }
}
