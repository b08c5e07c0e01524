//! `fedgrid compare`: finished runs side by side.

use std::{fs, path::PathBuf};

use clap::{Args, ValueEnum};
use fedgrid_lab::{
    error::{Error, Result},
    grid::Grid,
    run::to_json_pretty,
    side_by_side::SideBySide,
};

use super::job::{LINE_CHARS, wrapped};
use crate::terminal::{Terminal, print};

/// Arguments of `fedgrid compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid compare runs/weak runs/strong runs/auto
  fedgrid compare runs/* --as csv
  fedgrid compare runs/weak runs/strong --out table.tex")]
pub(super) struct Compare {
    /// The folders of two or more finished runs.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// How the table is written; by default as the name of --out ends, or as text to read.
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<TableForm>,

    /// The file to write; by default standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableForm {
    /// A column for each run, to read.
    Text,
    /// A row for each run, with all digits.
    Csv,
    /// A row for each run.
    Markdown,
    /// A row for each run, with the rules of the package booktabs.
    Latex,
}

impl Compare {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let out = self.out.as_ref();
        if let Some(file) = out.filter(|file| file.exists() && !self.force) {
            let file = file.display();
            return Err(Error::input(format!("'{file}' exists: replace it with --force")));
        }
        let form = self.form()?;
        let runs = SideBySide::of_folders(&self.runs)?;
        if terminal.json && out.is_none() {
            terminal.give(&to_json_pretty(&runs));
            return Ok(());
        }
        let text = written(&runs.grid(), form);
        let Some(file) = out else {
            // Asked for in so many words, unlike what --quiet silences.
            print(text.trim_end());
            return Ok(());
        };
        fs::write(file, text).map_err(|error| Error::file("write", file, &error))?;
        terminal.give(&to_json_pretty(&runs));
        terminal.say(&format!("{} runs in {}", runs.runs.len(), file.display()));
        Ok(())
    }

    fn form(&self) -> Result<TableForm> {
        let Some(file) = self.out.as_ref().filter(|_| self.form.is_none()) else {
            return Ok(self.form.unwrap_or(TableForm::Text));
        };
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("txt") => Ok(TableForm::Text),
            Some("csv") => Ok(TableForm::Csv),
            Some("md") => Ok(TableForm::Markdown),
            Some("tex") => Ok(TableForm::Latex),
            _ => Err(Error::input(format!(
                "'{}' does not end with .txt, .csv, .md or .tex; say how it is written with --as",
                file.display()
            ))),
        }
    }
}

fn written(grid: &Grid, form: TableForm) -> String {
    match form {
        TableForm::Text => {
            let notes = grid.notes.iter().map(|note| wrapped(note));
            let notes = notes.collect::<Vec<_>>().join("\n");
            format!("{}\n\n{notes}\n", grid.transposed().screen(LINE_CHARS))
        }
        TableForm::Csv => grid.csv(),
        TableForm::Markdown => grid.markdown(),
        TableForm::Latex => grid.latex(),
    }
}
