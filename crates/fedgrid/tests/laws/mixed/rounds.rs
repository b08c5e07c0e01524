//! A mixed model in rounds of messages: the estimate of one place, in the bits of any split.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features},
    error::Result,
    method::{
        Method, MixedRounds, Participant,
        mixed::{MixedKeys, MixedParticipant},
    },
    mixed::{Design, Likelihood, MixedEstimate, MixedModel, NodeMoments, Precision},
    model::Linear,
    network::{Network, Node, View},
    observe::Stop,
    runtime::{
        InProcess, Run,
        protocol::ProtocolSettings,
        simulator::{Faults, Simulation},
    },
};

use super::{
    assert_close,
    sample::{COLUMNS, Sample, network_of},
};
use crate::protocol::setting::{layouts, same_bits};

fn keys(likelihood: Likelihood, rho: Option<f64>) -> MixedKeys {
    MixedKeys { shared: Vec::new(), likelihood, rho, seed: 7 }
}

/// Rows that count once on average at every node.
fn weighed(sample: &Sample) -> Vec<Dataset> {
    let weigh = |data: Dataset| {
        let rows = data.rows() as f64;
        data.with_total_weight(rows)
    };
    sample.datasets().into_iter().map(weigh).collect()
}

fn views(network: &Network, rows: &[Dataset]) -> Vec<View> {
    let model = Arc::new(Linear::default());
    let public = Arc::new(Features::empty(rows[0].features().names().clone()));
    let node = |(id, data): (usize, &Dataset)| Node {
        id,
        data: data.clone(),
        model: model.clone(),
        public: public.clone(),
    };
    network.views(rows.iter().enumerate().map(node).collect()).unwrap()
}

/// All nodes at the end of their rounds, and how many they took.
fn ended(method: &MixedRounds, views: Vec<View>) -> Result<(Vec<MixedParticipant>, usize)> {
    let mut nodes = views.into_iter().map(|view| method.join(view)).collect::<Result<Vec<_>>>()?;
    let mut rounds = 0;
    while nodes[0].hypothesis().is_none() {
        let mut inboxes = vec![Vec::new(); nodes.len()];
        for (from, node) in nodes.iter_mut().enumerate() {
            node.send().into_iter().for_each(|(to, message)| inboxes[to].push((from, message)));
        }
        for (node, inbox) in nodes.iter_mut().zip(&inboxes) {
            node.receive(inbox)?;
        }
        rounds += 1;
    }
    Ok((nodes, rounds))
}

/// The estimate in one place, of these random columns.
fn in_one_place(
    network: &Network,
    rows: &[Dataset],
    keys: &MixedKeys,
    random: &[usize],
) -> (MixedEstimate, Design) {
    let design = Design::new(rows, true).unwrap();
    let nodes: Vec<NodeMoments> = rows.iter().map(|data| design.moments(data)).collect();
    let model = MixedModel {
        nodes: &nodes,
        columns: design.columns(),
        fixed: design.fixed(),
        random,
        variances: &[],
        free: 0,
        correlated: false,
        likelihood: keys.likelihood,
        precision: &Precision::along(network),
        rho: keys.rho,
        factor: None,
    };
    (model.fit().unwrap(), design)
}

/// Checks that nodes find variances, ρ, σ², β and coefficients of one place.
fn agree(sample: &Sample, keys: &MixedKeys, random: &[usize], tolerance: f64) {
    let (network, rows) = (&sample.network, weighed(sample));
    let (expected, design) = in_one_place(network, &rows, keys, random);
    let method = MixedRounds::new(network, keys.clone()).unwrap();
    let (nodes, rounds) = ended(&method, views(network, &rows)).unwrap();
    let what = format!("{keys:?}, rho {}, {rounds} rounds", expected.rho);
    let found = nodes[0].strengths().unwrap();
    let variances: Vec<f64> =
        expected.covariance.iter().step_by(random.len() + 1).copied().collect();
    assert_close(&[found.rho, found.noise], &[expected.rho, expected.noise], tolerance, &what);
    assert_close(&found.variances, &variances, tolerance, &what);
    assert_close(&found.mean, &expected.mean, tolerance, &what);
    for (node, own) in nodes.iter().zip(expected.coefficients.chunks_exact(design.columns())) {
        let names = ["x1", "x2"];
        let points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
        let told =
            node.hypothesis().unwrap().predict(&Features::from_rows(&names, &points).unwrap());
        let raw = design.to_raw(own);
        let level = raw[COLUMNS - 1];
        let predicted = [level, level + raw[0], level + raw[1]];
        assert_close(told.as_slice(), &predicted, tolerance, &what);
        assert_eq!(node.strengths().unwrap(), found);
    }
}

