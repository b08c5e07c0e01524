//! Laws of the methods that networks are compared with: where they meet, and what they find.

mod clusters;
mod compared;
mod distilled;
mod limits;
mod models;

use std::sync::Arc;

use fedgrid::{
    method::{FedAvg, Method, hub::around_hub},
    model::{Hypothesis, LocalModel},
    network::Node,
    observe::Stop,
    runtime::{InProcess, Run},
};

use crate::persfl::setting::{Made, made};

/// Twelve nodes in three clusters, with some noise.
fn three_clusters() -> Made {
    made((0..12).map(|id| id % 3).collect(), [6, 4], 0.3, 5)
}

/// FedAvg of so many iterations that stops at nothing else.
fn exactly(iterations: usize) -> FedAvg {
    FedAvg { iterations, tolerance: 0.0, ..FedAvg::default() }
}

/// A method run to its end.
fn run<M: Method>(method: &M, nodes: &[Node]) -> Run {
    let runtime =
        InProcess { stop: Stop { tolerance: 0.0, rounds: 10_000 }, ..InProcess::default() };
    runtime.run(method, around_hub(nodes.to_vec()).unwrap()).unwrap()
}

/// The weights of all nodes after a method's last iteration.
fn weights<M: Method>(method: &M, nodes: &[Node]) -> Vec<Vec<f64>> {
    let run = run(method, nodes);
    let of = |node: &Node| {
        let hypothesis = run.hypotheses[node.id].as_deref().unwrap();
        own_weights(node.model.as_ref(), hypothesis)
    };
    nodes.iter().map(of).collect()
}

fn own_weights(model: &dyn LocalModel, hypothesis: &dyn Hypothesis) -> Vec<f64> {
    model.as_parametric().unwrap().weights(hypothesis).unwrap()
}

/// The weights of a run in one thread or several.
fn in_threads<T: Send>(threads: usize, work: impl Fn() -> T + Send + Sync) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(work)
}

/// The largest distance of two lists of weights.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn with_model(nodes: &mut [Node], model: impl LocalModel + 'static) {
    let model: Arc<dyn LocalModel> = Arc::new(model);
    for node in nodes {
        node.model = model.clone();
    }
}
