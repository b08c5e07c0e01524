//! The augmented Lagrangian with semismooth Newton steps, for the norm and quadratic losses: from
//! duals u and a strength σ,
//!
//! ```text
//! w ← argmin Σ L_i(w_i) + Σ_edges M(u + σ Dw),    u ← Π(u + σ Dw),
//! M(v) = (‖v‖² − ‖v − Π(v)‖²) / 2σ,               Π the projection onto the ball of radius c = α A
//! ```
//!
//! The new duals lie in their balls, and what the Newton iteration leaves of the gradient is the
//! residual of the optimality conditions: the pair certifies itself. It converges fast near the
//! minimum and not at all far from it, so it starts where the Halpern iteration stands.
//! [Yuan, Sun and Toh, "An Efficient Semismooth Newton Based Algorithm for Convex Clustering".]

use rayon::prelude::*;

use super::{
    frame::Frame,
    layout::Ends,
    losses::Loss,
    sweep::Point,
    tiles::over_tiles,
    width::{self, Pass, by_width},
};
use crate::{
    algebra::{add_scaled, dot, norm, scale},
    optimum::krylov::{Limit, conjugate_gradient},
};

/// The strength grows by this factor from one round to the next.
const GROWTH: f64 = 3.0;
/// A round lowers the gradient by this factor, and below the last round's by the same.
const ROUND: f64 = 3e-2;
const NEWTON_STEPS: usize = 30;
/// A step has to win this share of what its slope promises.
const SUFFICIENT: f64 = 1e-4;

/// A running iteration.
#[derive(Debug)]
pub(super) struct Augmented<'a> {
    frame: &'a Frame<'a>,
    pub(super) point: Point,
    sigma: f64,
    /// The gradient at the weights; after a round it is what is left of the optimality conditions.
    gradient: Vec<f64>,
    /// `√f v̂` of each edge outside its ball, where the projection's derivative is f (I − v̂ v̂ᵀ), and
    /// zero inside.
    bends: Vec<f64>,
    /// The gradient that the last round was content with.
    goal: f64,
    /// Products with the Hessian so far.
    pub(super) products: usize,
}

