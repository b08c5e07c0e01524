//! The agent: drives the protocol of one process over Zenoh, with its state on disk.
//!
//! ```text
//! event (frame, tick, durable, leave) ──▶ protocol ──▶ actions (write, send, report)
//! ```
//!
//! The protocol decides; the agent checks signatures before it tells the protocol of a frame, writes
//! before it says that something is written, and signs what is sent. It opens no link but to
//! neighbours, and asks no clock but for ticks.

mod ledgers;
mod shared_state;
mod health;
mod options;
mod order;
mod stage;
mod events;
mod status;
mod watched;
mod report;
mod trace;
mod updates;

use std::{
    collections::{BTreeMap, VecDeque},
    ops::ControlFlow,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

pub use events::{AgentEvent, EventKind};
use fedgrid::{
    method::{Durable, Method},
    network::{Edge, Network, View},
    runtime::{
        Layout,
        protocol::{Action, Event, Process, ProtocolSettings, RoundMode, Slot},
    },
};
use health::Health;
use ledgers::Ledgers;
pub use options::{AgentOutcome, Options};
pub use order::OperatorOrder;
use shared_state::SharedState;
pub use stage::Stage;
pub use status::{NeighbourStatus, Phase, Status, Traffic};
use trace::Trace;
pub use updates::Updates;
pub use watched::Score;
use watched::Watched;

use crate::{
    audit::AuditLog,
    checkpoint::{Store, StoredBytes},
    disk::{self, Access},
    error::{Error, Result},
    frame::{Frame, FrameVerifier, LARGEST_FRAME_BYTES, seal},
    identity::{Hex, now, random_bytes},
    manifest::{LARGEST_MANIFEST_BYTES, Manifest, run_with_rows},
    site_bundle::SiteBundle,
    transport::{Answers, SessionRole, SessionSettings, Transport},
};

/// After how long a finished process leaves when all others that have not finished are gone: a neighbour
/// that is started again needs about as long to come back.
const DESERTED_AFTER: Duration = Duration::from_secs(5);
/// After how long without a frame a neighbour that follows a newer manifest is believed to be right: a
/// link is dropped after two seconds of silence, until then frames may be on their way, and it may give its manifest.
const OUTDATED_AFTER: Duration = Duration::from_secs(5);
/// How often such a neighbour is asked for it.
const ASK_MANIFEST_EVERY: Duration = Duration::from_secs(1);
/// How often the manifest in the kit is looked at: a newer one may have been carried there.
const LOOK_AT_KIT_EVERY: Duration = Duration::from_secs(1);
/// If no neighbour was reached after this long, certificate errors are reported as a wrong site bundle.
const UNMET_AFTER: Duration = Duration::from_secs(3);
/// The newest manifest that a process was sent, in the folder of its state: it counts where it is newer than the kit's.
pub const SENT_MANIFEST: &str = "manifest.txt";
/// How often a status is reported: often enough for a terminal to look alive.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// The network of a manifest.
pub fn network_of(manifest: &Manifest) -> Result<Network> {
    let names = manifest.nodes.iter().map(|node| node.name.clone()).collect();
    let edge = |&(a, b, weight): &(u32, u32, f64)| Edge {
        source: a.min(b) as usize,
        target: a.max(b) as usize,
        weight,
    };
    Ok(Network::new(names, manifest.edges.iter().map(edge))?)
}

/// Which process hosts which of its nodes.
fn layout_of(manifest: &Manifest) -> Result<Layout> {
    let process_of: Vec<usize> = manifest.nodes.iter().map(|node| node.process as usize).collect();
    Ok(Layout::new(&network_of(manifest)?, &process_of)?)
}

/// Runs a process of a federation to its end, reporting its status now and then.
pub fn run<M>(
    bundle: &SiteBundle,
    method: &M,
    views: Vec<View>,
    options: &Options,
    report: &mut dyn FnMut(&Status) -> ControlFlow<()>,
) -> Result<AgentOutcome<M::Participant>>
where
    M: Method<Participant: Durable>,
{
    run_scored(bundle, method, views, options, report, &mut |_| None)
}

/// The same, with an error of its models in the status.
pub fn run_scored<M>(
    bundle: &SiteBundle,
    method: &M,
    views: Vec<View>,
    options: &Options,
    report: &mut dyn FnMut(&Status) -> ControlFlow<()>,
    score: &mut Score<'_>,
) -> Result<AgentOutcome<M::Participant>>
where
    M: Method<Participant: Durable>,
{
    let mut agent = Agent::new(bundle, method, views, options)?;
    let ended = agent.turns(report, score).and_then(|()| agent.passes());
    agent.end(&ended);
    // It has ended: there is nothing left to stop.
    let _ = report(&agent.status);
    let Agent { process, transport, finished, converged, status, .. } = agent;
    transport.close();
    ended.map(|()| AgentOutcome { process, finished, converged, status })
}

struct Agent<'a, P: Durable> {
    bundle: &'a SiteBundle,
    options: &'a Options,
    process: Process<P>,
    verifier: FrameVerifier,
    store: Store,
    ledgers: Ledgers,
    transport: Transport,
    shared_state: Arc<SharedState>,
    trace: Option<Trace>,
    audit: Option<AuditLog>,
    status: Status,
    watched: Watched,
    reported: Instant,
    /// Neighbours that follow a newer manifest: since when, and how many frames were accepted by then.
    newer: BTreeMap<usize, (Instant, u64)>,
    /// When one of them was last asked for it.
    asked_manifest: Option<Instant>,
    /// When the manifest in the kit was looked at, and when it was last written.
    kit_manifest: (Instant, Option<SystemTime>),
    finished: bool,
    converged: bool,
    over: bool,
    /// The folder of its state.
    folder: PathBuf,
    _health: Option<Health>,
}

