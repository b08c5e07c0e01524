//! What rounds of messages keep: their bits on any number of threads, their records, and their
//! balance where nodes would drive each other apart.

use std::sync::Arc;

use crate::setting::{Setting, predictions};
use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    descent::Optimiser,
    method::{FedRelax, Oracle, Pooled, fedrelax::LocalStep},
    model::{Linear, Logistic, Tree},
    network::{Edge, Network, Node, complete},
    observe::{Stop, Validation},
    optimum::{LinearNetwork, Rounds},
    runtime::{InProcess, Order},
};

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let models: [Arc<dyn fedgrid::model::LocalModel>; 2] =
        [Arc::new(Linear::default()), Arc::new(Tree::default())];
    let setting = Setting { models: models.to_vec(), ..Setting::new(Task::Regression) };
    let classes = Setting {
        models: vec![Arc::new(Logistic::default())],
        ..Setting::new(Task::Classification { classes: 3 })
    };
    for setting in [&setting, &classes] {
        let run = |threads| {
            with_threads(threads, || {
                let run = InProcess::default().run(&FedRelax::default(), setting.views()).unwrap();
                (predictions(run.hypotheses.iter().flatten(), setting), run.history)
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn taking_turns_ends_at_the_same_fixed_point_in_fewer_rounds() {
    for shared in [true, false] {
        let setting = Setting { shared, ..Setting::new(Task::Regression) };
        let run = |order| {
            let stop = Stop { tolerance: 1e-12, rounds: 5000 };
            let method = FedRelax { alpha: 2.0, ..FedRelax::default() };
            InProcess { stop, order }.run(&method, setting.views()).unwrap()
        };
        let (at_once, in_turn) = (run(Order::AtOnce), run(Order::InTurn));
        assert!(at_once.converged && in_turn.converged);
        let (many, few) = (at_once.history.len(), in_turn.history.len());
        assert!(3 * few < 2 * many, "{few} {many}");
        let on =
            |run: &fedgrid::runtime::Run| predictions(run.hypotheses.iter().flatten(), &setting);
        for (a, b) in on(&at_once).iter().flatten().zip(on(&in_turn).iter().flatten()) {
            assert!((a - b).abs() < 1e-8);
        }
    }
}

#[test]
fn optimiser_steps_of_participants_are_those_on_the_moments() {
    for shared in [true, false] {
        let setting = Setting { shared, ..Setting::new(Task::Regression) };
        let nodes = setting.nodes();
        let (optimiser, size) = (Optimiser::RmsProp, 0.01);
        let begin: Vec<f64> = (0..6 * Setting::size()).map(|k| 0.1 * k as f64 - 1.0).collect();
        let start = Setting::hypotheses(&begin).into_iter().map(Some).collect();
        let method = FedRelax {
            alpha: 0.3,
            step: LocalStep::Descend { steps: 1, optimiser, size },
            start: Some(start),
            zero_first: true,
            ..FedRelax::default()
        };
        let stop = Stop { tolerance: 0.0, rounds: 25 };
        let run = InProcess { stop, order: Order::AtOnce }.run(&method, setting.views()).unwrap();
        let linear = LinearNetwork::new(&nodes, false, true).unwrap().unwrap();
        let rounds = Rounds { count: 25, optimiser, step: size, zero_first: true };
        let weights = linear.descend(&setting.network, 0.3, begin, rounds, |_| {}).unwrap();
        let expected = predictions(&Setting::hypotheses(&weights), &setting);
        let found = predictions(run.hypotheses.iter().flatten(), &setting);
        for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
}

#[test]
fn every_edge_carries_both_ends_predictions_each_round() {
    let setting = Setting::new(Task::Regression);
    let runtime = InProcess { stop: Stop { tolerance: 0.0, rounds: 3 }, order: Order::AtOnce };
    let run = runtime.run(&FedRelax::default(), setting.views()).unwrap();
    let points = setting.nodes()[0].public.rows();
    assert_eq!(run.traffic.len(), 2 * setting.network.edges().len());
    assert!(run.traffic.iter().all(|traffic| traffic.bytes == 3 * 8 * points));
    let total: usize = run.history.iter().map(|round| round.bytes).sum();
    assert_eq!(total, run.traffic.iter().map(|traffic| traffic.bytes).sum::<usize>());
}

#[test]
fn an_observer_sees_the_errors_of_every_node_after_every_round() {
    let setting = Setting::new(Task::Regression);
    let rows: Vec<Dataset> = setting.nodes().into_iter().map(|node| node.data).collect();
    let mut validation = Validation::new(&rows);
    let runtime = InProcess { stop: Stop { tolerance: 0.0, rounds: 4 }, order: Order::AtOnce };
    let run = runtime.observed(&FedRelax::default(), setting.views(), &mut validation).unwrap();
    assert_eq!(validation.nodes.len(), 4);
    let last = run.history.last().unwrap().validation.unwrap();
    let sums = validation.nodes[3].iter().zip(&rows).map(|(e, d)| e.unwrap() * d.rows() as f64);
    let count: usize = rows.iter().map(Dataset::rows).sum();
    assert!((sums.sum::<f64>() / count as f64 - last).abs() < 1e-12);
}

/// Three nodes that each know one row, and whose public points lie along different directions.
/// Plain rounds have an eigenvalue near −2: they would double the disagreement every time.
fn quarrelling() -> (Network, Vec<Node>) {
    let network = complete(3).unwrap();
    let nodes = (0..3)
        .map(|id| {
            let angle = id as f64 * std::f64::consts::FRAC_PI_3;
            let (sin, cos) = angle.sin_cos();
            let points = [[cos, sin], [-cos, -sin], [-0.05 * sin, 0.05 * cos]];
            let public = Arc::new(Features::from_rows(&["x", "y"], &points).unwrap());
            let row = Features::from_rows(&["x", "y"], &[[0.3, 0.2 * id as f64]]).unwrap();
            let data = Dataset::new(row, Labels::values(vec![id as f64])).unwrap();
            let model = Arc::new(Linear { ridge: 0.01, intercept: false });
            Node { id, data, model, public }
        })
        .collect();
    (network, nodes)
}

#[test]
fn nodes_that_would_drive_each_other_apart_are_damped_named_and_converge() {
    let (network, nodes) = quarrelling();
    let views = network.views(nodes).unwrap();
    let method = FedRelax { alpha: 10.0, ..FedRelax::default() };
    let runtime =
        InProcess { stop: Stop { tolerance: 1e-9, rounds: 10_000 }, order: Order::AtOnce };
    let run = runtime.run(&method, views).unwrap();
    assert!(run.converged, "{:?}", run.history.last());
    assert_eq!(run.damped, [0, 1, 2]);
    let grown = run.history.iter().map(|round| round.residual).fold(0.0, f64::max);
    assert!(grown > 0.5, "without damping these rounds grow: {grown}");
}

#[test]
fn the_oracle_of_one_cluster_is_pooled_and_of_many_is_the_limit_of_their_networks() {
    let setting = Setting::new(Task::Regression);
    let nodes = setting.nodes();
    let one = Oracle { clusters: vec![7; 6] }.fit(&nodes).unwrap();
    let pooled = Pooled.fit(&nodes).unwrap();
    assert_eq!(predictions(one.iter(), &setting), predictions(pooled.iter(), &setting));

    let clusters = vec![0, 0, 0, 1, 1, 1];
    let inside = [(0, 1), (1, 2), (3, 4), (4, 5)];
    let edges = inside.map(|(source, target)| Edge { source, target, weight: 1.0 });
    let network = Network::new(setting.network.names().to_vec(), edges).unwrap();
    let linear = LinearNetwork::new(&nodes, false, true).unwrap().unwrap();
    let limit = fedgrid::optimum::Limit { tolerance: 1e-13, products: 5000 };
    let start = vec![0.0; Setting::size() * nodes.len()];
    let solution = linear.solve(&network, 1e8, None, start, limit).unwrap();
    let found = predictions(&Setting::hypotheses(&solution.weights), &setting);
    let oracle = Oracle { clusters }.fit(&nodes).unwrap();
    for (found, oracle) in found.iter().zip(predictions(oracle.iter(), &setting)) {
        let difference = found.iter().zip(&oracle).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(difference < 1e-6, "{difference}");
    }
}
