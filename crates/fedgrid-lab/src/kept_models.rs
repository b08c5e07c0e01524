//! The models that a run keeps, as files and as read from them.
//!
//! ```text
//! models/about.json                how rows are read, which methods are kept, which one the verdict advises
//! models/nodes.jsonl               the models of the run's own method, one per line
//! models/METHOD.jsonl              those of another; nodes that have one model share a line
//! models/places.json               where nodes are, if they were joined by that
//! statistics.json                  what is kept of training rows for an update, where models are linear
//! uncertainty.json                 what intervals of the run's own method are made of
//! models/METHOD.uncertainty.json   of another
//! ```

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use fedgrid::{
    compare::{Contestant, Fitted, MethodKind},
    data::Task,
    model::{Hypothesis, HypothesisKinds, Stored},
    uncertainty::{CalibrationRows, Intervals, Residuals},
};
use serde::{Deserialize, Serialize};

use crate::{
    assembly::{Assembly, DataSchema, NodePlaces, NodesWithoutRows},
    error::{Error, Result},
    outcome::Outcome,
    pipeline::KeptFit,
    statistics::{STATISTICS_FILE, Statistics},
    wording::in_plain_words,
};

/// The version of the files of a run; a change of their form raises it.
pub(crate) const FORMAT_VERSION: u32 = 3;
/// The oldest version that can still be read: such runs keep the models of one method.
const OLDEST_FORMAT: u32 = 2;

/// Where nodes are, if they were joined by that.
const PLACES_FILE: &str = "models/places.json";

/// The methods that a run keeps.
#[derive(Debug, Clone, Copy)]
pub struct KeptMethods<'a> {
    /// What the run's own method has left.
    pub own: &'a Fitted,
    /// Others.
    pub others: &'a [KeptFit],
    /// The method that predicts unless another is asked for; none if it is the run's own.
    pub advised: Option<Contestant>,
    /// What is kept of training rows for an update; none where an update takes the rows.
    pub statistics: Option<&'a Statistics>,
}

impl<'a> KeptMethods<'a> {
    /// The run's own method and no other.
    #[must_use]
    pub fn only(own: &'a Fitted) -> Self {
        Self { own, others: &[], advised: None, statistics: None }
    }

    /// The names and texts of all files.
    pub(crate) fn files(&self, assembly: &Assembly) -> Result<Vec<(String, String)>> {
        let main = assembly.study.main();
        let all = || {
            let others = self.others.iter().map(|kept| (kept.contestant, &kept.fitted));
            std::iter::once((main, self.own)).chain(others)
        };
        let mut common = BTreeMap::new();
        for (contestant, fitted) in all() {
            if let Some(own) = &fitted.common {
                let model = &assembly.study.for_table(std::slice::from_ref(own))[0];
                common.insert(contestant.to_string(), stored("of all", model.as_ref())?);
            }
        }
        let is_plain = all().any(|(contestant, _)| contestant.is_plain());
        let without_rows = if is_plain { assembly.nodes_without_rows() } else { BTreeMap::new() };
        let about = AboutFile {
            common,
            without_rows,
            format: FORMAT_VERSION,
            methods: all().map(|(contestant, _)| contestant.to_string()).collect(),
            advised: self.advised.unwrap_or(main).to_string(),
            ranges: assembly.about.ranges.clone(),
            means: assembly.about.means.clone(),
            about: assembly.about.clone(),
        };
        let mut files = vec![("models/about.json".into(), to_json_pretty(&about) + "\n")];
        if let Some(places) = &assembly.places {
            files.push((PLACES_FILE.into(), to_json(places) + "\n"));
        }
        if let Some(statistics) = self.statistics {
            files.push((STATISTICS_FILE.into(), to_json(statistics) + "\n"));
        }
        for (place, (_, fitted)) in all().enumerate() {
            let names = FileNames::new(&about.methods, place);
            let lines = match place {
                0 => single_lines(assembly, fitted),
                _ => shared_lines(assembly, fitted)?,
            };
            files.push((names.models, lines));
            if let Some(intervals) = assembly.study.intervals(fitted) {
                let (format, nodes) = (FORMAT_VERSION, assembly.study.network.names().to_vec());
                let file = UncertaintyFile { format, nodes, intervals };
                files.push((names.uncertainty, to_json(&file) + "\n"));
            }
        }
        Ok(files)
    }
}

