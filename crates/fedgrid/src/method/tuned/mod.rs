//! A strength that nodes choose together, on validation rows that stay where they are,
//!
//! ```text
//! α* = argmin over a path of   Σ_i Σ_(validation rows of i) loss(h_i(α)) / Σ_i rows_i
//! ```
//!
//! The strengths are run one after the other, from weak to strong, each from where the one before has ended.
//! What ends a strength is agreed on along a tree of the network, without a pause: in every round a node tells
//! its parent the sums over the nodes below it,
//!
//! ```text
//! change, size      how far the round was from rest, as they were height − depth rounds ago
//! loss, rows        of validation rows, once for each strength
//! ```
//!
//! and the node that leads, who has the sums of all nodes a height of the tree later, sends an order down that
//! all obey in the same round: the next strength; or to stay until the errors are there; or the strength that is
//! taken, at which the method goes on to its end. Training rows are the same all the time: models of rows that
//! take turns would differ by a few rows, and neighbours would see what these are.
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
    /// Those that are tried whatever comes of them, in this order; at least one.
    fn first(&self) -> Vec<f64>;

    /// What is tried next, once these and no others were; none at the end.
    fn next(&self, tried: &[TriedStrength]) -> Option<f64>;

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
    /// After how many rounds a strength is judged as it is.
    pub rounds_each: u64,
    /// How many rounds choosing may take in all.
    pub most_rounds: u64,
}

/// How far the nodes of a network are from the one that leads, in rounds; none if it falls apart.
#[must_use]
pub fn tree_height(network: &Network) -> Option<usize> {
    Some(Tree::new(network)?.height)
}

/// The fewest rounds in which so many strengths can be compared, and one of them taken, along a tree of this height.
#[must_use]
pub fn fewest_rounds(height: usize, strengths: usize) -> u64 {
    // Each takes a height until sums are up and another until the order is down; the last one's errors, and the
    // order that follows, once more.
    let lag = height.max(1) as u64;
    (2 * strengths as u64 + 2) * lag + 2 * strengths as u64
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
}

impl<M: Adjustable> TunedAtSites<M> {
    /// A method along a network, in which everyone must be able to reach everyone.
    pub fn new(method: M, network: &Network, tuning: Tuning) -> Result<Self> {
        let needs =
            "a network in which every node is joined to every other, if only through others";
        let tree = Tree::new(network).ok_or(Error::Unsupported { what: WHAT, needs })?;
        if tuning.path.first().is_empty() {
            return Err(Error::Unsupported { what: WHAT, needs: "a strength to try" });
        }
        let mut children = vec![Vec::new(); network.len()];
        for (node, parent) in tree.parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(node);
            }
        }
        Ok(Self { method, plan: Arc::new(Plan { tuning, tree, children }) })
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
