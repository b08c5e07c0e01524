//! Frames between neighbours over Zenoh: pushed when they are made, asked for when they are missed.
//!
//! ```text
//! fg/<run>/f/<to>/<from>            frames, put by <from> for <to>; of a later stage fg/<run>/<stage>/f/…
//! fg/<run>/s/<owner>/<asker>        frames that <asker> missed, asked of <owner>; of a later stage fg/<run>/<stage>/s/…
//! fg/<project>/l/<process>/<number>  who follows which manifest, after how many departures and in which stage
//!                                   (<number>-<departures>.<stage>), a hint only
//! fg/<project>/m/<process>          the manifest that it follows, asked for by neighbours that have an older one
//! fg/<project>/i/<process>          status, asked for by the operator; orders travel with the question
//! ```
//!
//! Nothing here is trusted: what arrives is bytes until [`crate::frame`] has checked them.

mod inbox;
mod outbox;
mod link_faults;
mod one_thread;
mod settings;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

pub use inbox::Inbox;
pub use link_faults::{Fault, watch_log};
pub use one_thread::{ONE_THREAD, RUNTIME_VARIABLE, has_one_thread, needs_one_thread};
use outbox::{Outbox, Parcel};
pub use settings::{OPERATOR, ROUTER, SessionRole, SessionSettings};
pub use zenoh::Session;
use zenoh::{
    Config, Wait,
    bytes::ZBytes,
    handlers::FifoChannelHandler,
    qos::CongestionControl,
    query::{ConsolidationMode, Query, Reply},
    sample::{Sample, SampleKind},
};

use crate::{
    error::{Error, Result},
    frame::LARGEST_FRAME_BYTES,
    identity::Hex,
    manifest::{LARGEST_MANIFEST_BYTES, Manifest},
};

/// How long a question waits for its answer.
// As long as a link may be silent before Zenoh drops it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How many questions of operators wait for their answer at most.
const WAITING_QUESTIONS: usize = 16;

/// The keys of a run, and those that all runs of a project share: who follows an older manifest, of
/// another run, can still be seen and told.
#[derive(Debug, Clone)]
pub struct KeyExpressions {
    run: String,
    /// What the keys of frames begin with: the run, and the stage if it is not the first.
    frames: String,
    project: String,
}

impl KeyExpressions {
    /// The keys of a manifest's run.
    #[must_use]
    pub fn new(manifest: &Manifest) -> Self {
        Self::of_stage(manifest, 0)
    }

    /// The same in a later stage of it.
    #[must_use]
    pub fn of_stage(manifest: &Manifest, stage: u32) -> Self {
        let run: [u8; 8] = manifest.run.0[..8].try_into().expect("a run has sixteen bytes");
        let mut hasher = blake3::Hasher::new();
        hasher.update(manifest.project.as_bytes());
        hasher.update(&manifest.authority.map_or([0; 32], |authority| authority.0));
        let project: [u8; 8] =
            hasher.finalize().as_bytes()[..8].try_into().expect("a hash has 32 bytes");
        let run = format!("fg/{}", Hex(run));
        let frames = if stage == 0 { run.clone() } else { format!("{run}/{stage}") };
        Self { run, frames, project: format!("fg/{}", Hex(project)) }
    }

    /// The key of frames to a process from another.
    #[must_use]
    pub fn frame(&self, to: u32, from: u32) -> String {
        format!("{}/f/{to}/{from}", self.frames)
    }

    /// The key by which a process is asked for frames by another.
    #[must_use]
    pub fn state(&self, owner: u32, asker: u32) -> String {
        format!("{}/s/{owner}/{asker}", self.frames)
    }

    /// The key by which a process shows that it is there, and which manifest it follows.
    #[must_use]
    pub fn live(&self, process: &str, number: &str) -> String {
        format!("{}/l/{process}/{number}", self.project)
    }

    /// The key by which a process is asked for its manifest.
    fn manifest(&self, process: u32) -> String {
        format!("{}/m/{process}", self.project)
    }

    fn status(&self, process: &str) -> String {
        format!("{}/i/{process}", self.project)
    }

    fn all(&self) -> [String; 2] {
        [format!("{}/**", self.run), format!("{}/**", self.project)]
    }
}

