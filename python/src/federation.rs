//! Federations as the command runs them, with rows and models of Python's at the nodes of a site.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fedgrid::compare::Watch;
use fedgrid_cli::{
    command::{
        federate,
        federation::host::{SiteAbout, SiteHost, SiteModels},
    },
    terminal::Stream,
};
use fedgrid_lab::{
    Error, Result,
    assembly::{CustomModel, OwnModels},
    experiment::Experiment,
    source::{Column, Table},
};
use pyo3::prelude::*;
use serde_json::json;

use crate::{
    adapter::Adapter,
    frame::{Frame, HandedColumn},
    local_model::PythonModel,
    models::ModelsHandle,
    work::{How, WorkerJob},
};

/// What messages call rows that are in memory.
const SOURCE: &str = "the frame";

/// How long an agent that is told to stop may take to end its round and to leave its neighbours.
const LEAVE_GRACE: Duration = Duration::from_secs(15);

/// What Python brings to a command.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct HostParts<'py> {
    /// The site's rows; none if they are in a file.
    columns: Option<Vec<HandedColumn<'py>>>,
    /// From what is known of the site, as JSON, to adapters with the numbers of their nodes.
    models: Option<Py<PyAny>>,
    /// Called with the folder of the run, the names of nodes and their models; gives a sentence or none.
    keep: Option<Py<PyAny>>,
}

/// Runs a command of federations, such as `["status", "home"]`: none at its end, or the exit code and why it was refused.
#[pyfunction]
pub(crate) fn federation(
    py: Python<'_>,
    arguments: Vec<String>,
    host: HostParts<'_>,
    how: How,
) -> PyResult<Option<(u8, String)>> {
    let table = host.columns.as_deref().map(rows).transpose()?;
    let (models, keep) = (host.models, host.keep);
    how.run_until(py, LEAVE_GRACE, move |watch| {
        let speaker = watch.speaker();
        let host = PythonHost { table: Mutex::new(table), models, keep, watch };
        let ended = federate(arguments, &host, move |stream, text| {
            speaker(stream == Stream::Error, text.to_string());
        });
        Ok(ended.err().map(|refusal| (refusal.exit_code, refusal.message)))
    })
}

/// The columns of a frame, and how many rows it has.
fn rows(columns: &[HandedColumn<'_>]) -> PyResult<(Vec<Column>, usize)> {
    let rows = columns.first().map_or(Ok(0), |(_, _, cells)| cells.len())?;
    let frame = Frame::new(columns, rows)?;
    Ok((frame.columns(columns.iter().map(|(name, ..)| name.as_str()), &[]), rows))
}

/// A site in this process.
struct PythonHost<'a> {
    table: Mutex<Option<(Vec<Column>, usize)>>,
    models: Option<Py<PyAny>>,
    keep: Option<Py<PyAny>>,
    watch: &'a dyn Watch,
}

impl SiteHost for PythonHost<'_> {
    fn table(&self, experiment: &Experiment) -> Option<Table> {
        let (columns, rows) = self.table.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let gaps: Arc<[String]> = experiment.data.missing_values.clone().into();
        let columns = columns.into_iter().map(|own| own.with_missing_values(gaps.clone()));
        Some(Table::of_frame(SOURCE, columns.collect(), rows))
    }

    fn models(&self, site: &SiteAbout) -> Result<OwnModels> {
        let Some(models) = &self.models else { return Ok(OwnModels::default()) };
        let data = &site.experiment.data;
        let about = json!({
            "nodes": site.nodes,
            "classes": site.about.classes,
            "seed": site.experiment.seed,
            "weighted": data.weight.is_some() || data.class_weights.is_some(),
        });
        let found = asked(|py| {
            let found = models.call1(py, (about.to_string(),))?;
            let found: Vec<(usize, Bound<'_, PyAny>)> = found.extract(py)?;
            found.into_iter().map(|(node, adapter)| Ok((node, Adapter::new(&adapter)?))).collect()
        });
        let custom = |(node, adapter): (usize, Adapter)| {
            let kind = adapter.kind.clone();
            CustomModel { node, model: Arc::new(PythonModel(Arc::new(adapter))), kind }
        };
        let found: Vec<(usize, Adapter)> = found?;
        let models = found.into_iter().map(custom).collect();
        Ok(OwnModels { models, unmeasured: Vec::new() })
    }

    fn is_stopped(&self) -> bool {
        self.watch.interrupted()
    }

    fn keep(&self, site: SiteModels) -> Result<Option<String>> {
        let Some(keep) = &self.keep else { return Ok(None) };
        let (folder, names) = (site.folder.to_path_buf(), site.names.to_vec());
        let models = ModelsHandle::new(site.models, site.about.clone());
        asked(|py| keep.call1(py, (folder, names, models))?.extract(py))
    }
}

/// Asks Python something that is no model; an exception is kept and raised at the end of the job.
fn asked<T>(question: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    let job = WorkerJob::current();
    let inside = job.as_ref().map(WorkerJob::enter);
    if matches!(inside, Some(None)) {
        return Err(Error::Interrupted);
    }
    match Python::try_attach(question) {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(error)) => {
            let sentence = error.to_string();
            if let Some(job) = job {
                job.report(error);
            }
            Err(Error::input(sentence))
        }
        // The interpreter is going away.
        None => Err(Error::Interrupted),
    }
}
