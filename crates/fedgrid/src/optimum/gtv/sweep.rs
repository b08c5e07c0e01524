//! One step of the primal-dual method over all nodes and edges, in two passes,
//!
//! ```text
//! nodes   w⁺ = prox_{τ L}(w − τ p)              with p = Dᵀu
//! edges   u⁺ = prox_{σ g*}(u + σ D (2w⁺ − w))   and p anew
//! ```
//!
//! with steps τ = s/|N(i)| and σ = `1/(s_i + s_j)` for positive scales s of the nodes. The next point is
//! `keep · (2z⁺ − z) + pull · z₀` for both w and u with an anchor z₀ (the reflected Halpern iteration), or
//! goes beyond z⁺ by a share of the step. Rows have a width known to the compiler, and the loops are
//! compiled for the processor's wide registers too; neither changes a bit.

use rayon::prelude::*;

use super::{
    edge_pass::Edges,
    frame::Frame,
    node_pass::Nodes,
    packed::Packed,
    tiles::{Block, over_counted_tiles},
    width::by_width,
};
use crate::error::Result;

/// The next point of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// `z⁺` itself.
    Plain,
    /// `z⁺ + beyond · (z⁺ − z)`; what every node and its edges moved by is counted if asked for.
    Relaxed { beyond: f64, counted: bool },
    /// `keep · (2z⁺ − z) + pull · z₀`.
    Anchored { keep: f64, pull: f64 },
}

/// The kinds of next points, for passes that are compiled for each.
pub(super) const PLAIN: u8 = 0;
pub(super) const RELAX: u8 = 1;
pub(super) const ANCHOR: u8 = 2;

impl Next {
    fn is_anchored(self) -> bool {
        matches!(self, Self::Anchored { .. })
    }

    /// The factors of the reflection and of the anchor, or of the step beyond.
    pub(super) fn factors(self) -> (f64, f64) {
        match self {
            Self::Plain => (0.0, 0.0),
            Self::Relaxed { beyond, .. } => (beyond, 0.0),
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
    /// The scales of the nodes, and the steps σ of the edges that follow from them.
    pub(super) scales: Vec<f64>,
    sigmas: Vec<f64>,
    /// For each node, what its weights (times the number of neighbours) and the duals of its edges have
    /// moved by in counted steps, as squares.
    pub(super) counts: Counts,
}

/// Squares that are counted for each node.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) weights: Vec<f64>,
    pub(super) duals: Vec<f64>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(frame: &'a Frame<'a>) -> Self {
        let packed = Packed::new(frame.losses, &frame.layout, frame.width);
        let (scales, sigmas) = (vec![0.0; frame.len()], vec![0.0; frame.strengths.len()]);
        let reflected = vec![0.0; frame.len() * frame.width];
        Self { frame, packed, reflected, scales, sigmas, counts: Counts::default() }
    }

    /// Gives all nodes one scale.
    pub(super) fn set_scale(&mut self, scale: f64) {
        self.set_scales(|_, _| scale);
    }

    /// Gives each node a scale, by its place and the scale that it has.
    pub(super) fn set_scales(&mut self, mut scale_of: impl FnMut(usize, f64) -> f64) {
        for (place, scale) in self.scales.iter_mut().enumerate() {
            let next = scale_of(place, *scale);
            if next.to_bits() != scale.to_bits() {
                *scale = next;
                self.packed.set_scale(place, next);
            }
        }
        let (layout, scales) = (&self.frame.layout, &self.scales);
        let mut left = self.sigmas.as_mut_slice();
        let mut work = Vec::new();
        for tile in layout.rounds.iter().flatten() {
            let (own, rest) = left.split_at_mut(tile.edges.len());
            left = rest;
            work.push((tile, own));
        }
        work.into_par_iter().for_each(|(tile, sigmas)| {
            let first = &scales[tile.first * layout.block..];
            let second = &scales[tile.second * layout.block..];
            for (sigma, ends) in sigmas.iter_mut().zip(&layout.ends[tile.edges.clone()]) {
                *sigma = 1.0 / (first[ends.source as usize] + second[ends.target as usize]);
            }
        });
    }

    /// One step from a point to the next, and by how much `z⁺` differs from z; a plain step leaves the
    /// duals' part out.
    pub(super) fn step(&mut self, point: &mut Point, anchor: &Point, next: Next) -> Result<Moved> {
        let counted = matches!(next, Next::Relaxed { counted: true, .. });
        let Counts { mut weights, mut duals } =
            if counted { std::mem::take(&mut self.counts) } else { Counts::default() };
        let primal = self.nodes(point, anchor, &mut weights, next)?;
        let dual = self.edges(point, &anchor.u, &mut duals, next);
        if counted {
            self.counts = Counts { weights, duals };
        }
        Ok(Moved { primal, dual })
    }

    fn nodes(
        &mut self,
        point: &mut Point,
        anchor: &Point,
        counts: &mut [f64],
        next: Next,
    ) -> Result<f64> {
        let (block, width) = (self.frame.layout.block, self.frame.width);
        let rows = block * width;
        let packed = &self.packed;
        let degrees = &self.frame.layout.degrees;
        let mut counts: Vec<&mut [f64]> = counts.chunks_mut(block).collect();
        counts.resize_with(self.frame.len().div_ceil(block), Default::default);
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
                let nodes = Nodes { packed, degrees, first, w, reflected, p, anchor, counts, next };
                by_width(width, next.is_anchored(), nodes)
            })
            .collect::<Result<_>>()?;
        Ok(moved.iter().sum())
    }

    fn edges(&mut self, point: &mut Point, anchor: &[f64], counts: &mut [f64], next: Next) -> f64 {
        let (width, layout, strengths) =
            (self.frame.width, &self.frame.layout, &self.frame.strengths);
        let sigmas = &self.sigmas;
        let rows = layout.block * width;
        let reflected = &self.reflected;
        let of_block = |block: usize| reflected.get(block * rows..).unwrap_or_default();
        let (penalty, coupled) = (self.frame.penalty, self.frame.losses.coupled);
        let is_all = coupled == self.frame.losses.size;
        let ends = Block { rows: &mut point.p, counts };
        over_counted_tiles(layout, width, &mut point.u, ends, |tile, u, p, q| {
            let range = tile.edges.clone();
            let edges = Edges {
                ends: &layout.ends[range.clone()],
                strengths: &strengths[range.clone()],
                sigmas: &sigmas[range.clone()],
                anchor: anchor.get(range.start * width..range.end * width).unwrap_or_default(),
                diagonal: tile.first == tile.second,
                x: of_block(tile.first),
                y: of_block(tile.second),
                u,
                p,
                q,
                penalty,
                coupled,
                is_all,
                width,
                next,
            };
            by_width(width, next.is_anchored(), edges)
        })
    }
}
