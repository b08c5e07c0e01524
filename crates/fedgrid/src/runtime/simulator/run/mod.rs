//! One run of a simulation: a queue of what happens next, and processes that crash between any two of
//! their actions.

mod crashes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Change, Digests, FaultCounts, Faults, Simulation, SimulationOutcome, Violation,
    change::membership,
    disk::Disk,
    invariants::Invariants,
    network_faults::{FaultyNetwork, MOMENTS_PER_TICK, draw},
};
use crate::{
    bytes::{Writer, digest},
    error::Result,
    method::{Durable, Method, Participant},
    model::Hypothesis,
    network::View,
    random::{Purpose, Stream},
    runtime::{
        layout::{Layout, ProcessId},
        protocol::{
            Action, BasePlace, Event, Frame, Membership, Notice, PeerStatus, Process, Reason,
            rules::Rules,
        },
    },
};

/// A crash comes before one of so many actions of a process: about as many as a round takes.
const CRASH_WITHIN_ACTIONS: usize = 6;

/// How many old copies of a disk there are at most, and which share of writes makes one.
const BACKUPS: usize = 4;
const BACKUP_SHARE: f64 = 0.1;

/// What happens at some moment.
#[derive(Debug)]
enum SimEvent {
    Start {
        process: ProcessId,
    },
    Tick {
        running: usize,
    },
    /// Of a run with so many changes before it.
    Arrival {
        frame: Frame,
        change: usize,
    },
    Learns {
        process: ProcessId,
        change: usize,
    },
    Dies {
        process: ProcessId,
    },
    Synced {
        running: usize,
        ticket: u64,
    },
}

/// A process that runs.
struct RunningProcess<P: Durable, R> {
    process: Process<P, R>,
    /// How often members had changed when it was started.
    change: usize,
    disk: Disk,
    nonce: u64,
    /// Whether it goes on beside its successor.
    is_zombie: bool,
    /// Whether it was started from an old backup.
    is_restored: bool,
    actions_until_crash: Option<usize>,
}

/// A run of a simulation.
pub(super) struct SimulationRun<'a, M: Method<Participant: Durable>, R> {
    simulation: &'a Simulation<'a, M>,
    rules: R,
    faults: &'a Faults,
    stream: Stream,
    now: u64,
    /// How many events were queued: events of one moment happen in the order in which they were.
    queued: u64,
    queue: BTreeMap<(u64, u64), SimEvent>,
    network: FaultyNetwork<'a>,
    running: Vec<Option<RunningProcess<M::Participant, R>>>,
    /// Those that claim to be each process.
    listeners: Vec<Vec<usize>>,
    /// The last change that each process knows of.
    known: Vec<usize>,
    /// Who will not start again.
    is_dead: Vec<bool>,
    /// The disks of each process that is down, one for the run after each change.
    disks: Vec<Vec<Disk>>,
    /// The disk that was there before an old backup was put in its place.
    replaced_disks: Vec<Option<Disk>>,
    /// Old copies of the disks.
    backups: Vec<Vec<Disk>>,
    /// The round at which each process has finished.
    finished_at: Vec<Option<u64>>,
    /// How many have, and how many are present when they are fewest.
    finished: usize,
    fewest: usize,
    converged: bool,
    /// Of the run after each change.
    invariants: Vec<Invariants>,
    bases: BTreeMap<u64, BasePlace>,
    counts: FaultCounts,
    named: BTreeSet<ProcessId>,
    trace: u64,
    digests: Digests,
    hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
}

