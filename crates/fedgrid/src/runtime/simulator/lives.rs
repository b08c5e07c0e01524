//! The lives of processes: how they start, from what is on their disk or from an old backup, how they
//! fall, and who goes on as a zombie.

use super::{
    Violation,
    disk::Disk,
    world::{Happening, TICK, World},
};
use crate::{
    error::Result,
    method::{Durable, Method},
    runtime::{
        layout::ProcessId,
        protocol::{Event, Process, Reason, Slot},
    },
};

/// A running process.
pub(super) struct Body<P: Durable> {
    pub(super) process: Process<P>,
    pub(super) disk: Disk,
    pub(super) nonce: u64,
    /// Whether it is the process itself, and not a zombie.
    pub(super) is_true: bool,
    /// Whether it was started from an old backup.
    pub(super) is_restored: bool,
    /// How many actions it has left before it falls.
    pub(super) doom: Option<usize>,
}

impl<M: Method<Participant: Durable>> World<'_, M> {
    pub(super) fn start(&mut self, process: ProcessId) -> Result<()> {
        let is_restored = !self.backups[process].is_empty() && self.happens(self.faults.backup);
        let mut disk = if is_restored {
            self.counts.backups += 1;
            self.judge.forgets(process);
            let old = self.stream.index(self.backups[process].len());
            self.spares[process] = Some(self.disks[process].clone());
            self.backups[process][old].clone()
        } else {
            self.disks[process].clone()
        };
        disk.begin();
        let seat = self.simulation.layout.seats()[process].clone();
        let views = seat.nodes.iter().map(|&node| self.simulation.views[node].clone()).collect();
        let mut settings = self.simulation.settings;
        settings.digests |= self.simulation.takes_digests;
        let made = Process::new(self.simulation.method, views, seat, settings)?;
        #[cfg(test)]
        let made = {
            let mut made = made;
            made.mutant = self.simulation.mutant;
            made
        };
        let nonce = 1 + self.stream.index(usize::MAX / 2) as u64;
        let [identity, state] =
            [Slot::Identity, Slot::State].map(|slot| disk.read(slot).map(<[u8]>::to_vec));
        let doom = None;
        self.bodies.push(Some(Body {
            process: made,
            disk,
            nonce,
            is_true: true,
            is_restored,
            doom,
        }));
        let body = self.bodies.len() - 1;
        self.mix(&[1, process as u64, nonce]);
        self.step(body, Event::Started { identity, state, nonce });
        let first = 1 + self.draw(TICK);
        self.later(first, Happening::Tick { body });
        Ok(())
    }

    pub(super) fn halted(&mut self, body: usize, reason: &Reason) {
        let Some(own) = &self.bodies[body] else { return };
        let process = own.process.id();
        if let (Reason::Failed(error), true) = (reason, own.is_true) {
            let reason = error.to_string();
            self.judge.note(Violation::Halted { process, reason });
        }
        self.fall(body);
    }

    /// A process falls, and is started again after a while; or a zombie ends.
    pub(super) fn fall(&mut self, body: usize) {
        let Some(mut own) = self.bodies[body].take() else { return };
        let process = own.process.id();
        if !own.is_true {
            return;
        }
        self.counts.crashes += 1;
        // What it knew of others' floors it may have to learn anew.
        self.judge.warned.retain(|(by, _)| *by != process);
        self.mix(&[4, body as u64]);
        let mut disk = own.disk.clone();
        disk.fall(self.faults.torn, &mut self.stream);
        self.counts.torn += disk.torn - own.disk.torn;
        self.counts.unwritten += disk.lost - own.disk.lost;
        // The operator goes back to the disk from before the backup if that has seen more.
        let spare = self.spares[process].take().filter(|spare| spare.round() > disk.round());
        if spare.is_some() {
            self.judge.forgets(process);
        }
        self.disks[process] = spare.unwrap_or(disk);
        if self.happens(self.faults.zombie) {
            self.counts.zombies += 1;
            (own.is_true, own.doom) = (false, None);
            self.bodies[body] = Some(own);
        }
        self.has_finished[process] = None;
        let down = 1 + self.draw(self.faults.down.max(1) * TICK);
        self.later(down, Happening::Start { process });
    }
}
