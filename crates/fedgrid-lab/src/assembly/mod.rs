//! From an experiment and its files to a study: rows sorted by node, roles, network, models, public
//! points, and everything a reader should be told about them.

mod agreement;
mod check;
mod class_weights;
mod floor;
mod later_rows;
mod leakage;
mod graph;
mod grown;
mod grown_network;
mod grown_units;
mod learning;
mod methods;
mod models;
mod node_places;
mod privacy;
mod learners;
mod public;
mod read_rows;
mod rolling;
mod rows;
mod site;
mod site_check;
mod summary;
mod summary_words;
mod target;
mod time_split;
mod timed_table;
mod trained;
mod without_rows;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use agreement::NamedSummary;
pub use check::{Checked, check_table};
use fedgrid::{
    compare::{Settings, Study, Unwatched, Watch},
    data::{Dataset, Features, Plan, Task},
    model::Scales,
};
pub use graph::{Graph, NodeTable};
pub use grown::{AllRows, Frame, FurtherRows, GrownRows, GrownStudy, RereadRows};
pub use grown_network::{GrownNetwork, KnownNetwork, NodeTables};
pub use learning::{Candidate, Chosen, edges_csv, learned};
use methods::{checked_methods, settings};
pub use models::CustomModel;
pub use node_places::NodePlaces;
use public::{PointRows, PointSource};
use read_rows::used_rows;
pub use rolling::{Rolling, at_origins};
use rows::Known;
pub use rows::Rows;
use serde::{Deserialize, Serialize};
pub use site::{Common, OwnModels};
pub use site_check::check_at_site;
pub use summary::{SiteSummary, TargetSummary, WeighedRows};
pub use target::{describe_task, question_target, takes_classes};
pub use time_split::{OriginWindow, is_in_time, origin_windows, time_note, time_roles};
use timed_table::TimedTable;
pub use timed_table::{features_of_new, planned_of_new};
use trained::Trained;
pub(crate) use without_rows::NodesWithoutRows;

use crate::{
    columns::{ColumnPlan, KnownPart, Problems},
    error::{Error, Result},
    experiment::{CandidateKey, DataKeys, Experiment, FileKeys, is_standard_input},
    source::{FileFormat, Table, are_there},
};

/// What is needed to read new rows for the models of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSchema {
    /// The column that names each row's node.
    pub node: String,
    /// The column that is predicted.
    pub target: String,
    /// The columns that are predicted from.
    pub features: Vec<String>,
    /// What is predicted.
    pub task: Task,
    /// The names of the classes; none for numbers.
    pub classes: Vec<String>,
    /// How features are made of columns; nothing in runs of earlier versions, whose features are columns of numbers.
    #[serde(default)]
    pub columns: ColumnPlan,
    /// A part of the target that is known beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownPart>,
    /// The character before decimals in the rows that models were trained on, if any number told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// The least and the largest value of each feature in the training rows; nothing at the sites of a federation, and in
    /// runs of earlier versions.
    // These are cells of rows: a run keeps them beside its models, and they never go into what sites are sent.
    #[serde(skip)]
    pub ranges: Vec<(f64, f64)>,
    /// The mean of each feature over the training rows, where these are known as the ranges are.
    #[serde(skip)]
    pub means: Vec<f64>,
}

/// A study with what a report says about it.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The study.
    pub study: Study,
    /// How rows are read.
    pub about: DataSchema,
    /// The kind of each node's model.
    pub model_kinds: Vec<Arc<str>>,
    /// Where each node is drawn, if that is known.
    pub positions: Option<Vec<(f64, f64)>>,
    /// What people call each node, where columns of its table say so.
    pub labels: Option<Vec<String>>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What is special about single nodes.
    pub node_notes: Vec<Option<String>>,
    /// How the public points were chosen, in words.
    pub public: String,
    /// A hash of all input files.
    pub fingerprint: u64,
    /// A hash of the table of rows alone; none of rows that are in no file.
    pub rows_fingerprint: Option<u64>,
    /// How the network came about, where it was learned or chosen.
    pub chosen: Option<Chosen>,
    /// What was filled, left out or not known in the rows, in words.
    pub row_notes: Vec<String>,
    /// Where nodes are, where they were joined by that.
    pub places: Option<NodePlaces>,
}