impl<'a> Augmented<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, point: Point, sigma: f64) -> Self {
        let bends = vec![0.0; point.u.len()];
        Self {
            frame,
            gradient: vec![0.0; point.w.len()],
            point,
            sigma,
            bends,
            goal: f64::INFINITY,
            products: 0,
        }
    }

    /// One round: weights for these duals, then new duals, and a greater strength; at most so many
    /// products in all.
    pub(super) fn round(&mut self, budget: usize) {
        let mut value = self.evaluate();
        let goal = (ROUND * norm(&self.gradient)).min(ROUND * self.goal).max(1e-15 * self.size());
        self.goal = goal;
        for _ in 0..NEWTON_STEPS {
            let left = norm(&self.gradient);
            let products = budget.saturating_sub(self.products);
            if left <= goal || products == 0 {
                break;
            }
            let direction = self.direction((goal / left).clamp(1e-3, 0.1), products.min(500));
            let Some(lower) = self.search(&direction, value) else { break };
            value = lower;
        }
        self.update_duals();
        self.sigma *= GROWTH;
    }

    /// How large gradients are at this point.
    fn size(&self) -> f64 {
        norm(&self.frame.gradients(&self.point.w)).max(1.0)
    }

    /// The value at the point; leaves the gradient and the bends behind.
    fn evaluate(&mut self) -> f64 {
        let frame = self.frame;
        let (width, layout) = (frame.width, &frame.layout);
        self.gradient = frame.gradients(&self.point.w);
        let (w, u, sigma) = (&self.point.w, &self.point.u, self.sigma);
        let rows = layout.block * width;
        let coupled =
            over_tiles(layout, width, &mut self.bends, &mut self.gradient, |tile, bends, p, q| {
                let range = tile.edges.clone();
                let edges = Edges {
                    ends: &layout.ends[range.clone()],
                    strengths: &frame.strengths[range.clone()],
                    x: w.get(tile.first * rows..).unwrap_or_default(),
                    y: w.get(tile.second * rows..).unwrap_or_default(),
                    u: &u[range.start * width..range.end * width],
                    coupled: frame.losses.coupled,
                    width,
                    sigma,
                    bends,
                    p,
                    q,
                };
                edges.envelope(tile.first == tile.second)
            });
        frame.total_loss(w) + coupled
    }

    /// A Newton direction, to a relative accuracy or by so many products.
    fn direction(&mut self, tolerance: f64, products: usize) -> Vec<f64> {
        let frame = self.frame;
        let diagonal = self.diagonal();
        let shift = 1e-9 * diagonal.iter().fold(0.0, |a: f64, b| a.max(*b)).max(1e-300);
        let apply = |v: &[f64], out: &mut [f64]| self.curved(v, out, shift);
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.par_chunks_mut(frame.width).enumerate().for_each(|(place, out)| {
                let (v, size) = (frame.row(v, place), frame.losses.size);
                inverse(frame.loss(place), diagonal[place] + shift, v, &mut out[..size]);
            });
        };
        let right: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let limit = Limit { tolerance, products };
        let start = vec![0.0; right.len()];
        let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
        self.products += solved.products;
        solved.x
    }

    /// The pull of its edges on each node.
    fn diagonal(&self) -> Vec<f64> {
        let frame = self.frame;
        let mut diagonal = vec![0.0; frame.len()];
        for tile in frame.layout.rounds.iter().flatten() {
            let (first, second) =
                (tile.first * frame.layout.block, tile.second * frame.layout.block);
            for edge in tile.edges.clone() {
                let bend = frame.edge(&self.bends, edge);
                let factor = dot(bend, bend);
                let pull = self.sigma * if factor > 0.0 { factor } else { 1.0 };
                diagonal[first + frame.layout.ends[edge].source as usize] += pull;
                diagonal[second + frame.layout.ends[edge].target as usize] += pull;
            }
        }
        diagonal
    }

    /// `out ← (∇² + shift) v`.
    fn curved(&self, v: &[f64], out: &mut [f64], shift: f64) {
        let frame = self.frame;
        let (width, layout) = (frame.width, &frame.layout);
        out.par_chunks_mut(width).enumerate().for_each(|(place, out)| {
            let row = frame.row(v, place);
            out.fill(0.0);
            let out = &mut out[..frame.losses.size];
            add_scaled(out, shift, row);
            if let Loss::Quadratic(quadratic) = frame.loss(place) {
                quadratic.add_curved(out, row);
            }
        });
        let rows = layout.block * width;
        let (bends, sigma) = (&self.bends, self.sigma);
        over_tiles(layout, width, &mut [], out, |tile, _, p, q| {
            let range = tile.edges.clone();
            let edges = Edges {
                ends: &layout.ends[range.clone()],
                strengths: &[],
                x: v.get(tile.first * rows..).unwrap_or_default(),
                y: v.get(tile.second * rows..).unwrap_or_default(),
                u: &bends[range.start * width..range.end * width],
                coupled: frame.losses.coupled,
                width,
                sigma,
                bends: &mut [],
                p,
                q,
            };
            by_width(width, tile.first == tile.second, edges)
        });
    }

    /// Goes along a direction until the value has fallen enough; none if it does not fall.
    fn search(&mut self, direction: &[f64], value: f64) -> Option<f64> {
        let slope = dot(&self.gradient, direction);
        let start = self.point.w.clone();
        let before = norm(&self.gradient);
        let mut step = 1.0;
        for _ in 0..25 {
            self.point.w.clone_from(&start);
            add_scaled(&mut self.point.w, step, direction);
            let now = self.evaluate();
            // Near the minimum the value's rounding hides its fall; the gradient's fall shows.
            let close = (now - value).abs() <= 1e-12 * value.abs() && norm(&self.gradient) < before;
            if now <= value + SUFFICIENT * step * slope || close {
                return Some(now);
            }
            step *= 0.5;
        }
        self.point.w = start;
        self.evaluate();
        None
    }

    /// `u ← Π(u + σ Dw)`, and p with it.
    fn update_duals(&mut self) {
        let frame = self.frame;
        let (width, layout) = (frame.width, &frame.layout);
        let rows = layout.block * width;
        let (w, sigma, coupled) = (&self.point.w, self.sigma, frame.losses.coupled);
        over_tiles(layout, width, &mut self.point.u, &mut self.point.p, |tile, u, p, q| {
            if tile.first == tile.second {
                p.fill(0.0);
            }
            let ends =
                layout.ends[tile.edges.clone()].iter().zip(&frame.strengths[tile.edges.clone()]);
            for ((ends, c), u) in ends.zip(u.chunks_exact_mut(width)) {
                let (source, target) = (ends.source as usize * width, ends.target as usize * width);
                for k in 0..coupled {
                    u[k] += sigma
                        * (w[tile.first * rows + source + k] - w[tile.second * rows + target + k]);
                }
                frame.penalty.dual_update(u, *c, sigma);
                add_scaled(&mut p[source..source + width], 1.0, u);
                let q = if tile.first == tile.second { &mut *p } else { &mut *q };
                add_scaled(&mut q[target..target + width], -1.0, u);
            }
            0.0
        });
    }
}

