//! `fedgrid fit`: from flags and an experiment file to a job.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    flags::{ExperimentFlags, FlaggedTable, OUTPUT},
    job::FitJob,
    sweep::SweepJob,
};
use crate::terminal::Terminal;
use fedgrid_lab::{
    error::{Error, Result},
    experiment::{Experiment, is_standard_input},
    run::{Existing, RunFolder},
    sweep::{SweepFolder, SweepPlan},
};

/// Arguments of `fedgrid fit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid fit examples/colorado/colorado.toml
  fedgrid fit examples/colorado/colorado.toml --set method.alpha=0.1 --out runs/weak
  fedgrid fit --data readings.csv --node station --target tmax --split split \\
      --features sin1,cos1,sin2,cos2 --nodes stations.csv --nearest 8 \\
      --coordinates lon=85,lat=111,elevation_m=0.25")]
pub(super) struct Fit {
    #[command(flatten)]
    from: ExperimentFlags,

    /// Override any key of the experiment, such as model.ridge=0.1.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true, help_heading = OUTPUT)]
    set: Vec<String>,

    /// Run it at so many seeds and give means with standard errors instead of models, as sweep does.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..), help_heading = OUTPUT)]
    seeds: Option<u32>,

    #[command(flatten)]
    folder: FolderFlags,
}

/// Flags about the run folder.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
struct FolderFlags {
    /// The folder of the run; by default runs/ and the experiment's name (with --seeds, sweeps/ and the name).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    existing: ExistingFlags,
}

/// Flags about a run that is there already.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(super) struct ExistingFlags {
    /// Replace what was run into that folder before.
    #[arg(long, conflicts_with = "resume")]
    force: bool,

    /// Continue what was interrupted in that folder.
    #[arg(long)]
    resume: bool,
}

impl ExistingFlags {
    pub(super) fn choice(&self) -> Existing {
        match (self.force, self.resume) {
            (true, _) => Existing::Replace,
            (_, true) => Existing::Resume,
            _ => Existing::Refuse,
        }
    }
}

/// Refuses the experiment of a run whose tables are not where they were, with the flag that names them.
fn check_tables(run: &Path, experiment: &Experiment, base: &Path) -> Result<()> {
    let (network, public) = (&experiment.network, &experiment.public);
    let of_data = experiment.data.file.names().iter().map(|name| (name, "--data"));
    let others = [
        (&network.file, "--nodes"),
        (&network.edges, "--edges"),
        (&public.file, "--set public.file="),
    ];
    let others = others.iter().filter_map(|(name, flag)| Some((name.as_ref()?, *flag)));
    for (name, flag) in of_data.chain(others) {
        let is_pattern = name.to_string_lossy().contains(['*', '?', '[']);
        let path = base.join(name);
        if !is_pattern && !is_standard_input(name) && !path.exists() {
            return Err(Error::input(format!(
                "the run in '{}' was trained on '{}', which is not there; where it or the run was moved, say where the \
                 table is now with {flag}",
                run.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

impl Fit {
    pub(super) fn run(mut self, terminal: Terminal) -> Result<()> {
        if let Some(seeds) = self.seeds {
            return self.at_seeds(seeds, terminal);
        }
        self.find_run()?;
        let (experiment, base, unused) = self.experiment()?;
        if let (Some(kind), false) = (&self.from.keys.method, unused.is_empty()) {
            terminal.say(&format!("not used with --method {kind}: {}\n", unused.join(", ")));
        }
        let name = self.from.name(&experiment);
        let stored = self.stored_run();
        if let Some(run) = stored {
            check_tables(run, &experiment, &base)?;
        }
        // The file of a run is called experiment.toml, and the run by a title of its own.
        let called = || stored.and_then(RunFolder::title).unwrap_or_else(|| name.clone());
        let title = experiment.title.clone().unwrap_or_else(called);
        // A resumed run keeps the title that it was begun with, wherever its file is now.
        let resumed = self.folder.out.as_deref().filter(|_| self.folder.existing.resume);
        let title = resumed.and_then(RunFolder::title).unwrap_or(title);
        let folder = self.folder.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&name));
        FitJob { experiment, base, title, folder, existing: self.folder.existing.choice() }
            .run(terminal)
    }

    /// The folder of the run whose experiment this is, if it is that of a run.
    fn stored_run(&self) -> Option<&Path> {
        let folder = self.from.experiment.as_deref()?.parent()?;
        RunFolder::data(folder).map(|_| folder)
    }

    /// To resume a run, its folder is enough: it holds its experiment.
    fn find_run(&mut self) -> Result<()> {
        if let Some(folder) = self.from.experiment.take_if(|path| path.is_dir()) {
            if SweepFolder::is_sweep(&folder) {
                let folder = folder.display();
                return Err(Error::input(format!(
                    "'{folder}' is the folder of a sweep; continue it with fedgrid sweep {folder} --resume"
                )));
            }
            if !self.folder.existing.resume {
                let folder = folder.display();
                return Err(Error::input(format!(
                    "'{folder}' is a folder, expected an experiment file; to continue an unfinished \
                     run there, add --resume"
                )));
            }
            let out = self.folder.out.get_or_insert_with(|| folder.clone());
            if *out != folder {
                let (folder, out) = (folder.display(), out.display());
                return Err(Error::input(format!(
                    "'{folder}' is to be continued and --out is '{out}', expected one of them"
                )));
            }
        }
        let names_no_data = self.from.experiment.is_none() && self.from.keys.data.is_empty();
        if let Some(folder) =
            self.folder.out.as_ref().filter(|_| self.folder.existing.resume && names_no_data)
        {
            RunFolder::check(folder, Existing::Resume)?;
            self.from.experiment = Some(folder.join("experiment.toml"));
        }
        Ok(())
    }

    /// The experiment, the folder that its paths are relative to, and keys that are not used.
    fn experiment(&self) -> Result<(Experiment, PathBuf, Vec<String>)> {
        let FlaggedTable { mut table, base, source, unused } = self.from.table()?;
        // Last, so that --set has its way over all other flags.
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let source = if self.set.is_empty() { source } else { String::new() };
        Ok((Experiment::from_table(table, &source)?, base, unused))
    }

    /// The same experiment at several seeds.
    fn at_seeds(&self, seeds: u32, terminal: Terminal) -> Result<()> {
        let FlaggedTable { mut table, base, unused, .. } = self.from.table()?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let experiment = Experiment::from_table(table.clone(), "")?;
        let name = self.from.name(&experiment);
        let title = experiment.title.unwrap_or_else(|| name.clone());
        let folder = self.folder.out.clone().unwrap_or_else(|| PathBuf::from("sweeps").join(name));
        let plan =
            SweepPlan { title, base, seeds: seeds as usize, vary: Vec::new(), experiment: table };
        SweepJob { plan, unused, folder, existing: self.folder.existing.choice() }.run(terminal)
    }
}
