//! Further rows and nodes for a run, from where it stands: its strengths and its column plan stay, and its models become those
//! of all rows,
//!
//! ```text
//! update(fit(A), B)  =  fit(A + B) with the strengths and the column plan of fit(A)
//! ```
//!
//! Units and public points are those of A + B.
//!
//! Where all kept methods are solved in one place and all models are linear, the statistics of A are as good as its rows,
//! which are then not read. Otherwise they are read again from where the experiment says. No method is compared: errors and
//! verdict stay those of the run, and are said to be.

mod growth;
mod kept_intervals;
mod steps;
mod written;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use fedgrid::{
    compare::{Card, Contestant, Fitted, KeptEstimates, Strength, Watch},
    uncertainty::Residuals,
};

pub use self::{
    growth::Repeated,
    steps::{AddedFiles, AddedTables},
};
use self::{
    growth::{Added, Growth},
    kept_intervals::{carried, is_refreshed},
    steps::Steps,
};
use crate::{
    assembly::{Assembly, NodePlaces},
    error::{Error, Result},
    experiment::Experiment,
    outcome::{Outcome, UpdateOutcome, UpdatedBy},
    pipeline::KeptFit,
    run::{RunFolder, RunModels},
    show::{cards, from_json, stored_experiment},
    source::{Table, moment::written_day},
    statistics::Statistics,
    summary,
};

/// What is asked of an update.
#[derive(Debug, Clone)]
pub struct Update<'a> {
    /// The folder of the run.
    pub run: PathBuf,
    /// What becomes of rows that the run knows.
    pub repeated: Repeated,
    /// Whether strengths are chosen again.
    pub tune: bool,
    /// Whether all methods that the run keeps are updated, also those that nothing is predicted by unless it is asked for.
    pub all_methods: bool,
    /// The study of the run, whose rows are in no file; none if its experiment says where they are.
    pub study: Option<&'a Assembly>,
}

/// A run as it is found.
#[derive(Debug)]
struct Previous {
    folder: PathBuf,
    title: String,
    outcome: Outcome,
    cards: Vec<Card>,
    models: RunModels,
    steps: Steps,
}

/// A run that was updated, and is not yet written.
#[derive(Debug)]
pub struct UpdatedRun {
    /// The study of all rows.
    pub assembly: Assembly,
    /// What the run's own method has left.
    pub fitted: Fitted,
    /// Other methods that are kept.
    pub others: Vec<KeptFit>,
    /// What came of it.
    pub outcome: Outcome,
    /// The errors of the run before, and strengths.
    cards: Vec<Card>,
    statistics: Option<Statistics>,
    steps: Steps,
    added: Added,
    previous: Previous,
    fingerprint: u64,
}