/// What an experiment is about, read from files or given in memory.
#[derive(Debug, Clone)]
pub struct StudyInputs {
    /// What messages call the rows.
    pub source: String,
    /// A hash of the rows.
    pub fingerprint: u64,
    /// The network.
    pub graph: Graph,
    /// What is predicted.
    pub task: Task,
    /// The rows of every node.
    pub rows: Rows,
    /// The nodes whose models are not those of the experiment.
    pub models: Vec<CustomModel>,
    /// The public points, for the kind "file".
    pub public: Option<Features>,
    /// How rows are used.
    pub plan: Plan,
}

/// What the units of a study give away; the target of classes and counts has none.
fn describe_scales(scales: &Scales) -> String {
    // Exactly one is the unit of classes and counts, whose labels are not scaled.
    let has_unit = scales.target().to_bits() != 1.0_f64.to_bits();
    let target = if has_unit { ", and the target by its deviation" } else { "" };
    format!(
        "Features are scaled by their means and deviations over the training rows of all nodes{target}, which are \
         shared statistics."
    )
}

/// Where the files of an experiment are and how they are read.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    base: &'a Path,
    experiment: &'a Experiment,
}

impl<'a> Files<'a> {
    /// The files of an experiment, below a folder.
    #[must_use]
    pub fn new(base: &'a Path, experiment: &'a Experiment) -> Self {
        Self { base, experiment }
    }

    /// The table of rows.
    pub fn rows(self) -> Result<Table> {
        let keys = &self.experiment.data;
        Table::from_files(self.base, &keys.file, &keys.into())
    }

    /// Whether the table of rows is here.
    #[must_use]
    pub fn has_rows(self) -> bool {
        let files = &self.experiment.data.file;
        !files.is_empty() && are_there(self.base, files)
    }

    /// The table with one row per node, if there is one.
    pub fn nodes(self) -> Result<Option<Table>> {
        let keys = &self.experiment.network;
        self.beside(keys.file.as_ref(), (&keys.format, "network.format."))
    }

    /// The table of edges, if there is one.
    pub fn edges(self) -> Result<Option<Table>> {
        let keys = &self.experiment.network;
        self.beside(keys.edges.as_ref(), (&keys.edges_format, "network.edges_format."))
    }

    /// The table of public points, if there is one.
    pub fn points(self) -> Result<Option<Table>> {
        let keys = &self.experiment.public;
        self.beside(keys.file.as_ref(), (&keys.format, "public.format."))
    }

    fn beside(
        self,
        file: Option<&PathBuf>,
        (keys, place): (&FileKeys, &'static str),
    ) -> Result<Option<Table>> {
        let format = FileFormat::new(keys, place, &self.experiment.data);
        let path = |file: &PathBuf| {
            if is_standard_input(file) { file.clone() } else { self.base.join(file) }
        };
        file.map(|file| Table::from_file(&path(file), format)).transpose()
    }
}

impl Assembly {
    /// Reads the files of an experiment, relative to a folder, and puts everything together.
    pub fn new(experiment: &Experiment, base: &Path) -> Result<Self> {
        Self::watched(experiment, base, &Unwatched)
    }

    /// The same under the eyes of someone: to learn or choose a network takes its time. Of rolling origins, this is the
    /// last.
    pub fn watched(experiment: &Experiment, base: &Path, watch: &dyn Watch) -> Result<Self> {
        let rolling = Rolling::new(experiment, base)?;
        // Without rolling origins there is one experiment, so that there is always a last.
        rolling.assembly(rolling.count() - 1, watch)
    }

    /// The same of a table that was read, at one origin.
    fn of_table(
        experiment: &Experiment,
        files: Files,
        table: &TimedTable,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let graph = Graph::new(experiment, files, Some(table))?;
        let task = target::task(experiment, table, &used_rows(&experiment.data, table))?;
        let classes = experiment.data.classes.as_deref().map(target::class_names);
        let known = Known { classes: classes.as_deref(), ..Known::default() };
        let mut rows = Rows::new(experiment, table, &graph, (task, known))?;
        rows.notes.splice(0..0, table.described.iter().chain(&graph.described).cloned());
        rows.notes.extend(describe_task(experiment, task));
        // A model that nobody has named is another one for classes, so the task comes before the models.
        let experiment = &experiment.settled(task);
        let (source, fingerprint, decimal) =
            (table.source.clone(), table.fingerprint, table.decimal);
        let rows_fingerprint = Some(fingerprint);
        let plan = rows.plan(experiment, &graph);
        let (ranges, means) = (ranges(&rows.data, &plan), means(&rows.data, &plan));
        let places = NodePlaces::new(experiment, &graph)?;
        let (models, public) = (Vec::new(), None);
        let parts = StudyInputs { source, fingerprint, graph, task, rows, models, public, plan };
        let mut assembly = Self::from_parts(experiment, files, parts, watch)?;
        // Rows in memory are not written, so that only a table can tell it.
        assembly.about.decimal = decimal;
        assembly.rows_fingerprint = rows_fingerprint;
        (assembly.about.ranges, assembly.about.means) = (ranges, means);
        let chosen = assembly.chosen.as_ref().map(|chosen| chosen.key);
        let is_by_places = chosen.is_none_or(|key| key == CandidateKey::Coordinates);
        assembly.places = places.filter(|_| is_by_places);
        Ok(assembly)
    }

