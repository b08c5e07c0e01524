//! A mixed model that nodes estimate together, with no validation rows and nothing pooled,
//!
//! ```text
//! y_i = X_i w_i + e_i,   w_i = β + b_i,   cov(b_ik, b_jk) = τ_k (Ω⁻¹)_ij,   Ω(ρ) = ρ L/d̄ + (1 − ρ) I
//! ```
//!
//! by the likelihood of all training rows, as [`MixedModel`](crate::mixed::MixedModel) does it in one
//! place. One node leads: its orders travel down a tree of the network, sums over all nodes travel up,
//!
//! ```text
//! order ↓ height rounds │ work: rounds between neighbours │ sums ↑ height rounds │ next order …
//! ```
//!
//! and all are in step, because the height is known to all and an order says how many rounds its work
//! takes. The orders:
//!
//! ```text
//! levels, spreads, scales   means, products and counts of rows: what columns are, as in one place
//! look                      the elimination of all deviations, on the way up: S, β and log|M| come of it
//! slopes                    at β: residuals, uᵀΩu, the gradient of the likelihood by all variances and ρ; the
//!                           deviations and the blocks of M⁻¹ that it takes come on the way down
//! finish                    the end: variances, ρ, σ² and β are known to all
//! ```
//!
//! and for classes and counts, by Laplace's approximation,
//!
//! ```text
//! total                     the likelihood with mean coefficients alone: where the search starts
//! start, move               Newton's steps to the minimum over all deviations, an elimination each
//! turn, bend                how the minimum moves with variances, ρ and β, and the gradient
//! centre                    where the mean of coefficients that are each node's own is
//! ```
//!
//! Fronts of that elimination are small along trees, rings and in the plane. Where they are not, a series takes its
//! place, in two orders,
//!
//! ```text
//! reach                     a bound r of what edges add beside the diagonal, by scalars between neighbours
//! series                    Chebyshev's series of M⁻¹ for the mean coefficients, the labels and probes at
//!                           once: a message holds all of these vectors
//! ```
//!
//! whose rounds grow as ρ → 1, and whose traces have the error of drawn probes.
//!
//! The leader finds the next variances and ρ from the sums alone, by the search that one place uses. Sums
//! are formed in the order of the tree of nodes, whatever processes host them, so the bits are the same
//! for any split of the nodes; no sum needs more of the protocol than messages along edges.
//!
//! Plain EM, `τ_k ← (b_kᵀΩb_k + tr(Ω P_kk))/n`, needs the same sums; the search uses them as a gradient,
//! because EM would take thousands of steps where a variance is small.

mod basis;
mod elimination;
mod exact;
mod fronts;
mod lead;
mod lead_modes;
mod modes;
mod order;
mod others;
mod participant;
mod sums;
mod wire;
mod work;

use std::sync::Arc;

pub use participant::{MixedParticipant, Strengths};
pub use wire::{MixedMessage, MixedShape};

use self::fronts::{Front, fronts};
use super::{Method, tree::Tree};
use crate::{
    error::{Error, Result},
    mixed::{Likelihood, Precision},
    network::{Network, NodeId, View},
};

/// A mixed model, estimated in rounds of messages.
#[derive(Debug, Clone)]
pub struct MixedRounds {
    plan: Arc<Plan>,
}

/// What the nodes have agreed on.
#[derive(Debug, Clone)]
pub struct MixedKeys {
    /// The features whose coefficient is the same at every node; "intercept" is the level.
    pub shared: Vec<String>,
    /// Those whose coefficient is each node's own.
    pub free: Vec<String>,
    /// The variances that are given, in the squared units of coefficients of the nodes' features and labels.
    pub variances: Vec<(String, f64)>,
    /// What is maximised.
    pub likelihood: Likelihood,
    /// ρ; none estimates it.
    pub rho: Option<f64>,
    /// The seed of the probes.
    pub seed: u64,
}

/// What all nodes know.
#[derive(Debug)]
struct Plan {
    keys: MixedKeys,
    tree: Tree,
    fronts: Vec<Front>,
    front_sizes: FrontSizes,
    precision: Arc<Precision>,
    nodes: usize,
}

/// The most coefficients in a front, whose elimination and inverse take some 2·10⁹ operations: about a second. With
/// more, series take the place of elimination.
const MOST_IN_FRONT: usize = 1024;

/// The most coefficients that a front leaves to a parent, with whom as many columns of the inverse travel: 0.8 MB.
const MOST_LEFT: usize = 320;

/// How large the fronts of an elimination along a network are, in nodes.
#[derive(Debug, Clone, Default)]
pub struct FrontSizes {
    parents: Vec<Option<NodeId>>,
    /// What each node leaves to its parent.
    left: Vec<usize>,
    /// The most in a front.
    largest: usize,
}

impl FrontSizes {
    /// Of a network; none if it falls apart.
    #[must_use]
    pub fn along(network: &Network) -> Option<Self> {
        let tree = Tree::new(network)?;
        Some(Self::of(&tree, &fronts(network, &tree)))
    }

    fn of(tree: &Tree, fronts: &[Front]) -> Self {
        Self {
            parents: tree.parents.clone(),
            left: fronts.iter().map(|front| front.rest().len()).collect(),
            largest: fronts.iter().map(|front| front.nodes.len()).max().unwrap_or(0),
        }
    }

    /// Whether elimination is possible with so many coefficients at a node.
    #[must_use]
    pub fn are_eliminated(&self, columns: usize) -> bool {
        let most_left = self.left.iter().max().copied().unwrap_or(0);
        self.largest * columns <= MOST_IN_FRONT && most_left * columns <= MOST_LEFT
    }

    /// How many nodes the lower end of an edge leaves to the upper one; none where the edge is none of the tree's.
    fn left_along(&self, (a, b): (NodeId, NodeId)) -> Option<usize> {
        let is_parent = |node: NodeId, other| self.parents.get(node) == Some(&Some(other));
        if is_parent(a, b) {
            return Some(self.left[a]);
        }
        is_parent(b, a).then(|| self.left[b])
    }
}

impl MixedRounds {
    /// Along a network, in which everyone must be able to reach everyone.
    pub fn new(network: &Network, keys: MixedKeys) -> Result<Self> {
        let tree = Tree::new(network).ok_or(Error::Unsupported {
            what: "a mixed model in rounds of messages",
            needs: "a network in which every node is joined to every other, if only through others",
        })?;
        let precision = Arc::new(Precision::along(network));
        let fronts = fronts(network, &tree);
        let front_sizes = FrontSizes::of(&tree, &fronts);
        let plan = Plan { keys, tree, fronts, front_sizes, precision, nodes: network.len() };
        Ok(Self { plan: Arc::new(plan) })
    }
}

impl Method for MixedRounds {
    type Participant = MixedParticipant;

    fn join(&self, view: View) -> Result<MixedParticipant> {
        MixedParticipant::new(&self.plan, view)
    }
}