/// What a process answers by itself, on threads of its own.
pub trait Answers: Send + Sync {
    /// The frames to a neighbour from this round on.
    fn frames(&self, asker: u32, since: u64) -> Vec<Vec<u8>>;

    /// The status, after taking an order or a newer manifest if one came with the question.
    fn status(&self, order: Option<&[u8]>) -> String;

    /// The signed manifest that this process follows.
    fn manifest(&self) -> String;

    /// Takes a manifest that a neighbour follows.
    fn take_manifest(&self, signed: &[u8]);
}

/// What a process says of itself by being there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    manifest: u64,
    /// How many have left by themselves since it was signed.
    left: usize,
    stage: u32,
}

impl Seen {
    /// As the last part of a key.
    fn text(self) -> String {
        let Self { manifest, left, stage } = self;
        let left = if left == 0 { String::new() } else { format!("-{left}") };
        let stage = if stage == 0 { String::new() } else { format!(".{stage}") };
        format!("{manifest}{left}{stage}")
    }

    fn read(text: &str) -> Option<Self> {
        let (manifest, stage) = text.split_once('.').unwrap_or((text, "0"));
        let (manifest, left) = manifest.split_once('-').unwrap_or((manifest, "0"));
        let (manifest, left) = (manifest.parse().ok()?, left.parse().ok()?);
        Some(Self { manifest, left, stage: stage.parse().ok()? })
    }
}

/// The links of a process.
pub struct Transport {
    session: Session,
    keys: KeyExpressions,
    own: u32,
    outboxes: BTreeMap<u32, Outbox>,
    inbox: Arc<Inbox>,
    /// The endpoints of neighbours that this process calls.
    calls: BTreeMap<u32, String>,
    alive: Arc<Mutex<BTreeMap<u32, Option<Seen>>>>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Transport").field("own", &self.own).finish_non_exhaustive()
    }
}

