//! A strength that nodes choose together, on validation rows that stay where they are,
//!
//! ```text
//! α* = argmin over a path of   Σ_i Σ_(validation rows of i) loss(h_i(α)) / Σ_i rows_i
//! ```
//!
//! Strengths are run side by side: a message carries what the method says at each of them. First all of the coarse
//! grid, from the methods' own start; then, beside the best, what the path asks for next, each from where the strength
//! that is nearest has come to; at last the chosen one goes on alone from where it stands. What ends a stage is agreed
//! on along a tree of the network, without a pause: in every round a node tells its parent, for each strength, the
//! sums over the nodes below it,
//!
//! ```text
//! change, size      how far the round was from rest, as they were height − depth rounds ago
//! loss, rows        of validation rows, once for each strength; up to three times if it comes to rest late
//! ```
//!
//! and the node that leads, who has the sums of all nodes a height of the tree later, sends an order down that
//! all obey in the same round: to measure errors; the next strengths; or the strength that is taken. An order takes
//! a height, too, so errors are ordered ahead of time: for the round in which all strengths will be at rest if changes
//! go on to shrink as they did (lead.rs). Training rows are the same all the time: models of rows that take turns would
//! differ by a few rows, and neighbours would see what these are.
//!
//! Sums are formed in the order of the tree of nodes, and all nodes count the same rounds, so the bits are the
//! same for any split of the nodes into processes.

mod lead;
mod order;
mod participant;
mod wire;

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

pub use participant::TunedParticipant;
pub use wire::{TunedMessage, TunedShape};

use super::{Durable, FedRelax, Method, PrimalDual, StopOn, tree::Tree};
use crate::{
    data::Dataset,
    error::{Error, Result},
    metric::Metric,
    network::{Network, NodeId, View},
};

/// The most strengths of a path.
pub const MOST_STRENGTHS: usize = 32;

/// The most strengths that run side by side: the coarse grid; four finer steps or a wider one, and the best so far.
pub const MOST_SIDE_BY_SIDE: usize = 5;

/// Why no strength can be chosen.
const WHAT: &str = "choosing a strength between sites";

/// A method whose strength can be changed between two rounds.
pub trait Adjustable: Method<Participant: Durable + Debug> + Clone + Debug + Send {
    /// The same at another strength.
    #[must_use]
    fn at(&self, strength: f64) -> Self;

    /// One node takes part at this strength, from where another has led it.
    fn rejoin(&self, view: View, before: &Self::Participant) -> Result<Self::Participant>;
}

impl Adjustable for FedRelax {
    fn at(&self, strength: f64) -> Self {
        Self { alpha: strength, ..self.clone() }
    }

    fn rejoin(&self, view: View, before: &Self::Participant) -> Result<Self::Participant> {
        self.join_from(view, before)
    }
}

impl Adjustable for PrimalDual {
    fn at(&self, strength: f64) -> Self {
        Self { alpha: strength, ..self.clone() }
    }

    fn rejoin(&self, view: View, before: &Self::Participant) -> Result<Self::Participant> {
        self.join_from(view, before)
    }
}

/// A strength that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TriedStrength {
    /// The strength.
    pub alpha: f64,
    /// The mean error on the validation rows of all nodes; the largest number where steps were too long.
    pub error: f64,
    /// How far its rounds were from rest when its end was decided.
    pub residual: f64,
}

/// Which strengths are tried.
pub trait StrengthPath: Debug + Send + Sync {
    /// What is tried next, side by side, once these and no others were; nothing at the end.
    fn next(&self, tried: &[TriedStrength]) -> Vec<f64>;

    /// The one that is taken.
    fn best(&self, tried: &[TriedStrength]) -> f64;
}

/// What is tried, on which rows, and for how long.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// The strengths.
    pub path: Arc<dyn StrengthPath>,
    /// What errors are.
    pub metric: Metric,
    /// The validation rows of the nodes that are here; a node may have none.
    pub validation: BTreeMap<NodeId, Dataset>,
    /// The residual at which a strength can be told from others.
    pub tolerance: f64,
    /// After how many rounds strengths are judged as they are.
    pub rounds_each: u64,
    /// How many rounds choosing may take in all.
    pub most_rounds: u64,
}

/// How far the nodes of a network are from the one that leads, in rounds; none if it falls apart.
#[must_use]
pub fn tree_height(network: &Network) -> Option<usize> {
    Some(Tree::new(network)?.height)
}

/// The fewest rounds in which strengths can be compared side by side, and one of them taken, along a tree of this
/// height.
#[must_use]
pub fn fewest_rounds(height: usize) -> u64 {
    1 + rounds_beside(height)
}

/// The rounds of a stage beside those in which its strengths come to rest, at most.
#[must_use]
pub fn rounds_beside(height: usize) -> u64 {
    // Sums up, the order to measure down, errors up, the next order down.
    4 * height.max(1) as u64 + 1
}

/// A method at the strength that its nodes choose.
#[derive(Debug, Clone)]
pub struct TunedAtSites<M> {
    method: M,
    plan: Arc<Plan>,
}

/// What all nodes know.
#[derive(Debug)]
struct Plan {
    tuning: Tuning,
    tree: Tree,
    children: Vec<Vec<NodeId>>,
    /// The strengths of the first stage.
    first: Vec<f64>,
}

impl<M: Adjustable> TunedAtSites<M> {
    /// A method along a network, in which everyone must be able to reach everyone.
    pub fn new(method: M, network: &Network, tuning: Tuning) -> Result<Self> {
        let needs =
            "a network in which every node is joined to every other, if only through others";
        let tree = Tree::new(network).ok_or(Error::Unsupported { what: WHAT, needs })?;
        let mut first = tuning.path.next(&[]);
        first.truncate(MOST_SIDE_BY_SIDE);
        if first.is_empty() {
            return Err(Error::Unsupported { what: WHAT, needs: "a strength to try" });
        }
        let children = tree.children();
        Ok(Self { method, plan: Arc::new(Plan { tuning, tree, children, first }) })
    }
}

impl<M: Adjustable> Method for TunedAtSites<M> {
    type Participant = TunedParticipant<M>;

    fn join(&self, view: View) -> Result<TunedParticipant<M>> {
        TunedParticipant::new(&self.method, &self.plan, view)
    }

    /// One: what varies is reported times the strength, which is not known beforehand.
    fn alpha(&self) -> f64 {
        1.0
    }

    fn stop_on(&self) -> StopOn {
        self.method.stop_on()
    }
}
