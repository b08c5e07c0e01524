//! From round to round: exchange, learn, write, check, stop; and what a tick asks for again.

use super::{Process, Stage};
use crate::{
    error::Result,
    method::Durable,
    runtime::{
        protocol::{Action, FrameKind, Notice, Reason, RoundMode, Slot, rules::Rules},
        sums::Sums,
    },
};

impl<P: Durable, R: Rules> Process<P, R> {
    /// Lets the hosted nodes send.
    pub(super) fn begin_round(&mut self) {
        // Between two rounds, when nothing is half done.
        if self.is_leaving {
            return self.depart();
        }
        (self.stage, self.ticks_waited) = (Stage::Exchanging, 0);
        if let Err(error) = self.send_round() {
            return self.halt(Reason::Failed(error));
        }
        if self.is_synchronous() {
            // A process that comes back is behind all others: asking at once saves a tick for every round.
            self.catch_up();
            self.try_round();
        } else {
            self.rounds.deliver_local();
        }
    }

    fn send_round(&mut self) -> Result<()> {
        for (link, payload) in self.rounds.send().into_iter().enumerate() {
            self.send_kept(link, FrameKind::State, self.rounds.round() + 1, payload?);
        }
        Ok(())
    }

    /// Asks those who are further for what they have sent before.
    fn catch_up(&mut self) {
        let next = self.rounds.round() + 1;
        for link in self.rounds.missing() {
            if self.peers.is_beyond(link, next) {
                self.send(link, FrameKind::Ask, next, vec![FrameKind::State as u8]);
            }
        }
    }

    /// Ends a synchronous round if the messages of all neighbours are there.
    pub(super) fn try_round(&mut self) {
        if self.stage == Stage::Exchanging && self.rounds.missing().is_empty() {
            self.rounds.fill_inboxes(&self.peers.accepted_frames(), &self.rules);
            self.learn();
        }
    }

    /// Lets the hosted nodes learn: the end of a round.
    fn learn(&mut self) {
        if let Err(error) = self.rounds.learn() {
            return self.halt(Reason::Failed(error));
        }
        let round = self.rounds.round();
        if self.settings.digests
            && let Ok(digests) = self.rounds.digests()
        {
            self.notice(Notice::Learnt { round, digests });
        }
        if self.is_synchronous() {
            // A neighbour may go back to its last checkpoint and send all rounds since then again.
            let oldest = round.saturating_sub(self.settings.checkpoint_every + 2);
            self.rounds.forget_before(oldest);
            self.agreement.forget_before(oldest);
        }
        // Rounds that are used up need no agreement: all count the same.
        self.agreement.count_round(round);
        if self.agreement.is_last() || self.durability.is_due(round) {
            self.write_state();
        } else {
            self.after_round();
        }
    }

    /// Asks to make the state after the round durable.
    pub(super) fn write_state(&mut self) {
        self.stage = Stage::Writing;
        if self.agreement.is_last()
            && let Err(error) = self.keep_last_base()
        {
            return self.halt(Reason::Failed(error));
        }
        match self.state_bytes() {
            Ok(bytes) => self.actions.push(self.durability.request(Slot::State, bytes)),
            Err(error) => return self.halt(Reason::Failed(error)),
        }
        self.durability.begin(self.rounds.round(), &self.rules);
        if !self.rules.waits_for(Slot::State) {
            self.state_durable();
        }
    }

    pub(super) fn state_durable(&mut self) {
        if self.stage != Stage::Writing {
            return;
        }
        self.stage = Stage::Exchanging;
        let round = self.rounds.round();
        self.durability.advance(round);
        self.rules.forget_when_durable(round, self.peers.payloads_mut());
        if self.agreement.is_last() {
            self.finish();
        // The state that was being written does not say that it is the last, so it is written again.
        } else if self.agreement.ends_when_durable() {
            self.agreement.end();
            self.write_state();
        } else {
            self.tell_choice();
            self.go_on();
        }
    }

    /// Checks whether to stop, where that is due; else the next round begins.
    pub(super) fn after_round(&mut self) {
        let (round, check_every) = (self.rounds.round(), self.settings.check_every);
        if check_every == 0 || !round.is_multiple_of(check_every) {
            return self.begin_round();
        }
        let is_own_reached = || self.own_record().residual <= self.settings.stop.tolerance;
        if self.rules.stops_alone(is_own_reached) {
            self.agreement.end();
            self.write_state();
        } else if self.is_synchronous() {
            self.stage = Stage::Holding;
            match self.has_base() {
                Ok(true) => self.gather(),
                Ok(false) => {}
                Err(error) => self.halt(Reason::Failed(error)),
            }
        } else {
            self.check_latest();
        }
    }

    /// Waits for the sums of the children.
    pub(super) fn gather(&mut self) {
        // Between two rounds, when nothing is half done.
        if self.is_leaving {
            return self.depart();
        }
        (self.stage, self.ticks_waited) = (Stage::Gathering, 0);
        self.try_gather();
    }

    /// Passes the sums of a synchronous round on if those of all children are there.
    pub(super) fn try_gather(&mut self) {
        let round = self.rounds.round();
        if self.stage != Stage::Gathering || !self.agreement.missing(round).is_empty() {
            return;
        }
        let accepted = self.peers.accepted_frames();
        let times = |link: usize| self.rules.times_counted(accepted[link]);
        let total = self.agreement.total(self.rounds.sums(), round, times);
        // Set before the verdict is taken, which at the root happens in the same step.
        self.stage = Stage::Deciding;
        if let Some(parent) = self.agreement.parent() {
            self.send_kept(parent, FrameKind::Sums, round, total.to_bytes());
        } else {
            let converged = self.agreement.judge(round, &total);
            self.take_verdict(round, converged, &total);
        }
    }

