//! What a process does with a frame: first who sent it, then what it holds.

use super::{Process, Stage};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Durable, Memory},
    runtime::{
        protocol::{
            Frame, FrameKind, Notice, Reason, RoundMode,
            bases::{Held, read_choice},
            rounds::Receipt,
            rules::{Admission, Rules},
        },
        sums::Sums,
    },
};

impl<P: Durable, R: Rules> Process<P, R> {
    pub(super) fn receive(&mut self, frame: Frame) {
        let Some(link) = self.peers.index_of(frame.from) else {
            let peer = frame.from;
            return self.notice(Notice::Rejected { peer, reason: Reason::Stranger });
        };
        if frame.to != self.peers.process() || !self.is_started() || !self.is_admitted(link, &frame)
        {
            return;
        }
        if self.peers.accept(link, &frame) {
            // Frames of the round that is open were held back until the neighbour knew this start.
            let round = self.rounds.round();
            for (sent, kind) in self.peers.all_sent(link) {
                if sent > round {
                    self.resend(link, kind, sent);
                }
            }
        }
        let peer = frame.from;
        if let Err(error) = self.take(link, frame) {
            self.notice(Notice::Rejected { peer, reason: Reason::Malformed(error) });
        }
        self.settle();
    }

    /// Whether the sender is who it was when it was met. Newcomers are met first.
    fn is_admitted(&mut self, link: usize, frame: &Frame) -> bool {
        let reason = match self.peers.admit(link, frame, &self.rules) {
            Admission::Accepted => return true,
            Admission::Newcomer(newcomer) => {
                if self.peers.meet(link, newcomer) {
                    self.write_identity();
                }
                return false;
            }
            Admission::Refused(reason) => reason,
        };
        // A refusal is not refused in return, or two processes would never stop.
        if frame.kind != FrameKind::Refusal {
            let mut why = Writer::default();
            let (mark, numbers) = match reason {
                Reason::OldEpoch { newer } => (1, [newer, 0]),
                Reason::Rollback { found, kept } => (3, [found, kept]),
                _ => (2, [0, 0]),
            };
            why.mark(mark);
            why.words(&[frame.epoch, frame.nonce, numbers[0], numbers[1]]);
            self.send(link, FrameKind::Refusal, self.rounds.round(), why.into_bytes());
        }
        self.notice(Notice::Rejected { peer: frame.from, reason });
        false
    }

    fn take(&mut self, link: usize, frame: Frame) -> Result<()> {
        let Frame { kind, round, payload, .. } = frame;
        match kind {
            // Answered only if the sender does not know this start, or two would greet each other for ever.
            FrameKind::Hello => {
                if frame.known_epoch != self.peers.own().epoch {
                    self.send(link, FrameKind::Hello, self.rounds.round(), Vec::new());
                }
            }
            FrameKind::State => match self.settings.mode {
                RoundMode::Synchronous => self.take_state(link, round, &payload)?,
                RoundMode::Asynchronous { .. } => {
                    let now = (self.peers.status(link).epoch, round);
                    self.rounds.receive_latest(link, now, &payload, &self.rules)?;
                }
            },
            FrameKind::Sums => {
                let mut from = Reader::new("sums", &payload);
                let sums = Sums::read(&mut from)?;
                from.finish()?;
                // Sums of one who is no child are dropped there.
                self.agreement.receive(link, round, sums, self.rounds.round());
                self.try_gather();
            }
            FrameKind::Verdict => {
                let mut from = Reader::new("a verdict", &payload);
                let (converged, sums) = (from.flag()?, Sums::read(&mut from)?);
                from.finish()?;
                if self.agreement.parent() == Some(link) {
                    self.take_verdict(round, converged, &sums);
                }
            }
            FrameKind::Ask => {
                let mut from = Reader::new("a request", &payload);
                let asked = FrameKind::from_mark(from.mark()?);
                from.finish()?;
                if let Some(asked) = asked {
                    self.answer(link, round, asked);
                }
            }
            FrameKind::Held => {
                self.agreement.receive_bases(link, Held::read(&payload)?);
                self.try_choose();
            }
            FrameKind::Chosen => {
                let place = read_choice(&payload)?;
                if self.agreement.parent() == Some(link) {
                    self.go_on_from(place);
                }
            }
            FrameKind::Refusal => self.take_refusal(link, &payload)?,
            FrameKind::Leave => {
                self.notice(Notice::Left { peer: frame.from });
            }
            FrameKind::Done => {
                // One asks for an answer and zero does not, or two that have finished would never be silent.
                if self.stage == Stage::Finished && payload == [1] {
                    self.send(link, FrameKind::Done, self.rounds.round(), vec![0]);
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, link: usize, round: u64, asked: FrameKind) {
        if asked == FrameKind::Chosen {
            return self.answer_choice(link);
        }
        let mut round = round;
        // In asynchronous rounds the asker's number means nothing here: it wants the newest state.
        if !self.is_synchronous() && asked == FrameKind::State {
            let newest = self.peers.all_sent(link).into_iter().rfind(|(_, kind)| *kind == asked);
            round = newest.map_or(round, |(newest, _)| newest);
        }
        self.resend(link, asked, round);
        // The asker may wait for a round that will never come.
        if self.stage == Stage::Finished {
            self.send(link, FrameKind::Done, self.rounds.round(), vec![0]);
        }
    }

    /// The bundle of a round, in synchronous rounds.
    fn take_state(&mut self, link: usize, round: u64, payload: &[u8]) -> Result<()> {
        // Before the base is chosen there is no next round.
        if matches!(self.stage, Stage::Finished | Stage::Choosing) {
            return Ok(());
        }
        match self.rounds.receive(link, round, payload, &self.rules)? {
            Receipt::Stored => self.try_round(),
            Receipt::Ignored => {}
            Receipt::Changed => {
                let (peer, reason) = (self.peers.status(link).peer, Reason::Changed { round });
                self.notice(Notice::Rejected { peer, reason });
            }
        }
        Ok(())
    }

    fn take_refusal(&mut self, link: usize, payload: &[u8]) -> Result<()> {
        let mut from = Reader::new("a refusal", payload);
        let (mark, epoch, nonce) = (from.mark()?, from.word()?, from.word()?);
        let (first, second) = (from.word()?, from.word()?);
        from.finish()?;
        let own = self.peers.own();
        // It may have been for another copy, or for what this process was before.
        if (epoch, nonce) != (own.epoch, own.nonce) {
            return Ok(());
        }
        let reason = match mark {
            1 => Reason::OldEpoch { newer: first },
            2 => Reason::Copy,
            3 => Reason::Rollback { found: first, kept: second },
            _ => return Ok(()),
        };
        let peer = self.peers.status(link).peer;
        let is_outcast = self.peers.refuse(link, reason.clone());
        self.notice(Notice::RefusedBy { peer, reason: reason.clone() });
        // One neighbour may lie; but where a ledger may be too old, one is enough.
        if self.rounds.memory() == Memory::Ledger {
            self.halt(reason);
        } else if is_outcast {
            self.halt(Reason::Outcast);
        }
        Ok(())
    }
}
