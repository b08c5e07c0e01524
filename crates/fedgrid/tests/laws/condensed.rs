//! Condensed rows: linear models cannot tell them from the rows there were, whichever method trains them.

use std::sync::Arc;

use fedgrid::{
    compare::{
        Approach, Contestant, Gtv, MethodKind, Mixed, Settings, Strength, Study, Unwatched,
        Weighting,
    },
    data::{CondensedRows, Dataset, Features, Labels, Plan, normal_points},
    method::{FedRelax, fedrelax::Coupling},
    model::{Linear, LocalModel, Tree},
    network::ring,
    penalty::Penalty,
    random::{Purpose, Stream},
};

const NODES: usize = 14;
const COLUMNS: usize = 3;

/// Nodes with none, one, few and many rows, a feature that is a property of nodes, and features far from zero.
fn rows(counted: bool) -> Vec<Dataset> {
    let names: Arc<[String]> = ["a", "b", "c"].map(String::from).into();
    let of_node = |node: usize| {
        let mut stream = Stream::new(8, node, 0, Purpose::Data);
        let rows = [0, 1, 2, 5, 12, 40, 9][node % 7];
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let x = [50.0 + stream.normal(), stream.normal(), (node % 4) as f64];
            let slope = 1.0 + (node as f64 / 3.0).sin();
            labels.push(slope * (x[0] - 50.0) - x[1] + 0.3 * x[2] + 0.2 * stream.normal());
            values.extend(x);
        }
        if rows == 0 {
            return Dataset::empty(names.clone(), fedgrid::data::Task::Regression);
        }
        let features = Features::new(names.clone(), values).unwrap();
        let counts = (0..rows).map(|_| 0.5 + stream.uniform()).collect();
        let labels = Labels::values(labels);
        if counted {
            Dataset::counted(features, labels, counts).unwrap()
        } else {
            Dataset::new(features, labels).unwrap()
        }
    };
    (0..NODES).map(of_node).collect()
}

fn study(method: Approach, rows: Vec<Dataset>, weighting: Weighting) -> Study {
    let model: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let points = rows[5].features();
    let public = Arc::new(normal_points(points, 60, &mut stream).unwrap());
    let plan = Plan {
        folds: Vec::new(),
        train: rows.iter().map(|data| (0..data.rows()).collect()).collect(),
        test: vec![Vec::new(); rows.len()],
    };
    Study {
        network: ring(NODES).unwrap(),
        models: vec![model; NODES],
        public: vec![public; NODES],
        plan,
        scales: None,
        settings: Settings { method, weighting, ..Settings::default() },
        rows,
    }
}

/// The same study with few rows and points in the place of all.
fn condensed(study: &Study, parts: usize) -> Study {
    let names = study.rows[0].features().names().clone();
    let of_node = |data: &Dataset| {
        // In parts, the last of which come first: a run is updated with rows as they come.
        let part = |part: usize| {
            let rows: Vec<usize> = (0..data.rows()).filter(|row| row % parts == part).collect();
            CondensedRows::of(&data.select(&rows)).unwrap()
        };
        let joined = (0..parts).rev().map(part);
        let joined = joined.reduce(|a, b| a.joined(&b).unwrap()).unwrap();
        assert_eq!(joined.rows(), data.rows());
        joined.expanded(names.clone()).unwrap()
    };
    let rows: Vec<Dataset> = study.rows.iter().map(of_node).collect();
    let points = CondensedRows::of_points(&study.public[0]);
    let public = Arc::new(points.expanded_points(names.clone()).unwrap());
    let train = rows.iter().map(|data| (0..data.rows()).collect()).collect();
    let plan = Plan { train, ..study.plan.clone() };
    Study { rows, plan, public: vec![public; NODES], ..study.clone() }
}

fn methods() -> Vec<(Approach, f64)> {
    let fedrelax =
        |coupling, hub| Approach::FedRelax(FedRelax { coupling, hub, ..FedRelax::default() });
    let gtv = |penalty| Approach::Gtv(Gtv { penalty, tolerance: 1e-12, ..Gtv::default() });
    vec![
        (fedrelax(Coupling::OneSided, 0.0), 0.3),
        (fedrelax(Coupling::Symmetric, 0.5), 2.0),
        (gtv(Penalty::SquaredNorm), 0.1),
        // The norm has a law of its own below.
        (Approach::Mixed(Mixed::default()), 0.0),
        (MethodKind::Local.with_defaults(), 0.0),
        (MethodKind::Pooled.with_defaults(), 0.0),
        (MethodKind::Shrunk.with_defaults(), 0.4),
    ]
}

