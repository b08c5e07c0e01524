//! The models that a run keeps, of any of its methods: in memory after a fit, or from the folder of a run. They predict as
//! the command does, rows of nodes that the run has never seen as well.

use std::{path::PathBuf, sync::Arc};

use fedgrid::data::Task;
use fedgrid_lab::{
    run::RunModels,
    serving::{Explanations, LevelIntervals, NewNodes, Served, Serving, UnknownRule, method_note},
    source::{Column, Table},
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    adapter::Adapter,
    convert::{experiment_error, to_json},
    frame::{Frame, HandedColumn},
    handle::IntervalsHandle,
    local_model::PythonHypothesis,
    models::ModelsHandle,
    work::How,
};

/// What messages call the rows.
const SOURCE: &str = "the frame";

/// The models of one method of a run.
#[pyclass(frozen, name = "Kept", module = "fedgrid._fedgrid")]
pub(crate) struct KeptHandle(pub(crate) Arc<RunModels>);

/// Rows with the names of their nodes: the names, the place of each row's name, and the columns.
pub(crate) type NamedRows<'py> = (Vec<String>, PyReadonlyArray1<'py, i64>, Vec<HandedColumn<'py>>);

/// The adapter of a model of Python's, and what it has learnt.
type PythonParts<'py> = (Bound<'py, PyAny>, Py<PyAny>);

/// What is asked besides the rows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked<'py> {
    level: Option<f64>,
    unknown: Option<String>,
    /// Where new nodes are: "places" or "edges", and the columns of a table.
    near: Option<(String, Vec<HandedColumn<'py>>)>,
    history: Option<NamedRows<'py>>,
}

/// Predictions, the ends of their intervals, and what a reader must know.
type Found<'py> =
    (Bound<'py, PyArray1<f64>>, Option<[Bound<'py, PyArray1<f64>>; 2]>, Vec<String>, Vec<String>);

/// The base of every row, what each column adds to it, whose model has predicted each row, and what a reader must know.
type Why<'py> =
    (Bound<'py, PyArray1<f64>>, Vec<(String, Bound<'py, PyArray1<f64>>)>, Vec<String>, Vec<String>);

#[pymethods]
impl KeptHandle {
    /// Reads the models of a run folder: of a method by name, or of the run's own.
    #[staticmethod]
    #[pyo3(signature = (folder, method=None))]
    fn load(py: Python<'_>, folder: PathBuf, method: Option<&str>) -> PyResult<Self> {
        let read = || match method {
            Some(method) => RunModels::of_method(&folder, Some(method)),
            None => RunModels::of_own_method(&folder),
        };
        let models = py.detach(read).map_err(|error| experiment_error(&error))?;
        Ok(Self(Arc::new(models)))
    }

    /// What `text` has written.
    #[staticmethod]
    fn restore(text: &str) -> PyResult<Self> {
        let models = RunModels::from_text(text).map_err(|error| experiment_error(&error))?;
        Ok(Self(Arc::new(models)))
    }

    /// The same with the models that Python keeps itself, by the names of their nodes.
    fn with_python(&self, models: Vec<(String, PythonParts<'_>)>) -> PyResult<Self> {
        let task = self.0.about.task;
        let mut all = RunModels::clone(&self.0);
        for (node, (adapter, fitted)) in models {
            let adapter = Arc::new(Adapter::new(&adapter)?);
            all.by_node.insert(node, Arc::new(PythonHypothesis { adapter, fitted, task }));
        }
        Ok(Self(Arc::new(all)))
    }

    /// As JSON, for a pickle; none if models are Python's.
    fn text(&self) -> PyResult<Option<String>> {
        self.0.to_text().map_err(|error| experiment_error(&error))
    }

    /// How rows are read, as JSON.
    fn about(&self) -> String {
        to_json(&self.0.about)
    }

    /// The method, the one that the verdict advises, and all that are kept, the run's own first.
    fn methods(&self) -> (String, String, Vec<String>) {
        (self.0.used.clone(), self.0.advised.clone(), self.0.methods.clone())
    }

    /// Which method predicts, in words.
    fn note(&self) -> String {
        method_note(&self.0, "use=")
    }

    /// The columns that new rows need, the column of times and those that lags are made of.
    fn sources(&self) -> (Vec<String>, Option<(String, Vec<String>)>) {
        let plan = self.0.about.column_plan();
        let own = |names: Vec<&str>| names.into_iter().map(String::from).collect();
        let lags = plan.lags.as_ref().map(|lags| (lags.time.clone(), own(lags.sources())));
        (own(plan.sources()), lags)
    }

    /// The models of nodes in this order.
    fn models(&self, names: Vec<String>) -> PyResult<ModelsHandle> {
        let model = |name: &String| {
            let found = self.0.by_node.get(name).cloned();
            found
                .ok_or_else(|| PyValueError::new_err(format!("the run keeps no model of '{name}'")))
        };
        let models = names.iter().map(model).collect::<PyResult<Vec<_>>>()?;
        Ok(ModelsHandle::new(models, self.0.about.clone()))
    }

    /// Reads all that predictions may need, because the folder may be another later.
    fn read_all(&self, py: Python<'_>) -> PyResult<()> {
        let models = self.0.clone();
        let read = py.detach(move || models.read_all());
        read.map(|_| ()).map_err(|error| experiment_error(&error))
    }

    /// What intervals are made of; none for classes.
    fn intervals(&self) -> PyResult<Option<IntervalsHandle>> {
        if self.0.about.task != Task::Regression {
            return Ok(None);
        }
        let found = self.0.intervals().map_err(|error| experiment_error(&error))?;
        Ok(Some(IntervalsHandle(found.intervals.clone())))
    }

    /// Why rows are predicted as they are: the base, what each column adds, whose model has predicted each row, and notes.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: NamedRows<'py>,
        asked: Asked<'py>,
        how: How,
    ) -> PyResult<Why<'py>> {
        let (found, explained) = self.served(py, (rows, asked), &how, true)?;
        let Explanations { base, columns, notes } = explained.expect("it was asked for");
        let columns =
            columns.into_iter().map(|(name, cells)| (name, PyArray1::from_vec(py, cells)));
        let by = found.by.iter().map(ToString::to_string).collect();
        let notes = found.notes.into_iter().chain(notes).collect();
        Ok((PyArray1::from_vec(py, base), columns.collect(), by, notes))
    }

    /// Predicts rows as the command does: the values, the ends of intervals, whose model has predicted each row, and notes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: NamedRows<'py>,
        asked: Asked<'py>,
        how: How,
    ) -> PyResult<Found<'py>> {
        let (served, _) = self.served(py, (rows, asked), &how, false)?;
        let Served { values, by, intervals, notes, .. } = served;
        let end = |ends: &[Option<(f64, f64)>], of: fn((f64, f64)) -> f64| {
            let cells = ends.iter().map(|own| own.map_or(f64::NAN, of)).collect();
            PyArray1::from_vec(py, cells)
        };
        let ends = intervals.map(|all| [end(&all, |own| own.0), end(&all, |own| own.1)]);
        let by = by.iter().map(ToString::to_string).collect();
        Ok((PyArray1::from_vec(py, values), ends, by, notes))
    }
}

