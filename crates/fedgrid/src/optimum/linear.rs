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
//! minimiser of `Σ_i L_i + α Σ_edges A δ`. The block system is never assembled: conjugate gradients
//! where it is symmetric, GMRES otherwise, each with the diagonal blocks as preconditioner.
//! ["Plug In and Learn", eq. 15 and 16; Jacobi rounds are the same system by block Jacobi.]

use std::{collections::BTreeMap, sync::Arc};

use rayon::prelude::*;

use super::krylov::{Krylov, Limit, Map, conjugate_gradient, gmres, relaxation};
use crate::{
    algebra::{Cholesky, add_outer, add_scaled, add_symmetric_product},
    data::Features,
    descent::{Descent, Optimiser},
    error::{Error, Result, at_least_zero, same_size},
    model::{Hypothesis, Linear, LinearHypothesis},
    network::{Network, Node},
};

/// Nodes per parallel task: enough work to be worth a task, few enough to share out.
const TASK: usize = 64;

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
    grams: Vec<f64>,
    right: Vec<f64>,
    ridges: Vec<f64>,
    /// The moments K of the distinct public sets, and which of them each node has.
    public: Vec<Vec<f64>>,
    public_of: Vec<usize>,
    symmetric: bool,
}

/// Rounds of optimiser steps.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// How many.
    pub count: usize,
    /// Which steps.
    pub optimiser: Optimiser,
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
    /// With `level` false the intercepts are left uncoupled; then every node needs a row.
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
        for model in &models {
            at_least_zero("ridge", model.ridge)?;
        }
        if !level && nodes.iter().any(|node| node.data.total_weight() == 0.0) {
            return Err(Error::Unsupported {
                what: "an uncoupled intercept",
                needs: "a training row at every node",
            });
        }
        let size = first.data.features().columns() + usize::from(intercept);
        let mut public_sets: Vec<&Arc<Features>> = Vec::new();
        let mut places: BTreeMap<*const Features, usize> = BTreeMap::new();
        let mut place = |set| {
            *places.entry(Arc::as_ptr(set)).or_insert_with(|| {
                public_sets.push(set);
                public_sets.len() - 1
            })
        };
        let public_of = nodes.iter().map(|node| place(&node.public)).collect();
        let moments: Vec<(Vec<f64>, Vec<f64>)> =
            nodes.par_iter().map(|node| data_moments(node, size, intercept)).collect();
        Ok(Some(Self {
            names: first.data.features().names().clone(),
            intercept,
            size,
            grams: moments.iter().flat_map(|(gram, _)| gram).copied().collect(),
            right: moments.iter().flat_map(|(_, right)| right).copied().collect(),
            ridges: models.iter().map(|model| model.ridge).collect(),
            public: public_sets
                .par_iter()
                .map(|set| public_moments(set, intercept, level))
                .collect(),
            public_of,
            symmetric,
        }))
    }

    /// The same network with one ridge at all nodes.
    #[must_use]
    pub fn with_ridge(mut self, ridge: f64) -> Self {
        self.ridges.fill(ridge);
        self
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
        let system = System::new(self, network, alpha, anchor);
        let solver = if system.is_symmetric() { conjugate_gradient } else { gmres };
        Ok(system.solve_by(solver, start, limit))
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
        Ok(System::new(self, network, alpha, None).solve_by(relaxation, start, limit))
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
        let mut descent = Descent::new(rounds.optimiser, weights.len());
        let mut gradient = vec![0.0; weights.len()];
        let zero = vec![0.0; weights.len()];
        for round in 0..rounds.count {
            let heard = if round == 0 && rounds.zero_first { &zero } else { &weights };
            system.apply_hearing(&weights, heard, &mut gradient);
            for (gradient, right) in gradient.iter_mut().zip(&system.right) {
                *gradient = 2.0 * (*gradient - right);
            }
            descent.step(&mut weights, &gradient);
            watch(&weights);
        }
        Ok(weights)
    }

    fn moment(&self, node: usize) -> &[f64] {
        &self.public[self.public_of[node]]
    }
}

