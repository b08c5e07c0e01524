//! A run folder with further rows of a frame: what `fedgrid update` does, with tables that are in memory.

use std::{path::PathBuf, time::Instant};

use fedgrid_lab::{
    experiment::FileKeys,
    run::Existing,
    update::{AddedFiles, AddedTables, Repeated, Update},
};
use pyo3::prelude::*;

use crate::{
    convert::experiment_error,
    frame::HandedColumn,
    kept::{KeptHandle, NamedRows, near_table},
    study::StudyHandle,
    work::How,
};

/// What is added to a run, and where the updated one goes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct UpdateParts<'py> {
    folder: PathBuf,
    out: PathBuf,
    title: String,
    rows: NamedRows<'py>,
    /// Where new nodes are: "places" or "edges", and the columns of a table.
    near: Option<(String, Vec<HandedColumn<'py>>)>,
    /// Rows of the time before, for lags.
    history: Option<NamedRows<'py>>,
    repeated: String,
    tune: bool,
    all_methods: bool,
}

/// Writes the folder of a run whose models know further rows. `study` holds the rows of the run, where its folder cannot
/// name them.
#[pyfunction]
#[pyo3(signature = (kept, parts, how, study=None))]
pub(crate) fn update(
    py: Python<'_>,
    kept: &KeptHandle,
    parts: UpdateParts<'_>,
    how: How,
    study: Option<PyRef<'_, StudyHandle>>,
) -> PyResult<()> {
    let refused = |error: fedgrid_lab::Error| experiment_error(&error);
    let repeated = Repeated::named(&parts.repeated).map_err(refused)?;
    let data = kept.table(parts.rows)?;
    let history = parts.history.map(|rows| kept.table(rows)).transpose()?;
    let mut tables = AddedTables { data, nodes: None, edges: None, history };
    if let Some((kind, columns)) = parts.near {
        let table = near_table(&kind, &columns)?;
        *(if kind == "edges" { &mut tables.edges } else { &mut tables.nodes }) = Some(table);
    }
    let (run, out, title) = (parts.folder, parts.out, parts.title);
    let (tune, all_methods) = (parts.tune, parts.all_methods);
    let study = study.map(|study| study.assembly());
    let begun = Instant::now();
    let written = how.run(py, move |watch| {
        let update = Update { run, repeated, tune, all_methods, study: study.as_deref() };
        // Rows of a frame are kept nowhere, as those of standard input.
        let files = AddedFiles::new(vec!["-".into()], FileKeys::default(), repeated);
        Ok(update.with_tables(tables, watch).and_then(|mut updated| {
            let seconds = begun.elapsed().as_secs_f64();
            updated.write((&out, &title), &files, Existing::Refuse, seconds)
        }))
    })?;
    written.map_err(refused)
}
