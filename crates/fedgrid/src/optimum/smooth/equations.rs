//! The equations at one strength: their left sides, the second derivatives, and visits of single nodes.

use rayon::prelude::*;

use std::sync::Arc;

use super::{
    Curvatures, SmoothAnchor, SmoothCoupling, SmoothNetwork, SmoothSolution, SmoothStart,
    linearised::Linearised, rows::Derivatives,
};
use crate::{
    algebra::{Cholesky, add_scaled, dot, norm, scale},
    model::{Curvature, Link},
    network::Network,
};

/// Numbers of second derivatives that are worth a task.
const TASK_NUMBERS: usize = 20_000;
/// What is added to the diagonal of a block relative to its largest entry, where it is singular.
const DIAGONAL_SHIFT: f64 = 1e-12;
/// A visit ends where this share of the gradient is left: neighbours move, too.
const VISIT_SHARE: f64 = 0.01;
/// Steps of a visit at most; a far start takes about ten.
const MOST_VISIT_STEPS: usize = 60;
/// Where nobody else moves, this share of the tolerance: predictions are known better than gradients.
const APART_SHARE: f64 = 1e-2;
/// The share of the gradient that a step with kept second derivatives may leave: where it leaves more, new ones pay.
const WORN_GRADIENT_SHARE: f64 = 0.3;
/// The shortest step of a visit, below which rounding decides.
const LEAST_STEP: f64 = 1e-9;

/// When a visit may end.
#[derive(Debug, Clone, Copy)]
enum Enough {
    /// At this share of the first gradient.
    OfFirst(f64),
    /// At this share of it or, where that is larger, of the gradient of the node's own rows, which pulls balance.
    OfRows(f64),
}

/// The equations of a network at one strength.
pub(super) struct Equations<'a> {
    pub(super) smooth: &'a SmoothNetwork,
    pub(super) network: &'a Network,
    pub(super) alpha: f64,
    pub(super) anchor: Option<&'a SmoothAnchor>,
    /// The public gradient at the anchor of each node, with canonical links.
    anchored: Vec<f64>,
    pub(super) is_coupled: &'a [bool],
    /// The weight of all that pull at each node.
    pulls: Vec<f64>,
    /// Nodes per task.
    task: usize,
    neutral: Vec<f64>,
}

impl<'a> Equations<'a> {
    pub(super) fn new(smooth: &'a SmoothNetwork, coupling: &SmoothCoupling<'a>) -> Self {
        let SmoothCoupling { network, alpha, anchor, is_coupled } = *coupling;
        let hub = anchor.map_or(0.0, |anchor| anchor.weight);
        let pulls = (0..network.len()).map(|node| network.degree(node) + hub).collect();
        let task = TASK_NUMBERS.div_ceil((smooth.size * smooth.size).max(1)).max(1);
        let neutral = smooth.neutral_label();
        let anchored = Vec::new();
        let mut equations =
            Self { smooth, network, alpha, anchor, anchored, is_coupled, pulls, task, neutral };
        if let (Some(anchor), Link::Canonical) = (anchor, smooth.link) {
            equations.anchored = equations.public_gradients(&anchor.weights);
        }
        equations
    }

