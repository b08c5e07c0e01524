//! The papers' figures, run by the command's library.

use fedgrid::compare::Watch;
use fedgrid_lab::figures as papers;
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;

use crate::{convert::experiment_error, work::How};

/// The names of all figures.
#[pyfunction]
pub(crate) fn figures() -> Vec<String> {
    papers::all().iter().map(|entry| entry.name.to_string()).collect()
}

/// Runs the figures of this name or paper; a list as JSON.
#[pyfunction]
pub(crate) fn run_figures(
    py: Python<'_>,
    name: &str,
    quick: bool,
    how: How,
) -> PyResult<Vec<String>> {
    let wanted = papers::find(name).map_err(|error| experiment_error(&error))?;
    let done = how.run(py, move |watching| {
        let run = |entry| {
            let outcome = papers::run(entry, quick, &|| watching.interrupted())
                .map_err(|error| error.to_string())?;
            let about = json!({
                "name": outcome.name,
                "paper": outcome.figure.paper,
                "title": outcome.figure.title,
                "rows": outcome.rows,
                "claims": outcome.claims,
                "seconds": outcome.seconds,
                "table": papers::screen(&outcome),
                "svg": papers::plot(&outcome),
            });
            Ok(about.to_string())
        };
        // A job passes on errors of the core alone, and a refusal of a figure is none.
        Ok(wanted.iter().map(run).collect::<Result<Vec<String>, String>>())
    })?;
    done.map_err(PyValueError::new_err)
}
