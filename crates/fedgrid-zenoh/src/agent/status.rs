//! What a process reports to its operator: numbers and names, never a row.

use serde::{Deserialize, Serialize};

use super::AgentEvent;

/// The state of a process. What a process of another version does not tell is left at its default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of its program.
    pub version: String,
    /// The process.
    pub process: String,
    /// The run, as in the manifest.
    pub run: String,
    /// The number of its manifest.
    pub manifest: u64,
    /// What it is doing.
    pub phase: Phase,
    /// How often it has started.
    pub epoch: u64,
    /// The last round that is done.
    pub round: u64,
    /// How many nodes it hosts.
    pub nodes: usize,
    /// The bytes of all frames that were sent.
    pub sent_bytes: u64,
    /// The bytes of all frames that were accepted.
    pub received_bytes: u64,
    /// How many frames were refused.
    pub refused: u64,
    /// The sum over its nodes of the loss at the start of the last round.
    pub loss: f64,
    /// How far the last round moved its nodes, relative to their size.
    pub residual: f64,
    /// Its part of a bound on the objective above its minimum, where there is one.
    pub gap: Option<f64>,
    /// The mean error on validation rows of its own, where it has some.
    pub validation: Option<f64>,
    /// The seconds since the last round was done, or since the process started.
    pub round_age_seconds: f64,
    /// The neighbours that the round waits for, and why if that is known.
    pub waiting_for: Vec<String>,
    /// How often state was made durable since the process started, and how many seconds that took.
    pub checkpoints: u64,
    /// The seconds of all checkpoints.
    pub checkpoint_seconds: f64,
    /// How many frames are in the log of what was sent, where there is one.
    pub audit_records: Option<u64>,
    /// The hash that the log ends with, in hexadecimal.
    pub audit_head: Option<String>,
    /// Its neighbours.
    pub neighbours: Vec<NeighbourStatus>,
    /// Where health checks are answered on this machine, if anywhere.
    pub health: Option<String>,
    /// The last thing that an operator should know.
    pub notice: Option<String>,
    /// What has happened lately, the last thing last.
    pub events: Vec<AgentEvent>,
}

/// A neighbour as a process sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NeighbourStatus {
    /// Its name.
    pub name: String,
    /// Whether it seems to be there.
    pub there: bool,
    /// Its last durable round.
    pub round: u64,
    /// Whether the round waits for it.
    pub awaited: bool,
    /// The frames and bytes that were sent to it since the process started.
    pub sent: Traffic,
    /// Those of it that were accepted.
    pub received: Traffic,
}

/// Frames and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// How many frames.
    pub frames: u64,
    /// The bytes of all of them.
    pub bytes: u64,
}

impl Traffic {
    /// One frame more.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It looks for its neighbours.
    #[default]
    Starting,
    /// It learns.
    Training,
    /// It has learnt, and answers neighbours that have not.
    Finished,
    /// It was told to stop, or cannot go on.
    Stopped,
}

impl Status {
    /// By how many rounds the neighbour that is farthest behind is behind.
    #[must_use]
    pub fn staleness(&self) -> u64 {
        let behind = |seen: &NeighbourStatus| self.round.saturating_sub(seen.round);
        self.neighbours.iter().map(behind).max().unwrap_or(0)
    }

    /// One line for a terminal.
    #[must_use]
    pub fn line(&self) -> String {
        let there = self.neighbours.iter().filter(|seen| seen.there).count();
        let gap = self.gap.map_or_else(
            || format!("residual {:.1e}", self.residual),
            |gap| format!("gap {gap:.1e}"),
        );
        let notice = self.notice.as_ref().map_or_else(String::new, |text| format!("  {text}"));
        format!(
            "{} round {}, {} of {} neighbours there, {} behind, {} kB sent, {gap}{notice}",
            self.process,
            self.round,
            there,
            self.neighbours.len(),
            self.staleness(),
            self.sent_bytes.div_ceil(1000),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_where_and_how_far() {
        let seen = |name: &str, there, round| NeighbourStatus {
            name: name.into(),
            there,
            round,
            ..NeighbourStatus::default()
        };
        let status = Status {
            process: "east".into(),
            round: 12,
            sent_bytes: 3456,
            residual: 0.00123,
            neighbours: vec![seen("west", true, 12), seen("north", false, 9)],
            ..Status::default()
        };
        assert_eq!(
            status.line(),
            "east round 12, 1 of 2 neighbours there, 3 behind, 4 kB sent, residual 1.2e-3"
        );
    }
}
