//! Flags that stand for keys of an experiment file.

use std::path::{Path, PathBuf};

use clap::Args;
use toml::{Table, Value};

use super::format::{FormatFlags, files_value};
use fedgrid_lab::{
    assembly::relative_path,
    error::Result,
    experiment::{Experiment, MethodSection, ModelSection, is_standard_input},
};

/// The headings of help, in the order of an experiment file.
const TABLE: &str = "Table";
const MODELS: &str = "Models and methods";
const COMPARISON: &str = "Comparison";
pub(super) const OUTPUT: &str = "Run";

/// An experiment file, and all flags that stand for its keys.
#[derive(Debug, Args)]
pub(super) struct ExperimentFlags {
    /// The experiment file; with --resume, an interrupted folder will do.
    pub(super) experiment: Option<PathBuf>,

    #[command(flatten)]
    pub(super) keys: FitKeys,

    #[command(flatten)]
    network: NetworkFlags,
}

impl ExperimentFlags {
    /// The keys of the experiment but for --set, the folder that its paths are relative to, the name of the file as far as
    /// mistakes can be its own, and keys that are not used.
    pub(super) fn table(&self) -> Result<FlaggedTable> {
        let (mut table, base, source) = Experiment::opened(self.experiment.as_deref())?;
        let given = table.to_string();
        // A flag that joins nodes replaces the way of the file; both together would contradict each other.
        if self.keys.learn || self.network.chooses() {
            forget_network(&mut table);
        }
        let unused = self.keys.apply(&mut table, &base)?;
        self.network.apply(&mut table, &base);
        // With a flag instead of a key, a mistake may not be the file's.
        let source = if table.to_string() == given { source } else { String::new() };
        Ok(FlaggedTable { table, base, source, unused })
    }

    /// What the experiment is called where it has no title: by its file, or by its table.
    pub(super) fn name(&self, experiment: &Experiment) -> String {
        self.experiment.as_ref().map_or_else(
            || experiment.data.file.title(),
            |file| file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        )
    }
}

/// The keys of an experiment with flags in their place.
pub(super) struct FlaggedTable {
    pub(super) table: Table,
    pub(super) base: PathBuf,
    pub(super) source: String,
    pub(super) unused: Vec<String>,
}

/// Flags that stand for keys of the experiment file.
#[derive(Debug, Args)]
#[command(next_help_heading = TABLE)]
pub(super) struct FitKeys {
    /// The table: a CSV, Parquet or Arrow file, several with the same columns, or - for standard input (key
    /// data.file).
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) data: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatFlags,

    /// The column to predict (key data.target).
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,

    #[command(flatten)]
    columns: ColumnFlags,

    /// The column that says train, val or test (key data.split).
    #[arg(long, value_name = "COLUMN")]
    split: Option<String>,

    /// Learn from the training rows who helps whom (key network.learn).
    #[arg(long, help_heading = "Network")]
    learn: bool,

    /// The kind of model, such as linear, logistic, tree, forest (key model.kind); keys that belong to another
    /// kind are then not used.
    #[arg(long, value_name = "KIND", help_heading = MODELS)]
    model: Option<String>,

    /// How nodes learn together: auto (the best of fedrelax, gtv and mixed), one of these, persfl, a baseline
    /// such as fedavg, or local, pooled, shrunk (key method.kind); keys that belong to another method are
    /// then not used.
    #[arg(long, value_name = "METHOD", help_heading = MODELS)]
    pub(super) method: Option<String>,

    /// The pull of a method that is named and pulls, or auto (key method.alpha); others name their strength, such
    /// as --set method.clusters=3.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, help_heading = MODELS)]
    alpha: Option<String>,

    /// The seed of everything drawn (key seed).
    #[arg(long, value_name = "NUMBER", help_heading = MODELS)]
    seed: Option<u64>,

    /// What errors are, for strengths, table and verdict: mse, mae, deviance, log-loss, error-rate (key
    /// compare.metric).
    #[arg(long, value_name = "METRIC", help_heading = COMPARISON)]
    metric: Option<String>,

    /// Other methods to compare with, such as fedavg,ditto, or all (key compare.baselines).
    #[arg(long, value_name = "METHODS", value_delimiter = ',', help_heading = COMPARISON)]
    baselines: Option<Vec<String>>,

    /// A first look in less time: a coarse grid of strengths and few shuffled networks, which the verdict says (key
    /// compare.quick).
    #[arg(long, help_heading = COMPARISON)]
    quick: bool,

    /// Skip the comparison (key compare.enabled).
    #[arg(long, help_heading = COMPARISON)]
    no_compare: bool,

    /// What the run and its report are called (key title).
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT)]
    title: Option<String>,
}