impl<'a, M: Method<Participant: Durable>, R: Rules> SimulationRun<'a, M, R> {
    /// A run in which every process has a disk like this one.
    pub(super) fn new(simulation: &'a Simulation<'a, M>, seed: u64, rules: R, disk: Disk) -> Self {
        let first = simulation.layout.assignments().len();
        let last = simulation.changes.last().map_or(simulation.layout, |change| &change.layout);
        let (count, runs) = (last.assignments().len(), simulation.changes.len() + 1);
        let nodes =
            simulation.changes.last().map_or(simulation.views, |change| &change.views).len();
        let mut stream = Stream::new(seed, 0, 0, Purpose::Faults);
        let faults = simulation.faults;
        let mut run = Self {
            network: FaultyNetwork::new(count, faults, &mut stream),
            simulation,
            rules,
            faults,
            stream,
            now: 0,
            queued: 0,
            queue: BTreeMap::new(),
            running: Vec::new(),
            listeners: vec![Vec::new(); count],
            known: vec![0; count],
            is_dead: vec![false; count],
            disks: vec![vec![disk; runs]; count],
            replaced_disks: vec![None; count],
            backups: vec![Vec::new(); count],
            finished_at: vec![None; count],
            finished: 0,
            fewest: simulation.changes.iter().map(Change::present).fold(first, usize::min),
            converged: false,
            invariants: (0..runs).map(|_| Invariants::default()).collect(),
            bases: BTreeMap::new(),
            counts: FaultCounts::default(),
            named: BTreeSet::new(),
            trace: seed,
            digests: BTreeMap::new(),
            hypotheses: vec![None; nodes],
        };
        (0..first).for_each(|process| run.later(1, SimEvent::Start { process }));
        for (index, change) in simulation.changes.iter().enumerate() {
            for process in 0..change.layout.assignments().len() {
                let late = draw(&mut run.stream, (faults.delay + 1) * MOMENTS_PER_TICK);
                let moment = change.tick * MOMENTS_PER_TICK + late;
                run.later(moment, SimEvent::Learns { process, change: index + 1 });
            }
            for (&process, &tick) in &change.lost {
                run.later(tick * MOMENTS_PER_TICK, SimEvent::Dies { process });
            }
        }
        run
    }

    /// The nodes and where they live after so many changes.
    fn members(&self, change: usize) -> (&'a [View], &'a Layout) {
        match change.checked_sub(1).and_then(|index| self.simulation.changes.get(index)) {
            Some(change) => (&change.views, &change.layout),
            None => (self.simulation.views, self.simulation.layout),
        }
    }

    fn membership(&self, process: ProcessId, change: usize) -> Membership {
        membership(self.simulation.layout, self.simulation.changes, process, change)
    }

    /// Whether a process takes no part after so many changes.
    fn is_gone(&self, process: ProcessId, change: usize) -> bool {
        let last = change.checked_sub(1).and_then(|index| self.simulation.changes.get(index));
        last.is_some_and(|last| last.gone.contains(&process))
    }

    /// How often members have changed by now, and the processes that take part since.
    fn present(&self) -> (usize, Vec<ProcessId>) {
        let changes = self.simulation.changes.iter();
        let change =
            changes.take_while(|change| change.tick * MOMENTS_PER_TICK <= self.now).count();
        let count = self.members(change).1.assignments().len();
        (change, (0..count).filter(|&process| !self.is_gone(process, change)).collect())
    }

    fn finish(&mut self, process: ProcessId, round: u64) {
        self.finished += usize::from(self.finished_at[process].replace(round).is_none());
    }

    fn unfinish(&mut self, process: ProcessId) {
        self.finished -= usize::from(self.finished_at[process].take().is_some());
    }

    fn later(&mut self, moments: u64, event: SimEvent) {
        self.queued += 1;
        // A map by (moment, number) is a queue whose order depends on nothing but the seed.
        self.queue.insert((self.now + moments, self.queued), event);
    }

    /// Makes the trace depend on these numbers.
    fn mix(&mut self, words: &[u64]) {
        let mut to = Writer::default();
        to.words(&[self.trace, self.now]);
        to.words(words);
        self.trace = digest(&to.into_bytes());
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.network.is_faulty(self.now) && self.stream.uniform() < probability
    }

    /// Runs to the end, or to the deadline.
    pub(super) fn run(mut self) -> Result<SimulationOutcome> {
        let deadline = self.simulation.deadline.saturating_mul(MOMENTS_PER_TICK);
        while let Some(((now, _), event)) = self.queue.pop_first() {
            self.now = now;
            if now > deadline || self.is_over() {
                break;
            }
            match event {
                SimEvent::Start { process } => self.start(process)?,
                SimEvent::Tick { running } => self.tick(running),
                SimEvent::Arrival { frame, change } => self.arrive(&frame, change),
                SimEvent::Learns { process, change } => self.learns(process, change),
                SimEvent::Dies { process } => self.dies(process),
                SimEvent::Synced { running, ticket } => self.synced(running, ticket),
            }
        }
        Ok(self.conclude())
    }

    fn is_over(&self) -> bool {
        let is_broken = |invariants: &Invariants| !invariants.violations().is_empty();
        if self.simulation.stops_at_violation && self.invariants.iter().any(is_broken) {
            return true;
        }
        // Counted first: who is present need be known only when as many have finished as may be.
        self.finished >= self.fewest
            && self.present().1.iter().all(|&process| self.finished_at[process].is_some())
    }

