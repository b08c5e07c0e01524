//! Results that stay in Rust while Python holds them: how a contestant did, what a run found, who helped whom.

use fedgrid::compare::Card;
use fedgrid_lab::outcome::{Help, Outcome};
use pyo3::prelude::*;

use crate::convert::{from_json, plain, to_json};

/// How a contestant did.
#[pyclass(frozen, name = "Card", module = "fedgrid._fedgrid")]
pub(crate) struct CardHandle(pub(crate) Card);

/// What a run found.
#[pyclass(frozen, name = "Outcome", module = "fedgrid._fedgrid")]
pub(crate) struct OutcomeHandle(pub(crate) Outcome);

/// Who helped whom in a fit.
#[pyclass(frozen, name = "Helps", module = "fedgrid._fedgrid")]
pub(crate) struct HelpsHandle(pub(crate) Vec<Help>);

#[pymethods]
impl CardHandle {
    /// The strength and the ridge that were chosen.
    fn strength(&self) -> (f64, Option<f64>) {
        (self.0.strength.alpha, self.0.strength.ridge)
    }

    /// The card in Python's own values.
    fn plain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        plain(py, &self.0)
    }
}

#[pymethods]
impl OutcomeHandle {
    /// The outcome whose plain values are written in JSON.
    #[staticmethod]
    fn restore(text: &str) -> PyResult<Self> {
        from_json(text).map(Self)
    }

    /// The outcome in Python's own values, as `result.json` has it.
    fn plain(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        plain(py, &self.0)
    }
}

#[pymethods]
impl HelpsHandle {
    /// What `text` has written.
    #[staticmethod]
    fn restore(text: &str) -> PyResult<Self> {
        from_json(text).map(Self)
    }

    /// As JSON, for a pickle.
    fn text(&self) -> String {
        to_json(&self.0)
    }
}