impl KeptHandle {
    /// Predictions of rows and, if asked for, why they are so.
    fn served(
        &self,
        py: Python<'_>,
        (rows, asked): (NamedRows<'_>, Asked<'_>),
        how: &How,
        explains: bool,
    ) -> PyResult<(Served, Option<Explanations>)> {
        let (models, level) = (self.0.clone(), asked.level);
        let table = self.table(rows)?;
        let history = asked.history.map(|rows| self.table(rows)).transpose()?;
        let unknown = match asked.unknown.as_deref() {
            Some(word) => Some(UnknownRule::named(word).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "unknown is {word:?}, expected refuse, pooled or neighbours"
                ))
            })?),
            None => None,
        };
        let near = asked.near.map(|(kind, columns)| self.near(&kind, &columns)).transpose()?;
        let served = how.run(py, move |_| {
            let predict = || {
                let levels = level.map(|level| LevelIntervals::new(&models, level)).transpose()?;
                let (intervals, new_nodes) = (levels.as_ref(), near.as_ref());
                let serving = Serving { models: &models, intervals, unknown, new_nodes };
                let served = serving.predict(&table, history.as_ref())?;
                let why = explains.then(|| serving.explain(&table, history.as_ref(), &served));
                Ok((served, why.transpose()?))
            };
            Ok(predict())
        })?;
        served.map_err(|error| experiment_error(&error))
    }

    /// A frame as the table that the command would read.
    pub(crate) fn table(&self, (names, codes, columns): NamedRows<'_>) -> PyResult<Table> {
        let about = &self.0.about;
        let codes = codes.as_array();
        let frame = Frame::new(&columns, codes.len())?;
        let name = |code: &i64| usize::try_from(*code).ok().and_then(|code| names.get(code));
        let nodes = codes.iter().map(|code| name(code).map(String::as_str));
        let mut made = vec![Column::of_text(about.node.clone(), nodes)];
        let others =
            columns.iter().map(|(name, ..)| name.as_str()).filter(|name| *name != about.node);
        made.extend(frame.columns(others, &about.column_plan().missing_values));
        Ok(Table::of_frame(SOURCE, made, codes.len()))
    }

    /// Who is near nodes that the run does not know.
    fn near(&self, kind: &str, columns: &[HandedColumn<'_>]) -> PyResult<NewNodes> {
        let table = near_table(kind, columns)?;
        let found = if kind == "edges" {
            NewNodes::from_edges(&self.0, &table)
        } else {
            NewNodes::from_places(&self.0, &table)
        };
        found.map_err(|error| experiment_error(&error))
    }
}

/// A table of places or of edges.
pub(crate) fn near_table(kind: &str, columns: &[HandedColumn<'_>]) -> PyResult<Table> {
    let rows = columns.first().map_or(Ok(0), |(_, _, cells)| cells.len())?;
    let frame = Frame::new(columns, rows)?;
    let made = frame.columns(columns.iter().map(|(name, ..)| name.as_str()), &[]);
    Ok(Table::of_frame(if kind == "edges" { "edges" } else { "nodes" }, made, rows))
}
