//! Networks of models with smooth losses: Newton's method ends where rounds of refits end, at every pull.

use std::sync::Arc;

use crate::setting::{Setting, predictions};
use fedgrid::{
    data::{Dataset, Labels, Task},
    method::{FedRelax, Pooled},
    model::{Huber, Hypothesis, LocalModel, Logistic, Poisson},
    network::Node,
    observe::Stop,
    optimum::{SmoothAnchor, SmoothCoupling, SmoothNetwork, SmoothStart},
    runtime::{InProcess, Order},
};

const PATIENT: InProcess =
    InProcess { stop: Stop { tolerance: 1e-13, rounds: 20_000 }, order: Order::AtOnce };

/// Settings of all models that are solved by Newton's method.
fn settings() -> Vec<(Setting, Arc<dyn LocalModel>)> {
    let classes = |classes: usize| Task::Classification { classes };
    let logistic = |ridge: f64| Logistic { ridge, ..Logistic::default() };
    let models: [(Task, Arc<dyn LocalModel>); 5] = [
        (classes(2), Arc::new(logistic(1e-2))),
        (classes(3), Arc::new(logistic(1e-4))),
        (classes(4), Arc::new(Logistic { intercept: false, ..logistic(1e-2) })),
        (Task::Regression, Arc::new(Poisson { ridge: 1e-3, intercept: true })),
        (Task::Regression, Arc::new(Huber { threshold: 0.6, ..Huber::default() })),
    ];
    models
        .into_iter()
        .map(|(task, model)| {
            (Setting { models: vec![model.clone()], empty: vec![2], ..Setting::new(task) }, model)
        })
        .collect()
}

/// The nodes of a setting; counts where the model is of counts. One node has no rows.
fn nodes(setting: &Setting, model: &Arc<dyn LocalModel>) -> Vec<Node> {
    let mut nodes = setting.nodes();
    for node in &mut nodes {
        if model.is_of_counts() && node.data.rows() > 0 {
            let counts = node.data.labels().as_slice().iter().map(|y| y.abs().round()).collect();
            let features = node.data.features().clone();
            node.data = Dataset::new(features, Labels::values(counts)).unwrap();
        }
    }
    nodes
}

fn solved(
    setting: &Setting,
    nodes: &[Node],
    alpha: f64,
    anchor: Option<&SmoothAnchor>,
) -> Vec<Arc<dyn Hypothesis>> {
    let smooth = SmoothNetwork::new(nodes).expect("all losses are smooth");
    let pooled = Pooled.fit(nodes).unwrap();
    let start = smooth.weights_of(pooled.iter().map(AsRef::as_ref)).unwrap();
    let coupled = vec![true; nodes.len()];
    let start = SmoothStart::new(start);
    let coupling =
        SmoothCoupling { network: &setting.network, alpha, anchor, is_coupled: &coupled };
    let solution = smooth.solve(&coupling, start, 1e-11).unwrap();
    assert!(
        solution.converged && solution.residual < 1e-9,
        "{:?}, α = {alpha}: {:?}",
        nodes[0].model,
        solution.history
    );
    smooth.hypotheses(&solution.end.weights).map(Into::into).collect()
}

fn largest_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max)
}

#[test]
fn newtons_method_ends_where_rounds_of_refits_end() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        for alpha in [1e-3, 0.1, 3.0] {
            let direct = solved(&setting, &nodes, alpha, None);
            let views = setting.network.views(nodes.clone()).unwrap();
            let method = FedRelax { alpha, ..FedRelax::default() };
            let rounds = PATIENT.run(&method, views).unwrap();
            let difference = largest_difference(
                &predictions(direct.iter(), &setting),
                &predictions(rounds.hypotheses.iter().flatten(), &setting),
            );
            assert!(difference < 1e-8, "{model:?}, α = {alpha}: {difference}");
        }
    }
}

#[test]
fn a_refit_of_every_node_moves_nothing_also_at_strong_pulls() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        for alpha in [1e2, 1e5] {
            let direct = solved(&setting, &nodes, alpha, None);
            let views = setting.network.views(nodes.clone()).unwrap();
            let start: Vec<_> = direct.iter().cloned().map(Some).collect();
            let method = FedRelax { alpha, start: Some(start.into()), ..FedRelax::default() };
            let once = InProcess { stop: Stop { tolerance: 0.0, rounds: 1 }, ..PATIENT };
            let round = once.run(&method, views).unwrap();
            let difference = largest_difference(
                &predictions(direct.iter(), &setting),
                &predictions(round.hypotheses.iter().flatten(), &setting),
            );
            assert!(difference < 1e-8, "{model:?}, α = {alpha}: {difference}");
        }
    }
}