/// One of the iterations on a linear system.
type Solver = fn(Map, Map, &[f64], Vec<f64>, Limit) -> Krylov;

/// The block system at one strength.
struct System<'a> {
    moments: &'a LinearNetwork,
    network: &'a Network,
    alpha: f64,
    anchor_weight: f64,
    right: Vec<f64>,
    /// What binds each node by itself: rows, ridge and anchor.
    own: Vec<f64>,
    /// What binds each node through its neighbours; empty where all have one public set.
    coupling: Vec<f64>,
    factors: Vec<Option<Cholesky>>,
}

impl<'a> System<'a> {
    fn new(
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
            coupling: Vec::new(),
            factors: Vec::new(),
        };
        let blocks: Vec<(Vec<f64>, Vec<f64>, Option<Cholesky>)> = (0..network.len())
            .into_par_iter()
            .with_min_len(TASK)
            .map(|node| system.blocks(node))
            .collect();
        for (own, coupling, factor) in blocks {
            system.own.extend(own);
            system.coupling.extend(coupling);
            system.factors.push(factor);
        }
        if let Some(anchor) = anchor {
            let pulled = moments.weights_of(&anchor.hypothesis);
            for (node, right) in system.right.chunks_exact_mut(size).enumerate() {
                add_symmetric_product(right, alpha * anchor.weight, moments.moment(node), &pulled);
            }
        }
        system
    }

    fn solve_by(&self, solver: Solver, start: Vec<f64>, limit: Limit) -> Solution {
        let apply = |v: &[f64], out: &mut [f64]| self.apply(v, out);
        let precondition = |v: &[f64], out: &mut [f64]| self.precondition(v, out);
        let Krylov { x, products, residual, history } =
            solver(&apply, &precondition, &self.right, start, limit);
        Solution { weights: x, products, residual, history }
    }

    fn one_set(&self) -> bool {
        self.moments.public.len() == 1
    }

    fn is_symmetric(&self) -> bool {
        self.moments.symmetric || self.one_set()
    }

    /// The two parts of a node's diagonal block, and the factor of their sum.
    fn blocks(&self, node: usize) -> (Vec<f64>, Vec<f64>, Option<Cholesky>) {
        let moments = self.moments;
        let size = moments.size;
        let mut own = moments.grams[node * size * size..(node + 1) * size * size].to_vec();
        for column in 0..moments.names.len() {
            own[column * size + column] += moments.ridges[node];
        }
        add_scaled(&mut own, self.alpha * self.anchor_weight, moments.moment(node));
        let mut coupling = vec![0.0; size * size];
        if self.is_symmetric() {
            add_scaled(&mut coupling, 0.5 * self.network.degree(node), moments.moment(node));
        }
        let share = if self.is_symmetric() { 0.5 } else { 1.0 };
        for &(neighbour, weight) in self.network.neighbours(node) {
            add_scaled(&mut coupling, share * weight, moments.moment(neighbour));
        }
        let mut sum = own.clone();
        add_scaled(&mut sum, self.alpha, &coupling);
        let factor = factor(&sum, size);
        (own, if self.one_set() { Vec::new() } else { coupling }, factor)
    }

    /// `out ← A v`
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        self.apply_hearing(v, v, out);
    }

    /// `out ← A v`, with the neighbours' part of v taken from `heard`.
    fn apply_hearing(&self, v: &[f64], heard: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let mut shared = Vec::new();
        // K_j w_j of every node, formed once.
        if !self.one_set() {
            shared = vec![0.0; heard.len()];
            shared.par_chunks_mut(size).with_min_len(TASK).enumerate().for_each(|(node, out)| {
                let w = &heard[node * size..(node + 1) * size];
                add_symmetric_product(out, 1.0, self.moments.moment(node), w);
            });
        }
        out.par_chunks_mut(size).with_min_len(TASK).enumerate().for_each(|(node, out)| {
            out.fill(0.0);
            let own = &self.own[node * size * size..(node + 1) * size * size];
            let w = &v[node * size..(node + 1) * size];
            add_symmetric_product(out, 1.0, own, w);
            if self.one_set() {
                self.add_differences(node, w, heard, out);
            } else {
                self.add_coupling(node, w, heard, &shared, out);
            }
        });
    }

    /// `out ← out + α K Σ_j A_ij (w_i − w_j)`: differences lose no digits under a strong pull,
    /// where neighbours are close.
    fn add_differences(&self, node: usize, own: &[f64], heard: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let mut sum = vec![0.0; size];
        for &(neighbour, weight) in self.network.neighbours(node) {
            let theirs = &heard[neighbour * size..(neighbour + 1) * size];
            for ((sum, own), theirs) in sum.iter_mut().zip(own).zip(theirs) {
                *sum += weight * (own - theirs);
            }
        }
        add_symmetric_product(out, self.alpha, self.moments.moment(node), &sum);
    }

    /// The same for different public sets, from the products `K_j w_j`.
    fn add_coupling(
        &self,
        node: usize,
        own: &[f64],
        heard: &[f64],
        shared: &[f64],
        out: &mut [f64],
    ) {
        let size = self.moments.size;
        let coupling = &self.coupling[node * size * size..(node + 1) * size * size];
        add_symmetric_product(out, self.alpha, coupling, own);
        let share = if self.is_symmetric() { 0.5 } else { 1.0 };
        let mut sum = vec![0.0; size];
        for &(neighbour, weight) in self.network.neighbours(node) {
            let range = neighbour * size..(neighbour + 1) * size;
            add_scaled(out, -share * self.alpha * weight, &shared[range.clone()]);
            if self.is_symmetric() {
                add_scaled(&mut sum, weight, &heard[range]);
            }
        }
        if self.is_symmetric() {
            add_symmetric_product(out, -share * self.alpha, self.moments.moment(node), &sum);
        }
    }

    fn precondition(&self, v: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        out.par_chunks_mut(size).with_min_len(TASK).enumerate().for_each(|(node, out)| {
            out.copy_from_slice(&v[node * size..(node + 1) * size]);
            if let Some(factor) = &self.factors[node] {
                factor.solve(out);
            }
        });
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

/// Q and q of a node's rows.
fn data_moments(node: &Node, size: usize, intercept: bool) -> (Vec<f64>, Vec<f64>) {
    let (mut gram, mut right) = (vec![0.0; size * size], vec![0.0; size]);
    for (row, weight) in node.data.weights().iter().enumerate() {
        let mut x = node.data.features().row(row).to_vec();
        x.extend(intercept.then_some(1.0));
        add_outer(&mut gram, *weight, &x);
        add_scaled(&mut right, weight * node.data.labels().row(row)[0], &x);
    }
    (gram, right)
}

/// K of public points: their second moment, or their covariance if levels are free.
fn public_moments(points: &Features, intercept: bool, level: bool) -> Vec<f64> {
    let size = points.columns() + usize::from(intercept);
    let share = 1.0 / points.rows().max(1) as f64;
    let mut mean = vec![0.0; points.columns()];
    if !level {
        points.iter().for_each(|x| add_scaled(&mut mean, share, x));
    }
    let mut moment = vec![0.0; size * size];
    for x in points.iter() {
        let mut x: Vec<f64> = x.iter().zip(&mean).map(|(x, m)| x - m).collect();
        x.extend(intercept.then_some(if level { 1.0 } else { 0.0 }));
        add_outer(&mut moment, share, &x);
    }
    moment
}

impl From<LinearHypothesis> for Arc<dyn Hypothesis> {
    fn from(hypothesis: LinearHypothesis) -> Self {
        Arc::new(hypothesis)
    }
}
