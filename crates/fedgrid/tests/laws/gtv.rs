//! The minimum of losses and total variation of weights: closed forms, a dense solver, limits, bits.

use std::sync::Arc;

use fedgrid::{
    algebra::Cholesky,
    data::{Dataset, Features, Labels, Task},
    method::PrimalDual,
    model::{Huber, Hypothesis, Linear, LinearHypothesis, LocalModel, Logistic},
    network::{Clustered, Edge, Network, Node, grid, path},
    observe::Stop,
    optimum::gtv::{
        Coupled, EngineKind, FirstOrder, Goal, Losses, Minimum, clusters, critical, minima,
        minimise, objective, run_iterations, strengths,
    },
    penalty::Penalty,
    random::{Purpose, Stream},
    runtime::{InProcess, Order},
};

const PENALTIES: [Penalty; 3] = [Penalty::Norm, Penalty::SquaredNorm, Penalty::OneNorm];

/// Nodes with `rows` rows each, or none where the stream says so, of noisy linear data.
fn nodes(
    count: usize,
    columns: usize,
    rows: usize,
    labelled: f64,
    model: &Arc<dyn LocalModel>,
) -> Vec<Node> {
    let names: Arc<[String]> = (0..columns).map(|k| format!("x{k}")).collect();
    let public = Arc::new(Features::empty(names.clone()));
    let node = |id: usize| {
        let stream = &mut Stream::new(3, id, 0, Purpose::Data);
        let rows = if stream.uniform() < labelled { rows } else { 0 };
        let slope = if id < count / 2 { 2.0 } else { -2.0 };
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let row: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
            y.push(slope * row[0] + row.iter().sum::<f64>() + 0.1 * stream.normal());
            x.extend(row);
        }
        let features = Features::new(names.clone(), x).unwrap();
        let data = if rows == 0 {
            Dataset::empty(names.clone(), Task::Regression)
        } else {
            Dataset::weighted(features, Labels::values(y), vec![1.0 / rows as f64; rows]).unwrap()
        };
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    (0..count).map(node).collect()
}

fn linear(ridge: f64, intercept: bool) -> Arc<dyn LocalModel> {
    Arc::new(Linear { ridge, intercept })
}

fn network(nodes: usize, seed: u64) -> Network {
    let half = nodes / 2;
    let clustered = Clustered {
        clusters: 2,
        nodes: half,
        inside: (8.0 / half as f64).min(1.0),
        between: 0.5 / half as f64,
        seed,
    };
    let (network, _) = clustered.make().unwrap();
    let stream = &mut Stream::new(seed, 1, 1, Purpose::Network);
    let edges = network.edges().iter().map(|e| Edge { weight: 0.2 + stream.uniform(), ..*e });
    Network::new(network.names().to_vec(), edges.collect::<Vec<_>>()).unwrap()
}

fn solve(
    nodes: &[Node],
    network: &Network,
    penalty: Penalty,
    alpha: f64,
    tolerance: f64,
) -> Minimum {
    let losses = Losses::new(nodes, true).unwrap();
    minimise(&losses, network, Coupled { alpha, penalty }, None, Goal { tolerance, steps: 50_000 })
        .unwrap()
}

/// Two nodes with the losses (w − 1)² and (v − 3)².
fn pair() -> Vec<Node> {
    let names: Arc<[String]> = ["x".to_string()].into();
    let node = |(id, y): (usize, f64)| {
        let data =
            Dataset::new(Features::new(names.clone(), vec![1.0]).unwrap(), Labels::values(vec![y]))
                .unwrap();
        Node {
            id,
            data,
            model: linear(0.0, false),
            public: Arc::new(Features::empty(names.clone())),
        }
    };
    [1.0, 3.0].into_iter().enumerate().map(node).collect()
}

