//! The primal-dual method: its limits, closed forms and dense solutions, and what it refuses.

mod losses;
mod messages;
mod paper;

use std::sync::Arc;

use crate::setting::Setting;
use fedgrid::{
    algebra::Cholesky,
    data::{Dataset, Features, Labels, Task},
    method::{
        Local, Pooled, PrimalDual,
        primal_dual::{PrimalStep, Scale},
    },
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel, Tree},
    network::{Edge, Network, Node, View, path, star},
    observe::Stop,
    penalty::Penalty,
    runtime::{InProcess, Order, Run},
};

const ALL: [Penalty; 3] = [Penalty::Norm, Penalty::SquaredNorm, Penalty::OneNorm];

fn runtime(tolerance: f64, rounds: usize) -> InProcess {
    InProcess { stop: Stop { tolerance, rounds }, order: Order::AtOnce }
}

fn method(alpha: f64, penalty: Penalty) -> PrimalDual {
    PrimalDual { alpha, penalty, ..PrimalDual::default() }
}

/// Slopes, then the intercept, of a linear hypothesis.
fn linear(hypothesis: &dyn Hypothesis) -> Vec<f64> {
    let linear =
        hypothesis.downcast_ref::<LinearHypothesis>().expect("a linear hypothesis").clone();
    [linear.slopes, vec![linear.intercept]].concat()
}

fn weights(run: &Run) -> Vec<Vec<f64>> {
    run.hypotheses.iter().map(|own| linear(own.as_ref().unwrap().as_ref())).collect()
}

fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= tolerance, "{found:?} {expected:?}");
        }
    }
}

/// Nodes without intercept whose loss is ‖w − target‖²; none is a node without rows.
fn pinned(network: &Network, targets: &[Option<[f64; 2]>]) -> Vec<View> {
    let names = ["x", "y"];
    let points = Arc::new(Features::from_rows(&names, &[[1.0, 0.0], [0.0, 1.0]]).unwrap());
    let model = Arc::new(Linear { ridge: 0.0, intercept: false });
    let node = |(id, target): (usize, &Option<[f64; 2]>)| {
        let data = match target {
            Some(target) => {
                let labels = Labels::values(target.to_vec());
                Dataset::weighted(points.as_ref().clone(), labels, vec![1.0; 2]).unwrap()
            }
            None => Dataset::empty(points.names().clone(), Task::Regression),
        };
        Node { id, data, model: model.clone(), public: points.clone() }
    };
    network.views(targets.iter().enumerate().map(node).collect()).unwrap()
}

/// Second moments of the rows of a node (with a one for the intercept), and their products with the
/// labels.
fn moments(node: &Node) -> (Vec<f64>, Vec<f64>) {
    let size = Setting::size();
    let (mut q, mut right) = (vec![0.0; size * size], vec![0.0; size]);
    for (row, x) in node.data.features().iter().enumerate() {
        let x = [x, &[1.0]].concat();
        let (weight, y) = (node.data.weights()[row], node.data.labels().row(row)[0]);
        for a in 0..size {
            right[a] += weight * y * x[a];
            (0..size).for_each(|b| q[a * size + b] += weight * x[a] * x[b]);
        }
    }
    (q, right)
}

#[test]
fn without_strength_every_node_trains_alone() {
    let setting = Setting { empty: vec![2], ..Setting::new(Task::Regression) };
    for penalty in ALL {
        let run = runtime(1e-9, 10).run(&method(0.0, penalty), setting.views()).unwrap();
        let local = InProcess::default().run(&Local, setting.views()).unwrap();
        for (own, alone) in run.hypotheses.iter().zip(&local.hypotheses) {
            assert_eq!(own.as_ref().map(|h| h.save()), alone.as_ref().map(|h| h.save()));
        }
        assert!(run.converged && run.hypotheses[2].is_none());
    }
}

