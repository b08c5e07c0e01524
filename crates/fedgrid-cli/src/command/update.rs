//! `fedgrid update`: further rows and nodes for a run, from where it stands.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use fedgrid_lab::{
    error::{Error, Result},
    number::counted,
    outcome::{Outcome, UpdateOutcome, UpdatedBy},
    run::{Existing, RunFolder, to_json_pretty},
    update::{AddedFiles, Repeated, Update as LabUpdate},
};

use super::{format::FormatFlags, job::wrapped};
use crate::terminal::Terminal;

/// Arguments of `fedgrid update`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid update runs/stations --data today.csv --out runs/today
  fedgrid update runs/stations --data today.csv --nodes new_stations.csv --out runs/today")]
pub(super) struct Update {
    /// The folder of a finished run.
    run: PathBuf,

    /// The rows to add: a CSV, Parquet or Arrow file with the columns that the run was trained on, several such files, or
    /// - for standard input.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    data: Vec<PathBuf>,

    /// Where new nodes are: a table with the columns of the run's own table of nodes.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,

    /// Edges of new nodes: a table with the columns src, dst and weight.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,

    /// For models with lags: rows of the time before, with the columns that lags are made of; by default those of the run
    /// are read again for them.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    history: Vec<PathBuf>,

    /// Choose the strengths again, on the validation rows of the run; these and its training rows are read again.
    #[arg(long)]
    tune: bool,

    /// Update all methods that the run keeps; by default its own, the one that the verdict advises, and the pooled models,
    /// which nodes have that are not known.
    #[arg(long)]
    all_methods: bool,

    /// What becomes of rows that equal rows of the run: refuse, skip (leave them out), or add (count them once more).
    #[arg(long, value_name = "RULE", default_value = "refuse")]
    repeated: String,

    #[command(flatten)]
    format: FormatFlags,

    /// The folder of the updated run.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace an earlier run in that folder.
    #[arg(long)]
    force: bool,
}

impl Update {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let begun = Instant::now();
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        RunFolder::check(&self.out, existing)?;
        if std::path::absolute(&self.out).ok() == std::path::absolute(&self.run).ok() {
            return Err(Error::input(format!(
                "--out is '{}', the run that is updated; give another folder, which the update is written to",
                self.out.display()
            )));
        }
        let repeated = Repeated::named(&self.repeated)?;
        let files = AddedFiles {
            nodes: self.nodes,
            edges: self.edges,
            history: self.history,
            ..AddedFiles::new(self.data, self.format.keys()?, repeated)
        };
        let title = self.out.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let progress = terminal.progress(1);
        let (tune, all_methods) = (self.tune, self.all_methods);
        let update = LabUpdate { run: self.run, repeated, tune, all_methods, study: None };
        let mut updated = update.with_files(&files, &progress)?;
        progress.finish();
        let seconds = begun.elapsed().as_secs_f64();
        updated.write((&self.out, &title), &files, existing, seconds)?;
        let outcome = &updated.outcome;
        say(terminal, &title, outcome);
        let report = self.out.join("report.html");
        terminal.say(&format!("\nReport: {} ({seconds:.1} s)", report.display()));
        terminal.give(&to_json_pretty(outcome));
        Ok(())
    }
}

/// What was done, what is known of it, and whose the verdict is.
fn say(terminal: Terminal, title: &str, outcome: &Outcome) {
    if let Some(update) = outcome.updates.last() {
        terminal.say(&format!("{}\n", wrapped(&heading(title, outcome, update))));
    }
    for warning in &outcome.warnings {
        terminal.say(&format!("{}\n", wrapped(&format!("Warning: {warning}"))));
    }
    terminal.say(&format!("{}\n", wrapped(&outcome.verdict)));
    for note in &outcome.notes {
        terminal.say(&wrapped(&format!("Note: {note}")));
    }
}

fn heading(title: &str, outcome: &Outcome, update: &UpdateOutcome) -> String {
    let rows = outcome.nodes.iter().map(|node| node.rows).sum();
    let (nodes, rows) = (counted(outcome.network.nodes, "node"), counted(rows, "training row"));
    let added = match update.by {
        UpdatedBy::Nothing => "nothing was added, and the models are those of the run".to_string(),
        _ => format!(
            "{} and {} added to {}",
            counted(update.rows_added, "row"),
            counted(update.new_nodes.len(), "node"),
            update.of
        ),
    };
    format!("{title}: {nodes}, {rows}; {added}")
}
