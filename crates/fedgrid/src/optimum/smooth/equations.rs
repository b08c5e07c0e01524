//! The equations at one strength, and their linear form at given second derivatives.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Curvatures, SmoothAnchor, SmoothNetwork, coarse::Coarse, rows::Derivatives};
use crate::{
    algebra::{Cholesky, add_scaled, dot, norm, scale, squared_distance},
    model::{Curvature, Link},
    network::Network,
    optimum::krylov::{Limit, SplitSystem, gmres},
};

/// Numbers of second derivatives that are worth a task.
const TASK_NUMBERS: usize = 20_000;
/// What is added to the diagonal of a block relative to its largest entry, where it is singular.
const DIAGONAL_SHIFT: f64 = 1e-12;
/// A visit ends where this share of the gradient is left: neighbours move, too.
const VISIT_SHARE: f64 = 0.01;
/// Steps of a visit at most; a far start takes about ten.
const MOST_VISIT_STEPS: usize = 25;
/// The shortest step of a visit, below which rounding decides.
const LEAST_STEP: f64 = 1e-9;

/// The equations of a network at one strength.
pub(super) struct Equations<'a> {
    pub(super) smooth: &'a SmoothNetwork,
    pub(super) network: &'a Network,
    pub(super) alpha: f64,
    anchor: Option<&'a SmoothAnchor>,
    /// The public gradient at the anchor of each node, with canonical links.
    anchored: Vec<f64>,
    is_coupled: &'a [bool],
    /// The weight of all that pull at each node.
    pulls: Vec<f64>,
    /// Nodes per task.
    task: usize,
    neutral: Vec<f64>,
}

impl<'a> Equations<'a> {
    pub(super) fn new(
        smooth: &'a SmoothNetwork,
        network: &'a Network,
        alpha: f64,
        anchor: Option<&'a SmoothAnchor>,
        is_coupled: &'a [bool],
    ) -> Self {
        let hub = anchor.map_or(0.0, |anchor| anchor.weight);
        let pulls = (0..network.len()).map(|node| network.degree(node) + hub).collect();
        let task = TASK_NUMBERS.div_ceil((smooth.size * smooth.size).max(1)).max(1);
        let neutral = smooth.neutral_label();
        let (anchored, network) = (Vec::new(), network);
        let mut equations =
            Self { smooth, network, alpha, anchor, anchored, is_coupled, pulls, task, neutral };
        if let (Some(anchor), Link::Canonical) = (anchor, smooth.link) {
            equations.anchored = equations.public_gradients(&anchor.weights);
        }
        equations
    }

