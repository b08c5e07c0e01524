//! The models of a run: one hypothesis per node, asked for many rows at once, kept and restored.

use std::{ops::Range, path::PathBuf, sync::Arc};

use fedgrid::{
    data::Features,
    model::{Hypothesis, HypothesisKinds, Stored},
};
use fedgrid_lab::{
    assembly::DataSchema,
    onnx::{self, Form, NodeModels},
};
use numpy::{PyArray1, PyReadonlyArray1, ndarray::ArrayView1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyString};
use rayon::prelude::*;

use crate::{
    adapter::{Adapter, pair},
    convert::{ByNode, core_error, experiment_error, from_json, gather, to_json},
    frame::{Frame, HandedColumn, planned},
    handle::IntervalsHandle,
    local_model::{PythonHypothesis, own},
    timed,
    work::How,
};

/// The models of all nodes.
#[pyclass(frozen, name = "Models", module = "fedgrid._fedgrid")]
pub(crate) struct ModelsHandle {
    hypotheses: Arc<[Arc<dyn Hypothesis>]>,
    about: Arc<DataSchema>,
}

impl ModelsHandle {
    pub(crate) fn new(hypotheses: Vec<Arc<dyn Hypothesis>>, about: DataSchema) -> Self {
        Self { hypotheses: hypotheses.into(), about: Arc::new(about) }
    }
}

#[pymethods]
impl ModelsHandle {
    /// The models that `export` has given.
    #[staticmethod]
    fn restore(models: Vec<Bound<'_, PyAny>>, about: &str) -> PyResult<Self> {
        let about: DataSchema = from_json(about)?;
        let restored = |model: Bound<'_, PyAny>| -> PyResult<Arc<dyn Hypothesis>> {
            // Models of ours are stored as text, those of Python's as the objects themselves.
            if let Ok(text) = model.cast::<PyString>() {
                let stored: Stored = from_json(&text.to_cow()?)?;
                let rows = Some((&about.features[..], about.task));
                let loaded = HypothesisKinds::builtin().load(stored, rows);
                return loaded.map(Arc::from).map_err(|_| {
                    PyValueError::new_err("a stored model does not belong to the run")
                });
            }
            let (adapter, fitted): (Bound<'_, PyAny>, Py<PyAny>) = model.extract()?;
            let adapter = Arc::new(Adapter::new(&adapter)?);
            Ok(Arc::new(PythonHypothesis { adapter, fitted, task: about.task }))
        };
        let hypotheses = models.into_iter().map(restored).collect::<PyResult<_>>()?;
        Ok(Self::new(hypotheses, about))
    }

    /// How rows are read, as JSON.
    fn about(&self) -> String {
        to_json(&*self.about)
    }

    /// One node's model: its values as JSON, or the adapter and the fitted object.
    fn export(&self, py: Python<'_>, node: usize) -> PyResult<Py<PyAny>> {
        let hypothesis = self.hypotheses.get(node);
        let hypothesis = hypothesis.ok_or_else(|| PyValueError::new_err("no such node"))?;
        if let Some(own) = own(hypothesis.as_ref()) {
            return pair(py, &own.adapter, &own.fitted);
        }
        let stored =
            hypothesis.save().ok_or_else(|| PyValueError::new_err("it cannot be stored"))?;
        Ok(PyString::new(py, &to_json(&stored)).into_any().unbind())
    }

    /// Writes the models as ONNX, given the names of the nodes; what is not part of the files, if anything.
    #[pyo3(signature = (names, out, node=None))]
    fn export_onnx(
        &self,
        names: Vec<String>,
        out: PathBuf,
        node: Option<&str>,
    ) -> PyResult<Option<String>> {
        let models = names.iter().map(String::as_str).zip(self.hypotheses.iter()).collect();
        let models = NodeModels { about: &self.about, models };
        let written = onnx::write(&models, Form::of(node, &out), &out, true);
        written.map_err(|error| experiment_error(&error))?;
        Ok(models.preparation())
    }

