//! What a process does with a frame: first who sent it, then what it says.

use super::{
    Frame, Kind, Mode, Notice, Process, Reason, link::Met, mutant::Mutant, process::Stage,
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Durable, Memory},
    runtime::sums::Sums,
};

impl<P: Durable> Process<P> {
    /// Hears a frame.
    pub(super) fn hear(&mut self, frame: Frame) {
        let Some(link) = self.links.iter().position(|link| link.peer == frame.from) else {
            let peer = frame.from;
            return self.notice(Notice::Rejected { peer, reason: Reason::Stranger });
        };
        if frame.to != self.seat.process || matches!(self.stage, Stage::New | Stage::Booting) {
            return;
        }
        if !self.is_admitted(link, &frame) {
            return;
        }
        let own = &mut self.links[link];
        own.accepted += 1;
        (own.is_lost, own.has_left) = (false, false);
        let knew_us = own.knows_us;
        own.knows_us |= frame.known == self.epoch;
        if matches!(frame.kind, Kind::State | Kind::Hello | Kind::Done) {
            own.ahead = own.ahead.max(frame.round);
        }
        own.forget(frame.floor);
        if own.knows_us && !knew_us {
            let waiting: Vec<_> = own.outbox.keys().copied().collect();
            let latest = waiting.iter().filter(|(round, _)| *round > self.round).copied();
            for (round, kind) in latest.collect::<Vec<_>>() {
                self.say_again(link, round, kind);
            }
        }
        if let Err(error) = self.listen(link, frame) {
            let (peer, reason) = (self.links[link].peer, Reason::Malformed(error));
            self.notice(Notice::Rejected { peer, reason });
        }
        self.settle();
    }

    /// Whether the sender is who it was when it was met. Newcomers are met first.
    fn is_admitted(&mut self, link: usize, frame: &Frame) -> bool {
        let (met, own) = (self.links[link].met, &self.links[link]);
        let known = met.unwrap_or(Met { epoch: 0, nonce: frame.nonce });
        let reason = if frame.epoch < known.epoch && !self.errs(Mutant::OldEpochs) {
            Reason::OldEpoch { newer: known.epoch }
        } else if frame.epoch == known.epoch
            && frame.nonce != known.nonce
            && !self.errs(Mutant::Copies)
        {
            Reason::Copy
        } else if frame.epoch > known.epoch {
            let newcomer = Met { epoch: frame.epoch, nonce: frame.nonce };
            let is_old = frame.floor < own.floor || own.barred == Some(newcomer);
            if !is_old || self.errs(Mutant::Rollbacks) {
                self.meet(link, newcomer);
                return false;
            }
            let kept = own.floor;
            let own = &mut self.links[link];
            own.barred = Some(newcomer);
            // It may be about to be met, since less was known when it came.
            own.meeting = own.meeting.filter(|meeting| *meeting != newcomer);
            Reason::Rollback { found: frame.floor, kept }
        } else {
            return true;
        };
        // What is refused is not refused in return, or two would never stop.
        if frame.kind != Kind::Refusal {
            let mut why = Writer::default();
            let (mark, numbers) = match reason {
                Reason::OldEpoch { newer } => (1, [newer, 0]),
                Reason::Rollback { found, kept } => (3, [found, kept]),
                _ => (2, [0, 0]),
            };
            why.mark(mark);
            why.words(&[frame.epoch, frame.nonce, numbers[0], numbers[1]]);
            self.say(link, Kind::Refusal, self.round, why.into_bytes());
        }
        let peer = self.links[link].peer;
        self.notice(Notice::Rejected { peer, reason });
        false
    }

