//! What has happened to a process, in sentences with a time and a number, for people and logs.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::identity::now;

/// How many of the latest events a status holds.
// An operator asks some hundred sites every second; older events are in the log of the site.
const LATEST_EVENTS: usize = 20;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentEvent {
    /// Its number since the process started, from one; what is missing in between was too much for a status.
    pub number: u64,
    /// When, in seconds since 1970.
    pub time: u64,
    /// What sort of thing it is.
    pub kind: EventKind,
    /// A sentence about it.
    pub text: String,
}

/// Sorts of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// This process began, again or for the first time.
    Started,
    /// A neighbour is here.
    Joined,
    /// A neighbour has gone.
    Gone,
    /// A round waits longer than usual.
    Waiting,
    /// It waits no more.
    Resumed,
    /// A frame was not accepted.
    Refused,
    /// Training has ended.
    Finished,
    /// This process ends.
    Stopped,
    /// Something that a person should look at, or that a later version tells.
    #[default]
    #[serde(other)]
    Warning,
}

impl EventKind {
    /// Whether a person should look at it.
    #[must_use]
    pub fn is_warning(self) -> bool {
        matches!(self, Self::Refused | Self::Warning)
    }
}

/// The latest events of a process.
#[derive(Debug, Default)]
pub(super) struct Events {
    count: u64,
    latest: VecDeque<AgentEvent>,
}

impl Events {
    /// Takes note; the same as before is not said twice.
    pub(super) fn add(&mut self, kind: EventKind, text: String) {
        if self.latest.back().is_some_and(|last| last.kind == kind && last.text == text) {
            return;
        }
        self.count += 1;
        self.latest.push_back(AgentEvent { number: self.count, time: now(), kind, text });
        if self.latest.len() > LATEST_EVENTS {
            self.latest.pop_front();
        }
    }

    pub(super) fn latest(&self) -> Vec<AgentEvent> {
        self.latest.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_with_their_numbers_and_none_twice_in_a_row() {
        let mut events = Events::default();
        for text in ["a", "a", "b", "a"] {
            events.add(EventKind::Joined, text.into());
        }
        let numbers = |events: &Events| -> Vec<u64> {
            events.latest().iter().map(|event| event.number).collect()
        };
        assert_eq!(numbers(&events), [1, 2, 3]);
        for round in 0..100 {
            events.add(EventKind::Waiting, format!("round {round}"));
        }
        assert_eq!(numbers(&events), (84..=103).collect::<Vec<_>>());
    }

    #[test]
    fn a_kind_of_a_later_version_is_a_warning() {
        let text = r#"{"number":1,"time":2,"kind":"teleported","text":"x"}"#;
        let event: AgentEvent = serde_json::from_str(text).unwrap();
        assert_eq!(event.kind, EventKind::Warning);
    }
}
