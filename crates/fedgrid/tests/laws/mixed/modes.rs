//! Classes and counts in rounds of messages: Laplace's approximation as in one place.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels},
    error::Result,
    method::{MixedRounds, mixed::MixedKeys},
    mixed::{Design, Family, LaplaceModel, Likelihood, MixedEstimate, Precision},
    model::{LocalModel, Logistic, Poisson},
    network::{Network, Node, View},
    observe::Stop,
    runtime::{
        InProcess,
        protocol::ProtocolSettings,
        simulator::{Faults, Simulation},
    },
};

use super::{
    assert_close, diagonals,
    rounds::ended,
    sample::{COLUMNS, Sample},
};
use crate::protocol::setting::{layouts, same_bits};

const NAMES: [&str; COLUMNS] = ["intercept", "x1", "x2"];

/// Counts, two classes and three classes of a sample, whose rows all count once.
fn labelled(sample: &Sample) -> [(Family, Arc<dyn LocalModel>, Vec<Dataset>); 3] {
    let with = |label: &dyn Fn(&[f64]) -> Labels| -> Vec<Dataset> {
        let make = |data: Dataset| {
            let labels = label(data.labels().as_slice());
            Dataset::new(data.features().clone(), labels).unwrap()
        };
        let all = sample.datasets().into_iter().map(make);
        all.map(|data| {
            let rows = data.rows() as f64;
            data.with_total_weight(rows)
        })
        .collect()
    };
    let counts = |y: &[f64]| Labels::values(y.iter().map(|y| y.abs().round()).collect());
    let classes = |ends: &[f64], y: &[f64]| {
        let class = |y: &f64| ends.iter().filter(|end| *y > **end).count();
        let found: Vec<usize> = y.iter().map(class).collect();
        Labels::classes(ends.len() + 1, &found).unwrap()
    };
    [
        (Family::Counts, Arc::new(Poisson::default()), with(&counts)),
        (Family::Classes(2), Arc::new(Logistic::default()), with(&|y| classes(&[2.0], y))),
        (Family::Classes(3), Arc::new(Logistic::default()), with(&|y| classes(&[1.0, 2.5], y))),
    ]
}

fn views(network: &Network, model: &Arc<dyn LocalModel>, rows: &[Dataset]) -> Vec<View> {
    let public = Arc::new(Features::empty(rows[0].features().names().clone()));
    let node = |(id, data): (usize, &Dataset)| Node {
        id,
        data: data.clone(),
        model: model.clone(),
        public: public.clone(),
    };
    network.views(rows.iter().enumerate().map(node).collect()).unwrap()
}

fn keys(rho: Option<f64>) -> MixedKeys {
    let (shared, free, variances) = (Vec::new(), Vec::new(), Vec::new());
    let likelihood = Likelihood::Full;
    MixedKeys { shared, free, variances, likelihood, rho, seed: 7 }
}

/// The estimate in one place, of these random columns of each linear predictor.
fn in_one_place(
    network: &Network,
    (family, rows): (Family, &[Dataset]),
    keys: &MixedKeys,
    random: &[usize],
) -> Result<(MixedEstimate, Design)> {
    let design = Design::new(rows, false).unwrap();
    let nodes: Vec<_> = rows.iter().map(|data| design.rows(data, family)).collect();
    let (outputs, free) = (family.outputs(), keys.free.len());
    let of_each = |places: &[usize]| -> Vec<usize> {
        (0..outputs).flat_map(|o| places.iter().map(move |k| o * COLUMNS + k)).collect()
    };
    let (pooled, own) = random.split_at(random.len() - free);
    let places = [of_each(pooled), of_each(own)].concat();
    let variance = |column: &usize| {
        let name = NAMES[column % COLUMNS];
        let (_, given) = keys.variances.iter().find(|(given, _)| given == name)?;
        let scale = (column % COLUMNS).checked_sub(1).map_or(1.0, |k| design.feature_scale(k));
        Some(given * scale * scale)
    };
    let variances: Vec<Option<f64>> = places.iter().map(variance).collect();
    let model = LaplaceModel {
        nodes: &nodes,
        columns: COLUMNS * outputs,
        fixed: &of_each(&[0, 1, 2]),
        random: &places,
        variances: &variances,
        free: free * outputs,
        correlated: false,
        precision: &Precision::along(network),
        rho: keys.rho,
    };
    Ok((model.fit()?, design))
}