#[test]
fn the_pooled_hub_pulls_as_in_rounds() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        let pooled = Pooled.fit(&nodes).unwrap();
        let smooth = SmoothNetwork::new(&nodes).unwrap();
        let weights = smooth.weights_of(pooled.iter().map(AsRef::as_ref)).unwrap();
        let anchor = SmoothAnchor { weight: 0.7, weights };
        let direct = solved(&setting, &nodes, 0.5, Some(&anchor));
        let views = setting.network.views(nodes.clone()).unwrap();
        let pooled = Some(pooled.into());
        let method = FedRelax { alpha: 0.5, hub: 0.7, pooled, ..FedRelax::default() };
        let rounds = PATIENT.run(&method, views).unwrap();
        let difference = largest_difference(
            &predictions(direct.iter(), &setting),
            &predictions(rounds.hypotheses.iter().flatten(), &setting),
        );
        assert!(difference < 1e-8, "{model:?}: {difference}");
    }
}

#[test]
fn nodes_that_only_the_pooled_model_pulls_at_end_where_rounds_end() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        let pooled = Pooled.fit(&nodes).unwrap();
        let smooth = SmoothNetwork::new(&nodes).unwrap();
        let weights = smooth.weights_of(pooled.iter().map(AsRef::as_ref)).unwrap();
        let apart = Setting { network: setting.network.without_edges(), ..setting };
        for alpha in [1e-3, 0.5, 1e3] {
            let anchor = SmoothAnchor { weight: 1.0, weights: weights.clone() };
            let direct = solved(&apart, &nodes, alpha, Some(&anchor));
            let views = apart.network.views(nodes.clone()).unwrap();
            let pooled = Some(pooled.clone().into());
            let method = FedRelax { alpha, hub: 1.0, pooled, ..FedRelax::default() };
            let rounds = PATIENT.run(&method, views).unwrap();
            let difference = largest_difference(
                &predictions(direct.iter(), &apart),
                &predictions(rounds.hypotheses.iter().flatten(), &apart),
            );
            assert!(difference < 1e-8, "{model:?}, α = {alpha}: {difference}");
        }
    }
}

#[test]
fn a_start_that_is_far_off_leads_to_the_same_solution() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        let smooth = SmoothNetwork::new(&nodes).unwrap();
        let near = solved(&setting, &nodes, 0.1, None);
        let coupled = vec![true; nodes.len()];
        let coupling = SmoothCoupling {
            network: &setting.network,
            alpha: 0.1,
            anchor: None,
            is_coupled: &coupled,
        };
        // Weights of models that are certain, and wrong: there the equations are flat.
        let weights = smooth.weights_of(near.iter().map(AsRef::as_ref)).unwrap();
        let far =
            weights.iter().enumerate().map(|(k, w)| if k % 3 == 0 { -100.0 * w } else { 60.0 * w });
        let far = SmoothStart::new(far.collect());
        let solution = smooth.solve(&coupling, far, 1e-11).unwrap();
        assert!(solution.converged, "{model:?}: {:?}", solution.history);
        let found: Vec<Arc<dyn Hypothesis>> =
            smooth.hypotheses(&solution.end.weights).map(Into::into).collect();
        let difference = largest_difference(
            &predictions(near.iter(), &setting),
            &predictions(found.iter(), &setting),
        );
        assert!(difference < 1e-7, "{model:?}: {difference}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (setting, model) in settings() {
        let nodes = nodes(&setting, &model);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| predictions(solved(&setting, &nodes, 0.3, None).iter(), &setting))
        };
        assert_eq!(run(1), run(8));
    }
}

#[test]
fn classes_that_features_tell_apart_end_without_a_ridge_with_every_row_right() {
    let setting = Setting::new(Task::Classification { classes: 3 });
    let model: Arc<dyn LocalModel> = Arc::new(Logistic { ridge: 0.0, ..Logistic::default() });
    let mut nodes = setting.nodes();
    for node in &mut nodes {
        // The class follows from the first feature.
        let features = node.data.features();
        let class = |row: &[f64]| usize::from(row[0] > -0.3) + usize::from(row[0] > 0.3);
        let classes: Vec<usize> = features.iter().map(class).collect();
        let labels = Labels::classes(3, &classes).unwrap();
        node.data = Dataset::new(features.clone(), labels).unwrap();
        node.model = model.clone();
    }
    let smooth = SmoothNetwork::new(&nodes).expect("all losses are smooth");
    let coupled = vec![true; nodes.len()];
    for alpha in [1e-3, 0.1, 10.0] {
        let coupling =
            SmoothCoupling { network: &setting.network, alpha, anchor: None, is_coupled: &coupled };
        let weights = smooth.weights_of(Pooled.fit(&nodes).unwrap().iter().map(AsRef::as_ref));
        let zeros = vec![0.0; weights.unwrap().len()];
        let solution = smooth.solve(&coupling, SmoothStart::new(zeros), 1e-4).unwrap();
        let steps = solution.history.len();
        assert!(solution.converged && steps < 40, "α = {alpha}: {steps} steps");
        for (node, learnt) in nodes.iter().zip(smooth.hypotheses(&solution.end.weights)) {
            let predicted = learnt.predict(node.data.features());
            for (predicted, label) in
                predicted.as_slice().chunks(3).zip(node.data.labels().as_slice().chunks(3))
            {
                let right = predicted.iter().zip(label).map(|(p, y)| p * y).sum::<f64>();
                assert!(right > 0.5, "α = {alpha}: {predicted:?} for {label:?}");
            }
        }
    }
}
