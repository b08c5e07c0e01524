//! Python objects as local models: any `fit` and `predict` under the method of a network.

use std::{fmt, sync::Arc};

use fedgrid::{
    Error, Result,
    bytes::{Reader, Writer},
    data::{Dataset, Features, Labels, Task},
    model::{Constant, Hypothesis, LocalModel, Parametric, Prepared, Rescaling, Steps, WarmStart},
};
use pyo3::{prelude::*, types::PyBytes};

use crate::adapter::{Adapter, Arrays, array};

/// The model of one node, trained by Python.
#[derive(Clone)]
pub(crate) struct PythonModel(pub(crate) Arc<Adapter>);

impl fmt::Debug for PythonModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What Python has learnt.
pub(crate) struct PythonHypothesis {
    pub(crate) adapter: Arc<Adapter>,
    pub(crate) fitted: Py<PyAny>,
    pub(crate) task: Task,
}

impl fmt::Debug for PythonHypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.adapter.fmt(f)
    }
}

impl PythonHypothesis {
    /// Predictions for rows that are a NumPy array already.
    fn answers(
        &self,
        rows: usize,
        features: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
    ) -> Labels {
        let answer = self
            .adapter
            .ask(|py, adapter| Adapter::numbers(adapter, "predict", (&self.fitted, features(py)?)));
        // A run that holds an exception is on its way to its end; until then, any labels will do.
        answer
            .and_then(|values| Labels::new(self.task, values))
            .unwrap_or_else(|_| Labels::neutral(self.task, rows))
    }
}

impl Hypothesis for PythonHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        if features.rows() == 0 {
            return Labels::neutral(self.task, 0);
        }
        self.answers(features.rows(), |py| array(py, features))
    }

    // No plain values stand for a Python object, so it is not saved: Python keeps the object itself.
}

impl PythonModel {
    fn hypothesis(&self, fitted: Py<PyAny>, task: Task) -> PythonHypothesis {
        PythonHypothesis { adapter: self.0.clone(), fitted, task }
    }

    fn fitted(&self, data: &Dataset, current: Option<&dyn Hypothesis>) -> Result<PythonHypothesis> {
        let fitted = self.0.ask(|py, adapter| {
            let count = |row: usize| data.count(row);
            let arrays = Arrays::new(py, data.features(), data.weights(), self.counted(&count))?;
            let labels = arrays.labels(py, data.labels())?;
            let current = current.and_then(own).map(|own| own.fitted.clone_ref(py));
            let arguments = (arrays.features, labels, arrays.weights, current);
            Ok(adapter.call_method1("fit", arguments)?.unbind())
        })?;
        Ok(self.hypothesis(fitted, data.task()))
    }

    /// How many rows each one stands for, if the adapter asks for it.
    fn counted<'a>(&self, count: &'a dyn Fn(usize) -> f64) -> Option<&'a dyn Fn(usize) -> f64> {
        self.0.counts.then_some(count)
    }

    /// Asks about weights on these rows.
    fn weighed<T>(
        &self,
        data: &Dataset,
        question: impl FnOnce(&Bound<'_, PyAny>, Arrays, Py<PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        self.0.ask(|py, adapter| {
            let arrays = Arrays::new(py, data.features(), data.weights(), None)?;
            let labels = arrays.labels(py, data.labels())?;
            question(adapter, arrays, labels)
        })
    }
}

/// A hypothesis of Python's, if it is one.
pub(crate) fn own(hypothesis: &dyn Hypothesis) -> Option<&PythonHypothesis> {
    hypothesis.downcast_ref()
}

