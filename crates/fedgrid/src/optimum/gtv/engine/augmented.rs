//! The augmented Lagrangian with semismooth Newton steps, for the norm and losses that tell their second
//! derivative: from duals u and a strength σ,
//!
//! ```text
//! w ← argmin Σ L_i(w_i) + Σ_edges M(u + σ Dw),    u ← Π(u + σ Dw),
//! M(v) = (‖v‖² − ‖v − Π(v)‖²) / 2σ,               Π the projection onto the ball of radius c = α A
//! ```
//!
//! The new duals lie in their balls, and what the Newton iteration leaves of the gradient is the
//! residual of the optimality conditions: the pair certifies itself. It converges fast near the
//! minimum and slowly far from it. Where first-order steps cost little (quadratic losses) it starts where they
//! stand; where each is a minimisation at every node (other losses) it starts at once.
//! [Yuan, Sun and Toh, "An Efficient Semismooth Newton Based Algorithm for Convex Clustering", for quadratic
//! losses; others have their second derivative at the present weights in its place.]

use std::{array, borrow::Cow};

use super::{Engine, EngineKind, StepEnd, curvatures::Curvatures};
use crate::{
    algebra::{add_scaled, dot, norm, row_dot, scale},
    error::Result,
    optimum::{
        gtv::{
            kernel::{
                layout::Tile,
                operators::project_duals,
                tiles::over_tiles,
                width::{WidthPass, by_width},
            },
            problem::{GtvProblem, PrimalDualPoint},
        },
        krylov::{Limit, conjugate_gradient},
    },
};

/// The strength σ of the first round, times the scale s of the primal-dual steps before it: five times
/// their σ = 1/2s.
const FIRST_STRENGTH: f64 = 2.5;
/// The strength grows by this factor from one round to the next.
const STRENGTH_GROWTH: f64 = 3.0;
/// A round lowers the gradient by this factor, and below the last round's by the same.
const ROUND_FALL: f64 = 3e-2;
/// Where gradients are this share of those of the losses, rounding is all that is left.
const LEAST_GRADIENT: f64 = 1e-15;
/// Newton steps of a round at most,
const MAX_NEWTON_STEPS: usize = 30;
/// each with at most so many products: a direction that needs more is not worth its time.
const MAX_PRODUCTS: usize = 500;
/// The share of what its slope promises that a step has to win (Armijo's rule, with his usual share).
const SUFFICIENT_SHARE: f64 = 1e-4;
/// Halvings of a step at most.
const MAX_HALVINGS: usize = 25;
/// What is added to the Hessian relative to its largest pull: without rows or ridge it may be singular.
const HESSIAN_SHIFT: f64 = 1e-9;
/// How many rounds are tried in a row,
const MAX_ROUNDS: usize = 12;
/// and after how many the gap has to be halved in each: the strength has to grow before a round gains.
const PATIENT_ROUNDS: usize = 5;

/// A running iteration.
#[derive(Debug)]
pub(crate) struct Augmented<'a> {
    problem: &'a GtvProblem<'a>,
    pub(super) point: PrimalDualPoint,
    sigma: f64,
    /// The gradient at the weights; after a round it is what is left of the optimality conditions.
    gradient: Vec<f64>,
    /// `√f v̂` of each edge outside its ball, where the projection's derivative is f (I − v̂ v̂ᵀ), and
    /// zero inside.
    bends: Vec<f64>,
    /// The gradient that the last round was content with.
    goal: f64,
    /// Products with the Hessian so far.
    products: usize,
    rounds: usize,
    /// What it is called with the steps before it.
    kind: EngineKind,
}

impl<'a> Augmented<'a> {
    /// From a point to which primal-dual steps of a scale have led, or would start from.
    pub(super) fn new(
        problem: &'a GtvProblem<'a>,
        point: PrimalDualPoint,
        scale: f64,
        kind: EngineKind,
    ) -> Self {
        let bends = vec![0.0; point.u.len()];
        Self {
            problem,
            gradient: vec![0.0; point.w.len()],
            point,
            sigma: FIRST_STRENGTH / scale,
            bends,
            goal: f64::INFINITY,
            products: 0,
            rounds: 0,
            kind,
        }
    }

    /// Weights for these duals, then new duals, and a greater strength; at most so many products.
    fn round(&mut self, budget: usize) {
        let mut value = self.evaluate();
        let goal = (ROUND_FALL * norm(&self.gradient)).min(ROUND_FALL * self.goal);
        let goal = goal.max(LEAST_GRADIENT * self.size());
        self.goal = goal;
        // Products of earlier rounds do not count against this one's.
        let end = self.products.saturating_add(budget);
        for _ in 0..MAX_NEWTON_STEPS {
            let left = norm(&self.gradient);
            let products = end.saturating_sub(self.products);
            if left <= goal || products == 0 {
                break;
            }
            let limit = Limit {
                tolerance: (goal / left).clamp(1e-3, 0.1),
                products: products.min(MAX_PRODUCTS),
            };
            let direction = self.direction(limit);
            let Some(lower) = direction.and_then(|along| self.search(&along, value)) else { break };
            value = lower;
        }
        self.update_duals();
        self.sigma *= STRENGTH_GROWTH;
    }

