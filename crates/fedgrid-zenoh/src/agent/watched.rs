//! What people who watch a process are told beside what the protocol knows: who is waited for, since when,
//! what went to whom and came from whom, and what has happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use fedgrid::{method::Durable, model::Hypothesis, runtime::protocol::Process};

use super::{
    EventKind,
    events::Events,
    status::{NeighbourStatus, Traffic},
};

/// How long a round waits before that is an event: restarts and slow rounds take less.
const WAITING_AFTER: Duration = Duration::from_secs(2);
/// How often models are scored at most.
const SCORE_EVERY: Duration = Duration::from_secs(1);
/// Of the time of a process, scoring its models takes one part in so many.
const SCORE_PART: u32 = 20;

/// The mean error on validation rows of a process, by the models of its nodes in their order; none where it has no
/// such rows.
pub type Score<'a> = dyn FnMut(&[Arc<dyn Hypothesis>]) -> Option<f64> + 'a;

/// What is noted for people.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) events: Events,
    received: BTreeMap<usize, Traffic>,
    round: (u64, Instant),
    awaited: Option<Awaited>,
    /// Neighbours whose link was there and is gone.
    gone: BTreeSet<String>,
    pub(super) checkpoints: u64,
    pub(super) checkpoint_time: Duration,
    pub(super) validation: Option<f64>,
    scored: Option<(u64, Instant, Duration)>,
}

/// Whom a round waits for.
#[derive(Debug)]
struct Awaited {
    /// The round of the missing messages: the next one, or the last one where it is being checked whether to stop.
    round: u64,
    /// How many rounds were done then.
    done: u64,
    on: Vec<usize>,
    names: String,
    since: Instant,
    is_told: bool,
}

impl Watched {
    pub(super) fn new() -> Self {
        Self {
            events: Events::default(),
            received: BTreeMap::new(),
            round: (0, Instant::now()),
            awaited: None,
            gone: BTreeSet::new(),
            checkpoints: 0,
            checkpoint_time: Duration::ZERO,
            validation: None,
            scored: None,
        }
    }

    pub(super) fn received(&mut self, from: usize, bytes: usize) {
        self.received.entry(from).or_default().add(bytes as u64);
    }

    pub(super) fn received_of(&self, peer: usize) -> Traffic {
        self.received.get(&peer).copied().unwrap_or_default()
    }

    pub(super) fn checkpoint(&mut self, took: Duration) {
        self.checkpoints += 1;
        self.checkpoint_time += took;
    }

    /// After so many rounds, messages of a round are missing from these neighbours.
    pub(super) fn waits(&mut self, done: u64, round: u64, on: &[usize], names: &str) {
        let since = match &self.awaited {
            Some(awaited) if awaited.round == round => (awaited.since, awaited.is_told),
            _ => (Instant::now(), false),
        };
        let (on, names) = (on.to_vec(), names.to_string());
        self.awaited = Some(Awaited { round, done, on, names, since: since.0, is_told: since.1 });
    }

    /// So many rounds are done.
    pub(super) fn at_round(&mut self, round: u64) {
        if round != self.round.0 {
            self.round = (round, Instant::now());
        }
        match &mut self.awaited {
            Some(awaited) if awaited.done < round => {
                if awaited.is_told {
                    let (round, seconds) = (awaited.round, awaited.since.elapsed().as_secs());
                    let text = format!("round {round} went on after {seconds} s");
                    self.events.add(EventKind::Resumed, text);
                }
                self.awaited = None;
            }
            Some(awaited) if !awaited.is_told && awaited.since.elapsed() >= WAITING_AFTER => {
                awaited.is_told = true;
                let text = format!("round {} waits for {}", awaited.round, awaited.names);
                self.events.add(EventKind::Waiting, text);
            }
            _ => {}
        }
    }

    pub(super) fn is_awaited(&self, peer: usize) -> bool {
        self.awaited.as_ref().is_some_and(|awaited| awaited.on.contains(&peer))
    }

    pub(super) fn round_age(&self) -> Duration {
        self.round.1.elapsed()
    }

    /// Takes note of neighbours whose links came or went since they were last looked at.
    pub(super) fn links(&mut self, before: &[NeighbourStatus], now: &[NeighbourStatus]) {
        for (before, now) in before.iter().zip(now).filter(|(a, b)| a.there != b.there) {
            if before.there {
                self.gone.insert(now.name.clone());
                self.events.add(EventKind::Gone, format!("the link to {} is gone", now.name));
            } else if self.gone.remove(&now.name) {
                self.events.add(EventKind::Joined, format!("the link to {} is back", now.name));
            }
        }
    }

    /// Scores the models of a process, if they have changed and it is time.
    pub(super) fn score<P: Durable>(&mut self, process: &Process<P>, score: &mut Score<'_>) {
        let round = process.round();
        let is_due = self.scored.is_none_or(|(scored, at, took)| {
            scored != round && at.elapsed() >= SCORE_EVERY.max(SCORE_PART * took)
        });
        if !is_due {
            return;
        }
        let begun = Instant::now();
        let own = process.participants().map(|(_, own)| own.hypothesis().cloned());
        // A node that has learnt nothing yet has nothing to score.
        let Some(own) = own.collect::<Option<Vec<_>>>() else { return };
        self.validation = score(&own).filter(|error| error.is_finite());
        self.scored = Some((round, Instant::now(), begun.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of a round that is done are awaited where it is being checked whether to stop.
    #[test]
    fn whoever_is_awaited_stays_so_until_the_next_round_is_done() {
        for missing in [60, 61] {
            let mut watched = Watched::new();
            watched.at_round(60);
            watched.waits(60, missing, &[1], "mid");
            watched.at_round(60);
            assert!(watched.is_awaited(1) && !watched.is_awaited(0), "round {missing}");
            watched.at_round(61);
            assert!(!watched.is_awaited(1), "round {missing}");
        }
    }
}
