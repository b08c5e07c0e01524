//! The losses of all nodes in the order of the layout, with the coefficients of their proximal steps,
//!
//! ```text
//! prox(v, τ) = c v + Σ_k v_k (a_k + b_k v_kᵀv)      c = 1/(1 + 2τ ridge),  a_k = 2τ q_k/(1 + 2τ h_k),
//!                                                  b_k = 1/(1 + 2τ h_k) − c
//! ```
//!
//! which change only with the step τ = s / degree. Where there are many terms the step is one product
//! `M v + a` with M = c I + `Σ_k` `b_k` `v_k` `v_kᵀ` and a = `Σ_k` `a_k` `v_k`.

use std::array;

use super::layout::TileLayout;
use crate::{
    algebra::{add_outer, add_scaled, dot, row_dot},
    error::Result,
    model::Steps,
    optimum::gtv::losses::{Losses, NodeLoss},
};

/// The step τ of uncoupled intercepts, times the weight of the rows: no dual holds them back, so the
/// step is as long as a model's own solver can bear in double precision.
const INTERCEPT_STEP: f64 = 1e6;

/// How a proximal step is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProximalKind {
    /// `M v + a`, with the rows of M and a one after the other from here on.
    Product(usize),
    /// Term by term.
    Terms,
    /// By the model itself.
    Convex,
}

/// The losses as the passes want them.
#[derive(Debug)]
pub(crate) struct PackedLosses<'a> {
    pub(crate) losses: &'a Losses,
    pub(crate) layout: &'a TileLayout,
    pub(crate) width: usize,
    /// The steps τ of the nodes.
    pub(crate) steps: Vec<f64>,
    /// Where the terms of each node begin.
    starts: Vec<usize>,
    directions: Vec<f64>,
    curvatures: Vec<f64>,
    targets: Vec<f64>,
    ridges: Vec<f64>,
    /// `(a_k, b_k)` of each term.
    coefficients: Vec<[f64; 2]>,
    outside: Vec<f64>,
    /// How the step of each node is done.
    pub(crate) kinds: Vec<ProximalKind>,
    rows: Vec<f64>,
}

impl<'a> PackedLosses<'a> {
    pub(crate) fn new(losses: &'a Losses, layout: &'a TileLayout, width: usize) -> Self {
        let mut packed = Self {
            losses,
            layout,
            width,
            steps: vec![0.0; layout.nodes.len()],
            starts: vec![0],
            directions: Vec::new(),
            curvatures: Vec::new(),
            targets: Vec::new(),
            ridges: Vec::new(),
            coefficients: Vec::new(),
            outside: vec![1.0; layout.nodes.len()],
            kinds: Vec::new(),
            rows: Vec::new(),
        };
        let terms = |loss: &NodeLoss| {
            if let NodeLoss::Quadratic(q) = loss { q.curvatures.len() } else { 0 }
        };
        // All at once, because growing would hold the largest array twice.
        packed.directions.reserve(losses.each.iter().map(terms).sum::<usize>() * width);
        for &node in &layout.nodes {
            packed.push(&losses.each[node]);
        }
        packed.coefficients = vec![[0.0; 2]; packed.targets.len()];
        let mut size = 0;
        for slot in 0..layout.nodes.len() {
            // A term costs two passes over a row, a product one for each of its entries.
            let many = 3 * (packed.starts[slot + 1] - packed.starts[slot]) > 2 * width;
            let convex = matches!(losses.each[layout.nodes[slot]], NodeLoss::Convex(_));
            packed.kinds.push(match (convex, many) {
                (true, _) => ProximalKind::Convex,
                (false, true) => ProximalKind::Product(size),
                (false, false) => ProximalKind::Terms,
            });
            size += if many { width * (width + 1) } else { 0 };
        }
        packed.rows = vec![0.0; size];
        packed
    }

    fn push(&mut self, loss: &NodeLoss) {
        let mut ridge = 0.0;
        if let NodeLoss::Quadratic(quadratic) = loss {
            ridge = quadratic.ridge;
            for (direction, h, q) in quadratic.terms(self.losses.size) {
                self.directions.extend_from_slice(direction);
                self.directions.resize(self.directions.len() + self.width - direction.len(), 0.0);
                self.curvatures.push(h);
                self.targets.push(q);
            }
        }
        self.ridges.push(ridge);
        self.starts.push(self.targets.len());
    }

