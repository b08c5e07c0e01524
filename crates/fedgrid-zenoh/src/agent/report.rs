//! What an agent reports to its operator, and what it finds out about its neighbours.

use std::time::Instant;

use fedgrid::{
    method::Durable,
    runtime::protocol::{Event, Notice, Reason, RoundMode},
};

use super::{Agent, NeighbourStatus, OUTDATED_AFTER, Phase};
use crate::{
    error::{Error, Result},
    identity::now,
    manifest::LinkProtocol,
};

impl<P: Durable> Agent<'_, P> {
    pub(super) fn notice(&mut self, notice: &Notice) -> Result<()> {
        let name = |peer: usize| {
            let process = self.bundle.manifest.processes.get(peer);
            process.map_or_else(|| format!("#{peer}"), |process| process.name.clone())
        };
        let text = match notice {
            Notice::Waiting { round, on } => {
                for &peer in on {
                    let peer = u32::try_from(peer).unwrap_or(u32::MAX);
                    self.transport.ask(peer, self.process.round());
                }
                let names = on.iter().map(|&peer| name(peer) + &self.trouble(peer));
                let names = names.collect::<Vec<_>>().join(", ");
                Some(format!("round {round} waits for {names}"))
            }
            Notice::Learnt { round, digests } => {
                return self.trace.as_mut().map_or(Ok(()), |trace| trace.write(*round, digests));
            }
            // It is there: what was wrong with it before is out of date.
            Notice::Joined { .. } => None,
            Notice::Left { peer } => Some(format!("{} has left", name(*peer))),
            Notice::Rejected { peer, reason } => {
                self.status.refused += 1;
                Some(format!("a frame of {} was refused: {reason}", name(*peer)))
            }
            Notice::RefusedBy { peer, reason } => {
                Some(format!("{} does not accept this process: {reason}", name(*peer)))
            }
        };
        self.status.notice = text;
        Ok(())
    }

    /// What is known of why a neighbour is not there, in brackets.
    fn trouble(&self, peer: usize) -> String {
        let index = u32::try_from(peer).unwrap_or(u32::MAX);
        match self.transport.fault(index).filter(|_| !self.is_there(index)) {
            Some(fault) if self.transport.is_calling(index) => format!(" ({fault})"),
            Some(_) => " (or one who calls was turned away for its certificate)".into(),
            None => String::new(),
        }
    }

    /// Stops one without a link whose own certificate is out of date, and one that has met nobody, if
    /// all that it calls have wrong certificates: most likely its own site bundle is of another project.
    pub(super) fn check_certificates(&self) -> Result<()> {
        let is_alone = !self
            .process
            .peers()
            .any(|peer| u32::try_from(peer.peer).is_ok_and(|index| self.is_there(index)));
        // An expired certificate closes its links, so whoever has a link has a good one.
        if is_alone {
            self.bundle.check_time(now())?;
        }
        if self.process.peers().any(|peer| peer.accepted_frames > 0) {
            return Ok(());
        }
        let indices = self.process.peers().filter_map(|peer| u32::try_from(peer.peer).ok());
        let called = indices.filter(|&index| self.transport.is_calling(index));
        let faults: Vec<_> = called.map(|index| (index, self.transport.fault(index))).collect();
        match faults.first() {
            Some(&(index, Some(fault))) if faults.iter().all(|(_, fault)| fault.is_some()) => {
                let name = self.bundle.manifest.processes[index as usize].name.clone();
                Err(Error::Neighbour {
                    name,
                    found: format!("{fault}; is this kit the right one?"),
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn halted(&self, reason: Reason) -> Error {
        match reason {
            Reason::Failed(error) => Error::Method(error),
            Reason::Rollback { found, kept } => {
                let path = self.options.folder.display().to_string();
                Error::RolledBack { path, found, seen: kept }
            }
            reason => {
                let name = self.bundle.name().to_string();
                Error::Input(format!("process '{name}' cannot go on: {reason}"))
            }
        }
    }

    /// Stops where a neighbour follows a newer manifest and is heard no more, and lets asynchronous
    /// rounds go on without one that is gone.
    pub(super) fn check_neighbours(&mut self) -> Result<()> {
        let peers: Vec<(usize, u64)> =
            self.process.peers().map(|peer| (peer.peer, peer.accepted_frames)).collect();
        let is_async = self.options.protocol.mode != RoundMode::Synchronous;
        for (peer, accepted) in peers {
            let follows = self.transport.manifest_of(u32::try_from(peer).unwrap_or(u32::MAX));
            self.check_manifest(peer, accepted, follows)?;
            // One that was never heard is waited for: there is no message of it to go on with.
            if is_async && accepted > 0 && follows.is_none() {
                let actions = self.process.step(Event::PeerLost { peer });
                self.act(actions)?;
            }
        }
        Ok(())
    }

    /// Who says that there is a newer manifest may lie, so that alone stops nothing; but whoever is not
    /// heard either has a key that this site bundle does not know, or is in another run. On plain links
    /// anyone could say so.
    fn check_manifest(&mut self, peer: usize, accepted: u64, follows: Option<u64>) -> Result<()> {
        let own = self.bundle.manifest.number;
        let newer = follows
            .filter(|&number| number > own && self.bundle.manifest.link != LinkProtocol::Tcp);
        let Some(newer) = newer else {
            self.newer.remove(&peer);
            return Ok(());
        };
        let (since, frames) = self.newer.entry(peer).or_insert((Instant::now(), accepted));
        if *frames != accepted {
            (*since, *frames) = (Instant::now(), accepted);
        }
        // A neighbour of the same run with a newer manifest goes on being heard, for its key is the same.
        if since.elapsed() < OUTDATED_AFTER {
            return Ok(());
        }
        let name = &self.bundle.manifest.processes[peer].name;
        Err(Error::Manifest {
            found: format!(
                "neighbour '{name}' follows manifest {newer}, this kit has {own}; get the newest kit"
            ),
        })
    }

    /// Whether no neighbour that has not finished seems to be there.
    pub(super) fn is_deserted(&self) -> bool {
        let is_there = |peer: usize| u32::try_from(peer).is_ok_and(|index| self.is_there(index));
        self.process.peers().all(|peer| peer.has_finished || !is_there(peer.peer))
    }

    /// Whether a neighbour seems to be there.
    pub(super) fn is_there(&self, peer: u32) -> bool {
        self.transport.manifest_of(peer).is_some()
    }

    /// Brings the status up to date.
    pub(super) fn refresh(&mut self) {
        self.reported = Instant::now();
        let record = self.process.own_record();
        let all = self.process.record().cloned();
        let round = self.process.round();
        let seen = self.process.peers().map(|peer| NeighbourStatus {
            name: self.bundle.manifest.processes[peer.peer].name.clone(),
            there: u32::try_from(peer.peer).is_ok_and(|index| self.is_there(index)),
            // Its durable round is the largest number then, which nobody wants to read.
            round: if peer.has_finished { round } else { peer.durable_round },
        });
        let neighbours = seen.collect();
        let status = &mut self.status;
        status.neighbours = neighbours;
        (status.epoch, status.round) = (self.process.epoch(), round);
        if status.phase != Phase::Stopped {
            status.phase = match (self.finished, status.round) {
                (true, _) => Phase::Finished,
                (false, 0) => Phase::Starting,
                _ => Phase::Training,
            };
        }
        status.sent_bytes = self.transport.sent();
        (status.loss, status.residual) = (record.loss, record.residual);
        status.gap = all.as_ref().and_then(|all| all.gap).or(record.gap);
        if let Some(all) = all {
            status.residual = all.residual;
        }
        self.shared_state.put_status(status.clone());
    }
}
