//! Frames between neighbours over Zenoh: pushed when they are made, asked for when they are missed.
//!
//! ```text
//! fg/<run>/f/<to>/<from>            frames, put by <from> for <to>
//! fg/<run>/s/<owner>/<asker>        frames that <asker> missed, asked of <owner>
//! fg/<project>/l/<process>/<number>  who follows which manifest, a hint only
//! fg/<project>/i/<process>          status, asked for by the operator; orders travel with the question
//! ```
//!
//! Nothing here is trusted: what arrives is bytes until [`crate::frame`] has checked them.

mod inbox;
mod outbox;
mod link_faults;
mod settings;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use inbox::Inbox;
pub use link_faults::{Fault, watch_log};
use outbox::Outbox;
pub use settings::{OPERATOR, ROUTER, SessionRole, SessionSettings};
use zenoh::{
    Config, Session, Wait,
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
    manifest::Manifest,
};

/// How long a question waits for its answer.
// As long as a link may be silent before Zenoh drops it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The keys of a run, and those that all runs of a project share: who follows an older manifest, of
/// another run, can still be seen and told.
#[derive(Debug, Clone)]
pub struct KeyExpressions {
    run: String,
    project: String,
}

impl KeyExpressions {
    /// The keys of a manifest's run.
    #[must_use]
    pub fn new(manifest: &Manifest) -> Self {
        let run: [u8; 8] = manifest.run.0[..8].try_into().expect("a run has sixteen bytes");
        let mut hasher = blake3::Hasher::new();
        hasher.update(manifest.project.as_bytes());
        hasher.update(&manifest.authority.map_or([0; 32], |authority| authority.0));
        let project: [u8; 8] =
            hasher.finalize().as_bytes()[..8].try_into().expect("a hash has 32 bytes");
        Self { run: format!("fg/{}", Hex(run)), project: format!("fg/{}", Hex(project)) }
    }

    /// The key of frames to a process from another.
    #[must_use]
    pub fn frame(&self, to: u32, from: u32) -> String {
        format!("{}/f/{to}/{from}", self.run)
    }

    /// The key by which a process is asked for frames by another.
    #[must_use]
    pub fn state(&self, owner: u32, asker: u32) -> String {
        format!("{}/s/{owner}/{asker}", self.run)
    }

    /// The key by which a process shows that it is there, and which manifest it follows.
    #[must_use]
    pub fn live(&self, process: &str, number: &str) -> String {
        format!("{}/l/{process}/{number}", self.project)
    }

    fn status(&self, process: &str) -> String {
        format!("{}/i/{process}", self.project)
    }

    fn all(&self) -> [String; 2] {
        [format!("{}/**", self.run), format!("{}/**", self.project)]
    }
}

/// What a process answers by itself, from Zenoh's threads.
pub trait Answers: Send + Sync {
    /// The frames to a neighbour from this round on.
    fn frames(&self, asker: u32, since: u64) -> Vec<Vec<u8>>;

    /// The status, after taking an order if one came with the question.
    fn status(&self, order: Option<&[u8]>) -> String;
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
    alive: Arc<Mutex<BTreeMap<u32, Option<u64>>>>,
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
    zenoh::open(config).wait().map_err(|error| failed(doing, &error))
}

fn failed(doing: &'static str, error: &zenoh::Error) -> Error {
    Error::transport(doing, &error.to_string())
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
            keys: KeyExpressions::new(settings.manifest),
            own,
            outboxes: BTreeMap::new(),
            inbox: Arc::default(),
            calls: settings.calls().into_iter().collect(),
            alive: Arc::default(),
        };
        for other in settings.manifest.neighbours_of(own) {
            transport.listen_to(other)?;
            transport.answer(other, answers)?;
            transport.watch(other)?;
            transport.outboxes.insert(other, transport.outbox(other)?);
        }
        transport.declare(settings.manifest.number, answers)?;
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
    fn answer(&self, other: u32, answers: &Arc<dyn Answers>) -> Result<()> {
        let answers = Arc::clone(answers);
        let give = move |query: Query| {
            let since = query.parameters().get("since").and_then(|text| text.parse().ok());
            for frame in answers.frames(other, since.unwrap_or(0)) {
                // An answer that does not arrive is asked for again.
                let _ = query.reply(query.key_expr(), frame).wait();
            }
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
                let number = sample.key_expr().as_str().rsplit('/').next();
                let number = number.and_then(|text| text.parse::<u64>().ok());
                let number = number.filter(|_| sample.kind() == SampleKind::Put);
                alive.lock().unwrap_or_else(PoisonError::into_inner).insert(other, number);
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
        Outbox::new(publisher).map_err(|error| Error::Transport {
            doing: "start a thread",
            reason: error.to_string(),
        })
    }

    /// Says that this process is there, and answers the operator.
    fn declare(&self, number: u64, answers: &Arc<dyn Answers>) -> Result<()> {
        let own = self.own.to_string();
        let answers = Arc::clone(answers);
        let give = move |query: Query| {
            let order = query.payload().map(ZBytes::to_bytes);
            let status = answers.status(order.as_deref());
            let _ = query.reply(query.key_expr(), status).wait();
        };
        self.session
            .declare_queryable(self.keys.status(&own))
            .callback(give)
            .background()
            .wait()
            .map_err(|error| failed("answer the operator", &error))?;
        let token = self
            .session
            .liveliness()
            .declare_token(self.keys.live(&own, &number.to_string()))
            .wait();
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

    /// Which manifest a neighbour that seems to be there follows: a hint, never a fact.
    #[must_use]
    pub fn manifest_of(&self, other: u32) -> Option<u64> {
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
        self.outboxes.values().map(Outbox::sent).sum()
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
    let keys = KeyExpressions::new(manifest);
    let members =
        manifest.processes.iter().enumerate().filter(|(_, process)| process.key.is_some());
    let mut open: Vec<u32> = members.filter_map(|(index, _)| u32::try_from(index).ok()).collect();
    let (mut found, end) = (Vec::new(), Instant::now() + Duration::from_secs(4));
    // A first question may be asked before the links are up, and is then answered by nobody.
    while !open.is_empty() && Instant::now() < end {
        let asked: Vec<_> =
            open.iter().map(|&index| (index, ask_one(session, &keys, index, order))).collect();
        for (index, replies) in asked {
            let mut samples =
                replies.into_iter().flatten().filter_map(|reply| reply.into_result().ok());
            if let Some(sample) = samples.next() {
                let text = sample.payload().to_bytes();
                found.push((index, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        open.retain(|index| found.iter().all(|(other, _)| other != index));
        if !open.is_empty() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    found.sort_unstable();
    found
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
