//! Where methods with a hub meet each other, local training and plain descent.

use fedgrid::{
    algebra::add_scaled,
    data::Dataset,
    method::{
        Apfl, ClusteredFl, Ditto, FedAvg, FedProx, FineTuned, Ifca, Method, Pooled,
        fedavg::Averaged, hub::around_hub, ifca::Guess,
    },
    model::{Linear, Parametric},
    network::Node,
    observe::Stop,
    runtime::InProcess,
};

use super::{distance, exactly, in_threads, own_weights, run, three_clusters, weights};

/// Gradient descent on one dataset.
fn descent(model: &dyn Parametric, data: &Dataset, step: f64, steps: usize) -> Vec<f64> {
    let mut w = model.start(data.features().columns(), data.task());
    for _ in 0..steps {
        let gradient = model.gradient(data, &w);
        add_scaled(&mut w, -step, &gradient);
    }
    w
}

#[test]
fn limits_of_other_methods_are_fedavg_bit_by_bit() {
    let made = three_clusters();
    let fedavg = FedAvg { participation: 0.5, seed: 3, ..exactly(7) };
    let common = weights(&fedavg, &made.nodes);
    assert!(common.iter().all(|w| *w == common[0]) && common[0].iter().all(|w| w.abs() > 0.0));
    let fedavg = || fedavg.clone();
    assert_eq!(weights(&FedProx { fedavg: fedavg(), pull: 0.0 }, &made.nodes), common);
    assert_eq!(weights(&FineTuned { fedavg: fedavg(), steps: 0 }, &made.nodes), common);
    assert_eq!(weights(&Apfl { fedavg: fedavg(), mixture: 0.0 }, &made.nodes), common);
    for guess in [Guess::Nodes, Guess::Random { spread: 1.0 }] {
        let ifca = Ifca { fedavg: fedavg(), clusters: 1, guess, ..Ifca::default() };
        assert_eq!(weights(&ifca, &made.nodes), common);
    }
    let all = exactly(7);
    let whole = ClusteredFl { fedavg: all.clone(), rest: 0.0, ..ClusteredFl::default() };
    assert_eq!(weights(&whole, &made.nodes), weights(&all, &made.nodes));
}

#[test]
fn what_is_no_limit_is_not_fedavg() {
    let made = three_clusters();
    let common = weights(&exactly(7), &made.nodes);
    let fedavg = || exactly(7);
    let others = [
        weights(&FedProx { fedavg: fedavg(), pull: 1.0 }, &made.nodes),
        weights(&FineTuned { fedavg: fedavg(), steps: 1 }, &made.nodes),
        weights(&Apfl { fedavg: fedavg(), mixture: 0.1 }, &made.nodes),
        weights(&Ifca { fedavg: fedavg(), ..Ifca::default() }, &made.nodes),
        weights(&Ditto { fedavg: fedavg(), pull: 1.0 }, &made.nodes),
        weights(&ClusteredFl { fedavg: fedavg(), rest: 9.0, gap: 0.0 }, &made.nodes),
    ];
    for (number, other) in others.iter().enumerate() {
        assert!(distance(other, &common) > 1e-3, "{number}");
    }
}

#[test]
fn ditto_without_pull_is_local_and_with_much_is_fedavg() {
    let made = three_clusters();
    let fedavg = exactly(5);
    let alone = weights(&Ditto { fedavg: fedavg.clone(), pull: 0.0 }, &made.nodes);
    for (node, own) in made.nodes.iter().zip(&alone) {
        let local = node.model.fit(&node.data).unwrap();
        assert_eq!(*own, own_weights(node.model.as_ref(), local.as_ref()));
    }
    let near = weights(&Ditto { fedavg: fedavg.clone(), pull: 1e9 }, &made.nodes);
    assert!(distance(&near, &weights(&fedavg, &made.nodes)) < 1e-6);
}

#[test]
fn ditto_minimises_its_objective() {
    let made = three_clusters();
    let (fedavg, pull) = (exactly(5), 0.7);
    let common = weights(&fedavg, &made.nodes);
    for (node, own) in made.nodes.iter().zip(weights(&Ditto { fedavg, pull }, &made.nodes)) {
        let mut gradient = node.model.as_parametric().unwrap().gradient(&node.data, &own);
        add_scaled(&mut gradient, pull, &own);
        add_scaled(&mut gradient, -pull, &common[node.id]);
        assert!(gradient.iter().all(|g| g.abs() < 1e-8), "{gradient:?}");
    }
}