impl Update<'_> {
    /// Reads the run and the files that are added, whose paths are as they are given, and trains the models of all rows.
    pub fn with_files(&self, files: &AddedFiles, watch: &dyn Watch) -> Result<UpdatedRun> {
        let previous = Previous::read(&self.run)?;
        let tables = files.tables(Path::new(""), &previous.models.about)?;
        self.trained(previous, tables, watch)
    }

    /// Reads the run, and trains the models of its rows and of those in some tables.
    pub fn with_tables(&self, tables: AddedTables, watch: &dyn Watch) -> Result<UpdatedRun> {
        self.trained(Previous::read(&self.run)?, tables, watch)
    }

    fn trained(
        &self,
        previous: Previous,
        tables: AddedTables,
        watch: &dyn Watch,
    ) -> Result<UpdatedRun> {
        let (fingerprint, by_statistics) = (tables.data.fingerprint, self.statistics(&previous)?);
        let by = if by_statistics.is_some() { UpdatedBy::Statistics } else { UpdatedBy::Rows };
        let experiment = previous.steps.experiment.clone();
        check_privacy(&experiment)?;
        let history = previous.checked_history(&tables)?;
        let mut growth = match (&by_statistics, self.study) {
            (Some(statistics), _) => {
                previous.by_statistics(statistics, previous.before(history)?)?
            }
            (None, Some(study)) => Growth::of_study(&experiment, study, previous.before(history)?)?,
            (None, None) => previous.by_rows((self.tune, history.is_some()))?,
        };
        growth.add(&experiment, tables, self.repeated)?;
        let mut assembly = growth.assembly((&experiment, &previous.steps.folder))?;
        if let Some(statistics) = &by_statistics {
            assembly.study.settings.kept = KeptEstimates::starting_from(&statistics.starts);
        }
        assembly.study.choose(&previous.cards);
        let names = assembly.study.network.names();
        let mut cards = previous.cards_of(names);
        let methods = previous.methods(self.all_methods);
        if self.tune {
            tune(&assembly, &methods, &mut cards, watch)?;
        }
        let mut fits = fits(&assembly, &methods, &cards, watch)?;
        let is_refreshed = by == UpdatedBy::Rows && is_refreshed(&assembly);
        for fit in &mut fits {
            fit.fitted.unseen = previous.unseen(fit, &assembly, is_refreshed)?;
        }
        let (fitted, others) = (fits.remove(0).fitted, fits);
        let statistics = statistics(&growth, (&experiment, &assembly), (&fitted, &others))?;
        let earlier = by_statistics.map_or_else(Vec::new, |own| own.starts);
        let statistics = statistics.map(|found| found.with_earlier_starts(&earlier));
        let counts = growth.row_counts(&assembly);
        let added = growth.added;
        let about = UpdateOutcome {
            by,
            tuned: self.tune,
            calibrated: is_refreshed,
            ..previous.described(&added)
        };
        let mut notes = notes(&about, &added, &counts, names);
        notes.extend(previous.left_out(&methods));
        let told = (about, notes);
        let outcome =
            summary::updated(&previous.outcome, &assembly, (&cards, &fitted), told, &counts);
        let steps = previous.steps.clone();
        Ok(UpdatedRun {
            assembly,
            fitted,
            others,
            outcome,
            cards,
            statistics,
            steps,
            added,
            previous,
            fingerprint,
        })
    }

    /// The statistics that stand for the rows of the run; none if these must be read again.
    fn statistics(&self, previous: &Previous) -> Result<Option<Statistics>> {
        // To choose strengths takes validation rows, of which nothing is kept.
        if self.tune { Ok(None) } else { Statistics::from_folder(&previous.folder) }
    }
}

impl Previous {
    fn read(folder: &Path) -> Result<Self> {
        let models = RunModels::unread(folder)?;
        let outcome: Outcome = from_json(&folder.join("result.json"))?;
        if outcome.at_site.is_some() || !folder.join("experiment.toml").exists() {
            return Err(Error::input(format!(
                "'{}' is the run of a site, which others have a part in; join the federation again with all rows",
                folder.display()
            )));
        }
        let title = RunFolder::title(folder).unwrap_or_else(|| {
            folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
        });
        let (cards, steps) = (cards(&folder.join("metrics.jsonl"))?, Steps::from_folder(folder)?);
        Ok(Self { folder: folder.to_path_buf(), title, outcome, cards, models, steps })
    }

