//! The process itself: it routes events between its parts, and decides what comes next.
//!
//! ```text
//! New → Booting → Exchanging ⇄ Writing → Gathering → Deciding → Exchanging … → Finished
//! ```
//!
//! A state is written where a checkpoint is due; sums are gathered, and a verdict awaited, where a check
//! is due and rounds are synchronous.

mod checkpoint;
mod receive;
mod status;

use super::{
    Action, Event, FrameKind, Notice, ProtocolSettings, Reason, RoundMode, Slot,
    agreement::Agreement,
    durability::Durability,
    peers::Peers,
    rounds::HostedRounds,
    rules::{Rules, SoundRules},
};
use crate::{
    error::{Error, Result, same_size},
    method::{Durable, Memory, Method},
    network::{NodeId, View},
    runtime::{layout::Assignment, sums::Sums},
};

/// What a process is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has not been started.
    New,
    /// Its epoch is being made durable.
    Booting,
    /// It waits for the messages of the next round, or for the next tick.
    Exchanging,
    /// The round is being made durable.
    Writing,
    /// It waits for the sums of its children.
    Gathering,
    /// It waits for the verdict of its parent.
    Deciding,
    /// It has finished, and helps others to.
    Finished,
    /// It has ended.
    Halted,
}

/// One process of a federation. See the [module](super) for how it is driven.
#[derive(Debug)]
pub struct Process<P: Durable, R = SoundRules> {
    settings: ProtocolSettings,
    rules: R,
    stage: Stage,
    peers: Peers,
    rounds: HostedRounds<P>,
    agreement: Agreement,
    durability: Durability,
    /// For how many ticks the stage has lasted.
    ticks_waited: u64,
    is_settled: bool,
    is_leaving: bool,
    actions: Vec<Action>,
}

impl<P: Durable> Process<P> {
    /// A process that hosts the nodes of these views, which are those of its assignment, in order.
    pub fn new<M: Method<Participant = P>>(
        method: &M,
        views: Vec<View>,
        assignment: &Assignment,
        settings: ProtocolSettings,
    ) -> Result<Self> {
        Self::with_rules(method, views, assignment, settings, SoundRules)
    }
}

impl<P: Durable, R: Rules> Process<P, R> {
    pub(in crate::runtime) fn with_rules<M: Method<Participant = P>>(
        method: &M,
        views: Vec<View>,
        assignment: &Assignment,
        settings: ProtocolSettings,
        rules: R,
    ) -> Result<Self> {
        same_size("nodes of a process", views.len(), assignment.nodes.len())?;
        settings.check()?;
        let rounds = HostedRounds::new(method, views, assignment, &settings)?;
        let (memory, is_synchronous) = (rounds.memory(), settings.mode == RoundMode::Synchronous);
        if memory == Memory::Ledger && !is_synchronous {
            return Err(Error::Unsupported {
                what: "asynchronous rounds",
                needs: "a method whose messages may be late; probes are asked and answered in turn",
            });
        }
        Ok(Self {
            settings,
            rules,
            stage: Stage::New,
            peers: Peers::new(assignment, is_synchronous),
            rounds,
            agreement: Agreement::new(method, assignment, &settings),
            durability: Durability::new(&settings, memory),
            ticks_waited: 0,
            is_settled: false,
            is_leaving: false,
            actions: Vec::new(),
        })
    }

    /// Tells a hosted node, before it is started, what it has answered another node in earlier runs.
    pub fn charge(&mut self, node: NodeId, asker: NodeId, count: u64) {
        self.rounds.charge(node, asker, count);
    }

    /// Takes note of an event; what is to be done, in order.
    pub fn step(&mut self, event: Event) -> Vec<Action> {
        if self.stage != Stage::Halted {
            match event {
                Event::Started { identity, state, nonce } => {
                    self.start(identity.as_deref(), state.as_deref(), nonce);
                }
                Event::Received { frame } => self.receive(frame),
                Event::Persisted { ticket } => self.persisted(ticket),
                Event::Tick => self.tick(),
                Event::PeerLost { peer } => self.peers.mark_lost(peer),
                Event::Leave => self.leave(),
            }
        }
        std::mem::take(&mut self.actions)
    }

    fn is_synchronous(&self) -> bool {
        self.settings.mode == RoundMode::Synchronous
    }