/// The files of one of the methods that are kept, below the folder of the run.
struct FileNames {
    models: String,
    uncertainty: String,
}

impl FileNames {
    /// Of the method at this place; the first is the run's own.
    fn new(methods: &[String], place: usize) -> Self {
        let (mut models, mut uncertainty) =
            ("models/nodes.jsonl".into(), "uncertainty.json".into());
        if place > 0 {
            let name = &methods[place];
            models = format!("models/{name}.jsonl");
            uncertainty = format!("models/{name}.uncertainty.json");
        }
        Self { models, uncertainty }
    }
}

/// A line for each node.
fn single_lines(assembly: &Assembly, fitted: &Fitted) -> String {
    let names = assembly.study.network.names();
    // Whoever reads weights, or predicts, has rows in the units of the table.
    let hypotheses = assembly.study.for_table(&fitted.hypotheses);
    let mut lines = String::new();
    for (name, hypothesis) in names.iter().zip(&hypotheses) {
        // A model from Python is kept by Python, in a file of its own beside this one.
        let Some(model) = hypothesis.save() else { continue };
        let line = ModelLine { node: Some(name.clone()), nodes: Vec::new(), model };
        lines.push_str(&(to_json(&line) + "\n"));
    }
    lines
}

/// A line for each model, with the nodes that have it: one model of all may be large.
fn shared_lines(assembly: &Assembly, fitted: &Fitted) -> Result<String> {
    let names = assembly.study.network.names();
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let mut groups: Vec<(Arc<dyn Hypothesis>, Vec<String>)> = Vec::new();
    for (name, hypothesis) in names.iter().zip(&fitted.hypotheses) {
        let address = Arc::as_ptr(hypothesis).cast::<()>().addr();
        let place = *places.entry(address).or_insert_with(|| {
            groups.push((hypothesis.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(name.clone());
    }
    let (models, owners): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
    let mut lines = String::new();
    for (hypothesis, mut nodes) in assembly.study.for_table(&models).iter().zip(owners) {
        let model = stored(&nodes[0], hypothesis.as_ref())?;
        let node = if nodes.len() == 1 { nodes.pop() } else { None };
        lines.push_str(&(to_json(&ModelLine { node, nodes, model }) + "\n"));
    }
    Ok(lines)
}

fn stored(node: &str, hypothesis: &dyn Hypothesis) -> Result<Stored> {
    let model = hypothesis.save();
    model.ok_or_else(|| Error::input(format!("the model of node '{node}' cannot be stored")))
}

#[derive(Serialize, Deserialize)]
struct AboutFile {
    format: u32,
    /// The methods that are kept, the run's own first; nothing in runs of format 2, which keep that one.
    #[serde(default)]
    methods: Vec<String>,
    #[serde(default)]
    advised: String,
    /// What all nodes have in common by a method that says it: the mean coefficients of a mixed model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    common: BTreeMap<String, Stored>,
    /// The nodes without a row, with their neighbours, where methods are kept that know of no network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    without_rows: NodesWithoutRows,
    /// The least and the largest value of each feature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<(f64, f64)>,
    /// The mean of each feature over the training rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    means: Vec<f64>,
    #[serde(flatten)]
    about: DataSchema,
}

#[derive(Serialize, Deserialize)]
struct ModelLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
    model: Stored,
}

/// The models of one method as a value.
#[derive(Serialize, Deserialize)]
struct KeptValue {
    about: AboutFile,
    used: String,
    lines: Vec<ModelLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intervals: Option<UncertaintyFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    places: Option<NodePlaces>,
    /// The pooled models, which stand in at nodes that the run does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pooled: Option<Box<KeptValue>>,
}

/// The models of a finished run.
#[derive(Debug, Clone)]
pub struct RunModels {
    /// How rows are read.
    pub about: DataSchema,
    /// The model of each node, by name.
    pub by_node: BTreeMap<String, Arc<dyn Hypothesis>>,
    /// The method that they are of, among those that are kept.
    pub used: String,
    /// The method that the verdict advises.
    pub advised: String,
    /// The methods that are kept, the run's own first.
    pub methods: Vec<String>,
    /// What all nodes have in common by this method, where it says it.
    pub common: Option<Arc<dyn Hypothesis>>,
    /// The nodes without a training row, with their neighbours.
    without_rows: NodesWithoutRows,
    folder: PathBuf,
    /// What was read beside the models, once it was asked for.
    beside: Beside,
}

/// Files of a run that not every use of its models needs.
#[derive(Debug, Clone, Default)]
struct Beside {
    pooled: OnceLock<Option<Arc<RunModels>>>,
    intervals: OnceLock<Arc<RunIntervals>>,
    most_common: OnceLock<Option<Arc<dyn Hypothesis>>>,
    places: OnceLock<Arc<NodePlaces>>,
}

impl RunModels {
    /// The models as text, with all that predictions may need, for whoever keeps them elsewhere than in a folder; none if
    /// some cannot be stored.
    pub fn to_text(&self) -> Result<Option<String>> {
        Ok(self.value()?.map(|value| to_json(&value)))
    }

    /// The models that `to_text` has written.
    pub fn from_text(text: &str) -> Result<Self> {
        let value: KeptValue = serde_json::from_str(text).map_err(|error| {
            Error::input(format!(
                "what was kept of a run is damaged: {}",
                in_plain_words(&error.to_string())
            ))
        })?;
        Self::from_value(value)
    }

    fn value(&self) -> Result<Option<KeptValue>> {
        let mut owners: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
        for (name, model) in &self.by_node {
            owners.entry(address(model)).or_default().push(name);
        }
        let mut lines = Vec::new();
        for nodes in owners.values() {
            let Some(model) = self.by_node[nodes[0]].save() else { return Ok(None) };
            let nodes = nodes.iter().map(|name| (*name).clone()).collect();
            lines.push(ModelLine { node: None, nodes, model });
        }
        // By names, not by where models happen to lie.
        lines.sort_by(|a, b| a.nodes.cmp(&b.nodes));
        let mut common = BTreeMap::new();
        if let Some(model) = &self.common {
            let Some(model) = model.save() else { return Ok(None) };
            common.insert(self.used.clone(), model);
        }
        let about = AboutFile {
            format: FORMAT_VERSION,
            methods: self.methods.clone(),
            advised: self.advised.clone(),
            common,
            without_rows: self.without_rows.clone(),
            // The least and the largest values are cells of rows, which stay where the rows are.
            ranges: Vec::new(),
            means: self.about.means.clone(),
            about: self.about.clone(),
        };
        let intervals = if self.beside.intervals.get().is_some() || self.has_intervals() {
            let own = self.intervals()?;
            let mut nodes = vec![String::new(); own.places.len()];
            own.places.iter().for_each(|(name, &place)| nodes[place].clone_from(name));
            Some(UncertaintyFile {
                format: FORMAT_VERSION,
                nodes,
                intervals: own.intervals.clone(),
            })
        } else {
            None
        };
        let has_places =
            self.beside.places.get().is_some() || self.folder.join(PLACES_FILE).exists();
        let places = has_places.then(|| self.places()).transpose()?;
        let pooled = match self.pooled()? {
            Some(pooled) if self.used != pooled.used => pooled.value()?.map(Box::new),
            _ => None,
        };
        let (used, places) = (self.used.clone(), places.map(|own| own.as_ref().clone()));
        Ok(Some(KeptValue { about, used, lines, intervals, places, pooled }))
    }

    fn from_value(value: KeptValue) -> Result<Self> {
        let KeptValue { about: file, used, lines, intervals, places, pooled } = value;
        let AboutFile { methods, advised, mut common, without_rows, ranges, means, about, .. } =
            file;
        let about = DataSchema { ranges, means, ..about };
        let rows = Some((&about.features[..], about.task));
        let load = |model| {
            let loaded = HypothesisKinds::builtin().load(model, rows);
            let damaged =
                |error| Error::input(format!("what was kept of a run is damaged: {error}"));
            loaded.map(Arc::<dyn Hypothesis>::from).map_err(damaged)
        };
        let mut by_node = BTreeMap::new();
        for ModelLine { node, nodes, model } in lines {
            let model = load(model)?;
            by_node.extend(node.into_iter().chain(nodes).map(|name| (name, model.clone())));
        }
        let common = common.remove(&used).map(load).transpose()?;
        let beside = Beside::default();
        if let Some(UncertaintyFile { nodes, intervals, .. }) = intervals {
            let places = nodes.into_iter().enumerate().map(|(place, node)| (node, place)).collect();
            beside.intervals.get_or_init(|| Arc::new(RunIntervals { intervals, places }));
        }
        if let Some(places) = places {
            beside.places.get_or_init(|| Arc::new(places));
        }
        let pooled = pooled.map(|own| Self::from_value(*own)).transpose()?;
        // Without a folder there is nowhere else to look for them.
        beside.pooled.get_or_init(|| pooled.map(Arc::new));
        let folder = PathBuf::new();
        Ok(Self { about, by_node, used, advised, methods, common, without_rows, folder, beside })
    }

    /// The models of a method that was just fitted, one of those that the study keeps.
    #[must_use]
    pub fn of_fit(
        assembly: &Assembly,
        (used, advised): (Contestant, Contestant),
        fitted: &Fitted,
        methods: &[Contestant],
    ) -> Self {
        let study = &assembly.study;
        let names = study.network.names().iter().cloned();
        let by_node = names.zip(study.for_table(&fitted.hypotheses)).collect();
        let common = fitted.common.as_ref();
        let common = common.map(|own| study.for_table(std::slice::from_ref(own))[0].clone());
        let beside = Beside::default();
        if let Some(intervals) = study.intervals(fitted) {
            let nodes = study.network.names().iter().cloned();
            let places = nodes.enumerate().map(|(place, node)| (node, place)).collect();
            beside.intervals.get_or_init(|| Arc::new(RunIntervals { intervals, places }));
        }
        Self {
            about: assembly.about.clone(),
            by_node,
            used: used.to_string(),
            advised: advised.to_string(),
            methods: methods.iter().map(ToString::to_string).collect(),
            common,
            without_rows: assembly.nodes_without_rows(),
            folder: PathBuf::new(),
            beside,
        }
    }

    /// Reads the models of a run folder: those of the method that its verdict advises.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        Self::of_method(folder, None)
    }

    /// The same of the run's own method.
    pub fn of_own_method(folder: &Path) -> Result<Self> {
        check_finished(folder)?;
        let methods = read_about(folder)?.methods;
        Self::of_method(folder, methods.first().map(String::as_str))
    }

    /// The same of a method that is asked for by name.
    pub fn of_method(folder: &Path, wanted: Option<&str>) -> Result<Self> {
        let (mut models, common) = Self::described(folder, wanted)?;
        models.by_node = models.read_models()?;
        models.common = common.map(|own| models.read_common(own)).transpose()?;
        Ok(models)
    }

    /// What a run says of its models, without reading any: for whoever makes them anew.
    pub fn unread(folder: &Path) -> Result<Self> {
        Ok(Self::described(folder, None)?.0)
    }

    fn described(folder: &Path, wanted: Option<&str>) -> Result<(Self, Option<Stored>)> {
        check_finished(folder)?;
        let AboutFile { methods, advised, about, mut common, without_rows, .. } =
            read_about(folder)?;
        let used = wanted.unwrap_or(&advised).to_string();
        if !methods.contains(&used) {
            let folder = folder.display();
            return Err(Error::input(format!(
                "'{folder}' keeps no models of '{used}', expected {}",
                one_of(&methods)
            )));
        }
        let by_node = BTreeMap::new();
        let (own, folder) = (common.remove(&used), folder.into());
        let beside = Beside::default();
        let common = None;
        let models =
            Self { about, by_node, used, advised, methods, common, without_rows, folder, beside };
        Ok((models, own))
    }

    /// The nodes that are predicted by their neighbours, because they have no row of their own.
    #[must_use]
    pub fn predicted_by_neighbours(&self) -> Vec<String> {
        let nodes = self.without_rows.keys();
        nodes.filter(|node| self.neighbours_without_rows(node).is_some()).cloned().collect()
    }

    /// The neighbours that predict a node which has no row of its own, where the method knows of no network; none where the
    /// model of the node does, or that of all.
    pub(crate) fn neighbours_without_rows(&self, node: &str) -> Option<&[(String, f64)]> {
        let plain = [Contestant::Local, Contestant::Shrunk, Contestant::Mixed];
        let is_asked = plain.iter().any(|contestant| contestant.to_string() == self.used);
        self.without_rows.get(node).filter(|_| is_asked).map(Vec::as_slice)
    }

    /// The residuals that intervals of a method are made of, by the names of nodes; refuses files of other versions.
    pub(crate) fn residuals_of(&self, method: &str) -> Result<(Vec<String>, Residuals)> {
        let place = self.methods.iter().position(|name| name == method).unwrap_or(0);
        let (path, text) =
            read_file(self.folder.join(FileNames::new(&self.methods, place).uncertainty))?;
        let file: ResidualsFile = serde_json::from_str(&text)
            .map_err(|error| broken(&path, &in_plain_words(&error.to_string())))?;
        check_format(&path, file.format)?;
        let ResidualsFile { nodes, calibration, scores, .. } = file;
        let counts = Some(scores.counts).filter(|counts| !counts.is_empty());
        let residuals = Residuals { rows: calibration, nodes: scores.nodes, counts };
        if residuals.nodes.len() != nodes.len() {
            return Err(broken(&path, "its residuals are of other nodes"));
        }
        Ok((nodes, residuals))
    }

    fn read_common(&self, stored: Stored) -> Result<Arc<dyn Hypothesis>> {
        let rows = Some((&self.about.features[..], self.about.task));
        let loaded = HypothesisKinds::builtin().load(stored, rows);
        let path = self.folder.join("models/about.json");
        loaded.map(Arc::from).map_err(|_| broken(&path, "what nodes have in common is no model"))
    }

    /// The pooled models, where they are kept.
    pub(crate) fn pooled(&self) -> Result<Option<Arc<Self>>> {
        if let Some(known) = self.beside.pooled.get() {
            return Ok(known.clone());
        }
        let name = Contestant::Pooled.to_string();
        let read = || Self::of_method(&self.folder, Some(&name)).map(Arc::new);
        let pooled = self.methods.contains(&name).then(read).transpose()?;
        Ok(self.beside.pooled.get_or_init(|| pooled).clone())
    }

    /// Takes pooled models that were read before for this run's.
    pub fn share_pooled(&self, pooled: Option<&Arc<Self>>) {
        self.beside.pooled.get_or_init(|| pooled.cloned());
    }

    /// The intervals of these models, which are read once.
    pub fn intervals(&self) -> Result<Arc<RunIntervals>> {
        if let Some(known) = self.beside.intervals.get() {
            return Ok(known.clone());
        }
        let read = Arc::new(RunIntervals::of(self)?);
        Ok(self.beside.intervals.get_or_init(|| read).clone())
    }

    /// Reads all that predictions may need beside the models, because the folder may be another later; whether there is
    /// what intervals are made of.
    pub fn read_all(&self) -> Result<bool> {
        let is_there = self.about.task == Task::Regression && self.has_intervals();
        let found = is_there.then(|| self.intervals()).transpose()?;
        if let Some(pooled) = self.pooled()? {
            pooled.most_common();
            if self.about.task == Task::Regression && pooled.has_intervals() {
                pooled.intervals()?;
            }
        }
        if self.folder.join(PLACES_FILE).exists() {
            self.places()?;
        }
        Ok(found.is_some())
    }

    /// Refuses a file of models that was cut at the end of a line: every node of the result has a model.
    pub(crate) fn check_nodes(&self) -> Result<()> {
        let outcome = read_outcome(&self.folder)?;
        let missing = outcome.nodes.iter().find(|node| !self.by_node.contains_key(&node.name));
        missing.map_or(Ok(()), |node| {
            let path = self.folder.join(self.files().models);
            Err(broken(&path, &format!("it has no model of node '{}'", node.name)))
        })
    }

    /// Whether the run keeps what intervals of these models are made of.
    fn has_intervals(&self) -> bool {
        self.folder.join(self.files().uncertainty).exists()
    }

    /// The model that the most nodes have; of equals that of the first.
    pub(crate) fn most_common(&self) -> Option<Arc<dyn Hypothesis>> {
        self.beside.most_common.get_or_init(|| self.find_most_common()).clone()
    }

    fn find_most_common(&self) -> Option<Arc<dyn Hypothesis>> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        self.by_node.values().for_each(|model| *counts.entry(address(model)).or_default() += 1);
        let count = |model: &Arc<dyn Hypothesis>| counts[&address(model)];
        let better = |a, b| if count(b) > count(a) { b } else { a };
        self.by_node.values().reduce(better).cloned()
    }

    /// Where the nodes of the run are; refuses runs that do not know.
    pub fn places(&self) -> Result<Arc<NodePlaces>> {
        if let Some(known) = self.beside.places.get() {
            return Ok(known.clone());
        }
        let path = self.folder.join(PLACES_FILE);
        if !path.exists() {
            return Err(Error::input(format!(
                "--nodes is for runs whose network is one of nearest neighbours, and that of '{}' is not; give the \
                 edges of new nodes with --edges",
                self.folder.display()
            )));
        }
        let (path, text) = read_file(path)?;
        let places: NodePlaces = serde_json::from_str(&text)
            .map_err(|error| broken(&path, &in_plain_words(&error.to_string())))?;
        let checked = places.places.check(places.nodes.len());
        checked.map_err(|error| broken(&path, &error.to_string()))?;
        Ok(self.beside.places.get_or_init(|| Arc::new(places)).clone())
    }

    /// The files of the method in use.
    fn files(&self) -> FileNames {
        let place = self.methods.iter().position(|name| *name == self.used);
        FileNames::new(&self.methods, place.unwrap_or(0))
    }

    fn read_models(&self) -> Result<BTreeMap<String, Arc<dyn Hypothesis>>> {
        let (path, text) = read_file(self.folder.join(self.files().models))?;
        let (mut by_node, kinds) = (BTreeMap::new(), HypothesisKinds::builtin());
        for (row, line) in text.lines().enumerate() {
            let line: Option<ModelLine> = serde_json::from_str(line).ok();
            let read = line.and_then(|ModelLine { node, nodes, model }| {
                let rows = Some((&self.about.features[..], self.about.task));
                let model = kinds.load(model, rows).ok()?;
                Some((node.into_iter().chain(nodes), Arc::<dyn Hypothesis>::from(model)))
            });
            let Some((nodes, model)) = read else {
                return Err(broken(&path, &format!("line {} is not a model of the run", row + 1)));
            };
            by_node.extend(nodes.map(|node| (node, model.clone())));
        }
        Ok(by_node)
    }
}

/// Which model it is: equal for those that share one.
fn address(model: &Arc<dyn Hypothesis>) -> usize {
    Arc::as_ptr(model).cast::<()>().addr()
}

/// Reads how rows are read and which methods are kept.
fn read_about(folder: &Path) -> Result<AboutFile> {
    let (path, text) = read_file(folder.join("models/about.json"))?;
    let mut file: AboutFile = serde_json::from_str(&text)
        .map_err(|error| broken(&path, &in_plain_words(&error.to_string())))?;
    check_format(&path, file.format)?;
    file.about.ranges = std::mem::take(&mut file.ranges);
    file.about.means = std::mem::take(&mut file.means);
    if file.format == OLDEST_FORMAT {
        file.methods = vec![own_method(folder)?];
        file.advised.clone_from(&file.methods[0]);
    }
    // They become names of files.
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if !file.methods.iter().all(is_name) || !file.methods.contains(&file.advised) {
        return Err(broken(&path, "its methods are not those of a run"));
    }
    let about = &file.about;
    let named = if about.task == Task::Regression { 0 } else { about.task.outputs() };
    if about.classes.len() != named {
        let found = format!("{} classes instead of {named}", about.classes.len());
        return Err(broken(&path, &found));
    }
    Ok(file)
}

fn read_outcome(folder: &Path) -> Result<Outcome> {
    let (path, text) = read_file(folder.join("result.json"))?;
    serde_json::from_str(&text).map_err(|error| broken(&path, &in_plain_words(&error.to_string())))
}

/// What the own method of a run of format 2 is called among those that are compared.
fn own_method(folder: &Path) -> Result<String> {
    let outcome = read_outcome(folder)?;
    let kind = MethodKind::named(&outcome.method.kind);
    let knows_none = kind.is_some_and(|kind| !kind.facts().uses_network);
    Ok(if knows_none { outcome.method.kind } else { Contestant::Network.to_string() })
}

fn read_file(path: PathBuf) -> Result<(PathBuf, String)> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(Error::file("read the models of the run", &path, &error)),
    }
}

