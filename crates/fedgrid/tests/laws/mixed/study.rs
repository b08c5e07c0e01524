//! Mixed models of a study: the units of its table, the order of its nodes.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{
    compare::{
        Approach, Choose, Correlated, Mixed, NetworkEvidence, Settings, Strength, Study, Unwatched,
    },
    data::{Dataset, Features, Labels, Plan, Role, RowDraws},
    mixed::Likelihood,
    model::{Linear, LocalModel, Scales},
    network::{Edge, Network},
    uncertainty::{Posterior, Response, VarianceSource},
};
use serde_json::Value;

use super::assert_close;

const STRENGTH: Strength = Strength { alpha: 0.0, ridge: None };

/// The rows of lme4's sleepstudy, all of which train, along a ring or without edges.
fn sleep(keys: Mixed, has_edges: bool) -> Study {
    let all: Value = serde_json::from_str(include_str!("reference.json")).unwrap();
    let set = &all["sets"]["sleepstudy"];
    let numbers = |value: &Value| value.as_array().unwrap().clone();
    let mut rows = vec![(Vec::new(), Vec::new()); 18];
    let [nodes, features, labels] = ["node", "features", "labels"].map(|key| numbers(&set[key]));
    for ((node, x), y) in nodes.iter().zip(&features).zip(&labels) {
        let own: &mut (Vec<f64>, Vec<f64>) =
            &mut rows[usize::try_from(node.as_u64().unwrap()).unwrap()];
        own.0.push(x[1].as_f64().unwrap());
        own.1.push(y.as_f64().unwrap());
    }
    let names: Arc<[String]> = ["days".to_string()].into();
    let data = |(x, y): (Vec<f64>, Vec<f64>)| {
        Dataset::new(Features::new(names.clone(), x).unwrap(), Labels::values(y)).unwrap()
    };
    let rows: Vec<Dataset> = rows.into_iter().map(data).collect();
    let edges = (0..18).filter(|_| has_edges).map(|node| Edge {
        source: node,
        target: (node + 1) % 18,
        weight: 1.0,
    });
    let network = Network::new((0..18).map(|node| format!("n{node:02}")).collect(), edges).unwrap();
    let roles = vec![vec![Role::Train; 10]; 18];
    let plan = Plan::new(&roles, 2, &RowDraws { names: network.names(), rows: &rows, seed: 1 });
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: true });
    let public = Arc::new(rows[0].features().clone());
    let settings =
        Settings { method: Approach::Mixed(keys), likelihood_shuffles: 9, ..Settings::default() };
    Study {
        network,
        models: vec![model; 18],
        public: vec![public; 18],
        plan,
        scales: None,
        settings,
        rows,
    }
}

/// The same with models that are trained in units of their own.
fn scaled(study: &Study) -> Study {
    let training = study.plan.training_rows(&study.rows);
    let scales = Scales::of(study.network.names(), &training, &study.models).unwrap().unwrap();
    let rows = study.rows.iter().map(|data| scales.rows(data).unwrap()).collect();
    Study { rows, scales: Some(scales), ..study.clone() }
}

fn posterior(study: &Study) -> Posterior {
    study.posterior(&study.fit(STRENGTH, &Unwatched).unwrap()).unwrap()
}

#[test]
fn likelihood_and_variances_are_those_of_lmer_in_any_units() {
    // lmer(reaction ~ days + (days | subject)): the variance of the level is that at 4.5 days.
    let level = 612.089_938_61 + 2.0 * 4.5 * 9.604_333_345_5 + 4.5 * 4.5 * 35.071_660_479;
    let reml = (Likelihood::Restricted, 1_743.628_272, [35.071_660_479, level], 654.941_027_11);
    let level = 565.515_366_76 + 2.0 * 4.5 * 11.055_429_051 + 4.5 * 4.5 * 32.682_197_17;
    let ml = (Likelihood::Full, 1_751.939_344_5, [32.682_197_17, level], 654.941_027_11);
    for (likelihood, deviance, variances, noise) in [reml, ml] {
        let keys = Mixed { correlated: Correlated::Yes, likelihood, ..Mixed::default() };
        let plain = sleep(keys, false);
        for study in [scaled(&plain), plain] {
            let found = posterior(&study);
            assert_close(&[found.deviance], &[deviance], 1e-9, "deviance");
            let spreads = found.predictors[0].spreads();
            let own: Vec<f64> = spreads.iter().map(|spread| spread.variance.unwrap()).collect();
            assert_close(&own, &variances, 1e-5, "variances");
            let Response::Normal(found) = found.predictive.response else { panic!("numbers") };
            assert_close(&[found], &[noise], 1e-5, "noise");
        }
    }
}

