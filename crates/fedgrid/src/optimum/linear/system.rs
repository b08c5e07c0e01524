//! The block system at one strength: its products, its diagonal blocks and their factors.

use rayon::prelude::*;

use super::{
    super::krylov::{Krylov, Limit, Map},
    Anchor, LinearNetwork, Solution,
};
use crate::{
    algebra::{
        Cholesky, add_scaled, add_symmetric_product, add_weighted_differences, add_weighted_rows,
    },
    network::Network,
};

/// Nodes per parallel task: enough work to be worth a task, few enough to share out.
const TASK: usize = 64;

/// Products of fewer numbers than this are done on one core.
const SEQUENTIAL: usize = 40_000;

/// One of the iterations on a linear system.
type Solver = fn(Map, Map, &[f64], Vec<f64>, Limit) -> Krylov;

/// The block system at one strength.
pub(super) struct System<'a> {
    moments: &'a LinearNetwork,
    network: &'a Network,
    alpha: f64,
    anchor_weight: f64,
    pub(super) right: Vec<f64>,
    /// What each node's own weights are multiplied by: rows, ridge and anchor, and, where nodes have
    /// public sets of their own, what binds it through its neighbours.
    own: Vec<f64>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        moments: &'a LinearNetwork,
        network: &'a Network,
        alpha: f64,
        anchor: Option<&Anchor>,
    ) -> Self {
        let size = moments.size;
        let mut system = Self {
            moments,
            network,
            alpha,
            anchor_weight: anchor.map_or(0.0, |anchor| anchor.weight),
            right: moments.right.clone(),
            own: Vec::new(),
        };
        let nodes = (0..network.len()).into_par_iter().with_min_len(TASK);
        system.own = nodes.flat_map_iter(|node| system.own_block(node)).collect();
        if let Some(anchor) = anchor {
            let pulled = moments.weights_of(&anchor.hypothesis);
            for (node, right) in system.right.chunks_exact_mut(size).enumerate() {
                add_symmetric_product(right, alpha * anchor.weight, moments.moment(node), &pulled);
            }
        }
        system
    }

    pub(super) fn solve_by(&self, solver: Solver, start: Vec<f64>, limit: Limit) -> Solution {
        let nodes = (0..self.network.len()).into_par_iter().with_min_len(TASK);
        let factors: Vec<Option<Cholesky>> = nodes.map(|node| self.factor(node)).collect();
        let apply = |v: &[f64], out: &mut [f64]| self.apply(v, out);
        let precondition = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            each_block(out, self.moments.size, |node, out| {
                if let Some(factor) = &factors[node] {
                    factor.solve(out);
                }
            });
        };
        let Krylov { x, products, residual, history } =
            solver(&apply, &precondition, &self.right, start, limit);
        Solution { weights: x, products, residual, history }
    }

    fn one_set(&self) -> bool {
        self.moments.public.len() == 1
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.moments.symmetric || self.one_set()
    }

    /// What a node's own weights are multiplied by.
    fn own_block(&self, node: usize) -> Vec<f64> {
        let moments = self.moments;
        let size = moments.size;
        let mut own = moments.grams[node * size * size..(node + 1) * size * size].to_vec();
        for column in 0..moments.names.len() {
            own[column * size + column] += moments.ridges[node];
        }
        add_scaled(&mut own, self.alpha * self.anchor_weight, moments.moment(node));
        if !self.one_set() {
            self.add_coupling_block(node, &mut own);
        }
        own
    }

    /// Adds what binds a node through its neighbours.
    fn add_coupling_block(&self, node: usize, block: &mut [f64]) {
        let moments = self.moments;
        if self.is_symmetric() {
            let own = 0.5 * self.alpha * self.network.degree(node);
            add_scaled(block, own, moments.moment(node));
        }
        let share = if self.is_symmetric() { 0.5 } else { 1.0 };
        for &(neighbour, weight) in self.network.neighbours(node) {
            add_scaled(block, share * self.alpha * weight, moments.moment(neighbour));
        }
    }

    /// The factor of a node's diagonal block.
    fn factor(&self, node: usize) -> Option<Cholesky> {
        let size = self.moments.size;
        let range = node * size * size..(node + 1) * size * size;
        let mut block = self.own[range].to_vec();
        if self.one_set() {
            let degree = self.network.degree(node);
            add_scaled(&mut block, self.alpha * degree, self.moments.moment(node));
        }
        factor(&block, size)
    }

    /// `out ← A v`
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        self.apply_hearing(v, v, out);
    }

    /// `out ← A v`, with the neighbours' part of v taken from `heard`.
    pub(super) fn apply_hearing(&self, v: &[f64], heard: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let mut shared = Vec::new();
        // K_j w_j of every node, formed once.
        if !self.one_set() {
            shared = vec![0.0; heard.len()];
            each_block(&mut shared, size, |node, out| {
                let w = &heard[node * size..(node + 1) * size];
                add_symmetric_product(out, 1.0, self.moments.moment(node), w);
            });
        }
        each_block(out, size, |node, out| {
            out.fill(0.0);
            let own = &self.own[node * size * size..(node + 1) * size * size];
            let w = &v[node * size..(node + 1) * size];
            add_symmetric_product(out, 1.0, own, w);
            if self.one_set() {
                self.add_differences(node, w, heard, out);
            } else {
                self.subtract_neighbours(node, heard, &shared, out);
            }
        });
    }

    /// `out ← out + α K Σ_j A_ij (w_i − w_j)`: differences lose no digits under a strong pull,
    /// where neighbours are close.
    fn add_differences(&self, node: usize, own: &[f64], heard: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let mut sum = vec![0.0; size];
        add_weighted_differences(&mut sum, own, self.network.neighbours(node), heard);
        add_symmetric_product(out, self.alpha, self.moments.moment(node), &sum);
    }

    /// The neighbours' part for different public sets, from the products `K_j w_j`.
    fn subtract_neighbours(&self, node: usize, heard: &[f64], shared: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let share = if self.is_symmetric() { 0.5 } else { 1.0 };
        add_weighted_rows(out, -share * self.alpha, self.network.neighbours(node), shared);
        if self.is_symmetric() {
            let mut sum = vec![0.0; size];
            add_weighted_rows(&mut sum, 1.0, self.network.neighbours(node), heard);
            add_symmetric_product(out, -share * self.alpha, self.moments.moment(node), &sum);
        }
    }
}

/// Does something with each block: in parallel if that is worth the handing over.
fn each_block(values: &mut [f64], size: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
    if values.len() * size < SEQUENTIAL {
        values.chunks_exact_mut(size).enumerate().for_each(|(node, block)| work(node, block));
    } else {
        let blocks = values.par_chunks_mut(size).with_min_len(TASK).enumerate();
        blocks.for_each(|(node, block)| work(node, block));
    }
}

/// The factor of a diagonal block. A block may be singular (too few rows and public points); a
/// little more on its diagonal makes a preconditioner and leaves the system itself as it is. A
/// block of zeros belongs to a node that nothing determines, and has none.
fn factor(block: &[f64], size: usize) -> Option<Cholesky> {
    let largest = (0..size).map(|k| block[k * size + k]).fold(0.0, f64::max);
    [0.0, 1e-14, 1e-12, 1e-10, 1e-8].iter().find_map(|jitter| {
        let mut block = block.to_vec();
        (0..size).for_each(|k| block[k * size + k] += jitter * largest);
        Cholesky::new(block, size)
    })
}