    /// The part of a node in weights, gradients and the like.
    fn own<'b>(&self, all: &'b [f64], node: usize) -> &'b [f64] {
        &all[node * self.smooth.size..(node + 1) * self.smooth.size]
    }

    /// Does something with the part of every coupled node; the others are zero.
    fn each(&self, out: &mut [f64], act: impl Fn(usize, &mut [f64]) + Sync) {
        let size = self.smooth.size.max(1);
        let tasks = out.par_chunks_mut(self.task * size).enumerate();
        tasks.for_each(|(first, some)| {
            for (node, own) in (first * self.task..).zip(some.chunks_exact_mut(size)) {
                if self.is_coupled[node] {
                    act(node, own);
                } else {
                    own.fill(0.0);
                }
            }
        });
    }

    /// The gradients of the mean loss on the public points, for labels that say nothing.
    fn public_gradients(&self, weights: &[f64]) -> Vec<f64> {
        let mut gradients = vec![0.0; weights.len()];
        self.each(&mut gradients, |node, out| {
            let (public, model) = (&self.smooth.public, self.smooth.model(node));
            let outputs = public.outputs(self.own(weights, node));
            let label = |_| &self.neutral[..];
            let derivatives = public.derivatives(model, &outputs, label, Curvature::Exact);
            out.fill(0.0);
            public.add_gradient(&derivatives, 1.0, out);
        });
        gradients
    }

    /// What pulls at a node while its neighbours stay: the weighted sum of public gradients, or of outputs that are
    /// predictions their weighted mean at every point.
    fn pulling(&self, weights: &[f64], gradients: &[f64], node: usize) -> Vec<f64> {
        let (all, anchors) = match self.smooth.link {
            Link::Canonical => (gradients, &self.anchored[..]),
            Link::Identity => (weights, self.anchor.map_or(&[][..], |anchor| &anchor.weights)),
        };
        let mut sum = vec![0.0; self.smooth.size];
        for &(neighbour, weight) in self.network.neighbours(node) {
            add_scaled(&mut sum, weight, self.own(all, neighbour));
        }
        if let Some(anchor) = self.anchor {
            add_scaled(&mut sum, anchor.weight, self.own(anchors, node));
        }
        match self.smooth.link {
            Link::Canonical => sum,
            Link::Identity => {
                scale(&mut sum, 1.0 / self.pulls[node].max(f64::MIN_POSITIVE));
                self.smooth.public.outputs(&sum)
            }
        }
    }

    /// What a node minimises while its neighbours stay.
    fn local(&self, node: usize, at: &[f64], pulling: &[f64], kind: Curvature) -> Local {
        let (part, model) = (&self.smooth.nodes[node], self.smooth.model(node));
        let (points, task) = (&self.smooth.public, self.smooth.task.outputs());
        let label = |row: usize| &part.labels[row * task..(row + 1) * task];
        let own = part.rows.derivatives(model, &part.rows.outputs(at), label, kind);
        let outputs = points.outputs(at);
        let public = match self.smooth.link {
            Link::Canonical => points.derivatives(model, &outputs, |_| &self.neutral[..], kind),
            Link::Identity => points.derivatives(model, &outputs, |row| &pulling[row..=row], kind),
        };
        let pull = self.alpha * self.pulls[node];
        let mut gradient = vec![0.0; at.len()];
        let mut value = own.value + pull * public.value;
        part.rows.add_gradient(&own, 1.0, &mut gradient);
        points.add_gradient(&public, pull, &mut gradient);
        for k in self.slopes() {
            gradient[k] += 2.0 * model.ridge() * at[k];
            value += model.ridge() * at[k] * at[k];
        }
        if self.smooth.link == Link::Canonical {
            add_scaled(&mut gradient, -self.alpha, pulling);
            value -= self.alpha * dot(at, pulling);
        }
        Local { value, gradient, own, public }
    }

    /// The public gradients that neighbours hear of, where they do.
    fn heard(&self, weights: &[f64]) -> Vec<f64> {
        match self.smooth.link {
            Link::Canonical => self.public_gradients(weights),
            Link::Identity => Vec::new(),
        }
    }

    /// The left sides G.
    pub(super) fn left(&self, weights: &[f64]) -> Vec<f64> {
        let gradients = self.heard(weights);
        let mut left = vec![0.0; weights.len()];
        self.each(&mut left, |node, out| {
            let pulling = self.pulling(weights, &gradients, node);
            out.copy_from_slice(
                &self.local(node, self.own(weights, node), &pulling, Curvature::Exact).gradient,
            );
        });
        left
    }

    /// The indices of the weights that a ridge pulls at.
    fn slopes(&self) -> impl Iterator<Item = usize> {
        let (size, width, columns) =
            (self.smooth.size, self.smooth.width.max(1), self.smooth.names.len());
        (0..size).filter(move |k| k % width < columns)
    }

    /// The second derivatives of own and of public losses.
    pub(super) fn curvatures(&self, weights: &[f64]) -> Curvatures {
        let gradients = self.heard(weights);
        let of_node = |node: usize| {
            if !self.is_coupled[node] {
                return (Vec::new(), Vec::new());
            }
            let pulling = self.pulling(weights, &gradients, node);
            self.curvature(
                node,
                &self.local(node, self.own(weights, node), &pulling, Curvature::Exact),
            )
        };
        (0..self.network.len()).into_par_iter().map(of_node).collect()
    }

    fn curvature(&self, node: usize, local: &Local) -> (Vec<f64>, Vec<f64>) {
        let size = self.smooth.size;
        let (mut own, mut public) = (vec![0.0; size * size], vec![0.0; size * size]);
        self.smooth.nodes[node].rows.add_hessian(&local.own, &mut own);
        self.slopes().for_each(|k| own[k * (size + 1)] += 2.0 * self.smooth.model(node).ridge());
        self.smooth.public.add_hessian(&local.public, &mut public);
        (own, public)
    }

    /// One round of visits: every node goes down to about its minimum while its neighbours stay.
    pub(super) fn visited(&self, weights: &[f64]) -> Vec<f64> {
        let gradients = self.heard(weights);
        let mut next = weights.to_vec();
        let size = self.smooth.size.max(1);
        next.par_chunks_mut(size).enumerate().filter(|(node, _)| self.is_coupled[*node]).for_each(
            |(node, at)| {
                let pulling = self.pulling(weights, &gradients, node);
                self.visit(node, at, &pulling);
            },
        );
        next
    }

    /// Goes down to about the minimum of a node by damped Newton steps.
    fn visit(&self, node: usize, at: &mut [f64], pulling: &[f64]) {
        let mut here = self.local(node, at, pulling, Curvature::Above);
        let enough = VISIT_SHARE * norm(&here.gradient);
        for _ in 0..MOST_VISIT_STEPS {
            if norm(&here.gradient) <= enough {
                return;
            }
            let (own, public) = self.curvature(node, &here);
            let factor = self.factor(node, &own, &public);
            let mut step = here.gradient.clone();
            factor.solve(&mut step);
            scale(&mut step, -1.0);
            let slope = dot(&step, &here.gradient);
            let mut length = 1.0;
            let next = loop {
                let mut next = at.to_vec();
                add_scaled(&mut next, length, &step);
                let there = self.local(node, &next, pulling, Curvature::Above);
                // Armijo's rule, with his usual share.
                if there.value <= here.value + 1e-4 * length * slope {
                    break Some((next, there));
                }
                length *= 0.5;
                if length < LEAST_STEP {
                    break None;
                }
            };
            let Some((next, there)) = next else { return };
            at.copy_from_slice(&next);
            here = there;
        }
    }

    /// The factor of a node's block.
    fn factor(&self, node: usize, own: &[f64], public: &[f64]) -> Cholesky {
        let mut block = own.to_vec();
        add_scaled(&mut block, self.alpha * self.pulls[node], public);
        self.fill_common_shift(&mut block);
        factored(block, self.smooth.size)
    }
}