impl<'a, P: Durable> Agent<'a, P> {
    fn new<M: Method<Participant = P>>(
        bundle: &'a SiteBundle,
        method: &M,
        views: Vec<View>,
        options: &'a Options,
    ) -> Result<Self> {
        let manifest = &bundle.manifest;
        let mut process = process_of(bundle, method, views, options)?;
        let run: String = manifest.run.to_string();
        // Every run has its own state; budgets are over all of a site's runs.
        let folder = folder_of(&manifest.run, options);
        // The folder is locked from here on: two agents on one state would be copies with the same epoch.
        let (store, found) = Store::open(&folder, bundle.owner())?;
        let ledgers = Ledgers::open(&options.ledgers, bundle, &mut process)?;
        let shared_state = Arc::new(SharedState::new(bundle, now(), options.tells_error));
        let nonce = u64::from_le_bytes(random_bytes()?);
        let StoredBytes { identity, state, bases } = found;
        let bases = bases.map_or_else(|| former_bases(bundle, options), |own| Ok(Some(own)))?;
        // What the start wants done waits in `begun` until the links are there.
        let begun = process.step(Event::Started { identity, state, bases, nonce });
        let transport = links(bundle, options, &shared_state)?;
        let health = options.health.map(|port| {
            let looked = Arc::clone(&shared_state);
            Health::new(port, Arc::new(move || looked.health()))
        });
        let health = health.transpose()?;
        let status = Status {
            version: env!("CARGO_PKG_VERSION").into(),
            process: bundle.name().to_string(),
            run,
            manifest: manifest.number,
            nodes: process.participants().count(),
            health: health.as_ref().map(|health| format!("http://{}/health", health.address())),
            notice: store.damage.first().map(ToString::to_string),
            ..Status::default()
        };
        let mut agent = Self {
            bundle,
            options,
            verifier: verifier(bundle, &process, options),
            process,
            store,
            ledgers,
            transport,
            shared_state,
            trace: options.trace.as_deref().map(Trace::open).transpose()?,
            audit: audit_log(bundle, options)?,
            status,
            watched: Watched::new(),
            reported: Instant::now(),
            newer: BTreeMap::new(),
            asked_manifest: None,
            kit_manifest: (Instant::now(), None),
            finished: false,
            converged: false,
            over: false,
            folder,
            _health: health,
        };
        // Before anything is sent: an old state would answer again what its ledger has counted.
        agent.ledgers.check(&options.folder, &agent.process)?;
        agent.act(begun)?;
        agent.begin();
        agent.ask_all();
        Ok(agent)
    }

