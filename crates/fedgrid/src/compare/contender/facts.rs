//! What a method says of itself, and what it is told of the rest of a study.

use std::sync::Arc;

use super::Gtv;
use crate::{
    data::Task,
    error::{Error, Result},
    method::FedRelax,
    model::LocalModel,
};

/// The one number of a method that is chosen on validation rows.
#[derive(Debug, Clone, Copy)]
pub struct StrengthKey {
    /// Its name in experiment files and in Python.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it must be, in words.
    pub expected: &'static str,
    /// Whether a number, zero or more, is that.
    pub fits: fn(f64) -> bool,
}

impl StrengthKey {
    /// A pull α ≥ 0.
    pub(in crate::compare) const fn pull(about: &'static str) -> Self {
        Self { name: "alpha", about, expected: "zero or more", fits: |_| true }
    }

    /// A factor of the step size.
    pub(in crate::compare) const PACE: Self = Self {
        name: "pace",
        about: "A factor of the step size.",
        expected: "a positive factor of the step size",
        fits: |pace| pace > 0.0,
    };

    /// Refuses a number that makes no sense.
    pub fn check(&self, value: f64) -> Result<()> {
        if value >= 0.0 && value.is_finite() && (self.fits)(value) {
            return Ok(());
        }
        Err(Error::Parameter { name: self.name, value, expected: self.expected })
    }
}

/// What others must know of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "facts are true or false")]
pub struct Facts {
    /// Whether it depends on who is whose neighbour.
    pub uses_network: bool,
    /// Whether all models must have weights of one size.
    pub needs_weights: bool,
    /// Whether it needs one set of public points for all.
    pub needs_common_points: bool,
    /// Whether predictions on public points are compared.
    pub uses_public: bool,
    /// Whether every edge carries predictions in both directions in every round.
    pub exchanges_predictions: bool,
    /// Whether every node gets a model of its own.
    pub is_personal: bool,
    /// Whether comparisons may ask for it by name, beside another method.
    pub is_baseline: bool,
    /// Whether the ridge of models that have one is chosen with its strength.
    pub tunes_ridge: bool,
    /// Whether levels are coupled, or only what is left without them.
    pub couples_intercepts: bool,
    /// Whether both ends' public points count on an edge.
    pub is_symmetric: bool,
    /// The weight of the pooled model as one more neighbour of every node.
    pub hub: f64,
    /// Whether linear networks may be solved directly: in rounds they would end at the same point.
    pub solves_directly: bool,
    /// Whether its keys ask for rounds of messages.
    pub asks_for_rounds: bool,
    /// Whether rows come in the order of the table, which then means something.
    pub is_of_row_order: bool,
    /// Whether it knows no more of slopes than how long they and their differences are, so that features can be turned.
    pub knows_lengths_only: bool,
    /// Whether every node is told all others, so that a shuffled complete network is the same.
    pub is_blind_to_order: bool,
    /// Whether its rounds are questions and answers: they cannot overlap, and their number is given.
    pub asks_and_answers: bool,
    /// Whether one node leads the others, in rounds between sites: all must be in the same round, and it says
    /// which is the last.
    pub is_led: bool,
    /// The keys of a run that mean nothing to it: some of `rounds`, `tolerance` and `order`.
    pub without: &'static [&'static str],
    /// How it compares weights, where results say so.
    pub penalty: Option<&'static str>,
    /// Whose points it compares on, where results say so.
    pub coupling: Option<&'static str>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            uses_network: true,
            needs_weights: false,
            needs_common_points: false,
            uses_public: false,
            exchanges_predictions: false,
            is_personal: true,
            is_baseline: false,
            tunes_ridge: true,
            couples_intercepts: true,
            is_symmetric: false,
            hub: 0.0,
            solves_directly: true,
            asks_for_rounds: false,
            is_of_row_order: false,
            knows_lengths_only: false,
            is_blind_to_order: false,
            asks_and_answers: false,
            is_led: false,
            without: &["order"],
            penalty: None,
            coupling: None,
        }
    }
}

/// What the rest of an experiment says.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The names of the nodes.
    pub names: &'a [String],
    /// The cluster of each node, where it is told.
    pub clusters: Option<&'a [usize]>,
    /// The seed of everything drawn.
    pub seed: u64,
    /// When rounds stop.
    pub tolerance: f64,
}

/// The models that a method is to train.
#[derive(Debug, Clone, Copy)]
pub struct ModelsInUse<'a> {
    /// What is predicted.
    pub task: Task,
    /// The model of each node.
    pub models: &'a [Arc<dyn LocalModel>],
    /// The kind of each model.
    pub kinds: &'a [Arc<str>],
    /// The name of each node.
    pub names: &'a [String],
    /// The features.
    pub features: &'a [String],
}

impl ModelsInUse<'_> {
    /// The first model without weights, as `the tree model of node 'a'`.
    pub(super) fn without_weights(&self) -> Option<String> {
        let node = self.models.iter().position(|model| model.as_parametric().is_none())?;
        Some(format!("the {} model of node '{}'", self.kinds[node], self.names[node]))
    }
}

/// What a method minimises over all nodes.
#[derive(Debug)]
pub enum Objective<'a> {
    /// The losses and the disagreement of predictions.
    Predictions(&'a FedRelax),
    /// The losses and the total variation of weights.
    Weights(&'a Gtv),
}

/// What the messages of a node tell of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// What its model predicts for public points, from the one that it has learnt alone to its last.
    Predictions,
    /// The weights of its model.
    Weights,
    /// Sums over its rows: their number, means and products.
    Moments,
}
