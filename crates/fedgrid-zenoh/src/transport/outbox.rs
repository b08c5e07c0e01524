//! What is still to be sent to one neighbour, by a thread of its own.
//!
//! Zenoh may hold a sender up for seconds when a neighbour does not read; the agent's loop must not
//! wait that long, nor may other neighbours. The oldest frames go when the queue is full: they can be
//! asked for. What a neighbour asks for is answered here, too: the thread on which Zenoh brings a question also
//! reads from all links, and an answer that must wait for one of them would hold up the others.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use zenoh::{Wait, pubsub::Publisher};

/// How many frames and answers to one neighbour wait at most.
// A few rounds: with more, a neighbour that comes back would read what it no longer needs.
const QUEUE_PARCELS: usize = 16;

/// The frames to one neighbour.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// What is to be done for a neighbour.
pub(super) enum Parcel {
    /// A frame is pushed.
    Frame(Vec<u8>),
    /// A question is answered.
    Answer(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Parcel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(bytes) => write!(out, "Frame({} bytes)", bytes.len()),
            Self::Answer(_) => write!(out, "Answer"),
        }
    }
}

#[derive(Debug, Default)]
struct OutboxState {
    parcels: VecDeque<Parcel>,
    is_sending: bool,
    is_closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<OutboxState>,
    changed: Condvar,
    sent_frames: AtomicU64,
    sent_bytes: AtomicU64,
}

impl Outbox {
    /// Sends by this publisher, in a thread of its own.
    pub(super) fn new(publisher: Publisher<'static>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let send = move || {
            while let Some(parcel) = shared.next() {
                let frame = match parcel {
                    Parcel::Frame(frame) => frame,
                    Parcel::Answer(give) => {
                        give();
                        continue;
                    }
                };
                let bytes = frame.len() as u64;
                // A refused put is a frame lost; the neighbour asks for it.
                if publisher.put(frame).wait().is_ok() {
                    shared.sent_frames.fetch_add(1, Ordering::Relaxed);
                    shared.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        };
        let thread = Builder::new().name("fedgrid-send".into()).spawn(send)?;
        Ok(Self { queue, thread: Some(thread) })
    }

    pub(super) fn push(&self, frame: Vec<u8>) {
        self.queue.push(Parcel::Frame(frame));
    }

    /// Where questions of the neighbour wait for their answers.
    pub(super) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }

    /// Waits until all is sent, or for this time.
    pub(super) fn flush(&self, patience: Duration) {
        let is_busy = |state: &mut OutboxState| state.is_sending || !state.parcels.is_empty();
        drop(self.queue.changed.wait_timeout_while(self.queue.lock(), patience, is_busy));
    }

    /// The frames that were handed to Zenoh, and their bytes.
    pub(super) fn sent(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.queue.sent_frames), read(&self.queue.sent_bytes))
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, parcel: Parcel) {
        let mut state = self.lock();
        // Nobody takes anything from it any more.
        if state.is_closed {
            return;
        }
        state.parcels.push_back(parcel);
        if state.parcels.len() > QUEUE_PARCELS {
            state.parcels.pop_front();
        }
        self.changed.notify_all();
    }

    /// The next parcel; none once the outbox is closed and empty.
    fn next(&self) -> Option<Parcel> {
        let mut state = self.lock();
        // The put of the frame before has returned: whoever waits in `flush` may look again.
        state.is_sending = false;
        self.changed.notify_all();
        loop {
            if let Some(parcel) = state.parcels.pop_front() {
                state.is_sending = true;
                return Some(parcel);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.changed.notify_all();
        // A put that is held up ends with its session; nobody waits for it.
        drop(self.thread.take());
    }
}