    /// Turns until the process has ended.
    fn turns(
        &mut self,
        report: &mut dyn FnMut(&Status) -> ControlFlow<()>,
        score: &mut Score<'_>,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut tick = begun + self.options.tick;
        let (mut linger, mut deserted): (Option<Instant>, Option<Instant>) = (None, None);
        let stage = &self.options.stage;
        let was_passed = stage.is_passed(&self.folder);
        let (mut last_round, mut there) = (0, 0);
        while !self.over {
            let wait = tick.saturating_duration_since(Instant::now());
            if let Some((from, bytes)) = self.transport.inbox().next(wait) {
                self.receive(from, &bytes)?;
                self.receive_more()?;
            } else {
                // What was sent to a neighbour before it was there is lost, and sent again at once.
                let peers = self.verifier.senders.keys();
                let now_there = peers.filter(|&&peer| self.is_there(peer)).count();
                if now_there > there {
                    (tick, last_round) = (Instant::now(), self.process.round());
                }
                there = now_there;
            }
            if Instant::now() >= tick {
                tick = Instant::now() + self.options.tick;
                self.check_neighbours()?;
                self.look_at_kit();
                if begun.elapsed() >= UNMET_AFTER && !self.finished {
                    self.check_certificates()?;
                }
                // Where rounds go on nothing is missing, and nothing need be asked for.
                let round = self.process.round();
                if self.options.protocol.mode != RoundMode::Synchronous || last_round == round {
                    let actions = self.process.step(Event::Tick);
                    self.act(actions)?;
                }
                last_round = round;
            }
            self.shared_state.turn();
            if let Some(signed) = self.shared_state.newer() {
                return self.follow(&signed);
            }
            if self.reported.elapsed() >= REPORT_EVERY {
                self.watched.score(&self.process, score);
                self.refresh();
                if report(&self.status).is_break() || self.shared_state.is_stopped() {
                    return self.leave();
                }
            }
            if self.finished {
                let since = *linger.get_or_insert_with(Instant::now);
                let waited = since.elapsed();
                self.over |= was_passed || self.is_last_here();
                // Neighbours that have not finished may still need frames; but not for ever, unless they are needed.
                self.over |= !stage.has_next && waited >= self.options.linger;
                // One that goes through earlier stages again is there, but for the moments in between.
                deserted =
                    if self.is_deserted() { deserted.or(Some(Instant::now())) } else { None };
                let is_long = deserted.is_some_and(|since| since.elapsed() >= DESERTED_AFTER);
                self.over |= !stage.has_next && is_long;
            }
        }
        self.watched.score(&self.process, score);
        Ok(())
    }

    /// Takes what else has come, for as long as a status may wait: where a round takes longer than a tick,
    /// one frame a round would leave the others to grow old in the inbox.
    fn receive_more(&mut self) -> Result<()> {
        while !self.over && self.reported.elapsed() < REPORT_EVERY {
            let next = self.transport.inbox().next(Duration::ZERO);
            let Some((from, bytes)) = next else { break };
            self.receive(from, &bytes)?;
        }
        Ok(())
    }

    fn receive(&mut self, way: u32, bytes: &[u8]) -> Result<()> {
        match self.verifier.verify(bytes) {
            Ok(frame) => {
                self.status.received_bytes += bytes.len() as u64;
                let (from, epoch) = (frame.from, frame.epoch);
                self.watched.received(from, bytes.len());
                let actions = self.process.step(Event::Received { frame });
                self.act(actions)?;
                self.fence(from, epoch);
            }
            Err(refusal) => {
                // Counted and named, no more: whoever sends garbage must not be able to stop an agent.
                self.status.refused += 1;
                let text = self.refused(way, refusal);
                self.watched.events.add(EventKind::Refused, text.clone());
                self.status.notice = Some(text);
            }
        }
        Ok(())
    }

