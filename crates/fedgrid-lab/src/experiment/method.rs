//! The keys of the method.

use fedgrid::{descent::Optimiser, method::Averaged, penalty::Penalty};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Choice, GtvKeys, MethodKind, PersFlKeys};

/// How nodes learn together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MethodKeys {
    /// The method: exchange of predictions (fedrelax), total variation of weights (gtv), probes of
    /// neighbours (persfl), gossip, or one that knows no network: with a hub (fedavg and others), or
    /// local, pooled and shrunk, which every comparison has.
    #[serde(default)]
    pub kind: MethodKind,
    /// For kind "gtv": what the difference of two neighbours' weights costs.
    #[serde(default)]
    pub penalty: PenaltyKey,
    /// The pull towards the neighbours, or "auto" to choose it on validation rows. For persfl the
    /// step of a probe, for fedprox the weight of the proximal term, for ditto, fedmd and shrunk the
    /// pull to what is common, for apfl the share of the own model, for ifca the number of clusters, for
    /// clustered the threshold of a split, for fine-tuned the number of steps, for fedavg and gossip
    /// a factor of the step size.
    #[serde(default)]
    pub alpha: Choice,
    /// For kind "persfl": who is probed, what is asked and which step is taken.
    #[serde(default)]
    pub persfl: PersFlKeys,
    /// For kind "gtv" in rounds of messages: how steps are taken and what ends them.
    #[serde(default)]
    pub gtv: GtvKeys,
    /// Whose public points count: the neighbour's, or both ends'.
    #[serde(default)]
    pub coupling: CouplingKey,
    /// Whether levels (intercepts) are coupled, or only the shape of predictions (the slopes).
    #[serde(default = "super::yes")]
    pub couple_intercept: bool,
    /// The weight of the pooled model as one more neighbour of every node.
    #[serde(default)]
    pub hub: f64,
    /// How predictions are compared; "auto" is the squared difference for numbers and the
    /// cross-entropy for classes.
    #[serde(default)]
    pub discrepancy: DiscrepancyKey,
    /// For discrepancy "huber": the difference from which on it is linear.
    #[serde(default = "unit")]
    pub threshold: f64,
    /// The largest root-mean-square distance from one's own predictions at which a neighbour's
    /// pull; farther ones are moved in. Bounds the harm that a lying neighbour can do to the model; it
    /// protects no row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The share of what is new in the neighbours' predictions that is taken in each round.
    #[serde(default = "unit")]
    pub relaxation: f64,
    /// Whether all nodes learn at once from the round before, or in turn from the latest.
    #[serde(default)]
    pub order: OrderKey,
    /// What a node does with its pulls: refit, descend (some optimiser steps, models of weights
    /// only) or distil (refit on labels of its own making as well).
    #[serde(default)]
    pub step: StepKey,
    /// For step "descend": how many optimiser steps each round.
    #[serde(default = "steps")]
    pub steps: usize,
    /// For step "descend": which optimiser.
    #[serde(default)]
    pub optimiser: OptimiserKey,
    /// For step "descend": the step size.
    #[serde(default = "step_size")]
    pub step_size: f64,
    /// For step "distil": how many points each round.
    #[serde(default = "distil_points")]
    pub distil_points: usize,
    /// For kinds with a hub: the share of nodes that train in an iteration.
    #[serde(default = "unit")]
    pub participation: f64,
    /// For kinds with a hub: whether it averages models or gradients.
    #[serde(default)]
    pub averaging: AveragingKey,
    /// For kinds with a hub: how many local steps make up an iteration.
    #[serde(default = "local_steps")]
    pub local_steps: usize,
    /// For kind "ifca": how many starts run side by side.
    #[serde(default = "restarts")]
    pub restarts: usize,
    /// Whether nodes or rows count the same.
    #[serde(default)]
    pub weighting: WeightingKey,
    /// Whether what can be solved directly is ("auto"), or all runs in rounds of messages.
    #[serde(default)]
    pub solver: SolverKey,
    /// The largest number of rounds; for kinds with a hub, of its iterations. Baselines beside
    /// another method get at most 100.
    #[serde(default = "rounds")]
    pub rounds: usize,
    /// The residual at which rounds stop; for kind "gtv" the certified relative gap.
    #[serde(default = "tolerance")]
    pub tolerance: f64,
}

impl Default for MethodKeys {
    fn default() -> Self {
        Self {
            kind: MethodKind::default(),
            penalty: PenaltyKey::default(),
            alpha: Choice::Auto,
            persfl: PersFlKeys::default(),
            gtv: GtvKeys::default(),
            coupling: CouplingKey::default(),
            couple_intercept: true,
            hub: 0.0,
            discrepancy: DiscrepancyKey::default(),
            threshold: 1.0,
            clip: None,
            relaxation: 1.0,
            order: OrderKey::default(),
            step: StepKey::default(),
            steps: steps(),
            optimiser: OptimiserKey::default(),
            step_size: step_size(),
            distil_points: distil_points(),
            participation: 1.0,
            averaging: AveragingKey::default(),
            local_steps: local_steps(),
            restarts: restarts(),
            weighting: WeightingKey::default(),
            solver: SolverKey::default(),
            rounds: rounds(),
            tolerance: tolerance(),
        }
    }
}

