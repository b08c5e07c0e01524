//! The fixed point of FedRelax on a network of linear models, solved directly,
//!
//! ```text
//! one-sided   (Q_i + ridge R + α Σ_j A_ij K_j) w_i − α Σ_j A_ij K_j w_j             = q_i
//! symmetric   (Q_i + ridge R + α Σ_j A_ij K_ij) w_i − α Σ_j A_ij K_ij w_j           = q_i
//!             with K_ij = (K_i + K_j)/2
//! ```
//!
//! where `Q_i` = `Σ_r` `weight_r` `x_r` `x_rᵀ`, `q_i` = `Σ_r` `weight_r` `y_r` `x_r`, `K_j` is the second moment of node
//! j's public points, and R leaves the intercept out. On one common public set both are the
//! minimiser of `Σ_i L_i + α Σ_edges A δ`. The block system is never assembled (`system`), and solved
//! by the Krylov method that suits it (`solver`).
//! ["Plug In and Learn", eq. 15 and 16; Jacobi rounds are the same system by block Jacobi.]

mod coarse;
mod factored;
mod moments;
mod redundant;
mod solver;
mod sweep;
mod system;

use std::sync::Arc;

use rayon::prelude::*;

use moments::{add_gram, add_right, public_moments};
use redundant::DesignColumns;
use solver::Solver;
use system::System;

use super::krylov::Limit;
use crate::{
    algebra::{Batch, Singular, add_scaled, dot, scale, triangle},
    data::Features,
    descent::{Descent, Optimiser},
    error::{Result, at_least_zero, same_size},
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel},
    network::{Network, Node},
};

/// One more neighbour of every node, whose predictions do not change: the pooled hub.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// The weight of the edge to it; zero is no anchor.
    pub weight: f64,
    /// Its hypothesis.
    pub hypothesis: LinearHypothesis,
}

/// The linear models, data and public points of all nodes, in the form of moments.
#[derive(Debug, Clone)]
pub struct LinearNetwork {
    names: Arc<[String]>,
    intercept: bool,
    size: usize,
    /// Q of every node.
    grams: Arc<Batch>,
    right: Vec<f64>,
    ridges: Vec<f64>,
    /// The moments K as lower triangles, node by node, or the only one if all nodes share a set.
    triangles: Arc<[f64]>,
    /// The same for products.
    public: Arc<Batch>,
    symmetric: bool,
    /// What makes directions definite that neither rows nor public points tell; none if they tell all. A node with a
    /// ridge has no need of it.
    unseen: Option<Arc<[f64]>>,
}

/// Rounds of optimiser steps.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// How many.
    pub count: usize,
    /// Which steps.
    pub optimiser: Optimiser,
    /// Their size η > 0.
    pub step: f64,
    /// Whether the first round pulls towards zero.
    pub zero_first: bool,
}

/// The weights of all nodes and their certificate.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The weights of node i are `weights[i·size..(i+1)·size]`, the intercept last.
    pub weights: Vec<f64>,
    /// How many products with the system it took.
    pub products: usize,
    /// The relative residual of the system.
    pub residual: f64,
    /// The residuals on the way.
    pub history: Vec<f64>,
}

impl LinearNetwork {
    /// The moments of these nodes, or none if a node's model is not linear or they differ in shape.
    ///
    /// With `level` false the intercepts are left uncoupled; then there is none if a node has no row.
    pub fn new(nodes: &[Node], symmetric: bool, level: bool) -> Result<Option<Self>> {
        let Some(models) =
            nodes.iter().map(|node| node.model.as_linear()).collect::<Option<Vec<&Linear>>>()
        else {
            return Ok(None);
        };
        let Some(first) = nodes.first() else { return Ok(None) };
        let intercept = models[0].intercept;
        if models.iter().any(|model| model.intercept != intercept) {
            return Ok(None);
        }
        // A node without rows has no level of its own; in rounds it takes its neighbours'.
        if !level && nodes.iter().any(|node| node.data.total_weight() == 0.0) {
            return Ok(None);
        }
        let size = first.data.features().columns() + usize::from(intercept);
        let grams = Batch::new(nodes.len(), size, |first, grams| {
            let grams = grams.chunks_exact_mut(triangle(size).max(1)).zip(&nodes[first..]);
            grams.for_each(|(gram, node)| add_gram(node, intercept, gram));
        });
        let mut right = vec![0.0; nodes.len() * size];
        right
            .par_chunks_mut(size.max(1))
            .zip(nodes)
            .for_each(|(right, node)| add_right(node, intercept, right));
        let one_set = nodes.iter().all(|node| Arc::ptr_eq(&node.public, &first.public));
        let sets = if one_set { &nodes[..1] } else { nodes };
        let mut triangles = vec![0.0; sets.len() * triangle(size)];
        triangles
            .par_chunks_mut(triangle(size).max(1))
            .zip(sets)
            .for_each(|(moment, node)| public_moments(&node.public, intercept, level, moment));
        let public = if one_set {
            Batch::common(&triangles, size)
        } else {
            Batch::new(nodes.len(), size, |first, some| {
                some.copy_from_slice(&triangles[first * triangle(size)..][..some.len()]);
            })
        };
        let names = first.data.features().names().clone();
        let ridges = ridges_of(&models)?;
        let unseen = unseen(nodes, sets, &grams, &triangles).map(Into::into);
        let (grams, triangles, public) = (Arc::new(grams), triangles.into(), Arc::new(public));
        Ok(Some(Self {
            names,
            intercept,
            size,
            grams,
            right,
            ridges,
            triangles,
            public,
            symmetric,
            unseen,
        }))
    }

