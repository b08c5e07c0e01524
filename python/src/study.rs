//! A study of rows and models that Python holds: tuned, compared, fitted and reported as the command
//! does it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use fedgrid::{
    compare::{Card, Contestant, Fitted, Strength},
    data::Dataset,
};
use fedgrid_lab::{
    assembly::{Assembly, OriginWindow, at_origins},
    card::{CardParts, neighbours_of},
    coefficients::Coefficients,
    experiment::Experiment,
    pipeline::{Found, Heading, KeptFit, Pipeline},
    report::Page,
    run::{Existing, KeptMethods, RunFolder, RunModels},
    statistics::Statistics,
    summary::{self, OriginCards},
};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;

use crate::{
    convert::{experiment_error, from_json, plain, to_json},
    given::Given,
    handle::{CardHandle, CoefficientsHandle, HelpsHandle, IntervalsHandle, OutcomeHandle},
    kept::KeptHandle,
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
    /// What `page_data` has given; none shows cards of what is above.
    data: Option<String>,
}

/// What cards of nodes are made of.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CardedParts<'py> {
    cards: Vec<PyRef<'py, CardHandle>>,
    fitted: PyRef<'py, FittedHandle>,
    outcome: PyRef<'py, OutcomeHandle>,
}

/// What a run folder is made of.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SavedParts<'py> {
    folder: PathBuf,
    title: String,
    force: bool,
    cards: Vec<PyRef<'py, CardHandle>>,
    fitted: PyRef<'py, FittedHandle>,
    outcome: PyRef<'py, OutcomeHandle>,
}

/// A study in memory.
#[pyclass(frozen, name = "Study", module = "fedgrid._fedgrid")]
pub(crate) struct StudyHandle {
    experiment: Experiment,
    assembly: Mutex<Arc<Assembly>>,
    /// The cards of the methods that its own was chosen from.
    tuned: Mutex<Vec<Card>>,
    /// With rolling origins: all of them; the last is that of the study above.
    origins: Vec<OriginWindow>,
    /// The studies of all but the last.
    earlier: Vec<Mutex<Arc<Assembly>>>,
    /// The cards of all origins, as far as they are known.
    cards: Mutex<Vec<Vec<Card>>>,
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
            // Whoever still works with the study keeps the one without folds.
            Arc::make_mut(&mut assembly).fold(keys.data.folds, keys.seed)?;
        }
        Ok(assembly.clone())
    }
}

