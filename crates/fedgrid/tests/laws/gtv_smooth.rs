//! Losses that are smooth but not quadratic, coupled by ‖·‖₂: the augmented Lagrangian against first-order steps,
//! limits, order, bits.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    model::{Huber, Linear, LocalModel, Logistic, Poisson},
    network::{Clustered, Edge, Network, Node},
    optimum::gtv::{
        Coupled, EngineKind, FirstOrder, Goal, Losses, Minimum, critical, minimise, run_iterations,
    },
    penalty::Penalty,
    random::{Purpose, Stream},
};

const RIDGE: f64 = 0.01;
const ROWS: usize = 8;

/// What nodes learn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Classes(usize),
    Counts,
    Huber,
    /// Half of the nodes have least squares.
    HuberAndLinear,
}

const KINDS: [Kind; 5] =
    [Kind::Classes(2), Kind::Classes(3), Kind::Counts, Kind::Huber, Kind::HuberAndLinear];

impl Kind {
    fn task(self) -> Task {
        match self {
            Self::Classes(classes) => Task::Classification { classes },
            _ => Task::Regression,
        }
    }

    /// The model of a node; three classes with intercepts have no certificate, as these can be shifted.
    fn model(self, id: usize, ridge: f64) -> Arc<dyn LocalModel> {
        match self {
            Self::Classes(classes) => {
                Arc::new(Logistic { ridge, lasso: 0.0, intercept: classes == 2 })
            }
            Self::Counts => Arc::new(Poisson { ridge, intercept: true }),
            Self::HuberAndLinear if id.is_multiple_of(2) => {
                Arc::new(Linear { ridge, intercept: true })
            }
            _ => Arc::new(Huber { threshold: 0.5, ridge, intercept: true }),
        }
    }

    /// The label of a row with an output.
    fn label(self, output: f64, stream: &mut Stream) -> f64 {
        let noise = stream.normal();
        match self {
            Self::Classes(2) => f64::from(u8::from(output + noise > 0.0)),
            Self::Classes(_) => (output + noise).clamp(-1.0, 1.0).round() + 1.0,
            Self::Counts => (0.5 * output + 0.3 * noise).exp().round(),
            _ => output + 0.3 * noise,
        }
    }

    /// Nodes of two slopes, every fifth without rows.
    fn nodes(self, count: usize) -> Vec<Node> {
        let names: Arc<[String]> = ["a", "b"].map(String::from).into();
        let node = |id: usize| {
            let stream = &mut Stream::new(11, id, 0, Purpose::Data);
            let slope = if id < count / 2 { 1.0 } else { -0.5 };
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..ROWS {
                let row = [stream.normal(), stream.normal()];
                y.push(self.label(slope * row[0] + 0.5 * row[1], stream));
                x.extend(row);
            }
            let labels = match self {
                Self::Classes(classes) => {
                    let class = |y: &f64| usize::from(*y > 0.5) + usize::from(*y > 1.5);
                    let classed: Vec<usize> = y.iter().map(class).collect();
                    Labels::classes(classes, &classed).unwrap()
                }
                _ => Labels::values(y),
            };
            let features = Features::new(names.clone(), x).unwrap();
            let data = if id % 5 == 4 {
                Dataset::empty(names.clone(), self.task())
            } else {
                Dataset::weighted(features, labels, vec![1.0 / ROWS as f64; ROWS]).unwrap()
            };
            let public = Arc::new(Features::empty(names.clone()));
            Node { id, data, model: self.model(id, RIDGE), public }
        };
        (0..count).map(node).collect()
    }
}

fn network(nodes: usize) -> Network {
    let half = nodes / 2;
    let (inside, between) = ((6.0 / half as f64).min(1.0), 0.5 / half as f64);
    let made = Clustered { clusters: 2, nodes: half, inside, between, seed: 2 };
    let (network, _) = made.make().unwrap();
    let stream = &mut Stream::new(2, 1, 1, Purpose::Network);
    let edges = network.edges().iter().map(|e| Edge { weight: 0.2 + stream.uniform(), ..*e });
    Network::new(network.names().to_vec(), edges.collect::<Vec<_>>()).unwrap()
}

