//! `fedgrid privacy`: whether a private network pays, before anything is published.

use clap::Args;
use fedgrid_lab::{
    assembly::Assembly, error::Result, experiment::Experiment, forecast::PrivacyForecast,
    run::to_json_pretty,
};

use super::{
    flags::{ExperimentFlags, FlaggedTable, OUTPUT},
    job::wrapped,
};
use crate::terminal::Terminal;

/// Arguments of `fedgrid privacy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid privacy examples/colorado/private.toml
  fedgrid privacy examples/colorado/private.toml --rehearse --json")]
pub(super) struct PrivacyCommand {
    #[command(flatten)]
    from: ExperimentFlags,

    /// Override any key of the experiment, such as privacy.delta=1e-6.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true, help_heading = OUTPUT)]
    set: Vec<String>,

    /// Train at every budget and measure errors on test rows: for rows that may be pooled.
    #[arg(long, help_heading = OUTPUT)]
    rehearse: bool,
}

impl PrivacyCommand {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let FlaggedTable { mut table, base, source, .. } = self.from.table()?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let source = if self.set.is_empty() { source } else { String::new() };
        let experiment = Experiment::from_table(table, &source)?;
        let assembly = Assembly::new(&experiment, &base)?;
        let progress = terminal.progress(6);
        let found = PrivacyForecast::new(&experiment, &assembly, (self.rehearse, &progress))?;
        progress.finish();
        terminal.say(&format!("{}\n\n{}", found.printed(), wrapped(&found.advice)));
        terminal.give(&to_json_pretty(&found));
        Ok(())
    }
}
