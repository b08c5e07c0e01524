//! The experiment file: what to learn from which table over which network.
//!
//! Every key is a field of the struct that uses it, with its default, range and documentation: of methods
//! and models in the core, of all else here. `fedgrid schema` prints the same as JSON schema. Precedence: `--set` and flags over the file over the defaults.

mod allowed;
mod baseline;
mod choice;
mod class_weights;
mod columns;
mod files;
mod keys;
mod lags;
mod method;
mod model;
mod network;
mod privacy;
mod read;
mod reference;
mod span;
mod split;

use std::{collections::BTreeMap, path::PathBuf};

pub use baseline::BaselineKey;
pub use choice::Choice;
pub use class_weights::ClassWeights;
pub use columns::{
    CalendarForm, ColumnKeys, ColumnKind, DateOrder, MissingRule, TimePart, UnknownNodes,
};
use fedgrid::{data::Task, metric::Metric};
pub use files::{EncodingKey, FileKeys, TableFiles, is_standard_input};
pub use keys::advice;
pub use lags::LagKeys;
pub use method::{MethodSection, RunKeys, SolverKey};
pub use model::{ModelChoice, ModelSection};
pub use network::{CandidateKey, LearnKeys, NetworkKeys, ShapeKey};
pub use privacy::{BoundsKeys, PrivacyKeys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use span::TimeSpan;
pub use split::{CutKey, SplitBy, SplitKeys};

/// A complete experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What the run and its report are called; by default the name of the experiment's file, or of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
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
    /// What nodes may tell of a row, in all; without it rows are not protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyKeys>,
    /// What sites of a federation do beside the rounds of the method.
    #[serde(default, skip_serializing_if = "FederationKeys::is_usual")]
    pub federation: FederationKeys,
}

impl Experiment {
    /// Whether the order of the table's rows means something: to a method, or to models that sites bring, whose authors
    /// may have meant something by it.
    #[must_use]
    pub fn is_of_row_order(&self) -> bool {
        self.method.approach.facts().is_of_row_order || self.federation.own_models
    }

    /// Whether sites of a federation choose the strength together.
    #[must_use]
    pub fn is_tuned_at_sites(&self) -> bool {
        let method = &self.method;
        method.strength == Choice::Auto && !method.approach.estimates_strength()
    }

    /// Whether it is run at one time after the other.
    #[must_use]
    pub fn is_rolling(&self) -> bool {
        self.data.time_split().is_some_and(|split| split.origins.is_some())
    }

    /// The same where it is known what is predicted: it says so if it was to be found out, and a model that nobody
    /// named is one that predicts it.
    #[must_use]
    pub fn settled(&self, task: Task) -> Self {
        let mut settled = self.clone();
        settled.model = self.model.for_task(task).into_owned();
        if settled.data.task == Some(TaskKey::Auto) {
            settled.data.task = Some(task.into());
        }
        settled
    }
}

