//! The comparison: what every contestant must be equal to, and verdicts where the truth is known.

use std::sync::Arc;

use fedgrid::{
    compare::{Card, Contestant, Kind, Settings, Strength, Study, Unwatched, Verdict, Weighting},
    data::{Dataset, Features, Plan, Role, normal_points},
    method::{Coupling, FedRelax},
    model::{Linear, LocalModel, Tree},
    network::{Clustered, Network},
    random::{Purpose, Stream},
};

/// Ten rows at each of 60 nodes in three clusters with different true weights.
fn clustered(between: f64, noise: f64) -> Study {
    let made = Clustered { clusters: 3, nodes: 20, inside: 0.4, between, seed: 3 };
    let (network, _) = made.make().unwrap();
    let rows = made.linear_data(4, 40, noise).unwrap().data;
    study(network, rows, Arc::new(Linear { ridge: 0.0, intercept: false }))
}

fn study(network: Network, rows: Vec<Dataset>, model: Arc<dyn LocalModel>) -> Study {
    let role = |row: usize| match row {
        0..3 => Role::Train,
        3..10 => Role::Validation,
        _ => Role::Test,
    };
    let roles: Vec<Vec<Role>> =
        rows.iter().map(|data| (0..data.rows()).map(role).collect()).collect();
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let public = Arc::new(normal_points(rows[0].features(), 30, &mut stream).unwrap());
    Study {
        models: vec![model; rows.len()],
        public: (0..rows.len()).map(|_| public.clone()).collect(),
        plan: Plan::new(&roles, 5, 1),
        settings: Settings { shuffles: 2, ..Settings::default() },
        network,
        rows,
    }
}

fn cards(study: &Study) -> Vec<Card> {
    study.contestants().into_iter().map(|c| study.card(c, &Unwatched).unwrap()).collect()
}

fn verdict(study: &Study) -> Verdict {
    Verdict::of(&cards(study)).unwrap()
}

#[test]
fn a_network_that_follows_the_clusters_helps() {
    let verdict = verdict(&clustered(0.01, 0.5));
    assert_eq!(verdict.kind, Kind::Network, "{verdict:?}");
    assert!(verdict.better > 50);
}

#[test]
fn where_all_nodes_are_alike_pooled_is_best_and_no_gain_is_claimed() {
    let mut study = clustered(0.01, 0.5);
    let alike = Clustered { clusters: 1, nodes: 60, inside: 0.2, between: 0.0, seed: 3 };
    study.rows = alike.linear_data(4, 40, 0.5).unwrap().data;
    let verdict = verdict(&study);
    assert_eq!(verdict.kind, Kind::Pooled, "{verdict:?}");
    assert!(!verdict.helps());
}

#[test]
fn a_network_of_chance_edges_does_not_help() {
    let study = clustered(0.4, 0.5);
    let verdict = verdict(&study);
    assert!(!verdict.helps(), "{verdict:?}");
}

#[test]
fn the_same_study_gives_the_same_cards_on_any_number_of_threads() {
    let study = clustered(0.01, 0.5);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| cards(&study))
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(8));
}

#[test]
fn rounds_and_the_direct_solution_give_the_same_errors() {
    let method = |method| Settings { method, ..Settings::default() };
    let settings = [
        Settings::default(),
        method(FedRelax { couple_intercept: false, ..FedRelax::default() }),
        method(FedRelax { hub: 0.5, ..FedRelax::default() }),
        method(FedRelax { coupling: Coupling::Symmetric, ..FedRelax::default() }),
        Settings { weighting: Weighting::Rows, ..Settings::default() },
    ];
    for settings in settings {
        let mut study = clustered(0.01, 0.5);
        let model: Arc<dyn LocalModel> = Arc::new(Linear::default());
        study.models = vec![model; study.rows.len()];
        study.settings = settings;
        study.settings.runtime.stop.tolerance = 1e-12;
        study.settings.runtime.stop.rounds = 5000;
        let strength = Strength { alpha: 0.02, ridge: Some(0.01) };
        let direct = study.fit(strength, &Unwatched).unwrap();
        study.settings.direct = false;
        let rounds = study.fit(strength, &Unwatched).unwrap();
        assert!(direct.direct && !rounds.direct && rounds.certificate.converged);
        let error = |fitted: &fedgrid::compare::Fitted| {
            study.score(&fitted.hypotheses, &study.plan.test).iter().map(|s| s.loss).sum::<f64>()
        };
        let (direct, rounds) = (error(&direct), error(&rounds));
        assert!((direct - rounds).abs() < 1e-7 * direct, "{direct} {rounds}");
    }
}

#[test]
fn shrunk_is_the_same_in_rounds_and_directly() {
    let mut study = clustered(0.01, 0.5);
    study.settings.tune_ridge = false;
    let direct = study.card(Contestant::Shrunk, &Unwatched).unwrap();
    study.settings.direct = false;
    let rounds = study.card(Contestant::Shrunk, &Unwatched).unwrap();
    assert!((direct.test.unwrap() - rounds.test.unwrap()).abs() < 1e-6);
}

#[test]
fn with_no_pull_network_and_local_have_the_same_errors_at_every_node() {
    let mut study = clustered(0.01, 0.5);
    study.models = (0..60)
        .map(|node| -> Arc<dyn LocalModel> {
            if node % 2 == 0 { Arc::new(Linear::default()) } else { Arc::new(Tree::default()) }
        })
        .collect();
    study.settings.alpha = Some(0.0);
    study.settings.tune_ridge = false;
    let local = study.card(Contestant::Local, &Unwatched).unwrap();
    let network = study.card(Contestant::Network, &Unwatched).unwrap();
    assert_eq!(local.nodes, network.nodes);
}

#[test]
fn nodes_that_nothing_reaches_fall_back_to_pooled_and_are_named() {
    let mut study = clustered(0.0, 0.5);
    for node in 40..60 {
        study.plan.train[node].clear();
        study.plan.folds[0].train[node].clear();
    }
    assert_eq!(study.without_data(), (40..60).collect::<Vec<_>>());
    let strength = Strength { alpha: 0.1, ridge: None };
    let fitted = study.fit(strength, &Unwatched).unwrap();
    let predict = |node: usize| fitted.hypotheses[node].predict(&study.public[0]);
    assert_eq!(predict(40), predict(59));
    assert_ne!(predict(0), predict(40));
}

#[test]
fn without_validation_rows_folds_take_turns_and_without_test_rows_they_judge() {
    let mut study = clustered(0.01, 0.5);
    let roles: Vec<Vec<Role>> =
        study.rows.iter().map(|data| vec![Role::Train; data.rows().min(6)]).collect();
    study.rows = study.rows.iter().map(|data| data.select(&[0, 1, 2, 3, 4, 5])).collect();
    study.plan = Plan::new(&roles, 3, 1);
    let cards = cards(&study);
    assert!(cards.iter().all(|card| card.test.is_none()));
    assert!(cards.iter().all(|card| card.nodes.iter().map(|n| n.rows).sum::<usize>() == 360));
    assert_eq!(Verdict::of(&cards).unwrap().kind, Kind::Network);
}

#[test]
fn a_study_without_training_rows_is_refused() {
    let mut study = clustered(0.01, 0.5);
    study.plan.train.iter_mut().for_each(Vec::clear);
    assert!(study.card(Contestant::Local, &Unwatched).is_err());
    let empty = Features::from_rows(&["x"], &[]).unwrap();
    assert!(normal_points(&empty, 3, &mut Stream::new(1, 0, 0, Purpose::Public)).is_err());
}
