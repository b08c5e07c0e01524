//! `fedgrid check`: what becomes of the columns of a table, and all that is wrong with it, without training.

use std::path::PathBuf;

use clap::Args;
use toml::Value;

use super::{
    flags::{ColumnFlags, NetworkFlags, put},
    format::{FormatFlags, files_value},
    job::wrapped,
};
use crate::terminal::Terminal;
use fedgrid_lab::{
    assembly::{Checked, check_table},
    columns::ColumnPlan,
    error::{Error, Result},
    experiment::Experiment,
    number::{count, counted},
    run::to_json_pretty,
};

/// Arguments of `fedgrid check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid check readings.csv --node station --target tmax
  fedgrid check experiment.toml --missing mean")]
pub(super) struct Check {
    /// A table, in one or more files or - for standard input, or an experiment file (.toml) that names one.
    #[arg(required = true)]
    table: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatFlags,

    /// The column to predict (key data.target).
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,

    #[command(flatten)]
    columns: ColumnFlags,

    /// The column that says train, val or test (key data.split).
    #[arg(long, value_name = "COLUMN")]
    split: Option<String>,

    #[command(flatten)]
    network: NetworkFlags,

    /// Override any key of the experiment, such as data.columns.zip=category.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,
}

impl Check {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (experiment, base) = self.experiment()?;
        let checked = check_table(&experiment, &base)?;
        terminal.say(&heading(&checked));
        if !checked.files.is_empty() {
            terminal.say(&format!("{}\n", checked.files.join("\n")));
        }
        terminal.say(&plan_lines(&checked.plan));
        for note in &checked.notes {
            terminal.say(&wrapped(&format!("Note: {note}")));
        }
        for problem in &checked.problems {
            terminal.say(&wrapped(&format!("Problem: {problem}")));
        }
        terminal.give(&to_json_pretty(&checked));
        match checked.problems.len() {
            0 => Ok(()),
            found => {
                let found = counted(found, "problem");
                Err(Error::input(format!(
                    "{}: {found} to be solved before training",
                    checked.table
                )))
            }
        }
    }

    fn experiment(&self) -> Result<(Experiment, PathBuf)> {
        let experiment = match &self.table[..] {
            [one] if one.extension().is_some_and(|ending| ending == "toml") => Some(one.as_path()),
            _ => None,
        };
        let (mut table, base, source) = Experiment::opened(experiment)?;
        let given = table.to_string();
        let text = |value: &String| Value::String(value.clone());
        if experiment.is_none() {
            let name = |path: &PathBuf| Value::String(path.to_string_lossy().into_owned());
            put(&mut table, "data", "file", files_value(&self.table, name));
            // Which columns these are may be what one looks for.
            put(&mut table, "data", "node", Some("".into()));
            put(&mut table, "data", "target", Some("".into()));
            put(&mut table, "network", "shape", Some("none".into()));
        }
        // Another way to join nodes would contradict the flag.
        if self.network.chooses() {
            table.remove("network");
        }
        put(&mut table, "data", "target", self.target.as_ref().map(text));
        put(&mut table, "data", "split", self.split.as_ref().map(text));
        self.columns.apply(&mut table);
        self.format.apply(&mut table);
        self.network.apply(&mut table, &base);
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let source = if table.to_string() == given { source } else { String::new() };
        Ok((Experiment::from_table(table, &source)?, base))
    }
}

fn heading(checked: &Checked) -> String {
    let nodes =
        checked.nodes.map_or_else(String::new, |nodes| format!(", {}", counted(nodes, "node")));
    format!(
        "{}: {}{nodes}, {}, {}\n",
        checked.table,
        counted(checked.rows, "row"),
        counted(checked.plan.column_count(), "column"),
        counted(checked.features.len(), "feature")
    )
}

/// How many columns are listed; tables of thousands have names like x1, x2, …
const LISTED_COLUMNS: usize = 100;

/// Every column with its role and what is made of it.
pub(super) fn plan_lines(plan: &ColumnPlan) -> String {
    let all = plan.described();
    // One long name must not push all others to the side.
    let width = all.iter().map(|[name, ..]| name.chars().count()).max().unwrap_or(0).clamp(6, 24);
    let line = |[name, role, about]: &[String; 3]| format!("{name:<width$}  {role:<8} {about}");
    let mut lines: Vec<String> = all.iter().take(LISTED_COLUMNS).map(line).collect();
    if let Some(more) = all.len().checked_sub(LISTED_COLUMNS).filter(|more| *more > 0) {
        lines.push(format!("and {} more columns (all with --json)", count(more)));
    }
    lines.join("\n") + "\n"
}