#[test]
fn with_all_strength_every_node_has_the_pooled_model() {
    let setting = Setting::new(Task::Regression);
    let pooled = Pooled.fit(&setting.nodes()).unwrap();
    let pooled: Vec<Vec<f64>> = pooled.iter().map(|own| linear(own.as_ref())).collect();
    for (penalty, alpha) in
        [(Penalty::Norm, 1e4), (Penalty::SquaredNorm, 1e9), (Penalty::OneNorm, 1e4)]
    {
        let run = runtime(1e-11, 40_000).run(&method(alpha, penalty), setting.views()).unwrap();
        assert!(run.converged, "{penalty:?} {:?}", run.history.last());
        assert_close(&weights(&run), &pooled, 1e-6);
    }
}

#[test]
fn two_nodes_end_at_the_closed_form_of_each_penalty() {
    // (w − 1)² + (v − 3)² in the first weight, (w − 0)² + (v − 1)² in the second.
    let network = path(2).unwrap();
    let views = || pinned(&network, &[Some([1.0, 0.0]), Some([3.0, 1.0])]);
    for alpha in [0.3, 1.0, 1.9, 2.5] {
        for penalty in ALL {
            let run = runtime(1e-11, 4000).run(&method(alpha, penalty), views()).unwrap();
            // How much of the difference (2, 1) is left.
            let length = 5.0_f64.sqrt();
            let left = match penalty {
                Penalty::Norm => [(1.0 - alpha / length).max(0.0); 2],
                Penalty::SquaredNorm => [1.0 / (1.0 + alpha); 2],
                Penalty::OneNorm => [(1.0 - alpha / 2.0).max(0.0), (1.0 - alpha).max(0.0)],
            };
            let first = vec![2.0 - left[0], 0.5 - 0.5 * left[1], 0.0];
            let second = vec![2.0 + left[0], 0.5 + 0.5 * left[1], 0.0];
            assert!(run.converged);
            assert_close(&weights(&run), &[first, second], 1e-8);
        }
    }
}

#[test]
fn nodes_without_rows_take_the_weights_of_their_neighbours() {
    // A star whose centre knows nothing, and a node beyond that nobody knows anything of.
    let targets = [None, Some([1.0, 0.0]), Some([1.0, 0.0]), Some([5.0, 0.0])];
    let network = star(4).unwrap();
    let run = runtime(1e-11, 4000).run(&method(0.1, Penalty::Norm), pinned(&network, &targets));
    // The median of its neighbours; they give way by half the strength of their edge.
    let found = weights(&run.unwrap());
    assert_close(&found[..1], &[vec![1.0 + 0.025, 0.0, 0.0]], 1e-7);
    assert_close(&found[3..], &[vec![5.0 - 0.05, 0.0, 0.0]], 1e-7);

    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let edges = [(0, 1), (2, 3)].map(|(source, target)| Edge { source, target, weight: 1.0 });
    let network = Network::new(names, edges).unwrap();
    let views = pinned(&network, &[Some([1.0, 2.0]), None, None, None]);
    let run = runtime(1e-11, 4000).run(&method(0.1, Penalty::OneNorm), views).unwrap();
    assert_close(
        &[linear(run.hypotheses[1].as_ref().unwrap().as_ref())],
        &[vec![1.0, 2.0, 0.0]],
        1e-8,
    );
    assert!(run.hypotheses[2].is_none() && run.hypotheses[3].is_none());
}

