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
        let made = self.made(between, seed)?;
        let weights = if self.minimum {
            self.minimum(&made)?
        } else {
            Iteration::new(self, &made.network, &made.known(), &made.clusters)
                .after(self.iterations)
        };
        Ok(self.measured(&made, &weights))
    }

    fn made(&self, between: f64, seed: u64) -> Result<Made> {
        let made = Clustered { clusters: 2, nodes: self.nodes, inside: self.inside, between, seed };
        let (network, clusters) = made.make()?;
        let rows = clusters.iter().enumerate().map(|(id, &c)| self.rows(id, c, seed)).collect();
        let count = clusters.len();
        let order = Stream::new(seed, 0, 0, Purpose::Shuffle).permutation(count);
        let share = (self.labelled * count as f64).floor();
        let labelled = order.into_iter().map(|place| (place as f64) < share).collect();
        Ok(Made { network, clusters, rows, labelled })
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
    fn minimum(&self, made: &Made) -> Result<Weights> {
        let losses = Losses::new(&made.nodes()?, true)?;
        let coupled = Coupled { alpha: self.alpha, penalty: self.penalty.into() };
        let goal = Goal { tolerance: 1e-8, steps: 50_000 };
        let minimum = minimise(&losses, &made.network, coupled, None, goal)?;
        Ok(minimum.weights.chunks_exact(2).map(|w| [w[0], w[1]]).collect())
    }

    /// The mean over nodes of the squared error of weights, or of that of labels.
    fn measured(&self, made: &Made, weights: &[[f64; 2]]) -> f64 {
        let of = |((rows, weights), &cluster): ((&Rows, &[f64; 2]), &usize)| {
            if self.paper_compat {
                rows.mean_squares(weights)
            } else {
                squared_distance(weights, &TRUTH[cluster])
            }
        };
        let sum: f64 = made.rows.iter().zip(weights).zip(&made.clusters).map(of).sum();
        sum / made.rows.len() as f64
    }
}

/// A network with rows, of which only those of labelled nodes are known.
struct Made {
    network: Network,
    clusters: Vec<usize>,
    rows: Vec<Rows>,
    labelled: Vec<bool>,
}

impl Made {
    /// The rows that are known.
    fn known(&self) -> Vec<Option<&Rows>> {
        let known = |(rows, labelled): (_, &bool)| labelled.then_some(rows);
        self.rows.iter().zip(&self.labelled).map(known).collect()
    }

    /// The same as nodes.
    fn nodes(&self) -> Result<Vec<Node>> {
        let names = feature_names(2);
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let public = Arc::new(Features::empty(names.clone()));
        let node = |(id, rows): (usize, Option<&Rows>)| {
            let data = match rows {
                Some(rows) => {
                    let features = Features::new(names.clone(), rows.x.concat())?;
                    Dataset::new(features, Labels::values(rows.y.clone()))?
                }
                None => Dataset::empty(names.clone(), Task::Regression),
            };
            Ok(Node { id, data, model: model.clone(), public: public.clone() })
        };
        self.known().into_iter().enumerate().map(node).collect()
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
        // The dual updates of `Penalty`, written out for two weights.
        match self.penalty {
            Penalty::Norm => self.follow(iterations, |[a, b], c| {
                let size = (a * a + b * b).sqrt();
                let factor = if size > c { c / size } else { 1.0 };
                [a * factor, b * factor]
            }),
            Penalty::OneNorm => {
                self.follow(iterations, |[a, b], c| [a.clamp(-c, c), b.clamp(-c, c)])
            }
            Penalty::SquaredNorm => self.follow(iterations, |[a, b], c| {
                let factor = 1.0 / (1.0 + self.sigma / c);
                [a * factor, b * factor]
            }),
        }
    }