    /// Once the protocol has met a neighbour anew, nothing of its former self is accepted.
    fn fence(&mut self, from: usize, epoch: u64) {
        let index = u32::try_from(from).unwrap_or(u32::MAX);
        let Some(expected) = self.verifier.senders.get_mut(&index) else { return };
        if *expected.epochs.start() < epoch {
            let met = self.process.peers().find(|peer| peer.peer == from);
            let epoch = met.map_or(0, |peer| peer.epoch);
            expected.epochs = epoch..=u64::MAX;
        }
    }

    /// Does what the protocol wants, in order, and what follows from that.
    fn act(&mut self, actions: Vec<Action>) -> Result<()> {
        let mut open: VecDeque<Action> = actions.into();
        while let Some(action) = open.pop_front() {
            match action {
                Action::Persist { ticket, slot, bytes } => {
                    self.persist(slot, bytes)?;
                    // A write returns when it is durable, so that what follows from it may be done at once.
                    let follow = self.process.step(Event::Persisted { ticket });
                    open.extend(follow);
                }
                Action::Send { frame } => self.send(&frame)?,
                Action::Notice(notice) => self.notice(&notice)?,
                Action::Finished { converged, .. } => {
                    (self.finished, self.converged) = (true, converged);
                }
                Action::Settled | Action::Left => self.over = true,
                Action::Halt(reason) => return Err(self.halted(reason)),
            }
        }
        Ok(())
    }

    /// Makes bytes durable; what was given away is written down after the state that knows of it and
    /// before anything that follows from it leaves.
    fn persist(&mut self, slot: Slot, bytes: Vec<u8>) -> Result<()> {
        let begun = Instant::now();
        // Before the state: after a loss of power it begins with nothing sent that is not written down.
        if let (Some(audit), Slot::State) = (&mut self.audit, slot) {
            audit.sync()?;
        }
        // State first: a ledger that counts more than its state would take that state for an old one.
        self.store.save(slot, bytes)?;
        match slot {
            Slot::Identity | Slot::Bases => Ok(()),
            Slot::State => {
                self.ledgers.charge(self.bundle, &self.process)?;
                self.watched.checkpoint(begun.elapsed());
                Ok(())
            }
        }
    }

    fn send(&mut self, frame: &Frame) -> Result<()> {
        let manifest = &self.bundle.manifest;
        let sealed = seal(frame, &manifest.run.0, self.verifier.shape, &self.bundle.key);
        let to = u32::try_from(frame.to).unwrap_or(u32::MAX);
        let name = manifest.process(to).map_or("", |to| &to.name);
        let Some(bytes) = sealed else {
            return Err(Error::TooLarge {
                name: name.into(),
                bytes: frame.payload.len(),
                cap: LARGEST_FRAME_BYTES,
            });
        };
        if let Some(audit) = &mut self.audit {
            audit.record(frame, bytes.len(), name, now())?;
        }
        // A neighbour that is not there yet gets nothing pushed, and asks for the latest frames when it comes.
        self.shared_state.put_frame(to, frame.round, bytes.clone());
        self.transport.send(to, bytes);
        Ok(())
    }

    /// Late joiners ask for what they missed.
    fn ask_all(&self) {
        for &peer in self.verifier.senders.keys() {
            self.transport.ask(peer, self.process.round());
        }
    }

    /// Remembers that all have finished this stage, where another follows.
    fn passes(&self) -> Result<()> {
        if self.finished && self.over { self.options.stage.pass(&self.folder) } else { Ok(()) }
    }

    /// Takes the manifest that somebody has put into the kit meanwhile.
    fn look_at_kit(&mut self) {
        if self.kit_manifest.0.elapsed() < LOOK_AT_KIT_EVERY {
            return;
        }
        let path = self.bundle.folder.join("manifest.txt");
        let written = disk::written(&path);
        if written != self.kit_manifest.1
            && let Ok(text) = disk::read_text(&path, LARGEST_MANIFEST_BYTES)
        {
            self.shared_state.take_manifest(text.as_bytes());
        }
        self.kit_manifest = (Instant::now(), written);
    }