    fn listen(&mut self, link: usize, frame: Frame) -> Result<()> {
        let Frame { kind, round, payload, known, .. } = frame;
        match kind {
            Kind::Hello => {
                if known != self.epoch {
                    self.say(link, Kind::Hello, self.round, Vec::new());
                }
            }
            Kind::State if self.settings.mode == Mode::Synchronous => {
                self.hear_state(link, round, &payload)?;
            }
            Kind::State => self.hear_latest(link, round, &payload)?,
            Kind::Sums => self.hear_sums(link, round, &payload)?,
            Kind::Verdict => self.hear_verdict(link, round, &payload)?,
            Kind::Ask => {
                let mut from = Reader::new("a request", &payload);
                let asked = Kind::from_mark(from.mark()?);
                from.finish()?;
                if let Some(asked) = asked {
                    self.answer(link, round, asked);
                }
            }
            Kind::Refusal => self.hear_refusal(link, &payload)?,
            Kind::Leave => {
                self.links[link].has_left = true;
                let peer = self.links[link].peer;
                self.notice(Notice::Left { peer });
            }
            Kind::Done => {
                self.links[link].has_finished = true;
                if self.stage == Stage::Finished && payload == [1] {
                    self.say(link, Kind::Done, self.round, vec![0]);
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, link: usize, round: u64, asked: Kind) {
        let is_latest = self.settings.mode != Mode::Synchronous && asked == Kind::State;
        let newest =
            self.links[link].outbox.keys().rfind(|(_, kind)| *kind == Kind::State).copied();
        let round = if is_latest { newest.map_or(round, |(round, _)| round) } else { round };
        self.say_again(link, round, asked);
        if self.stage == Stage::Finished {
            self.say(link, Kind::Done, self.round, vec![0]);
        }
    }

    /// The bundle of a round, in synchronous rounds.
    fn hear_state(&mut self, link: usize, round: u64, payload: &[u8]) -> Result<()> {
        let is_next = round == self.round + 1 || round == self.round + 2;
        let round = if self.errs(Mutant::AnyRound) { self.round + 1 } else { round };
        if round > self.round + 2 || self.stage == Stage::Finished {
            return Ok(());
        }
        let said = self.links[link].unpack(payload)?;
        if !self.links[link].is_as_before(round, payload) && !self.errs(Mutant::AnyRound) {
            let peer = self.links[link].peer;
            self.notice(Notice::Rejected { peer, reason: Reason::Changed { round } });
            return Ok(());
        }
        if is_next || self.errs(Mutant::AnyRound) {
            self.links[link].heard.entry(round).or_insert(said);
            self.try_round();
        }
        Ok(())
    }

    /// The latest word of a neighbour, in asynchronous rounds.
    fn hear_latest(&mut self, link: usize, round: u64, payload: &[u8]) -> Result<()> {
        let said = self.links[link].unpack(payload)?;
        let own = &mut self.links[link];
        let now = (own.met.map_or(0, |met| met.epoch), round);
        if own.latest.is_some_and(|latest| now <= latest) && !self.errs(Mutant::AnyAge) {
            return Ok(());
        }
        let own = &mut self.links[link];
        (own.latest, own.age) = (Some(now), 0);
        for (place, from, message) in said {
            let inbox = &mut self.hosted[place].inbox;
            match inbox.binary_search_by_key(&from, |(id, _)| *id) {
                Ok(known) => inbox[known].1 = message,
                Err(new) => inbox.insert(new, (from, message)),
            }
        }
        Ok(())
    }

    fn hear_refusal(&mut self, link: usize, payload: &[u8]) -> Result<()> {
        let mut from = Reader::new("a refusal", payload);
        let (mark, epoch, nonce) = (from.mark()?, from.word()?, from.word()?);
        let (first, second) = (from.word()?, from.word()?);
        from.finish()?;
        // It may have been for another copy, or for what this process was before.
        if (epoch, nonce) != (self.epoch, self.nonce) {
            return Ok(());
        }
        let reason = match mark {
            1 => Reason::OldEpoch { newer: first },
            2 => Reason::Copy,
            3 => Reason::Rollback { found: first, kept: second },
            _ => return Ok(()),
        };
        let peer = self.links[link].peer;
        self.links[link].refused = Some(reason.clone());
        self.notice(Notice::RefusedBy { peer, reason: reason.clone() });
        // One neighbour may lie; but where a ledger may be too old, one is enough.
        if self.memory == Memory::Ledger {
            self.halt(reason);
        } else if self.links.iter().all(|link| link.refused.is_some()) {
            self.halt(Reason::Outcast);
        }
        Ok(())
    }

    fn hear_sums(&mut self, link: usize, round: u64, payload: &[u8]) -> Result<()> {
        let peer = self.links[link].peer;
        let is_child = self.seat.children.contains(&peer);
        let mut from = Reader::new("sums", payload);
        let sums = Sums::read(&mut from)?;
        from.finish()?;
        let is_late = self.settings.mode == Mode::Synchronous && round < self.round;
        if !is_child || is_late {
            return Ok(());
        }
        let known = &mut self.links[link].sums;
        if self.settings.mode == Mode::Synchronous {
            known.entry(round).or_insert(sums);
            self.try_gather();
        } else if known.last_key_value().is_none_or(|(last, _)| *last < round) {
            known.clear();
            known.insert(round, sums);
        }
        Ok(())
    }

    fn hear_verdict(&mut self, link: usize, round: u64, payload: &[u8]) -> Result<()> {
        let mut from = Reader::new("a verdict", payload);
        let (converged, sums) = (from.flag()?, Sums::read(&mut from)?);
        from.finish()?;
        if self.seat.parent == Some(self.links[link].peer) {
            self.take_verdict(round, converged, &sums);
        }
        Ok(())
    }
}
