//! `fedgrid federation audit`: whether the log of what was sent is whole, and what it says.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clap::Args;
use fedgrid::runtime::protocol::FrameKind;
use fedgrid_zenoh::{
    audit::{self, AuditEntry},
    chain::ChainHead,
    identity::Hex,
};
use serde_json::{Value, json};

use super::{project::columns, refused};
use crate::{
    command::clock::moment,
    terminal::{Terminal, complain},
};
use fedgrid_lab::{
    error::{Error, Result},
    number::{bytes, counted},
    run::to_json_pretty,
};

/// The log in the folder of a run.
pub(super) const AUDIT_FILE: &str = "audit.log";

/// Arguments of `fedgrid federation audit`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation audit runs/weather-hospital-a")]
pub(in crate::command) struct Audit {
    /// The log, or the folder of the site's run, which has it as audit.log.
    log: PathBuf,
}

/// What was sent to a neighbour in a run.
#[derive(Debug, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
    payload_bytes: u64,
    rounds: BTreeSet<u64>,
    kinds: BTreeMap<&'static str, u64>,
    methods: BTreeSet<String>,
}

impl Sent {
    fn add(&mut self, entry: AuditEntry) {
        self.messages += 1;
        self.bytes += entry.frame_bytes;
        self.payload_bytes += entry.payload_bytes;
        // Rounds in which something was told of what was learnt; the rest of frames says how rounds go.
        if entry.kind == Some(FrameKind::State) {
            self.rounds.insert(entry.round);
        }
        *self.kinds.entry(word(entry.kind)).or_default() += 1;
        self.methods.insert(entry.method);
    }
}

/// What a kind of frame is called.
fn word(kind: Option<FrameKind>) -> &'static str {
    match kind {
        Some(FrameKind::Hello) => "hello",
        Some(FrameKind::State) => "messages of a round",
        Some(FrameKind::Sums) => "sums",
        Some(FrameKind::Verdict) => "verdict",
        Some(FrameKind::Ask) => "ask",
        Some(FrameKind::Refusal) => "refusal",
        Some(FrameKind::Leave) => "leave",
        Some(FrameKind::Done) => "done",
        Some(FrameKind::Held) => "bases",
        Some(FrameKind::Chosen) => "base",
        None => "of a later version",
    }
}

impl Audit {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let path = found(&self.log)?;
        let mut sent: BTreeMap<(String, String), Sent> = BTreeMap::new();
        let (mut first, mut last) = (None, None);
        let read = audit::read(&path, |entry| {
            first.get_or_insert(entry.time);
            last = Some(entry.time);
            let run = Hex(entry.run).to_string();
            sent.entry((run, entry.receiver.clone())).or_default().add(entry);
        });
        let (head, torn) = read.map_err(refused)?;
        if torn > 0 {
            // One that is being written looks the same as one that a crash has cut short.
            complain(&format!(
                "Note: {} after the last whole record: the agent writes it now, or a crash has cut it short before its \
                 frame was sent",
                counted(torn, "byte")
            ));
        }
        let log = Log { head, torn, first, last, sent };
        terminal.say(&format!("{}: {}", path.display(), log.text()));
        terminal.give(&to_json_pretty(&log.json()));
        Ok(())
    }
}

/// What a log says.
struct Log {
    head: ChainHead,
    torn: usize,
    /// When its first and last frame were sent.
    first: Option<u64>,
    last: Option<u64>,
    /// By run and receiver.
    sent: BTreeMap<(String, String), Sent>,
}

impl Log {
    fn text(&self) -> String {
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let mut rows =
            vec![["run", "to", "messages", "bytes", "payload", "rounds"].map(String::from)];
        for ((run, to), sent) in &self.sent {
            rows.push([
                run[..8].into(),
                to.clone(),
                sent.messages.to_string(),
                bytes(number(sent.bytes)),
                bytes(number(sent.payload_bytes)),
                sent.rounds.len().to_string(),
            ]);
        }
        let when = match (self.first, self.last) {
            (Some(first), Some(last)) => format!(", {} to {}", moment(first), moment(last)),
            _ => String::new(),
        };
        format!(
            "{} in an unbroken chain{when}\n\n{}\n\nThe chain ends with {}",
            counted(number(self.head.records), "record"),
            columns(&rows),
            Hex(self.head.hash)
        )
    }

    fn json(&self) -> Value {
        let all = self.sent.iter().map(|((run, to), sent)| {
            json!({
                "run": run,
                "to": to,
                "messages": sent.messages,
                "bytes": sent.bytes,
                "payload_bytes": sent.payload_bytes,
                "rounds": sent.rounds.len(),
                "kinds": sent.kinds,
                "methods": sent.methods,
            })
        });
        json!({
            "records": self.head.records,
            "head": Hex(self.head.hash).to_string(),
            "torn_bytes": self.torn,
            "first": self.first,
            "last": self.last,
            "sent": all.collect::<Vec<_>>(),
        })
    }
}

/// The log in a folder, or what was named.
fn found(path: &Path) -> Result<PathBuf> {
    let log = if path.is_dir() { path.join(AUDIT_FILE) } else { path.into() };
    if log.is_file() {
        return Ok(log);
    }
    Err(Error::input(format!(
        "'{}' is no log: give the folder of a site's run, or its {AUDIT_FILE}",
        log.display()
    )))
}
