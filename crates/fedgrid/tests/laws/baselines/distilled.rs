//! Gossip over a network, and distillation through a hub.

use std::sync::Arc;

use fedgrid::{
    data::Features,
    method::{
        FedAvg, FedMd, FedRelax, Gossip, Local, fedavg::Averaged, gossip::UpdateOrder,
        hub::around_hub,
    },
    model::{Forest, Linear, Neighbours, Tree},
    network::{Edge, Network, Node, complete, ring},
    observe::Stop,
    runtime::{InProcess, Run},
};

use super::{distance, exactly, in_threads, own_weights, three_clusters, weights};

fn gossip(method: &Gossip, network: &Network, nodes: &[Node], rounds: usize) -> Vec<Vec<f64>> {
    let runtime = InProcess { stop: Stop { tolerance: -1.0, rounds }, ..InProcess::default() };
    let run = runtime.run(method, network.views(nodes.to_vec()).unwrap()).unwrap();
    let weights =
        |node: &Node| own_weights(node.model.as_ref(), run.hypotheses[node.id].as_deref().unwrap());
    nodes.iter().map(weights).collect()
}

#[test]
fn gossip_of_adapted_weights_on_a_complete_network_is_fedavg() {
    let nodes = three_clusters().nodes;
    let method = Gossip { step: 0.03, order: UpdateOrder::AdaptThenCombine, start: None };
    let all = complete(12).unwrap();
    for averaged in [Averaged::Models, Averaged::Gradients] {
        let fedavg = FedAvg { averaged, steps: 1, step: Some(0.03), ..exactly(15) };
        let gossip = gossip(&method, &all, &nodes, 15);
        assert!(distance(&gossip, &weights(&fedavg, &nodes)) < 1e-12);
    }
    // On a ring news travels slowly, and the other order averages what is one step older.
    assert!(
        distance(&gossip(&method, &ring(12).unwrap(), &nodes, 15), &weights(&exactly(15), &nodes))
            > 0.01
    );
    let other = Gossip { order: UpdateOrder::CombineThenAdapt, ..method.clone() };
    let apart = distance(&gossip(&other, &all, &nodes, 15), &gossip(&method, &all, &nodes, 15));
    assert!(apart > 0.01, "{apart}");
}

#[test]
fn gossip_keeps_the_mean_where_nobody_has_rows_and_ends_in_agreement() {
    let mut nodes = three_clusters().nodes;
    let start: Vec<_> =
        nodes.iter().map(|node| Some(Arc::from(node.model.fit(&node.data).unwrap()))).collect();
    let before: Vec<Vec<f64>> = start
        .iter()
        .zip(&nodes)
        .map(|(start, node)| own_weights(node.model.as_ref(), start.as_deref().unwrap()))
        .collect();
    for node in &mut nodes {
        node.data = node.data.select(&[]);
    }
    let method = Gossip { step: 1.0, order: UpdateOrder::default(), start: Some(start.into()) };
    // A star has very unequal degrees, where plain means of neighbours would not keep the mean.
    let star = fedgrid::network::star(12).unwrap();
    let after = gossip(&method, &star, &nodes, 600);
    let mean = |k: usize| before.iter().map(|w| w[k]).sum::<f64>() / 12.0;
    let mean: Vec<f64> = (0..4).map(mean).collect();
    assert!(distance(&after, &vec![mean; 12]) < 1e-9);
}

#[test]
fn the_bits_of_gossip_do_not_depend_on_the_number_of_threads() {
    let nodes = three_clusters().nodes;
    let method = Gossip { step: 0.03, order: UpdateOrder::default(), start: None };
    let all = |threads| in_threads(threads, || gossip(&method, &ring(12).unwrap(), &nodes, 20));
    assert_eq!(all(1), all(4));
}

fn distilled(method: &FedMd, nodes: &[Node]) -> Run {
    let stop = Stop { tolerance: 1e-11, rounds: 4000 };
    let runtime = InProcess { stop, ..InProcess::default() };
    runtime.run(method, around_hub(nodes.to_vec()).unwrap()).unwrap()
}

#[test]
fn distillation_through_a_hub_is_fedrelax_on_the_complete_network() {
    let nodes = three_clusters().nodes;
    let found = distilled(&FedMd { alpha: 0.8 }, &nodes);
    let edges = complete(12).unwrap();
    let edges = edges.edges().iter().map(|edge| Edge { weight: 1.0 / 12.0, ..*edge });
    let names = (0..12).map(|id| id.to_string()).collect();
    let network = Network::new(names, edges.collect::<Vec<_>>()).unwrap();
    let stop = Stop { tolerance: 1e-11, rounds: 4000 };
    let relaxed = InProcess { stop, ..InProcess::default() }
        .run(&FedRelax { alpha: 0.8, ..FedRelax::default() }, network.views(nodes.clone()).unwrap())
        .unwrap();
    for node in &nodes {
        let [a, b] = [&found, &relaxed].map(|run| {
            own_weights(node.model.as_ref(), run.hypotheses[node.id].as_deref().unwrap())
        });
        assert!(distance(&[a], &[b]) < 1e-7);
    }
}

#[test]
fn without_pull_distillation_is_local_for_every_kind_of_model() {
    let mut nodes = three_clusters().nodes;
    nodes[1].model = Arc::new(Tree::default());
    nodes[2].model = Arc::new(Forest { trees: 5, ..Forest::default() });
    nodes[3].model = Arc::new(Neighbours::default());
    nodes[4].model = Arc::new(Linear { ridge: 0.1, intercept: true });
    let public = nodes[0].public.clone();
    let predictions = |run: &Run| -> Vec<Vec<f64>> {
        let of = |node: &Node| {
            let hypothesis = run.hypotheses[node.id].as_deref().unwrap();
            hypothesis.predict(&public).as_slice().to_vec()
        };
        nodes.iter().map(of).collect()
    };
    let alone = complete(12).unwrap().views(nodes.clone()).unwrap();
    let local = predictions(&InProcess::default().run(&Local, alone).unwrap());
    let runtime = InProcess { stop: Stop { tolerance: 1e-6, rounds: 20 }, ..InProcess::default() };
    let hubbed = |alpha| {
        let views = around_hub(nodes.clone()).unwrap();
        predictions(&runtime.run(&FedMd { alpha }, views).unwrap())
    };
    assert_eq!(hubbed(0.0), local);
    let spread = |all: &[Vec<f64>]| {
        let means = (0..public.rows()).map(|row| {
            let mean = all.iter().map(|own| own[row]).sum::<f64>() / 12.0;
            all.iter().map(|own| (own[row] - mean).powi(2)).sum::<f64>()
        });
        means.sum::<f64>()
    };
    assert!(spread(&hubbed(10.0)) < 0.3 * spread(&local));
}

#[test]
fn distillation_needs_one_public_set() {
    let mut nodes = three_clusters().nodes;
    let names = nodes[0].public.names().clone();
    nodes[5].public = Arc::new(Features::new(names, vec![1.0; 8]).unwrap());
    let views = around_hub(nodes).unwrap();
    let error = InProcess::default().run(&FedMd::default(), views).unwrap_err().to_string();
    assert!(error.starts_with("distillation through a hub needs one public set"), "{error}");
}