    /// Puts an experiment together whose rows and network are in memory; its files are not read.
    pub fn from_memory(experiment: &Experiment, parts: StudyInputs) -> Result<Self> {
        let experiment = &experiment.settled(parts.task);
        let files = Files::new(Path::new(""), experiment);
        let (rows, plan) = (&parts.rows.data, &parts.plan);
        let (ranges, means) = (ranges(rows, plan), means(rows, plan));
        let mut assembly = Self::from_parts(experiment, files, parts, &Unwatched)?;
        (assembly.about.ranges, assembly.about.means) = (ranges, means);
        Ok(assembly)
    }

    fn from_parts(
        experiment: &Experiment,
        files: Files,
        parts: StudyInputs,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let StudyInputs { source, fingerprint, mut graph, task, mut rows, .. } = parts;
        let StudyInputs { models: own, public, plan, .. } = parts;
        check_training(experiment, &source, &plan)?;
        // Refusals come before anything is computed: a typo must not cost a minute of learning a network.
        let models = models::models(experiment, &graph, task)?.with(own);
        let about = DataSchema::new(experiment, (task, rows.classes.clone()), rows.columns.clone());
        check_parts(experiment, (&graph, &models), &about, &rows)?;
        let privacy = privacy::privacy(experiment, (&models, graph.network.names()), &about)?;
        learners::check(experiment, &graph, &plan)?;
        let mut notes = rows.describe_columns(&experiment.data);
        let names = graph.network.names();
        let of_names = (names, &models.models[..]);
        let Trained { class_weights, counts, scales } =
            Trained::new(experiment, &mut rows, &plan, of_names, &mut notes)?;
        let training = &plan.training_features(&rows.data)?;
        let check = |kind: &str| models.check_weights(kind, names, training.columns(), task);
        let methods = checked_methods(experiment, (&models, check), &mut notes)?;
        // Public points are made of no row that is private.
        let corners = privacy::corners(experiment, training.names())?;
        let known = PointRows::Rows(corners.as_ref().unwrap_or(training), counts.as_deref());
        let source = PointSource { training: known, about: &about, scales: scales.as_ref() };
        let public = public::Public::new(experiment, files, &source, (names, public))?;
        rows.notes.extend(public.described.iter().cloned());
        notes.extend(public.described.iter().cloned());
        notes.extend(scales.as_ref().filter(|_| privacy.is_none()).map(describe_scales));
        notes.extend(privacy::notes(experiment)?);
        // Weights are compared without them; only the rival that is shrunk needs public points.
        if !experiment.method.approach.facts().needs_weights || experiment.compare.enabled {
            notes.extend(public.note.clone().filter(|_| corners.is_none()));
        }
        let mut study = Study {
            network: graph.network.clone(),
            rows: std::mem::take(&mut rows.data),
            models: models.models,
            public: public.points,
            plan,
            scales,
            settings: Settings { class_weights, privacy, ..settings(experiment, &graph, methods) },
        };
        // Before candidates are compared: nodes that only answer have no say in the choice of a network.
        learners::score_targets(&mut study)?;
        // Candidates are judged by validation errors, so they need the whole study, and it the one that wins.
        let chosen = learning::settle(experiment, files, &mut study, watch)?;
        graph.network = study.network.clone();
        notes.extend(chosen.as_ref().map(Chosen::note));
        let mut node_notes = describe_rows(&mut study, &mut rows, &graph, training, &mut notes);
        // Rotated, so that two equal files do not cancel each other.
        let fingerprint =
            fingerprint ^ graph.fingerprint.rotate_left(1) ^ public.fingerprint.rotate_left(2);
        describe_reach(&study, &mut notes);
        learners::describe(&study, &mut node_notes, &mut notes);
        Ok(Self {
            about,
            study,
            model_kinds: models.kinds,
            positions: graph.positions,
            labels: graph.labels,
            notes,
            node_notes,
            public: public.words,
            fingerprint,
            rows_fingerprint: None,
            chosen,
            row_notes: rows.notes,
            places: None,
        })
    }
}

/// Refuses methods, metrics and known parts that the models or rows of an experiment cannot have.
fn check_parts(
    experiment: &Experiment,
    (graph, models): (&Graph, &models::Models),
    about: &DataSchema,
    rows: &Rows,
) -> Result<()> {
    let (names, task) = (graph.network.names(), about.task);
    models.check_method(&experiment.method, (names, &about.features), task)?;
    target::check_metric(experiment, task, &rows.data)?;
    models.check_known(about.known.as_ref(), names)
}

impl DataSchema {
    /// How features are made of columns, also in a run that was stored before there were plans.
    #[must_use]
    pub fn column_plan(&self) -> Cow<'_, ColumnPlan> {
        if self.columns.columns.is_empty() {
            Cow::Owned(ColumnPlan::of_numbers(&self.features))
        } else {
            Cow::Borrowed(&self.columns)
        }
    }

