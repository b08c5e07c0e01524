//! The keys of the method.

use fedgrid::{descent::Optimiser, penalty::Penalty};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Choice;

/// How nodes learn together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MethodKeys {
    /// The method: exchange of predictions (fedrelax) or total variation of weights (gtv).
    #[serde(default)]
    pub kind: MethodKind,
    /// For kind "gtv": what the difference of two neighbours' weights costs.
    #[serde(default)]
    pub penalty: PenaltyKey,
    /// The pull towards the neighbours, or "auto" to choose it on validation rows.
    #[serde(default)]
    pub alpha: Choice,
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
    /// pull; farther ones are moved in. Bounds the harm that a lying neighbour can do.
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
    /// Whether nodes or rows count the same.
    #[serde(default)]
    pub weighting: WeightingKey,
    /// Whether what can be solved directly is ("auto"), or all runs in rounds of messages.
    #[serde(default)]
    pub solver: SolverKey,
    /// The largest number of rounds.
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
            weighting: WeightingKey::default(),
            solver: SolverKey::default(),
            rounds: rounds(),
            tolerance: tolerance(),
        }
    }
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MethodKind {
    /// Exchange of predictions on public points.
    #[default]
    Fedrelax,
    /// The minimum of the losses and the total variation of weights.
    Gtv,
}

impl MethodKind {
    /// Its name in the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fedrelax => "fedrelax",
            Self::Gtv => "gtv",
        }
    }

    /// The keys that mean nothing to this method.
    fn foreign(self) -> &'static [&'static str] {
        match self {
            Self::Fedrelax => &["penalty"],
            Self::Gtv => &[
                "coupling",
                "hub",
                "discrepancy",
                "threshold",
                "clip",
                "relaxation",
                "order",
                "step",
                "steps",
                "optimiser",
                "step_size",
                "distil_points",
            ],
        }
    }
}

impl MethodKeys {
    /// Refuses a key of another method that says something.
    pub(super) fn check_kind(&self) -> Result<(), String> {
        let (given, usual) = (self.table(), Self::default().table());
        for key in self.kind.foreign() {
            if let Some(value) = given.get(*key).filter(|value| usual.get(*key) != Some(*value)) {
                let kind = self.kind.name();
                return Err(format!(
                    "method.{key} is {value}, expected no such key for method.kind = \"{kind}\""
                ));
            }
        }
        Ok(())
    }

    /// The keys without those that mean nothing to the method.
    pub(super) fn own(&self) -> toml::Table {
        let mut table = self.table();
        table.retain(|key, _| !self.kind.foreign().contains(&key));
        table
    }

    fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("the keys are plain values")
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
fn distil_points() -> usize {
    100
}