/// Keys that mean the same to every method that has them.
const COMMON: [&str; 5] = ["couple_intercept", "weighting", "solver", "rounds", "tolerance"];

impl MethodKeys {
    /// Puts another method in the keys of an experiment, without those of the one before that would mean
    /// nothing, or something else, to it; gives the names of those that said something.
    pub fn choose(experiment: &mut toml::Table, kind: &str) -> Vec<String> {
        let section = experiment.entry("method").or_insert_with(|| toml::Table::new().into());
        let Some(keys) = section.as_table_mut() else { return Vec::new() };
        let before = keys.insert("kind".into(), kind.into());
        let before = before.as_ref().and_then(toml::Value::as_str).unwrap_or("fedrelax");
        let known = MethodKind::deserialize(toml::Value::from(kind));
        let Some(known) = known.ok().filter(|_| before != kind) else { return Vec::new() };
        let (usual, mut unused) = (Self::default().table(), Vec::new());
        keys.retain(|key, value| {
            let stays = key == "kind" || COMMON.contains(&key) && known.knows(key);
            if !stays && usual.get(key) != Some(value) {
                unused.push(format!("method.{key}"));
            }
            stays
        });
        unused
    }

    /// Refuses a key of another method that says something.
    pub(super) fn check_kind(&self) -> Result<(), String> {
        let (given, usual) = (self.table(), Self::default().table());
        let says = |(key, value): &(&String, &toml::Value)| usual.get(*key) != Some(*value);
        let foreign = given.iter().filter(|(key, _)| !self.kind.knows(key)).find(says);
        if let Some((key, value)) = foreign {
            let (kind, what) = (self.kind.name(), if value.is_table() { "section" } else { "key" });
            let found = if value.is_table() { "given".into() } else { value.to_string() };
            return Err(format!(
                "method.{key} is {found}, expected no such {what} for method.kind = \"{kind}\""
            ));
        }
        self.persfl.check()?;
        self.gtv.check()
    }

    /// The keys without those that mean nothing to the method.
    pub(super) fn own(&self) -> toml::Table {
        let mut table = self.table();
        table.retain(|key, _| self.kind.knows(key));
        table
    }

    fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("the keys are plain values")
    }
}

/// What a hub averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AveragingKey {
    /// Weights after local steps.
    #[default]
    Models,
    /// Gradients.
    Gradients,
}

impl From<AveragingKey> for Averaged {
    fn from(key: AveragingKey) -> Self {
        match key {
            AveragingKey::Models => Self::Models,
            AveragingKey::Gradients => Self::Gradients,
        }
    }
}

/// What the difference of two neighbours' weights costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PenaltyKey {
    /// ‖·‖₂, the network lasso: neighbours are equal or differ as a whole.
    Norm,
    /// ½‖·‖²: neighbours are similar, never equal.
    #[default]
    SquaredNorm,
    /// ‖·‖₁: each weight is equal or differs by itself.
    OneNorm,
}

impl PenaltyKey {
    /// Its name in the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Norm => "norm",
            Self::SquaredNorm => "squared-norm",
            Self::OneNorm => "one-norm",
        }
    }
}

impl From<PenaltyKey> for Penalty {
    fn from(key: PenaltyKey) -> Self {
        match key {
            PenaltyKey::Norm => Self::Norm,
            PenaltyKey::SquaredNorm => Self::SquaredNorm,
            PenaltyKey::OneNorm => Self::OneNorm,
        }
    }
}

/// Whose public points count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CouplingKey {
    /// The neighbour's.
    #[default]
    OneSided,
    /// Both ends'.
    Symmetric,
}

/// How predictions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the discrepancies are their names")]
pub enum DiscrepancyKey {
    #[default]
    Auto,
    Squared,
    Absolute,
    Huber,
    CrossEntropy,
    KullbackLeibler,
}

/// Who hears whom when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderKey {
    /// All learn at once from what was said in the round before (Jacobi).
    #[default]
    AtOnce,
    /// One after the other, each hearing what those before it have just learnt (Gauss–Seidel).
    InTurn,
}

/// What a node does with its pulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKey {
    /// The minimiser itself.
    #[default]
    Refit,
    /// Some optimiser steps from the current weights.
    Descend,
    /// A refit on fresh points labelled by the current model too.
    Distil,
}

/// An optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the optimisers are their names")]
pub enum OptimiserKey {
    #[default]
    Rmsprop,
    Adam,
    Plain,
}

impl From<OptimiserKey> for Optimiser {
    fn from(key: OptimiserKey) -> Self {
        match key {
            OptimiserKey::Rmsprop => Self::RmsProp,
            OptimiserKey::Adam => Self::Adam,
            OptimiserKey::Plain => Self::Plain,
        }
    }
}

/// What counts the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeightingKey {
    /// Every node.
    #[default]
    Nodes,
    /// Every row.
    Rows,
}

/// How a network is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SolverKey {
    /// Directly where all models are linear, otherwise in rounds.
    #[default]
    Auto,
    /// Always in rounds.
    Rounds,
}

fn rounds() -> usize {
    500
}
fn tolerance() -> f64 {
    1e-6
}
fn unit() -> f64 {
    1.0
}
fn steps() -> usize {
    1
}
fn step_size() -> f64 {
    0.01
}
fn local_steps() -> usize {
    5
}
fn restarts() -> usize {
    5
}
fn distil_points() -> usize {
    100
}