#[test]
fn fedavg_on_equal_data_is_descent_on_them() {
    let mut nodes = three_clusters().nodes;
    let data = nodes[4].data.clone();
    for node in &mut nodes {
        node.data = data.clone();
    }
    let model = Linear { ridge: 0.0, intercept: false };
    let alone = descent(&model, &data, 0.02, 4 * 9);
    let fedavg = FedAvg { step: Some(0.02), steps: 4, ..exactly(9) };
    for own in weights(&fedavg, &nodes) {
        assert!(distance(&[own], std::slice::from_ref(&alone)) < 1e-12);
    }
}

#[test]
fn averaged_gradients_descend_the_pooled_loss_and_one_step_of_models_does_the_same() {
    let nodes = three_clusters().nodes;
    let share = 1.0 / nodes.len() as f64;
    let parts = nodes.iter().map(|node| node.data.clone());
    let all = parts.reduce(|a, b| a.stacked(&b).unwrap()).unwrap();
    let all = all.clone().with_total_weight(all.total_weight() * share);
    let alone = descent(&Linear { ridge: 0.0, intercept: false }, &all, 0.03, 25);
    for averaged in [Averaged::Gradients, Averaged::Models] {
        let fedavg = FedAvg { averaged, steps: 1, step: Some(0.03), ..exactly(25) };
        for own in weights(&fedavg, &nodes) {
            assert!(distance(&[own], std::slice::from_ref(&alone)) < 1e-11, "{averaged:?}");
        }
    }
}

#[test]
fn one_step_of_fedavg_ends_at_the_pooled_model() {
    let nodes = three_clusters().nodes;
    let fedavg = FedAvg { steps: 1, iterations: 5000, tolerance: 1e-12, ..FedAvg::default() };
    let pooled = Pooled.fit(&nodes).unwrap();
    let pooled: Vec<_> = nodes
        .iter()
        .map(|node| own_weights(node.model.as_ref(), pooled[node.id].as_ref()))
        .collect();
    assert!(distance(&weights(&fedavg, &nodes), &pooled) < 1e-6);
    // Several local steps end elsewhere, and the proximal term brings them back.
    let drifted = FedAvg { steps: 20, ..fedavg };
    let far = distance(&weights(&drifted, &nodes), &pooled);
    let near = distance(&weights(&FedProx { fedavg: drifted, pull: 300.0 }, &nodes), &pooled);
    assert!(far > 0.1 && near < 0.1 * far, "{far} {near}");
}

#[test]
fn an_own_model_only_is_descent_alone() {
    let nodes = three_clusters().nodes;
    let fedavg = FedAvg { step: Some(0.02), steps: 3, ..exactly(6) };
    let own = weights(&Apfl { fedavg, mixture: 1.0 }, &nodes);
    for (node, own) in nodes.iter().zip(own) {
        let alone = descent(node.model.as_parametric().unwrap(), &node.data, 0.02, 18);
        assert!(distance(&[own], &[alone]) < 1e-12);
    }
}

#[test]
fn fine_tuning_goes_from_fedavg_to_local() {
    let nodes = three_clusters().nodes;
    let fedavg = exactly(30);
    let (common, step) = (weights(&fedavg, &nodes), 0.01);
    let fedavg = FedAvg { step: Some(step), ..fedavg };
    let tuned = |steps| weights(&FineTuned { fedavg: fedavg.clone(), steps }, &nodes);
    let local: Vec<Vec<f64>> = nodes
        .iter()
        .map(|node| own_weights(node.model.as_ref(), node.model.fit(&node.data).unwrap().as_ref()))
        .collect();
    let far = distance(&common, &local);
    let distances = [tuned(0), tuned(100), tuned(20_000)].map(|tuned| distance(&tuned, &local));
    assert!(distances[1] < far && distances[1] > distances[2], "{far} {distances:?}");
    assert!(distances[2] < 0.1 * far, "{distances:?}");
}