    fn tick(&mut self, running: usize) {
        let Some(own) = &self.running[running] else { return };
        let (process, is_zombie) = (own.process.id(), own.is_zombie);
        if self.happens(self.faults.crash) {
            let actions = self.stream.index(CRASH_WITHIN_ACTIONS);
            if let Some(own) = &mut self.running[running] {
                own.actions_until_crash = Some(actions);
            }
        }
        if self.happens(self.faults.hostile)
            && let Some((frame, change)) = self.network.forge(&mut self.stream, &mut self.counts)
        {
            self.later(1, SimEvent::Arrival { frame, change });
        }
        // A zombie is ended by its operator at last.
        if is_zombie && !self.network.is_faulty(self.now) {
            return self.crash(running);
        }
        self.mix(&[2, running as u64]);
        self.step(running, Event::Tick);
        let is_slow = self.network.is_slow(process, self.now);
        let ticks = if is_slow { self.faults.slowness.max(1) } else { 1 };
        self.later(MOMENTS_PER_TICK * ticks, SimEvent::Tick { running });
    }

    fn synced(&mut self, running: usize, ticket: u64) {
        // One process at a time may write: a zombie waits for its disk for ever.
        let Some(own) = self.running[running].as_mut().filter(|own| !own.is_zombie) else { return };
        own.disk.sync(ticket);
        if self.faults.backup > 0.0 && self.stream.uniform() < BACKUP_SHARE {
            let backups = &mut self.backups[own.process.id()];
            if backups.len() >= BACKUPS {
                backups.remove(0);
            }
            backups.push(own.disk.clone());
        }
        self.step(running, Event::Persisted { ticket });
    }

    /// A frame reaches all that claim to be its receiver.
    fn arrive(&mut self, frame: &Frame, change: usize) {
        self.counts.delivered += 1;
        self.mix(&[3, frame.to as u64, frame.from as u64, frame.epoch, frame.round]);
        // A zombie and its successor both listen.
        for running in self.listeners.get(frame.to).cloned().unwrap_or_default() {
            // Frames are signed for a run: those of another are no frames at all.
            if self.running[running].as_ref().is_none_or(|own| own.change != change) {
                continue;
            }
            let before = self.sender_seen_by(running, frame);
            if let Some(before) = before {
                self.watch_backup(frame, before, change);
            }
            self.step(running, Event::Received { frame: frame.clone() });
            // One who has just become a zombie is watched no more.
            if let (Some(before), Some(after)) = (before, self.sender_seen_by(running, frame))
                && after.accepted_frames > before.accepted_frames
            {
                self.invariants[change].accepted(frame, before);
                if after.latest < before.latest {
                    let (by, from) = (frame.to, frame.from);
                    self.invariants[change].note(Violation::WentBack { by, from });
                }
            }
        }
    }

    /// What a receiver that is no zombie knows of the sender of a frame.
    fn sender_seen_by(&self, running: usize, frame: &Frame) -> Option<PeerStatus> {
        let own = self.running[running].as_ref().filter(|own| !own.is_zombie)?;
        own.process.peers().find(|peer| peer.peer == frame.from)
    }

    /// Takes note of one who comes from an old backup to one who knows better.
    fn watch_backup(&mut self, frame: &Frame, before: PeerStatus, change: usize) {
        let senders = self.listeners.get(frame.from).into_iter().flatten();
        let mut senders = senders.filter_map(|&running| self.running[running].as_ref());
        let is_restored =
            senders.find(|own| own.nonce == frame.nonce).is_some_and(|own| own.is_restored);
        if is_restored && frame.epoch > before.epoch && frame.durable_round < before.durable_round {
            self.invariants[change].warn(frame);
        }
    }

    /// Lets a process take note of an event, and does what it wants done.
    fn step(&mut self, running: usize, event: Event) {
        let Some(own) = &mut self.running[running] else { return };
        let actions = own.process.step(event);
        for action in actions {
            if let Some(own) = &mut self.running[running]
                && let Some(left) = own.actions_until_crash
            {
                if left == 0 {
                    return self.crash(running);
                }
                own.actions_until_crash = Some(left - 1);
            }
            self.act(running, action);
            if self.running[running].is_none() {
                return;
            }
        }
        if self.running[running].as_ref().is_some_and(|own| own.actions_until_crash == Some(0)) {
            self.crash(running);
        }
    }