/// Opens a session with these settings.
pub fn open(settings: &SessionSettings<'_>) -> Result<Session> {
    let text = settings.json().to_string();
    let config = Config::from_json5(&text).map_err(|error| failed("set up Zenoh", &error))?;
    let doing = if settings.has_router() { "reach the router" } else { "open a Zenoh session" };
    let begun = Instant::now();
    loop {
        let error = match zenoh::open(config.clone()).wait() {
            Ok(session) => return Ok(session),
            Err(error) => error,
        };
        // Of the stage or manifest before: its session is closed by a thread that may wait for a lost neighbour.
        let follows = settings.stage > 0 || settings.manifest.order() > (1, 0);
        let is_own_port = follows && error.to_string().contains("in use");
        if !is_own_port || begun.elapsed() > PORT_FREE_AFTER {
            return Err(failed(doing, &error));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How long the port of the stage before may be in use: Zenoh waits ten seconds for a lost neighbour.
const PORT_FREE_AFTER: Duration = Duration::from_secs(15);

fn failed(doing: &'static str, error: &zenoh::Error) -> Error {
    Error::transport(doing, &error.to_string())
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::Transport { doing: "start a thread", reason: error.to_string() }
}

impl Transport {
    /// Opens the links of a process.
    pub fn new(
        settings: &SessionSettings<'_>,
        own: u32,
        answers: &Arc<dyn Answers>,
    ) -> Result<Self> {
        let session = open(settings)?;
        let mut transport = Self {
            session,
            keys: settings.keys(),
            own,
            outboxes: BTreeMap::new(),
            inbox: Arc::default(),
            calls: settings.calls().into_iter().collect(),
            alive: Arc::default(),
        };
        for other in settings.manifest.neighbours_of(own) {
            transport.listen_to(other)?;
            let outbox = transport.outbox(other)?;
            transport.answer(other, &outbox, answers)?;
            transport.watch(other)?;
            transport.outboxes.insert(other, outbox);
        }
        let (manifest, left) = settings.manifest.order();
        let seen = Seen { manifest, left, stage: settings.stage };
        transport.give_manifest(answers)?;
        transport.declare(seen, answers)?;
        Ok(transport)
    }

    /// What neighbours push comes into the inbox.
    fn listen_to(&self, other: u32) -> Result<()> {
        let inbox = Arc::clone(&self.inbox);
        self.session
            .declare_subscriber(self.keys.frame(self.own, other))
            .callback(move |sample: Sample| take(&inbox, other, sample.payload()))
            .background()
            .wait()
            .map_err(|error| failed("listen to a neighbour", &error))
    }

    /// What neighbours missed is given again, byte for byte.
    fn answer(&self, other: u32, outbox: &Outbox, answers: &Arc<dyn Answers>) -> Result<()> {
        let (answers, queue) = (Arc::clone(answers), outbox.queue());
        let give = move |query: Query| {
            let answers = Arc::clone(&answers);
            queue.push(Parcel::Answer(Box::new(move || {
                let since = query.parameters().get("since").and_then(|text| text.parse().ok());
                for frame in answers.frames(other, since.unwrap_or(0)) {
                    // An answer that does not arrive is asked for again.
                    let _ = query.reply(query.key_expr(), frame).wait();
                }
            })));
        };
        self.session
            .declare_queryable(self.keys.state(self.own, other))
            .callback(give)
            .background()
            .wait()
            .map_err(|error| failed("answer a neighbour", &error))
    }

    fn watch(&self, other: u32) -> Result<()> {
        let (alive, inbox) = (Arc::clone(&self.alive), Arc::clone(&self.inbox));
        self.session
            .liveliness()
            .declare_subscriber(self.keys.live(&other.to_string(), "*"))
            .history(true)
            .callback(move |sample: Sample| {
                let seen = sample.key_expr().as_str().rsplit('/').next().and_then(Seen::read);
                let is_put = sample.kind() == SampleKind::Put;
                let mut alive = alive.lock().unwrap_or_else(PoisonError::into_inner);
                // Of one that goes from stage to stage the end of the former may be heard after the next has begun.
                let is_other = |known: &Option<Seen>| known.is_some() && *known != seen;
                if is_put || !alive.get(&other).is_some_and(is_other) {
                    alive.insert(other, seen.filter(|_| is_put));
                }
                drop(alive);
                // The agent sends again what this neighbour has missed, without waiting for the next tick.
                inbox.wake();
            })
            .background()
            .wait()
            .map_err(|error| failed("watch a neighbour", &error))
    }

    fn outbox(&self, other: u32) -> Result<Outbox> {
        let publisher = self
            .session
            .declare_publisher(self.keys.frame(other, self.own))
            // Frames are few and large: dropping one costs a tick, blocking only the neighbour's own thread.
            // Batching would hold a frame back for the next one, which comes a round later.
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .map_err(|error| failed("publish to a neighbour", &error))?;
        Outbox::new(publisher).map_err(|error| no_thread(&error))
    }

    /// Who has an older manifest is given this one.
    fn give_manifest(&self, answers: &Arc<dyn Answers>) -> Result<()> {
        let answers = Arc::clone(answers);
        let (ask, asked) = mpsc::sync_channel::<Query>(WAITING_QUESTIONS);
        let give = move || {
            for query in asked {
                let _ = query.reply(query.key_expr(), answers.manifest()).wait();
            }
        };
        // It ends with the session, which holds the other end of the channel.
        let thread = thread::Builder::new().name("fedgrid-manifest".into()).spawn(give);
        thread.map_err(|error| no_thread(&error))?;
        self.session
            .declare_queryable(self.keys.manifest(self.own))
            .callback(move |query: Query| drop(ask.try_send(query)))
            .background()
            .wait()
            .map_err(|error| failed("give the manifest", &error))
    }

    /// Asks a neighbour for the manifest that it follows.
    pub fn ask_manifest(&self, owner: u32, answers: &Arc<dyn Answers>) {
        let (answers, inbox) = (Arc::clone(answers), Arc::clone(&self.inbox));
        // A question that cannot be asked now is asked again.
        let _ = self
            .session
            .get(self.keys.manifest(owner))
            .timeout(ANSWER_TIMEOUT)
            .callback(move |reply: Reply| {
                if let Ok(sample) = reply.result()
                    && sample.payload().len() <= LARGEST_MANIFEST_BYTES
                {
                    answers.take_manifest(&sample.payload().to_bytes());
                    inbox.wake();
                }
            })
            .wait();
    }

    /// Says that this process is there, and answers the operator.
    fn declare(&self, seen: Seen, answers: &Arc<dyn Answers>) -> Result<()> {
        let own = self.own.to_string();
        let (ask, asked) = mpsc::sync_channel::<Query>(WAITING_QUESTIONS);
        let answers = Arc::clone(answers);
        let answer = move || {
            for query in asked {
                let order = query.payload().map(ZBytes::to_bytes);
                let status = answers.status(order.as_deref());
                let _ = query.reply(query.key_expr(), status).wait();
            }
        };
        // It ends with the session, which holds the other end of the channel.
        let thread = thread::Builder::new().name("fedgrid-operator".into()).spawn(answer);
        thread.map_err(|error| no_thread(&error))?;
        // Whoever gets no answer asks again.
        let give = move |query: Query| drop(ask.try_send(query));
        self.session
            .declare_queryable(self.keys.status(&own))
            .callback(give)
            .background()
            .wait()
            .map_err(|error| failed("answer the operator", &error))?;
        let token =
            self.session.liveliness().declare_token(self.keys.live(&own, &seen.text())).wait();
        // The token lasts as long as the session.
        std::mem::forget(token.map_err(|error| failed("announce this process", &error))?);
        Ok(())
    }

    /// Pushes a frame to a neighbour without waiting for it.
    pub fn send(&self, to: u32, frame: Vec<u8>) {
        if let Some(outbox) = self.outboxes.get(&to) {
            outbox.push(frame);
        }
    }

    /// Asks a neighbour for its frames to this process from a round on; they come to the inbox.
    pub fn ask(&self, owner: u32, since: u64) {
        let inbox = Arc::clone(&self.inbox);
        let selector = format!("{}?since={since}", self.keys.state(owner, self.own));
        // A question that cannot be asked now is asked again.
        let _ = self
            .session
            .get(selector)
            .timeout(ANSWER_TIMEOUT)
            // All frames come under one key; consolidation would keep only the last.
            .consolidation(ConsolidationMode::None)
            .callback(move |reply: Reply| {
                if let Ok(sample) = reply.result() {
                    take(&inbox, owner, sample.payload());
                }
            })
            .wait();
    }

    /// What has arrived.
    #[must_use]
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Which manifest a neighbour that seems to be there follows, after how many departures: a hint, never a fact.
    #[must_use]
    pub fn manifest_of(&self, other: u32) -> Option<(u64, usize)> {
        self.seen(other).map(|seen| (seen.manifest, seen.left))
    }

    /// In which stage a neighbour that seems to be there is: a hint, too.
    #[must_use]
    pub fn stage_of(&self, other: u32) -> Option<u32> {
        self.seen(other).map(|seen| seen.stage)
    }

    fn seen(&self, other: u32) -> Option<Seen> {
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.get(&other).copied().flatten()
    }

    /// Whether this process calls a neighbour, rather than being called by it.
    #[must_use]
    pub fn is_calling(&self, other: u32) -> bool {
        self.calls.contains_key(&other)
    }

    /// Why there is no link to a neighbour, if it is for its certificate; of those who call only that
    /// one of them was turned away is known.
    #[must_use]
    pub fn fault(&self, other: u32) -> Option<Fault> {
        link_faults::fault(self.calls.get(&other).map_or(link_faults::CALLERS, String::as_str))
    }

    /// The bytes of all frames that were handed to Zenoh.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.outboxes.values().map(|outbox| outbox.sent().1).sum()
    }

    /// The frames to one neighbour that were handed to Zenoh, and their bytes.
    #[must_use]
    pub fn sent_to(&self, other: u32) -> (u64, u64) {
        self.outboxes.get(&other).map_or((0, 0), Outbox::sent)
    }

    /// Ends the session, within a bounded time; what is still to be sent is sent first.
    pub fn close(self) {
        self.outboxes.values().for_each(|outbox| outbox.flush(Duration::from_secs(1)));
        // The outboxes end first: their threads must not put into a session that is closing.
        let session = self.session.clone();
        drop(self);
        close(session);
    }
}

/// Ends a session, within a bounded time: Zenoh may wait ten seconds for a lost neighbour.
pub fn close(session: Session) {
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    let close = move || {
        let _ = session.close().wait();
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("fedgrid-close".into()).spawn(close).is_ok() {
        let _ = wait.recv_timeout(Duration::from_secs(2));
    }
}

/// Puts what arrived into the inbox, unless it is larger than any frame.
fn take(inbox: &Inbox, from: u32, payload: &ZBytes) {
    if payload.len() <= LARGEST_FRAME_BYTES {
        inbox.push(from, payload.to_bytes().into_owned());
    }
}

/// Asks all processes for their status, handing over an order if there is one. Links come up while
/// this asks, so who does not answer is asked again for some seconds.
#[must_use]
pub fn ask_all(session: &Session, manifest: &Manifest, order: Option<&[u8]>) -> Vec<(u32, String)> {
    let (keys, mut open) = (KeyExpressions::new(manifest), members(manifest));
    let (mut found, end) = (Vec::new(), Instant::now() + Duration::from_secs(4));
    // A first question may be asked before the links are up, and is then answered by nobody.
    while !open.is_empty() && Instant::now() < end {
        found.extend(ask_those(session, &keys, &open, order));
        open.retain(|index| found.iter().all(|(other, _)| other != index));
        if !open.is_empty() {
            thread::sleep(Duration::from_millis(100));
        }
    }
    found.sort_unstable();
    found
}

/// Asks all processes for their status once; who has no link yet does not answer.
#[must_use]
pub fn ask_once(session: &Session, manifest: &Manifest) -> Vec<(u32, String)> {
    ask_those(session, &KeyExpressions::new(manifest), &members(manifest), None)
}

/// The manifests that the processes follow that are reached, with the departures that they know of.
#[must_use]
pub fn ask_manifests(session: &Session, manifest: &Manifest) -> Vec<String> {
    let keys = KeyExpressions::new(manifest);
    let end = Instant::now() + Duration::from_secs(4);
    let (mut open, mut found) = (members(manifest), Vec::new());
    // A first question may be asked before the links are up, and is then answered by nobody.
    while !open.is_empty() && Instant::now() < end {
        let ask = |index: &u32| {
            Some((*index, session.get(keys.manifest(*index)).timeout(ANSWER_TIMEOUT).wait().ok()?))
        };
        let asked: Vec<_> = open.iter().filter_map(ask).collect();
        for (index, replies) in asked {
            let replies = replies.into_iter().filter_map(|reply| reply.into_result().ok());
            for sample in replies {
                let text = sample.payload().to_bytes().into_owned();
                found.push(String::from_utf8_lossy(&text).into_owned());
                open.retain(|other| *other != index);
            }
        }
        if !open.is_empty() {
            thread::sleep(Duration::from_millis(100));
        }
    }
    found
}

/// The processes that are not revoked.
fn members(manifest: &Manifest) -> Vec<u32> {
    let members =
        manifest.processes.iter().enumerate().filter(|(_, process)| process.key.is_some());
    members.filter_map(|(index, _)| u32::try_from(index).ok()).collect()
}

/// The answers of these processes, in their order, of those who give one.
fn ask_those(
    session: &Session,
    keys: &KeyExpressions,
    which: &[u32],
    order: Option<&[u8]>,
) -> Vec<(u32, String)> {
    // All are asked before any answer is waited for.
    let asked: Vec<_> =
        which.iter().map(|&index| (index, ask_one(session, keys, index, order))).collect();
    let answered = asked.into_iter().filter_map(|(index, replies)| {
        let mut samples =
            replies.into_iter().flatten().filter_map(|reply| reply.into_result().ok());
        let text = samples.next()?.payload().to_bytes().into_owned();
        Some((index, String::from_utf8_lossy(&text).into_owned()))
    });
    answered.collect()
}

fn ask_one(
    session: &Session,
    keys: &KeyExpressions,
    index: u32,
    order: Option<&[u8]>,
) -> Option<FifoChannelHandler<Reply>> {
    let question = session.get(keys.status(&index.to_string())).timeout(ANSWER_TIMEOUT);
    let question = match order {
        Some(order) => question.payload(order.to_vec()),
        None => question,
    };
    question.wait().ok()
}