impl StudyHandle {
    /// What is made of cards of nodes; models may be Python's, so that it is a job.
    fn carded<T: Send + 'static>(
        &self,
        py: Python<'_>,
        parts: &CardedParts<'_>,
        how: &How,
        of: impl FnOnce(&Pipeline<'_>, &Found<'_>) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (experiment, assembly) = (self.experiment.clone(), self.assembly());
        let cards: Vec<Card> = parts.cards.iter().map(|card| card.0.clone()).collect();
        let (fitted, outcome) = (parts.fitted.known.clone(), parts.outcome.0.clone());
        how.run(py, move |watch| {
            let study = &assembly.study;
            let is_pooled = |card: &&Card| card.contestant == Contestant::Pooled;
            let is_own = study.main() == Contestant::Pooled;
            let pooled = cards.iter().find(is_pooled).filter(|_| !is_own).map(|card| {
                let fitted = study.fit_by_name(card.contestant, card.strength, watch)?;
                Ok(KeptFit { contestant: card.contestant, fitted })
            });
            let others: Vec<KeptFit> = pooled.into_iter().collect::<fedgrid::Result<_>>()?;
            let pipeline = Pipeline { experiment: &experiment, assembly: &assembly };
            let helps = pipeline.helps(&fitted);
            let found = Found {
                outcome: &outcome,
                cards: &cards,
                fitted: &fitted,
                others: &others,
                helps: &helps,
            };
            Ok(of(&pipeline, &found))
        })
    }

    /// The studies of all origins but the last.
    fn earlier(&self) -> Vec<Arc<Assembly>> {
        let own =
            |one: &Mutex<Arc<Assembly>>| one.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.earlier.iter().map(own).collect()
    }

    /// Chooses the method of every earlier origin, by the rows that validate there.
    fn choose_earlier(&self, py: Python<'_>, how: &How) -> PyResult<()> {
        for (origin, study) in self.earlier().into_iter().enumerate() {
            let tuned = how.run(py, move |watch| {
                let members = study.study.members().into_iter();
                members.map(|member| study.study.tune(member, watch)).collect::<Result<Vec<_>, _>>()
            })?;
            let mut own = self.earlier[origin].lock().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut own).study.choose(&tuned);
            self.cards.lock().unwrap_or_else(PoisonError::into_inner)[origin] = tuned;
        }
        Ok(())
    }

    /// The card of a contestant over all origins, from that of the last; as it is if there is one study.
    fn over_origins(&self, py: Python<'_>, last: Card, how: &How) -> PyResult<Card> {
        let contestant = last.contestant;
        for (origin, study) in self.earlier().into_iter().enumerate() {
            let known = self.cards.lock().unwrap_or_else(PoisonError::into_inner)[origin].clone();
            let card =
                how.run(py, move |watch| study.study.completed(contestant, &known, watch))?;
            self.cards.lock().unwrap_or_else(PoisonError::into_inner)[origin].push(card);
        }
        if let Some(own) = self.cards.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            own.push(last.clone());
        }
        let joined = OriginCards::joined(&self.origin_cards(std::slice::from_ref(&last)));
        Ok(joined.into_iter().next().unwrap_or(last))
    }

    /// The cards of some contestants at all origins; none if there is one study.
    fn origin_cards(&self, wanted: &[Card]) -> Vec<OriginCards> {
        let known = self.cards.lock().unwrap_or_else(PoisonError::into_inner);
        let studies = self.earlier().into_iter().chain([self.assembly()]);
        let of_origin = |((window, study), cards): ((&OriginWindow, Arc<Assembly>), &Vec<Card>)| {
            // The last, because a card is known without its errors on test rows first.
            let card = |wanted: &Card| {
                cards.iter().rfind(|card| card.contestant == wanted.contestant).cloned()
            };
            OriginCards::new(window, &study, wanted.iter().filter_map(card).collect())
        };
        self.origins.iter().zip(studies).zip(known.iter()).map(of_origin).collect()
    }
}

