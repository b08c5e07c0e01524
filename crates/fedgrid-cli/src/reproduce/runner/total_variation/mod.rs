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
//! σ = 1/2, mean losses, 1 + σ/c, noise for every row, a step of 1/|N(i)|, and errors of weights.

mod iteration;

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
    synthetic::feature_names,
};
use rayon::prelude::*;
use serde::Deserialize;

use iteration::Iteration;

use super::super::measured::Curve;

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
        // Points of one line are independent draws, as those of different repeats are.
        let made = self.made(between, seed ^ between.to_bits())?;
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
