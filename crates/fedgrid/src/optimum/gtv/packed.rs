//! The losses of all nodes in the order of the layout, with the coefficients of their proximal steps,
//!
//! ```text
//! prox(v, τ) = c v + Σ_k v_k (a_k + b_k v_kᵀv)      c = 1/(1 + 2τ ridge),  a_k = 2τ q_k/(1 + 2τ h_k),
//!                                                  b_k = 1/(1 + 2τ h_k) − c
//! ```
//!
//! which change only with the step τ = s / degree.

use super::{
    layout::Layout,
    losses::{Loss, Losses},
};
use crate::error::Result;

/// The losses as the passes want them.
#[derive(Debug)]
pub(super) struct Packed<'a> {
    pub(super) losses: &'a Losses,
    pub(super) layout: &'a Layout,
    pub(super) width: usize,
    /// The steps τ of the nodes.
    pub(super) steps: Vec<f64>,
    /// Where the terms of each node begin.
    starts: Vec<usize>,
    directions: Vec<f64>,
    curvatures: Vec<f64>,
    targets: Vec<f64>,
    ridges: Vec<f64>,
    /// `(a_k, b_k)` of each term.
    coefficients: Vec<[f64; 2]>,
    outside: Vec<f64>,
}

impl<'a> Packed<'a> {
    pub(super) fn new(losses: &'a Losses, layout: &'a Layout, width: usize) -> Self {
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
        };
        let terms =
            |loss: &Loss| if let Loss::Quadratic(q) = loss { q.curvatures.len() } else { 0 };
        packed.directions.reserve(losses.each.iter().map(terms).sum::<usize>() * width);
        for &node in &layout.nodes {
            packed.push(&losses.each[node]);
        }
        packed.coefficients = vec![[0.0; 2]; packed.targets.len()];
        packed
    }

    fn push(&mut self, loss: &Loss) {
        let mut ridge = 0.0;
        if let Loss::Quadratic(quadratic) = loss {
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

    /// Sets the steps to τ = s / degree.
    pub(super) fn set_scale(&mut self, scale: f64) {
        for place in 0..self.steps.len() {
            let tau = scale / self.layout.degrees[place].max(1.0);
            self.steps[place] = tau;
            let outside = 1.0 / (1.0 + 2.0 * tau * self.ridges[place]);
            self.outside[place] = outside;
            for k in self.starts[place]..self.starts[place + 1] {
                let inside = 1.0 / (1.0 + 2.0 * tau * self.curvatures[k]);
                self.coefficients[k] = [2.0 * tau * self.targets[k] * inside, inside - outside];
            }
        }
    }

    /// The proximal step of a node from a row, written to another.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is compiled for the processor's registers where it is called"
    )]
    pub(super) fn proximal<const W: usize>(
        &self,
        place: usize,
        from: &[f64],
        to: &mut [f64],
    ) -> Result<()> {
        if let Loss::Convex(_) = &self.losses.each[self.layout.nodes[place]] {
            return self.convex(place, from, to);
        }
        let outside = self.outside[place];
        for (to, from) in to.iter_mut().zip(from) {
            *to = outside * from;
        }
        for k in self.starts[place]..self.starts[place + 1] {
            let direction = &self.directions[k * self.width..(k + 1) * self.width];
            let ((pieces, _), (from, _), (to, _)) =
                (direction.as_chunks::<W>(), from.as_chunks::<W>(), to.as_chunks_mut::<W>());
            let mut sums = [0.0; 4];
            for (v, x) in pieces.iter().zip(from) {
                for k in 0..W {
                    sums[k % 4] += v[k] * x[k];
                }
            }
            let [a, b] = self.coefficients[k];
            let factor = a + b * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
            for (to, v) in to.iter_mut().zip(pieces) {
                for k in 0..W {
                    to[k] += factor * v[k];
                }
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn convex(&self, place: usize, from: &[f64], to: &mut [f64]) -> Result<()> {
        let Loss::Convex(convex) = &self.losses.each[self.layout.nodes[place]] else {
            unreachable!("asked only for convex losses")
        };
        let size = self.losses.size;
        let centre = self.losses.model_of_row(&from[..size]);
        let step = convex.model().proximal(convex.data(), &centre, self.steps[place])?;
        to[..size].copy_from_slice(&self.losses.row_of_model(&step));
        to[size..].fill(0.0);
        Ok(())
    }
}