    /// The rows of the time before that were given; refused where nothing looks back at them.
    fn checked_history<'a>(&self, tables: &'a AddedTables) -> Result<Option<&'a Table>> {
        match &tables.history {
            Some(_) if self.models.about.columns.lags.is_none() => {
                Err(Error::input("--history is for runs with lags, and this run has none"))
            }
            history => Ok(history.as_ref()),
        }
    }

    /// The tables in which earlier values of further rows are looked for: what was given, or the files of the run.
    fn before(&self, history: Option<&Table>) -> Result<Vec<Table>> {
        let about = &self.models.about;
        match history {
            _ if about.columns.lags.is_none() => Ok(Vec::new()),
            Some(history) => Ok(vec![history.clone()]),
            None => self.steps.rows(about).map_err(|error| match error {
                Error::Input(sentence) => Error::input(format!(
                    "{sentence} (the run has lags, which look back at its rows; give these with --history)"
                )),
                other => other,
            }),
        }
    }

    fn by_statistics(&self, statistics: &Statistics, before: Vec<Table>) -> Result<Growth> {
        let places = self.places()?;
        // As the run has it: updates may have given edges to nodes that a shape had joined.
        let (experiment, _) = stored_experiment(&self.folder)?;
        let about = self.models.about.clone();
        Growth::of_statistics(statistics, about, (places, &experiment), before)
    }

    /// From the rows of the run; `has_history` says whether rows of the time before were given, which are there then.
    fn by_rows(&self, (tune, has_history): (bool, bool)) -> Result<Growth> {
        let mut growth = Growth::of_rows(&self.steps).map_err(|error| match error {
            Error::Input(sentence) => {
                let why = if tune {
                    "strengths are chosen on validation rows"
                } else {
                    "the run keeps no statistics that would do for its methods and models"
                };
                let folder = self.folder.display();
                Error::input(format!(
                    "{sentence} (the rows of '{folder}' are read again, because {why})"
                ))
            }
            other => other,
        })?;
        if has_history {
            growth.added.notes.push(
                "What was given as the rows of the time before was not looked at, because these were read again."
                    .into(),
            );
        }
        Ok(growth)
    }

    /// What is known of an update before it is done.
    fn described(&self, added: &Added) -> UpdateOutcome {
        UpdateOutcome {
            of: self.title.clone(),
            fitted: written_day(&self.folder.join("result.json")),
            rows_before: self.outcome.nodes.iter().map(|node| node.rows).sum(),
            rows_added: added.rows,
            rows_known: added.known_rows,
            new_nodes: added.nodes.clone(),
            by: UpdatedBy::Rows,
            tuned: false,
            calibrated: false,
        }
    }

    /// The methods that are updated, the run's own first: those that predict, and the pooled models, which nodes have that
    /// are not known; or all that the run keeps.
    fn methods(&self, all: bool) -> Vec<String> {
        let RunModels { methods, advised, .. } = &self.models;
        let pooled = Contestant::Pooled.to_string();
        let predicts =
            |(at, name): &(usize, &String)| all || *at == 0 || *name == advised || **name == pooled;
        methods.iter().enumerate().filter(predicts).map(|(_, name)| name.clone()).collect()
    }

    /// The residuals on rows that the models of a method have not seen: of these models, or of those of the run.
    fn unseen(
        &self,
        fit: &KeptFit,
        assembly: &Assembly,
        is_refreshed: bool,
    ) -> Result<Option<Residuals>> {
        if is_refreshed {
            Ok(assembly.study.residuals(&fit.fitted, None)?)
        } else {
            carried(&self.models, &fit.contestant.to_string(), assembly)
        }
    }

    /// Which methods are no longer kept, in words.
    fn left_out(&self, kept: &[String]) -> Option<String> {
        let others = self.models.methods.iter().filter(|name| !kept.contains(name));
        let others: Vec<&str> = others.map(String::as_str).collect();
        (!others.is_empty()).then(|| {
            format!(
                "Models of {} were updated, and those of {} are not kept; --all-methods updates them, too.",
                kept.join(", "),
                others.join(", ")
            )
        })
    }

    fn places(&self) -> Result<Option<NodePlaces>> {
        let has_places = self.folder.join("models/places.json").exists();
        has_places.then(|| self.models.places().map(|places| (*places).clone())).transpose()
    }

    /// The cards with the nodes of a larger network, in its order; new ones were not scored.
    fn cards_of(&self, names: &[String]) -> Vec<Card> {
        let old = self.outcome.nodes.iter().enumerate();
        let old: BTreeMap<&str, usize> = old.map(|(at, node)| (node.name.as_str(), at)).collect();
        let places: Vec<Option<usize>> =
            names.iter().map(|name| old.get(name.as_str()).copied()).collect();
        let moved = |card: &Card| {
            let mut card = card.clone();
            let nodes = places.iter().map(|place| place.and_then(|at| card.nodes.get(at)).copied());
            card.nodes = nodes.map(Option::unwrap_or_default).collect();
            // What pairs of rows say is for a verdict, and there is none of an update.
            card.evidence.clear();
            card
        };
        self.cards.iter().map(moved).collect()
    }
}

