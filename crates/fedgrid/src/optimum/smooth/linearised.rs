//! The linear form of the equations at given second derivatives: Newton's steps, and how large they are.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Curvatures, coarse::Coarse, equations::Equations};
use crate::{
    algebra::{Cholesky, add_scaled, dot, squared_distance},
    model::Link,
    optimum::krylov::{Limit, SplitSystem, gmres},
};

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

/// `out ← matrix v`
fn multiply(matrix: &[f64], v: &[f64], out: &mut [f64]) {
    let rows = matrix.chunks_exact(v.len().max(1));
    out.iter_mut().zip(rows).for_each(|(out, row)| *out = dot(row, v));
}
