//! How processes start, from what is on their disk or from an old backup, how they crash, and which go
//! on as zombies.

use super::{RunningProcess, SimEvent, SimulationRun};
use crate::{
    error::Result,
    method::{Durable, Method},
    runtime::{
        layout::ProcessId,
        protocol::{Event, Process, Reason, Slot, rules::Rules},
        simulator::{
            Violation,
            change::membership,
            network_faults::{MOMENTS_PER_TICK, draw},
        },
    },
};

impl<M: Method<Participant: Durable>, R: Rules> SimulationRun<'_, M, R> {
    pub(super) fn start(&mut self, process: ProcessId) -> Result<()> {
        let change = self.known[process];
        if self.is_dead[process] || self.is_gone(process, change) {
            return Ok(());
        }
        let is_restored = !self.backups[process].is_empty() && self.happens(self.faults.backup);
        let mut disk = if is_restored {
            self.counts.backups += 1;
            self.invariants[change].forget_accepted(process);
            let old = self.stream.index(self.backups[process].len());
            // Who is refused for an old backup is put back on it.
            self.replaced_disks[process] = Some(self.disks[process][change].clone());
            self.backups[process][old].clone()
        } else {
            self.disks[process][change].clone()
        };
        // What was in memory only is gone.
        disk.begin();
        let (all, layout) = self.members(change);
        let assignment = &layout.assignments()[process];
        let views = assignment.nodes.iter().map(|&node| all[node].clone());
        let mut settings = self.simulation.settings;
        settings.digests |= self.simulation.takes_digests;
        let (method, rules) = (self.simulation.method, self.rules.clone());
        let made = Process::with_rules(method, views.collect(), assignment, settings, rules)?;
        let (first, changes) = (self.simulation.layout, self.simulation.changes);
        let made = made.among(membership(first, changes, process, change))?;
        let nonce = 1 + self.stream.index(usize::MAX / 2) as u64;
        let [identity, state, own_bases] = [Slot::Identity, Slot::State, Slot::Bases]
            .map(|slot| disk.read(slot).map(<[u8]>::to_vec));
        let before = self.disks[process][..change].iter().rev();
        let bases = own_bases.or_else(|| {
            before.filter_map(|disk| disk.read(Slot::Bases)).map(<[u8]>::to_vec).next()
        });
        self.running.push(Some(RunningProcess {
            process: made,
            change,
            disk,
            nonce,
            is_zombie: false,
            is_restored,
            actions_until_crash: None,
        }));
        let running = self.running.len() - 1;
        self.listeners[process].push(running);
        self.mix(&[1, process as u64, nonce]);
        self.step(running, Event::Started { identity, state, bases, nonce });
        let first = 1 + draw(&mut self.stream, MOMENTS_PER_TICK);
        self.later(first, SimEvent::Tick { running });
        Ok(())
    }

    pub(super) fn halted(&mut self, running: usize, reason: &Reason) {
        let Some(own) = &self.running[running] else { return };
        if let (Reason::Failed(error), false) = (reason, own.is_zombie) {
            let (process, reason) = (own.process.id(), error.to_string());
            self.invariants[own.change].note(Violation::Halted { process, reason });
        }
        self.crash(running);
    }

    /// A process crashes, and is started again after a while; or a zombie ends.
    pub(super) fn crash(&mut self, running: usize) {
        let Some(mut own) = self.running[running].take() else { return };
        let (process, change) = (own.process.id(), own.change);
        if own.is_zombie {
            self.listeners[process].retain(|&other| other != running);
            return;
        }
        self.counts.crashes += 1;
        self.invariants[change].forget_warnings(process);
        self.mix(&[4, running as u64]);
        let mut disk = own.disk.clone();
        disk.crash(self.faults.torn, &mut self.stream);
        self.counts.torn += disk.torn - own.disk.torn;
        self.counts.unwritten += disk.lost - own.disk.lost;
        // The operator goes back to the disk from before the backup if that has seen more.
        let newer = self.replaced_disks[process].take();
        let newer = newer.filter(|replaced| replaced.round() > disk.round());
        if newer.is_some() {
            self.invariants[change].forget_accepted(process);
        }
        self.disks[process][change] = newer.unwrap_or(disk);
        if self.happens(self.faults.zombie) {
            self.counts.zombies += 1;
            (own.is_zombie, own.actions_until_crash) = (true, None);
            self.running[running] = Some(own);
        } else {
            self.listeners[process].retain(|&other| other != running);
        }
        self.unfinish(process);
        let down = 1 + draw(&mut self.stream, self.faults.down.max(1) * MOMENTS_PER_TICK);
        self.later(down, SimEvent::Start { process });
    }

    /// The running process that is no zombie.
    fn sound(&self, process: ProcessId) -> Option<usize> {
        let is_sound =
            |running: &usize| self.running[*running].as_ref().is_some_and(|own| !own.is_zombie);
        self.listeners[process].iter().copied().find(is_sound)
    }

    /// A process crashes for good.
    pub(super) fn dies(&mut self, process: ProcessId) {
        self.is_dead[process] = true;
        if let Some(running) = self.sound(process) {
            self.crash(running);
        }
    }

    /// A process learns that members have changed: it stops where it is, and goes on among the new ones.
    pub(super) fn learns(&mut self, process: ProcessId, change: usize) {
        if change <= self.known[process] {
            return;
        }
        let is_new = change as u64 == self.membership(process, change).since;
        self.known[process] = change;
        // Who is down will hear of nothing else when it comes back.
        let running = self.sound(process);
        if let Some(running) = running {
            if let Some(mut own) = self.running[running].take() {
                // What is on its way to the disk may get there or not, as in a crash.
                own.disk.crash(self.faults.torn, &mut self.stream);
                self.disks[process][own.change] = own.disk;
            }
            self.listeners[process].retain(|&other| other != running);
        }
        self.replaced_disks[process] = None;
        self.backups[process].clear();
        self.unfinish(process);
        if running.is_some() || is_new {
            self.later(1, SimEvent::Start { process });
        }
    }
}
