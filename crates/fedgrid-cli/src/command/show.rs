//! `fedgrid show`: a finished run, or one of its nodes.

use std::path::PathBuf;

use clap::Args;
use fedgrid_lab::{
    error::Result,
    number::{count, counted, percent, perhaps, significant},
    run::to_json_pretty,
    show::{FinishedRun, Importance, NeighbourView, NodeCoefficient, NodeError, NodeView, Rules},
};

use super::job::{plan_lines, say, wrapped};
use crate::terminal::Terminal;

/// How many lines of a list are shown; `--json` has all.
const LINES: usize = 40;

/// The length of names; longer ones are cut.
const NAME_CHARS: usize = 26;

/// Arguments of `fedgrid show`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid show runs/colorado --node 028468")]
pub(super) struct Show {
    /// The folder of a finished run.
    run: PathBuf,

    /// One node: its errors by each method, its coefficients or rules beside those of others, who pulls it, and
    /// what each column is worth to it.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

impl Show {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let run = FinishedRun::from_folder(&self.run)?;
        let Some(name) = &self.node else {
            let heading = wrapped(&run.heading());
            let columns = plan_lines(&run.columns()).join("\n");
            terminal.say(&format!("{heading}\n{columns}\n"));
            say(terminal, &run.outcome);
            terminal.say(&format!("\nReport: {}", self.run.join("report.html").display()));
            terminal.give(&to_json_pretty(&run.outcome));
            return Ok(());
        };
        let view = run.node(name)?;
        terminal.give(&to_json_pretty(&view));
        let parts = [
            Some(heading(&run.title, &view)),
            Some(errors(&view.metric, &view.errors)),
            (!view.coefficients.is_empty()).then(|| coefficients(&view.coefficients)),
            view.rules.as_ref().map(rules),
            view.intervals(&run.outcome).map(|own| wrapped(&format!("intervals of {own}"))),
            view.pulled_by.as_deref().map(pulled_by),
            view.importance.as_ref().map(|own| importance(&view.metric, own)),
        ];
        terminal.say(&parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
        for note in view.about.note.iter().chain(&view.notes) {
            terminal.say(&format!("\n{}", wrapped(&format!("Note: {note}"))));
        }
        Ok(())
    }
}

fn heading(title: &str, view: &NodeView) -> String {
    let about = &view.about;
    let label = about.label.as_ref().map_or_else(String::new, |label| format!(" ({label})"));
    wrapped(&format!(
        "{}{label} of {title}: {} model, {}, {}, {}",
        about.name,
        about.model,
        counted(about.rows, "training row"),
        counted(about.scored_rows, "scored row"),
        counted(about.neighbours, "neighbour")
    ))
}

/// A name in the width of its column.
fn named(name: &str) -> String {
    let is_short = name.chars().count() <= NAME_CHARS;
    let cut = || name.chars().take(NAME_CHARS - 1).chain(['…']).collect();
    let name: String = if is_short { name.into() } else { cut() };
    format!("{name:<NAME_CHARS$}")
}

fn errors(metric: &str, errors: &[NodeError]) -> String {
    let line = |one: &NodeError| format!("{}{:>12}", named(&one.method), perhaps(one.error));
    let head = format!("{}{:>12}", named(&format!("{metric} of the node")), "error");
    std::iter::once(head).chain(errors.iter().map(line)).collect::<Vec<_>>().join("\n")
}

fn coefficients(all: &[NodeCoefficient]) -> String {
    let head = ["value", "std. error", "pooled", "neighbours"];
    let head = head.iter().fold(named("coefficient"), |line, name| line + &format!("{name:>12}"));
    let line = |one: &NodeCoefficient| {
        let cells = [Some(one.value), one.standard_error, one.pooled, one.neighbours];
        cells.iter().fold(named(&one.name.to_string()), |line, cell| {
            line + &format!("{:>12}", perhaps(*cell))
        })
    };
    listed(head, all.iter().map(line))
}

fn rules(rules: &Rules) -> String {
    listed(rules.head(), rules.lines.iter().map(|line| line.chars().take(80).collect()))
}

fn pulled_by(all: &[NeighbourView]) -> String {
    if all.is_empty() {
        return "pulled by nobody: it has no neighbour".into();
    }
    let head = format!("{}{:>12}{:>12}", named("pulled by"), "weight", "share");
    let line = |one: &NeighbourView| {
        let name = one.label.as_ref().unwrap_or(&one.node);
        format!("{}{:>12}{:>12}", named(name), significant(one.weight), percent(one.share))
    };
    listed(head, all.iter().map(line))
}

fn importance(metric: &str, own: &Importance) -> String {
    let rows = format!("{} {} rows", count(own.rows), own.rows_are);
    let about = wrapped(&format!(
        "importance: by how much the {metric} of {} rises when a column is shuffled among the node's {rows}",
        significant(own.error)
    ));
    let head = format!("{about}\n{}{:>12}{:>12}", named("column"), "rise", "deviation");
    let line = |one: &fedgrid_lab::show::ImportantColumn| {
        format!(
            "{}{:>12}{:>12}",
            named(&one.column),
            significant(one.rise),
            significant(one.deviation)
        )
    };
    listed(head, own.columns.iter().map(line))
}

/// The first lines of a list under its head, and how many are left out.
fn listed(head: String, lines: impl ExactSizeIterator<Item = String>) -> String {
    let more = lines.len().saturating_sub(LINES);
    let mut all: Vec<String> = std::iter::once(head).chain(lines.take(LINES)).collect();
    if more > 0 {
        all.push(format!("… and {} (all with --json)", counted(more, "more line")));
    }
    all.join("\n")
}
