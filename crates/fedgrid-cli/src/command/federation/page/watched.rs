//! What an agent has reported: its last status, how it went over rounds, and what has happened.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fedgrid_zenoh::agent::{AgentEvent, Status};

/// How many events are kept.
const KEPT_EVENTS: usize = 200;
/// How many rounds are kept for charts: at twice as many, every other one is dropped.
const KEPT_ROUNDS: usize = 300;

/// How a round went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RoundPoint {
    pub(super) round: u64,
    pub(super) residual: f64,
    pub(super) gap: Option<f64>,
}

/// What is known now.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    /// Which one it is.
    pub(super) version: u64,
    pub(super) status: Status,
    pub(super) rounds: Vec<RoundPoint>,
    pub(super) events: VecDeque<AgentEvent>,
    /// How many events were too many for the statuses in between.
    pub(super) missed_events: u64,
}

/// The reports of an agent, for all who watch.
#[derive(Debug, Default)]
pub(in crate::command::federation) struct Watched {
    now: Mutex<Snapshot>,
    changed: Condvar,
}

impl Watched {
    /// What is known of a site before its agent has said anything.
    pub(in crate::command::federation) fn of(site: &str) -> Self {
        let status = Status { process: site.into(), ..Status::default() };
        Self { now: Mutex::new(Snapshot { status, ..Snapshot::default() }), ..Self::default() }
    }

    /// Takes a status; gives the events that are new.
    pub(in crate::command::federation) fn put(&self, status: &Status) -> Vec<AgentEvent> {
        let mut now = self.lock();
        // Where another run begins, with the next stage, its events and rounds are counted from one.
        let goes_on = now.status.run.is_empty() || now.status.run == status.run;
        if !goes_on {
            now.rounds.clear();
        }
        let known = now.events.back().filter(|_| goes_on).map_or(0, |event| event.number);
        let new: Vec<AgentEvent> =
            status.events.iter().filter(|event| event.number > known).cloned().collect();
        if let Some(first) = new.first() {
            now.missed_events += first.number - known - 1;
        }
        now.events.extend(new.iter().cloned());
        while now.events.len() > KEPT_EVENTS {
            now.events.pop_front();
        }
        keep(&mut now.rounds, status);
        now.status = status.clone();
        now.version += 1;
        self.changed.notify_all();
        new
    }

    /// What is known now.
    pub(super) fn now(&self) -> Snapshot {
        self.lock().clone()
    }

    /// Waits for something that is newer than this; none if there is nothing after this time.
    pub(super) fn newer(&self, version: u64, patience: Duration) -> Option<Snapshot> {
        let is_old = |now: &mut Snapshot| now.version <= version;
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_old);
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (now.version > version).then(|| now.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps how a round went, if it is another than the last; one that is done again begins anew from there.
fn keep(rounds: &mut Vec<RoundPoint>, status: &Status) {
    let point = RoundPoint { round: status.round, residual: status.residual, gap: status.gap };
    rounds.retain(|kept| kept.round < point.round);
    if point.round > 0 {
        rounds.push(point);
    }
    if rounds.len() >= 2 * KEPT_ROUNDS {
        let last = rounds.len() - 1;
        let mut index = 0;
        rounds.retain(|_| {
            index += 1;
            index % 2 == 1 || index == last + 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(round: u64, events: impl IntoIterator<Item = u64>) -> Status {
        let event = |number| AgentEvent { number, ..AgentEvent::default() };
        Status {
            round,
            residual: 1.0,
            events: events.into_iter().map(event).collect(),
            ..Status::default()
        }
    }

    #[test]
    fn events_are_taken_once_and_missing_ones_are_counted() {
        let watched = Watched::default();
        let numbers =
            |new: Vec<AgentEvent>| new.iter().map(|event| event.number).collect::<Vec<_>>();
        assert_eq!(numbers(watched.put(&status(1, 1..=2))), [1, 2]);
        assert_eq!(numbers(watched.put(&status(1, 1..=3))), [3]);
        assert_eq!(numbers(watched.put(&status(1, 7..=8))), [7, 8]);
        assert_eq!((watched.now().missed_events, watched.now().events.len()), (3, 5));
        for number in 9..1_000 {
            watched.put(&status(1, number..=number));
        }
        assert_eq!(watched.now().events.len(), KEPT_EVENTS);
    }

    #[test]
    fn what_is_kept_of_a_long_run_is_bounded_and_has_both_ends() {
        let watched = Watched::default();
        for round in 0..=10_000 {
            watched.put(&status(round, []));
        }
        let rounds = watched.now().rounds;
        assert!((KEPT_ROUNDS..2 * KEPT_ROUNDS).contains(&rounds.len()), "{}", rounds.len());
        assert_eq!((rounds[0].round, rounds.last().unwrap().round), (1, 10_000));
        // A process that was killed goes back to its checkpoint.
        watched.put(&status(4_000, []));
        assert_eq!(watched.now().rounds.last().unwrap().round, 4_000);
    }

    #[test]
    fn who_waits_is_woken_by_what_is_new_and_by_nothing_else() {
        let watched = Watched::default();
        assert!(watched.newer(0, Duration::from_millis(10)).is_none());
        let version = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| watched.newer(0, Duration::from_secs(30)));
            watched.put(&status(3, 1..=1));
            waiting.join().unwrap().unwrap().version
        });
        assert_eq!(version, 1);
        assert!(watched.newer(1, Duration::from_millis(10)).is_none());
    }
}
