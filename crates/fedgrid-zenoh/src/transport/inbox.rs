//! What has arrived and was not read yet: a short queue per neighbour, read in turn.
//!
//! A neighbour that floods fills its own queue and no other, and its oldest frames go first: frames
//! hold whole states, so what is dropped can be asked for again.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How many frames of one neighbour wait at most.
// Enough for the frames of several rounds that come while a long round is computed.
const QUEUE_FRAMES: usize = 64;

/// The frames that wait.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<InboxState>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct InboxState {
    queues: BTreeMap<u32, VecDeque<Vec<u8>>>,
    /// Whose queue was read last.
    last: u32,
    dropped: u64,
    woken: bool,
}

impl Inbox {
    /// Adds a frame that came on the way from a neighbour.
    pub fn push(&self, from: u32, frame: Vec<u8>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = state.queues.entry(from).or_default();
        queue.push_back(frame);
        if queue.len() > QUEUE_FRAMES {
            queue.pop_front();
            state.dropped += 1;
        }
        self.arrived.notify_one();
    }

    /// Ends a wait although no frame has come.
    pub fn wake(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).woken = true;
        self.arrived.notify_one();
    }

    /// The next frame, and on whose way it came; none if there is none within this time.
    pub fn next(&self, wait: Duration) -> Option<(u32, Vec<u8>)> {
        let end = Instant::now() + wait;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = state.take() {
                return Some(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || std::mem::take(&mut state.woken) {
                return None;
            }
            let waited = self.arrived.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many frames were dropped because their sender's queue was full.
    pub fn dropped(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}

impl InboxState {
    /// The oldest frame of the next neighbour that has one.
    fn take(&mut self) -> Option<(u32, Vec<u8>)> {
        // Round robin: the next neighbour after the last one read, then from the first again.
        let after = self.queues.range(self.last.saturating_add(1)..);
        let from = after
            .chain(self.queues.range(..=self.last))
            .find_map(|(from, queue)| (!queue.is_empty()).then_some(*from))?;
        self.last = from;
        let frame = self.queues.get_mut(&from)?.pop_front()?;
        Some((from, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_takes_no_turn_of_others_and_drops_its_own_oldest() {
        let inbox = Inbox::default();
        for number in 0..1000_u32 {
            inbox.push(7, number.to_le_bytes().to_vec());
        }
        inbox.push(3, vec![3]);
        inbox.push(9, vec![9]);
        let next = || inbox.next(Duration::ZERO);
        let order: Vec<u32> = (0..4).map(|_| next().unwrap().0).collect();
        assert_eq!(order, [3, 7, 9, 7]);
        assert_eq!(inbox.dropped(), 1000 - QUEUE_FRAMES as u64);
        let left: Vec<_> = std::iter::from_fn(next).collect();
        assert_eq!(left.len(), QUEUE_FRAMES - 2);
        assert_eq!(left.last().unwrap().1, 999_u32.to_le_bytes());
    }
}