    /// The predictions for rows, each by its own node's model, one row after the other, and what a reader should
    /// know of these rows. Models with lags may be told rows of the time before.
    #[pyo3(signature = (nodes, columns, how, history=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        nodes: PyReadonlyArray1<'py, i64>,
        columns: Vec<HandedColumn<'py>>,
        how: How,
        history: Option<HandedRows<'py>>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<String>)> {
        let rows = nodes.as_array().len();
        let by_node = ByNode::new(nodes.as_array(), self.hypotheses.len())?;
        let frame = self.with_lags((nodes.as_array(), &columns), history.as_ref())?;
        let (asked, notes) = self.by_node(py, &by_node, &frame)?;
        let hypotheses = self.hypotheses.clone();
        let answers = how.run(py, move |_| {
            let ask = |(node, features): &(usize, Features)| hypotheses[*node].predict(features);
            Ok(asked.par_iter().map(ask).collect::<Vec<_>>())
        })?;
        let outputs = self.about.task.outputs();
        let mut values = vec![0.0; rows * outputs];
        // Nodes without rows were not asked, so that answers and slots go together.
        let with_rows = by_node.slots().filter(|slots| !slots.is_empty());
        for (labels, slots) in answers.iter().zip(with_rows) {
            for (own, slot) in slots.enumerate() {
                let row = by_node.row(slot) * outputs;
                values[row..][..outputs].copy_from_slice(labels.row(own));
            }
        }
        Ok((PyArray1::from_vec(py, values), notes))
    }

    /// The ends of intervals around predictions, for the half width of each node over the deviation of its
    /// predictions.
    fn ends<'py>(
        &self,
        py: Python<'py>,
        rows: AskedRows<'py>,
        factors: Vec<f64>,
        intervals: PyRef<'py, IntervalsHandle>,
    ) -> PyResult<Ends<'py>> {
        let (nodes, predictions) = (rows.nodes.as_array(), rows.predictions.as_array());
        let by_node = ByNode::new(nodes, self.hypotheses.len())?;
        let frame = self.with_lags((nodes, &rows.columns), rows.history.as_ref())?;
        let (asked, _) = self.by_node(py, &by_node, &frame)?;
        let (mut lower, mut upper) = (vec![f64::NAN; nodes.len()], vec![f64::NAN; nodes.len()]);
        let with_rows = by_node.slots().filter(|slots| !slots.is_empty());
        for ((node, features), slots) in asked.iter().zip(with_rows) {
            for (x, slot) in features.iter().zip(slots) {
                let row = by_node.row(slot);
                let at = (*node, factors[*node]);
                (lower[row], upper[row]) = intervals.0.interval(at, x, predictions[row]);
            }
        }
        Ok((PyArray1::from_vec(py, lower), PyArray1::from_vec(py, upper)))
    }
}

/// The rows of each node that has any.
type RowsByNode = Vec<(usize, Features)>;

/// The lower and the upper ends of intervals.
type Ends<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Rows with their predictions.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedRows<'py> {
    nodes: PyReadonlyArray1<'py, i64>,
    columns: Vec<HandedColumn<'py>>,
    predictions: PyReadonlyArray1<'py, f64>,
    history: Option<HandedRows<'py>>,
}

/// Rows as Python hands them over: their nodes and their columns.
type HandedRows<'py> = (PyReadonlyArray1<'py, i64>, Vec<HandedColumn<'py>>);

impl ModelsHandle {
    /// The columns of new rows, with those of earlier values if the models have lags.
    fn with_lags<'py>(
        &self,
        (nodes, columns): (ArrayView1<'_, i64>, &[HandedColumn<'py>]),
        history: Option<&HandedRows<'py>>,
    ) -> PyResult<Frame<'py>> {
        let mut frame = Frame::new(columns, nodes.len())?;
        let plan = self.about.column_plan();
        match (&plan.lags, history) {
            (None, None) => {}
            (None, Some(_)) => {
                let sentence = "history is for runs with lags, and this run has none";
                return Err(PyValueError::new_err(sentence));
            }
            (Some(_), history) => {
                let before = match history {
                    Some((nodes, columns)) => {
                        let frame = Frame::new(columns, nodes.as_array().len())?;
                        Some((frame, timed::codes(nodes.as_array())?))
                    }
                    None => None,
                };
                let made = timed::lags_of_new(&plan, (&frame, nodes), before.as_ref())?;
                frame.extend(made);
            }
        }
        Ok(frame)
    }

    /// The rows of each node that has any, and what a reader should know of them.
    fn by_node(
        &self,
        py: Python<'_>,
        by_node: &ByNode,
        frame: &Frame<'_>,
    ) -> PyResult<(RowsByNode, Vec<String>)> {
        let plan = self.about.column_plan();
        let names: Arc<[String]> = self.about.features.clone().into();
        let sources = plan.features().map(|(name, _)| name);
        // Columns belong to the interpreter and are read here; what threads get is a copy by node.
        let plain = frame.plain(sources).filter(|_| plan.is_of_single_columns());
        let made = match plain {
            Some(_) => None,
            None => Some(planned(py, frame, &plan)?),
        };
        let views = match (&plain, &made) {
            (Some(views), _) => views.clone(),
            (None, Some(made)) => made.columns.iter().map(ArrayView1::from).collect(),
            (None, None) => Vec::new(),
        };
        let part = |(node, slots): (usize, Range<usize>)| -> fedgrid::Result<_> {
            Ok((node, gather(&names, &views, slots.map(|slot| by_node.row(slot)))?))
        };
        let parts = by_node.slots().enumerate().filter(|(_, slots)| !slots.is_empty());
        let found = parts.map(part).collect::<fedgrid::Result<Vec<(usize, Features)>>>();
        let found = found.map_err(|error| core_error(&error))?;
        Ok((found, made.map_or_else(Vec::new, |made| made.notes())))
    }
}
