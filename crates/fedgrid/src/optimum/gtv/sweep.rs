//! One step of the primal-dual method over all nodes and edges, in two passes,
//!
//! ```text
//! nodes   w⁺ = prox_{τ L}(w − τ p)              with p = Dᵀu
//! edges   u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))   and p anew
//! ```
//!
//! after which the next point is `keep · (2z⁺ − z) + pull · z₀` for both w and u: with an anchor z₀ this
//! is the reflected Halpern iteration, and a plain step is z⁺ itself. Rows have a width known to the
//! compiler, and the loops are compiled for the processor's wide registers too; neither changes a bit.

use rayon::prelude::*;

use super::{
    edge_pass::Edges, frame::Frame, node_pass::Nodes, packed::Packed, tiles::over_tiles,
    width::by_width,
};
use crate::error::Result;

/// The next point of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// `z⁺` itself.
    Plain,
    /// `keep · (2z⁺ − z) + pull · z₀`.
    Anchored { keep: f64, pull: f64 },
}

impl Next {
    /// The factors of the reflection and of the anchor.
    pub(super) fn factors(self) -> (f64, f64) {
        match self {
            Self::Plain => (1.0, 0.0),
            Self::Anchored { keep, pull } => (keep, pull),
        }
    }
}

/// Where an iteration stands: rows in the order of the layout.
#[derive(Debug, Clone, Default)]
pub(super) struct Point {
    pub(super) w: Vec<f64>,
    pub(super) u: Vec<f64>,
    /// `p = Dᵀu`.
    pub(super) p: Vec<f64>,
}

/// The squares of a step: of the primal in the metric of degrees, and of the dual.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) primal: f64,
    pub(super) dual: f64,
}

/// The two passes over one network.
#[derive(Debug)]
pub(super) struct Sweep<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) packed: Packed<'a>,
    /// `2w⁺ − w` of the last step.
    pub(super) reflected: Vec<f64>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(frame: &'a Frame<'a>) -> Self {
        let packed = Packed::new(frame.losses, &frame.layout, frame.width);
        Self { frame, packed, reflected: vec![0.0; frame.len() * frame.width] }
    }

    /// One step from a point to the next, and by how much `z⁺` differs from z; a plain step leaves the
    /// duals' part out.
    pub(super) fn step(
        &mut self,
        point: &mut Point,
        anchor: &Point,
        scale: f64,
        next: Next,
    ) -> Result<Moved> {
        let primal = self.nodes(point, anchor, next)?;
        let dual = self.edges(point, &anchor.u, 1.0 / (2.0 * scale), next);
        Ok(Moved { primal, dual })
    }

    fn nodes(&mut self, point: &mut Point, anchor: &Point, next: Next) -> Result<f64> {
        let (block, width) = (self.frame.layout.block, self.frame.width);
        let rows = block * width;
        let packed = &self.packed;
        let degrees = &self.frame.layout.degrees;
        let anchored = next != Next::Plain;
        let work = point
            .w
            .par_chunks_mut(rows)
            .zip(self.reflected.par_chunks_mut(rows))
            .zip(point.p.par_chunks(rows))
            .enumerate();
        let moved: Vec<f64> = work
            .map(|(number, ((w, reflected), p))| {
                let first = number * block;
                let anchor = anchor.w.get(number * rows..).unwrap_or_default();
                let nodes = Nodes { packed, degrees, first, w, reflected, p, anchor, next };
                by_width(width, anchored, nodes)
            })
            .collect::<Result<_>>()?;
        Ok(moved.iter().sum())
    }

    fn edges(&mut self, point: &mut Point, anchor: &[f64], sigma: f64, next: Next) -> f64 {
        let (width, layout, strengths) =
            (self.frame.width, &self.frame.layout, &self.frame.strengths);
        let rows = layout.block * width;
        let reflected = &self.reflected;
        let of_block = |block: usize| reflected.get(block * rows..).unwrap_or_default();
        let (penalty, coupled) = (self.frame.penalty, self.frame.losses.coupled);
        over_tiles(layout, width, &mut point.u, &mut point.p, |tile, u, p, q| {
            let range = tile.edges.clone();
            let edges = Edges {
                ends: &layout.ends[range.clone()],
                strengths: &strengths[range.clone()],
                anchor: anchor.get(range.start * width..range.end * width).unwrap_or_default(),
                diagonal: tile.first == tile.second,
                x: of_block(tile.first),
                y: of_block(tile.second),
                u,
                p,
                q,
                penalty,
                coupled,
                width,
                sigma,
                next,
            };
            by_width(width, next != Next::Plain, edges)
        })
    }
}