    /// How files of new rows are read: what they leave open is as in training.
    #[must_use]
    pub fn file_format(&self, keys: FileKeys, place: &'static str) -> FileFormat {
        FileFormat {
            keys,
            place,
            usual_decimal: self.decimal,
            missing_values: self.columns.missing_values.clone().into(),
            may_be_empty: true,
        }
    }

    /// How the rows of an experiment are read, by what is predicted and by its column plan.
    fn new(
        experiment: &Experiment,
        (task, classes): (Task, Vec<String>),
        columns: ColumnPlan,
    ) -> Self {
        let DataKeys { node, target, .. } = experiment.data.clone();
        let (features, known) = (columns.feature_names(), KnownPart::of(experiment));
        let (decimal, ranges, means) = (None, Vec::new(), Vec::new());
        Self { node, target, features, task, classes, columns, known, decimal, ranges, means }
    }

    /// Each column of the table with the places of the features that are made of it.
    #[must_use]
    pub fn columns_of_features(&self) -> Vec<(String, Vec<usize>)> {
        let (plan, features) = (self.column_plan(), &self.features);
        let place = |name: &String| features.iter().position(|own| own == name);
        let group = |(name, _): (&str, _)| {
            (name.to_string(), plan.names_of(name).iter().filter_map(place).collect())
        };
        plan.features().map(group).collect()
    }
}

/// The mean of each feature over the training rows, a row of a count as so many.
fn means(rows: &[Dataset], plan: &Plan) -> Vec<f64> {
    let columns = rows.first().map_or(0, |data| data.features().columns());
    let (mut sums, mut total) = (vec![0.0; columns], 0.0);
    for (data, rows) in rows.iter().zip(&plan.train) {
        for &row in rows {
            let count = data.count(row);
            total += count;
            let values = data.features().row(row);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += count * value);
        }
    }
    if total > 0.0 { sums.iter().map(|sum| sum / total).collect() } else { Vec::new() }
}

/// The least and the largest value of each feature, over those of some rows and of others.
pub(crate) fn joined_ranges(own: &mut [(f64, f64)], more: &[Dataset]) {
    let rows = more.iter().map(|data| (0..data.rows()).collect()).collect();
    let plan = Plan { folds: Vec::new(), train: rows, test: Vec::new() };
    for (own, more) in own.iter_mut().zip(ranges(more, &plan)) {
        *own = (own.0.min(more.0), own.1.max(more.1));
    }
}

/// The least and the largest value of each feature in the training rows.
fn ranges(rows: &[Dataset], plan: &Plan) -> Vec<(f64, f64)> {
    let columns = rows.first().map_or(0, |data| data.features().columns());
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); columns];
    for (data, rows) in rows.iter().zip(&plan.train) {
        for &row in rows {
            for (range, value) in ranges.iter_mut().zip(data.features().row(row)) {
                *range = (range.0.min(*value), range.1.max(*value));
            }
        }
    }
    // Without a training row there is no range, and infinity cannot be stored.
    ranges.retain(|(least, most)| least <= most);
    ranges
}

/// What is unusual about rows and nodes, in words: for each node, and for all.
fn describe_rows(
    study: &mut Study,
    rows: &mut Rows,
    graph: &Graph,
    training: &Features,
    notes: &mut Vec<String>,
) -> Vec<Option<String>> {
    // Rows may be gigabytes: they are lent for the description, not copied.
    std::mem::swap(&mut rows.data, &mut study.rows);
    let needs_network = study.settings.method.facts().uses_network;
    let node_notes = rows.describe((&study.plan, needs_network), graph, training, notes);
    std::mem::swap(&mut rows.data, &mut study.rows);
    node_notes
}