    /// The same network with the ridges of other models, which are linear and have intercepts alike.
    pub fn with_ridges(&self, models: &[Arc<dyn LocalModel>]) -> Result<Self> {
        let linear: Vec<&Linear> = models.iter().filter_map(|model| model.as_linear()).collect();
        same_size("linear models", linear.len(), self.ridges.len())?;
        Ok(Self { ridges: ridges_of(&linear)?, ..self.clone() })
    }

    /// The same network with the ridges pulling to the slopes of a hypothesis instead of to zero.
    #[must_use]
    pub fn with_centre(mut self, centre: &LinearHypothesis) -> Self {
        for (right, ridge) in self.right.chunks_exact_mut(self.size).zip(&self.ridges) {
            add_scaled(&mut right[..centre.slopes.len()], *ridge, &centre.slopes);
        }
        self
    }

    /// The weights of a hypothesis in this network's order.
    #[must_use]
    pub fn weights_of(&self, hypothesis: &LinearHypothesis) -> Vec<f64> {
        let intercept = self.intercept.then_some(hypothesis.intercept);
        hypothesis.slopes.iter().copied().chain(intercept).collect()
    }

    /// The weights that all nodes would share, from their moments: where strong pulls end.
    #[must_use]
    pub fn common_weights(&self) -> Vec<f64> {
        let (size, length) = (self.size, triangle(self.size));
        let mut gram = vec![0.0; length];
        (0..self.ridges.len()).for_each(|node| self.grams.add_to(&mut gram, node));
        for column in 0..self.names.len() {
            gram[triangle(column) + column] += self.ridges.iter().sum::<f64>();
        }
        let mut right = vec![0.0; size];
        self.right.chunks_exact(size.max(1)).for_each(|own| add_scaled(&mut right, 1.0, own));
        let whole: Vec<f64> = (0..size * size)
            .map(|index| (index / size, index % size))
            .map(|(row, column)| gram[triangle(row.max(column)) + row.min(column)])
            .collect();
        let svd = Singular::new(&whole, size);
        let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let mut weights = vec![0.0; size];
        for ((s, left), direction) in svd.values.iter().zip(&svd.scaled_left).zip(&svd.right) {
            // What no row determines stays zero.
            if *s > 1e-12 * largest {
                add_scaled(&mut weights, dot(left, &right) / (s * s), direction);
            }
        }
        weights
    }

