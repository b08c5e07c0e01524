//! What an agent reports to its operator, and what it finds out about its neighbours.

use std::{sync::Arc, time::Instant};

use fedgrid::{
    method::Durable,
    runtime::protocol::{Event, Notice, Reason, RoundMode},
};

use super::{
    ASK_MANIFEST_EVERY, Agent, EventKind, NeighbourStatus, OUTDATED_AFTER, Phase, Traffic,
};
use crate::{
    audit::AuditLog,
    error::{Error, Result},
    frame::{FrameRefusal, VERSION},
    identity::{Hex, now},
    manifest::LinkProtocol,
    transport::{Answers, ONE_THREAD, RUNTIME_VARIABLE, has_one_thread, needs_one_thread},
};

impl<P: Durable> Agent<'_, P> {
    /// Takes note of the start.
    pub(super) fn begin(&mut self) {
        let (epoch, round) = (self.process.epoch(), self.process.round());
        let text = format!("start {epoch}, from round {round}");
        self.watched.events.add(EventKind::Started, text);
        if let Some(notice) = self.status.notice.clone() {
            self.watched.events.add(EventKind::Warning, notice);
        }
        if needs_one_thread(&self.bundle.manifest) && !has_one_thread() {
            let text = format!(
                "links over TLS without {RUNTIME_VARIABLE}='{ONE_THREAD}': this process may abort when a neighbour falls"
            );
            self.watched.events.add(EventKind::Warning, text);
        }
    }

    /// Takes note of the end.
    pub(super) fn end(&mut self, ended: &Result<()>) {
        let round = self.process.round();
        let (phase, kind, text) = match ended {
            Ok(()) if self.finished => {
                (Phase::Finished, EventKind::Finished, format!("ended after round {round}"))
            }
            Ok(()) => (Phase::Stopped, EventKind::Stopped, format!("stopped after round {round}")),
            Err(error) => (Phase::Stopped, EventKind::Warning, error.to_string()),
        };
        self.status.phase = phase;
        self.watched.events.add(kind, text);
        self.refresh();
    }

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
                self.watched.waits(self.process.round(), *round, on, &names);
                Some(format!("round {round} waits for {names}"))
            }
            Notice::Learnt { round, digests } => {
                return self.trace.as_mut().map_or(Ok(()), |trace| trace.write(*round, digests));
            }
            Notice::Joined { peer, epoch } => {
                let text = format!("{} has joined (start {epoch})", name(*peer));
                self.watched.events.add(EventKind::Joined, text);
                // It is there: what was wrong with it before is out of date.
                None
            }
            Notice::GoesOn { from } => {
                let text = format!("members have changed; it goes on from round {}", from.round);
                self.watched.events.add(EventKind::Resumed, text.clone());
                Some(text)
            }
            Notice::Left { peer } => {
                let text = format!("{} has left", name(*peer));
                self.watched.events.add(EventKind::Gone, text.clone());
                Some(text)
            }
            Notice::Rejected { peer, reason } => {
                self.status.refused += 1;
                let text = format!("a frame of {} was refused: {reason}", name(*peer));
                self.watched.events.add(EventKind::Refused, text.clone());
                Some(text)
            }
            Notice::RefusedBy { peer, reason } => {
                let text = format!("{} does not accept this process: {reason}", name(*peer));
                self.watched.events.add(EventKind::Warning, text.clone());
                Some(text)
            }
        };
        self.status.notice = text;
        Ok(())
    }

    /// What is said of a frame that came on the way from a neighbour and was refused.
    pub(super) fn refused(&self, way: u32, refusal: FrameRefusal) -> String {
        match (refusal, self.bundle.manifest.process(way)) {
            // Nobody else puts frames there, but on plain links; so this is said and stops nothing.
            (FrameRefusal::Version(found), Some(neighbour)) => {
                let (name, own) = (&neighbour.name, self.bundle.name());
                let (old, number) =
                    if found < VERSION { (name.as_str(), VERSION) } else { (own, found) };
                format!(
                    "{name} sends frames of version {found}, {own} has version {VERSION}: upgrade fedgrid at {old} to one \
                     that has version {number}"
                )
            }
            _ => format!("a frame was refused: {refusal}"),
        }
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
    fn check_manifest(
        &mut self,
        peer: usize,
        accepted: u64,
        follows: Option<(u64, usize)>,
    ) -> Result<()> {
        let own = self.bundle.manifest.order();
        let newer = follows.filter(|&order| order > own);
        if newer.is_some() {
            self.ask_manifest(peer);
        }
        let Some(newer) = newer.filter(|_| self.bundle.manifest.link != LinkProtocol::Tcp) else {
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
                "neighbour '{name}' follows manifest {}, this kit has {}; get the newest kit",
                newer.0, own.0
            ),
        })
    }

    /// Asks a neighbour for its newer manifest, whose signature will tell whether it is one.
    fn ask_manifest(&mut self, peer: usize) {
        if self.asked_manifest.is_some_and(|last| last.elapsed() < ASK_MANIFEST_EVERY) {
            return;
        }
        self.asked_manifest = Some(Instant::now());
        let answers: Arc<dyn Answers> = Arc::clone(&self.shared_state) as Arc<dyn Answers>;
        let peer = u32::try_from(peer).unwrap_or(u32::MAX);
        self.transport.ask_manifest(peer, &answers);
    }

    /// Whether no neighbour that has not finished seems to be there.
    pub(super) fn is_deserted(&self) -> bool {
        let is_there = |peer: usize| u32::try_from(peer).is_ok_and(|index| self.is_there(index));
        self.process.peers().all(|peer| peer.has_finished || !is_there(peer.peer))
    }

    /// Whether every neighbour has finished, or is in a later stage already.
    pub(super) fn is_last_here(&self) -> bool {
        let own = self.options.stage.number;
        let is_later = |peer: usize| {
            let index = u32::try_from(peer).unwrap_or(u32::MAX);
            self.transport.stage_of(index).is_some_and(|stage| stage > own)
        };
        let mut peers = self.process.peers();
        self.options.stage.has_next && peers.all(|peer| peer.has_finished || is_later(peer.peer))
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
        self.watched.at_round(round);
        let neighbours: Vec<NeighbourStatus> = self
            .process
            .peers()
            .map(|peer| {
                let index = u32::try_from(peer.peer).unwrap_or(u32::MAX);
                let (frames, bytes) = self.transport.sent_to(index);
                NeighbourStatus {
                    name: self.bundle.manifest.processes[peer.peer].name.clone(),
                    there: self.is_there(index),
                    // Its durable round is the largest number then, which nobody wants to read.
                    round: if peer.has_finished { round } else { peer.durable_round },
                    awaited: self.watched.is_awaited(peer.peer),
                    sent: Traffic { frames, bytes },
                    received: self.watched.received_of(peer.peer),
                }
            })
            .collect();
        self.watched.links(&self.status.neighbours, &neighbours);
        if self.finished && self.status.phase != Phase::Finished {
            let text = format!("training has ended after round {round}");
            self.watched.events.add(EventKind::Finished, text);
        }
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
        let waiting = status.neighbours.iter().filter(|seen| seen.awaited);
        status.waiting_for = waiting.map(|seen| seen.name.clone()).collect();
        status.round_age_seconds = self.watched.round_age().as_secs_f64();
        status.validation = self.watched.validation;
        status.checkpoints = self.watched.checkpoints;
        status.checkpoint_seconds = self.watched.checkpoint_time.as_secs_f64();
        if let Some(head) = self.audit.as_ref().map(AuditLog::head) {
            status.audit_records = Some(head.records);
            status.audit_head = Some(Hex(head.hash).to_string());
        }
        status.events = self.watched.events.latest();
        status.sent_bytes = self.transport.sent();
        (status.loss, status.residual) = (record.loss, record.residual);
        status.gap = all.as_ref().and_then(|all| all.gap).or(record.gap);
        if let Some(all) = all {
            status.residual = all.residual;
        }
        self.shared_state.put_status(status.clone());
    }
}
