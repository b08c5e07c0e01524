//! The nodes of a study whose pulls are next to nothing at a strength, and what that does to them.

use super::{Strength, Study, nodes::own_weights};
use crate::{
    data::Dataset,
    method::{
        FedRelax,
        fedrelax::{SMALLEST_PULL, is_weak},
    },
    model::Vanishing,
    network::NodeId,
};

/// Nodes at which a strength is next to nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WeakPulls {
    /// The strength.
    pub alpha: f64,
    /// Those that stay what local training made them.
    pub deaf: Vec<NodeId>,
    /// Those whose rows may leave open what neighbours choose, however weakly they pull.
    pub open: Vec<NodeId>,
    /// The pull α from which on all those that are deaf would listen.
    pub listens_from: f64,
}

impl WeakPulls {
    /// Of these nodes only, counted from zero in their order.
    #[must_use]
    pub fn of_nodes(self, nodes: &[NodeId]) -> Self {
        let places = |found: Vec<NodeId>| {
            found.iter().filter_map(|node| nodes.iter().position(|own| own == node)).collect()
        };
        Self { deaf: places(self.deaf), open: places(self.open), ..self }
    }
}

impl Study {
    /// The nodes at which the study's own method pulls too weakly to count, or to be a pull only.
    #[must_use]
    pub fn weak_pulls(&self, strength: Strength) -> WeakPulls {
        let alpha = strength.alpha;
        let mut found = WeakPulls { alpha, ..WeakPulls::default() };
        // What pulls own models beside twins is not this strength.
        if self.settings.privacy.is_some() {
            return found;
        }
        let Some((method, weights)) = self.settings.method.pulls(&self.network) else {
            return found;
        };
        let method = FedRelax { alpha, ..method };
        // The nodes with their rows are many numbers, and weak pulls are rare.
        let count = |(data, rows): (&Dataset, &Vec<usize>)| match data.counts() {
            Some(counts) => rows.iter().map(|&row| counts[row]).sum(),
            None => rows.len() as f64,
        };
        let rows: Vec<f64> = self.rows.iter().zip(&self.plan.train).map(count).collect();
        let own = own_weights(&rows, self.settings.weighting);
        let mut pulls = weights.iter().zip(&own);
        if alpha == 0.0 || !pulls.any(|(weight, own)| is_weak(alpha * weight, *own)) {
            return found;
        }
        for (node, weight) in self.nodes(strength.ridge).iter().zip(weights) {
            match method.weak_pull(node, weight) {
                Some(Vanishing::Remembered) => {
                    found.deaf.push(node.id);
                    let from = SMALLEST_PULL * node.data.total_weight() / weight;
                    found.listens_from = found.listens_from.max(from);
                }
                Some(Vanishing::Choosing) => found.open.push(node.id),
                Some(Vanishing::Forgotten) | None => {}
            }
        }
        found
    }
}
