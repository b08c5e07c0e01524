//! One problem as all engines see it: the losses, the network in the order of the layout, and the
//! strengths c = α A of its edges.

use rayon::prelude::*;

use super::{
    kernel::{layout::TileLayout, tiles::over_edges, width::padded},
    losses::{Losses, NodeLoss},
    minimum::Coupled,
};
use crate::{network::Network, penalty::Penalty};

/// Where an iteration stands: rows in the order of the layout.
#[derive(Debug, Clone, Default)]
pub(super) struct PrimalDualPoint {
    /// The weights of the nodes.
    pub(super) w: Vec<f64>,
    /// The duals of the edges.
    pub(super) u: Vec<f64>,
    /// `p = Dᵀu`.
    pub(super) p: Vec<f64>,
}

/// The problem in the order of the layout; rows are padded with zeros to a width.
#[derive(Debug)]
pub(super) struct GtvProblem<'a> {
    pub(super) losses: &'a Losses,
    pub(super) network: &'a Network,
    pub(super) layout: TileLayout,
    pub(super) penalty: Penalty,
    pub(super) alpha: f64,
    pub(super) strengths: Vec<f64>,
    pub(super) width: usize,
    /// The component of each slot, and how many there are; without strength nodes are by themselves.
    pub(super) component: Vec<usize>,
    pub(super) components: usize,
}

impl<'a> GtvProblem<'a> {
    pub(super) fn new(losses: &'a Losses, network: &'a Network, coupled: Coupled) -> Self {
        let width = padded(losses.size);
        let layout = TileLayout::new(network, width);
        let strength = |&(edge, _): &(usize, bool)| coupled.alpha * network.edges()[edge].weight;
        // Without strength every node is by itself.
        let component_of = if coupled.alpha == 0.0 {
            (0..network.len()).collect()
        } else {
            network.statistics().components
        };
        Self {
            losses,
            network,
            strengths: layout.edges.iter().map(strength).collect(),
            penalty: coupled.penalty,
            alpha: coupled.alpha,
            width,
            component: layout.nodes.iter().map(|&node| component_of[node]).collect(),
            layout,
            components: component_of.iter().max().map_or(0, |last| last + 1),
        }
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.layout.nodes.len()
    }

    /// A first scale of the steps: one over the mean strength.
    pub(super) fn scale(&self) -> f64 {
        self.strengths.len() as f64 / self.strengths.iter().sum::<f64>()
    }

    /// The loss at a slot.
    pub(super) fn loss(&self, slot: usize) -> &'a NodeLoss {
        &self.losses.each[self.layout.nodes[slot]]
    }

    /// The row at a slot, without its padding.
    pub(super) fn row<'r>(&self, rows: &'r [f64], slot: usize) -> &'r [f64] {
        &rows[slot * self.width..][..self.losses.size]
    }

    /// The rows from a block of slots on.
    pub(super) fn block<'r>(&self, rows: &'r [f64], block: usize) -> &'r [f64] {
        &rows[block * self.layout.block * self.width..]
    }

    /// The row of an edge: its coupled part.
    pub(super) fn edge<'r>(&self, rows: &'r [f64], edge: usize) -> &'r [f64] {
        &rows[edge * self.width..][..self.losses.coupled]
    }

    /// The difference of the coupled weights of two slots, written to a buffer.
    pub(super) fn difference(&self, w: &[f64], ends: (usize, usize), out: &mut Vec<f64>) {
        let (from, to) = (self.row(w, ends.0), self.row(w, ends.1));
        out.clear();
        out.extend(from.iter().zip(to).take(self.losses.coupled).map(|(a, b)| a - b));
    }

    /// The losses of all nodes, added up.
    pub(super) fn total_loss(&self, w: &[f64]) -> f64 {
        let value = |slot: usize| self.losses.value(self.layout.nodes[slot], self.row(w, slot));
        // Collected before they are added, so that the sum does not depend on threads.
        let values: Vec<f64> = (0..self.len()).into_par_iter().map(value).collect();
        values.iter().sum()
    }

    /// `α Σ A φ` over all edges.
    pub(super) fn variation(&self, w: &[f64]) -> f64 {
        over_edges(&self.layout, |edge, ends, z| {
            self.difference(w, ends, z);
            self.strengths[edge] * self.penalty.value(z)
        })
    }

    /// P(w).
    pub(super) fn objective(&self, w: &[f64]) -> f64 {
        self.total_loss(w) + self.variation(w)
    }

    /// Subgradients of all losses as rows, each as near to −p as there is one, and the sum of their
    /// excesses.
    pub(super) fn subgradients(&self, w: &[f64], p: &[f64]) -> (Vec<f64>, f64) {
        let mut rows = vec![0.0; w.len()];
        let excesses: Vec<f64> = rows
            .par_chunks_mut(self.width)
            .enumerate()
            .map(|(slot, row)| {
                let wanted: Vec<f64> = self.row(p, slot).iter().map(|p| -p).collect();
                let (node, out) = (self.layout.nodes[slot], &mut row[..self.losses.size]);
                self.losses.add_subgradient(node, out, self.row(w, slot), &wanted)
            })
            .collect();
        (rows, excesses.iter().sum())
    }

    /// The gradients of all losses as rows.
    pub(super) fn gradients(&self, w: &[f64]) -> Vec<f64> {
        let mut rows = vec![0.0; w.len()];
        rows.par_chunks_mut(self.width).enumerate().for_each(|(slot, row)| {
            let out = &mut row[..self.losses.size];
            self.losses.add_gradient(self.layout.nodes[slot], out, self.row(w, slot));
        });
        rows
    }
}