/// The card of a method that a run keeps, by its name.
fn card_of<'a>(cards: &'a [Card], name: &str) -> Result<&'a Card> {
    let named = cards.iter().find(|card| card.contestant.to_string() == name);
    named.ok_or_else(|| {
        Error::input(format!("the run does not say how strong '{name}' is; fit it again"))
    })
}

/// The statistics of all rows, where they do for the methods that are kept.
fn statistics(
    growth: &Growth,
    (experiment, assembly): (&Experiment, &Assembly),
    (own, others): (&Fitted, &[KeptFit]),
) -> Result<Option<Statistics>> {
    let fits = std::iter::once(own).chain(others.iter().map(|other| &other.fitted));
    if let Some(found) = growth.statistics(assembly) {
        return Ok(Some(found.with_starts(fits)));
    }
    let kept: Vec<Contestant> = std::iter::once(assembly.study.main())
        .chain(others.iter().map(|other| other.contestant))
        .collect();
    let found = Statistics::of(assembly, experiment.public.kind, &kept)?;
    Ok(found.map(|found| found.with_starts(fits)))
}

/// Fits the methods that a run keeps at their strengths; the run's own is the first.
fn fits(
    assembly: &Assembly,
    methods: &[String],
    cards: &[Card],
    watch: &dyn Watch,
) -> Result<Vec<KeptFit>> {
    let asked = methods.iter().map(|name| card_of(cards, name));
    let asked = asked.map(|card| card.map(|card| (card.contestant, card.strength)));
    let asked = asked.collect::<Result<Vec<_>>>()?;
    let fits = assembly.fit_several(&asked, watch)?.into_iter().zip(asked);
    Ok(fits.map(|(fitted, (contestant, _))| KeptFit { contestant, fitted }).collect())
}

/// Chooses the strengths of the methods that a run keeps again; their errors stay those of the run.
fn tune(
    assembly: &Assembly,
    methods: &[String],
    cards: &mut [Card],
    watch: &dyn Watch,
) -> Result<()> {
    for name in methods {
        let contestant = card_of(cards, name)?.contestant;
        let strength: Strength = assembly.study.tune(contestant, watch)?.strength;
        for card in cards.iter_mut().filter(|card| card.contestant == contestant) {
            card.strength = strength;
        }
    }
    Ok(())
}

/// What a reader should know of an update.
fn notes(about: &UpdateOutcome, added: &Added, counts: &[usize], names: &[String]) -> Vec<String> {
    let rows = match about.by {
        UpdatedBy::Statistics => {
            "The statistics of the run stood for the rows before, which were not read again."
        }
        _ => "The rows before were read again from where the experiment says.",
    };
    let strengths = if about.tuned {
        "Strengths were chosen again on the validation rows of the run."
    } else {
        "Strengths are those of the run."
    };
    let intervals = if about.calibrated {
        "Intervals are calibrated by the errors of the updated models on the validation rows of the run."
    } else {
        "Intervals are as wide as the errors of the models before the update made them."
    };
    let mut notes: Vec<String> = [rows, strengths, intervals].map(String::from).to_vec();
    let is_empty = |name: &&String| {
        let place = names.iter().position(|known| known == *name);
        place.is_some_and(|place| counts[place] == 0)
    };
    let empty: Vec<&str> = added.nodes.iter().filter(is_empty).map(String::as_str).collect();
    if !empty.is_empty() {
        let who = crate::assembly::listed(empty.into_iter(), "has", "have");
        notes.push(format!("{who} joined without a row; what is learnt there comes from others."));
    }
    notes.extend(added.notes.iter().cloned());
    notes
}

/// Refuses an update of a run whose rows were released.
fn check_privacy(experiment: &Experiment) -> Result<()> {
    if experiment.privacy.is_none() {
        return Ok(());
    }
    Err(Error::input(
        "the run has a section [privacy], and an update would release its rows again; fit all rows at once",
    ))
}