#[test]
fn the_squared_norm_ends_at_the_dense_solution() {
    let setting = Setting { empty: vec![4], ..Setting::new(Task::Regression) };
    let (nodes, size, alpha) = (setting.nodes(), Setting::size(), 0.7);
    let total = nodes.len() * size;
    let (mut matrix, mut solution) = (vec![0.0; total * total], vec![0.0; total]);
    for (i, node) in nodes.iter().enumerate() {
        let (q, right) = moments(node);
        for a in 0..size {
            solution[i * size + a] = 2.0 * right[a];
            for b in 0..size {
                matrix[(i * size + a) * total + i * size + b] += 2.0 * q[a * size + b];
            }
            for &(j, weight) in setting.network.neighbours(i) {
                matrix[(i * size + a) * total + i * size + a] += alpha * weight;
                matrix[(i * size + a) * total + j * size + a] -= alpha * weight;
            }
        }
    }
    Cholesky::new(matrix, total).unwrap().solve(&mut solution);
    let expected: Vec<Vec<f64>> = solution.chunks_exact(size).map(<[f64]>::to_vec).collect();
    let inexact = PrimalStep::Inexact { error: 0.01 };
    for (step, residual) in
        [(PrimalStep::Proximal, 1e-12), (inexact, 1e-9), (PrimalStep::Gradient, 1e-12)]
    {
        let method = PrimalDual { step, ..method(alpha, Penalty::SquaredNorm) };
        let run = runtime(residual, 20_000).run(&method, setting.views()).unwrap();
        assert!(run.converged, "{step:?} {:?}", run.history.last());
        assert_close(&weights(&run), &expected, 1e-8);
    }
}

#[test]
fn free_intercepts_leave_every_node_its_level() {
    // y = x + 10 and y = 3 x − 10: with all strength the slopes meet and the levels do not.
    let public = Arc::new(Features::from_rows(&["x"], &[[-1.0], [1.0]]).unwrap());
    let node = |(id, (slope, level)): (usize, &(f64, f64))| {
        let labels = Labels::values(vec![level - slope, level + slope]);
        let data = Dataset::new(public.as_ref().clone(), labels).unwrap();
        Node { id, data, model: Arc::new(Linear::default()), public: public.clone() }
    };
    let nodes = [(1.0, 10.0), (3.0, -10.0)].iter().enumerate().map(node).collect();
    let views = path(2).unwrap().views(nodes).unwrap();
    let own = PrimalDual { couple_intercept: false, ..method(100.0, Penalty::Norm) };
    let run = runtime(1e-12, 4000).run(&own, views).unwrap();
    assert_close(&weights(&run), &[vec![2.0, 10.0], vec![2.0, -10.0]], 1e-8);
    assert_eq!(run.history[0].bytes, 8 + 17, "only the slope is told");
}

#[test]
fn what_cannot_be_coupled_is_named() {
    let two = path(2).unwrap();
    let setting = Setting::new(Task::Regression);
    let message = |models: Vec<Arc<dyn LocalModel>>| {
        let nodes = setting.nodes().into_iter().take(2).zip(models);
        let nodes = nodes.map(|(node, model)| Node { model, ..node }).collect();
        let run = runtime(0.0, 4).run(&method(1.0, Penalty::Norm), two.views(nodes).unwrap());
        run.unwrap_err().to_string()
    };
    let tree = message(vec![Arc::new(Linear::default()), Arc::new(Tree::default())]);
    assert!(
        tree.starts_with("the model of node 1 is Tree, which has no weights to couple"),
        "{tree}"
    );
    let bare = Linear { ridge: 0.0, intercept: false };
    let mixed = message(vec![Arc::new(Linear::default()), Arc::new(bare)]);
    assert!(mixed.starts_with("node 0 couples 4 weights and node 1 3:"), "{mixed}");
}

#[test]
fn wrong_hyper_parameters_are_refused() {
    let own = PrimalDual::default;
    let wrong = [
        (PrimalDual { alpha: -1.0, ..own() }, "alpha is -1, expected zero or more"),
        (PrimalDual { radius: Some(f64::NAN), ..own() }, "radius is NaN, expected zero or more"),
        (PrimalDual { relaxation: 2.0, ..own() }, "relaxation is 2, expected a number between"),
        (PrimalDual { scale: Scale::Fixed(0.0), ..own() }, "scale is 0, expected a positive"),
        (
            PrimalDual { step: PrimalStep::Inexact { error: 0.0 }, ..own() },
            "error is 0, expected a positive",
        ),
    ];
    for (method, expected) in wrong {
        let views = Setting::new(Task::Regression).views();
        let message = InProcess::default().run(&method, views).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
