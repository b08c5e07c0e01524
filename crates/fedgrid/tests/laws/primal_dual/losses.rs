//! The primal-dual method with every loss: what it reports, and what its certificate is worth.

use std::sync::Arc;

use super::{ALL, assert_close, method, runtime, weights};
use crate::setting::Setting;
use fedgrid::{
    data::{Dataset, Labels, Task},
    method::{PrimalDual, StopOn, primal_dual::PrimalStep},
    model::{
        ElasticNet, GraphicalLasso, Huber, Linear, LocalModel, Logistic, Parametric, Perceptron,
        Poisson, Quantile,
    },
    network::{Edge, Node},
    penalty::Penalty,
    runtime::Run,
};

#[test]
fn no_certificate_lies_and_a_run_can_stop_on_it() {
    let setting = Setting { empty: vec![3], ..Setting::new(Task::Regression) };
    for (penalty, alpha) in ALL.iter().flat_map(|&penalty| [0.03, 0.3, 3.0].map(|a| (penalty, a))) {
        let exact = runtime(1e-13, 40_000).run(&method(alpha, penalty), setting.views()).unwrap();
        let minimum = exact.history.last().unwrap().objective;
        let own = PrimalDual { radius: Some(20.0), stop_on: StopOn::Gap, ..method(alpha, penalty) };
        let run = runtime(1e-6, 40_000).run(&own, setting.views()).unwrap();
        assert!(run.converged, "{penalty:?} {alpha}");
        for round in &run.history[3..] {
            let gap = round.gap.expect("all losses are convex and the radius is known");
            let missing = round.objective - minimum;
            assert!(missing <= gap + 1e-12 * minimum, "{penalty:?} {alpha}: {missing} {gap}");
        }
        let last = run.history.last().unwrap();
        assert!(last.gap.unwrap() <= 1e-6 * last.objective);
        // Node 3 has no rows, so without a radius nothing bounds how far it may be.
        let blind = runtime(0.0, 8).run(&method(alpha, penalty), setting.views()).unwrap();
        assert!(blind.history.iter().all(|round| round.gap.is_none()));
    }
}

