//! `fedgrid reproduce`: the papers' figures with the authors' values beside ours.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use serde_json::json;

use crate::terminal::{Terminal, complain, is_interrupted};
use fedgrid_lab::{
    error::{Error, Result},
    figures::{self, FigureEntry, FigureOutcome},
    number::{counted, duration},
    run::to_json_pretty,
};

/// Arguments of `fedgrid reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid reproduce
  fedgrid reproduce plug-in-and-learn/fig1a
  fedgrid reproduce --all --quick --out figures")]
pub(super) struct Reproduce {
    /// The figure, the paper whose figures are wanted, or a file of one's own; without any the
    /// figures are listed.
    figure: Option<String>,

    /// Run every figure.
    #[arg(long, conflicts_with = "figure")]
    all: bool,

    /// Run fewer repeats, which show the shape in seconds.
    #[arg(long)]
    quick: bool,

    /// The folder for tables, plots and the page.
    #[arg(long, value_name = "FOLDER", default_value = "fedgrid-reproduce")]
    out: PathBuf,

    /// Overwrite what is in the folder.
    #[arg(long)]
    force: bool,
}

impl Reproduce {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let wanted = match (&self.figure, self.all) {
            (Some(name), _) => figures::find(name)?,
            (None, true) => figures::all().to_vec(),
            (None, false) => return list(terminal),
        };
        if self.out.exists()
            && !self.force
            && fs::read_dir(&self.out).is_ok_and(|mut files| files.next().is_some())
        {
            let folder = self.out.display();
            return Err(Error::input(format!(
                "'{folder}' is not empty; overwrite with --force or give another folder with --out"
            )));
        }
        let begun = Instant::now();
        let mut outcomes = Vec::with_capacity(wanted.len());
        for entry in wanted {
            // On standard error, because tables on standard output are often piped.
            if !terminal.quiet && !terminal.json {
                complain(&format!("{} …", entry.name));
            }
            let outcome = match figures::run(&entry, self.quick, &is_interrupted) {
                // What is done by then still makes a page.
                Err(Error::Interrupted) => break,
                other => other?,
            };
            terminal.say(&(figures::screen(&outcome) + "\n"));
            // Figure by figure: an interruption after hours keeps what is done.
            write(&self.out, &outcome)?;
            outcomes.push(outcome);
        }
        let seconds = begun.elapsed().as_secs_f64();
        save(&self.out.join("index.html"), &figures::html(&outcomes, seconds))?;
        save(&self.out.join("index.md"), &figures::markdown(&outcomes, seconds))?;
        let result = result(&outcomes, self.quick, seconds);
        save(&self.out.join("result.json"), &to_json_pretty(&result))?;
        terminal.give(&to_json_pretty(&result));
        terminal.say(&last_sentence(&outcomes, seconds, &self.out));
        Ok(())
    }
}

/// How many values agree, how long it took, and where the page is.
fn last_sentence(outcomes: &[FigureOutcome], seconds: f64, out: &Path) -> String {
    let rows = outcomes.iter().flat_map(|outcome| &outcome.rows);
    let (inside, count) = (rows.clone().filter(|row| row.agrees).count(), rows.count());
    let page = out.join("index.html");
    format!(
        "{inside} of {} lie in their bands; {} took {}; see {}",
        counted(count, "value"),
        counted(outcomes.len(), "figure"),
        duration(seconds),
        page.display()
    )
}

fn list(terminal: Terminal) -> Result<()> {
    let figures =
        figures::all().iter().map(|entry: &FigureEntry| Ok((&*entry.name, entry.figure()?)));
    let figures = figures.collect::<Result<Vec<_>>>()?;
    let text = |(name, figure): &(&str, figures::figure::Figure)| {
        format!("{name:<36} {}, {}: {}", figure.paper, figure.number, figure.title)
    };
    let lines: Vec<String> = figures.iter().map(text).collect();
    terminal.say(&lines.join("\n"));
    let object = |(name, figure): &(&str, figures::figure::Figure)| json!({ "name": name, "paper": figure.paper, "figure": figure.number, "title": figure.title });
    let objects: Vec<_> = figures.iter().map(object).collect();
    terminal.give(&to_json_pretty(&objects));
    Ok(())
}

fn write(out: &Path, outcome: &FigureOutcome) -> Result<()> {
    let base = out.join(&outcome.name);
    let folder = base.parent().unwrap_or(out);
    fs::create_dir_all(folder).map_err(|error| Error::folder(folder, &error))?;
    save(&base.with_extension("csv"), &figures::csv(outcome))?;
    save(&base.with_extension("curves.csv"), &figures::curves_csv(outcome))?;
    save(&base.with_extension("svg"), &figures::plot(outcome))
}

fn save(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Error::file("write", path, &error))
}

fn result(outcomes: &[FigureOutcome], quick: bool, seconds: f64) -> serde_json::Value {
    let figure = |outcome: &FigureOutcome| {
        let claims: Vec<_> = outcome
            .claims
            .iter()
            .map(|(says, holds)| json!({ "says": says, "holds": holds }))
            .collect();
        json!({
            "name": outcome.name,
            "paper": outcome.figure.paper,
            "figure": outcome.figure.number,
            "agrees": outcome.agrees(),
            "disagrees_because": outcome.figure.disagrees,
            "seconds": outcome.seconds,
            "values": outcome.rows,
            "claims": claims,
        })
    };
    json!({
        "quick": quick,
        "seconds": seconds,
        "version": env!("CARGO_PKG_VERSION"),
        "figures": outcomes.iter().map(figure).collect::<Vec<_>>(),
    })
}