/// What all models predict at a few places.
fn predictions(study: &Study, contestant: Contestant, alpha: f64) -> Vec<f64> {
    let strength = Strength { alpha, ridge: Some(1e-3) };
    let fitted = study.fit_by_name(contestant, strength, &Unwatched).unwrap();
    let places = [[50.0, 0.0, 1.0], [51.0, -1.0, 2.0], [49.0, 2.0, 0.0]];
    let places = Features::from_rows(&["a", "b", "c"], &places).unwrap();
    assert_eq!(places.columns(), COLUMNS);
    fitted.hypotheses.iter().flat_map(|own| own.predict(&places).as_slice().to_vec()).collect()
}

#[test]
fn linear_methods_cannot_tell_condensed_rows_from_rows() {
    for is_counted in [false, true] {
        for weighting in [Weighting::Nodes, Weighting::Rows] {
            for (method, alpha) in methods() {
                let name = method.kind();
                let whole = study(method, rows(is_counted), weighting);
                assert!(whole.takes_condensed_rows(&[whole.main(), Contestant::Mixed]), "{name}");
                // The strength of a mixed model is a correlation.
                for (contestant, alpha) in [(whole.main(), alpha), (Contestant::Mixed, 0.0)] {
                    let truth = predictions(&whole, contestant, alpha);
                    let largest = truth.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
                    for parts in [1, 3] {
                        let found = predictions(&condensed(&whole, parts), contestant, alpha);
                        for (found, truth) in found.iter().zip(&truth) {
                            let far = (found - truth).abs() / largest;
                            assert!(far < 1e-6, "{name} {contestant} {far:e}");
                        }
                    }
                }
            }
        }
    }
}

/// The objective of total variation at some weights, and its terms: the losses of nodes as they are weighed, and what
/// differences of neighbours cost.
fn objective(study: &Study, penalty: Penalty, alpha: f64, weights: &[Vec<f64>]) -> f64 {
    let nodes = study.nodes(Some(1e-3));
    let losses = nodes.iter().zip(weights);
    let losses: f64 =
        losses.map(|(node, w)| node.model.as_parametric().unwrap().loss(&node.data, w)).sum();
    let edges = study.network.edges().iter();
    let variation: f64 = edges
        .map(|edge| {
            let pairs = weights[edge.source].iter().zip(&weights[edge.target]);
            let difference: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
            edge.weight * penalty.value(&difference)
        })
        .sum();
    losses + alpha * variation
}

#[test]
fn norms_diagnosis() {
    for penalty in [Penalty::Norm, Penalty::OneNorm] {
        for tolerance in [1e-6, 1e-9, 1e-12] {
            let gtv = Gtv { penalty, tolerance, ..Gtv::default() };
            let whole = study(Approach::Gtv(gtv), rows(false), Weighting::Nodes);
            let few = condensed(&whole, 3);
            let alpha = 0.1;
            let fit = |study: &Study| {
                let strength = Strength { alpha, ridge: Some(1e-3) };
                let fitted = study.fit_by_name(study.main(), strength, &Unwatched).unwrap();
                let nodes = study.nodes(Some(1e-3));
                let weights: Vec<Vec<f64>> = nodes
                    .iter()
                    .zip(&fitted.hypotheses)
                    .map(|(node, own)| {
                        node.model.as_parametric().unwrap().weights(own.as_ref()).unwrap()
                    })
                    .collect();
                println!("{} {:?}", fitted.engine, fitted.certificate);
                weights
            };
            let (a, b) = (fit(&whole), fit(&few));
            for w in [&a, &b] {
                println!(
                    "  {penalty:?} {tolerance:e}: {:.15} {:.15}",
                    objective(&whole, penalty, alpha, w),
                    objective(&few, penalty, alpha, w)
                );
            }
            for (node, (a, b)) in a.iter().zip(&b).enumerate() {
                let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                println!("    {node} rows {} far {far:e}", whole.rows[node].rows());
            }
        }
    }
}

#[test]
fn what_is_no_sum_of_squares_takes_rows() {
    let rounds = Settings { direct: false, ..Settings::default() };
    let mut own = study(Approach::default(), rows(false), Weighting::Nodes);
    assert!(own.takes_condensed_rows(&[Contestant::Network, Contestant::Local]));
    assert!(!own.takes_condensed_rows(&[Contestant::Baseline(MethodKind::Fedavg)]));
    let tree: Arc<dyn LocalModel> = Arc::new(Tree::default());
    let of_trees = Study { models: vec![tree; NODES], ..own.clone() };
    assert!(!of_trees.takes_condensed_rows(&[Contestant::Network]));
    own.settings = rounds;
    assert!(!own.takes_condensed_rows(&[Contestant::Network]));
}