/// The norm at a share of the critical strength.
fn at_share(losses: &Losses, network: &Network, share: f64) -> Coupled {
    let bounds = critical(losses, network, Penalty::Norm).unwrap().unwrap();
    Coupled { alpha: share * bounds.at_most, penalty: Penalty::Norm }
}

fn solve(losses: &Losses, network: &Network, coupled: Coupled, tolerance: f64) -> Minimum {
    minimise(losses, network, coupled, None, Goal { tolerance, steps: 50_000 }).unwrap()
}

/// First-order steps come to within 1e-8 of a minimum, and never below it.
fn assert_first_order_agrees(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    minimum: &Minimum,
) {
    // The likelihood of counts may be negative.
    let (least, size) = (minimum.objective, minimum.objective.abs());
    let mut reached = f64::INFINITY;
    run_iterations(losses, network, coupled, FirstOrder::Adaptive, (5000, 20), |_, value| {
        assert!(value >= least - 1e-9 * size, "{value} is below {least}");
        reached = reached.min(value);
        reached <= least + 1e-9 * size
    })
    .unwrap();
    assert!(reached <= least + 1e-8 * size, "{reached} and {least} at {coupled:?}");
}

#[test]
fn newton_steps_have_the_minima_of_first_order_steps_and_certify_them() {
    let network = network(24);
    for kind in KINDS {
        for couple_intercept in [true, false] {
            let losses = Losses::new(&kind.nodes(24), couple_intercept).unwrap();
            for share in [1e-3, 0.1, 0.7] {
                let coupled = at_share(&losses, &network, share);
                let minimum = solve(&losses, &network, coupled, 1e-9);
                // Where Newton steps from the start do not come far enough, they end what others go on with.
                let by_newton = [EngineKind::Augmented, EngineKind::Newton];
                assert!(by_newton.contains(&minimum.engine), "{kind:?} {share}: {minimum:?}");
                let gap = minimum.relative_gap();
                assert!(gap.is_some_and(|gap| gap <= 1e-9), "{kind:?} {share}: {minimum:?}");
                assert_first_order_agrees(&losses, &network, coupled, &minimum);
            }
        }
    }
}

#[test]
fn three_classes_with_intercepts_end_at_small_residuals() {
    let mut nodes = Kind::Classes(3).nodes(24);
    let model = Arc::new(Logistic { ridge: RIDGE, ..Logistic::default() });
    for node in &mut nodes {
        node.model = model.clone();
    }
    let (losses, network) = (Losses::new(&nodes, true).unwrap(), network(24));
    for share in [1e-3, 0.1, 0.7] {
        let coupled = at_share(&losses, &network, share);
        let minimum = solve(&losses, &network, coupled, 1e-8);
        let certificate = minimum.certificate;
        assert_eq!((minimum.engine, certificate.gap), (EngineKind::Augmented, None));
        assert!(certificate.node_residual.max(certificate.edge_residual) <= 1e-8, "{minimum:?}");
        assert_first_order_agrees(&losses, &network, coupled, &minimum);
    }
}

