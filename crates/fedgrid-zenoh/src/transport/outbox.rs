//! What is still to be sent to one neighbour, by a thread of its own.
//!
//! Zenoh may hold a sender up for seconds when a neighbour does not read; the agent's loop must not
//! wait that long, nor may other neighbours. The oldest frames go when the queue is full: they can be
//! asked for.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use zenoh::{Wait, pubsub::Publisher};

/// How many frames to one neighbour wait at most.
// A few rounds: with more, a neighbour that comes back would read what it no longer needs.
const QUEUE_FRAMES: usize = 16;

/// The frames to one neighbour.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct OutboxState {
    frames: VecDeque<Vec<u8>>,
    is_sending: bool,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<OutboxState>,
    changed: Condvar,
    sent: AtomicU64,
}

impl Outbox {
    /// Sends by this publisher, in a thread of its own.
    pub(super) fn new(publisher: Publisher<'static>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let send = move || {
            while let Some(frame) = shared.next() {
                let bytes = frame.len() as u64;
                // A refused put is a frame lost; the neighbour asks for it.
                if publisher.put(frame).wait().is_ok() {
                    shared.sent.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        };
        let thread = Builder::new().name("fedgrid-send".into()).spawn(send)?;
        Ok(Self { queue, thread: Some(thread) })
    }

    pub(super) fn push(&self, frame: Vec<u8>) {
        let mut state = self.queue.lock();
        state.frames.push_back(frame);
        if state.frames.len() > QUEUE_FRAMES {
            state.frames.pop_front();
        }
        self.queue.changed.notify_all();
    }

    /// Waits until all is sent, or for this time.
    pub(super) fn flush(&self, patience: Duration) {
        let is_busy = |state: &mut OutboxState| state.is_sending || !state.frames.is_empty();
        drop(self.queue.changed.wait_timeout_while(self.queue.lock(), patience, is_busy));
    }

    /// The bytes that were handed to Zenoh.
    pub(super) fn sent(&self) -> u64 {
        self.queue.sent.load(Ordering::Relaxed)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next frame; none once the outbox is closed and empty.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        // The put of the frame before has returned: whoever waits in `flush` may look again.
        state.is_sending = false;
        self.changed.notify_all();
        loop {
            if let Some(frame) = state.frames.pop_front() {
                state.is_sending = true;
                return Some(frame);
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