/// What a node minimises while its neighbours stay, at some weights.
struct Local {
    value: f64,
    gradient: Vec<f64>,
    own: Derivatives,
    public: Derivatives,
}

/// The equations with second derivatives that are held: D with its factors, and what couples nodes.
pub(super) struct Linearised<'a> {
    equations: &'a Equations<'a>,
    curvatures: Arc<Curvatures>,
    factors: Vec<Option<Cholesky>>,
    coarse: Option<Coarse>,
}

impl<'a> Linearised<'a> {
    pub(super) fn new(equations: &'a Equations<'a>, curvatures: &Arc<Curvatures>) -> Self {
        let factor = |(node, (own, public)): (usize, &(Vec<f64>, Vec<f64>))| {
            equations.is_coupled[node].then(|| equations.factor(node, own, public))
        };
        let factors = curvatures.par_iter().enumerate().map(factor).collect();
        let coarse = Coarse::new(equations, curvatures);
        Self { equations, curvatures: curvatures.clone(), factors, coarse }
    }

    /// About the step that solves the equations.
    pub(super) fn step(&self, left: &[f64], limit: Limit) -> Vec<f64> {
        let right: Vec<f64> = left.iter().map(|g| -g).collect();
        let apply = |v: &[f64], out: &mut [f64]| self.apply(v, out);
        let precondition = |v: &[f64], out: &mut [f64]| self.precondition(v, out);
        let both = |v: &[f64], out: &mut [f64]| {
            let mut solved = vec![0.0; v.len()];
            self.precondition(v, &mut solved);
            self.apply(&solved, out);
        };
        let split = SplitSystem { apply: &apply, precondition: &precondition, both: &both };
        let start = vec![0.0; right.len()];
        let mut step = gmres(&split, &right, start, limit).x;
        self.remove_common_shift(&mut step);
        step
    }

