//! A Python object that trains and predicts for one node, and how it is called from any thread.
//!
//! ```text
//! fit(X, y, weights, current) → fitted        predict(fitted, X) → numbers, row by row
//! ```

use std::fmt;

use fedgrid::{
    Error,
    data::{Features, Labels, Task},
};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::{prelude::*, types::PyTuple};

use crate::work::WorkerJob;

/// The adapter of one node's model.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts about one model")]
pub(crate) struct Adapter {
    object: Py<PyAny>,
    /// What reports call the model.
    pub(crate) kind: String,
    /// What the models of several nodes have in common.
    pub(crate) family: usize,
    /// Whether a fit can start from an earlier one.
    pub(crate) warm: bool,
    /// Whether the model has weights and gradients.
    pub(crate) parametric: bool,
    /// Whether rows stand for several each.
    pub(crate) weighted: bool,
    /// Whether a node's own rows weigh as many as they stand for, and not a share of the node.
    pub(crate) counts: bool,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)
    }
}

impl Adapter {
    /// Reads what an adapter says about itself.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            kind: object.getattr("kind")?.extract()?,
            family: object.getattr("family")?.extract()?,
            warm: object.getattr("warm")?.extract()?,
            parametric: object.getattr("parametric")?.extract()?,
            weighted: object.getattr("weighted")?.extract()?,
            counts: object.getattr("counts")?.extract()?,
            object: object.clone().unbind(),
        })
    }

    /// The Python object.
    pub(crate) fn object(&self) -> &Py<PyAny> {
        &self.object
    }

    /// Asks Python for something; an exception is kept with the node that it came from. A job that is
    /// over asks no more, so that its threads end with the question that they are in.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> fedgrid::Result<T> {
        let job = WorkerJob::current();
        let inside = job.as_ref().map(WorkerJob::enter);
        if matches!(inside, Some(None)) {
            return Err(Error::Interrupted);
        }
        let asked = Python::try_attach(|py| {
            question(py, self.object.bind(py)).map_err(|error| self.noted(py, error))
        });
        match asked {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                let reason = error.to_string();
                if let Some(job) = job {
                    job.report(error);
                }
                Err(Error::Fit { model: "the Python model", reason })
            }
            // The interpreter is going away.
            None => Err(Error::Interrupted),
        }
    }

    /// The exception with a note that names the node.
    fn noted(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let note = self.object.bind(py).getattr("note");
        // Without a note the exception still says what went wrong.
        let _ = note.and_then(|note| error.value(py).call_method1("add_note", (note,)));
        error
    }

    /// Numbers that a method of the adapter gives.
    pub(crate) fn numbers<'py>(
        object: &Bound<'py, PyAny>,
        method: &str,
        arguments: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<Vec<f64>> {
        let answer = object.call_method1(method, arguments)?;
        let array: PyReadonlyArray1<f64> = answer.extract()?;
        Ok(array.as_array().to_vec())
    }
}

/// Rows as NumPy takes them.
pub(crate) struct Arrays {
    pub(crate) features: Py<PyAny>,
    pub(crate) weights: Py<PyAny>,
    /// The rows of positive weight, which are the only ones that Python sees.
    kept: Vec<usize>,
}

impl Arrays {
    /// The rows of positive weight. Where it is known how many rows the first stands for, it weighs as much, and
    /// all others in proportion: a node's own rows come first, and weigh one each in a plain fit.
    pub(crate) fn new(
        py: Python<'_>,
        rows: &Features,
        weights: &[f64],
        count: Option<&dyn Fn(usize) -> f64>,
    ) -> PyResult<Self> {
        let kept: Vec<usize> = (0..rows.rows()).filter(|&row| weights[row] > 0.0).collect();
        let values = kept.iter().flat_map(|&row| rows.row(row)).copied().collect();
        let unit = count.zip(kept.first()).map_or(1.0, |(count, &row)| weights[row] / count(row));
        let weights = kept.iter().map(|&row| weights[row] / unit).collect();
        Ok(Self {
            features: matrix(py, values, kept.len(), rows.columns())?,
            weights: PyArray1::from_vec(py, weights).into_any().unbind(),
            kept,
        })
    }

    /// The labels of these rows: numbers, or a probability for each class.
    pub(crate) fn labels(&self, py: Python<'_>, labels: &Labels) -> PyResult<Py<PyAny>> {
        let values: Vec<f64> = self.kept.iter().flat_map(|&row| labels.row(row)).copied().collect();
        match labels.task() {
            Task::Regression => Ok(PyArray1::from_vec(py, values).into_any().unbind()),
            Task::Classification { classes } => matrix(py, values, self.kept.len(), classes),
        }
    }
}

/// All rows of features as a NumPy array.
pub(crate) fn array(py: Python<'_>, rows: &Features) -> PyResult<Py<PyAny>> {
    matrix(py, rows.values().to_vec(), rows.rows(), rows.columns())
}

fn matrix(py: Python<'_>, values: Vec<f64>, rows: usize, columns: usize) -> PyResult<Py<PyAny>> {
    let flat = PyArray1::from_vec(py, values);
    debug_assert_eq!(flat.len(), rows * columns);
    Ok(flat.reshape([rows, columns])?.into_any().unbind())
}

/// The two parts of a hypothesis as Python keeps it.
pub(crate) fn pair(py: Python<'_>, adapter: &Adapter, fitted: &Py<PyAny>) -> PyResult<Py<PyAny>> {
    let parts = [adapter.object().clone_ref(py), fitted.clone_ref(py)];
    Ok(PyTuple::new(py, parts)?.into_any().unbind())
}
