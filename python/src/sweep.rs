//! Sweeps of experiment files and finished runs side by side, as the command makes them.

use std::path::PathBuf;

use fedgrid::{
    compare::{Contestant, Watch},
    observe::Round,
};
use fedgrid_lab::{
    experiment::Experiment,
    run::Existing,
    side_by_side::SideBySide,
    sweep::{CellRecord, Sweep, SweepFolder, SweepPlan, SweepResult, SweepWatch, grid},
};
use pyo3::prelude::*;

use crate::{
    convert::{experiment_error, to_json},
    work::{How, Watching},
};

/// The width of printed tables.
const LINE_CHARS: usize = 100;

/// What is swept, and where its folder is.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepParts {
    experiment: PathBuf,
    /// `key=value,value`, as `--set` has it.
    set: Vec<String>,
    seeds: usize,
    out: PathBuf,
    force: bool,
    resume: bool,
}

/// Who waits for a sweep: hears nothing of its cells, and may end it.
struct Waiting<'a, T>(&'a Watching<T>);

impl<T: Send> Watch for Waiting<'_, T> {
    fn tried(&self, _: Contestant, _: usize, _: usize) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }

    fn round(&self, _: &Round) {}
}

impl<T: Send> SweepWatch for Waiting<'_, T> {
    fn cell_done(&self, _: &str, _: &CellRecord) {}
}

/// Runs an experiment file at several values and seeds: the result as JSON, its table to read, and a note on the plot.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    parts: SweepParts,
    how: How,
) -> PyResult<(String, String, Option<String>)> {
    let swept = how.run(py, move |watching| {
        let sweep = || -> fedgrid_lab::Result<(SweepResult, Option<String>)> {
            let SweepParts { experiment, set, seeds, out, force, resume } = parts;
            let existing = match (resume, force) {
                (true, _) => Existing::Resume,
                (false, true) => Existing::Replace,
                (false, false) => Existing::Refuse,
            };
            SweepFolder::check(&out, existing)?;
            let (experiment, base, source) = Experiment::opened(Some(&experiment))?;
            let stem = PathBuf::from(&source);
            let name = stem.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut plan =
                SweepPlan { title: String::new(), base, seeds, vary: Vec::new(), experiment };
            set.iter().try_for_each(|assignment| plan.set(assignment))?;
            let sweep = Sweep::new(plan.clone())?;
            plan.title = sweep.cases[0].experiment.title.clone().unwrap_or(name);
            let sweep = Sweep::new(plan)?;
            let watch = Waiting(watching);
            let ready = sweep.ready(&watch)?;
            let folder = SweepFolder::open(&out, &sweep.plan, &ready.data, existing)?;
            let records = sweep.run(&folder, &ready, &watch)?;
            let result = SweepResult::new(&sweep, &records, &ready.varied);
            let note = folder.finish(&sweep, &records, &result)?;
            Ok((result, note))
        };
        Ok(sweep())
    })?;
    let (result, note) = swept.map_err(|error| experiment_error(&error))?;
    let table = grid(&result);
    let table = if result.keys.is_empty() { table.transposed() } else { table };
    Ok((to_json(&result), table.screen(LINE_CHARS), note))
}

/// Finished runs side by side: as JSON, and as a table to read.
#[pyfunction]
pub(crate) fn compare_runs(folders: Vec<PathBuf>) -> PyResult<(String, String)> {
    let runs = SideBySide::of_folders(&folders).map_err(|error| experiment_error(&error))?;
    let grid = runs.grid();
    let notes = grid.notes.join("\n");
    Ok((to_json(&runs), format!("{}\n\n{notes}", grid.transposed().screen(LINE_CHARS))))
}
