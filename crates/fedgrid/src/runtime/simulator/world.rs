//! The world: a queue of what happens next, and processes that fall between any two of their actions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Counts, Faults, Outcome, Simulation, Violation, disk::Disk, judge::Judge, lives::Body,
};
use crate::{
    bytes::{Writer, digest},
    error::Result,
    method::{Durable, Method, Participant},
    model::Hypothesis,
    random::{Purpose, Stream},
    runtime::{
        layout::ProcessId,
        protocol::{Action, Event, Frame, Notice, PeerStatus, Reason},
    },
};

/// How many moments a tick has: a frame or a write takes one.
pub(super) const TICK: u64 = 4;

/// What happens at some moment.
#[derive(Debug)]
pub(super) enum Happening {
    Start { process: ProcessId },
    Tick { body: usize },
    Arrival { frame: Frame },
    Synced { body: usize, ticket: u64 },
}

pub(super) struct World<'a, M: Method<Participant: Durable>> {
    pub(super) simulation: &'a Simulation<'a, M>,
    pub(super) faults: &'a Faults,
    pub(super) stream: Stream,
    pub(super) now: u64,
    count: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    pub(super) bodies: Vec<Option<Body<M::Participant>>>,
    /// The disk of each process that is down.
    pub(super) disks: Vec<Disk>,
    /// The disk that was there before an old backup was put in its place.
    pub(super) spares: Vec<Option<Disk>>,
    /// Old copies of the disks.
    pub(super) backups: Vec<Vec<Disk>>,
    /// Which processes are in the first half of a partition.
    pub(super) halves: Vec<bool>,
    pub(super) is_slow: Vec<bool>,
    pub(super) has_finished: Vec<Option<u64>>,
    pub(super) converged: bool,
    pub(super) recent: Vec<Frame>,
    pub(super) judge: Judge,
    pub(super) counts: Counts,
    pub(super) traffic: Vec<u64>,
    pub(super) named: BTreeSet<ProcessId>,
    pub(super) trace: u64,
    pub(super) digests: BTreeMap<(u64, usize), u64>,
    pub(super) hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
}

impl<'a, M: Method<Participant: Durable>> World<'a, M> {
    pub(super) fn new(simulation: &'a Simulation<'a, M>, seed: u64) -> Self {
        let count = simulation.layout.seats().len();
        let mut stream = Stream::new(seed, 0, 0, Purpose::Faults);
        let mut halves: Vec<bool> = (0..count).map(|process| 2 * process < count).collect();
        stream.shuffle(&mut halves);
        let faults = simulation.faults;
        let is_slow = (0..count).map(|_| stream.uniform() < faults.slow).collect();
        let mut world = Self {
            simulation,
            faults,
            stream,
            now: 0,
            count: 0,
            queue: BTreeMap::new(),
            bodies: Vec::new(),
            disks: vec![Disk::default(); count],
            spares: vec![None; count],
            backups: vec![Vec::new(); count],
            halves,
            is_slow,
            has_finished: vec![None; count],
            converged: false,
            recent: Vec::new(),
            judge: Judge::default(),
            counts: Counts::default(),
            traffic: Vec::new(),
            named: BTreeSet::new(),
            trace: seed,
            digests: BTreeMap::new(),
            hypotheses: vec![None; simulation.views.len()],
        };
        for process in 0..count {
            world.disks[process].forgets_to_sync = simulation.forgets_to_sync();
            world.later(1, Happening::Start { process });
        }
        world
    }

    pub(super) fn later(&mut self, moments: u64, happening: Happening) {
        self.count += 1;
        self.queue.insert((self.now + moments, self.count), happening);
    }

    pub(super) fn mix(&mut self, words: &[u64]) {
        let mut to = Writer::default();
        to.words(&[self.trace, self.now]);
        to.words(words);
        self.trace = digest(&to.into_bytes());
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.now < self.faults.until.saturating_mul(TICK)
    }