/// Flags that say what becomes of columns.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns")]
pub(super) struct ColumnFlags {
    /// The columns to predict from, with * and ? for any letters (key data.features).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    features: Option<Vec<String>>,

    /// Columns that are not used, with * and ? for any letters (key data.exclude).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    exclude: Option<Vec<String>>,

    /// What is done with missing cells: refuse, mean, most-frequent, indicator, drop (key data.missing).
    #[arg(long, value_name = "RULE")]
    missing: Option<String>,

    /// The column that orders rows in time (key data.time).
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,

    /// What is predicted: regression, classification, or auto, which takes text and few whole numbers as classes (key
    /// data.task).
    #[arg(long, value_name = "TASK")]
    task: Option<String>,

    /// The column that says how many rows each one stands for (key data.weight).
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,

    /// The column of a known part of the target (key data.offset).
    #[arg(long, value_name = "COLUMN", conflicts_with = "exposure")]
    offset: Option<String>,

    /// For counts: the column that says over how much each row has counted (key data.exposure).
    #[arg(long, value_name = "COLUMN")]
    exposure: Option<String>,

    /// For classes: balanced, or how often each counts, such as yes=2,no=1 (key `data.class_weights`).
    #[arg(long, value_name = "CLASS=WEIGHT", value_delimiter = ',')]
    class_weights: Vec<String>,
}

impl ColumnFlags {
    /// Puts the flags in place of keys.
    pub(super) fn apply(&self, table: &mut Table) {
        let list = |names: &Vec<String>| -> Value {
            names.iter().map(|name| Value::String(name.clone())).collect::<Vec<_>>().into()
        };
        put(table, "data", "features", self.features.as_ref().map(list));
        put(table, "data", "exclude", self.exclude.as_ref().map(list));
        let text = |value: &Option<String>| value.clone().map(Value::String);
        put(table, "data", "missing", text(&self.missing));
        put(table, "data", "time", text(&self.time));
        put(table, "data", "task", text(&self.task));
        put(table, "data", "weight", text(&self.weight));
        put(table, "data", "offset", text(&self.offset));
        put(table, "data", "exposure", text(&self.exposure));
        put(table, "data", "class_weights", class_weights(&self.class_weights));
    }
}

/// The weights of classes as a flag has them: `balanced`, or `yes=2,no=1`.
fn class_weights(given: &[String]) -> Option<Value> {
    match given {
        [] => None,
        [word] if !word.contains('=') => Some(Value::String(word.clone())),
        pairs => Some(Value::Table(pairs.iter().map(|pair| named_number(pair)).collect())),
    }
}

/// A name with its number; one is the number of a name alone.
fn named_number(pair: &str) -> (String, Value) {
    // What is no number is left for the reader of experiments to refuse, which names the key.
    let (name, number) = pair.split_once('=').unwrap_or((pair, "1"));
    let number = number.parse().map_or_else(|_| Value::String(number.into()), Value::Float);
    (name.to_string(), number)
}

/// Flags that describe a network.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
pub(super) struct NetworkFlags {
    /// The column that names the node (key data.node).
    #[arg(long, value_name = "COLUMN", help_heading = TABLE)]
    pub(super) node: Option<String>,

    /// A table with one row per node and its coordinates (key network.file).
    #[arg(long, value_name = "FILE")]
    pub(super) nodes: Option<PathBuf>,

    /// The columns of that table by which reports call a node, such as name (key network.label).
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) label: Vec<String>,

    /// How many nearest neighbours each node chooses (key network.nearest).
    #[arg(long, value_name = "K")]
    pub(super) nearest: Option<usize>,

    /// Columns that place a node, each with its length per unit (key network.coordinates).
    #[arg(long, value_name = "COLUMN=SCALE", value_delimiter = ',')]
    pub(super) coordinates: Vec<String>,

    /// A table of edges with the columns src, dst, weight (key network.edges).
    #[arg(long, value_name = "FILE")]
    pub(super) edges: Option<PathBuf>,

    /// A plain shape: complete, ring, path, star, none (key network.shape).
    #[arg(long, value_name = "SHAPE")]
    pub(super) shape: Option<String>,
}

