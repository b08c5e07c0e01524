//! An experiment run into a folder, and what is said on the way: columns before training; table, warnings
//! and verdict after it.

use std::{path::PathBuf, time::Instant};

use fedgrid::compare::{Contestant, Fitted};

use super::clock::today;
use crate::{
    colour::{Output, Paint, painted},
    progress::work_of,
    terminal::{Progress, Terminal, table},
};
use fedgrid_lab::{
    assembly::{Assembly, Rolling, move_files},
    columns::ColumnPlan,
    error::Result,
    experiment::{Experiment, PublicKind},
    number::counted,
    outcome::Outcome,
    pipeline::{Found, Heading, KeptFit, Pipeline},
    printed::{candidates, origins as origins_table},
    readings,
    run::{Existing, KeptMethods, RunFolder, to_json_pretty},
    statistics::Statistics,
    summary::OriginCards,
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
        let rolling = Rolling::new(&self.experiment, &self.base)?;
        let last = rolling.count() - 1;
        let mut assembly = rolling.assembly(last, &settling)?;
        settling.finish();
        let text = self.stored_experiment(&assembly).to_text();
        // Only now is it known that the rows can be read, so that a mistake leaves no folder behind.
        let mut folder =
            RunFolder::open(&self.folder, (&text, &self.title), &assembly, self.existing)?;
        terminal.say(&format!("{}\n{}\n", self.heading(&assembly), columns(&assembly, &rolling)));
        let contestants =
            Pipeline { experiment: &self.experiment, assembly: &assembly }.contestants();
        let progress = terminal.progress_of(work(&assembly, &contestants, rolling.count()));
        progress.resumed(folder.known_steps());
        let done = |card: &_| progress.done(card);
        // Cards of a single study have no number of an origin.
        if last > 0 {
            folder.go_to_origin(last);
        }
        folder.choose(&mut assembly, &progress, &done)?;
        let pipeline = Pipeline { experiment: &self.experiment, assembly: &assembly };
        let contestants = pipeline.contestants();
        let cards = folder.cards(&assembly, &contestants, &progress, &done)?;
        let mut origins = earlier_origins(&rolling, &mut folder, &contestants, &progress)?;
        let fitted = pipeline.fit(&cards, &progress)?;
        progress.step("models to keep: fitted");
        let seconds = || begun.elapsed().as_secs_f64();
        let mut outcome = match rolling.windows().last() {
            Some(window) => {
                origins.push(OriginCards::new(window, &assembly, cards.clone()));
                pipeline.rolled_outcome(&origins, &fitted, seconds())
            }
            None => pipeline.outcome(&cards, &fitted, seconds()),
        };
        let others = pipeline.others(&cards, outcome.advised, &progress)?;
        progress.finish();
        let seconds = seconds();
        outcome.seconds = seconds;
        let found = Found {
            outcome: &outcome,
            cards: &cards,
            fitted: &fitted,
            others: &others,
            helps: &pipeline.helps(&fitted),
        };
        self.finish(&pipeline, &folder, &text, &found)?;
        say(terminal, &outcome);
        let report = self.folder.join("report.html");
        terminal.say(&format!("\nReport: {} ({seconds:.1} s)", report.display()));
        terminal.give(&to_json_pretty(&outcome));
        Ok(())
    }

    /// Writes what marks the end of the run.
    fn finish(
        &self,
        pipeline: &Pipeline,
        folder: &RunFolder,
        text: &str,
        found: &Found,
    ) -> Result<()> {
        let date = today();
        let heading = Heading { title: &self.title, date: Some(&date), experiment: text };
        let public = self.experiment.public.kind;
        let statistics = statistics(pipeline.assembly, public, (found.fitted, found.others))?;
        let kept = KeptMethods {
            own: found.fitted,
            others: found.others,
            advised: found.outcome.advised,
            statistics: statistics.as_ref(),
        };
        let page = pipeline.page(&heading, found);
        folder.finish(pipeline.assembly, &kept, found.outcome, &page)
    }

    /// The experiment as it is kept: its paths lead from the run folder to the files, and it says what was learnt of
    /// columns, so that whoever trains it again has the same features and models.
    fn stored_experiment(&self, assembly: &Assembly) -> Experiment {
        // The folder can then be moved together with its data, and resumed from anywhere.
        let mut experiment = self.experiment.settled(assembly.about.task);
        move_files(&mut experiment, &self.base, &self.folder);
        // Every rolling origin learns its own from the rows before it, also when the run is resumed.
        if !experiment.is_rolling() {
            experiment.data.columns.extend(assembly.about.columns.keys());
        }
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

/// What the run keeps of its rows for an update, where that is enough for all methods that it keeps.
fn statistics(
    assembly: &Assembly,
    public: PublicKind,
    (own, others): (&Fitted, &[KeptFit]),
) -> Result<Option<Statistics>> {
    let kept: Vec<Contestant> = std::iter::once(assembly.study.main())
        .chain(others.iter().map(|other| other.contestant))
        .collect();
    let fits = std::iter::once(own).chain(others.iter().map(|other| &other.fitted));
    Ok(Statistics::of(assembly, public, &kept)?.map(|found| found.with_starts(fits)))
}

/// The work of each step of so many studies. The models to keep, their residuals on rows that they have not seen and what
/// training rows say of the network are taken for three fits over it: as much as they took on 3,119 nodes.
fn work(assembly: &Assembly, contestants: &[Contestant], studies: usize) -> Vec<f64> {
    let of_study = [&assembly.study.members(), contestants].concat();
    let all = of_study.repeat(studies).into_iter().map(work_of);
    all.chain([3.0 * work_of(assembly.study.main())]).collect()
}

/// The cards of all rolling origins but the last; none if there is one study.
fn earlier_origins(
    rolling: &Rolling<'_>,
    folder: &mut RunFolder,
    contestants: &[Contestant],
    progress: &Progress,
) -> Result<Vec<OriginCards>> {
    let done = |card: &_| progress.done(card);
    let mut origins = Vec::new();
    for (origin, window) in rolling.windows().iter().enumerate().take(rolling.count() - 1) {
        folder.go_to_origin(origin);
        let mut assembly = rolling.assembly(origin, progress)?;
        folder.choose(&mut assembly, progress, &done)?;
        let cards = folder.cards(&assembly, contestants, progress, &done)?;
        origins.push(OriginCards::new(window, &assembly, cards));
    }
    Ok(origins)
}

/// What was found: tables, warnings, the verdict and notes.
pub(super) fn say(terminal: Terminal, outcome: &Outcome) {
    if let Some(candidates) = candidates(outcome) {
        terminal.say(&format!("{candidates}\n"));
    }
    terminal.say(&format!("{}\n", table(outcome)));
    if let Some(line) = readings::line(outcome) {
        terminal.say(&format!("{}\n", wrapped(&line)));
    }
    if let Some(origins) = origins_table(outcome) {
        terminal.say(&format!("{origins}\n"));
    }
    for warning in &outcome.warnings {
        let sentence = wrapped(&format!("Warning: {warning}"));
        let mark = painted("Warning:", Paint::Warning, Output::Standard);
        terminal.say(&format!("{}\n", sentence.replacen("Warning:", &mark, 1)));
    }
    let verdict = painted(&wrapped(&outcome.verdict), Paint::Answer, Output::Standard);
    terminal.say(&format!("{verdict}\n"));
    if let Some(evidence) = &outcome.evidence {
        terminal.say(&format!("{}\n", wrapped(&evidence.sentence)));
    }
    if let Some(privacy) = &outcome.privacy {
        terminal.say(&format!("{}\n", wrapped(&privacy.sentence)));
    }
    for note in &outcome.notes {
        terminal.say(&wrapped(&format!("Note: {note}")));
    }
}

/// What becomes of the columns, before anything is trained.
fn columns(assembly: &Assembly, rolling: &Rolling<'_>) -> String {
    let mut lines = plan_lines(&assembly.about.columns);
    let others = assembly.row_notes.iter().cloned().chain(rolling.described());
    lines.extend(others.map(|line| wrapped(&line)));
    lines.join("\n")
}

/// What becomes of the columns by a plan, in lines of a terminal's width.
pub(super) fn plan_lines(plan: &ColumnPlan) -> Vec<String> {
    let mut lines = vec![format!("features: {}", named(&plan.short_features()))];
    lines.extend(plan.time().map(|time| format!("time: {time}")));
    let others = [("left out", plan.ignored()), ("not listed as features", plan.unlisted())];
    let others = others.into_iter().filter(|(_, columns)| !columns.is_empty());
    lines.extend(others.map(|(what, columns)| format!("{what}: {}", named(&columns))));
    lines.iter().map(|line| wrapped(line)).collect()
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
pub(super) const LINE_CHARS: usize = 80;

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