#[pymethods]
impl StudyHandle {
    #[new]
    fn new(py: Python<'_>, given: Given<'_>) -> PyResult<Self> {
        let table: toml::Table = from_json(&given.experiment)?;
        let experiment =
            Experiment::from_table(table, "").map_err(|error| experiment_error(&error))?;
        let origins = given.origins(&experiment)?;
        let mut studies = Vec::new();
        let mut settled = experiment.clone();
        for experiment in at_origins(&experiment, &origins) {
            let parts = given.parts(py, &experiment)?;
            let experiment = experiment.settled(parts.task);
            settled = settled.settled(parts.task);
            let made = aside(py, || Assembly::from_memory(&experiment, parts))?;
            studies.push(made.map_err(|error| experiment_error(&error))?);
        }
        let mut experiment = settled;
        let assembly = studies.pop().expect("there is always one");
        let earlier = studies.into_iter().map(|one| Mutex::new(Arc::new(one))).collect();
        let cards = Mutex::new(vec![Vec::new(); origins.len()]);
        // Whoever trains it again, from a file, has the same features.
        let plan = &assembly.about.columns;
        experiment.data.features = Some(plan.features().map(|(name, _)| name.into()).collect());
        experiment.data.exclude.clear();
        // Every rolling origin learns its own from the rows before it.
        if origins.is_empty() {
            experiment.data.columns = plan.keys();
        }
        let (assembly, tuned) = (Mutex::new(Arc::new(assembly)), Mutex::default());
        Ok(Self { experiment, assembly, tuned, origins, earlier, cards })
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
            self.choose_earlier(py, &how)?;
        }
        Ok(self.assembly().study.settings.method.kind().name())
    }

    /// The names of the features, and those of the columns that new rows must have for them.
    fn features(&self) -> (Vec<String>, Vec<String>) {
        let about = &self.assembly().about;
        let sources = about.columns.sources().into_iter().map(Into::into).collect();
        (about.features.clone(), sources)
    }

    /// The column of times and those that lags are made of; none without lags.
    fn lags(&self) -> Option<(String, Vec<String>)> {
        let about = &self.assembly().about;
        let lags = about.columns.lags.as_ref()?;
        Some((lags.time.clone(), lags.sources().into_iter().map(Into::into).collect()))
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
        let own = how.run(py, move |watch| assembly.study.completed(contestant, &known, watch))?;
        // Shuffles are searched around the strength of the network, as the command does it.
        self.tuned.lock().unwrap_or_else(PoisonError::into_inner).push(own.clone());
        self.over_origins(py, own, &how).map(CardHandle)
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
            "came_no_nearer": fitted.came_no_nearer(self.assembly().study.settings.runtime.stop.rounds),
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
            let (main, strength) = (assembly.study.main(), Strength { alpha, ridge });
            known.unseen = assembly.study.residuals(&known, Some((main, strength, watch)))?;
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

    /// A fit of the study's own method as models that are kept; the pooled ones stand in at nodes that it does not know.
    #[pyo3(signature = (fitted, advised, pooled=None))]
    fn kept_own(
        &self,
        fitted: &FittedHandle,
        advised: &str,
        pooled: Option<PyRef<'_, KeptHandle>>,
    ) -> PyResult<KeptHandle> {
        let (assembly, advised) = (self.assembly(), from_json(advised)?);
        let main = assembly.study.main();
        Ok(kept(&assembly, (main, advised), &fitted.known, pooled.as_deref()))
    }

    /// Another contestant at the strength of its card, as models that are kept.
    #[pyo3(signature = (card, advised, how, pooled=None))]
    fn kept(
        &self,
        py: Python<'_>,
        card: &CardHandle,
        advised: &str,
        how: How,
        pooled: Option<PyRef<'_, KeptHandle>>,
    ) -> PyResult<KeptHandle> {
        let assembly = py.detach(|| self.with_folds());
        let assembly = assembly.map_err(|error| experiment_error(&error))?;
        let (experiment, own) = (self.experiment.clone(), assembly.clone());
        let (contestant, strength) = (card.0.contestant, card.0.strength);
        let found = how.run(py, move |watch| {
            let pipeline = Pipeline { experiment: &experiment, assembly: &own };
            pipeline.kept(contestant, strength, watch)
        })?;
        let names = (found.contestant, from_json(advised)?);
        Ok(kept(&assembly, names, &found.fitted, pooled.as_deref()))
    }

    /// Writes the folder of a run, as the command does.
    fn save(&self, py: Python<'_>, kept: SavedParts<'_>, how: How) -> PyResult<()> {
        let assembly = py.detach(|| self.with_folds());
        let assembly = assembly.map_err(|error| experiment_error(&error))?;
        let unstored = assembly.study.for_table(&kept.fitted.known.hypotheses);
        let names = assembly.study.network.names();
        if let Some((name, _)) = names.iter().zip(&unstored).find(|(_, own)| own.save().is_none()) {
            return Err(PyValueError::new_err(format!(
                "the model of node '{name}' is a Python object, which a run folder cannot hold; pickle the run instead"
            )));
        }
        let existing = if kept.force { Existing::Replace } else { Existing::Refuse };
        let refused = |error: fedgrid_lab::Error| experiment_error(&error);
        RunFolder::check(&kept.folder, existing).map_err(refused)?;
        let cards: Vec<Card> = kept.cards.iter().map(|card| card.0.clone()).collect();
        let (experiment, own) = (self.experiment.clone(), assembly.clone());
        let (known, outcome) = (kept.fitted.known.clone(), kept.outcome.0.clone());
        let (folder, title) = (kept.folder, kept.title);
        let text = self.text();
        let saved = how.run(py, move |watch| {
            let pipeline = Pipeline { experiment: &experiment, assembly: &own };
            let others = pipeline.others(&cards, outcome.advised, watch)?;
            let write = || -> fedgrid_lab::Result<()> {
                let helps = pipeline.helps(&known);
                let heading = Heading { title: &title, date: None, experiment: &text };
                let found = Found {
                    outcome: &outcome,
                    cards: &cards,
                    fitted: &known,
                    others: &others,
                    helps: &helps,
                };
                let page = pipeline.page(&heading, &found);
                let contestants: Vec<Contestant> = std::iter::once(own.study.main())
                    .chain(others.iter().map(|other| other.contestant))
                    .collect();
                let statistics = Statistics::of(&own, experiment.public.kind, &contestants)?;
                let fits = std::iter::once(&known).chain(others.iter().map(|other| &other.fitted));
                let statistics = statistics.map(|found| found.with_starts(fits));
                let kept = KeptMethods {
                    own: &known,
                    others: &others,
                    advised: outcome.advised,
                    statistics: statistics.as_ref(),
                };
                let named = (text.as_str(), title.as_str());
                let mut run = RunFolder::open(&folder, named, own.fingerprint, existing)?;
                run.keep_all(&cards)?;
                run.finish(&own, &kept, &outcome, &page)
            };
            Ok(write())
        })?;
        saved.map_err(refused)
    }

    /// What a page knows of the nodes: their cards, as the command makes them.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a path to the method has one lifetime of pipelines, and any is asked for"
    )]
    fn page_data(&self, py: Python<'_>, parts: CardedParts<'_>, how: How) -> PyResult<String> {
        self.carded(py, &parts, &how, |pipeline, found| pipeline.page_data(found))
    }

    /// The card of the node at a place in Python's own values, as `fedgrid show` has it.
    fn node(
        &self,
        py: Python<'_>,
        parts: CardedParts<'_>,
        place: usize,
        how: How,
    ) -> PyResult<Py<PyAny>> {
        let view =
            self.carded(py, &parts, &how, move |pipeline, found| pipeline.card(found, place))?;
        plain(py, &view)
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
        let (assembly, origins) = (self.assembly(), self.origin_cards(&cards));
        // Clusters of nodes are found by asking their models, which may be Python's.
        let found = move |_: &_| {
            let pipeline = Pipeline { experiment: &experiment, assembly: &assembly };
            known.evidence = pipeline.evidence()?;
            Ok(if origins.is_empty() {
                pipeline.outcome(&cards, &known, seconds)
            } else {
                pipeline.rolled_outcome(&origins, &known, seconds)
            })
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
        // Not from folds, in which training rows take turns to validate.
        (train, all - train - test, test)
    }
}