    /// Passes the latest sums on in asynchronous rounds; the root judges them.
    fn check_latest(&mut self) {
        let round = self.rounds.round();
        if let Some(total) = self.agreement.latest_total(self.rounds.sums()) {
            if let Some(parent) = self.agreement.parent() {
                self.send_kept(parent, FrameKind::Sums, round, total.to_bytes());
            } else if self.agreement.judge_latest(round, &total) {
                return self.take_verdict(round, true, &total);
            } else {
                self.agreement.set_record(round, &total);
            }
        }
        self.begin_round();
    }

    /// Takes a verdict and passes it on.
    pub(super) fn take_verdict(&mut self, round: u64, converged: bool, total: &Sums) {
        let is_awaited = self.stage == Stage::Deciding && round == self.rounds.round();
        // A verdict that comes again was passed on and acted on before.
        if self.stage == Stage::Finished || (self.is_synchronous() && !is_awaited) {
            return;
        }
        self.agreement.set_record(round, total);
        let payload = [&[u8::from(converged)][..], &total.to_bytes()].concat();
        for child in self.agreement.children() {
            self.send_kept(child, FrameKind::Verdict, round, payload.clone());
        }
        if converged && self.stage == Stage::Writing {
            self.agreement.end_when_durable();
        } else if converged {
            self.agreement.end();
            self.write_state();
        } else if self.is_synchronous() {
            self.begin_round();
        }
    }

    /// Training has ended here, and that is durable.
    pub(super) fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.durability.advance(u64::MAX);
        let (round, converged) = (self.rounds.round(), self.agreement.converged());
        self.actions.push(Action::Finished { round, converged });
        // In asynchronous rounds neighbours go on with what the last state sends.
        if !self.is_synchronous()
            && let Err(error) = self.send_round()
        {
            return self.halt(Reason::Failed(error));
        }
        self.send_all(FrameKind::Done, &[1]);
        self.settle();
    }

    /// Reports once that no neighbour will need anything any more.
    pub(super) fn settle(&mut self) {
        if self.stage == Stage::Finished && !self.is_settled && self.peers.unfinished().is_empty() {
            self.is_settled = true;
            self.actions.push(Action::Settled);
        }
    }

    /// Some time has passed: what is missing is asked for again.
    pub(super) fn tick(&mut self) {
        if !self.is_started() {
            return;
        }
        let round = self.rounds.round();
        for link in 0..self.peers.len() {
            if !self.peers.status(link).knows_us {
                self.send(link, FrameKind::Hello, round, Vec::new());
            }
        }
        match self.stage {
            Stage::Exchanging => match self.settings.mode {
                RoundMode::Synchronous => {
                    self.ask(&self.rounds.missing(), round + 1, FrameKind::State);
                }
                RoundMode::Asynchronous { staleness } => self.tick_on(staleness),
            },
            Stage::Gathering => self.ask(&self.agreement.missing(round), round, FrameKind::Sums),
            Stage::Deciding => {
                let parent: Vec<usize> = self.agreement.parent().into_iter().collect();
                self.ask(&parent, round, FrameKind::Verdict);
            }
            Stage::Choosing => self.ask_for_choice(),
            Stage::Finished => self.help_others(),
            _ => {}
        }
    }

    /// Asks neighbours for what is missing, and names them when that has taken long.
    pub(super) fn ask(&mut self, missing: &[usize], round: u64, kind: FrameKind) {
        self.ticks_waited += 1;
        // Named at every multiple: an operator who looks later sees it, too.
        let is_long = self.ticks_waited.is_multiple_of(self.settings.patience_ticks.max(1));
        if is_long && !missing.is_empty() {
            let on = missing.iter().map(|&link| self.peers.status(link).peer).collect();
            self.notice(Notice::Waiting { round, on });
        }
        for &link in missing {
            // Whoever has not been met yet would refuse the question: the greeting comes first.
            if self.peers.status(link).epoch > 0 {
                self.send(link, FrameKind::Ask, round, vec![kind as u8]);
            }
        }
    }

    /// An asynchronous round, unless a neighbour's latest message is too old.
    fn tick_on(&mut self, staleness: Option<u64>) {
        let is_stale = |link: &usize| {
            // One that has finished sends nothing new.
            let most_rounds = staleness.filter(|_| !self.peers.status(*link).has_finished);
            self.peers.is_expected(*link) && self.rounds.is_stale(*link, most_rounds)
        };
        let missing: Vec<usize> = (0..self.peers.len()).filter(is_stale).collect();
        if missing.is_empty() {
            self.rounds.use_latest();
            self.learn();
        } else {
            self.ask(&missing, self.rounds.round(), FrameKind::State);
        }
    }

    /// Sends again what those who have not finished may be missing.
    fn help_others(&mut self) {
        for link in self.peers.unfinished() {
            // Asynchronous neighbours do not ask while the message they have is fresh enough.
            if !self.is_synchronous() {
                for (round, kind) in self.peers.all_sent(link) {
                    self.resend(link, kind, round);
                }
            }
            self.send(link, FrameKind::Done, self.rounds.round(), vec![1]);
        }
    }
}
