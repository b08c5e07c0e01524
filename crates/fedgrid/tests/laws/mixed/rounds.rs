//! A mixed model in rounds of messages: the estimate of one place, in the bits of any split.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features},
    error::Result,
    method::{
        Method, MixedRounds, Participant,
        mixed::{FrontSizes, MixedKeys, MixedParticipant},
    },
    mixed::{Design, Likelihood, MixedEstimate, MixedModel, NodeMoments, Precision},
    model::Linear,
    network::{Network, Node, View, path, random_regular},
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
    let (shared, free, variances) = (Vec::new(), Vec::new(), Vec::new());
    MixedKeys { shared, free, variances, likelihood, rho, seed: 7 }
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
pub(super) fn ended(
    method: &MixedRounds,
    views: Vec<View>,
) -> Result<(Vec<MixedParticipant>, usize)> {
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
    // In the units of scaled columns.
    let variance = |column: &usize| {
        let name = ["intercept", "x1", "x2"][*column];
        let (_, given) = keys.variances.iter().find(|(given, _)| given == name)?;
        let scale = column.checked_sub(1).map_or(1.0, |feature| design.feature_scale(feature));
        Some(given * scale * scale / design.label_variance())
    };
    let variances: Vec<Option<f64>> = random.iter().map(variance).collect();
    let model = MixedModel {
        nodes: &nodes,
        columns: design.columns(),
        fixed: design.fixed(),
        random,
        variances: &variances,
        free: keys.free.len(),
        correlated: false,
        likelihood: keys.likelihood,
        precision: &Precision::along(network),
        rho: keys.rho,
        factor: None,
    };
    (model.fit().unwrap(), design)
}

/// Checks that nodes find variances, ρ, σ², β and coefficients of one place, and says how many rounds they take.
fn agree(sample: &Sample, keys: &MixedKeys, random: &[usize], tolerance: f64) -> usize {
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
    // At the best mean coefficients nodes deviate from them by nothing on average.
    for k in 0..random.len() - keys.free.len() {
        let own: Vec<f64> = expected.modes.iter().skip(k).step_by(random.len()).copied().collect();
        let size = own.iter().map(|b| b.abs()).sum::<f64>();
        assert!(own.iter().sum::<f64>().abs() <= 1e-12 * size, "{what}");
    }
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
    rounds
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
fn own_coefficients_and_given_variances_are_those_of_one_place() {
    let sample = Sample::new(&[12, 5, 0, 10, 14, 8, 11, 3, 13, 9, 12, 10]);
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let given = |variances: &[(&str, f64)]| {
        variances.iter().map(|(name, variance)| (name.to_string(), *variance)).collect::<Vec<_>>()
    };
    for rho in [None, Some(0.8)] {
        let plain = keys(Likelihood::Restricted, rho);
        let free = MixedKeys { free: named(&["x1"]), ..plain.clone() };
        agree(&sample, &free, &[0, 2, 1], 1e-6);
        let variances = given(&[("x1", 0.7), ("intercept", 1.5)]);
        agree(&sample, &MixedKeys { variances, ..plain.clone() }, &[0, 1, 2], 1e-6);
        let variances = given(&[("x2", 0.4)]);
        let both = MixedKeys { variances, likelihood: Likelihood::Full, ..free };
        agree(&sample, &both, &[0, 2, 1], 1e-6);
    }
    // Own coefficients use up all rows.
    let sample = Sample::new(&[1, 1, 1, 2]);
    let free = MixedKeys { free: named(&["x1", "x2"]), ..keys(Likelihood::Restricted, Some(0.0)) };
    let method = MixedRounds::new(&sample.network, free).unwrap();
    let failed = ended(&method, views(&sample.network, &weighed(&sample))).unwrap_err().to_string();
    assert!(failed.contains("no more training rows than coefficients"), "{failed}");
}

#[test]
fn rounds_are_few_also_where_rho_runs_to_its_limit_and_a_variance_to_zero() {
    let mut sample = Sample::new(&[8; 6]);
    sample.network = path(6).unwrap();
    // Levels that grow along the path, and slopes that do not differ.
    for (node, rows) in sample.rows.iter_mut().enumerate() {
        for (place, (x, y, _)) in rows.iter_mut().enumerate() {
            let noise = 0.1 * (7.0 * (8 * node + place) as f64).sin();
            *y = 1.0 + 0.5 * node as f64 + x[1] - 0.5 * x[2] + noise;
        }
    }
    let keys = keys(Likelihood::Restricted, None);
    let (expected, _) = in_one_place(&sample.network, &weighed(&sample), &keys, &[0, 1, 2]);
    assert!(1.0 - expected.rho < 1e-6, "{}", expected.rho);
    let least = expected.covariance.iter().step_by(COLUMNS + 1).fold(f64::MAX, |a, b| a.min(*b));
    assert!(least < 1e-12, "{least}");
    let rounds = agree(&sample, &keys, &[0, 1, 2], 1e-6);
    assert!(rounds < 2000, "{rounds}");
}

#[test]
fn drawn_probes_estimate_what_one_place_does_but_for_their_error() {
    // Fronts of such a network are too large to be told.
    let network = random_regular(160, 24, 1).unwrap();
    assert!(!FrontSizes::along(&network).unwrap().are_eliminated(COLUMNS));
    let counts: Vec<usize> = (0..160).map(|node| 4 + node % 5).collect();
    let sample = Sample { network, ..Sample::new(&counts) };
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
