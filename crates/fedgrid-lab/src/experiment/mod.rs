//! The experiment file: what to learn from which table over which network.
//!
//! Every key is a field of the struct that uses it, with its default, range and documentation: of methods
//! and models in the core, of all else here. `fedgrid schema` prints the same as JSON schema. Precedence: `--set` and flags over the file over the defaults.

mod allowed;
mod baseline;
mod choice;
mod columns;
mod keys;
mod method;
mod model;
mod network;
mod read;
mod reference;

use std::{collections::BTreeMap, path::PathBuf};

pub use baseline::BaselineKey;
pub use choice::Choice;
pub use columns::{CalendarForm, ColumnKeys, ColumnKind, DateOrder, MissingRule, TimePart};
pub use keys::advice;
pub use method::{MethodSection, RunKeys, SolverKey};
pub use model::{ModelChoice, ModelSection};
pub use network::{CandidateKey, LearnKeys, NetworkKeys, ShapeKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A complete experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The seed of everything drawn: splits, public points, shuffles.
    #[serde(default = "one")]
    pub seed: u64,
    /// The table of rows.
    pub data: DataKeys,
    /// Who is whose neighbour.
    pub network: NetworkKeys,
    /// What each node trains.
    #[serde(default)]
    pub model: ModelSection,
    /// How nodes learn together.
    #[serde(default)]
    pub method: MethodSection,
    /// The points on which nodes compare their predictions.
    #[serde(default)]
    pub public: PublicKeys,
    /// What the network is compared with.
    #[serde(default)]
    pub compare: CompareKeys,
}

impl Experiment {
    /// Whether the order of the table's rows means something.
    #[must_use]
    pub fn is_of_row_order(&self) -> bool {
        self.method.approach.facts().is_of_row_order
    }
}

/// The table of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataKeys {
    /// A CSV or Parquet file with one row per observation, relative to the experiment file.
    pub file: PathBuf,
    /// The column that names each row's node.
    pub node: String,
    /// The column to predict.
    pub target: String,
    /// The columns to predict from, by name or with `*` and `?` for any letters; by default all but node, target and
    /// split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns that are not used, by name or with `*` and `?` for any letters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// How single columns are used, where that is not as they look.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnKeys>,
    /// How many levels of a category have a column of their own at most; rarer ones share one.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1))]
    pub most_levels: usize,
    /// What is done with missing cells of features.
    #[serde(default)]
    pub missing: MissingRule,
    /// Cells that stand for no value, besides empty ones and words such as NA.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<String>,
    /// The column that says what each row is for: train, val (or validation), test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Without a split column: the share of each node's rows that trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// Without a split column: the share of each node's rows that validates; the rest tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Without validation rows: in how many folds the training rows of each node take turns.
    #[serde(default = "five")]
    #[schemars(range(min = 2))]
    pub folds: usize,
    /// What is predicted; by default classes if the target is text or a model needs classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskKey>,
    /// The classes that the target may hold, as text; by default those that are in the table. A federation
    /// whose rows are with its sites needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
    /// The character between the columns of CSV files.
    #[serde(default = "comma")]
    pub delimiter: char,
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKey {
    /// A number.
    Regression,
    /// A class.
    Classification,
}

/// The points on which nodes compare their predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicKeys {
    /// Where they come from.
    #[serde(default)]
    pub kind: PublicKind,
    /// How many points are drawn.
    #[serde(default = "points")]
    #[schemars(range(min = 1))]
    pub points: usize,
    /// For kind "file": a table with the feature columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// For kind "columns": the features that are no secret; the others are held at their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Whether every node draws its own points (kinds "normal" and "box").
    #[serde(default)]
    pub per_node: bool,
}

impl Default for PublicKeys {
    fn default() -> Self {
        Self {
            kind: PublicKind::default(),
            points: points(),
            file: None,
            columns: None,
            per_node: false,
        }
    }
}

/// Where public points come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublicKind {
    /// Drawn from a normal distribution with the mean and covariance of all training features.
    #[default]
    Normal,
    /// Drawn evenly between the smallest and largest training features.
    Box,
    /// Given in a file.
    File,
    /// The distinct rows of features that are declared public.
    Columns,
}

/// What the network is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareKeys {
    /// Whether local, pooled, shrunk and shuffled are tried too.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How many shuffled networks there are to beat.
    #[serde(default = "five")]
    pub shuffles: usize,
    /// How many shuffled networks the likelihood of the training rows is compared with, at most: fewer where they
    /// would take long. 0 leaves this comparison out.
    #[serde(default = "ninety_nine")]
    #[schemars(range(max = 100_000))]
    pub likelihood_shuffles: usize,
    /// Other methods that are tried too, tuned and scored in the same way, by name, or "all" that the models
    /// allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<BaselineKey>,
}

impl Default for CompareKeys {
    fn default() -> Self {
        Self { enabled: true, shuffles: 5, likelihood_shuffles: 99, baselines: Vec::new() }
    }
}

fn one() -> u64 {
    1
}
fn five() -> usize {
    5
}
fn twenty() -> usize {
    20
}
fn ninety_nine() -> usize {
    99
}
fn comma() -> char {
    ','
}
fn yes() -> bool {
    true
}
fn points() -> usize {
    500
}
