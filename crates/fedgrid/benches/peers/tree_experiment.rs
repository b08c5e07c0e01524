//! The tree experiment of "Plug In and Learn": 150 nodes, 100 public points, d = 10, four updates.

use std::sync::Arc;

use fedgrid::{
    method::FedRelax,
    model::{LocalModel, Tree},
    observe::Stop,
    runtime::{InProcess, Order},
};

use crate::{
    linear_experiment::Experiment,
    peer::{Peer, difference, numbers, seconds, timed},
};

const UPDATES: usize = 4;
const ALPHA: f64 = 0.01;

pub(crate) fn report(peer: &Peer) -> String {
    let own = Experiment::new(10, true);
    own.write(peer);
    let arguments = [150.0, 10.0, 100.0, 10.0, UPDATES as f64, ALPHA];
    let answer = peer.run("tree_experiment.py", &arguments);
    let theirs = seconds(&answer, "seconds");
    let (ours, found) = timed(|| run(&own));
    let apart = difference(&found, &numbers(&answer, "predictions"));

    let shared = Experiment::new(10, false);
    shared.write(peer);
    let stacked = peer.run("tree_experiment.py", &arguments);
    let (fast, same) = timed(|| run(&shared));
    let stacked_apart = difference(&same, &numbers(&stacked, "predictions"));
    let stacked = seconds(&stacked, "seconds");
    format!(
        "the tree experiment, 150 nodes, four updates, all cores against one fit after the other\n  \
         own public sets: {ours:.3} s, scikit-learn {theirs:.2} s: {:.0}x, predictions differ by {apart:.1e}\n  \
         one public set:  {fast:.4} s, scikit-learn on stacked copies {stacked:.2} s: {:.0}x, predictions differ by {stacked_apart:.1e}\n",
        theirs / ours,
        stacked / fast
    )
}

/// The public predictions of all trees after the updates.
fn run(experiment: &Experiment) -> Vec<f64> {
    let model: Arc<dyn LocalModel> = Arc::new(Tree::default());
    let nodes = experiment.nodes(&model);
    let public: Vec<_> = nodes.iter().map(|node| node.public.clone()).collect();
    let views = experiment.network.views(nodes).expect("one node each");
    let runtime =
        InProcess { stop: Stop { tolerance: 0.0, rounds: UPDATES }, order: Order::AtOnce };
    let method = FedRelax { alpha: ALPHA, ..FedRelax::default() };
    let run = runtime.run(&method, views).expect("trees can be fitted");
    let hypotheses = run.hypotheses.iter().flatten().zip(&public);
    hypotheses.flat_map(|(tree, points)| tree.predict(points).as_slice().to_vec()).collect()
}