impl FitKeys {
    /// Puts the flags in place of keys; gives the keys of another method, which are not used.
    fn apply(&self, table: &mut Table, base: &Path) -> Result<Vec<String>> {
        let text = |value: &String| Value::String(value.clone());
        if let Some(title) = &self.title {
            table.insert("title".into(), text(title));
        }
        put(table, "data", "file", files_value(&self.data, |path| path_value(path, base)));
        self.format.apply(table);
        put(table, "data", "target", self.target.as_ref().map(text));
        self.columns.apply(table);
        put(table, "data", "split", self.split.as_ref().map(text));
        if let Some(kind) = &self.model {
            ModelSection::choose(table, kind);
        }
        // Before the strength: to choose another method takes out keys of the one before.
        let method = self.method.as_ref();
        let unused = method.map_or_else(Vec::new, |kind| MethodSection::choose(table, kind));
        if let Some(alpha) = &self.alpha {
            Experiment::set(table, &format!("method.alpha={alpha}"))?;
        }
        if let Some(seed) = self.seed {
            Experiment::set(table, &format!("seed={seed}"))?;
        }
        put(table, "compare", "metric", self.metric.as_ref().map(text));
        let baselines = self.baselines.as_ref();
        put(
            table,
            "compare",
            "baselines",
            baselines.map(|names| names.iter().map(text).collect::<Vec<_>>().into()),
        );
        put(table, "network", "learn", self.learn.then_some(Value::Boolean(true)));
        put(table, "compare", "quick", self.quick.then_some(Value::Boolean(true)));
        put(table, "compare", "enabled", self.no_compare.then_some(Value::Boolean(false)));
        Ok(unused)
    }
}

impl NetworkFlags {
    /// Whether one of them says how nodes are joined.
    pub(super) fn chooses(&self) -> bool {
        self.edges.is_some() || self.nearest.is_some() || self.shape.is_some()
    }

    /// Puts the flags in place of keys.
    pub(super) fn apply(&self, table: &mut Table, base: &Path) {
        let text = |value: &String| Value::String(value.clone());
        put(table, "data", "node", self.node.as_ref().map(text));
        put(table, "network", "file", self.nodes.as_deref().map(|path| path_value(path, base)));
        if !self.label.is_empty() {
            let columns: Vec<Value> = self.label.iter().map(text).collect();
            put(table, "network", "label", Some(columns.into()));
        }
        put(table, "network", "edges", self.edges.as_deref().map(|path| path_value(path, base)));
        let nearest = self.nearest.map(|k| Value::Integer(i64::try_from(k).unwrap_or(i64::MAX)));
        put(table, "network", "nearest", nearest);
        put(table, "network", "shape", self.shape.as_ref().map(text));
        if !self.coordinates.is_empty() {
            let columns: Table = self.coordinates.iter().map(|pair| named_number(pair)).collect();
            put(table, "network", "coordinates", Some(Value::Table(columns)));
        }
    }
}

/// Takes out how the file joins nodes, where a flag says it.
fn forget_network(table: &mut Table) {
    match table.get_mut("network") {
        Some(Value::Table(keys)) => {
            keys.retain(|key, _| {
                !["nearest", "edges", "shape", "learn", "candidates"].contains(&key)
            });
        }
        // Something else than a section is a mistake, which the flag makes void.
        _ => drop(table.remove("network")),
    }
}

/// Puts a value in the place of a key, if there is one.
pub(super) fn put(table: &mut Table, section: &str, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        let entry = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
        if let Some(keys) = entry.as_table_mut() {
            keys.insert(key.to_string(), value);
        }
    }
}

/// A path given on the command line, as seen from the experiment's folder; standard input is anywhere.
fn path_value(path: &Path, base: &Path) -> Value {
    let is_as_given = base.as_os_str().is_empty() || is_standard_input(path);
    let path = if is_as_given { path.to_path_buf() } else { relative_path(path, base) };
    Value::String(path.to_string_lossy().into_owned())
}
