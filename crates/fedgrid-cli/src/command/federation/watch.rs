//! `fedgrid federation watch`: all sites at work, on a terminal as a table that is drawn again and again, elsewhere as
//! lines when something happens.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use fedgrid_zenoh::{
    agent::{AgentEvent, Phase, Status},
    identity::now,
    manifest::Manifest,
    provision::Project,
    transport,
};
use serde_json::json;

use super::{
    project::{columns, operator_session},
    refused,
};
use crate::{
    colour::{Output, Paint, painted},
    command::clock::{moment, time_of_day},
    terminal::{Terminal, is_interrupted, print},
};
use fedgrid_lab::{
    error::Result,
    number::{bytes, significant},
};

/// What fits a terminal of the least usual size: 24 lines are less, but tables of three sites are short.
const SHOWN_SITES: usize = 20;
const SHOWN_EDGES: usize = 12;
const SHOWN_EVENTS: usize = 8;
/// So many letters wide, as the least usual terminal is.
const WIDTH: usize = 80;
/// Longer names of sites are cut.
const NAME_LETTERS: usize = 14;
/// How often plain lines say how it goes if nothing happens.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// How often it is looked whether a person wants it to end.
const STOP_MILLISECONDS: u64 = 50;

/// Arguments of `fedgrid federation watch`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation watch federation/weather")]
pub(in crate::command) struct Watch {
    /// The folder of the project.
    project: PathBuf,

    /// Ask all sites every so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,

    /// Show what is now, and end.
    #[arg(long)]
    once: bool,

    /// Show all sites, edges and events that are known, however many.
    #[arg(long)]
    all: bool,
}

/// What was heard of all sites.
struct Seen<'a> {
    manifest: &'a Manifest,
    /// By position; none of who does not answer.
    sites: Vec<Option<Status>>,
}

impl Watch {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let project = Project::open(&self.project).map_err(refused)?;
        let session = operator_session(&project)?;
        let manifest = &project.manifest;
        // Links come up while it asks, so the first answers are waited for.
        let mut answers = transport::ask_all(&session, manifest, None);
        let mut plain = PlainLines::default();
        let is_screen = std::io::stdout().is_terminal() && !self.once;
        loop {
            let seen = Seen::new(manifest, &answers);
            if terminal.json {
                terminal.give(&seen.json());
            } else if is_screen {
                // Home, then the rest of the screen is cleared: less flicker than clearing first.
                let text = seen.screen(self.all).replace('\n', "\x1b[K\n");
                print(&format!("\x1b[H{text}\x1b[K\n\x1b[J"));
                let _ = std::io::stdout().flush();
            } else if self.once {
                terminal.say(&seen.screen(self.all));
            } else {
                for line in plain.of(&seen) {
                    terminal.say(&line);
                }
            }
            if self.once || !rest(Duration::from_secs(self.every)) {
                break;
            }
            answers = transport::ask_once(&session, manifest);
        }
        transport::close(session);
        Ok(())
    }
}

/// Waits until it is time to ask again; false if a person wants it to end.
fn rest(time: Duration) -> bool {
    let until = Instant::now() + time;
    while !is_interrupted() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(STOP_MILLISECONDS));
    }
    !is_interrupted()
}

impl<'a> Seen<'a> {
    fn new(manifest: &'a Manifest, answers: &[(u32, String)]) -> Self {
        let of = |index: usize| {
            let (_, text) = answers.iter().find(|(other, _)| *other as usize == index)?;
            serde_json::from_str(text).ok()
        };
        Self { manifest, sites: (0..manifest.processes.len()).map(of).collect() }
    }

    fn name(&self, site: usize) -> &str {
        &self.manifest.processes[site].name
    }

    fn is_revoked(&self, site: usize) -> bool {
        self.manifest.processes[site].key.is_none()
    }

