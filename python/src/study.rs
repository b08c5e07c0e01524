//! A study of rows and models that Python holds: tuned, compared, fitted and reported as the command
//! does it.

use std::sync::{Arc, Mutex, PoisonError};

use fedgrid::{
    compare::{Card, Contestant, Fitted, Strength},
    data::Dataset,
};
use fedgrid_lab::{
    assembly::Assembly, coefficients::Coefficients, experiment::Experiment, pipeline::Pipeline,
    report::Page, summary,
};
use pyo3::prelude::*;
use serde_json::json;

use crate::{
    convert::{experiment_error, from_json, to_json},
    given::Given,
    handle::{CardHandle, CoefficientsHandle, HelpsHandle, IntervalsHandle, OutcomeHandle},
    models::ModelsHandle,
    network::NetworkHandle,
    work::{How, aside},
};

/// What a page is made of.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PageParts<'py> {
    outcome: PyRef<'py, OutcomeHandle>,
    network: PyRef<'py, NetworkHandle>,
    positions: Option<Vec<(f64, f64)>>,
    /// The experiment as a file has it.
    experiment: String,
    helps: PyRef<'py, HelpsHandle>,
    coefficients: PyRef<'py, CoefficientsHandle>,
}

/// A study in memory.
#[pyclass(frozen, name = "Study", module = "fedgrid._fedgrid")]
pub(crate) struct StudyHandle {
    experiment: Experiment,
    assembly: Mutex<Arc<Assembly>>,
    /// The cards of the methods that its own was chosen from.
    tuned: Mutex<Vec<Card>>,
}

/// What a fit has left.
#[pyclass(frozen, name = "Fitted", module = "fedgrid._fedgrid")]
pub(crate) struct FittedHandle {
    /// How it went, as JSON.
    #[pyo3(get)]
    details: String,
    /// What models and summaries are made of.
    known: Fitted,
}

impl StudyHandle {
    /// The study for work that needs no folds. What was lost with a panic in a worker was a copy.
    pub(crate) fn assembly(&self) -> Arc<Assembly> {
        self.assembly.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with_folds(&self) -> fedgrid_lab::Result<Arc<Assembly>> {
        let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
        if assembly.study.plan.folds.is_empty() {
            let keys = &self.experiment;
            Arc::make_mut(&mut assembly).fold(keys.data.folds, keys.seed)?;
        }
        Ok(assembly.clone())
    }
}

#[pymethods]
impl StudyHandle {
    #[new]
    fn new(py: Python<'_>, given: Given<'_>) -> PyResult<Self> {
        let table: toml::Table = from_json(&given.experiment)?;
        let mut experiment =
            Experiment::from_table(table, "").map_err(|error| experiment_error(&error))?;
        let parts = given.parts(py, &experiment)?;
        let made = aside(py, || Assembly::from_memory(&experiment, parts))?;
        let assembly = made.map_err(|error| experiment_error(&error))?;
        // Whoever trains it again, from a file, has the same features.
        let plan = &assembly.about.columns;
        experiment.data.features = Some(plan.features().map(|(name, _)| name.into()).collect());
        experiment.data.exclude.clear();
        experiment.data.columns = plan.keys();
        let (assembly, tuned) = (Mutex::new(Arc::new(assembly)), Mutex::default());
        Ok(Self { experiment, assembly, tuned })
    }

    /// Tunes the methods that the study's own is chosen from and takes the best; gives the kind of its method.
    fn choose(&self, py: Python<'_>, how: How) -> PyResult<&'static str> {
        if !self.assembly().study.members().is_empty() {
            let assembly = py.detach(|| self.with_folds());
            let study = assembly.map_err(|error| experiment_error(&error))?;
            let tuned = how.run(py, move |watch| {
                let members = study.study.members().into_iter();
                members.map(|member| study.study.tune(member, watch)).collect::<Result<Vec<_>, _>>()
            })?;
            let mut assembly = self.assembly.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut assembly).study.choose(&tuned);
            *self.tuned.lock().unwrap_or_else(PoisonError::into_inner) = tuned;
        }
        Ok(self.assembly().study.settings.method.kind().name())
    }

    /// The names of the features, and those of the columns that they are made of.
    fn features(&self) -> (Vec<String>, Vec<String>) {
        let about = &self.assembly().about;
        let sources = about.columns.features().map(|(name, _)| name.into()).collect();
        (about.features.clone(), sources)
    }

    /// The study's own method among the contestants, as JSON.
    fn main(&self) -> String {
        to_json(&self.assembly().study.main())
    }

    /// All contestants as JSON, in the order in which the command tries them.
    fn contestants(&self) -> Vec<String> {
        self.assembly().study.contestants().iter().map(to_json).collect()
    }

    /// Tunes and scores a contestant.
    fn card(&self, py: Python<'_>, contestant: &str, how: How) -> PyResult<CardHandle> {
        let contestant: Contestant = from_json(contestant)?;
        // Folds of very many nodes take a while, during which other Python threads shall run.
        let assembly = py.detach(|| self.with_folds());
        let assembly = assembly.map_err(|error| experiment_error(&error))?;
        let known = self.tuned.lock().unwrap_or_else(PoisonError::into_inner).clone();
        how.run(py, move |watch| assembly.study.completed(contestant, &known, watch))
            .map(CardHandle)
    }