    /// `out ← J v`
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        let equations = self.equations;
        let (alpha, network) = (equations.alpha, equations.network);
        let shared = match equations.smooth.link {
            Link::Canonical => self.public_products(v),
            Link::Identity => Vec::new(),
        };
        equations.each(out, |node, out| {
            let (own, public) = &self.curvatures[node];
            multiply(own, equations.own(v, node), out);
            let mut pulled = vec![0.0; out.len()];
            // Differences, so that what all nodes have in common is not lost in rounding.
            let from = if shared.is_empty() { v } else { &shared };
            for &(neighbour, weight) in network.neighbours(node) {
                let pairs = equations.own(from, node).iter().zip(equations.own(from, neighbour));
                pulled.iter_mut().zip(pairs).for_each(|(out, (a, b))| *out += weight * (a - b));
            }
            if let Some(anchor) = equations.anchor {
                add_scaled(&mut pulled, anchor.weight, equations.own(from, node));
            }
            if shared.is_empty() {
                let mut product = vec![0.0; out.len()];
                multiply(public, &pulled, &mut product);
                pulled = product;
            }
            add_scaled(out, alpha, &pulled);
        });
    }

    /// `K_j v_j` of every node.
    fn public_products(&self, v: &[f64]) -> Vec<f64> {
        let mut products = vec![0.0; v.len()];
        self.equations.each(&mut products, |node, out| {
            multiply(&self.curvatures[node].1, self.equations.own(v, node), out);
        });
        products
    }

    /// `out ← c + D⁻¹ (v − J c)`, c being what connected nodes have in common, or `D⁻¹ v` without it.
    fn precondition(&self, v: &[f64], out: &mut [f64]) {
        let Some(coarse) = &self.coarse else { return self.solve(v, out) };
        let common = coarse.solve(v);
        let mut rest = vec![0.0; v.len()];
        self.apply(&common, &mut rest);
        rest.iter_mut().zip(v).for_each(|(rest, v)| *rest = v - *rest);
        self.solve(&rest, out);
        add_scaled(out, 1.0, &common);
    }

    /// `out ← D⁻¹ v`
    fn solve(&self, v: &[f64], out: &mut [f64]) {
        self.equations.each(out, |node, out| {
            out.copy_from_slice(self.equations.own(v, node));
            if let Some(factor) = &self.factors[node] {
                factor.solve(out);
            }
        });
    }

    /// Steps along which no prediction changes are left out, because rounding would drift along them.
    fn remove_common_shift(&self, step: &mut [f64]) {
        let smooth = self.equations.smooth;
        if !smooth.has_common_shift {
            return;
        }
        for own in step.chunks_exact_mut(smooth.size.max(1)) {
            for k in 0..smooth.width {
                let entries = own.iter().skip(k).step_by(smooth.width);
                let mean = entries.sum::<f64>() / smooth.outputs as f64;
                own.iter_mut().skip(k).step_by(smooth.width).for_each(|entry| *entry -= mean);
            }
        }
    }

    /// How large a step is beside the weights, in public predictions: `√(dᵀKd / wᵀKw)`.
    pub(super) fn size(&self, step: &[f64], weights: &[f64]) -> f64 {
        let (mut squares, mut all) = (0.0, 0.0);
        let (of_step, of_weights) = (self.public_products(step), self.public_products(weights));
        for (node, (_, public)) in self.curvatures.iter().enumerate() {
            let of = |v: &[f64], w: &[f64]| {
                dot(self.equations.own(v, node), self.equations.own(w, node))
            };
            squares += of(step, &of_step).max(0.0);
            // Outputs near zero are known to a share of one.
            let size = self.equations.smooth.size;
            let trace: f64 = public.iter().step_by(size + 1).sum();
            all += of(weights, &of_weights).max(0.0) + trace / size.max(1) as f64;
        }
        (squares / all.max(f64::MIN_POSITIVE)).sqrt()
    }

    /// How far one more refit of every node would move its public predictions, relative to their size.
    pub(super) fn round_residual(&self, left: &[f64], weights: &[f64]) -> f64 {
        let mut refits = vec![0.0; left.len()];
        self.solve(left, &mut refits);
        let smooth = self.equations.smooth;
        let change = |node: usize| {
            let now = self.equations.own(weights, node);
            let mut next = now.to_vec();
            add_scaled(&mut next, -1.0, self.equations.own(&refits, node));
            let (now, next) = (smooth.predictions(node, now), smooth.predictions(node, &next));
            let (now, next) = (now.as_slice(), next.as_slice());
            (squared_distance(now, next), dot(now, now))
        };
        let coupled = (0..smooth.nodes.len()).into_par_iter();
        let coupled = coupled.filter(|&node| self.equations.is_coupled[node]);
        let changes: Vec<(f64, f64)> = coupled.map(change).collect();
        let (moved, size) = changes.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
        if size > 0.0 { (moved / size).sqrt() } else { 0.0 }
    }
}