#[test]
fn nodes_that_talk_estimate_what_one_place_does() {
    // A node without rows, nodes with fewer rows than coefficients.
    let sample = Sample::new(&[7, 9, 0, 6, 12, 2, 8, 9, 11, 6, 7, 13]);
    for likelihood in [Likelihood::Restricted, Likelihood::Full] {
        for rho in [None, Some(0.0), Some(0.97)] {
            agree(&sample, &keys(likelihood, rho), &[0, 1, 2], 1e-6);
        }
    }
    let shared = MixedKeys { shared: vec!["x1".into()], ..keys(Likelihood::Restricted, None) };
    agree(&sample, &shared, &[0, 2], 1e-6);
}

#[test]
fn a_property_of_nodes_has_no_deviations_between_sites_either() {
    let mut sample = Sample::new(&[7, 9, 0, 6, 12, 2, 8, 9, 1, 6, 7, 13]);
    for (node, rows) in sample.rows.iter_mut().enumerate() {
        for (x, _, _) in rows.iter_mut() {
            x[2] = (1.7 * node as f64).sin();
        }
    }
    agree(&sample, &keys(Likelihood::Restricted, Some(0.6)), &[0, 1], 1e-6);
    // Where nodes have one row each, it cannot be told from what differs in a node.
    let mut single = Sample::new(&[1; 40]);
    single.rows.iter_mut().for_each(|rows| rows[0].0[2] *= 1.5);
    agree(&single, &keys(Likelihood::Restricted, Some(0.5)), &[0, 1, 2], 1e-6);
}

#[test]
fn drawn_probes_estimate_what_one_place_does_but_for_their_error() {
    let counts: Vec<usize> = (0..44).map(|node| 4 + node % 5).collect();
    let sample = Sample::new(&counts);
    agree(&sample, &keys(Likelihood::Restricted, Some(0.9)), &[0, 1, 2], 0.02);
}

/// A run in one process.
fn run(method: &MixedRounds, views: &[View]) -> Run {
    let stop = Stop::when_all_have_ended();
    InProcess { stop, ..InProcess::default() }.run(method, views.to_vec()).unwrap()
}

#[test]
fn the_bits_are_those_of_one_process_whatever_is_lost_and_however_many_threads_there_are() {
    let sample = Sample::new(&[7, 9, 0, 6, 12, 8]);
    let (network, views) = (&sample.network, views(&sample.network, &weighed(&sample)));
    let method = MixedRounds::new(network, keys(Likelihood::Full, Some(0.4))).unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&method, &views))
    };
    let one = on(1);
    assert!(one.converged && same_bits(&one, &on(8).hypotheses));
    let stop = Stop::when_all_have_ended();
    for (place, layout) in layouts(network).iter().enumerate() {
        let settings = ProtocolSettings {
            stop,
            check_every: 7,
            checkpoint_every: 1 + 2 * place as u64,
            ..ProtocolSettings::default()
        };
        let faults = Faults {
            loss: 0.05,
            duplicate: 0.05,
            delay: 2,
            crash: 0.01,
            zombie: 0.3,
            hostile: 0.05,
            until: 400,
            ..Faults::default()
        };
        let simulation = Simulation {
            faults: &faults,
            deadline: 100_000,
            ..Simulation::new(&method, &views, layout).with_settings(settings)
        };
        let outcome = simulation.run(place as u64).unwrap();
        assert_eq!(outcome.violations, [], "layout {place}");
        assert!(outcome.converged && same_bits(&one, &outcome.hypotheses), "layout {place}");
        assert!(outcome.counts.crashes > 0, "nothing was restored in layout {place}");
    }
}

#[test]
fn what_cannot_be_estimated_together_is_refused() {
    let apart = network_of(4, [(0, 1, 1.0), (2, 3, 1.0)].into_iter());
    let refused = MixedRounds::new(&apart, keys(Likelihood::Full, None)).unwrap_err();
    assert!(refused.to_string().contains("every node is joined to every other"), "{refused}");
    let sample = Sample::new(&[1, 0, 1, 0]);
    let method = MixedRounds::new(&sample.network, keys(Likelihood::Restricted, None)).unwrap();
    let failed = ended(&method, views(&sample.network, &weighed(&sample))).unwrap_err().to_string();
    assert!(failed.contains("no more training rows than coefficients"), "{failed}");
    let named = MixedKeys { shared: vec!["x9".into()], ..keys(Likelihood::Restricted, None) };
    let sample = Sample::new(&[6, 6, 6, 6]);
    let method = MixedRounds::new(&sample.network, named).unwrap();
    let failed = ended(&method, views(&sample.network, &weighed(&sample))).unwrap_err().to_string();
    assert!(failed.contains("method.shared names 'x9'"), "{failed}");
}