    /// The part of a node in weights, gradients and the like.
    pub(super) fn own<'b>(&self, all: &'b [f64], node: usize) -> &'b [f64] {
        &all[node * self.smooth.size..(node + 1) * self.smooth.size]
    }

    /// Does something with the part of every coupled node; the others are zero.
    pub(super) fn each(&self, out: &mut [f64], act: impl Fn(usize, &mut [f64]) + Sync) {
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
            let at = self.own(weights, node);
            let derivatives = self.public_derivatives(node, at, &[], Curvature::Exact);
            out.fill(0.0);
            self.smooth.public.add_gradient(&derivatives, 1.0, out);
        });
        gradients
    }

    /// The derivatives on the public points: with canonical links for labels that say nothing.
    fn public_derivatives(
        &self,
        node: usize,
        at: &[f64],
        pulling: &[f64],
        kind: Curvature,
    ) -> Derivatives {
        let (points, model) = (&self.smooth.public, self.smooth.model(node));
        let label = |row: usize| self.public_label(pulling, row);
        points.derivatives(model, &points.outputs(at), label, kind)
    }

    fn public_label<'b>(&'b self, pulling: &'b [f64], row: usize) -> &'b [f64] {
        match self.smooth.link {
            Link::Canonical => &self.neutral,
            Link::Identity => &pulling[row..=row],
        }
    }

    fn own_label(&self, node: usize, row: usize) -> &[f64] {
        let task = self.smooth.task.outputs();
        &self.smooth.nodes[node].labels[row * task..(row + 1) * task]
    }

    fn own_derivatives(&self, node: usize, at: &[f64], kind: Curvature) -> Derivatives {
        let (rows, model) = (&self.smooth.nodes[node].rows, self.smooth.model(node));
        rows.derivatives(model, &rows.outputs(at), |row| self.own_label(node, row), kind)
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

    /// What a node minimises while its neighbours stay: its value.
    fn local_value(&self, node: usize, at: &[f64], pulling: &[f64]) -> f64 {
        let (rows, points) = (&self.smooth.nodes[node].rows, &self.smooth.public);
        let model = self.smooth.model(node);
        let own = rows.value(model, &rows.outputs(at), |row| self.own_label(node, row));
        let label = |row: usize| self.public_label(pulling, row);
        let public = points.value(model, &points.outputs(at), label);
        let squares: f64 = self.slopes().map(|k| at[k] * at[k]).sum();
        let pulled = match self.smooth.link {
            Link::Canonical => self.alpha * dot(at, pulling),
            Link::Identity => 0.0,
        };
        own + self.alpha * self.pulls[node] * public + model.ridge() * squares - pulled
    }

    /// The gradient of a node's own loss, its ridge included.
    fn own_gradient(&self, node: usize, at: &[f64], own: &Derivatives, out: &mut [f64]) {
        out.fill(0.0);
        self.smooth.nodes[node].rows.add_gradient(own, 1.0, out);
        let ridge = self.smooth.model(node).ridge();
        self.slopes().for_each(|k| out[k] += 2.0 * ridge * at[k]);
    }

    /// The left sides G at some weights, with the derivatives that they are made of.
    pub(super) fn at(&self, weights: &[f64]) -> Evaluation {
        let (link, size) = (self.smooth.link, self.smooth.size.max(1));
        let of_node = |node: usize| -> Option<(Derivatives, Derivatives)> {
            let at = self.own(weights, node);
            self.is_coupled[node].then(|| {
                let pulling = match link {
                    Link::Canonical => Vec::new(),
                    Link::Identity => self.pulling(weights, &[], node),
                };
                let own = self.own_derivatives(node, at, Curvature::Exact);
                (own, self.public_derivatives(node, at, &pulling, Curvature::Exact))
            })
        };
        let nodes = (0..self.network.len()).into_par_iter();
        let derivatives: Vec<_> = nodes.map(of_node).collect();
        let mut gradients = vec![0.0; weights.len()];
        if link == Link::Canonical {
            for (out, own) in gradients.chunks_exact_mut(size).zip(&derivatives) {
                if let Some((_, public)) = own {
                    self.smooth.public.add_gradient(public, 1.0, out);
                }
            }
        }
        let mut left = vec![0.0; weights.len()];
        self.each(&mut left, |node, out| {
            let Some((own, public)) = &derivatives[node] else { return };
            self.own_gradient(node, self.own(weights, node), own, out);
            match link {
                // Differences, so that what all nodes have in common is not lost in rounding.
                Link::Canonical => {
                    let here = self.own(&gradients, node);
                    let anchor = self.anchor.map(|a| (a.weight, self.own(&self.anchored, node)));
                    let neighbours = self.network.neighbours(node).iter();
                    let neighbours = neighbours.map(|&(j, w)| (w, self.own(&gradients, j)));
                    for (weight, there) in neighbours.chain(anchor) {
                        let differences = here.iter().zip(there).map(|(here, there)| here - there);
                        let pulled = out.iter_mut().zip(differences);
                        pulled.for_each(|(out, d)| *out += self.alpha * weight * d);
                    }
                }
                Link::Identity => {
                    self.smooth.public.add_gradient(public, self.alpha * self.pulls[node], out);
                }
            }
        });
        Evaluation { left, derivatives }
    }

    /// The indices of the weights that a ridge pulls at.
    fn slopes(&self) -> impl Iterator<Item = usize> {
        let (size, width, columns) =
            (self.smooth.size, self.smooth.width.max(1), self.smooth.names.len());
        (0..size).filter(move |k| k % width < columns)
    }

    /// The second derivatives of own and of public losses.
    pub(super) fn curvatures(&self, at: &Evaluation) -> Curvatures {
        let of_node = |(node, own): (usize, &Option<(Derivatives, Derivatives)>)| match own {
            Some((own, public)) => self.curvature(node, own, public),
            None => (Vec::new(), Vec::new()),
        };
        at.derivatives.par_iter().enumerate().map(of_node).collect()
    }

    fn curvature(
        &self,
        node: usize,
        of_rows: &Derivatives,
        of_points: &Derivatives,
    ) -> (Vec<f64>, Vec<f64>) {
        let size = self.smooth.size;
        let (mut own, mut public) = (vec![0.0; size * size], vec![0.0; size * size]);
        self.smooth.nodes[node].rows.add_hessian(of_rows, &mut own);
        self.slopes().for_each(|k| own[k * (size + 1)] += 2.0 * self.smooth.model(node).ridge());
        self.smooth.public.add_hessian(of_points, &mut public);
        (own, public)
    }

    /// One round of visits: every node goes down to about its minimum while its neighbours stay.
    pub(super) fn visited(&self, weights: &[f64]) -> Vec<f64> {
        let gradients = match self.smooth.link {
            Link::Canonical => self.public_gradients(weights),
            Link::Identity => Vec::new(),
        };
        let size = self.smooth.size.max(1);
        let mut next = weights.to_vec();
        let coupled = next.par_chunks_mut(size).enumerate().filter(|(k, _)| self.is_coupled[*k]);
        coupled.for_each(|(node, at)| {
            self.visit(
                node,
                at,
                &self.pulling(weights, &gradients, node),
                Enough::OfFirst(VISIT_SHARE),
            );
        });
        next
    }

    /// The solution where no node hears of another: each has a minimum of its own.
    pub(super) fn solved_apart(&self, start: SmoothStart, tolerance: f64) -> SmoothSolution {
        let mut weights = start.weights;
        let size = self.smooth.size.max(1);
        let coupled = weights.par_chunks_mut(size).enumerate().filter(|(k, _)| self.is_coupled[*k]);
        coupled.for_each(|(node, at)| {
            let pulling = self.pulling(at, &[], node);
            self.visit(node, at, &pulling, Enough::OfRows(APART_SHARE * tolerance));
        });
        let at = self.at(&weights);
        let curvatures = Arc::new(self.curvatures(&at));
        let linearised = Linearised::new(self, &curvatures);
        let residual = linearised.round_residual(&at.left, &weights);
        let end = SmoothStart { weights, curvatures: None };
        SmoothSolution { end, residual, history: vec![1.0], converged: residual <= tolerance }
    }

    /// Goes down to about the minimum of a node by damped Newton steps.
    fn visit(&self, node: usize, at: &mut [f64], pulling: &[f64], enough: Enough) {
        let mut value = self.local_value(node, at, pulling);
        let (mut least, mut before) = (None, f64::INFINITY);
        let mut factor: Option<Cholesky> = None;
        for _ in 0..MOST_VISIT_STEPS {
            let own = self.own_derivatives(node, at, Curvature::Above);
            let public = self.public_derivatives(node, at, pulling, Curvature::Above);
            let mut gradient = vec![0.0; at.len()];
            self.own_gradient(node, at, &own, &mut gradient);
            let of_rows = norm(&gradient);
            self.smooth.public.add_gradient(&public, self.alpha * self.pulls[node], &mut gradient);
            if self.smooth.link == Link::Canonical {
                add_scaled(&mut gradient, -self.alpha, pulling);
            }
            let first = || match enough {
                Enough::OfFirst(share) => share * norm(&gradient),
                Enough::OfRows(share) => share * norm(&gradient).max(of_rows),
            };
            if norm(&gradient) <= *least.get_or_insert_with(first) {
                return;
            }
            // Second derivatives cost more than a few further steps with those of a step before.
            let is_worn = norm(&gradient) > WORN_GRADIENT_SHARE * before;
            before = norm(&gradient);
            let known = factor.take().filter(|_| !is_worn);
            let is_fresh = known.is_none();
            let known = known.unwrap_or_else(|| {
                let (own, public) = self.curvature(node, &own, &public);
                self.factor(node, &own, &public)
            });
            let mut step = gradient.clone();
            known.solve(&mut step);
            scale(&mut step, -1.0);
            let slope = dot(&step, &gradient);
            let from = Descent { at, value, step: &step, slope };
            let next = self.lower(node, &from, pulling);
            match next {
                Some((next, there)) => {
                    at.copy_from_slice(&next);
                    (value, factor) = (there, Some(known));
                }
                // With second derivatives of this point there may be a step all the same.
                None if !is_fresh => {}
                None => return,
            }
        }
    }

    /// A point along a step at which the value of a node is lower by enough, and that value; none where rounding decides.
    fn lower(&self, node: usize, from: &Descent, pulling: &[f64]) -> Option<(Vec<f64>, f64)> {
        let mut length = 1.0;
        while length >= LEAST_STEP {
            let mut next = from.at.to_vec();
            add_scaled(&mut next, length, from.step);
            let there = self.local_value(node, &next, pulling);
            // Armijo's rule, with his usual share.
            if there <= from.value + 1e-4 * length * from.slope {
                return Some((next, there));
            }
            length *= 0.5;
        }
        None
    }

    /// The factor of a node's block.
    pub(super) fn factor(&self, node: usize, own: &[f64], public: &[f64]) -> Cholesky {
        let mut block = own.to_vec();
        add_scaled(&mut block, self.alpha * self.pulls[node], public);
        self.fill_common_shift(&mut block);
        factored(block, self.smooth.size)
    }

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

    /// The weight of the rows of all nodes that take part.
    pub(super) fn row_weight(&self) -> f64 {
        let parts = self.smooth.nodes.iter().zip(self.is_coupled).filter(|(_, is)| **is);
        parts.map(|(part, _)| part.rows.total_weight()).sum()
    }

    /// The gradient at which a minimum at infinity is left; zero where a ridge keeps all minima finite.
    pub(super) fn flat_gradient(&self, share: f64) -> f64 {
        let mut coupled = (0..self.network.len()).filter(|&node| self.is_coupled[node]);
        let is_free = coupled.any(|node| self.smooth.model(node).ridge() <= 0.0);
        if is_free { share * self.row_weight() } else { 0.0 }
    }

    /// Whether neighbours pull harder than rows, by the traces of both second derivatives.
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

/// A step of a visit: from where, and how fast the value falls along it.
struct Descent<'a> {
    at: &'a [f64],
    value: f64,
    step: &'a [f64],
    slope: f64,
}

/// The left sides at some weights, and the derivatives of own and of public losses by their outputs.
pub(super) struct Evaluation {
    pub(super) left: Vec<f64>,
    derivatives: Vec<Option<(Derivatives, Derivatives)>>,
}

/// The factor of a block, which may be singular in rounding, or not finite far from any solution.
pub(super) fn factored(mut block: Vec<f64>, size: usize) -> Cholesky {
    let diagonal = |k: usize| k * (size + 1);
    let largest = (0..size).map(|k| block[diagonal(k)]).fold(0.0, f64::max);
    let shift = if largest > 0.0 { DIAGONAL_SHIFT * largest } else { 1.0 };
    (0..size).for_each(|k| block[diagonal(k)] += shift);
    Cholesky::new(block.clone(), size).unwrap_or_else(|| {
        let mut scales = vec![0.0; size * size];
        for k in (0..size).map(diagonal) {
            let is_usable = block[k] > 0.0 && block[k].is_finite();
            scales[k] = if is_usable { block[k] } else { 1.0 };
        }
        Cholesky::new(scales, size).expect("its entries are positive")
    })
}