    pub(super) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.is_faulty() && self.stream.uniform() < probability
    }

    pub(super) fn run(mut self) -> Result<Outcome> {
        let deadline = self.simulation.deadline.saturating_mul(TICK);
        while let Some(((now, _), happening)) = self.queue.pop_first() {
            self.now = now;
            if now > deadline || self.is_over() {
                break;
            }
            match happening {
                Happening::Start { process } => self.start(process)?,
                Happening::Tick { body } => self.tick(body),
                Happening::Arrival { frame } => self.arrive(&frame),
                Happening::Synced { body, ticket } => self.synced(body, ticket),
            }
        }
        Ok(self.conclude())
    }

    fn is_over(&self) -> bool {
        let is_broken = !self.judge.violations.is_empty() && self.simulation.stops_at_violation;
        is_broken || self.has_finished.iter().all(Option::is_some)
    }

    fn tick(&mut self, body: usize) {
        let Some(own) = &self.bodies[body] else { return };
        let process = own.process.id();
        if self.happens(self.faults.crash) {
            let doom = self.stream.index(6);
            if let Some(own) = &mut self.bodies[body] {
                own.doom = Some(doom);
            }
        }
        if self.happens(self.faults.hostile) {
            self.attack();
        }
        // A zombie is ended by its operator at last.
        let is_stray = |own: &Body<_>| !own.is_true && !self.is_faulty();
        if self.bodies[body].as_ref().is_some_and(is_stray) {
            return self.fall(body);
        }
        self.mix(&[2, body as u64]);
        self.step(body, Event::Tick);
        let slowness =
            if self.is_slow[process] && self.is_faulty() { self.faults.slowness } else { 1 };
        self.later(TICK * slowness.max(1), Happening::Tick { body });
    }

    fn synced(&mut self, body: usize, ticket: u64) {
        // A zombie waits for its disk for ever.
        let Some(own) = self.bodies[body].as_mut().filter(|own| own.is_true) else { return };
        own.disk.sync(ticket);
        if own.is_true && self.faults.backup > 0.0 {
            let (process, copy) = (own.process.id(), own.disk.clone());
            if self.stream.uniform() < 0.1 {
                let backups = &mut self.backups[process];
                if backups.len() >= 4 {
                    backups.remove(0);
                }
                backups.push(copy);
            }
        }
        self.step(body, Event::Persisted { ticket });
    }

    /// A frame reaches all that claim to be its receiver.
    fn arrive(&mut self, frame: &Frame) {
        self.counts.delivered += 1;
        self.mix(&[3, frame.to as u64, frame.from as u64, frame.epoch, frame.round]);
        for body in 0..self.bodies.len() {
            let Some(own) = &self.bodies[body] else { continue };
            if own.process.id() != frame.to {
                continue;
            }
            let known = |own: &Body<M::Participant>| {
                own.process.peers().find(|peer| peer.peer == frame.from)
            };
            let (before, is_judged) = (known(own), own.is_true);
            if let (Some(before), true) = (before, is_judged) {
                self.watch_backup(frame, before);
            }
            self.step(body, Event::Received { frame: frame.clone() });
            // One who has just become a zombie is judged no more.
            let after = self.bodies[body].as_ref().filter(|own| own.is_true).and_then(known);
            if let (Some(before), Some(after), true) = (before, after, is_judged)
                && after.accepted > before.accepted
            {
                self.judge.accepted(frame, before);
                if after.latest < before.latest {
                    let (by, from) = (frame.to, frame.from);
                    self.judge.note(Violation::WentBack { by, from });
                }
            }
        }
    }

    /// Takes note of one who comes from an old backup to one who knows better.
    fn watch_backup(&mut self, frame: &Frame, before: PeerStatus) {
        let sender = self.bodies.iter().flatten().find(|own| own.nonce == frame.nonce);
        let is_restored = sender.is_some_and(|own| own.is_restored);
        if is_restored && frame.epoch > before.epoch && frame.floor < before.floor {
            self.judge.warned.insert((frame.to, frame.nonce));
        }
    }

    /// Lets a process take note of an event, and does what it wants done.
    pub(super) fn step(&mut self, body: usize, event: Event) {
        let Some(own) = &mut self.bodies[body] else { return };
        let actions = own.process.step(event);
        for action in actions {
            if let Some(own) = &mut self.bodies[body]
                && let Some(left) = own.doom
            {
                if left == 0 {
                    return self.fall(body);
                }
                own.doom = Some(left - 1);
            }
            self.act(body, action);
            if self.bodies[body].is_none() {
                return;
            }
        }
        let is_doomed = self.bodies[body].as_ref().is_some_and(|own| own.doom == Some(0));
        if is_doomed {
            self.fall(body);
        }
    }

    fn act(&mut self, body: usize, action: Action) {
        let Some(own) = &mut self.bodies[body] else { return };
        let process = own.process.id();
        match action {
            // One process at a time may write: a zombie waits for its disk for ever.
            Action::Persist { .. } if !own.is_true => {}
            Action::Persist { ticket, slot, bytes } => {
                own.disk.write(ticket, slot, bytes);
                self.later(1, Happening::Synced { body, ticket });
            }
            Action::Send { frame } => {
                if own.is_true {
                    self.judge.sent(&frame, &own.disk, &self.simulation.settings);
                }
                self.send(&frame);
            }
            Action::Finished { round, converged } => {
                if own.is_true {
                    self.has_finished[process] = Some(round);
                    self.converged |= converged;
                    for (node, participant) in own.process.participants() {
                        self.hypotheses[node] = participant.hypothesis().cloned();
                    }
                }
            }
            Action::Notice(notice) => self.heed(body, &notice),
            Action::Halt(reason) => self.halted(body, &reason),
            Action::Settled | Action::Left => {}
        }
    }

    fn heed(&mut self, body: usize, notice: &Notice) {
        match notice {
            Notice::Rejected { reason, .. } => match reason {
                Reason::Malformed(_) | Reason::Stranger | Reason::Changed { .. } => {
                    self.counts.malformed += 1;
                }
                Reason::Rollback { .. } => self.counts.rollbacks += 1,
                _ => self.counts.fenced += 1,
            },
            // The operator starts it again, from what is really on its disk.
            Notice::RefusedBy { .. } => self.fall(body),
            Notice::Waiting { on, .. } => {
                self.counts.named += on.len() as u64;
                self.named.extend(on);
            }
            Notice::Learnt { round, digests } => self.compare(*round, digests),
            Notice::Joined { .. } | Notice::Left { .. } => {}
        }
    }

    /// Compares what the nodes of a process have learnt with the undisturbed run.
    fn compare(&mut self, round: u64, digests: &[(usize, u64)]) {
        for &(node, now) in digests {
            let expected = self.simulation.expected.and_then(|all| all.get(&(round, node)));
            if expected.is_some_and(|expected| *expected != now) {
                self.judge.note(Violation::OtherBits { node, round });
            }
            self.digests.insert((round, node), now);
        }
    }
}