#[test]
fn nodes_hold_the_models_of_iteration_k_after_two_k_and_two_rounds() {
    let nodes = three_clusters().nodes;
    for iterations in [1, 4] {
        let whole = weights(&exactly(iterations), &nodes);
        let stop = Stop { tolerance: -1.0, rounds: 2 * iterations + 2 };
        let runtime = InProcess { stop, ..InProcess::default() };
        let cut = runtime.run(&exactly(100), around_hub(nodes.clone()).unwrap()).unwrap();
        for node in &nodes {
            let hypothesis = cut.hypotheses[node.id].as_deref().unwrap();
            assert_eq!(own_weights(node.model.as_ref(), hypothesis), whole[node.id]);
        }
        // The hub holds them too, and one round later there is nothing more to say.
        let run = run(&exactly(iterations), &nodes);
        assert_eq!(run.history.len(), 2 * iterations + 3);
        let hub = run.hypotheses.last().unwrap().as_deref().unwrap();
        assert_eq!(own_weights(nodes[0].model.as_ref(), hub), whole[0]);
    }
}

#[test]
fn only_those_drawn_answer_and_all_hear_the_last_models() {
    let nodes = three_clusters().nodes;
    let fedavg = FedAvg { participation: 0.25, tells_all: false, ..exactly(4) };
    let run = run(&fedavg, &nodes);
    let bytes: Vec<usize> = run.history.iter().map(|round| round.bytes).collect();
    // Three of twelve nodes hear and answer, with four weights and two numbers more each way.
    let (joined, each) = (12 * 8 * 3, 3 * 8 * 6);
    assert_eq!(bytes[0], joined);
    assert_eq!(bytes[1..9], [each; 8]);
    assert_eq!(bytes[9..], [12 * 8 * 6, 0]);
    let heard = run.hypotheses.iter().filter(|hypothesis| hypothesis.is_some()).count();
    assert_eq!(heard, 13);
    let other = weights(&FedAvg { seed: 9, ..fedavg.clone() }, &nodes);
    assert!(distance(&weights(&fedavg, &nodes), &other) > 1e-6);
}

#[test]
fn a_node_without_rows_uses_the_common_model_and_changes_nothing() {
    let mut nodes = three_clusters().nodes;
    let few = weights(&exactly(6), &nodes[..11]);
    let empty = &nodes[11].data;
    nodes[11].data = Dataset::empty(empty.features().names().clone(), empty.task());
    let all = weights(&exactly(6), &nodes);
    assert_eq!(all[..11], few);
    assert_eq!(all[11], few[0]);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let nodes = three_clusters().nodes;
    let fedavg = || FedAvg { participation: 0.5, ..exactly(10) };
    let all = |threads| {
        in_threads(threads, || {
            [
                weights(&fedavg(), &nodes),
                weights(&FedProx { fedavg: fedavg(), pull: 0.3 }, &nodes),
                weights(&Ditto { fedavg: fedavg(), pull: 0.3 }, &nodes),
                weights(&Apfl { fedavg: fedavg(), mixture: 0.3 }, &nodes),
                weights(&Ifca { fedavg: fedavg(), clusters: 3, ..Ifca::default() }, &nodes),
                weights(&FineTuned { fedavg: fedavg(), steps: 3 }, &nodes),
                weights(&ClusteredFl { rest: 0.5, ..ClusteredFl::default() }, &nodes),
            ]
        })
    };
    assert_eq!(all(1), all(4));
}

/// What a method is refused with.
fn message<M: Method>(method: &M, nodes: &[Node]) -> String {
    let views = around_hub(nodes.to_vec()).unwrap();
    InProcess::default().run(method, views).unwrap_err().to_string()
}

#[test]
fn wrong_parameters_are_named() {
    let nodes = three_clusters().nodes;
    let fedavg = FedAvg::default;
    assert_eq!(
        message(&FedProx { fedavg: fedavg(), pull: -1.0 }, &nodes),
        "pull is -1, expected zero or more"
    );
    assert_eq!(
        message(&Ditto { fedavg: fedavg(), pull: f64::NAN }, &nodes),
        "pull is NaN, expected zero or more"
    );
    assert_eq!(
        message(&Apfl { fedavg: fedavg(), mixture: 1.5 }, &nodes),
        "mixture is 1.5, expected a share from zero to one"
    );
    assert_eq!(
        message(&ClusteredFl { gap: 3.0, ..ClusteredFl::default() }, &nodes),
        "gap is 3, expected a number from zero to two"
    );
    let half = FedAvg { participation: 0.5, ..fedavg() };
    assert_eq!(
        message(&ClusteredFl { fedavg: half, ..ClusteredFl::default() }, &nodes),
        "clustered learning by bipartition needs all nodes in every iteration (participation = 1)"
    );
    assert_eq!(
        message(&FedAvg { start: Some([0.0].into()), ..fedavg() }, &nodes),
        "weights to start from: found 1, expected 4"
    );
}