    /// The learnt hypothesis of each node.
    #[must_use]
    pub fn hypotheses<'a>(
        &'a self,
        weights: &'a [f64],
    ) -> impl ExactSizeIterator<Item = LinearHypothesis> + 'a {
        weights.chunks_exact(self.size).map(|w| {
            let (slopes, intercept) = w.split_at(self.names.len());
            LinearHypothesis {
                names: self.names.clone(),
                slopes: slopes.to_vec(),
                intercept: intercept.first().copied().unwrap_or(0.0),
            }
        })
    }

    /// Solves for the weights of all nodes that a row or a neighbour determines, from a start; the
    /// others keep theirs.
    pub fn solve(
        &self,
        network: &Network,
        alpha: f64,
        anchor: Option<&Anchor>,
        start: Vec<f64>,
        limit: Limit,
    ) -> Result<Solution> {
        at_least_zero("alpha", alpha)?;
        same_size("starting weights", start.len(), self.right.len())?;
        // In the pool from first to last, because every entry into it costs as much as a small round.
        Ok(rayon::scope(|_| {
            let system = System::new(self, network, alpha, anchor).definite();
            Solver::new(system).directly(start, limit)
        }))
    }

    /// The same by rounds of FedRelax, each node minimising exactly: block Jacobi on the moments.
    pub fn relax(
        &self,
        network: &Network,
        alpha: f64,
        start: Vec<f64>,
        limit: Limit,
    ) -> Result<Solution> {
        at_least_zero("alpha", alpha)?;
        same_size("starting weights", start.len(), self.right.len())?;
        Ok(rayon::scope(|_| {
            Solver::new(System::new(self, network, alpha, None)).in_rounds(start, limit)
        }))
    }

    /// Takes one optimiser step per round at every node from given weights, with the neighbours'
    /// weights of the round before: what FedRelax with `LocalStep::Descend` does, in moments.
    ///
    /// `watch` sees the weights after every round. With `zero_first` the first round pulls towards
    /// zero, as the authors' code does.
    pub fn descend(
        &self,
        network: &Network,
        alpha: f64,
        mut weights: Vec<f64>,
        rounds: Rounds,
        mut watch: impl FnMut(&[f64]),
    ) -> Result<Vec<f64>> {
        at_least_zero("alpha", alpha)?;
        same_size("starting weights", weights.len(), self.right.len())?;
        let system = System::new(self, network, alpha, None);
        let mut descent = Descent::new(rounds.optimiser, rounds.step, weights.len());
        let mut gradient = vec![0.0; weights.len()];
        for round in 0..rounds.count {
            if round == 0 && rounds.zero_first {
                system.apply_hearing(&weights, &vec![0.0; weights.len()], &mut gradient);
            } else {
                system.apply(&weights, &mut gradient);
            }
            for (gradient, right) in gradient.iter_mut().zip(system.right.iter()) {
                *gradient = 2.0 * (*gradient - right);
            }
            descent.step(&mut weights, &gradient);
            watch(&weights);
        }
        Ok(weights)
    }

    /// Whether all nodes share one public set.
    fn one_set(&self) -> bool {
        self.triangles.len() == triangle(self.size)
    }

    /// The triangle of K of a node.
    fn moment(&self, node: usize) -> &[f64] {
        let length = triangle(self.size);
        if self.one_set() { &self.triangles } else { &self.triangles[node * length..][..length] }
    }
}

fn ridges_of(models: &[&Linear]) -> Result<Vec<f64>> {
    let checked = |model: &&Linear| at_least_zero("ridge", model.ridge).map(|()| model.ridge);
    models.iter().map(checked).collect()
}

/// What makes directions definite that neither rows nor public points tell; a ridge does so by itself.
fn unseen(nodes: &[Node], sets: &[Node], grams: &Batch, public: &[f64]) -> Option<Vec<f64>> {
    let columns = nodes.first()?.data.features().columns();
    let all = || {
        let rows = nodes.iter().map(|node| node.data.features());
        rows.chain(sets.iter().map(|node| &*node.public)).flat_map(Features::iter)
    };
    let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); columns];
    for row in all() {
        for ((least, most), x) in range.iter_mut().zip(row) {
            (*least, *most) = (least.min(*x), most.max(*x));
        }
    }
    // Public points that are drawn meet a constant up to rounding.
    let is_constant = |(least, most): &(f64, f64)| most - least <= 1e-12 * most.abs();
    let length = public.len() / sets.len().max(1);
    let has_intercept = length == triangle(columns + 1);
    let constant = range.iter().map(is_constant).chain(has_intercept.then_some(true)).collect();
    let mut mean = vec![0.0; length];
    (0..nodes.len()).for_each(|node| grams.add_to(&mut mean, node));
    scale(&mut mean, 1.0 / nodes.len() as f64);
    let share = 1.0 / sets.len().max(1) as f64;
    public.chunks_exact(length.max(1)).for_each(|moment| add_scaled(&mut mean, share, moment));
    redundant::unseen(&mean, &DesignColumns { rows: all().count(), constant })
}

impl From<LinearHypothesis> for Arc<dyn Hypothesis> {
    fn from(hypothesis: LinearHypothesis) -> Self {
        Arc::new(hypothesis)
    }
}