    fn follow(&self, iterations: usize, update: impl Fn([f64; 2], f64) -> [f64; 2]) -> Weights {
        let edges = self.network.edges();
        let ends: Vec<(usize, usize)> = edges.iter().map(|e| (e.source, e.target)).collect();
        let mut weights = vec![[0.0; 2]; self.steps.len()];
        let mut duals = vec![[0.0; 2]; edges.len()];
        let mut pulls = vec![[0.0; 2]; self.steps.len()];
        let mut reflected = weights.clone();
        for _ in 0..iterations {
            for (node, weights) in weights.iter_mut().enumerate() {
                let next = self.next(node, *weights, pulls[node]);
                reflected[node] = [2.0 * next[0] - weights[0], 2.0 * next[1] - weights[1]];
                *weights = next;
            }
            pulls.fill([0.0; 2]);
            for ((&(source, target), dual), &strength) in
                ends.iter().zip(&mut duals).zip(&self.strengths)
            {
                let (a, b) = (reflected[source], reflected[target]);
                let moved =
                    [dual[0] + self.sigma * (a[0] - b[0]), dual[1] + self.sigma * (a[1] - b[1])];
                *dual = update(moved, strength);
                pulls[source] = [pulls[source][0] + dual[0], pulls[source][1] + dual[1]];
                pulls[target] = [pulls[target][0] - dual[0], pulls[target][1] - dual[1]];
            }
        }
        weights
    }

    /// The next weights of a node under the sum of its duals.
    fn next(&self, node: usize, weights: [f64; 2], pull: [f64; 2]) -> [f64; 2] {
        let step = self.steps[node];
        let centre = [weights[0] - step * pull[0], weights[1] - step * pull[1]];
        match &self.proximal[node] {
            None => centre,
            Some((inverse, right)) => {
                let v = [centre[0] + right[0], centre[1] + right[1]];
                [inverse[0] * v[0] + inverse[1] * v[1], inverse[2] * v[0] + inverse[3] * v[1]]
            }
        }
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

#[cfg(test)]
mod tests {
    use fedgrid::{
        method::{PrimalDual, Scale},
        model::Stored,
        observe::Stop,
        runtime::{InProcess, Order},
    };

    use super::*;

    fn case(penalty: Kind, paper_compat: bool) -> Case {
        Case {
            nodes: 12,
            inside: 0.6,
            between: vec![0.1],
            labelled: 0.6,
            rows: 5,
            noise: 0.3,
            penalty,
            alpha: 0.05,
            iterations: 60,
            minimum: false,
            paper_compat,
        }
    }

    #[test]
    fn the_papers_iteration_is_the_primal_dual_method_by_messages() {
        for kind in [Kind::Norm, Kind::OneNorm, Kind::SquaredNorm] {
            let case = case(kind, false);
            let made = case.made(0.1, 4).unwrap();
            let ours =
                Iteration::new(&case, &made.network, &made.known(), &made.clusters).after(60);
            let method = PrimalDual {
                alpha: case.alpha,
                penalty: kind.into(),
                scale: Scale::Fixed(1.0),
                relaxation: 1.0,
                ..PrimalDual::default()
            };
            // Two rounds tell the start, and two more each iteration.
            let stop = Stop { tolerance: 0.0, rounds: 2 + 2 * 60 };
            let runtime = InProcess { stop, order: Order::AtOnce };
            let views = made.network.views(made.nodes().unwrap()).unwrap();
            let run = runtime.run(&method, views).unwrap();
            for (ours, theirs) in ours.iter().zip(&run.hypotheses) {
                let Stored::Linear(theirs) = theirs.as_ref().unwrap().stored() else {
                    panic!("linear models")
                };
                assert!(squared_distance(ours, &theirs.slopes) < 1e-22, "{ours:?} {theirs:?}");
            }
        }
    }

    #[test]
    fn many_iterations_end_at_the_minimum() {
        for kind in [Kind::Norm, Kind::OneNorm, Kind::SquaredNorm] {
            let case = case(kind, false);
            let made = case.made(0.1, 4).unwrap();
            let known = made.known();
            let long = Iteration::new(&case, &made.network, &known, &made.clusters).after(20_000);
            let minimum = case.minimum(&made).unwrap();
            for (a, b) in long.iter().zip(&minimum) {
                assert!(squared_distance(a, b) < 1e-6, "{kind:?} {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn with_paper_compat_a_node_has_one_noise_for_all_rows() {
        let rows = |compat| case(Kind::Norm, compat).made(0.1, 4).unwrap().rows;
        let noises = |rows: &Rows| -> Vec<f64> {
            rows.x.iter().zip(&rows.y).map(|(x, y)| y - dot(x, &TRUTH[0])).collect()
        };
        let spread = |noises: Vec<f64>| noises.iter().map(|e| (e - noises[0]).abs()).sum::<f64>();
        assert!(spread(noises(&rows(true)[0])) < 1e-12);
        assert!(spread(noises(&rows(false)[0])) > 0.1);
    }
}
