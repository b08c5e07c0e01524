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
            network_faults::{MOMENTS_PER_TICK, draw},
        },
    },
};

impl<M: Method<Participant: Durable>, R: Rules> SimulationRun<'_, M, R> {
    pub(super) fn start(&mut self, process: ProcessId) -> Result<()> {
        let is_restored = !self.backups[process].is_empty() && self.happens(self.faults.backup);
        let mut disk = if is_restored {
            self.counts.backups += 1;
            self.invariants.forget_accepted(process);
            let old = self.stream.index(self.backups[process].len());
            // Who is refused for an old backup is put back on it.
            self.replaced_disks[process] = Some(self.disks[process].clone());
            self.backups[process][old].clone()
        } else {
            self.disks[process].clone()
        };
        // What was in memory only is gone.
        disk.begin();
        let assignment = &self.simulation.layout.assignments()[process];
        let views = assignment.nodes.iter().map(|&node| self.simulation.views[node].clone());
        let mut settings = self.simulation.settings;
        settings.digests |= self.simulation.takes_digests;
        let (method, rules) = (self.simulation.method, self.rules.clone());
        let made = Process::with_rules(method, views.collect(), assignment, settings, rules)?;
        let nonce = 1 + self.stream.index(usize::MAX / 2) as u64;
        let [identity, state] =
            [Slot::Identity, Slot::State].map(|slot| disk.read(slot).map(<[u8]>::to_vec));
        self.running.push(Some(RunningProcess {
            process: made,
            disk,
            nonce,
            is_zombie: false,
            is_restored,
            actions_until_crash: None,
        }));
        let running = self.running.len() - 1;
        self.mix(&[1, process as u64, nonce]);
        self.step(running, Event::Started { identity, state, nonce });
        let first = 1 + draw(&mut self.stream, MOMENTS_PER_TICK);
        self.later(first, SimEvent::Tick { running });
        Ok(())
    }

    pub(super) fn halted(&mut self, running: usize, reason: &Reason) {
        let Some(own) = &self.running[running] else { return };
        if let (Reason::Failed(error), false) = (reason, own.is_zombie) {
            let (process, reason) = (own.process.id(), error.to_string());
            self.invariants.note(Violation::Halted { process, reason });
        }
        self.crash(running);
    }

    /// A process crashes, and is started again after a while; or a zombie ends.
    pub(super) fn crash(&mut self, running: usize) {
        let Some(mut own) = self.running[running].take() else { return };
        let process = own.process.id();
        if own.is_zombie {
            return;
        }
        self.counts.crashes += 1;
        self.invariants.forget_warnings(process);
        self.mix(&[4, running as u64]);
        let mut disk = own.disk.clone();
        disk.crash(self.faults.torn, &mut self.stream);
        self.counts.torn += disk.torn - own.disk.torn;
        self.counts.unwritten += disk.lost - own.disk.lost;
        // The operator goes back to the disk from before the backup if that has seen more.
        let newer = self.replaced_disks[process].take();
        let newer = newer.filter(|replaced| replaced.round() > disk.round());
        if newer.is_some() {
            self.invariants.forget_accepted(process);
        }
        self.disks[process] = newer.unwrap_or(disk);
        if self.happens(self.faults.zombie) {
            self.counts.zombies += 1;
            (own.is_zombie, own.actions_until_crash) = (true, None);
            self.running[running] = Some(own);
        }
        self.finished_at[process] = None;
        let down = 1 + draw(&mut self.stream, self.faults.down.max(1) * MOMENTS_PER_TICK);
        self.later(down, SimEvent::Start { process });
    }
}