    /// Fits the study's own method at a strength and, where it is chosen, a ridge.
    #[pyo3(signature = (alpha, ridge, how))]
    fn fit(
        &self,
        py: Python<'_>,
        alpha: f64,
        ridge: Option<f64>,
        how: How,
    ) -> PyResult<FittedHandle> {
        let assembly = self.assembly();
        let fitted = how.run(py, move |watch| {
            assembly.study.check()?;
            assembly.fit(Strength { alpha, ridge }, watch)
        })?;
        let details = json!({
            "certificate": fitted.certificate,
            "rounds": fitted.rounds,
            "residuals": fitted.residuals,
            "steps": fitted.steps,
            "direct": fitted.direct,
            "engine": fitted.engine,
            "clusters": fitted.clusters,
            "damped": fitted.damped,
            "tallies": fitted.tallies,
            "strength": fitted.strength,
            "variances": summary::variances(&self.assembly(), &fitted),
        });
        Ok(FittedHandle { details: details.to_string(), known: fitted })
    }

    /// A fit with its residuals on rows that its models have not seen, for intervals.
    #[pyo3(signature = (fitted, alpha, ridge, how))]
    fn calibrated(
        &self,
        py: Python<'_>,
        fitted: &FittedHandle,
        alpha: f64,
        ridge: Option<f64>,
        how: How,
    ) -> PyResult<FittedHandle> {
        let assembly = py.detach(|| self.with_folds());
        let assembly = assembly.map_err(|error| experiment_error(&error))?;
        let mut known = fitted.known.clone();
        let work = move |watch: &crate::work::Watching<_>| {
            let strength = Strength { alpha, ridge };
            known.unseen = assembly.study.residuals(&known, Some((strength, watch)))?;
            Ok(known)
        };
        let known = how.run(py, work)?;
        Ok(FittedHandle { details: fitted.details.clone(), known })
    }

    /// The intervals of a fit that is calibrated; none for classes.
    fn intervals(&self, fitted: &FittedHandle) -> Option<IntervalsHandle> {
        self.assembly().study.intervals(&fitted.known).map(IntervalsHandle)
    }

    /// The coefficients of a fit.
    fn coefficients(&self, fitted: &FittedHandle) -> CoefficientsHandle {
        CoefficientsHandle(Coefficients::new(&self.assembly(), &fitted.known))
    }

    /// The models of a fit.
    fn models(&self, fitted: &FittedHandle) -> ModelsHandle {
        let assembly = self.assembly();
        ModelsHandle::new(
            assembly.study.for_table(&fitted.known.hypotheses),
            assembly.about.clone(),
        )
    }

    /// The outcome of a run, from the cards of those that are compared, or from its own alone.
    fn outcome(
        &self,
        py: Python<'_>,
        cards: Vec<PyRef<'_, CardHandle>>,
        fitted: &FittedHandle,
        seconds: f64,
        how: How,
    ) -> PyResult<OutcomeHandle> {
        let cards: Vec<_> = cards.iter().map(|card| card.0.clone()).collect();
        let mut known = fitted.known.clone();
        // One card is that of the run itself, and there is nothing to compare it with.
        let mut experiment = self.experiment.clone();
        experiment.compare.enabled = cards.len() > 1;
        let assembly = self.assembly();
        // Clusters of nodes are found by asking their models, which may be Python's.
        let found = move |_: &_| {
            let pipeline = Pipeline { experiment: &experiment, assembly: &assembly };
            known.evidence = pipeline.evidence()?;
            Ok(pipeline.outcome(&cards, &known, seconds))
        };
        how.run(py, found).map(OutcomeHandle)
    }

    /// The strength that was given; none if it, or a ridge, is chosen on validation rows.
    fn given(&self) -> Option<f64> {
        // A ridge is chosen together with the error at this strength, which takes a card.
        let alpha = self.experiment.method.strength.given();
        alpha.filter(|_| !self.experiment.model.tunes_ridge())
    }

    /// What a reader should know of the rows and of a fit.
    fn notes(&self, fitted: &FittedHandle) -> Vec<String> {
        summary::notes(&self.assembly(), &[], &fitted.known)
    }

    /// Who helped whom in a fit.
    fn helps(&self, fitted: &FittedHandle) -> HelpsHandle {
        let pipeline = Pipeline { experiment: &self.experiment, assembly: &self.assembly() };
        HelpsHandle(pipeline.helps(&fitted.known))
    }

    /// The complete experiment as a file would have it.
    fn text(&self) -> String {
        self.experiment.to_text()
    }

    /// How many rows train, validate and test.
    fn counts(&self) -> (usize, usize, usize) {
        let study = &self.assembly().study;
        let all: usize = study.rows.iter().map(Dataset::rows).sum();
        let [train, test] = [&study.plan.train, &study.plan.test]
            .map(|rows| rows.iter().map(Vec::len).sum::<usize>());
        (train, all - train - test, test)
    }
}

/// The page of an outcome, from what a run keeps.
#[pyfunction]
pub(crate) fn page(py: Python<'_>, title: &str, kept: PageParts<'_>) -> String {
    let edges = kept.network.0.edges();
    let edges: Vec<(usize, usize, f64)> =
        edges.iter().map(|edge| (edge.source, edge.target, edge.weight)).collect();
    let (outcome, edges, positions) = (&kept.outcome.0, &edges, kept.positions.as_deref());
    let (experiment, helps) = (kept.experiment.as_str(), kept.helps.0.as_slice());
    let coefficients = &kept.coefficients.0;
    let page = Page { title, outcome, edges, positions, experiment, helps, coefficients };
    py.detach(|| page.render())
}