/// `out ← (diagonal I + ∇²L)⁻¹ v`.
fn inverse(loss: &Loss, diagonal: f64, v: &[f64], out: &mut [f64]) {
    let ridge = if let Loss::Quadratic(quadratic) = loss { quadratic.ridge } else { 0.0 };
    let outside = 1.0 / (diagonal + 2.0 * ridge);
    out.iter_mut().zip(v).for_each(|(out, v)| *out = outside * v);
    if let Loss::Quadratic(quadratic) = loss {
        for (direction, h, _) in quadratic.terms(v.len()) {
            let part = dot(direction, v);
            add_scaled(out, part * (1.0 / (diagonal + 2.0 * h) - outside), direction);
        }
    }
}

/// What the passes over a tile work on.
struct Edges<'a> {
    ends: &'a [Ends],
    strengths: &'a [f64],
    x: &'a [f64],
    y: &'a [f64],
    u: &'a [f64],
    coupled: usize,
    width: usize,
    sigma: f64,
    bends: &'a mut [f64],
    p: &'a mut [f64],
    q: &'a mut [f64],
}

impl Edges<'_> {
    /// Adds up M and adds `DᵀΠ(v)`; leaves the bends.
    fn envelope(self, diagonal: bool) -> f64 {
        let Edges { ends, strengths, x, y, u, coupled, width, sigma, bends, p, q } = self;
        let mut total = 0.0;
        let mut v = vec![0.0; width];
        for (number, ends) in ends.iter().enumerate() {
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            let u = &u[number * width..(number + 1) * width];
            v.copy_from_slice(u);
            for (k, v) in v.iter_mut().enumerate().take(coupled) {
                *v += sigma * (x[source + k] - y[target + k]);
            }
            let c = strengths[number];
            let size = norm(&v);
            let bend = &mut bends[number * width..(number + 1) * width];
            if size > c {
                total += c * (2.0 * size - c) / (2.0 * sigma);
                let factor = (c / size).sqrt() / size;
                bend.iter_mut().zip(&v).for_each(|(bend, v)| *bend = factor * v);
                scale(&mut v, c / size);
            } else {
                total += size * size / (2.0 * sigma);
                bend.fill(0.0);
            }
            total -= dot(u, u) / (2.0 * sigma);
            add_scaled(&mut p[source..source + width], 1.0, &v);
            let q = if diagonal { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, &v);
        }
        total
    }

    /// The product for rows wider than any pass.
    fn wide(self, diagonal: bool) -> f64 {
        let Edges { ends, x, y, u, coupled, width, sigma, p, q, .. } = self;
        let mut z = vec![0.0; width];
        for (ends, bend) in ends.iter().zip(u.chunks_exact(width)) {
            let (source, target) = (ends.source as usize * width, ends.target as usize * width);
            for (k, z) in z.iter_mut().enumerate().take(coupled) {
                *z = sigma * (x[source + k] - y[target + k]);
            }
            let (along, factor) = (dot(bend, &z), dot(bend, bend));
            let factor = if factor > 0.0 { factor } else { 1.0 };
            z.iter_mut().zip(bend).for_each(|(z, bend)| *z = factor * *z - along * bend);
            add_scaled(&mut p[source..source + width], 1.0, &z);
            let q = if diagonal { &mut *p } else { &mut *q };
            add_scaled(&mut q[target..target + width], -1.0, &z);
            z[coupled..].fill(0.0);
        }
        0.0
    }
}

/// Adds `σ Dᵀ J D x`, with the bends in place of u; the form says whether the tile is on the diagonal.
impl Pass for Edges<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const W: usize, const DIAGONAL: bool>(self) -> f64 {
        if self.width > W {
            return self.wide(DIAGONAL);
        }
        let ((x, _), (y, _)) = (self.x.as_chunks::<W>(), self.y.as_chunks::<W>());
        let ((p, _), (q, _)) = (self.p.as_chunks_mut::<W>(), self.q.as_chunks_mut::<W>());
        let (bends, _) = self.u.as_chunks::<W>();
        let steps: [f64; W] =
            std::array::from_fn(|k| if k < self.coupled { self.sigma } else { 0.0 });
        for (ends, bend) in self.ends.iter().zip(bends) {
            let (source, target) = (ends.source as usize, ends.target as usize);
            let mut z = [0.0; W];
            for k in 0..W {
                z[k] = steps[k] * (x[source][k] - y[target][k]);
            }
            let (along, factor) = (width::dot(bend, &z), width::dot(bend, bend));
            let factor = if factor > 0.0 { factor } else { 1.0 };
            for k in 0..W {
                z[k] = factor * z[k] - along * bend[k];
            }
            for k in 0..W {
                p[source][k] += z[k];
            }
            let row = if DIAGONAL { &mut p[target] } else { &mut q[target] };
            for k in 0..W {
                row[k] -= z[k];
            }
        }
        0.0
    }
}