    fn is_started(&self) -> bool {
        !matches!(self.stage, Stage::New | Stage::Booting)
    }

    fn start(&mut self, identity: Option<&[u8]>, state: Option<&[u8]>, nonce: u64) {
        if self.stage != Stage::New {
            return;
        }
        let read = identity.map_or(Ok(()), |bytes| self.peers.read_identity(bytes));
        let read = read.and_then(|()| state.map_or(Ok(()), |bytes| self.read_state(bytes)));
        if let Err(error) = read {
            return self.halt(Reason::Failed(error));
        }
        self.peers.start(nonce, &self.rules);
        self.stage = Stage::Booting;
        self.write_identity();
        if !self.rules.waits_for(Slot::Identity) {
            self.send_all(FrameKind::Hello, &[]);
        }
    }

    fn halt(&mut self, reason: Reason) {
        self.stage = Stage::Halted;
        self.actions.push(Action::Halt(reason));
    }

    fn notice(&mut self, notice: Notice) {
        self.actions.push(Action::Notice(notice));
    }

    fn write_identity(&mut self) {
        let bytes = self.peers.identity_bytes();
        self.actions.push(self.durability.request(Slot::Identity, bytes));
    }

    fn persisted(&mut self, ticket: u64) {
        while let Some(slot) = self.durability.confirm(ticket) {
            match slot {
                Slot::Identity => self.identity_durable(),
                Slot::State => self.state_durable(),
            }
        }
    }

    fn identity_durable(&mut self) {
        // The newest write holds all meetings, so those of older ones wait for it.
        if self.durability.is_writing(Slot::Identity) {
            return;
        }
        for (link, newcomer) in self.peers.confirm_meetings() {
            let (peer, epoch) = (self.peers.process_of(link), newcomer.epoch);
            self.notice(Notice::Joined { peer, epoch });
            self.send(link, FrameKind::Hello, self.rounds.round(), Vec::new());
        }
        if self.stage == Stage::Booting {
            self.resume();
        }
    }

    /// Goes on from the last durable state.
    fn resume(&mut self) {
        self.send_all(FrameKind::Hello, &[]);
        if self.agreement.is_last() {
            self.finish();
        } else if self.rounds.round() > 0 {
            self.after_round();
        } else {
            self.begin_round();
        }
    }

    /// Sends a frame to a neighbour.
    fn send(&mut self, link: usize, kind: FrameKind, round: u64, payload: Vec<u8>) {
        let rounds = (round, self.durability.round());
        let frame = self.peers.frame(link, kind, rounds, payload);
        self.actions.extend(frame.map(|frame| Action::Send { frame }));
    }

    /// Sends a frame of the current round to all neighbours.
    fn send_all(&mut self, kind: FrameKind, payload: &[u8]) {
        for link in 0..self.peers.len() {
            self.send(link, kind, self.rounds.round(), payload.to_vec());
        }
    }

    /// Sends something that may have to be sent again. Only those who have met this process as it is
    /// now get it: whoever has seen a later state of it would have said so.
    fn send_kept(&mut self, link: usize, kind: FrameKind, round: u64, payload: Vec<u8>) {
        if self.peers.knows_us(link) {
            self.send(link, kind, round, payload.clone());
        }
        self.peers.keep(link, kind, round, payload);
    }

    fn resend(&mut self, link: usize, kind: FrameKind, round: u64) {
        if let Some(payload) = self.peers.sent(link, round, kind) {
            let payload = self.rules.resend(kind, payload);
            self.send(link, kind, round, payload);
        }
    }

    fn leave(&mut self) {
        if !self.is_started() {
            self.actions.push(Action::Left);
            self.stage = Stage::Halted;
            return;
        }
        self.is_leaving = true;
        if self.stage != Stage::Writing {
            self.depart();
        }
    }

    /// The last durable state is what the process comes back with.
    fn depart(&mut self) {
        self.send_all(FrameKind::Leave, &[]);
        self.actions.push(Action::Left);
        self.stage = Stage::Halted;
    }