#[test]
fn two_nodes_meet_at_their_closed_forms() {
    for alpha in [0.0, 0.5, 1.5, 2.0, 7.0_f64] {
        let norm = (1.0 + alpha / 2.0).min(2.0);
        // 2 (w − 1) = α (v − w) with w + v = 4.
        let squared = (2.0 + 4.0 * alpha) / (2.0 + 2.0 * alpha);
        for (penalty, expected) in PENALTIES.into_iter().zip([norm, squared, norm]) {
            let minimum = solve(&pair(), &path(2).unwrap(), penalty, alpha, 1e-12);
            assert!(
                (minimum.weights[0] - expected).abs() < 1e-6,
                "{penalty:?} {alpha} {minimum:?}"
            );
            assert!((minimum.weights[1] - (4.0 - expected)).abs() < 1e-6, "{penalty:?} {alpha}");
        }
    }
}

#[test]
fn the_squared_norm_is_a_dense_system() {
    let nodes = nodes(12, 3, 2, 0.7, &linear(0.0, false));
    let network = network(12, 1);
    let alpha = 0.3;
    let size = 12 * 3;
    let (mut matrix, mut right) = (vec![0.0; size * size], vec![0.0; size]);
    for node in &nodes {
        for (row, x) in node.data.features().iter().enumerate() {
            let weight = node.data.weights()[row];
            for a in 0..3 {
                right[node.id * 3 + a] += 2.0 * weight * node.data.labels().as_slice()[row] * x[a];
                for b in 0..3 {
                    matrix[(node.id * 3 + a) * size + node.id * 3 + b] +=
                        2.0 * weight * x[a] * x[b];
                }
            }
        }
    }
    for edge in network.edges() {
        for k in 0..3 {
            let (i, j) = (edge.source * 3 + k, edge.target * 3 + k);
            for (row, column, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                matrix[row * size + column] += sign * alpha * edge.weight;
            }
        }
    }
    Cholesky::new(matrix, size).unwrap().solve(&mut right);
    let minimum = solve(&nodes, &network, Penalty::SquaredNorm, alpha, 1e-13);
    for (found, expected) in minimum.weights.iter().zip(&right) {
        assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }
}

#[test]
fn certificates_hold_and_minima_agree_from_rough_and_fine_runs() {
    let network = network(60, 2);
    for (columns, rows, ridge) in [(2, 5, 0.0), (4, 2, 0.0), (3, 3, 0.05)] {
        let nodes = nodes(60, columns, rows, 0.6, &linear(ridge, false));
        for penalty in PENALTIES {
            for alpha in [1e-3, 1e-2, 0.2] {
                let fine = solve(&nodes, &network, penalty, alpha, 1e-8);
                let rough = solve(&nodes, &network, penalty, alpha, 1e-2);
                let gap = rough.certificate.gap.expect("the rows determine the weights together");
                let least = fine.objective - fine.certificate.gap.unwrap();
                assert!(rough.objective - least >= 0.0, "{penalty:?} {alpha}");
                assert!(rough.objective - fine.objective <= gap, "{penalty:?} {alpha}: {rough:?}");
                assert!(
                    fine.relative_gap().unwrap() < 1e-7,
                    "{penalty:?} {alpha} {columns}: {:?}",
                    fine.history
                );
            }
        }
    }
}

#[test]
fn without_strength_every_node_is_alone_and_with_much_all_are_equal() {
    let (nodes, network) = (nodes(20, 2, 6, 1.0, &linear(0.0, true)), network(20, 3));
    let weights = |model: &dyn LocalModel, data: &Dataset| {
        let fitted = model.fit(data).unwrap();
        let linear: &LinearHypothesis = fitted.downcast_ref().unwrap();
        [&linear.slopes[..], &[linear.intercept]].concat()
    };
    let pooled = nodes
        .iter()
        .skip(1)
        .fold(nodes[0].data.clone(), |all, node| all.stacked(&node.data).unwrap());
    let common = weights(nodes[0].model.as_ref(), &pooled);
    for penalty in PENALTIES {
        let alone = solve(&nodes, &network, penalty, 0.0, 1e-9);
        let strong = solve(&nodes, &network, penalty, 1e5, 1e-9);
        for node in &nodes {
            let own = weights(node.model.as_ref(), &node.data);
            for k in 0..3 {
                assert!((alone.weights[node.id * 3 + k] - own[k]).abs() < 1e-8);
                assert!((strong.weights[node.id * 3 + k] - common[k]).abs() < 1e-3, "{penalty:?}");
            }
        }
    }
}