#[test]
fn without_strength_smooth_losses_are_alone_and_beyond_the_critical_one_they_are_pooled() {
    let network = network(20);
    let weights = |model: &dyn LocalModel, data: &Dataset| {
        let parametric = model.as_parametric().unwrap();
        parametric.weights(model.fit(data).unwrap().as_ref()).unwrap()
    };
    for kind in [Kind::Classes(2), Kind::Classes(3), Kind::Counts, Kind::Huber] {
        let nodes = kind.nodes(20);
        let losses = Losses::new(&nodes, true).unwrap();
        let with_rows = || nodes.iter().filter(|node| losses.has_rows(node.id));
        let size = losses.size();
        let row = |minimum: &Minimum, id: usize| minimum.weights[id * size..][..size].to_vec();
        let close = |found: &[f64], expected: &[f64], margin: f64| {
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= margin * (1.0 + b.abs()))
        };
        let none = Coupled { alpha: 0.0, penalty: Penalty::Norm };
        let weak = Coupled { alpha: 1e-9, penalty: Penalty::Norm };
        let (alone, hardly) =
            (solve(&losses, &network, none, 1e-10), solve(&losses, &network, weak, 1e-10));
        assert_eq!(alone.engine, EngineKind::Alone);
        for node in with_rows() {
            let own = weights(node.model.as_ref(), &node.data);
            assert!(close(&row(&alone, node.id), &own, 1e-12), "{kind:?}");
            assert!(close(&row(&hardly, node.id), &own, 1e-5), "{kind:?} {}", node.id);
        }
        let data = with_rows().map(|node| node.data.clone());
        let pooled = data.reduce(|all, own| all.stacked(&own).unwrap()).unwrap();
        // The ridges of all nodes pull at the common weights.
        let ridge = RIDGE * with_rows().count() as f64;
        let common = weights(kind.model(1, ridge).as_ref(), &pooled);
        for share in [1.01, 1e4] {
            let strong = solve(&losses, &network, at_share(&losses, &network, share), 1e-10);
            for node in &nodes {
                let own = row(&strong, node.id);
                assert!(close(&own, &common, 1e-5), "{kind:?} {share}: {own:?} {common:?}");
            }
        }
    }
}

#[test]
fn the_order_of_nodes_changes_no_smooth_minimum() {
    let (count, network) = (24, network(24));
    let turned = |id: usize| (7 * id + 3) % count;
    let edges = network.edges().iter();
    let edges: Vec<Edge> = edges
        .map(|e| Edge { source: turned(e.source), target: turned(e.target), weight: e.weight })
        .collect();
    let other = Network::new(network.names().to_vec(), edges).unwrap();
    for kind in KINDS {
        let nodes = kind.nodes(count);
        let mut moved = nodes.clone();
        for node in &nodes {
            moved[turned(node.id)] = Node { id: turned(node.id), ..node.clone() };
        }
        let losses = Losses::new(&nodes, true).unwrap();
        let coupled = at_share(&losses, &network, 0.1);
        let one = solve(&losses, &network, coupled, 1e-11);
        let two = solve(&Losses::new(&moved, true).unwrap(), &other, coupled, 1e-11);
        let size = losses.size();
        for id in 0..count {
            for k in 0..size {
                let (a, b) = (one.weights[id * size + k], two.weights[turned(id) * size + k]);
                assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{kind:?} {id}: {a} {b}");
            }
        }
        assert!((one.objective - two.objective).abs() <= 1e-10 * one.objective.abs(), "{kind:?}");
    }
}

#[test]
fn threads_change_no_bit_of_smooth_minima() {
    let network = network(300);
    for kind in [Kind::Classes(3), Kind::Counts] {
        let losses = Losses::new(&kind.nodes(300), true).unwrap();
        let coupled = at_share(&losses, &network, 0.1);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solve(&losses, &network, coupled, 1e-6))
        };
        let (one, two) = (run(1), run(2));
        assert_eq!(one.engine, EngineKind::Augmented);
        assert!(one.weights == two.weights && one.duals == two.duals, "{kind:?}");
        assert_eq!(one.certificate, two.certificate);
    }
}

#[test]
fn losses_with_kinks_keep_first_order_steps() {
    let mut nodes = Kind::Classes(2).nodes(24);
    let model = Arc::new(Logistic { ridge: RIDGE, lasso: 0.01, intercept: true });
    for node in &mut nodes {
        node.model = model.clone();
    }
    let losses = Losses::new(&nodes, true).unwrap();
    let minimum =
        solve(&losses, &network(24), Coupled { alpha: 0.01, penalty: Penalty::Norm }, 1e-5);
    assert!(
        matches!(minimum.engine, EngineKind::Relaxed | EngineKind::Halpern),
        "{}",
        minimum.engine
    );
    assert!(minimum.relative_gap().is_some_and(|gap| gap <= 1e-5), "{minimum:?}");
}
