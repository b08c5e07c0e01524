//! Total variation of weights on two clusters, against the probability of edges between them,
//!
//! ```text
//! w_i ← prox_{τ_i L_i}( w_i − τ_i Σ_e D_ei u_e ),   u_e ← prox_{σ g_e*}( u_e + σ D_e(2w⁺ − w) )
//! ```
//!
//! for a fixed number of iterations, or until the minimum. ["Networked Federated Multi-Task Learning",
//! Algorithm 1, Figures 2 and 3.] With `paper_compat` this is what the authors' code does: σ = 0.45,
//! losses summed over rows, the squared norm divided by 1 + 2σ/c, one noise for all rows of a node, the
//! proximal step of every node of a cluster with τ of node 0 or 1, and errors of labels; otherwise
//! σ = 1/2, mean losses, 1 + σ/c, noise for every row, τ_i = 1/|N(i)|, and errors of weights.

use std::sync::Arc;

use fedgrid::{
    Result,
    algebra::{dot, squared_distance},
    data::{Dataset, Features, Labels, Task},
    model::{Linear, LocalModel},
    network::{Clustered, Network, Node},
    optimum::gtv::{Coupled, Goal, Losses, minimise},
    penalty::Penalty,
    random::{Purpose, Stream},
};
use rayon::prelude::*;
use serde::Deserialize;

use super::super::{measured::Curve, setting::feature_names};

/// The true weights of the two clusters.
const TRUTH: [[f64; 2]; 2] = [[2.0, 2.0], [-2.0, 2.0]];

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::reproduce) struct Case {
    /// The nodes of each of the two clusters.
    nodes: usize,
    /// The probability of an edge inside.
    inside: f64,
    /// The probabilities of an edge between, one for each point.
    between: Vec<f64>,
    /// The share of nodes that have labels.
    labelled: f64,
    /// The rows of a node.
    rows: usize,
    /// The standard deviation σ of the noise.
    noise: f64,
    penalty: Kind,
    /// The strength λ.
    alpha: f64,
    /// How many iterations.
    iterations: usize,
    /// Whether the minimum itself is found instead.
    #[serde(default)]
    minimum: bool,
    paper_compat: bool,
}

/// How the difference of neighbours' weights counts; the authors' names are norm2, mocha and norm1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Norm,
    SquaredNorm,
    OneNorm,
}

impl From<Kind> for Penalty {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Norm => Self::Norm,
            Kind::SquaredNorm => Self::SquaredNorm,
            Kind::OneNorm => Self::OneNorm,
        }
    }
}

/// Nodes with two weights each.
type Weights = Vec<[f64; 2]>;

impl Case {
    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        let point = |&between: &f64| Ok((between, self.error(between, seed)?));
        self.between.par_iter().map(point).collect()
    }

    fn error(&self, between: f64, seed: u64) -> Result<f64> {
        let made = Clustered { clusters: 2, nodes: self.nodes, inside: self.inside, between, seed };
        let (network, clusters) = made.make()?;
        let rows: Vec<Rows> =
            clusters.iter().enumerate().map(|(id, &c)| self.rows(id, c, seed)).collect();
        let count = clusters.len();
        let order = Stream::new(seed, 0, 0, Purpose::Shuffle).permutation(count);
        let is_labelled =
            |node: usize| (order[node] as f64) < (self.labelled * count as f64).floor();
        let weights = if self.minimum {
            self.minimum(&network, &rows, is_labelled)?
        } else {
            let known = |(id, rows)| is_labelled(id).then_some(rows);
            let nodes: Vec<Option<&Rows>> = rows.iter().enumerate().map(known).collect();
            Iteration::new(self, &network, &nodes, &clusters).after(self.iterations)
        };
        Ok(self.measured(&rows, &weights, &clusters))
    }

    fn rows(&self, id: usize, cluster: usize, seed: u64) -> Rows {
        let mut stream = Stream::new(seed, id, 0, Purpose::Data);
        let x: Vec<[f64; 2]> = (0..self.rows).map(|_| [stream.normal(), stream.normal()]).collect();
        let mut noise = self.noise * stream.normal();
        let label = |x: &[f64; 2]| {
            if !self.paper_compat {
                noise = self.noise * stream.normal();
            }
            dot(x, &TRUTH[cluster]) + noise
        };
        let y = x.iter().map(label).collect();
        Rows { x, y }
    }

    /// The minimum of the paper's objective.
    fn minimum(
        &self,
        network: &Network,
        rows: &[Rows],
        is_labelled: impl Fn(usize) -> bool,
    ) -> Result<Weights> {
        let names = feature_names(2);
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let public = Arc::new(Features::empty(names.clone()));
        let node = |(id, rows): (usize, &Rows)| {
            let data = if is_labelled(id) {
                let features = Features::new(names.clone(), rows.x.concat())?;
                Dataset::new(features, Labels::values(rows.y.clone()))?
            } else {
                Dataset::empty(names.clone(), Task::Regression)
            };
            Ok(Node { id, data, model: model.clone(), public: public.clone() })
        };
        let nodes = rows.iter().enumerate().map(node).collect::<Result<Vec<_>>>()?;
        let losses = Losses::new(&nodes, true)?;
        let coupled = Coupled { alpha: self.alpha, penalty: self.penalty.into() };
        let goal = Goal { tolerance: 1e-8, steps: 50_000 };
        let minimum = minimise(&losses, network, coupled, None, goal)?;
        Ok(minimum.weights.chunks_exact(2).map(|w| [w[0], w[1]]).collect())
    }

    /// The mean over nodes of the squared error of weights, or of that of labels.
    fn measured(&self, rows: &[Rows], weights: &[[f64; 2]], clusters: &[usize]) -> f64 {
        let of = |((rows, weights), &cluster): ((&Rows, &[f64; 2]), &usize)| {
            if self.paper_compat {
                rows.mean_squares(weights)
            } else {
                squared_distance(weights, &TRUTH[cluster])
            }
        };
        let sum: f64 = rows.iter().zip(weights).zip(clusters).map(of).sum();
        sum / rows.len() as f64
    }
}

