//! One step of the primal-dual method over all nodes and edges, in two passes,
//!
//! ```text
//! nodes   w⁺ = prox_{τ L}(w − τ p)              with p = Dᵀu
//! edges   u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))   and p anew
//! ```
//!
//! with steps τ = s/|N(i)| and σ = `1/(s_i + s_j)` for positive scales s of the nodes. The next point is
//! `keep · (2z⁺ − z) + pull · z₀` for both w and u with an anchor z₀ (the reflected Halpern iteration), or
//! goes beyond z⁺ by a share of the step (`next_point`). Rows have a width known to the compiler, and the
//! loops are compiled for the processor's wide registers too; neither changes a bit.

use rayon::prelude::*;

use super::{
    edge_pass::EdgeTile,
    next_point::NextPoint,
    node_pass::NodeBlock,
    packed::PackedLosses,
    tiles::{BlockRows, over_counted_tiles, over_tiles},
    width::by_width,
};
use crate::{
    error::Result,
    optimum::gtv::problem::{GtvProblem, PrimalDualPoint},
};

/// Scales stay between these: beyond them a step of either side is below the rounding of what it changes.
pub(crate) const LEAST_SCALE: f64 = 1e-12;
pub(crate) const LARGEST_SCALE: f64 = 1e12;

/// The squares of a step: of the primal in the metric of degrees, and of the dual.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepSquares {
    pub(crate) primal: f64,
    pub(crate) dual: f64,
}

/// The two passes over one network.
#[derive(Debug)]
pub(crate) struct PrimalDualSweep<'a> {
    pub(crate) problem: &'a GtvProblem<'a>,
    packed: PackedLosses<'a>,
    /// `2w⁺ − w` of the last step.
    pub(crate) reflected: Vec<f64>,
    /// The scales of the nodes, and the steps σ of the edges that follow from them.
    pub(crate) scales: Vec<f64>,
    sigmas: Vec<f64>,
    /// For each node, what its weights (times the number of neighbours) and the duals of its edges have
    /// moved by in counted steps, as squares.
    pub(crate) counts: MovementCounts,
}

/// Squares that are counted for each node.
#[derive(Debug, Default)]
pub(crate) struct MovementCounts {
    pub(crate) weights: Vec<f64>,
    pub(crate) duals: Vec<f64>,
}

impl<'a> PrimalDualSweep<'a> {
    pub(crate) fn new(problem: &'a GtvProblem<'a>) -> Self {
        let packed = PackedLosses::new(problem.losses, &problem.layout, problem.width);
        let (scales, sigmas) = (vec![0.0; problem.len()], vec![0.0; problem.strengths.len()]);
        let reflected = vec![0.0; problem.len() * problem.width];
        Self { problem, packed, reflected, scales, sigmas, counts: MovementCounts::default() }
    }

    /// Gives all nodes one scale.
    pub(crate) fn set_scale(&mut self, scale: f64) {
        self.set_scales(|_, _| scale);
    }

    /// Gives each node a scale, by its slot and the scale that it has.
    pub(crate) fn set_scales(&mut self, mut scale_of: impl FnMut(usize, f64) -> f64) {
        for (slot, scale) in self.scales.iter_mut().enumerate() {
            let next = scale_of(slot, *scale);
            // Most scales stay, and new coefficients cost a pass over a node's terms.
            if next.to_bits() != scale.to_bits() {
                *scale = next;
                self.packed.set_scale(slot, next);
            }
        }
        let (layout, scales) = (&self.problem.layout, &self.scales);
        over_tiles(layout, 1, &mut self.sigmas, &mut [], |tile, sigmas, _, _| {
            let first = &scales[tile.first * layout.block..];
            let second = &scales[tile.second * layout.block..];
            for (sigma, ends) in sigmas.iter_mut().zip(&layout.ends[tile.edges.clone()]) {
                *sigma = 1.0 / (first[ends.source as usize] + second[ends.target as usize]);
            }
            0.0
        });
    }

    /// One step from a point to the next, and by how much `z⁺` differs from z; a plain step leaves the
    /// duals' part out.
    pub(crate) fn step(
        &mut self,
        point: &mut PrimalDualPoint,
        anchor: &PrimalDualPoint,
        next: NextPoint,
    ) -> Result<StepSquares> {
        let counted = matches!(next, NextPoint::Relaxed { counted: true, .. });
        let MovementCounts { mut weights, mut duals } =
            if counted { std::mem::take(&mut self.counts) } else { MovementCounts::default() };
        let primal = self.nodes(point, anchor, &mut weights, next)?;
        let dual = self.edges(point, &anchor.u, &mut duals, next);
        if counted {
            self.counts = MovementCounts { weights, duals };
        }
        Ok(StepSquares { primal, dual })
    }

    fn nodes(
        &mut self,
        point: &mut PrimalDualPoint,
        anchor: &PrimalDualPoint,
        counts: &mut [f64],
        next: NextPoint,
    ) -> Result<f64> {
        let (block, width) = (self.problem.layout.block, self.problem.width);
        let rows = block * width;
        let packed = &self.packed;
        let mut counts: Vec<&mut [f64]> = counts.chunks_mut(block).collect();
        counts.resize_with(self.problem.len().div_ceil(block), Default::default);
        let work = point
            .w
            .par_chunks_mut(rows)
            .zip(self.reflected.par_chunks_mut(rows))
            .zip(point.p.par_chunks_mut(rows))
            .zip(counts)
            .enumerate();
        let moved: Vec<f64> = work
            .map(|(number, (((w, reflected), p), counts))| {
                let first = number * block;
                let anchor = anchor.w.get(number * rows..).unwrap_or_default();
                let nodes = NodeBlock { packed, first, w, reflected, p, anchor, counts, next };
                by_width(width, next.is_anchored(), nodes)
            })
            .collect::<Result<_>>()?;
        // Block by block in their order, so that the sum does not depend on threads.
        Ok(moved.iter().sum())
    }

    fn edges(
        &mut self,
        point: &mut PrimalDualPoint,
        anchor: &[f64],
        counts: &mut [f64],
        next: NextPoint,
    ) -> f64 {
        let (problem, reflected, sigmas) = (self.problem, &self.reflected, &self.sigmas);
        let ends = BlockRows { rows: &mut point.p, counts };
        over_counted_tiles(&problem.layout, problem.width, &mut point.u, ends, |tile, u, p, q| {
            let edges = EdgeTile { problem, tile, reflected, sigmas, anchor, u, p, q, next };
            by_width(problem.width, next.is_anchored(), edges)
        })
    }
}