    /// How large gradients are at this point.
    fn size(&self) -> f64 {
        norm(&self.problem.gradients(&self.point.w)).max(1.0)
    }

    /// The value at the point; leaves the gradient and the bends behind.
    fn evaluate(&mut self) -> f64 {
        let problem = self.problem;
        self.gradient = problem.gradients(&self.point.w);
        let (v, u, sigma) = (&self.point.w, &self.point.u, self.sigma);
        let (edges, ends) = (&mut self.bends, &mut self.gradient);
        let envelopes =
            over_tiles(&problem.layout, problem.width, edges, ends, |tile, bends, p, q| {
                NewtonTile { problem, tile, sigma, v, u, p, q }.envelope(bends)
            });
        problem.total_loss(v) + envelopes
    }

    /// A Newton direction; none if a loss does not tell its second derivative.
    fn direction(&mut self, limit: Limit) -> Option<Vec<f64>> {
        let curvatures = Curvatures::at(self.problem, &self.point.w)?;
        let diagonal = self.diagonal();
        let shift = HESSIAN_SHIFT * diagonal.iter().fold(0.0, |a: f64, b| a.max(*b)).max(1e-300);
        let blocks = curvatures.blocks(&diagonal, shift)?;
        let apply = |v: &[f64], out: &mut [f64]| {
            curvatures.product(v, shift, out);
            self.add_bent(v, out);
        };
        let precondition = |v: &[f64], out: &mut [f64]| blocks.solve(v, out);
        let right: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let start = vec![0.0; right.len()];
        let solved = conjugate_gradient(&apply, &precondition, &right, start, limit);
        self.products += solved.products;
        Some(solved.x)
    }

    /// The pull of its edges on each node.
    fn diagonal(&self) -> Vec<f64> {
        let problem = self.problem;
        let mut diagonal = vec![0.0; problem.len()];
        for (edge, from, to) in problem.layout.edge_ends() {
            let bend = problem.edge(&self.bends, edge);
            let factor = dot(bend, bend);
            // Inside its ball a dual is not bent: its derivative is the identity.
            let pull = self.sigma * if factor > 0.0 { factor } else { 1.0 };
            diagonal[from] += pull;
            diagonal[to] += pull;
        }
        diagonal
    }

    /// Adds `σ Dᵀ J D v`, what edges curve.
    fn add_bent(&self, v: &[f64], out: &mut [f64]) {
        let (problem, width) = (self.problem, self.problem.width);
        let (u, sigma) = (&self.bends, self.sigma);
        over_tiles(&problem.layout, width, &mut [], out, |tile, _, p, q| {
            let edges = NewtonTile { problem, tile, sigma, v, u, p, q };
            by_width(width, tile.is_diagonal(), edges);
            0.0
        });
    }

    /// Goes along a direction until the value has fallen enough; none if it does not fall.
    fn search(&mut self, direction: &[f64], value: f64) -> Option<f64> {
        let slope = dot(&self.gradient, direction);
        let start = self.point.w.clone();
        let before = norm(&self.gradient);
        let mut step = 1.0;
        for _ in 0..MAX_HALVINGS {
            self.point.w.clone_from(&start);
            add_scaled(&mut self.point.w, step, direction);
            let now = self.evaluate();
            // Near the minimum the value's rounding hides its fall; the gradient's fall shows.
            let close = (now - value).abs() <= 1e-12 * value.abs() && norm(&self.gradient) < before;
            if now <= value + SUFFICIENT_SHARE * step * slope || close {
                return Some(now);
            }
            step *= 0.5;
        }
        // The gradient and the bends have to be those of the weights again.
        self.point.w = start;
        self.evaluate();
        None
    }

    /// `u ← Π(u + σ Dw)`, and p with it.
    fn update_duals(&mut self) {
        let (problem, PrimalDualPoint { w, u, .. }) = (self.problem, &mut self.point);
        for (edge, from, to) in problem.layout.edge_ends() {
            let (from, to) = (problem.row(w, from), problem.row(w, to));
            let u = &mut u[edge * problem.width..][..problem.losses.coupled];
            for ((u, from), to) in u.iter_mut().zip(from).zip(to) {
                *u += self.sigma * (from - to);
            }
        }
        project_duals(problem, &mut self.point);
    }
}