/// Refuses files of versions that mean something else.
fn check_format(path: &Path, format: u32) -> Result<()> {
    if (OLDEST_FORMAT..=FORMAT_VERSION).contains(&format) {
        return Ok(());
    }
    let found =
        format!("format {format}, this version reads formats {OLDEST_FORMAT} to {FORMAT_VERSION}");
    Err(broken(path, &found))
}

fn broken(path: &Path, what: &str) -> Error {
    let path = path.display();
    Error::input(format!("'{path}' is damaged: {what}; run the experiment again"))
}

/// Some names to choose from: `network, local or pooled`.
fn one_of(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

#[derive(Serialize, Deserialize)]
struct UncertaintyFile {
    format: u32,
    nodes: Vec<String>,
    #[serde(flatten)]
    intervals: Intervals,
}

/// What an update takes of such a file. How predictions spread is most of it, and is passed over.
#[derive(Deserialize)]
struct ResidualsFile {
    format: u32,
    nodes: Vec<String>,
    calibration: CalibrationRows,
    scores: ScoresPart,
}

/// The sizes of residuals of every node, and how many rows each stands for.
#[derive(Deserialize)]
struct ScoresPart {
    nodes: Vec<Vec<f64>>,
    #[serde(default)]
    counts: Vec<Vec<f64>>,
}

/// The intervals of a finished run.
#[derive(Debug)]
pub struct RunIntervals {
    /// What they are made of.
    pub intervals: Intervals,
    /// The place of each node among them.
    pub places: BTreeMap<String, usize>,
}

impl RunIntervals {
    /// Reads the intervals of the method whose models these are.
    pub fn of(models: &RunModels) -> Result<Self> {
        let (folder, about) = (&models.folder, &models.about);
        if about.task != Task::Regression {
            return Err(Error::input(format!(
                "intervals are for numbers, and '{}' holds classes, whose probabilities are given",
                about.target
            )));
        }
        let name = models.files().uncertainty;
        let path = folder.join(&name);
        if !path.exists() {
            return Err(Error::input(format!(
                "'{}' holds no {name}, without which there are no intervals; run the experiment \
                 again with this version",
                folder.display()
            )));
        }
        let (path, text) = read_file(path)?;
        let UncertaintyFile { format, nodes, intervals } = serde_json::from_str(&text)
            .map_err(|error| broken(&path, &in_plain_words(&error.to_string())))?;
        check_format(&path, format)?;
        let checked = intervals.check(nodes.len(), about.features.len());
        checked.map_err(|error| broken(&path, &error.to_string()))?;
        let places = nodes.into_iter().enumerate().map(|(place, node)| (node, place)).collect();
        Ok(Self { intervals, places })
    }
}

fn check_finished(folder: &Path) -> Result<()> {
    if is_finished(folder) {
        return Ok(());
    }
    let folder = folder.display();
    Err(Error::input(format!("'{folder}' holds no finished run; make one with fit")))
}

/// Whether a folder holds a run that came to its end.
pub(crate) fn is_finished(folder: &Path) -> bool {
    folder.join("result.json").exists()
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain values become JSON")
}

/// A value as JSON for people.
pub fn to_json_pretty<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("plain values become JSON")
}
