//! The primal-dual method: its limits, closed forms and dense solutions, what lost messages do to it,
//! and what its certificate is worth.

use std::sync::Arc;

use crate::setting::Setting;
use fedgrid::{
    algebra::{Cholesky, Singular},
    data::{Dataset, Features, Labels, Task},
    method::{Local, Method, Participant, Pooled, PrimalDual, PrimalStep, Scale, StopOn, Turn},
    model::{
        ElasticNet, Huber, Hypothesis, Linear, LocalModel, Logistic, Perceptron, Poisson, Quantile,
        Stored, Tree,
    },
    network::{Clustered, Edge, Network, Node, NodeId, View, path, star},
    observe::Stop,
    penalty::Penalty,
    random::{Purpose, Stream},
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
    let Stored::Linear(linear) = hypothesis.stored() else { panic!("a linear hypothesis") };
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

#[test]
fn without_strength_every_node_trains_alone() {
    let setting = Setting { empty: vec![2], ..Setting::new(Task::Regression) };
    for penalty in ALL {
        let run = runtime(1e-9, 10).run(&method(0.0, penalty), setting.views()).unwrap();
        let local = InProcess::default().run(&Local, setting.views()).unwrap();
        for (own, alone) in run.hypotheses.iter().zip(&local.hypotheses) {
            assert_eq!(own.as_ref().map(|h| h.stored()), alone.as_ref().map(|h| h.stored()));
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

/// Algorithm 1 as it stands in the paper, on dense arrays.
fn algorithm_1(
    setting: &Setting,
    alpha: f64,
    penalty: Penalty,
    iterations: usize,
) -> Vec<Vec<f64>> {
    let (nodes, size, edges) = (setting.nodes(), Setting::size(), setting.network.edges());
    let mut w = vec![vec![0.0; size]; nodes.len()];
    let mut u = vec![vec![0.0; size]; edges.len()];
    for _ in 0..iterations {
        let before = w.clone();
        for (i, node) in nodes.iter().enumerate() {
            let tau = 1.0 / setting.network.neighbours(i).len() as f64;
            for (edge, dual) in edges.iter().zip(&u) {
                let sign =
                    f64::from(u8::from(edge.source == i)) - f64::from(u8::from(edge.target == i));
                (0..size).for_each(|k| w[i][k] -= tau * sign * dual[k]);
            }
            if node.data.rows() > 0 {
                let (mut matrix, mut right) = moments(node);
                matrix.iter_mut().for_each(|entry| *entry *= 2.0 * tau);
                (0..size).for_each(|k| matrix[k * size + k] += 1.0);
                (0..size).for_each(|k| right[k] = w[i][k] + 2.0 * tau * right[k]);
                Cholesky::new(matrix, size).unwrap().solve(&mut right);
                w[i] = right;
            }
        }
        for (edge, dual) in edges.iter().zip(&mut u) {
            let (i, j) = (edge.source, edge.target);
            for k in 0..size {
                dual[k] += 0.5 * (2.0 * (w[i][k] - w[j][k]) - (before[i][k] - before[j][k]));
            }
            penalty.dual_update(dual, alpha * edge.weight, 0.5);
        }
    }
    w
}

#[test]
fn at_scale_one_without_relaxation_it_is_the_papers_algorithm() {
    let setting = Setting { empty: vec![1], ..Setting::new(Task::Regression) };
    for penalty in ALL {
        let paper =
            PrimalDual { scale: Scale::Fixed(1.0), relaxation: 1.0, ..method(0.3, penalty) };
        // Two rounds tell the start, and two more each iteration.
        let run = runtime(0.0, 2 + 2 * 50).run(&paper, setting.views()).unwrap();
        assert_close(&weights(&run), &algorithm_1(&setting, 0.3, penalty, 50), 1e-12);
    }
}

#[test]
fn the_bits_of_duals_do_not_depend_on_the_number_of_threads() {
    let setting = Setting { empty: vec![1], ..Setting::new(Task::Regression) };
    for penalty in ALL {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let work = || runtime(0.0, 200).run(&method(0.3, penalty), setting.views()).unwrap();
            let run = pool.install(work);
            (weights(&run), run.history)
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn every_round_carries_one_message_along_each_edge() {
    let setting = Setting::new(Task::Regression);
    let run = runtime(0.0, 6).run(&method(0.3, Penalty::Norm), setting.views()).unwrap();
    let message = 8 * Setting::size() + 17;
    for round in &run.history {
        assert_eq!(round.bytes, setting.network.edges().len() * message);
    }
    assert!(run.traffic.iter().all(|traffic| traffic.bytes == 3 * message));
}

/// Rounds in which messages are lost, told again late, or arrive twice. What each node says is kept
/// whenever it changes.
fn faulty(method: &PrimalDual, views: Vec<View>, rounds: usize, loss: f64) -> Vec<Vec<Vec<f64>>> {
    let mut nodes: Vec<_> = views.into_iter().map(|view| method.join(view).unwrap()).collect();
    let mut said: Vec<Vec<Vec<f64>>> = vec![Vec::new(); nodes.len()];
    let mut late: Vec<Vec<(NodeId, Turn)>> = vec![Vec::new(); nodes.len()];
    let mut stream = Stream::new(3, 0, 0, Purpose::Shuffle);
    for _ in 0..rounds {
        let mut inboxes = late;
        late = vec![Vec::new(); nodes.len()];
        for from in 0..nodes.len() {
            for (to, message) in nodes[from].send() {
                let fate = stream.uniform();
                if fate >= loss {
                    inboxes[to].push((from, message.clone()));
                }
                if loss > 0.0 && (fate < 0.3 * loss || fate > 0.9) {
                    late[to].push((from, message));
                }
            }
        }
        for ((node, inbox), said) in nodes.iter_mut().zip(&inboxes).zip(&mut said) {
            node.receive(inbox).unwrap();
            let now = linear(node.hypothesis().unwrap().as_ref());
            if said.last() != Some(&now) {
                said.push(now);
            }
        }
    }
    said
}

#[test]
fn lost_late_and_repeated_messages_cost_time_and_change_no_bit() {
    let setting = Setting::new(Task::Regression);
    for penalty in ALL {
        let method = method(0.3, penalty);
        let whole = faulty(&method, setting.views(), 400, 0.0);
        for loss in [0.1, 0.5] {
            for (whole, torn) in whole.iter().zip(faulty(&method, setting.views(), 400, loss)) {
                assert!(torn.len() > 20 && torn.len() < whole.len(), "{}", torn.len());
                assert_eq!(torn[..], whole[..torn.len()]);
            }
        }
    }
}

#[test]
fn nodes_that_go_on_without_what_is_lost_end_at_the_same_place() {
    let setting = Setting::new(Task::Regression);
    for penalty in ALL {
        let patient = method(0.3, penalty);
        let run = runtime(1e-12, 20_000).run(&patient, setting.views()).unwrap();
        for patience in [0, 3] {
            let hasty = PrimalDual { patience: Some(patience), ..patient.clone() };
            let said = faulty(&hasty, setting.views(), 6000, 0.4);
            let last: Vec<Vec<f64>> =
                said.iter().map(|said| said.last().unwrap().clone()).collect();
            assert_close(&last, &weights(&run), 1e-6);
        }
    }
}

/// Linear models on the first setting of solvers: two clusters, 60 % of the nodes with five rows.
fn clustered(nodes: usize, seed: u64) -> Vec<View> {
    let clustered = Clustered { clusters: 2, nodes: nodes / 2, inside: 0.5, between: 0.01, seed };
    let (network, clusters) = clustered.make().unwrap();
    let order = Stream::new(seed, 0, 0, Purpose::Shuffle).permutation(nodes);
    let model = Arc::new(Linear { ridge: 0.0, intercept: false });
    let node = |id: usize| {
        let mut stream = Stream::new(seed, id, 0, Purpose::Data);
        let slope = if clusters[id] == 0 { 2.0 } else { -2.0 };
        let rows: Vec<[f64; 2]> = (0..5).map(|_| [stream.normal(), stream.normal()]).collect();
        let label = |x: &[f64; 2]| slope * x[0] + 2.0 * x[1] + 0.1 * stream.normal();
        let labels = Labels::values(rows.iter().map(label).collect());
        let rows = Features::from_rows(&["x", "y"], &rows).unwrap();
        let data = if 10 * order[id] < 6 * nodes {
            Dataset::new(rows.clone(), labels).unwrap()
        } else {
            Dataset::empty(rows.names().clone(), Task::Regression)
        };
        Node { id, data, model: model.clone(), public: Arc::new(rows) }
    };
    network.views((0..nodes).map(node).collect()).unwrap()
}

/// In which iteration a run comes within 10⁻⁶ of a minimum.
fn iterations(run: &Run, minimum: f64) -> Option<usize> {
    let is_close = |objective: f64| objective - minimum <= 1e-6 * minimum;
    let first = run.history.iter().position(|round| round.round > 2 && is_close(round.objective));
    first.map(|round| round / 2)
}

#[test]
fn scales_of_their_own_need_a_fraction_of_the_papers_rounds() {
    for (alpha, most) in [(1e-2, 120), (1e-3, 170)] {
        let own = method(alpha, Penalty::Norm);
        let run = runtime(1e-9, 2000).run(&own, clustered(300, 1)).unwrap();
        assert!(run.converged);
        let minimum = run.history.last().unwrap().objective;
        let found = iterations(&run, minimum).unwrap();
        assert!(found <= most, "α = {alpha}: {found}");
        let paper = PrimalDual { scale: Scale::Fixed(1.0), relaxation: 1.0, ..own };
        let run = runtime(0.0, 2 + 10 * found).run(&paper, clustered(300, 1)).unwrap();
        assert_eq!(iterations(&run, minimum), None);
    }
}
