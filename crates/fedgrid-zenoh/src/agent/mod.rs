//! The agent: drives the protocol of one process over Zenoh, with its state on disk.
//!
//! ```text
//! event (frame, tick, durable, leave) ──▶ protocol ──▶ actions (write, send, tell)
//! ```
//!
//! The protocol decides; the agent checks signatures before it tells the protocol of a frame, writes
//! before it says that something is written, and signs what is sent. It opens no link but to
//! neighbours, and asks no clock but for ticks.

mod books;
mod desk;
mod health;
mod options;
mod order;
mod status;
mod telling;
mod trace;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use books::Books;
use desk::Desk;
use fedgrid::{
    method::{Durable, Method},
    network::{Edge, Network, View},
    runtime::{
        Layout,
        protocol::{Action, Event, Mode, Process, Settings as Protocol, Slot},
    },
};
use health::Health;
pub use options::{Flow, Options, Outcome};
pub use order::Order;
pub use status::{Phase, Seen, Status};
use trace::Trace;

use crate::{
    checkpoint::{Kept, Store},
    error::{Error, Result},
    frame::{CAP, Frame, Gate, seal},
    identity::{now, random_bytes},
    kit::Kit,
    manifest::Manifest,
    transport::{Answers, Role, Settings, Transport},
};

/// After how long a finished process leaves when all others that have not finished are gone.
const GONE: Duration = Duration::from_secs(5);
/// After how long without a frame a neighbour that follows a newer manifest is believed to be right.
const OUTDATED: Duration = Duration::from_secs(2);
/// If no neighbour was reached after this long, certificate errors are reported as a wrong kit.
const UNMET: Duration = Duration::from_secs(3);
/// How often a status is told.
const TELL: Duration = Duration::from_millis(200);

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

/// Runs a process of a federation to its end, telling its status now and then.
pub fn run<M>(
    kit: &Kit,
    method: &M,
    views: Vec<View>,
    options: &Options,
    tell: &mut dyn FnMut(&Status) -> Flow,
) -> Result<Outcome<M::Participant>>
where
    M: Method<Participant: Durable>,
{
    let mut agent = Agent::new(kit, method, views, options)?;
    let ended = agent.turns(tell);
    agent.status.phase = match &ended {
        Ok(()) if agent.finished => Phase::Finished,
        _ => Phase::Stopped,
    };
    agent.refresh();
    let Agent { process, transport, finished, converged, status, .. } = agent;
    transport.close();
    ended.map(|()| Outcome { process, finished, converged, status })
}

struct Agent<'a, P: Durable> {
    kit: &'a Kit,
    options: &'a Options,
    process: Process<P>,
    gate: Gate,
    store: Store,
    books: Books,
    transport: Transport,
    desk: Arc<Desk>,
    trace: Option<Trace>,
    status: Status,
    told: Instant,
    /// Neighbours that follow a newer manifest: since when, and how many frames were accepted by then.
    newer: BTreeMap<usize, (Instant, u64)>,
    finished: bool,
    converged: bool,
    over: bool,
    _health: Option<Health>,
}

impl<'a, P: Durable> Agent<'a, P> {
    fn new<M: Method<Participant = P>>(
        kit: &'a Kit,
        method: &M,
        views: Vec<View>,
        options: &'a Options,
    ) -> Result<Self> {
        let manifest = &kit.manifest;
        let places: Vec<usize> = manifest.nodes.iter().map(|node| node.process as usize).collect();
        let layout = Layout::new(&network_of(manifest)?, &places)?;
        let seat = layout.seats()[kit.process as usize].clone();
        let protocol = Protocol {
            digests: options.trace.is_some(),
            largest: manifest.largest_number,
            ..options.protocol
        };
        let mut process = Process::new(method, views, seat, protocol)?;
        let run: String = manifest.run.to_string();
        // Every run has its own state; budgets are over all of a site's runs.
        let folder = options.folder.join(format!("run-{}", &run[..8]));
        let (store, found) = Store::open(&folder, kit.owner())?;
        let books = Books::open(&options.ledgers, kit, &mut process)?;
        let desk = Arc::new(Desk::new(kit.project, now()));
        let nonce = u64::from_le_bytes(random_bytes()?);
        let (identity, state) = found;
        let begun = process.step(Event::Started { identity, state, nonce });
        let transport = links(kit, options, &desk)?;
        let health = options.health.map(|port| {
            let looked = Arc::clone(&desk);
            Health::new(port, Arc::new(move || looked.health()))
        });
        let health = health.transpose()?;
        let status = Status {
            process: kit.name().to_string(),
            run,
            manifest: manifest.number,
            nodes: process.participants().count(),
            health: health.as_ref().map(|health| format!("http://{}/health", health.address())),
            notice: store.damage.first().map(ToString::to_string),
            ..Status::default()
        };
        let mut agent = Self {
            kit,
            options,
            gate: gate(kit, &process, options),
            process,
            store,
            books,
            transport,
            desk,
            trace: options.trace.as_deref().map(Trace::open).transpose()?,
            status,
            told: Instant::now(),
            newer: BTreeMap::new(),
            finished: false,
            converged: false,
            over: false,
            _health: health,
        };
        agent.books.check(&options.folder, &agent.process)?;
        agent.act(begun)?;
        agent.ask_all();
        Ok(agent)
    }

