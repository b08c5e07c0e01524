//! The papers' figures, run by the command's library.

use fedgrid::compare::Watch;
use fedgrid_cli::reproduce;
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;

use crate::{convert::experiment_error, work::How};

/// The names of all figures.
#[pyfunction]
pub(crate) fn figures() -> Vec<String> {
    reproduce::all().iter().map(|entry| entry.name.to_string()).collect()
}

/// Runs the figures of this name or paper; a list as JSON.
#[pyfunction]
pub(crate) fn run_figures(
    py: Python<'_>,
    name: &str,
    quick: bool,
    how: How,
) -> PyResult<Vec<String>> {
    let wanted = reproduce::find(name).map_err(|error| experiment_error(&error))?;
    let done = how.run(py, move |watching| {
        let run = |entry| {
            let outcome = reproduce::run(entry, quick, &|| watching.interrupted())
                .map_err(|error| error.to_string())?;
            let about = json!({
                "name": outcome.name,
                "paper": outcome.figure.paper,
                "title": outcome.figure.title,
                "rows": outcome.rows,
                "claims": outcome.claims,
                "seconds": outcome.seconds,
                "table": reproduce::screen(&outcome),
                "svg": reproduce::plot(&outcome),
            });
            Ok(about.to_string())
        };
        Ok(wanted.iter().map(run).collect::<Result<Vec<String>, String>>())
    })?;
    done.map_err(PyValueError::new_err)
}
