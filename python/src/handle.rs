//! Results that stay in Rust while Python holds them: how a contestant did, what a run found, who helped whom,
//! coefficients and intervals.

use fedgrid::{compare::Card, uncertainty::Intervals};
use fedgrid_lab::{
    coefficients::Coefficients,
    outcome::{Help, Outcome},
    printed, readings,
    summary::basis,
};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::convert::{core_error, from_json, plain, to_json};

/// How a contestant did.
#[pyclass(frozen, name = "Card", module = "fedgrid._fedgrid")]
pub(crate) struct CardHandle(pub(crate) Card);

/// What a run found.
#[pyclass(frozen, name = "Outcome", module = "fedgrid._fedgrid")]
pub(crate) struct OutcomeHandle(pub(crate) Outcome);

/// Who helped whom in a fit.
#[pyclass(frozen, name = "Helps", module = "fedgrid._fedgrid")]
pub(crate) struct HelpsHandle(pub(crate) Vec<Help>);

/// The coefficients of all nodes.
#[pyclass(frozen, name = "Coefficients", module = "fedgrid._fedgrid")]
pub(crate) struct CoefficientsHandle(pub(crate) Coefficients);

/// What intervals of all nodes are made of.
#[pyclass(frozen, name = "Intervals", module = "fedgrid._fedgrid")]
pub(crate) struct IntervalsHandle(pub(crate) Intervals);

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

    /// The tables of methods, of networks to choose from and of rolling origins, as the command prints them.
    fn tables(&self) -> String {
        let own = Some(printed::table(&self.0));
        let all = [printed::candidates(&self.0), own, printed::origins(&self.0)];
        all.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    /// What people read of the run's predictions beside the error, in a line; none without a measure.
    fn readings(&self) -> Option<String> {
        readings::line(&self.0)
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

#[pymethods]
impl CoefficientsHandle {
    /// What `text` has written.
    #[staticmethod]
    fn restore(text: &str) -> PyResult<Self> {
        from_json(text).map(Self)
    }

    /// As JSON, for a pickle.
    fn text(&self) -> String {
        to_json(&self.0)
    }

    /// The classes, where there are, and the names of the coefficients of each node.
    fn names(&self) -> Vec<(Option<String>, String)> {
        let names = self.0.names.iter();
        names.map(|name| (name.class.clone(), name.coefficient.clone())).collect()
    }

    /// The places of the nodes that have coefficients.
    fn nodes(&self) -> Vec<usize> {
        self.0.nodes.iter().map(|own| own.node).collect()
    }

    /// The values of all of them and their standard errors, node by node; not-a-number where there is none.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let values = self.0.nodes.iter().flat_map(|own| own.values.iter().copied());
        let errors = self.0.nodes.iter().flat_map(|own| own.errors.iter().copied());
        let errors = errors.map(|error| error.unwrap_or(f64::NAN));
        (PyArray1::from_vec(py, values.collect()), PyArray1::from_vec(py, errors.collect()))
    }
}

#[pymethods]
impl IntervalsHandle {
    /// What `text` has written.
    #[staticmethod]
    fn restore(text: &str) -> PyResult<Self> {
        from_json(text).map(Self)
    }

    /// As JSON, for a pickle.
    fn text(&self) -> String {
        to_json(&self.0)
    }

    /// For each node the half width over the deviation of a prediction, and what that rests on; no number and
    /// the reason where there is none.
    fn bands(&self, level: f64) -> PyResult<Vec<(Option<f64>, String)>> {
        let bands = self.0.bands(level).map_err(|error| core_error(&error))?;
        Ok(bands.iter().map(|band| (band.factor(), basis(band, level))).collect())
    }
}