#[test]
fn the_reported_objective_is_that_of_the_hypotheses() {
    let setting = Setting::new(Task::Regression);
    let (nodes, alpha) = (setting.nodes(), 0.3);
    for penalty in ALL {
        let run = runtime(0.0, 14).run(&method(alpha, penalty), setting.views()).unwrap();
        let own = weights(&run);
        let loss = |(node, own): (&Node, &Vec<f64>)| {
            node.model.as_parametric().unwrap().loss(&node.data, own)
        };
        let loss: f64 = nodes.iter().zip(&own).map(loss).sum();
        let edge = |edge: &Edge| {
            let ends = own[edge.source].iter().zip(&own[edge.target]);
            edge.weight * penalty.value(&ends.map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        let gtv: f64 = setting.network.edges().iter().map(edge).sum();
        let last = run.history.last().unwrap();
        assert!((last.gtv - gtv).abs() < 1e-12 * gtv && (last.loss - loss).abs() < 1e-12 * loss);
        assert!((last.objective - loss - alpha * gtv).abs() < 1e-12 * last.objective);
    }
}

#[test]
fn a_run_can_stop_when_its_objective_stands_still() {
    let setting = Setting::new(Task::Regression);
    let own = PrimalDual { stop_on: StopOn::Decrease, ..method(0.3, Penalty::Norm) };
    let run = runtime(1e-7, 5000).run(&own, setting.views()).unwrap();
    let exact = runtime(1e-12, 5000).run(&method(0.3, Penalty::Norm), setting.views()).unwrap();
    let objective = |run: &Run| run.history.last().unwrap().objective;
    assert!(run.converged && run.history.len() > 20 && run.history.len() < exact.history.len());
    assert!((objective(&run) / objective(&exact) - 1.0).abs() < 1e-5);
}

#[test]
fn every_convex_loss_comes_to_a_certified_minimum() {
    let classes = |classes| Task::Classification { classes };
    let counts = |setting: &Setting| {
        // Poisson models count: labels are rounded away from below zero.
        let mut nodes = setting.nodes();
        for node in &mut nodes {
            let labels = node.data.labels().as_slice().iter().map(|y| y.abs().round()).collect();
            node.data = Dataset::new(node.data.features().clone(), Labels::values(labels)).unwrap();
        }
        setting.network.views(nodes).unwrap()
    };
    let ridge = 1e-2;
    let models: Vec<(Arc<dyn LocalModel>, Task)> = vec![
        (Arc::new(Linear { ridge, intercept: true }), Task::Regression),
        (Arc::new(ElasticNet { ridge, lasso: 0.05, intercept: true }), Task::Regression),
        (Arc::new(Huber { ridge, ..Huber::default() }), Task::Regression),
        (Arc::new(Quantile { ridge, ..Quantile::default() }), Task::Regression),
        (Arc::new(Poisson { ridge, ..Poisson::default() }), Task::Regression),
        (Arc::new(Logistic { ridge, ..Logistic::default() }), classes(2)),
        (Arc::new(Logistic { ridge, ..Logistic::default() }), classes(3)),
        (Arc::new(Logistic { ridge, lasso: 0.02, ..Logistic::default() }), classes(3)),
    ];
    for ((model, task), penalty) in
        models.iter().flat_map(|model| ALL.map(|penalty| (model, penalty)))
    {
        let task = *task;
        let setting = Setting { models: vec![model.clone()], ..Setting::new(task) };
        let is_count = format!("{model:?}").starts_with("Poisson");
        let views = || if is_count { counts(&setting) } else { setting.views() };
        let own = PrimalDual { radius: Some(50.0), stop_on: StopOn::Gap, ..method(0.1, penalty) };
        let run = runtime(1e-5, 3000).run(&own, views()).unwrap();
        assert!(run.converged, "{model:?} {penalty:?} {:?}", run.history.last());
        if model.as_parametric().unwrap().shape().smooth {
            let objective = |run: &Run| run.history.last().unwrap().objective;
            for step in [PrimalStep::Gradient, PrimalStep::Inexact { error: 1e-2 }] {
                let other = PrimalDual { step, ..own.clone() };
                let other = runtime(1e-5, 20_000).run(&other, views()).unwrap();
                assert!(other.converged, "{model:?} {step:?}");
                assert!(
                    (objective(&other) / objective(&run) - 1.0).abs() < 2e-5,
                    "{model:?} {step:?}"
                );
            }
        } else {
            let other = PrimalDual { step: PrimalStep::Gradient, ..own };
            let message = runtime(1e-5, 10).run(&other, views()).unwrap_err().to_string();
            assert!(message.contains("smooth everywhere"), "{message}");
        }
    }
}

#[test]
fn perceptrons_learn_together_without_a_certificate() {
    let model = Perceptron { layers: vec![3], ..Perceptron::default() };
    assert!(!PrimalDual::certifies(&model) && PrimalDual::certifies(&Linear::default()));
    let setting = Setting { models: vec![Arc::new(model)], ..Setting::new(Task::Regression) };
    for step in [PrimalStep::Proximal, PrimalStep::Gradient] {
        let own = PrimalDual { step, radius: Some(1e3), ..method(0.05, Penalty::SquaredNorm) };
        let run = runtime(0.0, 300).run(&own, setting.views()).unwrap();
        let (first, last) = (&run.history[3], run.history.last().unwrap());
        assert!(last.objective < 0.3 * first.objective, "{step:?} {first:?} {last:?}");
        assert!(run.history.iter().all(|round| round.gap.is_none()));
    }
}

#[test]
fn graphical_lassos_learn_one_precision_matrix_with_all_strength() {
    let model = GraphicalLasso { ridge: 0.05, lasso: 0.02, intercept: true };
    let setting =
        Setting { models: vec![Arc::new(model.clone())], ..Setting::new(Task::Regression) };
    let triangles = |run: &Run| -> Vec<Vec<f64>> {
        let own = run.hypotheses.iter().flatten().map(|own| model.weights(own.as_ref()).unwrap());
        own.collect()
    };
    let run = runtime(1e-9, 3000).run(&method(1e4, Penalty::Norm), setting.views()).unwrap();
    // All losses together are that of all rows under the penalties of all nodes.
    let all = setting
        .nodes()
        .iter()
        .skip(1)
        .fold(setting.nodes()[0].data.clone(), |rows, node| rows.stacked(&node.data).unwrap());
    let sum = GraphicalLasso { ridge: 6.0 * 0.05, lasso: 6.0 * 0.02, intercept: true };
    let pooled = sum.weights(sum.fit(&all).unwrap().as_ref()).unwrap();
    assert!(run.converged);
    assert_close(&triangles(&run), &vec![pooled; 6], 1e-5);

    let own =
        PrimalDual { radius: Some(1e3), stop_on: StopOn::Gap, ..method(0.05, Penalty::OneNorm) };
    let run = runtime(1e-4, 3000).run(&own, setting.views()).unwrap();
    assert!(run.converged, "{:?}", run.history.last());
}