#[test]
fn uncoupled_intercepts_are_those_of_the_nodes_and_spread_to_nodes_without_rows() {
    let mut all = nodes(2, 1, 4, 1.0, &linear(0.0, true));
    all[1].data = Dataset::empty(all[0].data.features().names().clone(), Task::Regression);
    let losses = Losses::new(&all, false).unwrap();
    let network = path(2).unwrap();
    let coupled = Coupled { alpha: 1.0, penalty: Penalty::SquaredNorm };
    let minimum = minimise(&losses, &network, coupled, None, Goal::default()).unwrap();
    let fitted = all[0].model.fit(&all[0].data).unwrap();
    for hypothesis in losses.hypotheses(&network, &minimum.weights) {
        let linear = |one: &dyn Hypothesis| one.downcast_ref::<LinearHypothesis>().unwrap().clone();
        let (a, b) = (linear(hypothesis.as_ref()), linear(fitted.as_ref()));
        assert!(
            (a.intercept - b.intercept).abs() < 1e-6 && (a.slopes[0] - b.slopes[0]).abs() < 1e-6
        );
    }
}

#[test]
fn threads_change_no_bit() {
    let (nodes, network) = (nodes(6000, 10, 3, 0.6, &linear(0.0, false)), network(6000, 4));
    let losses = Losses::new(&nodes, true).unwrap();
    for penalty in PENALTIES {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let coupled = Coupled { alpha: 0.05, penalty };
            pool.install(|| {
                minimise(&losses, &network, coupled, None, Goal { tolerance: 1e-3, steps: 60 })
                    .unwrap()
            })
        };
        let one = run(1);
        for threads in [2, 8] {
            let many = run(threads);
            assert!(one.weights == many.weights && one.duals == many.duals, "{penalty:?}");
            assert_eq!(one.certificate, many.certificate);
        }
    }
}

#[test]
fn other_losses_are_certified_too() {
    let network = network(24, 5);
    let huber = nodes(
        24,
        2,
        4,
        0.7,
        &(Arc::new(Huber { ridge: 0.01, ..Huber::default() }) as Arc<dyn LocalModel>),
    );
    let logistic: Vec<Node> = nodes(
        24,
        2,
        6,
        0.7,
        &(Arc::new(Logistic { ridge: 0.01, ..Logistic::default() }) as Arc<dyn LocalModel>),
    )
    .into_iter()
    .map(|mut node| {
        let classes: Vec<usize> =
            node.data.labels().as_slice().iter().map(|y| usize::from(*y > 0.0)).collect();
        let labels = Labels::classes(2, &classes).unwrap();
        let features = node.data.features().clone();
        node.data = Dataset::weighted(features, labels, node.data.weights().to_vec()).unwrap();
        node
    })
    .collect();
    for nodes in [huber, logistic] {
        for penalty in PENALTIES {
            let minimum = solve(&nodes, &network, penalty, 0.05, 1e-6);
            if penalty == Penalty::SquaredNorm {
                assert_eq!(minimum.engine, EngineKind::NewtonCg);
                assert_first_order_agrees(&nodes, &network, &minimum);
            }
            assert!(
                minimum.relative_gap().is_some_and(|gap| gap <= 1e-6),
                "{penalty:?} {:?} {:?}",
                minimum.history,
                minimum.certificate
            );
        }
    }
}

/// The first-order iteration for the same problem ends at the same objective.
fn assert_first_order_agrees(nodes: &[Node], network: &Network, minimum: &Minimum) {
    let losses = Losses::new(nodes, true).unwrap();
    let coupled = Coupled { alpha: 0.05, penalty: Penalty::SquaredNorm };
    let mut last = f64::INFINITY;
    run_iterations(&losses, network, coupled, FirstOrder::Adaptive, (2000, 500), |_, value| {
        last = value;
        false
    })
    .unwrap();
    let difference = (last - minimum.objective).abs();
    assert!(difference < 1e-6 * last, "{last} and {}", minimum.objective);
}

