//! Every method with a hub on every kind of model with weights.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Labels},
    method::{Apfl, ClusteredFl, Ditto, FedAvg, FedProx, FineTuned, Ifca, Method, hub::around_hub},
    model::{ElasticNet, Huber, Linear, Logistic, Perceptron, Poisson, Quantile, Tree},
    network::Node,
    runtime::InProcess,
};

use super::{exactly, run, three_clusters, with_model};

/// The training loss before the first and after the last iteration.
fn losses<M: Method>(method: &M, nodes: &[Node]) -> (f64, f64) {
    let run = run(method, nodes);
    assert!(run.hypotheses[..nodes.len()].iter().all(Option::is_some));
    (run.history[1].loss, run.history.last().unwrap().loss)
}

fn all_descend(name: &str, nodes: &[Node]) {
    let fedavg = || FedAvg { pace: 0.5, ..exactly(25) };
    let found = [
        losses(&fedavg(), nodes),
        losses(&FedProx { fedavg: fedavg(), pull: 0.1 }, nodes),
        losses(&Ditto { fedavg: fedavg(), pull: 0.5 }, nodes),
        losses(&Apfl { fedavg: fedavg(), mixture: 0.5 }, nodes),
        losses(&FineTuned { fedavg: fedavg(), steps: 5 }, nodes),
        losses(&ClusteredFl { fedavg: fedavg(), rest: 0.5, gap: 0.1 }, nodes),
    ];
    for (number, (first, last)) in found.iter().enumerate() {
        assert!(last < first, "{name}, method {number}: {first} {last}");
    }
    let (_, common) = found[0];
    let (_, chosen) = losses(&Ifca { fedavg: fedavg(), clusters: 3, ..Ifca::default() }, nodes);
    assert!(chosen < common, "{name}: {chosen} {common}");
}

#[test]
fn every_loss_of_the_linear_family_descends() {
    let mut nodes = three_clusters().nodes;
    all_descend("linear", &nodes);
    with_model(&mut nodes, Linear { ridge: 0.01, intercept: true });
    all_descend("linear with an intercept", &nodes);
    with_model(&mut nodes, ElasticNet { ridge: 0.01, lasso: 0.01, intercept: true });
    all_descend("elastic net", &nodes);
    with_model(&mut nodes, Huber { threshold: 1.0, ridge: 0.01, intercept: true });
    all_descend("huber", &nodes);
    with_model(&mut nodes, Quantile { level: 0.5, ridge: 0.01, intercept: true });
    all_descend("quantile", &nodes);
}

/// The same rows with other labels, made from the old ones.
fn relabelled(nodes: &mut [Node], labels: impl Fn(&[f64]) -> Labels) {
    for node in nodes {
        let new = labels(node.data.labels().as_slice());
        node.data = Dataset::new(node.data.features().clone(), new).unwrap();
    }
}

#[test]
fn counts_and_classes_descend() {
    let mut nodes = three_clusters().nodes;
    let counts = |y: &[f64]| y.iter().map(|y| (y / 4.0).exp().round().min(20.0)).collect();
    relabelled(&mut nodes, |y| Labels::values(counts(y)));
    with_model(&mut nodes, Poisson { ridge: 0.01, intercept: true });
    all_descend("poisson", &nodes);
    let mut nodes = three_clusters().nodes;
    let classes = |y: &[f64]| y.iter().map(|y| usize::from(*y > 0.0)).collect::<Vec<_>>();
    relabelled(&mut nodes, |y| Labels::classes(2, &classes(y)).unwrap());
    with_model(&mut nodes, Logistic { ridge: 0.01, lasso: 0.0, intercept: true });
    all_descend("logistic", &nodes);
}

#[test]
fn neural_networks_descend() {
    let mut nodes = three_clusters().nodes;
    let model = Perceptron { layers: vec![4], ..Perceptron::default() };
    with_model(&mut nodes, model);
    all_descend("perceptron", &nodes);
}

#[test]
fn models_without_weights_and_of_other_sizes_are_named() {
    let message = |nodes: Vec<Node>| {
        let views = around_hub(nodes).unwrap();
        InProcess::default().run(&FedAvg::default(), views).unwrap_err().to_string()
    };
    let mut nodes = three_clusters().nodes;
    nodes[3].model = Arc::new(Tree::default());
    assert!(message(nodes).starts_with("the model of node 3 is Tree, which has no weights"));
    let mut nodes = three_clusters().nodes;
    nodes[3].model = Arc::new(Linear { ridge: 0.0, intercept: true });
    assert!(message(nodes).contains("node 12 couples 4 weights and node 3 5"));
}