/// A fit as models that are kept beside others.
fn kept(
    assembly: &Assembly,
    names: (Contestant, Contestant),
    fitted: &Fitted,
    pooled: Option<&KeptHandle>,
) -> KeptHandle {
    let study = &assembly.study;
    let main = study.main();
    let plain = study.contestants().into_iter().filter(|one| one.is_plain() && *one != main);
    let methods: Vec<Contestant> = std::iter::once(main).chain(plain).collect();
    let models = RunModels::of_fit(assembly, names, fitted, &methods);
    // Without a folder there is nothing else to find pooled models in.
    models.share_pooled(pooled.map(|own| &own.0));
    KeptHandle(Arc::new(models))
}

/// Whether an experiment, as JSON, that leaves it to the target takes these numbers as classes.
#[pyfunction]
pub(crate) fn takes_classes(
    experiment: &str,
    target: numpy::PyReadonlyArray1<'_, f64>,
) -> PyResult<bool> {
    let table: toml::Table = from_json(experiment)?;
    let experiment = Experiment::from_table(table, "").map_err(|error| experiment_error(&error))?;
    Ok(fedgrid_lab::assembly::takes_classes(&experiment, target.as_array().iter().copied()))
}

/// The page of an outcome, from what a run keeps.
#[pyfunction]
pub(crate) fn page(py: Python<'_>, title: &str, kept: PageParts<'_>) -> String {
    let edges = kept.network.0.edges();
    let edges: Vec<(usize, usize, f64)> =
        edges.iter().map(|edge| (edge.source, edge.target, edge.weight)).collect();
    let (outcome, edges, positions) = (&kept.outcome.0, &edges, kept.positions.as_deref());
    let (experiment, helps) = (kept.experiment.as_str(), kept.helps.0.as_slice());
    let (coefficients, data) = (&kept.coefficients.0, kept.data.as_deref());
    // A pickled run has its coefficients and its network; more only if it was reported before.
    let parts = CardParts {
        outcome,
        cards: &[],
        coefficients,
        pooled: Vec::new(),
        models: Vec::new(),
        about: None,
        neighbours: neighbours_of(outcome.nodes.len(), edges),
        rows: None,
    };
    let page = Page {
        title,
        source: None,
        date: None,
        outcome,
        cards: &parts.all(),
        importance_left_out: false,
        edges,
        positions,
        experiment,
        helps,
        coefficients,
    };
    py.detach(|| data.map_or_else(|| page.render(), |data| page.render_with(data)))
}