    fn act(&mut self, running: usize, action: Action) {
        let Some(own) = &mut self.running[running] else { return };
        match action {
            Action::Persist { .. } if own.is_zombie => {}
            Action::Persist { ticket, slot, bytes } => {
                own.disk.write(ticket, slot, bytes);
                self.later(1, SimEvent::Synced { running, ticket });
            }
            Action::Send { frame } => {
                if !own.is_zombie {
                    let settings = &self.simulation.settings;
                    self.invariants[own.change].sent(&frame, &own.disk, settings);
                }
                let change = own.change;
                self.send(&frame, change);
            }
            Action::Finished { round, converged } => {
                if !own.is_zombie {
                    let process = own.process.id();
                    self.converged |= converged;
                    for (node, participant) in own.process.participants() {
                        self.hypotheses[node] = participant.hypothesis().cloned();
                    }
                    self.finish(process, round);
                }
            }
            Action::Notice(notice) => self.notice(running, &notice),
            Action::Halt(reason) => self.halted(running, &reason),
            Action::Settled | Action::Left => {}
        }
    }

    fn send(&mut self, frame: &Frame, change: usize) {
        self.mix(&[5, frame.kind as u64, frame.round, digest(&frame.payload)]);
        let arrivals =
            self.network.send((frame, change), self.now, &mut self.stream, &mut self.counts);
        for moments in arrivals {
            self.later(moments, SimEvent::Arrival { frame: frame.clone(), change });
        }
    }

    fn notice(&mut self, running: usize, notice: &Notice) {
        match notice {
            Notice::Rejected { reason, .. } => match reason {
                Reason::Malformed(_) | Reason::Stranger | Reason::Changed { .. } => {
                    self.counts.malformed += 1;
                }
                Reason::Rollback { .. } => self.counts.rollbacks += 1,
                _ => self.counts.fenced += 1,
            },
            // The operator starts it again, from what is really on its disk.
            Notice::RefusedBy { .. } => self.crash(running),
            Notice::Waiting { on, .. } => {
                self.counts.named += on.len() as u64;
                self.named.extend(on);
            }
            Notice::Learnt { round, digests } => self.compare(running, *round, digests),
            Notice::GoesOn { from } => self.compare_base(running, *from),
            Notice::Joined { .. } | Notice::Left { .. } => {}
        }
    }

    /// Compares what the nodes of a process have learnt with the undisturbed run.
    fn compare(&mut self, running: usize, round: u64, digests: &[(usize, u64)]) {
        let Some(change) = self.running[running].as_ref().map(|own| own.change) else { return };
        for &(node, now) in digests {
            let expected = self.simulation.expected.and_then(|all| all.get(&(round, node)));
            if expected.is_some_and(|expected| *expected != now) {
                self.invariants[change].note(Violation::OtherBits { node, round });
            }
            self.digests.insert((round, node), now);
        }
    }

    /// Compares the base that a process goes on from with that of others.
    fn compare_base(&mut self, running: usize, from: BasePlace) {
        let Some(own) = self.running[running].as_ref().filter(|own| !own.is_zombie) else { return };
        let (process, change) = (own.process.id(), own.change);
        let known = *self.bases.entry(change as u64).or_insert(from);
        if known != from {
            let (round, other) = (from.round, known.round);
            self.invariants[change].note(Violation::OtherBase { process, round, other });
        }
    }

    fn conclude(mut self) -> SimulationOutcome {
        let (change, present) = self.present();
        let ends: Vec<_> =
            present.into_iter().map(|process| (process, self.finished_at[process])).collect();
        self.invariants[change].ended(&ends, self.simulation.is_synchronous());
        for own in self.running.iter().flatten().filter(|own| !own.is_zombie) {
            for (node, participant) in own.process.participants() {
                self.hypotheses[node] = participant.hypothesis().cloned();
            }
        }
        let (is_slow, traffic) = self.network.into_parts();
        SimulationOutcome {
            hypotheses: self.hypotheses,
            rounds: ends.iter().filter_map(|(_, end)| *end).max().unwrap_or(0),
            converged: self.converged,
            ticks: self.now / MOMENTS_PER_TICK,
            trace: self.trace,
            counts: self.counts,
            traffic,
            slow: (0..is_slow.len()).filter(|&process| is_slow[process]).collect(),
            named: self.named,
            violations: self.invariants.into_iter().flat_map(Invariants::into_violations).collect(),
            bases: self.bases,
            digests: self.digests,
        }
    }
}
