//! Pulls that are next to nothing. α → 0 is local training: models that forget rows of vanishing
//! weight get there by themselves, and all others ignore a joint pull of
//!
//! ```text
//! α Σⱼ Aᵢⱼ  <  SMALLEST_PULL · weight of the node's own rows
//! ```
//!
//! because they would jump: a tree gives a public point a leaf of its own, however little it weighs.

use super::{FedRelax, LocalStep};
use crate::{model::Vanishing, network::Node};

/// The smallest joint pull that counts for models that would not forget a weaker one, as a share of
/// the weight of the node's own rows.
///
/// A thousandth moves the mean prediction of a node by at most a thousandth of its distance to its
/// neighbours', which no validation set would tell from none, and it is a tenth of the weakest
/// strength that a search begins with. It is relative to the joint pull, so it depends neither on
/// the number of public points nor on that of rows.
pub const SMALLEST_PULL: f64 = 1e-3;

/// Whether a joint pull is next to nothing beside the weight of a node's own rows. A pull that is
/// meant to be just enough counts, although sums of weights differ in their last digits with their order.
#[must_use]
pub fn is_weak(pull: f64, own: f64) -> bool {
    // Far above the rounding of sums of weights, far below any difference that is meant.
    const RELATIVE_ROUNDING: f64 = 1e-9;
    pull < (1.0 - RELATIVE_ROUNDING) * SMALLEST_PULL * own
}

impl FedRelax {
    /// What a pull that is next to nothing does to a node, given the weight `Σⱼ Aᵢⱼ` of all that
    /// pull there; none where the pull is stronger, or zero, or the node has no rows that count.
    #[must_use]
    pub fn weak_pull(&self, node: &Node, weight: f64) -> Option<Vanishing> {
        let (pull, own) = (self.alpha * weight, node.data.total_weight());
        if pull == 0.0 || !is_weak(pull, own) {
            return None;
        }
        Some(match self.step {
            LocalStep::Refit => node.model.vanishing_rows(&node.data),
            // Some steps do not end at a minimum, and memories pull too.
            LocalStep::Descend { .. } | LocalStep::Distil { .. } => Vanishing::Remembered,
        })
    }
}
