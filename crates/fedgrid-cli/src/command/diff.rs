//! `fedgrid diff`: what changed between two runs.

use std::path::PathBuf;

use clap::Args;
use fedgrid_lab::{
    diff::{CoefficientChange, ErrorChange, KeyChange, NodeMove, RunDiff, RunInShort},
    error::Result,
    number::{count, counted, percent, perhaps, significant},
    run::to_json_pretty,
};

use super::job::wrapped;
use crate::terminal::Terminal;

/// How many lines of a list are shown, unless more are asked for; `--json` has all.
const LINES: usize = 10;
/// The width of the columns of names, and of numbers.
const NAME_CHARS: usize = 28;
const CELL_CHARS: usize = 13;

/// Arguments of `fedgrid diff`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid diff runs/monday runs/tuesday")]
pub(super) struct Diff {
    /// The folder of a finished run.
    first: PathBuf,

    /// That of another, such as one that was updated or trained with other keys.
    second: PathBuf,

    /// How many nodes and coefficients are shown, those that changed most; --json has all.
    #[arg(long, value_name = "N", default_value_t = LINES)]
    lines: usize,
}

impl Diff {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let diff = RunDiff::of_folders(&self.first, &self.second)?;
        terminal.give(&to_json_pretty(&diff));
        let mut parts = vec![runs(&diff.runs)];
        if !diff.errors.is_empty() {
            parts.push(errors(&diff.metric[0], &diff.errors));
        }
        parts.extend(nodes("new", &diff.new_nodes));
        parts.extend(nodes("gone", &diff.gone_nodes));
        if !diff.moved.is_empty() {
            parts.push(moved(&diff.moved, self.lines));
        }
        parts.push(coefficients(&diff, self.lines));
        parts.push(keys(&diff.keys));
        terminal.say(&parts.join("\n\n"));
        for note in &diff.notes {
            terminal.say(&format!("\n{}", wrapped(&format!("Note: {note}"))));
        }
        Ok(())
    }
}

/// A name in the width of its column.
fn named(name: &str) -> String {
    let is_short = name.chars().count() < NAME_CHARS;
    let cut = || name.chars().take(NAME_CHARS - 2).chain(['…']).collect();
    let name: String = if is_short { name.into() } else { cut() };
    format!("{name:<NAME_CHARS$}")
}

fn cells<'a>(name: &str, cells: impl IntoIterator<Item = &'a str>) -> String {
    let cut = |text: &str| text.chars().take(CELL_CHARS - 1).collect::<String>();
    let all = cells.into_iter().map(|cell| format!("{:>CELL_CHARS$}", cut(cell)));
    (named(name) + &all.collect::<String>()).trim_end().to_string()
}

fn runs([a, b]: &[RunInShort; 2]) -> String {
    let numbers = |name: &str, of: fn(&RunInShort) -> usize| {
        let (first, second) = (of(a), of(b));
        let change = if first == second { String::new() } else { signed(first, second) };
        cells(name, [count(first).as_str(), &count(second), &change])
    };
    let words = |name: &str, of: fn(&RunInShort) -> String| {
        let (first, second) = (of(a), of(b));
        let change = if first == second { "" } else { "changed" };
        cells(name, [first.as_str(), &second, change])
    };
    [
        cells("run", [a.title.as_str(), &b.title]),
        numbers("nodes", |run| run.nodes),
        numbers("edges", |run| run.edges),
        numbers("training rows", |run| run.training_rows),
        numbers("scored rows", |run| run.scored_rows),
        words("method", |run| run.method.clone()),
        words("strength", |run| significant(run.strength)),
        words("advised", |run| run.advised.clone()),
        words("verdict", |run| run.verdict_kind.clone().unwrap_or_else(|| "-".into())),
        numbers("updates", |run| run.updates),
    ]
    .join("\n")
}

fn signed(first: usize, second: usize) -> String {
    let sign = if second > first { '+' } else { '−' };
    format!("{sign}{}", count(second.abs_diff(first)))
}

fn errors(metric: &str, errors: &[ErrorChange]) -> String {
    let line = |one: &ErrorChange| {
        let [first, second] = one.errors;
        let change = first.zip(second).filter(|(first, _)| *first != 0.0);
        let change = change.map_or_else(String::new, |(first, second)| {
            let share = percent((second - first).abs() / first.abs());
            format!("{}{share}", if second > first { '+' } else { '−' })
        });
        let change = if first == second { "" } else { &change };
        cells(&one.method, [perhaps(first).as_str(), &perhaps(second), change])
    };
    let head = cells(&format!("{metric} of"), ["first", "second", "change"]);
    std::iter::once(head).chain(errors.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn nodes(what: &str, names: &[String]) -> Option<String> {
    let shown = names.iter().take(LINES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(LINES);
    let more = if more == 0 { String::new() } else { format!(" and {} more", count(more)) };
    let who = counted(names.len(), &format!("{what} node"));
    (!names.is_empty()).then(|| wrapped(&format!("{who}: {shown}{more}")))
}

fn moved(moved: &[NodeMove], lines: usize) -> String {
    let line = |one: &NodeMove| {
        let [before, now] = one.rows.map(count);
        cells(&one.node, [significant(one.moved).as_str(), &before, &now])
    };
    let head = cells("nodes that moved most", ["moved by", "rows before", "rows now"]);
    listed(head, moved.iter().map(line), lines)
}

fn coefficients(diff: &RunDiff, lines: usize) -> String {
    let (all, known) = (diff.coefficients_compared, diff.coefficients_with_error);
    let told = diff.coefficients.len();
    if known == 0 {
        let why = if all == 0 {
            "The runs have no coefficients in common."
        } else {
            "The first run knows no standard errors of its coefficients (mixed models do)."
        };
        return wrapped(why);
    }
    let sentence = wrapped(&format!(
        "{} of {} changed by more than two standard errors of the first run",
        count(told),
        counted(known, "coefficient")
    ));
    if told == 0 {
        return sentence;
    }
    let line = |one: &CoefficientChange| {
        let name = format!("{} {}", one.node, one.name);
        let [before, now] = one.values.map(significant);
        cells(
            &name,
            [before.as_str(), &now, &significant(one.standard_error), &significant(one.errors)],
        )
    };
    let head = cells("node and coefficient", ["first", "second", "std. error", "in errors"]);
    listed(format!("{sentence}\n{head}"), diff.coefficients.iter().map(line), lines)
}

fn keys(keys: &[KeyChange]) -> String {
    if keys.is_empty() {
        return "The experiments are the same.".into();
    }
    let line = |one: &KeyChange| {
        let [first, second] = one.values.each_ref().map(|value| value.as_deref().unwrap_or("-"));
        wrapped(&format!("{}: {first} → {second}", one.key))
    };
    listed("keys that differ".into(), keys.iter().map(line), usize::MAX)
}

/// The first lines of a list under its head, and how many are left out.
fn listed(head: String, lines: impl ExactSizeIterator<Item = String>, shown: usize) -> String {
    let more = lines.len().saturating_sub(shown);
    let mut all: Vec<String> = std::iter::once(head).chain(lines.take(shown)).collect();
    if more > 0 {
        all.push(format!("… and {} (all with --json)", counted(more, "more line")));
    }
    all.join("\n")
}
