//! `fedgrid sweep`: an experiment at several values of its keys and at several seeds.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use fedgrid_lab::{
    error::{Error, Result},
    number::{count, counted, duration},
    run::{Existing, to_json_pretty},
    sweep::{Sweep, SweepFolder, SweepPlan, SweepResult, grid},
};

use super::{
    fit::ExistingFlags,
    flags::{ExperimentFlags, FlaggedTable, OUTPUT},
    job::{LINE_CHARS, wrapped},
};
use crate::terminal::Terminal;

/// Arguments of `fedgrid sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid sweep examples/colorado/colorado.toml --set network.nearest=4,8,16 \\
      --set method.kind=fedrelax,gtv,mixed --seeds 10
  fedgrid sweep experiment.toml --set 'data.features=[\"x\",\"z\"],[\"x\"]' --out sweeps/features
  fedgrid sweep sweeps/features --resume")]
pub(super) struct SweepCommand {
    #[command(flatten)]
    from: ExperimentFlags,

    /// A key and its values, parted by commas; commas in [lists], {tables} and 'quotes' part nothing. All combinations of
    /// the values of all keys are run; a key with one value is the same for all.
    #[arg(long, value_name = "KEY=VALUE,…", allow_hyphen_values = true, help_heading = OUTPUT)]
    set: Vec<String>,

    /// How many seeds each combination is run at, from the experiment's own on.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = OUTPUT)]
    seeds: u32,

    /// The folder of the sweep; by default sweeps/ and the experiment's name.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,

    #[command(flatten)]
    existing: ExistingFlags,
}

impl SweepCommand {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let existing = self.existing.choice();
        if let Some(folder) = self.resumed()? {
            SweepFolder::check(&folder, existing)?;
            let plan = SweepPlan::from_folder(&folder)?;
            return SweepJob { plan, unused: Vec::new(), folder, existing }.run(terminal);
        }
        let FlaggedTable { table, base, unused, .. } = self.from.table()?;
        let seeds = self.seeds as usize;
        let mut plan =
            SweepPlan { title: String::new(), base, seeds, vary: Vec::new(), experiment: table };
        self.set.iter().try_for_each(|assignment| plan.set(assignment))?;
        let sweep = Sweep::new(plan.clone())?;
        let first = &sweep.cases[0].experiment;
        let name = self.from.name(first);
        plan.title = first.title.clone().unwrap_or_else(|| name.clone());
        let folder = self.out.unwrap_or_else(|| PathBuf::from("sweeps").join(name));
        SweepJob { plan, unused, folder, existing }.run(terminal)
    }

    /// The folder of an interrupted sweep, where that alone was named.
    fn resumed(&self) -> Result<Option<PathBuf>> {
        let Some(folder) = self.from.experiment.as_ref().filter(|path| path.is_dir()) else {
            return Ok(None);
        };
        let name = folder.display();
        if self.existing.choice() != Existing::Resume {
            return Err(Error::input(format!(
                "'{name}' is a folder, expected an experiment file; to continue an unfinished sweep there, add --resume"
            )));
        }
        if !self.set.is_empty() || self.seeds > 1 || self.out.is_some() {
            return Err(Error::input(format!(
                "'{name}' is continued as it was begun; leave out --set, --seeds and --out"
            )));
        }
        Ok(Some(folder.clone()))
    }
}

/// A sweep to be run into a folder.
pub(super) struct SweepJob {
    pub(super) plan: SweepPlan,
    /// Keys of the file that are not used with a method that a flag has named.
    pub(super) unused: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) existing: Existing,
}

impl SweepJob {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        // A refusal must come before hours of work, not after them.
        SweepFolder::check(&self.folder, self.existing)?;
        let begun = Instant::now();
        let sweep = Sweep::new(self.plan)?;
        let settling = terminal.progress(1);
        let ready = sweep.ready(&settling)?;
        settling.finish();
        let folder = SweepFolder::open(&self.folder, &sweep.plan, &ready.data, self.existing)?;
        if !self.unused.is_empty() {
            terminal.say(&format!("not used with --method: {}\n", self.unused.join(", ")));
        }
        terminal.say(&heading(&sweep));
        let progress = terminal.progress(sweep.count());
        progress.resumed(folder.known().len());
        let records = sweep.run(&folder, &ready, &progress)?;
        progress.finish();
        let result = SweepResult::new(&sweep, &records, &ready.varied);
        let missing = folder.finish(&sweep, &records, &result)?;
        terminal.say(&table(&result));
        if let Some(note) = missing {
            terminal.say(&wrapped(&format!("Note: {note}")));
        }
        terminal.say(&files(&self.folder, begun.elapsed().as_secs_f64()));
        terminal.give(&to_json_pretty(&result));
        match result.failures() {
            0 => Ok(()),
            failed => Err(Error::InPart(format!(
                "{} of {} failed; the table names them with their reasons",
                count(failed),
                counted(sweep.count(), "cell")
            ))),
        }
    }
}

fn heading(sweep: &Sweep) -> String {
    let (cases, seeds) = (sweep.cases.len(), sweep.plan.seeds);
    let keys = sweep.plan.vary.iter().map(|one| one.key.as_str()).collect::<Vec<_>>().join(" × ");
    let keys = if keys.is_empty() { keys } else { format!(" of {keys}") };
    let (title, cells) = (&sweep.plan.title, counted(sweep.count(), "cell"));
    let (cases, seeds) = (counted(cases, "case"), counted(seeds, "seed"));
    wrapped(&format!("{title}: {cases}{keys}, {seeds} each, {cells}\n"))
}

/// The table and its notes; reasons of failures stand below it, because they are longer than a column.
fn table(result: &SweepResult) -> String {
    let mut grid = grid(result);
    let failed = grid.columns.iter().position(|column| column.head == "failed");
    if let Some(place) = failed {
        grid.columns.remove(place);
        grid.rows.iter_mut().for_each(|row| drop(row.remove(place)));
    }
    // A single case is easier to read from top to bottom.
    let shown = if result.keys.is_empty() { grid.transposed() } else { grid.clone() };
    let mut parts = vec![shown.screen(LINE_CHARS), String::new()];
    parts.extend(result.failures_in_words().iter().map(|line| wrapped(line)));
    parts.extend(grid.notes.iter().map(|note| wrapped(note)));
    parts.join("\n")
}

fn files(folder: &Path, seconds: f64) -> String {
    let names = "table.csv, table.md, table.tex, plot.svg, plot.pdf, cells.csv";
    wrapped(&format!("\nIn {}: {names} ({})", folder.display(), duration(seconds)))
}
