//! The process itself: it routes events between its parts, and decides what comes next.
//!
//! ```text
//! New → Booting → Exchanging ⇄ Writing → Holding → Gathering → Deciding → Exchanging … → Finished
//!           └→ Choosing → Writing                                         where members have changed
//! ```
//!
//! A state is written where a checkpoint is due; sums are gathered, and a verdict awaited, where a check
//! is due and rounds are synchronous. Before that the state is held as a base, where members may change.

mod advance;
mod checkpoint;
mod going_on;
mod receive;
mod status;

use super::{
    Action, BasePlace, Event, FrameKind, Membership, Notice, ProtocolSettings, Reason, RoundMode,
    Slot,
    agreement::Agreement,
    bases::Bases,
    durability::Durability,
    peers::Peers,
    rounds::HostedRounds,
    rules::{Rules, SoundRules},
};
use crate::{
    error::{Error, Result, same_size},
    method::{Durable, Memory, Method},
    network::{NodeId, View},
    runtime::layout::Assignment,
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
    /// Members have changed, and the base from which all go on is being chosen.
    Choosing,
    /// The base of a check is being made durable.
    Holding,
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
    membership: Membership,
    rules: R,
    stage: Stage,
    peers: Peers,
    rounds: HostedRounds<P>,
    agreement: Agreement,
    durability: Durability,
    bases: Bases,
    /// The base from which this run goes on, if it goes on from one.
    chosen: Option<BasePlace>,
    /// Whether that is durable, and was said to the children.
    has_told_choice: bool,
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
        // An answer is to the question of the round before; a late one would be scored against others.
        if memory == Memory::Ledger && !is_synchronous {
            return Err(Error::Unsupported {
                what: "asynchronous rounds",
                needs: "a method whose messages may be late; probes are asked and answered in turn",
            });
        }
        Ok(Self {
            settings,
            membership: Membership::default(),
            rules,
            stage: Stage::New,
            peers: Peers::new(assignment, is_synchronous),
            rounds,
            agreement: Agreement::new(method, assignment, &settings),
            durability: Durability::new(&settings, memory),
            bases: Bases::new(false),
            chosen: None,
            has_told_choice: false,
            ticks_waited: 0,
            is_settled: false,
            is_leaving: false,
            actions: Vec::new(),
        })
    }

    /// The same in a run that goes on from another, since members have changed.
    pub fn among(mut self, membership: Membership) -> Result<Self> {
        self.bases = Bases::new(membership.since > 0);
        self.membership = membership;
        if membership.change > 0 && !self.keeps_bases() {
            return Err(Error::Unsupported {
                what: "a change of members",
                needs: "synchronous rounds with checks, and fedrelax or gtv with a strength that is given",
            });
        }
        Ok(self)
    }

    /// Tells a hosted node, before it is started, what it has answered another node in earlier runs.
    pub fn charge(&mut self, node: NodeId, asker: NodeId, count: u64) {
        self.rounds.charge(node, asker, count);
    }

    /// Takes note of an event; what is to be done, in order.
    pub fn step(&mut self, event: Event) -> Vec<Action> {
        // A halted process may still be driven for a while; it must not send as if it took part.
        if self.stage != Stage::Halted {
            match event {
                Event::Started { identity, state, bases, nonce } => {
                    self.start([&identity, &state, &bases].map(Option::as_deref), nonce);
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

    fn start(&mut self, [identity, state, bases]: [Option<&[u8]>; 3], nonce: u64) {
        if self.stage != Stage::New {
            return;
        }
        // Identity first: the state's payloads are trimmed by what neighbours have confirmed since.
        let read = identity.map_or(Ok(()), |bytes| self.peers.read_identity(bytes));
        let read = read.and_then(|()| state.map_or(Ok(()), |bytes| self.read_state(bytes)));
        let read = read.and_then(|()| bases.map_or(Ok(()), |bytes| self.read_bases(bytes)));
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
                Slot::Bases => self.bases_durable(),
            }
        }
    }

    fn identity_durable(&mut self) {
        // The newest write holds all meetings, so those of older ones wait for it.
        if self.durability.is_writing(Slot::Identity) {
            return;
        }
        for (link, newcomer) in self.peers.confirm_meetings() {
            let (peer, epoch) = (self.peers.status(link).peer, newcomer.epoch);
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
        } else if self.membership.change > 0 && self.chosen.is_none() {
            self.begin_choosing();
        } else {
            self.go_on();
        }
    }

    /// The next round, or the check before it.
    fn go_on(&mut self) {
        if self.rounds.round() > 0 { self.after_round() } else { self.begin_round() }
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
    /// now get it: whoever has seen a later state of it would have refused it.
    fn send_kept(&mut self, link: usize, kind: FrameKind, round: u64, payload: Vec<u8>) {
        if self.peers.status(link).knows_us {
            self.send(link, kind, round, payload.clone());
        }
        // Kept even if it was sent: a frame may be lost, and only its receiver knows.
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
            // Nothing was sent yet, so nobody has to be told.
            self.actions.push(Action::Left);
            self.stage = Stage::Halted;
            return;
        }
        self.is_leaving = true;
        // Otherwise the write is waited for: what others may have seen must be what comes back.
        if !matches!(self.stage, Stage::Writing | Stage::Holding) {
            self.depart();
        }
    }

    /// The last durable state is what the process comes back with.
    fn depart(&mut self) {
        self.send_all(FrameKind::Leave, &[]);
        self.actions.push(Action::Left);
        self.stage = Stage::Halted;
    }
}