/// Refuses a plan by which nothing is learnt.
fn check_training(experiment: &Experiment, source: &str, plan: &Plan) -> Result<()> {
    if plan.train.iter().any(|rows| !rows.is_empty()) {
        return Ok(());
    }
    let found = match (experiment.data.split_column(), &experiment.data.split) {
        (Some(column), _) => {
            format!("column '{column}' has no row for training, expected some 'train'")
        }
        (None, Some(_)) => {
            "no row is before the first cut of data.split, expected a later one".into()
        }
        (None, None) => "data.train is 0, expected a larger share".to_string(),
    };
    Err(Error::input(format!("{source}: {found}")))
}

/// Names the nodes without rows, and where their models come from.
fn describe_reach(study: &Study, notes: &mut Vec<String>) {
    // A hub is one more neighbour of every node, so that no part of a network is out of its reach.
    let unreached =
        if study.settings.method.facts().hub == 0.0 { study.without_data() } else { Vec::new() };
    let is_empty = |node: &usize| study.plan.train[*node].is_empty() && !unreached.contains(node);
    let empty: Vec<usize> = (0..study.network.len()).filter(is_empty).collect();
    let names = |nodes: &[usize]| -> Vec<&str> {
        nodes.iter().map(|&node| study.network.names()[node].as_str()).collect()
    };
    if !empty.is_empty() {
        let who = listed(names(&empty).into_iter(), "has", "have");
        notes.push(format!("{who} no training row; what is learnt there comes from neighbours."));
    }
    if !unreached.is_empty() {
        let who = listed(names(&unreached).into_iter(), "is", "are");
        notes.push(format!(
            "{who} in a part of the network without any training row; what all nodes have in common is used there."
        ));
    }
}

/// Some names with a verb: `'a' and 'b' are`, or `12 nodes ('a', 'b', 'c', …) are`.
pub fn listed<'a>(
    names: impl ExactSizeIterator<Item = &'a str>,
    singular: &str,
    plural: &str,
) -> String {
    let count = names.len();
    let shown: Vec<String> = names.take(3).map(|name| format!("'{name}'")).collect();
    match count {
        1 => format!("Node {} {singular}", shown[0]),
        2 | 3 => format!("Nodes {} {plural}", shown.join(", ")),
        _ => format!("{count} nodes ({}, …) {plural}", shown.join(", ")),
    }
}

/// The features of new rows, for the models of a run, and what a reader should know of them.
pub fn features_of(table: &Table, about: &DataSchema) -> Result<(Features, Vec<String>)> {
    let all: Vec<usize> = (0..table.rows()).collect();
    let plan = about.column_plan();
    let made = plan.apply(table)?;
    Ok((made.rows(&all)?, made.notes()))
}

/// What is known of the targets of new rows, as it enters their predictions; none if nothing is.
pub fn known_of(table: &Table, about: &DataSchema) -> Result<Option<Vec<f64>>> {
    let Some(part) = &about.known else { return Ok(None) };
    let column = table.column(&part.column).map_err(|error| {
        Error::input(format!("{error} (the {} of the run, which predictions need)", part.role()))
    })?;
    let mut problems = Problems::of_new_rows(table);
    let numbers = part.read(column, &vec![true; table.rows()], &mut problems);
    problems.into_result()?;
    Ok(Some(numbers))
}

/// Makes the paths of an experiment lead from another folder to its files, so that whoever is there can read them.
pub fn move_files(experiment: &mut Experiment, from: &Path, to: &Path) {
    let moved = |path: &mut PathBuf| {
        if !is_standard_input(path) {
            *path = relative_path(&from.join(&*path), to);
        }
    };
    experiment.data.file.names_mut().iter_mut().for_each(moved);
    experiment.network.file.iter_mut().for_each(moved);
    experiment.network.edges.iter_mut().for_each(moved);
    experiment.public.file.iter_mut().for_each(moved);
}

/// A path to `target` as seen from the folder `from`, so that a run folder can be moved along with
/// its data and names no place on this machine.
#[must_use]
pub fn relative_path(target: &Path, from: &Path) -> PathBuf {
    // By names alone: `canonicalize` fails for a folder that is yet to be made.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let clean = |path: PathBuf| {
        path.components().fold(PathBuf::new(), |mut clean, part| {
            if part == std::path::Component::ParentDir {
                clean.pop();
            } else {
                clean.push(part);
            }
            clean
        })
    };
    let (target, from) = (clean(absolute(target)), clean(absolute(from)));
    let common = target.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| std::path::Component::ParentDir);
    up.chain(target.components().skip(common)).collect()
}
