//! An experiment run into a folder, and what is said on the way: columns before training; table, warnings
//! and verdict after it.

use std::{path::PathBuf, time::Instant};

use crate::terminal::{Terminal, candidates, table};
use fedgrid_lab::{
    assembly::{Assembly, relative_path},
    error::Result,
    experiment::Experiment,
    number::counted,
    pipeline::Pipeline,
    run::{Existing, RunFolder, to_json_pretty},
};

/// An experiment to be run into a folder.
pub(super) struct FitJob {
    pub(super) experiment: Experiment,
    pub(super) base: PathBuf,
    pub(super) title: String,
    pub(super) folder: PathBuf,
    pub(super) existing: Existing,
}

impl FitJob {
    pub(super) fn run(&self, terminal: Terminal) -> Result<()> {
        // A refusal must come before hours of work, not after them.
        RunFolder::check(&self.folder, self.existing)?;
        self.run_checked(terminal)
    }

    /// Runs into a folder that has been found fit for it.
    pub(super) fn run_checked(&self, terminal: Terminal) -> Result<()> {
        let begun = Instant::now();
        let settling = terminal.progress(1);
        let mut assembly = Assembly::watched(&self.experiment, &self.base, &settling)?;
        settling.finish();
        let text = self.stored_experiment(&assembly).to_text();
        // Only now is it known that the rows can be read, so that a mistake leaves no folder behind.
        let mut folder = RunFolder::open(
            &self.folder,
            (&text, &self.title),
            assembly.fingerprint,
            self.existing,
        )?;
        terminal.say(&format!("{}\n{}\n", self.heading(&assembly), columns(&assembly)));
        let steps =
            Pipeline { experiment: &self.experiment, assembly: &assembly }.contestants().len();
        let progress = terminal.progress(assembly.study.members().len() + steps);
        let done = |card: &_| progress.done(card);
        folder.choose(&mut assembly, &progress, &done)?;
        let pipeline = Pipeline { experiment: &self.experiment, assembly: &assembly };
        let cards = folder.cards(&assembly, &pipeline.contestants(), &progress, &done)?;
        let fitted = pipeline.fit(&cards, &progress)?;
        progress.finish();
        let seconds = begun.elapsed().as_secs_f64();
        let outcome = pipeline.outcome(&cards, &fitted, seconds);
        let helps = pipeline.helps(&fitted);
        let page = pipeline.page((&self.title, &text), &outcome, &fitted, &helps);
        folder.finish(&assembly, &fitted, &outcome, &page)?;
        if let Some(candidates) = candidates(&outcome) {
            terminal.say(&format!("{candidates}\n"));
        }
        terminal.say(&format!("{}\n", table(&outcome)));
        for warning in &outcome.warnings {
            terminal.say(&format!("{}\n", wrapped(&format!("Warning: {warning}"))));
        }
        terminal.say(&format!("{}\n", wrapped(&outcome.verdict)));
        if let Some(evidence) = &outcome.evidence {
            terminal.say(&format!("{}\n", wrapped(&evidence.sentence)));
        }
        for note in &outcome.notes {
            terminal.say(&wrapped(&format!("Note: {note}")));
        }
        let report = self.folder.join("report.html");
        terminal.say(&format!("\nReport: {} ({seconds:.1} s)", report.display()));
        terminal.give(&to_json_pretty(&outcome));
        Ok(())
    }

    /// The experiment as it is kept: its paths lead from the run folder to the files, and it says what was learnt of
    /// columns, so that whoever trains it again has the same features.
    fn stored_experiment(&self, assembly: &Assembly) -> Experiment {
        // The folder can then be moved together with its data, and resumed from anywhere.
        let mut experiment = self.experiment.clone();
        let moved =
            |path: &mut PathBuf| *path = relative_path(&self.base.join(&*path), &self.folder);
        moved(&mut experiment.data.file);
        experiment.network.file.iter_mut().for_each(moved);
        experiment.network.edges.iter_mut().for_each(moved);
        experiment.public.file.iter_mut().for_each(moved);
        experiment.data.columns.extend(assembly.about.columns.keys());
        experiment
    }

    fn heading(&self, assembly: &Assembly) -> String {
        let study = &assembly.study;
        let count = |rows: &[Vec<usize>]| rows.iter().map(Vec::len).sum::<usize>();
        format!(
            "{}: {}, {}, {}, {}, {}",
            self.title,
            counted(study.network.len(), "node"),
            counted(study.network.edges().len(), "edge"),
            counted(count(&study.plan.train), "training row"),
            counted(count(&study.plan.test), "test row"),
            counted(assembly.about.features.len(), "feature")
        )
    }
}

/// What becomes of the columns, before anything is trained.
fn columns(assembly: &Assembly) -> String {
    let plan = &assembly.about.columns;
    let mut lines = vec![format!("features: {}", named(&plan.short_features()))];
    let others = [("left out", plan.ignored()), ("not listed as features", plan.unlisted())];
    let others = others.into_iter().filter(|(_, columns)| !columns.is_empty());
    lines.extend(others.map(|(what, columns)| format!("{what}: {}", named(&columns))));
    lines.extend(assembly.row_notes.iter().cloned());
    lines.iter().map(|line| wrapped(line)).collect::<Vec<_>>().join("\n")
}

/// How many columns are named in a line of the heading; more would hide the rest.
const NAMED_COLUMNS: usize = 20;

fn named(columns: &[String]) -> String {
    let shown = columns[..columns.len().min(NAMED_COLUMNS)].join(", ");
    match columns.len().saturating_sub(NAMED_COLUMNS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The width of a terminal that nobody has made larger.
const LINE_CHARS: usize = 80;

/// A text in lines of at most so many characters.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LINE_CHARS {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
