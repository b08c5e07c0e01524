//! The card of a node of a run folder, as `fedgrid show` has it.

use std::path::PathBuf;

use fedgrid_lab::show::FinishedRun;
use pyo3::prelude::*;

use crate::convert::{experiment_error, plain};

/// The card in Python's own values.
#[pyfunction]
pub(crate) fn node(py: Python<'_>, folder: PathBuf, name: &str) -> PyResult<Py<PyAny>> {
    let read = || FinishedRun::from_folder(&folder)?.node(name);
    let view = py.detach(read).map_err(|error| experiment_error(&error))?;
    plain(py, &view)
}
