//! More features than rows: what is fitted in the columns that rows span is what is fitted in all of them.

use std::sync::Arc;

use fedgrid::{
    compare::{Approach, Contestant, Fitted, Gtv, Settings, Strength, Study, Unwatched},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws, normal_points},
    method::FedRelax,
    model::{Linear, LinearHypothesis, LocalModel},
    network,
    observe::Stop,
    penalty::Penalty,
    random::{Purpose, Stream},
    runtime::InProcess,
};

const NODES: usize = 3;
const ROWS: usize = 4;
const FEATURES: usize = 40;

fn study(method: Approach, is_direct: bool) -> Study {
    let names: Arc<[String]> = (0..FEATURES).map(|k| format!("x{k}")).collect();
    let rows: Vec<Dataset> = (0..NODES)
        .map(|node| {
            let mut stream = Stream::new(3, node, 0, Purpose::Data);
            let x: Vec<f64> = (0..ROWS * FEATURES).map(|_| stream.normal()).collect();
            let labels = (0..ROWS).map(|_| stream.normal() + node as f64).collect();
            Dataset::new(Features::new(names.clone(), x).unwrap(), Labels::values(labels)).unwrap()
        })
        .collect();
    let all: Vec<f64> =
        rows.iter().flat_map(|data| data.features().iter()).flatten().copied().collect();
    let all = Features::new(names, all).unwrap();
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let public = Arc::new(normal_points(&all, 60, &mut stream).unwrap());
    let network = network::path(NODES).unwrap();
    let roles = vec![vec![Role::Train; ROWS]; NODES];
    let plan = Plan::new(&roles, 2, &RowDraws { names: network.names(), rows: &rows, seed: 1 });
    let model: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let runtime =
        InProcess { stop: Stop { tolerance: 1e-13, rounds: 20_000 }, ..InProcess::default() };
    Study {
        network,
        models: vec![model; NODES],
        public: vec![public; NODES],
        plan,
        scales: None,
        settings: Settings { method, direct: is_direct, runtime, ..Settings::default() },
        rows,
    }
}

fn slopes(fitted: &Fitted) -> Vec<Vec<f64>> {
    let of_node = |hypothesis: &Arc<dyn fedgrid::model::Hypothesis>| {
        let LinearHypothesis { names, slopes, intercept } = hypothesis.downcast_ref().unwrap();
        assert!(names.len() == FEATURES && names[0] == "x0");
        [&slopes[..], &[*intercept]].concat()
    };
    fitted.hypotheses.iter().map(of_node).collect()
}

fn fitted(study: &Study, contestant: Contestant, alpha: f64, ridge: f64) -> Vec<Vec<f64>> {
    let strength = Strength { alpha, ridge: Some(ridge) };
    slopes(&study.fit_contestant(contestant, strength, &Unwatched).unwrap())
}

fn assert_close(a: &[Vec<f64>], b: &[Vec<f64>], tolerance: f64, what: &str) {
    let size = a.iter().flatten().fold(0.0, |size: f64, x| size.max(x.abs()));
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((a - b).abs() <= tolerance * size, "{what}: {a} {b}");
    }
}

#[test]
fn every_node_alone_has_the_shortest_weights_and_a_ridge_counts_the_same() {
    let study = study(Approach::FedRelax(FedRelax::default()), true);
    for ridge in [0.0, 1e-4, 0.3] {
        let model = Linear { ridge, intercept: true };
        let own = |data: &Dataset| {
            let fitted = model.fit(&data.clone().with_total_weight(1.0)).unwrap();
            let own: &LinearHypothesis = fitted.downcast_ref().unwrap();
            [&own.slopes[..], &[own.intercept]].concat()
        };
        let alone: Vec<Vec<f64>> = study.rows.iter().map(own).collect();
        assert_close(&fitted(&study, Contestant::Local, 0.0, ridge), &alone, 1e-9, "local");
    }
}

#[test]
fn a_network_is_solved_as_in_rounds_over_all_features() {
    for alpha in [0.05, 2.0] {
        let [direct, rounds] = [true, false].map(|is_direct| {
            let study = study(Approach::FedRelax(FedRelax::default()), is_direct);
            fitted(&study, Contestant::Network, alpha, 0.1)
        });
        assert_close(&direct, &rounds, 1e-7, "fedrelax");
    }
}

#[test]
fn the_gradient_of_total_variation_is_nothing_in_all_features() {
    let gtv = Gtv { penalty: Penalty::SquaredNorm, tolerance: 1e-12, ..Gtv::default() };
    let study = study(Approach::Gtv(gtv), true);
    let (alpha, ridge) = (0.7, 0.05);
    let weights = fitted(&study, Contestant::Network, alpha, ridge);
    for (node, (w, data)) in weights.iter().zip(&study.rows).enumerate() {
        let mut gradient: Vec<f64> = w.iter().map(|w| 2.0 * ridge * w).collect();
        gradient[FEATURES] = 0.0;
        for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
            let output = x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>() + w[FEATURES];
            let slope = 2.0 * (output - y) / ROWS as f64;
            gradient.iter_mut().zip(x.iter().chain([&1.0])).for_each(|(g, x)| *g += slope * x);
        }
        for &(other, weight) in study.network.neighbours(node) {
            let pairs = w.iter().zip(&weights[other]);
            gradient.iter_mut().zip(pairs).for_each(|(g, (a, b))| *g += alpha * weight * (a - b));
        }
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
    }
}

#[test]
fn rows_that_are_all_at_the_origin_are_fitted_by_their_level() {
    let mut study = study(Approach::FedRelax(FedRelax::default()), true);
    let names = study.rows[0].features().names().clone();
    let zeros = |rows: usize| Features::new(names.clone(), vec![0.0; rows * FEATURES]).unwrap();
    for data in &mut study.rows {
        *data = Dataset::new(zeros(ROWS), data.labels().clone()).unwrap();
    }
    let origin = Arc::new(zeros(5));
    study.public = vec![origin; NODES];
    let found = fitted(&study, Contestant::Local, 0.0, 0.1);
    for (own, data) in found.iter().zip(&study.rows) {
        let mean = data.labels().as_slice().iter().sum::<f64>() / ROWS as f64;
        assert!((own[FEATURES] - mean).abs() < 1e-12 && own[..FEATURES].iter().all(|w| *w == 0.0));
    }
}
