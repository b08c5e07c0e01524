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

use super::{frame::Frame, layout::Ends, packed::Packed, tiles::over_tiles};
use crate::{error::Result, penalty::Penalty};

/// The next point of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// `z⁺` itself.
    Plain,
    /// `keep · (2z⁺ − z) + pull · z₀`.
    Anchored { keep: f64, pull: f64 },
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

/// Calls a kernel for rows of the given width, compiled for the registers that there are.
macro_rules! by_width {
    ($width:expr, $kernel:ident, $flag:expr, $arguments:expr) => {
        match $width {
            1 => by_width!(@call 1, $kernel, $flag, $arguments),
            2 => by_width!(@call 2, $kernel, $flag, $arguments),
            3 => by_width!(@call 3, $kernel, $flag, $arguments),
            4 => by_width!(@call 4, $kernel, $flag, $arguments),
            6 => by_width!(@call 6, $kernel, $flag, $arguments),
            8 => by_width!(@call 8, $kernel, $flag, $arguments),
            10 => by_width!(@call 10, $kernel, $flag, $arguments),
            12 => by_width!(@call 12, $kernel, $flag, $arguments),
            16 => by_width!(@call 16, $kernel, $flag, $arguments),
            24 => by_width!(@call 24, $kernel, $flag, $arguments),
            32 => by_width!(@call 32, $kernel, $flag, $arguments),
            48 => by_width!(@call 48, $kernel, $flag, $arguments),
            _ => by_width!(@call 64, $kernel, $flag, $arguments),
        }
    };
    (@call $width:literal, $kernel:ident, $flag:expr, $arguments:expr) => {{
        let arguments = $arguments;
        if $flag {
            pulp::Arch::new().dispatch(|| $kernel::<$width, true>(arguments))
        } else {
            pulp::Arch::new().dispatch(|| $kernel::<$width, false>(arguments))
        }
    }};
}

pub(super) use by_width;

/// The widths that there are kernels for; wider rows are done in pieces of the last.
const WIDTHS: [usize; 13] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64];

/// The number of numbers that a row of a size is padded to.
pub(super) fn padded(size: usize) -> usize {
    let fitting = WIDTHS.iter().copied().find(|width| *width >= size);
    fitting.unwrap_or_else(|| size.next_multiple_of(64))
}

impl<'a> Sweep<'a> {
    pub(super) fn new(frame: &'a Frame<'a>) -> Self {
        let packed = Packed::new(frame.losses, &frame.layout, frame.width);
        Self { frame, packed, reflected: vec![0.0; frame.len() * frame.width] }
    }

    /// One step from a point to the next, and by how much `z⁺` differs from z.
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
                by_width!(width, node_pass, anchored, nodes)
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
                sigma,
                next,
            };
            by_width!(width, edge_pass, next != Next::Plain, edges)
        })
    }
}

/// What the pass over a block of nodes works on.
struct Nodes<'a> {
    packed: &'a Packed<'a>,
    degrees: &'a [f64],
    first: usize,
    w: &'a mut [f64],
    reflected: &'a mut [f64],
    p: &'a [f64],
    anchor: &'a [f64],
    next: Next,
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled for the processor's registers where it is called"
)]
fn node_pass<const W: usize, const ANCHORED: bool>(nodes: Nodes) -> Result<f64> {
    let Nodes { packed, degrees, first, w, reflected, p, anchor, next } = nodes;
    let pieces = packed.width / W;
    let count = w.len() / packed.width.max(1);
    let mut moved = 0.0;
    let mut target = vec![0.0; packed.width];
    for place in 0..count {
        let row = place * packed.width..(place + 1) * packed.width;
        let node = first + place;
        let (w, x) = (&mut w[row.clone()], &mut reflected[row.clone()]);
        let tau = packed.steps[node];
        for ((target, w), p) in target.iter_mut().zip(&*w).zip(&p[row.clone()]) {
            *target = w - tau * p;
        }
        packed.proximal::<W>(node, &target, x)?;
        let (w, _) = w.as_chunks_mut::<W>();
        let (x, _) = x.as_chunks_mut::<W>();
        let (z, _) = anchor.get(row).unwrap_or_default().as_chunks::<W>();
        let mut sums = [0.0; W];
        for piece in 0..pieces {
            for k in 0..W {
                let new = x[piece][k];
                let step = new - w[piece][k];
                sums[k] += step * step;
                let reflection = new + step;
                x[piece][k] = reflection;
                w[piece][k] = match next {
                    Next::Anchored { keep, pull } if ANCHORED => {
                        keep * reflection + pull * z[piece][k]
                    }
                    _ => new,
                };
            }
        }
        moved += degrees[node].max(1.0) * sums.iter().sum::<f64>();
    }
    Ok(moved)
}