    /// What a site is doing, in a word.
    fn phase(&self, site: usize) -> &'static str {
        match &self.sites[site] {
            None if self.is_revoked(site) => "revoked",
            None => "not there",
            Some(status) if !status.waiting_for.is_empty() => "waiting",
            Some(status) => match status.phase {
                Phase::Starting => "starting",
                Phase::Training => "training",
                Phase::Finished => "finished",
                Phase::Stopped => "stopped",
            },
        }
    }

    /// Whether a person should look at a site.
    fn is_trouble(&self, site: usize) -> bool {
        matches!(self.phase(site), "not there" | "waiting" | "stopped")
    }

    /// Who is there, how far, and who waits for whom, in 80 columns.
    fn screen(&self, all: bool) -> String {
        let there = self.sites.iter().flatten().count();
        let (project, number) = (&self.manifest.project, self.manifest.number);
        let heading = format!(
            "{project}: {there} of {} sites there, manifest {number}, {}",
            self.sites.len(),
            moment(now())
        );
        let parts = [
            painted(&cut(&heading, WIDTH), Paint::Answer, Output::Standard),
            self.table(all),
            self.edges(all),
            self.events(all),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    fn table(&self, all: bool) -> String {
        let heading = ["site", "phase", "round", "age s", "residual", "gap", "error", "waits for"];
        let mut rows = vec![heading.map(String::from)];
        // Who needs a look comes first, so that it is not what is left out.
        let mut order: Vec<usize> = (0..self.sites.len()).collect();
        order.sort_by_key(|&site| !self.is_trouble(site));
        let shown = if all { order.len() } else { SHOWN_SITES };
        for &site in order.iter().take(shown) {
            let (name, phase) = (cut(self.name(site), NAME_LETTERS), self.phase(site).to_string());
            let Some(status) = &self.sites[site] else {
                let none = || "-".to_string();
                rows.push([name, phase, none(), none(), none(), none(), none(), none()]);
                continue;
            };
            let power =
                |value: Option<f64>| value.map_or_else(|| "-".into(), |v| format!("{v:.1e}"));
            rows.push([
                name,
                phase,
                status.round.to_string(),
                format!("{:.0}", status.round_age_seconds),
                power(Some(status.residual)),
                power(status.gap),
                status.validation.map_or_else(|| "-".into(), significant),
                waited_for(&status.waiting_for),
            ]);
        }
        let table = columns(&rows);
        let in_colour = |(line, text): (usize, &str)| {
            let text = cut(text, WIDTH);
            let is_trouble = line > 0 && self.is_trouble(order[line - 1]);
            if is_trouble { painted(&text, Paint::Warning, Output::Standard) } else { text }
        };
        let mut lines: Vec<String> = table.lines().enumerate().map(in_colour).collect();
        lines.extend(left_out(order.len(), shown, "sites"));
        lines.join("\n")
    }

    /// What went along each edge between sites, since the last start of who has sent it.
    fn edges(&self, all: bool) -> String {
        let mut sent: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (site, status) in self.sites.iter().enumerate() {
            for seen in status.iter().flat_map(|status| &status.neighbours) {
                if let Some(other) = self.manifest.index_of(&seen.name) {
                    sent.insert((site, other as usize), seen.sent.bytes);
                }
            }
        }
        let pairs: BTreeSet<(usize, usize)> =
            sent.keys().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let mut pairs: Vec<(usize, usize)> = pairs.into_iter().collect();
        let count = |a, b| sent.get(&(a, b)).copied();
        let both = |&(a, b): &(usize, usize)| count(a, b).unwrap_or(0) + count(b, a).unwrap_or(0);
        pairs.sort_by_key(|pair| std::cmp::Reverse(both(pair)));
        if pairs.is_empty() {
            return String::new();
        }
        let shown = if all { pairs.len() } else { SHOWN_EDGES };
        let size = |count: Option<u64>| {
            // Of who is not there it is not known.
            count.map_or_else(
                || "?".into(),
                |count| bytes(usize::try_from(count).unwrap_or(usize::MAX)),
            )
        };
        let mut rows = vec![["edge", "and", "sent there", "sent back"].map(String::from)];
        rows.extend(pairs.iter().take(shown).map(|&(a, b)| {
            let name = |site| cut(self.name(site), 2 * NAME_LETTERS);
            [name(a), name(b), size(count(a, b)), size(count(b, a))]
        }));
        let mut lines: Vec<String> = columns(&rows).lines().map(|line| cut(line, WIDTH)).collect();
        lines.extend(left_out(pairs.len(), shown, "edges"));
        lines.join("\n")
    }

    /// What has happened lately, everywhere.
    fn events(&self, all: bool) -> String {
        let mut events: Vec<(&str, &AgentEvent)> = Vec::new();
        for (site, status) in self.sites.iter().enumerate() {
            let own = status.iter().flat_map(|status| &status.events);
            events.extend(own.map(|event| (self.name(site), event)));
        }
        events.sort_by_key(|(site, event)| (event.time, *site, event.number));
        let shown = if all { events.len() } else { SHOWN_EVENTS };
        let latest = &events[events.len().saturating_sub(shown)..];
        let lines = latest.iter().map(|(site, event)| {
            let site = cut(site, NAME_LETTERS);
            let text = cut(&format!("{} {site}: {}", time_of_day(event.time), event.text), WIDTH);
            if event.kind.is_warning() {
                painted(&text, Paint::Warning, Output::Standard)
            } else {
                text
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// All of it, in a line.
    fn json(&self) -> String {
        let sites = self.sites.iter().enumerate();
        let sites =
            sites.map(|(site, status)| json!({ "site": self.name(site), "status": status }));
        json!({ "time": moment(now()), "sites": sites.collect::<Vec<_>>() }).to_string()
    }
}

/// Whom a round waits for, in a cell: the first, and how many more.
fn waited_for(names: &[String]) -> String {
    match names {
        [] => "-".into(),
        [one] => cut(one, NAME_LETTERS),
        [first, rest @ ..] => format!("{} +{}", cut(first, NAME_LETTERS), rest.len()),
    }
}

fn left_out(count: usize, shown: usize, what: &str) -> Option<String> {
    (count > shown).then(|| format!("… and {} {what} more; --all shows them", count - shown))
}

/// The beginning of a text, where it is longer than this.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.into();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

/// What was said so far, where lines stay.
#[derive(Default)]
struct PlainLines {
    /// By site: the number of its last event, the start that it is of, and what it was doing.
    known: BTreeMap<usize, (u64, u64, &'static str)>,
    /// By site: the run, which is another one in every stage.
    runs: BTreeMap<usize, String>,
    last: Option<Instant>,
}

impl PlainLines {
    /// The lines about what is new.
    fn of(&mut self, seen: &Seen<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        let is_due = self.last.is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
        if is_due {
            self.last = Some(Instant::now());
        }
        for (site, status) in seen.sites.iter().enumerate() {
            let (name, phase) = (seen.name(site), seen.phase(site));
            let (number, epoch, before) = self.known.get(&site).copied().unwrap_or((0, 0, ""));
            let mut last = (number, epoch);
            if let Some(status) = status {
                // A process that was started again counts anew.
                let before = self.runs.insert(site, status.run.clone());
                let is_same = status.epoch == epoch && before.is_none_or(|run| run == status.run);
                let known = if is_same { number } else { 0 };
                let new = status.events.iter().filter(|event| event.number > known);
                lines.extend(
                    new.map(|event| format!("{} {name}: {}", moment(event.time), event.text)),
                );
                last = (status.events.last().map_or(known, |event| event.number), status.epoch);
            }
            if is_due || phase != before {
                let how = status.as_ref().map_or_else(
                    || phase.to_string(),
                    |status| {
                        format!(
                            "{phase}, {}",
                            status.line().split_once(' ').map_or("", |(_, rest)| rest)
                        )
                    },
                );
                lines.push(format!("{} {name}: {how}", moment(now())));
            }
            self.known.insert(site, (last.0, last.1, phase));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use fedgrid_zenoh::{
        agent::{EventKind, NeighbourStatus, Traffic},
        identity::Hex,
        manifest::{LinkProtocol, ProcessEntry, SharedSizes},
    };

    use super::*;

    fn manifest(names: &[String]) -> Manifest {
        let process = |name: &String| ProcessEntry {
            name: name.clone(),
            key: Some(Hex([1; 32])),
            certificate: None,
            address: None,
            since: 0,
        };
        Manifest {
            project: "weather".into(),
            run: Hex([7; 16]),
            number: 1,
            former: Vec::new(),
            experiment: Hex([1; 32]),
            public: Hex([2; 32]),
            link: LinkProtocol::Tcp,
            authority: None,
            router: None,
            shape: SharedSizes::default(),
            checkpoint_every: 1,
            largest_number: 1e12,
            processes: names.iter().map(process).collect(),
            nodes: Vec::new(),
            edges: Vec::new(),
            left: Vec::new(),
            updated: None,
        }
    }

    fn status(name: &str, neighbour: &str, epoch: u64, events: &[(u64, &str)]) -> Status {
        let seen = NeighbourStatus {
            name: neighbour.into(),
            there: true,
            sent: Traffic { frames: 3, bytes: 1234 },
            ..NeighbourStatus::default()
        };
        let event = |&(number, text): &(u64, &str)| AgentEvent {
            number,
            time: 951_782_399 + number,
            kind: EventKind::Joined,
            text: text.into(),
        };
        Status {
            process: name.into(),
            phase: Phase::Training,
            epoch,
            round: 12,
            residual: 0.001,
            neighbours: vec![seen],
            events: events.iter().map(event).collect(),
            ..Status::default()
        }
    }

    #[test]
    fn a_screen_has_eighty_columns_and_says_what_it_leaves_out() {
        let names: Vec<String> =
            (0..100).map(|site| format!("a-rather-long-name-{site}")).collect();
        let manifest = manifest(&names);
        let next = |site: usize| &names[(site + 1) % names.len()];
        let mut seen = Seen {
            manifest: &manifest,
            sites: (0..100)
                .map(|site| Some(status(&names[site], next(site), 1, &[(1, &"x".repeat(200))])))
                .collect(),
        };
        seen.sites[99] = None;
        seen.sites[98].as_mut().unwrap().waiting_for = vec![names[99].clone(); 7];
        let text = seen.screen(false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        // Who needs a look stands before all others.
        assert!(lines[3].contains("waiting") && lines[4].contains("not there"), "{text}");
        assert!(text.contains("… and 80 sites more; --all shows them"), "{text}");
        assert!(text.contains("… and 87 edges more; --all shows them"), "{text}");
        let whole = seen.screen(true);
        assert!(whole.lines().count() > 300 && !whole.contains("--all"), "{whole}");
        // Of who is not there, what it has sent is not known.
        assert!(whole.lines().any(|line| line.ends_with('?')), "{whole}");
    }

    #[test]
    fn plain_lines_say_every_event_once_also_after_a_start() {
        let names = ["east", "west"].map(String::from);
        let manifest = manifest(&names);
        let seen = |epoch, events: &[(u64, &str)]| Seen {
            manifest: &manifest,
            sites: vec![Some(status("east", "west", epoch, events)), None],
        };
        let mut plain = PlainLines::default();
        let first = plain.of(&seen(1, &[(1, "begun"), (2, "met")]));
        assert_eq!(first.len(), 4, "{first:?}");
        assert_eq!(first[0], "2000-02-29T00:00:00Z east: begun");
        assert!(
            first[2].contains("east: training, round 12, 1 of 1 neighbours there"),
            "{first:?}"
        );
        assert!(first[3].ends_with("west: not there"), "{first:?}");
        let second = plain.of(&seen(1, &[(1, "begun"), (2, "met"), (3, "lost")]));
        assert_eq!(second, ["2000-02-29T00:00:02Z east: lost"]);
        let third = plain.of(&seen(2, &[(1, "begun again")]));
        assert_eq!(third, ["2000-02-29T00:00:00Z east: begun again"]);
    }
}