impl LocalModel for PythonModel {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.fitted(data, None)?))
    }

    fn as_warm_start(&self) -> Option<&dyn WarmStart> {
        Some(self)
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        // A model that goes on from where it is needs to be shown where that is, and rows that stand for several
        // how many.
        if self.0.warm || self.0.weighted {
            return Ok(None);
        }
        let (arrays, all) = self.0.ask(|py, _| {
            Ok((Arrays::new(py, rows, weights, self.counted(&|_| 1.0))?, array(py, rows)?))
        })?;
        Ok(Some(Box::new(Ready { model: self.clone(), arrays, all })))
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        if self.0.parametric { Some(self) } else { None }
    }

    fn rescaling(&self) -> Rescaling {
        // What it does is written for the rows that its author knows.
        Rescaling::Nothing
    }

    fn family(&self) -> usize {
        self.0.family
    }

    fn store(&self, hypothesis: &dyn Hypothesis) -> Result<Vec<u8>> {
        let own = own(hypothesis).ok_or(malformed("is of another model"))?;
        let fitted = self
            .0
            .ask(|_, adapter| adapter.call_method1("dump", (&own.fitted,))?.extract::<Vec<u8>>())?;
        let mut to = Writer::default();
        to.part(self.0.kind.as_bytes());
        to.count(own.task.outputs());
        to.part(&fitted);
        Ok(to.into_bytes())
    }

    fn restore(&self, bytes: &[u8]) -> Result<Box<dyn Hypothesis>> {
        let mut from = Reader::new("a hypothesis", bytes);
        // Bytes of another library would be read by this one as they are.
        if from.part()? != self.0.kind.as_bytes() {
            let reason =
                "state was kept by another kind of model; join with that one, or in a new folder";
            return Err(Error::Fit { model: "the Python model", reason: reason.into() });
        }
        let task = match from.count()? {
            1 => Task::Regression,
            classes => Task::Classification { classes },
        };
        let fitted = from.part()?;
        from.finish()?;
        let fitted = self.0.ask(|py, adapter| {
            Ok(adapter.call_method1("load", (PyBytes::new(py, fitted),))?.unbind())
        })?;
        Ok(Box::new(self.hypothesis(fitted, task)))
    }
}

fn malformed(reason: &'static str) -> Error {
    Error::Malformed { what: "a hypothesis", reason }
}

impl WarmStart for PythonModel {
    fn refit(&self, data: &Dataset, current: &dyn Hypothesis) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.fitted(data, Some(current))?))
    }
}

/// A model with its rows as NumPy arrays, made once for all rounds.
struct Ready {
    model: PythonModel,
    arrays: Arrays,
    all: Py<PyAny>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl Ready {
    fn fitted(&self, labels: &Labels) -> Result<PythonHypothesis> {
        let fitted = self.model.0.ask(|py, adapter| {
            let (features, weights) = (&self.arrays.features, &self.arrays.weights);
            let arguments = (features, self.arrays.labels(py, labels)?, weights, py.None());
            Ok(adapter.call_method1("fit", arguments)?.unbind())
        })?;
        Ok(self.model.hypothesis(fitted, labels.task()))
    }
}

impl Prepared for Ready {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.fitted(labels)?))
    }

    fn fit_and_predict(
        &self,
        labels: &Labels,
        _: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let hypothesis = self.fitted(labels)?;
        let predictions = hypothesis.answers(labels.rows(), |py| Ok(self.all.clone_ref(py)));
        Ok((Box::new(hypothesis), predictions))
    }
}

impl Parametric for PythonModel {
    fn size(&self, columns: usize, _: Task) -> usize {
        let size = |_: Python<'_>, adapter: &Bound<'_, PyAny>| {
            adapter.call_method1("size", (columns,))?.extract()
        };
        self.0.ask(size).unwrap_or(0)
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        let loss = self.weighed(data, |adapter, rows, labels| {
            let arguments = (rows.features, labels, rows.weights, weights.to_vec());
            adapter.call_method1("loss", arguments)?.extract()
        });
        // Until the exception ends the run, no step to such weights is taken for a better one.
        loss.unwrap_or(f64::INFINITY)
    }

    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        let gradient = self.weighed(data, |adapter, rows, labels| {
            let arguments = (rows.features, labels, rows.weights, weights.to_vec());
            Adapter::numbers(adapter, "gradient", arguments)
        });
        gradient.unwrap_or_else(|_| vec![0.0; weights.len()])
    }

    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.weighed(data, |adapter, rows, labels| {
            let arguments = (rows.features, labels, rows.weights, centre.to_vec(), steps.slopes);
            Adapter::numbers(adapter, "proximal", arguments)
        })
    }

    fn hypothesis(&self, _: &Arc<[String]>, task: Task, weights: &[f64]) -> Box<dyn Hypothesis> {
        let fitted = self.0.ask(|_, adapter| {
            Ok(adapter.call_method1("hypothesis", (weights.to_vec(),))?.unbind())
        });
        match fitted {
            Ok(fitted) => Box::new(PythonModel::hypothesis(self, fitted, task)),
            // As with predictions: the run is about to end with the exception.
            Err(_) => Box::new(Constant { task, label: vec![0.0; task.outputs()] }),
        }
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        let fitted = &own(hypothesis)?.fitted;
        self.0.ask(|_, adapter| Adapter::numbers(adapter, "weights", (fitted,))).ok()
    }

    fn start(&self, columns: usize, task: Task) -> Vec<f64> {
        let start = self.0.ask(|_, adapter| Adapter::numbers(adapter, "start", (columns,)));
        start.unwrap_or_else(|_| vec![0.0; self.size(columns, task)])
    }
}