#[test]
fn both_likelihoods_of_a_choice_are_those_of_lmer() {
    let found = posterior(&scaled(&sleep(Mixed::default(), false)));
    // lmer(reaction ~ days + (1 | subject) + (0 + I(days − 4.5) | subject)) has one number less.
    let choice = found.covariances.unwrap();
    assert_close(&[choice.with], &[1_743.628_272], 1e-9, "with covariances");
    let plain = Mixed { correlated: Correlated::No, ..Mixed::default() };
    let plain = posterior(&sleep(plain, false)).deviance;
    assert_close(&[choice.without], &[plain], 1e-9, "without covariances");
    assert!(choice.covariances == 1 && choice.taken == (choice.with + 2.0 < choice.without));
}

#[test]
fn given_variances_and_free_coefficients_do_not_depend_on_the_units_of_models() {
    let given = Mixed { variances: BTreeMap::from([("days".into(), 50.0)]), ..Mixed::default() };
    let free = Mixed { free: vec!["days".into()], ..Mixed::default() };
    for (keys, source) in [(given, VarianceSource::Given), (free, VarianceSource::Free)] {
        for has_edges in [false, true] {
            let plain = sleep(keys.clone(), has_edges);
            let (a, b) = (posterior(&plain), posterior(&scaled(&plain)));
            let spreads = |found: &Posterior| found.predictors[0].spreads();
            for (a, b) in spreads(&a).iter().zip(&spreads(&b)) {
                assert_close(&[a.mean, a.deviation], &[b.mean, b.deviation], 1e-6, "spread");
                let own = |variance: Option<f64>| variance.unwrap_or(-1.0);
                assert_close(&[own(a.variance)], &[own(b.variance)], 1e-5, "variance");
            }
            assert_eq!(spreads(&b)[0].source, source);
            assert_close(&[a.deviance], &[b.deviance], 1e-7, "deviance");
            if source == VarianceSource::Given {
                assert_close(&[spreads(&b)[0].variance.unwrap()], &[50.0], 1e-9, "as given");
            }
        }
    }
}

#[test]
fn evidence_depends_neither_on_units_nor_on_the_order_of_nodes() {
    let plain = sleep(Mixed::default(), true);
    let expected = plain.network_evidence().unwrap().unwrap();
    assert_eq!(expected.shuffled.len(), 9);
    let order: Vec<usize> = (0..18).rev().collect();
    let mut turned = plain.clone();
    turned.network = plain.network.ordered(&order);
    turned.rows.reverse();
    let check = |found: &NetworkEvidence| {
        let numbers = |found: &NetworkEvidence| {
            let mut all = vec![found.without, found.with, found.p_value.unwrap()];
            all.extend(&found.shuffled);
            all
        };
        for (a, b) in numbers(found).iter().zip(&numbers(&expected)) {
            assert!((a - b).abs() < 1e-5, "{found:?} {expected:?}");
        }
    };
    for study in [scaled(&plain), turned] {
        check(&study.network_evidence().unwrap().unwrap());
    }
    // What chooses ρ in the comparison has no part in it.
    let Approach::Mixed(keys) = plain.settings.method.clone() else { panic!("mixed") };
    let method = Approach::Mixed(Mixed { choose: Choose::Validation, ..keys });
    let chosen = Study { settings: Settings { method, ..plain.settings.clone() }, ..plain.clone() };
    check(&chosen.network_evidence().unwrap().unwrap());
    let none = Settings { likelihood_shuffles: 0, ..plain.settings.clone() };
    assert_eq!(Study { settings: none, ..plain }.network_evidence().unwrap(), None);
}

#[test]
fn shuffles_of_a_complete_network_are_no_evidence() {
    let mut study = sleep(Mixed::default(), false);
    let pairs = (0..18).flat_map(|a| (0..a).map(move |b| (a, b)));
    let edges = pairs.map(|(source, target)| Edge { source, target, weight: 1.0 });
    study.network = Network::new(study.network.names().to_vec(), edges).unwrap();
    assert_eq!(study.network_evidence().unwrap().unwrap().p_value, Some(1.0));
}