    /// A newer manifest has come: it is kept, and this process ends to begin again by it.
    fn follow(&mut self, signed: &str) -> Result<()> {
        let path = self.options.folder.join(SENT_MANIFEST);
        disk::write(&path, signed.as_bytes(), Access::Shared)?;
        self.watched.events.add(EventKind::Resumed, "a newer manifest has come".into());
        // Who has finished goes on with the others.
        self.finished = false;
        self.leave()
    }

    fn leave(&mut self) -> Result<()> {
        // Who leaves before all have finished comes back to this stage.
        self.finished &= !self.options.stage.has_next;
        let actions = self.process.step(Event::Leave);
        self.act(actions)
    }
}

/// The process of a site as its manifest has it.
fn process_of<M: Method<Participant: Durable>>(
    bundle: &SiteBundle,
    method: &M,
    views: Vec<View>,
    options: &Options,
) -> Result<Process<M::Participant>> {
    let manifest = &bundle.manifest;
    let layout = layout_of(manifest)?;
    let assignment = &layout.assignments()[bundle.process as usize];
    let protocol = ProtocolSettings {
        digests: options.trace.is_some(),
        // Only training goes on with other members; what follows it begins anew.
        keeps_bases: options.protocol.keeps_bases && options.stage.number == 0,
        // All sites must have the same limit, or one would send what another refuses for ever.
        largest_number: manifest.largest_number,
        ..options.protocol
    };
    let process = Process::new(method, views, assignment, protocol)?;
    if options.stage.number > 0 {
        return Ok(process);
    }
    Ok(process.among(manifest.membership(bundle.process))?)
}

/// Where the state of a run is kept.
fn folder_of(run: &Hex<16>, options: &Options) -> PathBuf {
    options.folder.join(format!("run-{}", &run.to_string()[..8]))
}

/// From where a run goes on, as the newest run before it has left it here.
fn former_bases(bundle: &SiteBundle, options: &Options) -> Result<Option<Vec<u8>>> {
    if options.stage.number > 0 {
        return Ok(None);
    }
    let manifest = &bundle.manifest;
    for first in manifest.lineage() {
        let own = manifest.updated.filter(|(run, _)| *run == first);
        let last = match own {
            Some((_, updates)) => updates - 1,
            None => Updates::read(&options.folder, &first)?.count,
        };
        for updates in (0..=last).rev() {
            let run = if updates == 0 { first } else { run_with_rows(&first, updates) };
            let found = Store::bases_of(&folder_of(&run, options), bundle.owner_in(&run))?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// The links of a process to its neighbours.
fn links(
    bundle: &SiteBundle,
    options: &Options,
    shared_state: &Arc<SharedState>,
) -> Result<Transport> {
    let answers: Arc<dyn Answers> = Arc::clone(shared_state) as Arc<dyn Answers>;
    let stage = &options.stage;
    let settings = SessionSettings {
        manifest: stage.links.as_ref().unwrap_or(&bundle.manifest),
        role: SessionRole::Process(bundle.process),
        folder: &bundle.folder,
        listen: options.listen.as_deref(),
        scouting: options.scouting,
        stage: stage.number,
    };
    Transport::new(&settings, bundle.process, &answers)
}

/// The log of what is sent, where one is kept.
fn audit_log(bundle: &SiteBundle, options: &Options) -> Result<Option<AuditLog>> {
    let open = |path| AuditLog::open(path, &bundle.manifest, &options.method);
    options.audit.as_deref().map(open).transpose()
}

/// What is expected of each neighbour.
fn verifier<P: Durable>(
    bundle: &SiteBundle,
    process: &Process<P>,
    options: &Options,
) -> FrameVerifier {
    let met = process.peers().filter_map(|peer| {
        let index = u32::try_from(peer.peer).ok()?;
        Some((index, peer.epoch, process.largest_payload(peer.peer)?))
    });
    bundle.verifier(met, (options.protocol.stop.rounds as u64).saturating_add(1))
}