    /// Turns until the process has ended.
    fn turns(&mut self, tell: &mut dyn FnMut(&Status) -> Flow) -> Result<()> {
        let begun = Instant::now();
        let mut tick = begun + self.options.tick;
        let mut linger: Option<Instant> = None;
        let (mut last_round, mut there) = (0, 0);
        while !self.over {
            let wait = tick.saturating_duration_since(Instant::now());
            if let Some((_, bytes)) = self.transport.inbox().next(wait) {
                self.hear(&bytes)?;
                self.hear_more()?;
            } else {
                // What was said to a neighbour before it was there is lost, and said again at once.
                let peers = self.gate.senders.keys();
                let now_there = peers.filter(|&&peer| self.is_there(peer)).count();
                if now_there > there {
                    (tick, last_round) = (Instant::now(), self.process.round());
                }
                there = now_there;
            }
            if Instant::now() >= tick {
                tick = Instant::now() + self.options.tick;
                self.check_neighbours()?;
                if begun.elapsed() >= UNMET && !self.finished {
                    self.check_certificates()?;
                }
                // Where rounds go on nothing is missing, and nothing need be asked for.
                let round = self.process.round();
                if self.options.protocol.mode != Mode::Synchronous || last_round == round {
                    let actions = self.process.step(Event::Tick);
                    self.act(actions)?;
                }
                last_round = round;
            }
            self.desk.turn();
            if self.told.elapsed() >= TELL {
                self.refresh();
                if tell(&self.status) == Flow::Stop || self.desk.is_stopped() {
                    return self.leave();
                }
            }
            if self.finished {
                let since = *linger.get_or_insert_with(Instant::now);
                let waited = since.elapsed();
                self.over |= waited >= self.options.linger;
                self.over |= waited >= GONE && self.is_deserted();
            }
        }
        self.refresh();
        tell(&self.status);
        Ok(())
    }

    /// Hears what else has come, for as long as a status may wait: where a round takes longer than a tick,
    /// one word a round would leave neighbours' words to grow old in the inbox.
    fn hear_more(&mut self) -> Result<()> {
        while !self.over && self.told.elapsed() < TELL {
            let Some((_, bytes)) = self.transport.inbox().next(Duration::ZERO) else { break };
            self.hear(&bytes)?;
        }
        Ok(())
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<()> {
        match self.gate.open(bytes) {
            Ok(frame) => {
                self.status.received_bytes += bytes.len() as u64;
                let (from, epoch) = (frame.from, frame.epoch);
                let actions = self.process.step(Event::Received { frame });
                self.act(actions)?;
                self.fence(from, epoch);
            }
            Err(refusal) => {
                self.status.refused += 1;
                self.status.notice = Some(format!("a frame was refused: {refusal}"));
            }
        }
        Ok(())
    }

    /// Once the protocol has met a neighbour anew, nothing of its former self passes the gate.
    fn fence(&mut self, from: usize, epoch: u64) {
        let place = u32::try_from(from).unwrap_or(u32::MAX);
        let Some(expected) = self.gate.senders.get_mut(&place) else { return };
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
                    self.keep(slot, bytes)?;
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
    fn keep(&mut self, slot: Slot, bytes: Vec<u8>) -> Result<()> {
        match slot {
            Slot::Identity => self.store.save(Kept::Identity, bytes),
            Slot::State => {
                self.store.save(Kept::State, bytes)?;
                self.books.charge(self.kit, &self.process)
            }
        }
    }

    fn send(&mut self, frame: &Frame) -> Result<()> {
        let manifest = &self.kit.manifest;
        let sealed = seal(frame, &manifest.run.0, self.gate.shape, &self.kit.key);
        let to = u32::try_from(frame.to).unwrap_or(u32::MAX);
        let Some(bytes) = sealed else {
            let name = manifest.process(to).map_or_else(String::new, |to| to.name.clone());
            return Err(Error::TooLarge { name, bytes: frame.payload.len(), cap: CAP });
        };
        self.desk.put_frame(to, frame.round, bytes.clone());
        self.transport.send(to, bytes);
        Ok(())
    }

    /// Late joiners ask for what they missed.
    fn ask_all(&self) {
        for &peer in self.gate.senders.keys() {
            self.transport.ask(peer, self.process.round());
        }
    }

    fn leave(&mut self) -> Result<()> {
        let actions = self.process.step(Event::Leave);
        self.act(actions)
    }
}

/// The links of a process to its neighbours.
fn links(kit: &Kit, options: &Options, desk: &Arc<Desk>) -> Result<Transport> {
    let answers: Arc<dyn Answers> = Arc::clone(desk) as Arc<dyn Answers>;
    let settings = Settings {
        manifest: &kit.manifest,
        role: Role::Process(kit.process),
        folder: &kit.folder,
        listen: options.listen.as_deref(),
        scouting: options.scouting,
    };
    Transport::new(&settings, kit.process, &answers)
}

/// What is expected of each neighbour.
fn gate<P: Durable>(kit: &Kit, process: &Process<P>, options: &Options) -> Gate {
    let met = process.peers().filter_map(|peer| {
        let place = u32::try_from(peer.peer).ok()?;
        Some((place, peer.epoch, process.largest_payload(peer.peer)?))
    });
    kit.gate(met, options.protocol.stop.rounds as u64 + 1)
}