    /// Sets the step of a node to τ = s / degree.
    pub(crate) fn set_scale(&mut self, slot: usize, scale: f64) {
        let tau = scale / self.layout.degrees[slot].max(1.0);
        self.steps[slot] = tau;
        let outside = 1.0 / (1.0 + 2.0 * tau * self.ridges[slot]);
        self.outside[slot] = outside;
        for k in self.starts[slot]..self.starts[slot + 1] {
            let inside = 1.0 / (1.0 + 2.0 * tau * self.curvatures[k]);
            self.coefficients[k] = [2.0 * tau * self.targets[k] * inside, inside - outside];
        }
        if let ProximalKind::Product(start) = self.kinds[slot] {
            self.multiply_out(slot, start);
        }
    }

    /// Writes the rows of M and a.
    fn multiply_out(&mut self, slot: usize, start: usize) {
        let width = self.width;
        let rows = &mut self.rows[start..start + width * (width + 1)];
        rows.fill(0.0);
        rows.iter_mut().step_by(width + 1).take(width).for_each(|m| *m = self.outside[slot]);
        for k in self.starts[slot]..self.starts[slot + 1] {
            let direction = &self.directions[k * width..(k + 1) * width];
            let [a, b] = self.coefficients[k];
            add_outer(&mut rows[..width * width], b, direction);
            add_scaled(&mut rows[width * width..], a, direction);
        }
    }

    /// The proximal step of a node from a row in registers.
    #[inline(always)]
    pub(crate) fn step<const W: usize>(&self, slot: usize, from: &[f64; W]) -> [f64; W] {
        if let ProximalKind::Product(start) = self.kinds[slot] {
            let (rows, _) = self.rows[start..start + W * (W + 1)].as_chunks::<W>();
            let mut to = rows[W];
            for (row, from) in rows.iter().zip(from) {
                to = array::from_fn(|k| to[k] + from * row[k]);
            }
            return to;
        }
        let outside = self.outside[slot];
        let mut to = from.map(|from| outside * from);
        let terms = self.starts[slot]..self.starts[slot + 1];
        let (directions, _) = self.directions[terms.start * W..terms.end * W].as_chunks::<W>();
        for (direction, [a, b]) in directions.iter().zip(&self.coefficients[terms]) {
            let factor = a + b * row_dot(direction, from);
            for k in 0..W {
                to[k] += factor * direction[k];
            }
        }
        to
    }

    /// The same for rows of any width.
    pub(crate) fn wide_step(&self, slot: usize, from: &[f64], to: &mut [f64]) {
        if let ProximalKind::Product(start) = self.kinds[slot] {
            let (rows, last) = self.rows[start..start + self.width * (self.width + 1)]
                .split_at(self.width * self.width);
            to.copy_from_slice(last);
            for (row, from) in rows.chunks_exact(self.width).zip(from) {
                add_scaled(to, *from, row);
            }
            return;
        }
        let outside = self.outside[slot];
        to.iter_mut().zip(from).for_each(|(to, from)| *to = outside * from);
        let terms = self.starts[slot]..self.starts[slot + 1];
        let directions = &self.directions[terms.start * self.width..terms.end * self.width];
        let coefficients = &self.coefficients[terms];
        for (direction, [a, b]) in directions.chunks_exact(self.width).zip(coefficients) {
            add_scaled(to, a + b * dot(direction, from), direction);
        }
    }

    /// The proximal step of any other loss.
    pub(crate) fn convex_step(&self, slot: usize, from: &[f64], to: &mut [f64]) -> Result<()> {
        let NodeLoss::Convex(convex) = &self.losses.each[self.layout.nodes[slot]] else {
            unreachable!("asked only for convex losses")
        };
        let size = self.losses.size;
        let centre = self.losses.model_of_row(&from[..size]);
        let mut steps = Steps::all(self.steps[slot]);
        if self.losses.coupled < size {
            steps.intercepts = steps.intercepts.max(INTERCEPT_STEP / convex.data().total_weight());
        }
        let (model, data, tau) = (convex.model(), convex.data(), self.steps[slot]);
        // Where rounding keeps the long step from converging, the short one does.
        let step = model
            .proximal_by(data, &centre, steps)
            .or_else(|_| model.proximal(data, &centre, tau))?;
        to[..size].copy_from_slice(&self.losses.row_of_model(&step));
        to[size..].fill(0.0);
        Ok(())
    }
}
