//! What an agent shares with the threads that answer for it: its status, its latest frames, and the
//! orders that came.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ed25519_dalek::VerifyingKey;

use super::{order::OperatorOrder, status::Status};
use crate::{manifest::Manifest, site_bundle::SiteBundle, transport::Answers};

/// How many of the latest frames to each neighbour are kept for late joiners.
// Enough for the state, sums and verdict of the current round and of the one before.
const LATEST_FRAMES: usize = 8;
/// After how long without a turn of the agent's loop something is wrong.
// A turn may hold a whole round of learning, so this is far above a tick.
const STALLED_AFTER: Duration = Duration::from_mins(1);

/// What is shared.
#[derive(Debug)]
pub(super) struct SharedState {
    project: VerifyingKey,
    manifest: Manifest,
    /// The manifest as it was signed.
    signed: String,
    started: u64,
    /// Whether the operator may see the error on validation rows.
    tells_error: bool,
    stop: AtomicBool,
    state: Mutex<SharedFields>,
}

#[derive(Debug)]
struct SharedFields {
    status: Status,
    turned: Instant,
    frames: BTreeMap<u32, VecDeque<(u64, Vec<u8>)>>,
    /// The newest manifest that came and is newer than the one that is followed.
    newer: Option<(Manifest, String)>,
}

impl SharedState {
    pub(super) fn new(bundle: &SiteBundle, started: u64, tells_error: bool) -> Self {
        let state = SharedFields {
            status: Status::default(),
            turned: Instant::now(),
            frames: BTreeMap::new(),
            newer: None,
        };
        Self {
            project: bundle.project,
            manifest: bundle.manifest.clone(),
            signed: bundle.signed.clone(),
            started,
            tells_error,
            stop: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// The agent's loop has turned.
    pub(super) fn turn(&self) {
        self.lock().turned = Instant::now();
    }

    pub(super) fn put_status(&self, status: Status) {
        self.lock().status = status;
    }

    /// Keeps a frame for a neighbour that may have missed it.
    pub(super) fn put_frame(&self, to: u32, round: u64, frame: Vec<u8>) {
        let mut state = self.lock();
        let latest = state.frames.entry(to).or_default();
        latest.push_back((round, frame));
        // The protocol holds whole rounds; this only saves a late joiner the wait for the next tick.
        if latest.len() > LATEST_FRAMES {
            latest.pop_front();
        }
    }

    /// Whether the project has ordered this process to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The text of a newer manifest of this project, if one has come.
    pub(super) fn newer(&self) -> Option<String> {
        self.lock().newer.as_ref().map(|(_, text)| text.clone())
    }

    /// Takes a manifest if the project has signed it, whoever has brought it.
    fn follow(&self, text: &str) {
        let own = &self.manifest;
        let mut state = self.lock();
        let (known, signed) =
            state.newer.as_ref().map_or((own, &self.signed), |(newer, signed)| (newer, signed));
        let Ok((found, whole)) = Manifest::merged(signed, text, &self.project) else { return };
        // One key may sign several projects.
        let is_ours = (&found.project, found.experiment, found.public)
            == (&own.project, own.experiment, own.public);
        if is_ours && found.order() > known.order() {
            state.newer = Some((found, whole));
        }
    }

    /// Whether the loop still turns, and the status as JSON.
    pub(super) fn health(&self) -> (bool, String) {
        let state = self.lock();
        let text = serde_json::to_string(&state.status).expect("a status is plain values");
        (state.turned.elapsed() < STALLED_AFTER, text)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SharedFields> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for SharedState {
    fn frames(&self, asker: u32, since: u64) -> Vec<Vec<u8>> {
        let state = self.lock();
        let latest = state.frames.get(&asker).into_iter().flatten();
        latest.filter(|(round, _)| *round >= since).map(|(_, frame)| frame.clone()).collect()
    }

    fn status(&self, order: Option<&[u8]>) -> String {
        if let Some(text) = order.and_then(|bytes| std::str::from_utf8(bytes).ok()) {
            self.follow(text);
        }
        if let Some(bytes) = order
            && OperatorOrder::verified(bytes, &self.project, self.started)
                == Some(OperatorOrder::Stop)
        {
            // The agent's own loop does the rest.
            self.stop.store(true, Ordering::Relaxed);
        }
        let mut status = self.lock().status.clone();
        if !self.tells_error {
            status.validation = None;
        }
        serde_json::to_string(&status).expect("a status is plain values")
    }

    fn manifest(&self) -> String {
        self.signed.clone()
    }

    fn take_manifest(&self, signed: &[u8]) {
        if let Ok(text) = std::str::from_utf8(signed) {
            self.follow(text);
        }
    }
}
