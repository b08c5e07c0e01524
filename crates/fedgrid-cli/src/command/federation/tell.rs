//! What an agent tells the person who has started it: a live line on a terminal, plain lines elsewhere, or a log.

use std::{
    io::{IsTerminal, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use fedgrid_zenoh::agent::{AgentEvent, Phase, Status};
use serde_json::json;

use super::page::Watched;
use crate::{
    command::clock::moment,
    terminal::{Terminal, complain, has_reader},
};

/// How often a log says how it goes, beside what happens.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// How an agent writes its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Lines for people.
    Text,
    /// Lines of JSON.
    Json,
}

/// Who is told.
pub(super) struct Tell {
    log: Option<LogFormat>,
    line: StatusLine,
    watched: Arc<Watched>,
    last: Option<Instant>,
}

impl Tell {
    pub(super) fn new(terminal: Terminal, log: Option<LogFormat>, watched: Arc<Watched>) -> Self {
        let line = StatusLine { terminal, last: None, phase: Phase::Starting, notice: None };
        Self { log, line, watched, last: None }
    }

    pub(super) fn show(&mut self, status: &Status) {
        let new = self.watched.put(status);
        let Some(format) = self.log else { return self.line.show(status) };
        if self.line.terminal.quiet {
            return;
        }
        for event in &new {
            complain(&logged(format, status, event));
        }
        if self.last.is_none_or(|last| last.elapsed() >= LOG_EVERY) {
            self.last = Some(Instant::now());
            complain(&summed_up(format, status));
        }
    }

    pub(super) fn end(&self) {
        if self.log.is_none() {
            self.line.end();
        }
    }
}

/// A line about something that has happened.
fn logged(format: LogFormat, status: &Status, event: &AgentEvent) -> String {
    let AgentEvent { time, kind, text, .. } = event;
    let (time, site) = (moment(*time), &status.process);
    let level = if kind.is_warning() { "warning" } else { "info" };
    match format {
        LogFormat::Text => format!("{time} {level} {site}: {text}"),
        LogFormat::Json => json!({
            "time": time, "level": level, "site": site, "event": kind, "round": status.round, "message": text,
        })
        .to_string(),
    }
}

/// A line about how it goes.
fn summed_up(format: LogFormat, status: &Status) -> String {
    let time = moment(fedgrid_zenoh::identity::now());
    match format {
        LogFormat::Text => format!("{time} info {}", status.line()),
        LogFormat::Json => {
            let mut status = json!(status);
            // They have had lines of their own.
            if let Some(status) = status.as_object_mut() {
                status.remove("events");
            }
            let site = status["process"].clone();
            json!({
                "time": time, "level": "info", "site": site, "event": "status", "round": status["round"], "status": status,
            })
            .to_string()
        }
    }
}

/// The live line of a terminal; plain lines, now and then, elsewhere.
struct StatusLine {
    terminal: Terminal,
    last: Option<Instant>,
    phase: Phase,
    notice: Option<String>,
}

impl StatusLine {
    fn show(&mut self, status: &Status) {
        if self.terminal.quiet || self.terminal.json {
            return;
        }
        if is_live() {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", status.line());
            return;
        }
        // A log that grows by a line every status would hide the lines that matter.
        let is_due = self.last.is_none_or(|last| last.elapsed().as_secs() >= 10);
        if is_due || self.phase != status.phase || self.notice != status.notice {
            (self.last, self.phase) = (Some(Instant::now()), status.phase);
            self.notice.clone_from(&status.notice);
            complain(&status.line());
        }
    }

    fn end(&self) {
        if !self.terminal.quiet && !self.terminal.json && is_live() {
            let _ = writeln!(std::io::stderr());
        }
    }
}

/// Whether one line is written over and over.
fn is_live() -> bool {
    std::io::stderr().is_terminal() && !has_reader()
}