#[test]
fn a_coarse_minimum_is_certified_by_its_clusters() {
    let (nodes, network) = (nodes(40, 2, 4, 1.0, &linear(0.01, false)), network(40, 3));
    let losses = Losses::new(&nodes, true).unwrap();
    let coupled = Coupled { alpha: 0.2, penalty: Penalty::OneNorm };
    let goal = Goal { tolerance: 1e-9, steps: 50_000 };
    let minimum = minimise(&losses, &network, coupled, None, goal).unwrap();
    assert!(minimum.relative_gap().unwrap() <= 1e-9, "{:?}", minimum.certificate);
    let clusters = clusters(&losses, &network, &minimum.weights, 1e-4);
    assert!(clusters.iter().max().unwrap() + 1 < 20, "{clusters:?}");
    // What the clusters alone have reached is equal within each of them to the last bit.
    if minimum.engine == EngineKind::Clusters {
        for edge in network.edges() {
            if clusters[edge.source] == clusters[edge.target] {
                let row = |node: usize| &minimum.weights[2 * node..2 * node + 2];
                assert_eq!(row(edge.source), row(edge.target));
            }
        }
    }
}

#[test]
fn from_the_critical_strength_on_all_weights_are_equal_and_below_they_differ() {
    let spread = |minimum: &Minimum, size: usize| {
        let rows: Vec<&[f64]> = minimum.weights.chunks_exact(size).collect();
        let distance =
            |row: &&[f64]| row.iter().zip(rows[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        rows.iter().map(distance).fold(0.0, f64::max)
    };
    let pair_losses = Losses::new(&pair(), true).unwrap();
    let bounds = critical(&pair_losses, &path(2).unwrap(), Penalty::Norm).unwrap().unwrap();
    assert!(
        (bounds.at_least - 2.0).abs() < 1e-6 && (bounds.at_most - 2.0).abs() < 1e-6,
        "{bounds:?}"
    );
    let (nodes, network) = (nodes(30, 2, 4, 0.7, &linear(0.0, false)), network(30, 6));
    let losses = Losses::new(&nodes, true).unwrap();
    for penalty in [Penalty::Norm, Penalty::OneNorm] {
        let bounds = critical(&losses, &network, penalty).unwrap().unwrap();
        assert!(bounds.at_most <= 1.05 * bounds.at_least, "{penalty:?} {bounds:?}");
        let above = solve(&nodes, &network, penalty, 1.01 * bounds.at_most, 1e-10);
        let below = solve(&nodes, &network, penalty, 0.97 * bounds.at_least, 1e-10);
        assert!(spread(&above, 2) < 1e-4, "{penalty:?} {}", spread(&above, 2));
        assert!(spread(&below, 2) > 1e-3, "{penalty:?} {}", spread(&below, 2));
    }
    assert_eq!(critical(&losses, &network, Penalty::SquaredNorm).unwrap(), None);
}

#[test]
fn a_path_begins_where_all_weights_are_equal_and_has_the_minima_of_cold_starts() {
    let (nodes, network) = (nodes(60, 2, 4, 0.8, &linear(0.01, false)), network(60, 5));
    let losses = Losses::new(&nodes, true).unwrap();
    let goal = Goal { tolerance: 1e-8, steps: 50_000 };
    for penalty in [Penalty::Norm, Penalty::OneNorm] {
        let alphas = strengths(&losses, &network, penalty, 8, 0.01).unwrap();
        let bounds = critical(&losses, &network, penalty).unwrap().unwrap();
        assert_eq!(alphas[0].to_bits(), bounds.at_most.to_bits());
        assert!((alphas[7] - 0.01 * bounds.at_most).abs() <= 1e-12 * bounds.at_most);
        let warm = minima(&losses, &network, penalty, &alphas, goal).unwrap();
        let count = |minimum: &Minimum| {
            clusters(&losses, &network, &minimum.weights, 1e-3).into_iter().max()
        };
        assert_eq!(count(&warm[0]), Some(0), "one cluster: {penalty:?}");
        assert!(count(&warm[7]) > Some(0), "{penalty:?}");
        for (&alpha, warm) in alphas.iter().zip(&warm) {
            let cold = minimise(&losses, &network, Coupled { alpha, penalty }, None, goal).unwrap();
            let apart = (warm.objective - cold.objective).abs();
            assert!(apart <= 2e-8 * cold.objective.abs(), "{penalty:?} {alpha}: {apart:e}");
        }
        // From a minimum it is not far to the minimum.
        let (last, coupled) = (&warm[7], Coupled { alpha: alphas[7], penalty });
        let again = minimise(&losses, &network, coupled, Some(last), goal).unwrap();
        let cold = minimise(&losses, &network, coupled, None, goal).unwrap();
        assert!(2 * again.steps < cold.steps, "{penalty:?}: {} {}", again.steps, cold.steps);
    }
    assert!(strengths(&losses, &network, Penalty::SquaredNorm, 8, 0.01).is_err());
    assert!(strengths(&losses, &network, Penalty::Norm, 8, 1.5).is_err());
}

#[test]
fn the_federated_method_and_the_solver_reach_the_same_minimum() {
    let network = network(40, 7);
    let stop = Stop { tolerance: 1e-11, rounds: 20_000 };
    // With a row for every weight at some nodes the minimiser is unique; a ridge makes it so elsewhere.
    for (rows, ridge) in [(5, 0.0), (2, 0.05)] {
        let nodes = nodes(40, 3, rows, 0.7, &linear(ridge, false));
        let losses = Losses::new(&nodes, true).unwrap();
        for penalty in PENALTIES {
            let coupled = Coupled { alpha: 0.05, penalty };
            let goal = Goal { tolerance: 1e-11, steps: 50_000 };
            let minimum = minimise(&losses, &network, coupled, None, goal).unwrap();
            let method = PrimalDual { alpha: 0.05, penalty, ..PrimalDual::default() };
            let views = network.views(nodes.clone()).unwrap();
            let run = InProcess { stop, order: Order::AtOnce }.run(&method, views).unwrap();
            let weights: Vec<f64> = run
                .hypotheses
                .iter()
                .flat_map(|own| {
                    let linear = own.as_ref().unwrap().downcast_ref::<LinearHypothesis>();
                    linear.unwrap().slopes.clone()
                })
                .collect();
            let reached = objective(&losses, &network, coupled, &weights).unwrap();
            let apart = (reached - minimum.objective).abs() / minimum.objective;
            assert!(apart <= 1e-8, "{penalty:?} {rows}: {apart}");
            for (a, b) in weights.iter().zip(&minimum.weights) {
                assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{penalty:?} {rows}: {a} {b}");
            }
        }
    }
}

#[test]
fn networks_that_fill_in_little_are_factored_and_others_are_not() {
    let solved = |network: &Network, alpha: f64| {
        let nodes = nodes(network.len(), 3, 2, 0.1, &linear(0.0, true));
        solve(&nodes, network, Penalty::SquaredNorm, alpha, 1e-9)
    };
    // A few products are tried first, and given up where they will not do.
    for (network, steps) in [(path(300).unwrap(), 8), (grid(12, 25).unwrap(), 17)] {
        let minimum = solved(&network, 5.0);
        assert_eq!((minimum.engine, minimum.steps), (EngineKind::SparseFactors, steps));
        assert!(minimum.relative_gap().is_some_and(|gap| gap < 1e-9), "{:?}", minimum.certificate);
    }
    let minimum = solved(&network(1000, 8), 5.0);
    assert_eq!(minimum.engine, EngineKind::ConjugateGradients);
    assert!(minimum.relative_gap().is_some_and(|gap| gap < 1e-8), "{:?}", minimum.certificate);
}