impl Engine for Augmented<'_> {
    fn step(&mut self, products: usize) -> Result<StepEnd> {
        self.round(products);
        self.rounds += 1;
        Ok(StepEnd::Due)
    }

    fn steps(&self) -> usize {
        self.products
    }

    fn point(&self) -> (Cow<'_, PrimalDualPoint>, EngineKind) {
        (Cow::Borrowed(&self.point), self.kind)
    }

    fn is_stalled(&self, before: f64, after: f64) -> bool {
        self.rounds == MAX_ROUNDS || self.rounds > PATIENT_ROUNDS && after > 0.5 * before
    }
}

/// What the passes over a tile work on.
struct NewtonTile<'a> {
    problem: &'a GtvProblem<'a>,
    tile: &'a Tile,
    sigma: f64,
    /// A row of each node, and the dual or the bend of each edge.
    v: &'a [f64],
    u: &'a [f64],
    /// The rows of the tile's two blocks of nodes that are added to.
    p: &'a mut [f64],
    q: &'a mut [f64],
}

impl NewtonTile<'_> {
    /// Calls a function with each edge, its row of u, and σ (Dv) added to a row; what the function leaves
    /// of that row is added to the ends.
    fn each(self, mut work: impl FnMut(usize, &[f64], &mut [f64])) {
        let Self { problem, tile, sigma, v, u, p, q } = self;
        let (x, y) = (problem.block(v, tile.first), problem.block(v, tile.second));
        let mut z = vec![0.0; problem.width];
        for edge in tile.edges.clone() {
            let ends = problem.layout.ends[edge];
            let (source, target) = ends.offsets(problem.width);
            z.fill(0.0);
            for (k, z) in z.iter_mut().enumerate().take(problem.losses.coupled) {
                *z = sigma * (x[source + k] - y[target + k]);
            }
            work(edge, &u[edge * problem.width..][..problem.width], &mut z);
            ends.scatter(&z, p, q, tile.is_diagonal());
        }
    }

    /// Adds up M and adds `DᵀΠ(v)`; leaves the bends of the tile's edges.
    fn envelope(self, bends: &mut [f64]) -> f64 {
        let (problem, sigma) = (self.problem, self.sigma);
        let mut bends = bends.chunks_exact_mut(problem.width);
        let mut total = 0.0;
        self.each(|edge, u, v| {
            add_scaled(v, 1.0, u);
            let (c, size) = (problem.strengths[edge], norm(v));
            let bend = bends.next().expect("every edge has a bend");
            if size > c {
                total += c * (2.0 * size - c) / (2.0 * sigma);
                // The root, so that one row holds both the factor f and the direction v̂.
                let factor = (c / size).sqrt() / size;
                bend.iter_mut().zip(&*v).for_each(|(bend, v)| *bend = factor * v);
                scale(v, c / size);
            } else {
                total += size * size / (2.0 * sigma);
                bend.fill(0.0);
            }
            total -= dot(u, u) / (2.0 * sigma);
        });
        total
    }
}

/// Adds `σ Dᵀ J D v`, with the bends in place of u; the form says whether the tile is on the diagonal.
impl WidthPass for NewtonTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const W: usize, const DIAGONAL: bool>(self) {
        let (problem, range) = (self.problem, self.tile.edges.clone());
        if problem.width > W {
            return self.each(|_, bend, z| {
                let (along, factor) = (dot(bend, z), dot(bend, bend));
                let factor = if factor > 0.0 { factor } else { 1.0 };
                z.iter_mut().zip(bend).for_each(|(z, bend)| *z = factor * *z - along * bend);
            });
        }
        let (x, _) = problem.block(self.v, self.tile.first).as_chunks::<W>();
        let (y, _) = problem.block(self.v, self.tile.second).as_chunks::<W>();
        let ((p, _), (q, _)) = (self.p.as_chunks_mut::<W>(), self.q.as_chunks_mut::<W>());
        let (bends, _) = self.u.as_chunks::<W>();
        let coupled = problem.losses.coupled;
        let steps: [f64; W] = array::from_fn(|k| if k < coupled { self.sigma } else { 0.0 });
        for (ends, bend) in problem.layout.ends[range.clone()].iter().zip(&bends[range]) {
            let (from, to) = (x[ends.source as usize], y[ends.target as usize]);
            let z: [f64; W] = array::from_fn(|k| steps[k] * (from[k] - to[k]));
            let (along, factor) = (row_dot(bend, &z), row_dot(bend, bend));
            let factor = if factor > 0.0 { factor } else { 1.0 };
            let z: [f64; W] = array::from_fn(|k| factor * z[k] - along * bend[k]);
            let row = &mut p[ends.source as usize];
            (0..W).for_each(|k| row[k] += z[k]);
            let row =
                if DIAGONAL { &mut p[ends.target as usize] } else { &mut q[ends.target as usize] };
            (0..W).for_each(|k| row[k] -= z[k]);
        }
    }
}