impl Equations<'_> {
    /// Curvature along common shifts, which have none of their own: gradients have no part there.
    pub(super) fn fill_common_shift(&self, block: &mut [f64]) {
        let smooth = self.smooth;
        if !smooth.has_common_shift {
            return;
        }
        let (width, size, outputs) = (smooth.width, smooth.size, smooth.outputs);
        for k in 0..width {
            let diagonal = |a: usize| block[(a * width + k) * (size + 1)];
            let fill = (0..outputs).map(diagonal).sum::<f64>() / (outputs * outputs) as f64;
            for a in 0..outputs {
                (0..outputs).for_each(|b| block[(a * width + k) * size + b * width + k] += fill);
            }
        }
    }

    /// How many nodes pull harder than their own rows, by the traces of both second derivatives.
    pub(super) fn is_pulled_hard(&self, curvatures: &Curvatures) -> bool {
        let trace = |block: &[f64]| block.iter().step_by(self.smooth.size + 1).sum::<f64>();
        let of_rows: f64 = curvatures.iter().map(|(own, _)| trace(own)).sum();
        let public = curvatures.iter().zip(&self.pulls);
        let of_pulls: f64 = public.map(|((_, public), pull)| pull * trace(public)).sum();
        self.alpha * of_pulls > of_rows
    }

    /// What of a node's block is left on vectors that all nodes have in common.
    pub(super) fn common_block(&self, (own, public): &(Vec<f64>, Vec<f64>)) -> Vec<f64> {
        let mut block = own.clone();
        let hub = self.anchor.map_or(0.0, |anchor| anchor.weight);
        add_scaled(&mut block, self.alpha * hub, public);
        block
    }
}

/// `out ← matrix v`
fn multiply(matrix: &[f64], v: &[f64], out: &mut [f64]) {
    let rows = matrix.chunks_exact(v.len().max(1));
    out.iter_mut().zip(rows).for_each(|(out, row)| *out = dot(row, v));
}

/// The factor of a block, which may be singular in rounding.
pub(super) fn factored(mut block: Vec<f64>, size: usize) -> Cholesky {
    let largest = (0..size).map(|k| block[k * (size + 1)]).fold(0.0, f64::max);
    let shift = if largest > 0.0 { DIAGONAL_SHIFT * largest } else { 1.0 };
    (0..size).for_each(|k| block[k * (size + 1)] += shift);
    let diagonal = |k: usize| {
        let is_diagonal = k.is_multiple_of(size + 1);
        if is_diagonal { block[k].max(shift) } else { 0.0 }
    };
    Cholesky::new(block.clone(), size).unwrap_or_else(|| {
        let diagonal = (0..size * size).map(diagonal).collect();
        Cholesky::new(diagonal, size).expect("its entries are positive")
    })
}