/// The rows of a node.
struct Rows {
    x: Vec<[f64; 2]>,
    y: Vec<f64>,
}

impl Rows {
    fn mean_squares(&self, weights: &[f64; 2]) -> f64 {
        let squares = self.x.iter().zip(&self.y).map(|(x, y)| (dot(x, weights) - y).powi(2));
        squares.sum::<f64>() / self.y.len() as f64
    }
}

/// The iteration on plain arrays, without messages.
struct Iteration<'a> {
    network: &'a Network,
    penalty: Penalty,
    /// α A_e of every edge, halved for the authors' squared norm.
    strengths: Vec<f64>,
    sigma: f64,
    /// τ_i.
    steps: Vec<f64>,
    /// Of every node (I + 2τ Q)⁻¹ and 2τ q, or nothing without labels.
    proximal: Vec<Option<([f64; 4], [f64; 2])>>,
}

impl<'a> Iteration<'a> {
    fn new(case: &Case, network: &'a Network, nodes: &[Option<&Rows>], clusters: &[usize]) -> Self {
        let step = |node: usize| 1.0 / network.neighbours(node).len().max(1) as f64;
        let proximal = |(id, rows): (usize, &Option<&Rows>)| {
            let tau = if case.paper_compat { step(clusters[id]) } else { step(id) };
            let share = if case.paper_compat { 1.0 } else { 1.0 / case.rows as f64 };
            rows.map(|rows| rows.proximal(tau * share))
        };
        // 1 + 2σ/c is 1 + σ/(c/2).
        let halved = case.paper_compat && case.penalty == Kind::SquaredNorm;
        let strength = case.alpha * if halved { 0.5 } else { 1.0 };
        Self {
            network,
            penalty: case.penalty.into(),
            strengths: network.edges().iter().map(|edge| strength * edge.weight).collect(),
            sigma: if case.paper_compat { 0.45 } else { 0.5 },
            steps: (0..nodes.len()).map(step).collect(),
            proximal: nodes.iter().enumerate().map(proximal).collect(),
        }
    }

    /// The weights after so many iterations from zero.
    fn after(&self, iterations: usize) -> Weights {
        let edges = self.network.edges();
        let mut weights = vec![[0.0; 2]; self.steps.len()];
        let mut duals = vec![[0.0; 2]; edges.len()];
        let mut pulls = vec![[0.0; 2]; self.steps.len()];
        let mut reflected = weights.clone();
        for _ in 0..iterations {
            let nodes = weights.iter_mut().zip(&pulls).zip(&mut reflected);
            for (((weights, pull), reflected), (step, proximal)) in
                nodes.zip(self.steps.iter().zip(&self.proximal))
            {
                let centre = [weights[0] - step * pull[0], weights[1] - step * pull[1]];
                let next = match proximal {
                    None => centre,
                    Some((inverse, right)) => {
                        let v = [centre[0] + right[0], centre[1] + right[1]];
                        [
                            inverse[0] * v[0] + inverse[1] * v[1],
                            inverse[2] * v[0] + inverse[3] * v[1],
                        ]
                    }
                };
                *reflected = [2.0 * next[0] - weights[0], 2.0 * next[1] - weights[1]];
                *weights = next;
            }
            pulls.fill([0.0; 2]);
            for ((edge, dual), strength) in edges.iter().zip(&mut duals).zip(&self.strengths) {
                let (a, b) = (reflected[edge.source], reflected[edge.target]);
                dual[0] += self.sigma * (a[0] - b[0]);
                dual[1] += self.sigma * (a[1] - b[1]);
                self.penalty.dual_update(dual, *strength, self.sigma);
                let own = &mut pulls[edge.source];
                *own = [own[0] + dual[0], own[1] + dual[1]];
                let other = &mut pulls[edge.target];
                *other = [other[0] - dual[0], other[1] - dual[1]];
            }
        }
        weights
    }
}

impl Rows {
    /// (I + 2t XᵀX)⁻¹ and 2t Xᵀy.
    fn proximal(&self, t: f64) -> ([f64; 4], [f64; 2]) {
        let (mut gram, mut right) = ([0.0; 3], [0.0; 2]);
        for (x, y) in self.x.iter().zip(&self.y) {
            gram = [gram[0] + x[0] * x[0], gram[1] + x[0] * x[1], gram[2] + x[1] * x[1]];
            right = [right[0] + x[0] * y, right[1] + x[1] * y];
        }
        let [a, b, c] = [1.0 + 2.0 * t * gram[0], 2.0 * t * gram[1], 1.0 + 2.0 * t * gram[2]];
        let determinant = a * c - b * b;
        let inverse = [c, -b, -b, a].map(|entry| entry / determinant);
        (inverse, right.map(|entry| 2.0 * t * entry))
    }
}
