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

use fedgrid::{
    Result,
    algebra::{dot, squared_distance},
    data::Dataset,
    network::Clustered,
    optimum::gtv::{Coupled, Goal, Losses, minimise},
    penalty::Penalty,
    synthetic::{LabelledClusters, LabelledNetwork},
};
use rayon::prelude::*;
use serde::Deserialize;

use iteration::PaperIteration;

use super::super::measured::Curve;

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::figures) struct TotalVariation {
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
    penalty: Penalty,
    /// The strength λ.
    alpha: f64,
    /// How many iterations.
    iterations: usize,
    /// Whether the minimum itself is found instead.
    #[serde(default)]
    minimum: bool,
    paper_compat: bool,
}

/// Nodes with two weights each.
type NodeWeights = Vec<[f64; 2]>;

impl TotalVariation {
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
            PaperIteration::new(self, &made).after(self.iterations)
        };
        Ok(self.measured(&made, &weights))
    }

    fn made(&self, between: f64, seed: u64) -> Result<LabelledNetwork> {
        let Self { nodes, inside, labelled, rows, noise, paper_compat, .. } = *self;
        let clusters = Clustered { clusters: 2, nodes, inside, between, seed };
        LabelledClusters { clusters, labelled, rows, noise, one_noise: paper_compat }.make()
    }

    /// The minimum of the paper's objective.
    fn minimum(&self, made: &LabelledNetwork) -> Result<NodeWeights> {
        let losses = Losses::new(&made.nodes(), true)?;
        let coupled = Coupled { alpha: self.alpha, penalty: self.penalty };
        // The certified gap is far below the differences that the figures show.
        let goal = Goal { tolerance: 1e-8, steps: 50_000 };
        let minimum = minimise(&losses, &made.network, coupled, None, goal)?;
        Ok(minimum.weights.chunks_exact(2).map(|w| [w[0], w[1]]).collect())
    }

    /// The mean over nodes of the squared error of weights, or of that of labels.
    fn measured(&self, made: &LabelledNetwork, weights: &[[f64; 2]]) -> f64 {
        let of = |((rows, weights), &cluster): ((&Dataset, &[f64; 2]), &usize)| {
            if self.paper_compat {
                mean_squares(rows, weights)
            } else {
                squared_distance(weights, &LabelledClusters::TRUTH[cluster])
            }
        };
        let sum: f64 = made.rows.iter().zip(weights).zip(&made.clusters).map(of).sum();
        sum / made.rows.len() as f64
    }
}

fn mean_squares(rows: &Dataset, weights: &[f64; 2]) -> f64 {
    let labels = rows.labels().as_slice();
    let squares = rows.features().iter().zip(labels).map(|(x, y)| (dot(x, weights) - y).powi(2));
    squares.sum::<f64>() / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use fedgrid::{
        method::{PrimalDual, primal_dual::Scale},
        model::LinearHypothesis,
        observe::Stop,
        runtime::{InProcess, Order},
    };

    use super::*;

    fn case(penalty: Penalty, paper_compat: bool) -> TotalVariation {
        TotalVariation {
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
        for kind in [Penalty::Norm, Penalty::OneNorm, Penalty::SquaredNorm] {
            let case = case(kind, false);
            let made = case.made(0.1, 4).unwrap();
            let ours = PaperIteration::new(&case, &made).after(60);
            let method = PrimalDual {
                alpha: case.alpha,
                penalty: kind,
                scale: Scale::Fixed(1.0),
                relaxation: 1.0,
                ..PrimalDual::default()
            };
            // Two rounds tell the start, and two more each iteration.
            let stop = Stop { tolerance: 0.0, rounds: 2 + 2 * 60 };
            let runtime = InProcess { stop, order: Order::AtOnce };
            let views = made.network.views(made.nodes()).unwrap();
            let run = runtime.run(&method, views).unwrap();
            for (ours, theirs) in ours.iter().zip(&run.hypotheses) {
                let theirs = theirs
                    .as_ref()
                    .unwrap()
                    .downcast_ref::<LinearHypothesis>()
                    .expect("linear models")
                    .clone();
                assert!(squared_distance(ours, &theirs.slopes) < 1e-22, "{ours:?} {theirs:?}");
            }
        }
    }

    #[test]
    fn many_iterations_end_at_the_minimum() {
        for kind in [Penalty::Norm, Penalty::OneNorm, Penalty::SquaredNorm] {
            let case = case(kind, false);
            let made = case.made(0.1, 4).unwrap();
            let long = PaperIteration::new(&case, &made).after(20_000);
            let minimum = case.minimum(&made).unwrap();
            for (a, b) in long.iter().zip(&minimum) {
                assert!(squared_distance(a, b) < 1e-6, "{kind:?} {a:?} {b:?}");
            }
        }
    }
}
