//! Limits and optima of FedRelax: no pull is local training, a strong one is the pooled model, and
//! linear networks end at the solution of their linear system.

use std::sync::Arc;

use crate::setting::{Setting, predictions};
use fedgrid::{
    data::Task,
    method::{FedRelax, Local, Method, Pooled, fedrelax::Coupling},
    model::{Linear, LocalModel, Logistic, Tree},
    observe::Stop,
    optimum::{Limit, LinearNetwork},
    runtime::{InProcess, Order},
};

const PATIENT: InProcess =
    InProcess { stop: Stop { tolerance: 1e-13, rounds: 20_000 }, order: Order::AtOnce };
const EXACT: Limit = Limit { tolerance: 1e-13, products: 10_000 };

fn run<M: Method>(setting: &Setting, method: &M) -> Vec<Vec<f64>> {
    let run = PATIENT.run(method, setting.views()).unwrap();
    predictions(run.hypotheses.iter().flatten(), setting)
}

fn solve(setting: &Setting, alpha: f64, coupling: Coupling, level: bool) -> Vec<f64> {
    let nodes = setting.nodes();
    let linear =
        LinearNetwork::new(&nodes, coupling == Coupling::Symmetric, level).unwrap().unwrap();
    let start = vec![0.0; Setting::size() * nodes.len()];
    let solution = linear.solve(&setting.network, alpha, None, start, EXACT).unwrap();
    // Rounding in products of size α limits what can be reached.
    let reachable = 1e-11_f64.max(1e-15 * alpha);
    assert!(solution.residual < reachable, "{}", solution.residual);
    solution.weights
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn without_pull_fedrelax_is_local_training_bit_for_bit_for_every_model() {
    let regression: Vec<Arc<dyn LocalModel>> =
        vec![Arc::new(Linear::default()), Arc::new(Tree::default())];
    for models in [&regression[..1], &regression[1..], &regression[..]] {
        let setting = Setting { models: models.to_vec(), ..Setting::new(Task::Regression) };
        let alone = FedRelax { alpha: 0.0, ..FedRelax::default() };
        assert_eq!(run(&setting, &alone), run(&setting, &Local));
    }
    let classes = Task::Classification { classes: 3 };
    let models: Vec<Arc<dyn LocalModel>> =
        vec![Arc::new(Logistic::default()), Arc::new(Tree::default())];
    let setting = Setting { models, ..Setting::new(classes) };
    let alone = FedRelax { alpha: 0.0, ..FedRelax::default() };
    assert_eq!(run(&setting, &alone), run(&setting, &Local));
}

#[test]
fn a_mixed_network_of_lines_and_trees_trains_and_comes_closer_together() {
    let models: Vec<Arc<dyn LocalModel>> =
        vec![Arc::new(Linear::default()), Arc::new(Tree::default())];
    let setting = Setting { models, ..Setting::new(Task::Regression) };
    let spread = |alpha: f64| {
        let run = InProcess::default()
            .run(&FedRelax { alpha, ..FedRelax::default() }, setting.views())
            .unwrap();
        run.history.last().unwrap().gtv
    };
    let (weak, strong) = (spread(0.01), spread(1.0));
    assert!(strong < 0.5 * weak, "{strong} {weak}");
}

#[test]
fn a_strong_pull_on_a_connected_network_of_linear_models_is_the_pooled_model() {
    for (shared, coupling) in
        [(true, Coupling::OneSided), (true, Coupling::Symmetric), (false, Coupling::Symmetric)]
    {
        let setting = Setting { shared, ..Setting::new(Task::Regression) };
        let pooled = Pooled.fit(&setting.nodes()).unwrap();
        let expected = predictions(pooled.iter(), &setting);
        let weights = solve(&setting, 1e8, coupling, true);
        let found = predictions(&Setting::hypotheses(&weights), &setting);
        for (found, expected) in found.iter().zip(&expected) {
            let difference = largest_difference(found, expected);
            assert!(difference < 1e-6, "{shared} {coupling:?}: {difference}");
        }
    }
}

#[test]
fn a_strong_one_sided_pull_with_own_public_sets_has_another_limit() {
    let setting = Setting { shared: false, ..Setting::new(Task::Regression) };
    let pooled = predictions(Pooled.fit(&setting.nodes()).unwrap().iter(), &setting);
    let weights = solve(&setting, 1e6, Coupling::OneSided, true);
    let dense = setting.dense_solution(1e6, Coupling::OneSided);
    assert!(largest_difference(&weights, &dense) < 1e-5);
    let found = predictions(&Setting::hypotheses(&weights), &setting);
    assert!(largest_difference(&found[0], &pooled[0]) > 1e-3, "it is not the pooled model");
}

#[test]
fn the_fixed_point_of_linear_fedrelax_is_the_dense_solution_of_its_system() {
    for shared in [true, false] {
        for coupling in [Coupling::OneSided, Coupling::Symmetric] {
            let setting = Setting { shared, ..Setting::new(Task::Regression) };
            let dense = setting.dense_solution(0.7, coupling);
            let direct = solve(&setting, 0.7, coupling, true);
            assert!(largest_difference(&direct, &dense) < 1e-9, "{shared} {coupling:?}");
            let method = FedRelax { alpha: 0.7, coupling, ..FedRelax::default() };
            let rounds = run(&setting, &method);
            let expected = predictions(&Setting::hypotheses(&dense), &setting);
            for (found, expected) in rounds.iter().zip(&expected) {
                let difference = largest_difference(found, expected);
                assert!(difference < 1e-9, "{shared} {coupling:?}: {difference}");
            }
        }
    }
}

#[test]
fn rounds_and_direct_solution_agree_with_uncoupled_intercepts() {
    let setting = Setting::new(Task::Regression);
    let method = FedRelax { alpha: 0.7, couple_intercept: false, ..FedRelax::default() };
    let rounds = run(&setting, &method);
    let weights = solve(&setting, 0.7, Coupling::OneSided, false);
    let direct = predictions(&Setting::hypotheses(&weights), &setting);
    for (rounds, direct) in rounds.iter().zip(&direct) {
        assert!(largest_difference(rounds, direct) < 1e-8);
    }
    let coupled = solve(&setting, 0.7, Coupling::OneSided, true);
    assert!(largest_difference(&weights, &coupled) > 1e-2, "levels do matter here");
}

#[test]
fn with_a_free_level_a_strong_pull_leaves_every_node_its_own_intercept() {
    let setting = Setting::new(Task::Regression);
    let weights = solve(&setting, 1e7, Coupling::OneSided, false);
    let (first, second) = (&weights[..Setting::size()], &weights[Setting::size()..]);
    let slopes = Setting::size() - 1;
    assert!(largest_difference(&first[..slopes], &second[..slopes]) < 1e-5);
    assert!((first[slopes] - second[slopes]).abs() > 1e-2);
}

#[test]
fn the_objective_of_jacobi_rounds_ends_at_that_of_the_dense_solution() {
    let setting = Setting::new(Task::Regression);
    let method = FedRelax { alpha: 0.7, ..FedRelax::default() };
    let run = PATIENT.run(&method, setting.views()).unwrap();
    assert!(run.converged);
    let weights = setting.dense_solution(0.7, Coupling::OneSided);
    let expected = setting.objective(&weights, 0.7);
    let found = run.history.last().unwrap().objective;
    assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
}

#[test]
fn a_node_without_rows_learns_from_its_neighbours_and_an_unreached_one_has_nothing() {
    let mut setting =
        Setting { models: vec![Arc::new(Tree::default())], ..Setting::new(Task::Regression) };
    setting.empty = vec![1];
    let run = InProcess::default().run(&FedRelax::default(), setting.views()).unwrap();
    assert!(run.hypotheses.iter().all(Option::is_some));

    setting.network = fedgrid::network::Network::new(
        setting.network.names().to_vec(),
        setting.network.edges().iter().copied().filter(|e| e.source != 1 && e.target != 1),
    )
    .unwrap();
    let run = InProcess::default().run(&FedRelax::default(), setting.views()).unwrap();
    assert!(run.hypotheses[1].is_none());
    assert!(run.hypotheses[0].is_some());
}

#[test]
fn a_strong_hub_is_the_pooled_model_and_no_hub_is_none() {
    let setting = Setting::new(Task::Regression);
    let pooled: fedgrid::method::Hypotheses = Pooled.fit(&setting.nodes()).unwrap().into();
    let expected = predictions(pooled.iter(), &setting);
    let hub =
        |hub| FedRelax { alpha: 0.5, hub, pooled: Some(pooled.clone()), ..FedRelax::default() };
    for (found, expected) in run(&setting, &hub(1e8)).iter().zip(&expected) {
        assert!(largest_difference(found, expected) < 1e-5);
    }
    let without = FedRelax { alpha: 0.5, ..FedRelax::default() };
    assert_eq!(run(&setting, &hub(0.0)), run(&setting, &without));
}

#[test]
fn classifiers_pull_each_other_and_a_strong_pull_makes_them_agree() {
    let task = Task::Classification { classes: 3 };
    let setting = Setting { models: vec![Arc::new(Logistic::default())], ..Setting::new(task) };
    let gtv = |alpha: f64| {
        let method = FedRelax { alpha, ..FedRelax::default() };
        let found = run(&setting, &method);
        found.iter().map(|p| largest_difference(p, &found[0])).fold(0.0, f64::max)
    };
    assert!(gtv(100.0) < 0.1 * gtv(0.0));
    let symmetric = FedRelax { coupling: Coupling::Symmetric, ..FedRelax::default() };
    let error = InProcess::default().run(&symmetric, setting.views()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "symmetric coupling needs a regression target; use one-sided coupling for classes"
    );
}

#[test]
fn a_negative_pull_is_refused() {
    let setting = Setting::new(Task::Regression);
    let method = FedRelax { alpha: -1.0, ..FedRelax::default() };
    let error = InProcess::default().run(&method, setting.views()).unwrap_err();
    assert_eq!(error.to_string(), "alpha is -1, expected zero or more");
}