/// What sites of a federation do beside the rounds of the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FederationKeys {
    /// How many rounds choosing the strength may take, where that is "auto"; by default as many as are needed if no
    /// strength is at rest before it is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tuning_rounds: Option<u64>,
    /// How many bytes the messages between sites may hold in these rounds, in all; fewer rounds are made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tuning_bytes: Option<u64>,
    /// Whether sites may bring models of their own, from Python, in the place of those of `[model]`. All nodes then
    /// train in the units of the table, as they do in one process with models from Python.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_models: bool,
    /// Whether sites find out together, after training, whether the network helped all of them. Sums over the test rows
    /// of each node, never of fewer than five rows, then go along the network to the node that leads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge: bool,
    /// How many networks with shuffled nodes are trained, too, so that the verdict can tell whether the shape of the
    /// network is why. Nodes that are no neighbours then exchange what the method exchanges: predictions, or weights.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 20))]
    pub shuffles: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl FederationKeys {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The table of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataKeys {
    /// A CSV, Parquet or Arrow file with one row per observation, relative to the experiment file; or a list of files
    /// with the same columns, `*` and `?` standing for any letters of a name; or `-` for standard input.
    pub file: TableFiles,
    /// How it is written, where it is not as it looks.
    #[serde(default, skip_serializing_if = "FileKeys::is_empty")]
    pub format: FileKeys,
    /// The column that names each row's node.
    pub node: String,
    /// The column to predict.
    pub target: String,
    /// The columns to predict from, by name or with `*` and `?` for any letters; by default all but those that are
    /// something else: node, target, split, weight, offset, exposure.
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
    /// What is done with rows of nodes that the network does not have, or of none.
    #[serde(default)]
    pub unknown_nodes: UnknownNodes,
    /// Cells that stand for no value, besides empty ones and words such as NA.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<String>,
    /// The column that orders rows in time: dates, times or numbers. It is no feature unless it is listed as one, or
    /// declared in data.columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Features made of earlier values of columns at the same node: `sales = [1, 7]`, the values so long before a row,
    /// or `sales = { lags = [1, 7], means = [28] }`, with means over so long before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lags: BTreeMap<String, LagKeys>,
    /// What rows are for: the name of a column that says so, or how they are divided by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitKeys>,
    /// The column that says how many rows each one stands for, zero or more: a row of weight two counts as that row
    /// twice, in training and in errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The column of a known part of the target, added to what is learnt: to numbers, or to the logarithm of counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// For counts: the column that says over how much each row has counted, such as days; what is learnt is the
    /// rate per unit of it. As good as an offset of its logarithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// For classes: how often the training rows of each class count, or "balanced", by which all classes count the
    /// same in total. Errors are those of rows as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<ClassWeights>,
    /// Without a split: the share of each node's rows that trains, drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// Without a split: the share of each node's rows that validates; the rest tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Without validation rows: in how many folds the training rows of each node take turns.
    #[serde(default = "five")]
    #[schemars(range(min = 2))]
    pub folds: usize,
    /// What is predicted; by default classes if the target is text or a model needs classes, and numbers if it holds
    /// many or fractions. Few whole numbers may be both, and are refused until it is said, by this key or by a model
    /// that predicts only one of them; "auto" takes them as classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskKey>,
    /// The classes that the target may hold, as text; by default those that are in the table. A federation
    /// whose rows are with its sites needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
}

impl DataKeys {
    /// The column that says what each row is for, if one does.
    #[must_use]
    pub fn split_column(&self) -> Option<&str> {
        self.split.as_ref()?.column.as_deref()
    }

    /// How rows are divided by time, if they are.
    #[must_use]
    pub fn time_split(&self) -> Option<&SplitKeys> {
        self.split.as_ref().filter(|split| split.is_by_time())
    }

    /// Whether some rows only validate, at this site or at others.
    #[must_use]
    pub fn has_validation(&self) -> bool {
        let by_time = |split: &SplitKeys| {
            split.validation.is_some_and(|share| share > 0.0) || split.validation_from.is_some()
        };
        match self.time_split() {
            Some(split) => by_time(split),
            None => self.split.is_some() || self.validation.is_some_and(|share| share > 0.0),
        }
    }

    /// The names of all features that are made of earlier values.
    #[must_use]
    pub fn lag_names(&self) -> Vec<String> {
        let names = |(column, keys): (&String, &LagKeys)| -> Vec<String> {
            keys.features(column).map(|(name, ..)| name).collect()
        };
        self.lags.iter().flat_map(names).collect()
    }
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKey {
    /// A number.
    Regression,
    /// A class.
    Classification,
    /// A class if the target is text or holds few whole numbers, otherwise a number.
    Auto,
}

impl From<Task> for TaskKey {
    fn from(task: Task) -> Self {
        match task {
            Task::Regression => Self::Regression,
            Task::Classification { .. } => Self::Classification,
        }
    }
}

/// The points on which nodes compare their predictions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicKeys {
    /// Where they come from.
    #[serde(default)]
    pub kind: PublicKind,
    /// How many points are drawn. By default 500 for linear models, whose time does not depend on it, and for trees and
    /// the like of classes, whose predictions more points make smoother; 100 for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub points: Option<usize>,
    /// For kind "file": a table with the feature columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// For kind "file": how it is written, where it is not as it looks.
    #[serde(default, skip_serializing_if = "FileKeys::is_empty")]
    pub format: FileKeys,
    /// For kind "columns": the features that are no secret; the others are held at their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// Whether every node draws its own points (kinds "normal" and "box").
    #[serde(default)]
    pub per_node: bool,
}

/// Public points where they cost nothing, or much is to be had of more.
const MANY_POINTS: usize = 500;
/// Elsewhere: with 100 instead of 500, errors of logistic regressions and of trees of numbers change in the third digit,
/// and fits take a fifth of the time (docs/performance.md has the table).
const SOME_POINTS: usize = 100;

impl Experiment {
    /// How many public points are drawn for what is predicted.
    #[must_use]
    pub fn public_points(&self, task: Task) -> usize {
        let models = self.model.for_task(task);
        let is_smooth = |model: &fedgrid::model::Model| {
            let weights = model.as_local().as_parametric();
            weights.is_some_and(|model| model.as_linear_outputs().is_some())
        };
        let are_linear = models.models().all(|model| model.as_local().as_linear().is_some());
        let are_smooth = models.models().all(is_smooth);
        let are_classes = task != Task::Regression;
        let usual =
            if are_linear || are_classes && !are_smooth { MANY_POINTS } else { SOME_POINTS };
        self.public.points.unwrap_or(usual)
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
    /// What errors are: strengths are chosen by it, and the table and the verdict are in it. By default mse for numbers
    /// and log-loss for classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
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
    /// A first look: strengths on a coarse grid, one shuffled network, 19 for the likelihood. The verdict says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// Other methods that are tried too, tuned and scored in the same way, by name, or "all" that the models
    /// allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<BaselineKey>,
}

impl Default for CompareKeys {
    fn default() -> Self {
        Self {
            metric: None,
            enabled: true,
            shuffles: 5,
            likelihood_shuffles: 99,
            quick: false,
            baselines: Vec::new(),
        }
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
fn yes() -> bool {
    true
}