/// Checks that nodes find variances, ρ, β and predictions of one place.
fn agree(sample: &Sample, place: usize, keys: &MixedKeys, random: &[usize]) {
    let network = &sample.network;
    let (family, model, rows) = &labelled(sample)[place];
    let (expected, design) = in_one_place(network, (*family, rows), keys, random).unwrap();
    let method = MixedRounds::new(network, keys.clone()).unwrap();
    let (nodes, rounds) = ended(&method, views(network, model, rows)).unwrap();
    let what = format!("{family:?}, {keys:?}, rho {}, {rounds} rounds", expected.rho);
    let found = nodes[0].strengths().unwrap();
    let size = random.len() * family.outputs();
    assert_close(&[found.rho, 1.0], &[expected.rho, 1.0], 1e-6, &what);
    assert_close(&found.variances, &diagonals(&expected.covariance, size), 1e-6, &what);
    assert_close(&found.mean, &expected.mean, 1e-6, &what);
    let d = COLUMNS * family.outputs();
    for (node, own) in nodes.iter().zip(expected.coefficients.chunks_exact(d)) {
        let points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
        let points = Features::from_rows(&["x1", "x2"], &points).unwrap();
        let told = fedgrid::method::Participant::hypothesis(node).unwrap().predict(&points);
        let raw: Vec<Vec<f64>> = own.chunks_exact(COLUMNS).map(|own| design.to_raw(own)).collect();
        let predicted: Vec<f64> = points.iter().flat_map(|x| predicted(*family, &raw, x)).collect();
        assert_close(told.as_slice(), &predicted, 1e-6, &what);
    }
}

/// What raw coefficients of every linear predictor predict.
fn predicted(family: Family, raw: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    let predictor = |w: &Vec<f64>| w[0] * x[0] + w[1] * x[1] + w[2];
    match family {
        Family::Counts => vec![predictor(&raw[0]).exp()],
        Family::Classes(_) => {
            let odds: Vec<f64> =
                [1.0].into_iter().chain(raw.iter().map(|w| predictor(w).exp())).collect();
            let total: f64 = odds.iter().sum();
            odds.iter().map(|share| share / total).collect()
        }
    }
}

#[test]
fn nodes_that_talk_estimate_classes_and_counts_as_one_place_does() {
    let sample = Sample::new(&[20, 25, 0, 22, 27, 3, 24, 21]);
    for place in 0..3 {
        agree(&sample, place, &keys(Some(0.7)), &[0, 1, 2]);
    }
    agree(&sample, 0, &keys(None), &[0, 1, 2]);
    agree(&sample, 1, &keys(None), &[0, 1, 2]);
}

#[test]
fn classes_that_features_tell_apart_have_no_mixed_model_and_nodes_that_talk_say_so_too() {
    let sample = Sample::new(&[20, 25, 0, 22, 27, 3, 24, 21]);
    let (family, model, rows) = &labelled(&sample)[1];
    let told_apart = |data: &Dataset| {
        let classes: Vec<usize> =
            data.features().iter().map(|x| usize::from(x[0] + x[1] > 0.1)).collect();
        let labels = Labels::classes(2, &classes).unwrap();
        let count = data.rows() as f64;
        Dataset::new(data.features().clone(), labels).unwrap().with_total_weight(count)
    };
    let apart: Vec<Dataset> = rows.iter().map(told_apart).collect();
    let keys = keys(Some(0.7));
    let expected = in_one_place(&sample.network, (*family, &apart), &keys, &[0, 1, 2])
        .unwrap_err()
        .to_string();
    assert!(expected.contains("tell the classes of all training rows apart"), "{expected}");
    let method = MixedRounds::new(&sample.network, keys).unwrap();
    let told = ended(&method, views(&sample.network, model, &apart)).unwrap_err().to_string();
    assert_eq!(told, expected);
}

#[test]
fn own_coefficients_and_given_variances_of_classes_and_counts_are_those_of_one_place() {
    let sample = Sample::new(&[30, 28, 0, 35, 31, 29, 26, 33]);
    for place in 0..2 {
        let free = MixedKeys { free: vec!["x1".into()], ..keys(Some(0.5)) };
        agree(&sample, place, &free, &[0, 2, 1]);
        let given = MixedKeys { variances: vec![("x2".into(), 0.2)], ..keys(Some(0.5)) };
        agree(&sample, place, &given, &[0, 1, 2]);
    }
}

#[test]
fn the_bits_of_classes_are_those_of_one_process_whatever_is_lost() {
    let sample = Sample::new(&[9, 12, 0, 10, 12, 11]);
    let (_, model, rows) = &labelled(&sample)[1];
    let views = views(&sample.network, model, rows);
    let keys = MixedKeys { shared: vec!["x2".into()], ..keys(Some(0.4)) };
    let method = MixedRounds::new(&sample.network, keys).unwrap();
    let stop = Stop::when_all_have_ended();
    let one = InProcess { stop, ..InProcess::default() }.run(&method, views.clone()).unwrap();
    assert!(one.converged);
    let layout = layouts(&sample.network).remove(1);
    let settings = ProtocolSettings {
        stop,
        check_every: 7,
        checkpoint_every: 3,
        ..ProtocolSettings::default()
    };
    let faults = Faults { loss: 0.05, delay: 2, crash: 0.01, until: 600, ..Faults::default() };
    let simulation = Simulation {
        faults: &faults,
        deadline: 100_000,
        ..Simulation::new(&method, &views, &layout).with_settings(settings)
    };
    let outcome = simulation.run(3).unwrap();
    assert_eq!(outcome.violations, []);
    assert!(outcome.converged && same_bits(&one, &outcome.hypotheses));
    assert!(outcome.counts.crashes > 0, "nothing was restored");
}
