//! `fedgrid federation describe`: what a site agrees to tell of its own rows, so that all sites can have one plan.

use std::{
    io::{BufRead, IsTerminal, Write},
    path::PathBuf,
};

use clap::Args;
use fedgrid_zenoh::disk::{self, Access};

use super::refused;
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    assembly::SiteSummary,
    columns::SummaryOptions,
    error::{Error, Result},
    experiment::{Experiment, MethodSection},
    number::counted,
    run::to_json_pretty,
};

/// Arguments of `fedgrid federation describe`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fedgrid federation describe experiment.toml --data own.csv --out ann.json

The summary goes to whoever makes the project: fedgrid federation new … --summaries ann.json,ben.json
docs/federation-guide.md says what it tells of rows."
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(in crate::command) struct Describe {
    /// The experiment file of the project.
    experiment: PathBuf,

    /// The site's own rows: a CSV or Parquet file. They are not in the summary.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// The summary, named after the site; by default the name of the table with the ending json.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// How many rows a level or a class must have to be named, and a sum to be told.
    #[arg(long, value_name = "ROWS", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..))]
    least_count: u64,

    /// Tell no products of features: public points are then drawn as if columns were independent.
    #[arg(long)]
    without_products: bool,

    /// Tell of the first day of dates only its month.
    #[arg(long)]
    months: bool,

    /// Agree to what the summary tells, without being asked.
    #[arg(long)]
    yes: bool,

    /// Replace an earlier summary.
    #[arg(long)]
    force: bool,

    /// Override any key of the experiment, such as data.missing=mean; all sites must have the same.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,
}

impl Describe {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (mut table, base, source) = Experiment::opened(Some(&self.experiment))?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        MethodSection::name_at_sites(&mut table);
        let source = if self.set.is_empty() { source } else { String::new() };
        let experiment = Experiment::from_table(table, &source)?;
        if experiment.privacy.is_some() {
            return Err(Error::input(
                "there is a section [privacy], and a summary would tell sums of rows as they are; give public.file instead, \
                 and all features by name",
            ));
        }
        let options = SummaryOptions {
            least_count: usize::try_from(self.least_count).unwrap_or(usize::MAX),
            products: !self.without_products,
            months: self.months,
        };
        let out = self.out.clone().unwrap_or_else(|| self.data.with_extension("json"));
        if out.exists() && !self.force {
            return Err(Error::input(format!(
                "'{}' exists; add --force to replace it",
                out.display()
            )));
        }
        let summary = SiteSummary::of_table(&experiment, &base, &self.data, options)?;
        self.tell(terminal, &summary, &experiment.data.target);
        // After it was told, so that whoever has to add --yes knows to what.
        self.check_consent(terminal)?;
        if !self.yes && !asked(&format!("write {}?", out.display()))? {
            terminal.say("Nothing was written.");
            return Ok(());
        }
        let text = to_json_pretty(&summary);
        disk::write(&out, text.as_bytes(), Access::Private).map_err(refused)?;
        terminal.say(&format!(
            "Wrote {}; give it to whoever makes the project: fedgrid federation new … --summaries",
            out.display()
        ));
        terminal.give(&text);
        Ok(())
    }

    /// Refuses to go on where nobody can agree.
    fn check_consent(&self, terminal: Terminal) -> Result<()> {
        let can_ask = std::io::stdin().is_terminal() && !terminal.quiet && !terminal.json;
        if self.yes || can_ask {
            return Ok(());
        }
        Err(Error::input(
            "nothing was written: whether a summary may be told is asked in a terminal; add --yes to agree without \
             being asked",
        ))
    }

    fn tell(&self, terminal: Terminal, summary: &SiteSummary, target: &str) {
        terminal.say(&format!(
            "{}: a summary of {} would hold this, and no row:\n",
            self.data.file_name().unwrap_or_default().to_string_lossy(),
            counted(summary.rows, "training row")
        ));
        for [about, words] in summary.words(target) {
            terminal.say(&wrapped(&format!("- {about}: {words}")));
        }
        terminal.say("");
        terminal.say(&wrapped(
            "Two summaries of tables that differ by one row tell that row: write one only. What else it tells is in \
             docs/federation-guide.md.",
        ));
    }
}

/// Asks for consent; only a clear yes is one.
fn asked(question: &str) -> Result<bool> {
    let failed = |error: std::io::Error| Error::input(format!("cannot ask: {error}"));
    let mut out = std::io::stderr();
    write!(out, "{question} [y/N] ").and_then(|()| out.flush()).map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