    /// Lets the hosted nodes send.
    fn begin_round(&mut self) {
        if self.is_leaving {
            return self.depart();
        }
        (self.stage, self.ticks_waited) = (Stage::Exchanging, 0);
        if let Err(error) = self.send_round() {
            return self.halt(Reason::Failed(error));
        }
        if self.is_synchronous() {
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
    fn try_round(&mut self) {
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
        self.agreement.count_round(round);
        if self.agreement.is_last() || self.durability.is_due(round) {
            self.write_state();
        } else {
            self.after_round();
        }
    }

    /// Asks to make the state after the round durable.
    fn write_state(&mut self) {
        self.stage = Stage::Writing;
        match self.state_bytes() {
            Ok(bytes) => self.actions.push(self.durability.request(Slot::State, bytes)),
            Err(error) => return self.halt(Reason::Failed(error)),
        }
        self.durability.begin(self.rounds.round(), &self.rules);
        if !self.rules.waits_for(Slot::State) {
            self.state_durable();
        }
    }

    fn state_durable(&mut self) {
        if self.stage != Stage::Writing {
            return;
        }
        self.stage = Stage::Exchanging;
        let round = self.rounds.round();
        self.durability.advance(round);
        self.rules.forget_when_durable(round, self.peers.payloads_mut());
        if self.agreement.is_last() {
            self.finish();
        } else if self.agreement.ends_when_durable() {
            self.agreement.end();
            self.write_state();
        } else {
            self.after_round();
        }
    }

    /// Checks whether to stop, where that is due; else the next round begins.
    fn after_round(&mut self) {
        let (round, check_every) = (self.rounds.round(), self.settings.check_every);
        if check_every == 0 || !round.is_multiple_of(check_every) {
            return self.begin_round();
        }
        let is_own_reached = || self.agreement.is_small(self.own_record().residual);
        if self.rules.stops_alone(is_own_reached) {
            self.agreement.end();
            self.write_state();
        } else if self.is_synchronous() {
            (self.stage, self.ticks_waited) = (Stage::Gathering, 0);
            self.try_gather();
        } else {
            self.check_latest();
        }
    }

    /// Passes the sums of a synchronous round on if those of all children are there.
    fn try_gather(&mut self) {
        let round = self.rounds.round();
        if self.stage != Stage::Gathering || !self.agreement.missing(round).is_empty() {
            return;
        }
        let accepted = self.peers.accepted_frames();
        let times = |link: usize| self.rules.times_counted(accepted[link]);
        let total = self.agreement.total(self.rounds.sums(), round, times);
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
    fn take_verdict(&mut self, round: u64, converged: bool, total: &Sums) {
        let is_awaited = self.stage == Stage::Deciding && round == self.rounds.round();
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
    fn finish(&mut self) {
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
    fn settle(&mut self) {
        if self.stage == Stage::Finished && !self.is_settled && self.peers.unfinished().is_empty() {
            self.is_settled = true;
            self.actions.push(Action::Settled);
        }
    }

    /// Some time has passed: what is missing is asked for again.
    fn tick(&mut self) {
        if !self.is_started() {
            return;
        }
        let round = self.rounds.round();
        for link in 0..self.peers.len() {
            if !self.peers.knows_us(link) {
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
            Stage::Finished => self.help_others(),
            _ => {}
        }
    }

    /// Asks neighbours for what is missing, and names them when that has taken long.
    fn ask(&mut self, missing: &[usize], round: u64, kind: FrameKind) {
        self.ticks_waited += 1;
        let is_long = self.ticks_waited.is_multiple_of(self.settings.patience_ticks.max(1));
        if is_long && !missing.is_empty() {
            let on = missing.iter().map(|&link| self.peers.process_of(link)).collect();
            self.notice(Notice::Waiting { round, on });
        }
        for &link in missing {
            // Whoever has not been met yet would refuse the question: the greeting comes first.
            if self.peers.is_met(link) {
                self.send(link, FrameKind::Ask, round, vec![kind as u8]);
            }
        }
    }

    /// An asynchronous round, unless a neighbour's latest message is too old.
    fn tick_on(&mut self, staleness: Option<u64>) {
        let is_stale = |link: &usize| {
            // One that has finished sends nothing new.
            let most_rounds = staleness.filter(|_| !self.peers.has_finished(*link));
            self.peers.is_expected(*link) && self.rounds.link(*link).is_stale(most_rounds)
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
            if !self.is_synchronous() {
                for (round, kind) in self.peers.all_sent(link) {
                    self.resend(link, kind, round);
                }
            }
            self.send(link, FrameKind::Done, self.rounds.round(), vec![1]);
        }
    }
}