/// What the pass over a tile works on.
struct Edges<'a> {
    ends: &'a [Ends],
    strengths: &'a [f64],
    u: &'a mut [f64],
    anchor: &'a [f64],
    diagonal: bool,
    x: &'a [f64],
    y: &'a [f64],
    p: &'a mut [f64],
    q: &'a mut [f64],
    penalty: Penalty,
    coupled: usize,
    sigma: f64,
    next: Next,
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled for the processor's registers where it is called"
)]
fn edge_pass<const W: usize, const ANCHORED: bool>(edges: Edges) -> f64 {
    if edges.diagonal {
        edges.p.fill(0.0);
        tile_pass::<W, ANCHORED, true>(edges)
    } else {
        tile_pass::<W, ANCHORED, false>(edges)
    }
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled for the processor's registers where it is called"
)]
fn tile_pass<const W: usize, const ANCHORED: bool, const DIAGONAL: bool>(edges: Edges) -> f64 {
    let Edges { ends, strengths, u, anchor, x, y, p, q, penalty, coupled, sigma, next, .. } = edges;
    let pieces = u.len() / (W * ends.len()).max(1);
    if pieces > 1 {
        return wide_pass::<W, DIAGONAL>(
            Edges {
                ends,
                strengths,
                u,
                anchor,
                x,
                y,
                p,
                q,
                penalty,
                coupled,
                sigma,
                next,
                diagonal: DIAGONAL,
            },
            pieces,
        );
    }
    let ((x, _), (y, _)) = (x.as_chunks::<W>(), y.as_chunks::<W>());
    let (u, _) = u.as_chunks_mut::<W>();
    let (z, _) = anchor.as_chunks::<W>();
    let (p, _) = p.as_chunks_mut::<W>();
    let (q, _) = q.as_chunks_mut::<W>();
    let steps: [f64; W] = std::array::from_fn(|k| if k < coupled { sigma } else { 0.0 });
    let mut moved = [0.0; W];
    for (number, (ends, u)) in ends.iter().zip(u).enumerate() {
        let (from, to) = (&x[ends.source as usize], &y[ends.target as usize]);
        let mut new = [0.0; W];
        for k in 0..W {
            new[k] = u[k] + steps[k] * (from[k] - to[k]);
        }
        dual_update::<W>(&mut new, penalty, strengths[number], sigma);
        let mut kept = [0.0; W];
        for k in 0..W {
            let step = new[k] - u[k];
            moved[k] += step * step;
            kept[k] = match next {
                Next::Anchored { keep, pull } if ANCHORED => {
                    keep * (new[k] + step) + pull * z[number][k]
                }
                _ => new[k],
            };
        }
        *u = kept;
        let p_row = &mut p[ends.source as usize];
        for k in 0..W {
            p_row[k] += kept[k];
        }
        let q_row =
            if DIAGONAL { &mut p[ends.target as usize] } else { &mut q[ends.target as usize] };
        for k in 0..W {
            q_row[k] -= kept[k];
        }
    }
    moved.iter().sum()
}

/// The pass for rows of several pieces.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled for the processor's registers where it is called"
)]
fn wide_pass<const W: usize, const DIAGONAL: bool>(edges: Edges, pieces: usize) -> f64 {
    let Edges { ends, strengths, u, anchor, x, y, p, q, penalty, coupled, sigma, next, .. } = edges;
    let width = W * pieces;
    let mut new = vec![0.0; width];
    let mut moved = [0.0; W];
    for (number, (ends, u)) in ends.iter().zip(u.chunks_exact_mut(width)).enumerate() {
        let (source, target) = (ends.source as usize * width, ends.target as usize * width);
        let (from, to) = (&x[source..source + width], &y[target..target + width]);
        for k in 0..coupled {
            new[k] = u[k] + sigma * (from[k] - to[k]);
        }
        penalty.dual_update(&mut new, strengths[number], sigma);
        let z = anchor.get(number * width..(number + 1) * width).unwrap_or_default();
        for k in 0..width {
            let step = new[k] - u[k];
            moved[k % W] += step * step;
            u[k] = match next {
                Next::Anchored { keep, pull } => keep * (new[k] + step) + pull * z[k],
                Next::Plain => new[k],
            };
        }
        p[source..source + width].iter_mut().zip(&*u).for_each(|(p, u)| *p += u);
        let q = if DIAGONAL { &mut *p } else { &mut *q };
        q[target..target + width].iter_mut().zip(&*u).for_each(|(q, u)| *q -= u);
    }
    moved.iter().sum()
}

/// [`Penalty::dual_update`] for a row in registers.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled for the processor's registers where it is called"
)]
fn dual_update<const W: usize>(v: &mut [f64; W], penalty: Penalty, c: f64, sigma: f64) {
    match penalty {
        Penalty::Norm => {
            let mut squares = [0.0; 4];
            for k in 0..W {
                squares[k % 4] += v[k] * v[k];
            }
            let size = ((squares[0] + squares[1]) + (squares[2] + squares[3])).sqrt();
            let factor = if size > c { c / size } else { 1.0 };
            for v in v {
                *v *= factor;
            }
        }
        Penalty::SquaredNorm => {
            let factor = 1.0 / (1.0 + sigma / c);
            for v in v {
                *v *= factor;
            }
        }
        Penalty::OneNorm => {
            for v in v {
                *v = v.clamp(-c, c);
            }
        }
    }
}
