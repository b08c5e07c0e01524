//! The comparison: what every contestant must be equal to, and verdicts where the truth is known.

use std::sync::Arc;

use fedgrid::{
    Error,
    compare::{
        Approach, Card, Contestant, Fitted, Gtv, Kind, Settings, Strength, Study, Unwatched,
        Verdict, Weighting,
    },
    data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task, normal_points},
    method::{FedRelax, StopOn, fedrelax::Coupling},
    metric::{Measures, Metric},
    model::{
        Boosting, ElasticNet, Forest, Huber, Linear, LocalModel, Logistic, Perceptron, Poisson,
        Quantile, Tree,
    },
    network::{Clustered, Network},
    penalty::Penalty,
    random::{Purpose, Stream},
};

/// Ten rows at each of 60 nodes in three clusters with different true weights.
pub(crate) fn clustered(between: f64, noise: f64) -> Study {
    let made = Clustered { clusters: 3, nodes: 20, inside: 0.4, between, seed: 3 };
    let (network, _) = made.make().unwrap();
    let rows = made.linear_data(4, 40, noise).unwrap().data;
    study(network, rows, Arc::new(Linear { ridge: 0.0, intercept: false }))
}

pub(crate) fn study(network: Network, rows: Vec<Dataset>, model: Arc<dyn LocalModel>) -> Study {
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
        plan: Plan::new(&roles, 5, &RowDraws { names: network.names(), rows: &rows, seed: 1 }),
        scales: None,
        settings: Settings { shuffles: 2, ..Settings::default() },
        network,
        rows,
    }
}

fn cards(study: &Study) -> Vec<Card> {
    study.contestants().into_iter().map(|c| study.card(c, &Unwatched).unwrap()).collect()
}

fn verdict(study: &Study) -> Verdict {
    Verdict::of(&cards(study), study.main(), &study.network).unwrap()
}

#[test]
fn a_shuffle_that_is_sought_near_the_networks_strength_is_as_good_as_one_sought_everywhere() {
    for study in [clustered(0.01, 0.5), clustered(0.2, 2.0)] {
        let mut known = vec![study.card(Contestant::Network, &Unwatched).unwrap()];
        let (mut tried_near, mut tried_everywhere) = (0, 0);
        for number in 0..study.settings.shuffles {
            let contestant = Contestant::Shuffled(number);
            let everywhere = study.card(contestant, &Unwatched).unwrap();
            let near = study.completed(contestant, &known, &Unwatched).unwrap();
            tried_near += near.path.len();
            tried_everywhere += everywhere.path.len();
            assert!(near.validation <= 1.005 * everywhere.validation, "{near:?} {everywhere:?}");
            known.push(near);
        }
        assert!(tried_near < tried_everywhere, "{tried_near} {tried_everywhere}");
    }
}

#[test]
fn a_forest_is_tuned_by_its_first_trees_and_scored_by_all_of_them() {
    let with_trees = |trees: usize, alpha: Option<f64>| {
        let mut study = clustered(0.01, 0.5);
        let forest: Arc<dyn LocalModel> = Arc::new(Forest { trees, ..Forest::default() });
        study.models = vec![forest; study.rows.len()];
        study.settings.alpha = alpha;
        study.card(Contestant::Network, &Unwatched).unwrap()
    };
    let (few, many) = (with_trees(25, None), with_trees(40, None));
    assert_eq!(few.path, many.path);
    assert_eq!(few.strength, many.strength);
    // A strength that is given takes no search, so that all trees are all that there is.
    let given = with_trees(40, Some(many.strength.alpha));
    assert_eq!(given.validation.to_bits(), many.validation.to_bits());
    assert_eq!(given.test.map(f64::to_bits), many.test.map(f64::to_bits));
    assert_ne!(few.validation.to_bits(), many.validation.to_bits());
}

#[test]
fn models_that_cheaper_ones_stand_for_in_the_search_are_scored_and_measured_by_the_same_fits() {
    let models: [Arc<dyn LocalModel>; 2] = [
        Arc::new(Forest { trees: 30, ..Forest::default() }),
        Arc::new(Boosting { trees: 40, ..Boosting::default() }),
    ];
    for model in models {
        let mut study = clustered(0.01, 0.5);
        study.models = vec![model; study.rows.len()];
        let roles: Vec<Vec<Role>> = study.rows.iter().map(|_| vec![Role::Train; 8]).collect();
        let first: Vec<usize> = (0..8).collect();
        study.rows = study.rows.iter().map(|rows| rows.select(&first)).collect();
        let draws = RowDraws { names: study.network.names(), rows: &study.rows, seed: 1 };
        study.plan = Plan::new(&roles, 3, &draws);
        study.settings.is_quick = true;
        let card = study.card(Contestant::Network, &Unwatched).unwrap();
        let Some(Measures::Numbers(measures)) = &card.measures.validation else {
            panic!("numbers on validation rows have measures: {:?}", card.measures)
        };
        assert_eq!(measures.rows, 8 * study.rows.len());
        let error = card.validation;
        assert!((measures.mse - error).abs() < 1e-12 * error, "{} {error}", measures.mse);
    }
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

/// The study with another error.
fn measured_by(mut study: Study, metric: Metric) -> Study {
    study.settings.metric = Some(metric);
    study
}

#[test]
fn measures_have_the_bits_of_the_error_that_is_compared() {
    let study = clustered(0.01, 0.5);
    for metric in [Metric::Mse, Metric::Mae] {
        let study = measured_by(study.clone(), metric);
        for contestant in [Contestant::Local, Contestant::Network] {
            let card = study.card(contestant, &Unwatched).unwrap();
            let measures = card.measures.test.unwrap();
            let own = measures.numbers().unwrap();
            let found = if metric == Metric::Mse { own.mse } else { own.mae };
            assert_eq!(found.to_bits(), card.test.unwrap().to_bits(), "{metric} {contestant}");
            // What is paired are the same errors, in batches.
            let paired: f64 = card.evidence.iter().flat_map(|node| &node.losses).sum();
            let summed: f64 = card.nodes.iter().map(|node| node.loss).sum();
            assert!((paired / summed - 1.0).abs() < 1e-12, "{metric} {contestant}");
        }
    }
    let (usual, named) = (verdict(&study), verdict(&measured_by(study, Metric::Mse)));
    assert_eq!(usual, named);
}

#[test]
fn strengths_are_chosen_by_the_metric_that_is_asked_for() {
    let (squared, absolute) =
        (clustered(0.01, 2.0), measured_by(clustered(0.01, 2.0), Metric::Mae));
    let card = |study: &Study| study.tune(Contestant::Network, &Unwatched).unwrap();
    let (by_squares, by_size) = (card(&squared), card(&absolute));
    let tried = |card: &Card| -> Vec<(u64, Option<u64>)> {
        card.path.iter().map(|one| (one.alpha.to_bits(), one.ridge.map(f64::to_bits))).collect()
    };
    // Of all that both have tried, none has a smaller absolute error than the one that is taken.
    let known = tried(&by_squares);
    let least = by_size.path.iter().zip(tried(&by_size)).filter(|(_, own)| known.contains(own));
    let least = least.map(|(one, _)| one.validation).fold(f64::INFINITY, f64::min);
    assert!(by_size.validation <= least * (1.0 + 1e-8), "{} {least}", by_size.validation);
    // By Jensen a mean absolute error is below the root of the mean square.
    assert!(by_size.validation < by_squares.validation.sqrt());
    assert_eq!(verdict(&absolute).kind, verdict(&squared).kind);
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
    let method = |method| Settings { method: Approach::FedRelax(method), ..Settings::default() };
    let weights = |couple_intercept| {
        // By the residual, because weights are only as near as the root of the gap.
        let stop_on = StopOn::Residual;
        Approach::Gtv(Gtv { couple_intercept, tolerance: 1e-12, stop_on, ..Gtv::default() })
    };
    let settings = [
        Settings::default(),
        method(FedRelax { couple_intercept: false, ..FedRelax::default() }),
        method(FedRelax { hub: 0.5, ..FedRelax::default() }),
        method(FedRelax { coupling: Coupling::Symmetric, ..FedRelax::default() }),
        Settings { weighting: Weighting::Rows, ..Settings::default() },
        Settings { method: weights(true), ..Settings::default() },
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
        let error = |fitted: &Fitted| {
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
    let draws = RowDraws { names: study.network.names(), rows: &study.rows, seed: 1 };
    study.plan = Plan::new(&roles, 3, &draws);
    let cards = cards(&study);
    assert!(cards.iter().all(|card| card.test.is_none()));
    assert!(cards.iter().all(|card| card.nodes.iter().map(|n| n.rows).sum::<usize>() == 360));
    assert_eq!(Verdict::of(&cards, study.main(), &study.network).unwrap().kind, Kind::Network);
}

#[test]
fn a_study_without_training_rows_is_refused() {
    let mut study = clustered(0.01, 0.5);
    study.plan.train.iter_mut().for_each(Vec::clear);
    assert!(study.card(Contestant::Local, &Unwatched).is_err());
    let empty = Features::from_rows(&["x"], &[]).unwrap();
    assert!(normal_points(&empty, 3, &mut Stream::new(1, 0, 0, Purpose::Public)).is_err());
}

const PENALTIES: [Penalty; 3] = [Penalty::Norm, Penalty::SquaredNorm, Penalty::OneNorm];

/// The clustered study with its weights coupled.
fn varied(between: f64, penalty: Penalty) -> Study {
    let mut study = clustered(between, 0.5);
    study.settings.method = Approach::Gtv(Gtv { penalty, ..Gtv::default() });
    study
}

fn with_model(mut study: Study, model: Arc<dyn LocalModel>) -> Study {
    study.models = vec![model; study.rows.len()];
    study
}

#[test]
fn total_variation_of_weights_helps_where_the_network_follows_the_clusters() {
    for penalty in PENALTIES {
        let verdict = verdict(&varied(0.01, penalty));
        assert_eq!(verdict.kind, Kind::Network, "{penalty:?} {verdict:?}");
        assert!(!self::verdict(&varied(0.4, penalty)).helps(), "{penalty:?}");
    }
}

#[test]
fn rivals_do_not_depend_on_the_method_of_the_network() {
    let (relaxed, varied) = (clustered(0.01, 0.5), varied(0.01, Penalty::Norm));
    for rival in [Contestant::Local, Contestant::Pooled, Contestant::Shrunk] {
        let card = |study: &Study| study.card(rival, &Unwatched).unwrap();
        assert_eq!(card(&relaxed), card(&varied));
    }
}

#[test]
fn coupled_weights_have_the_same_cards_on_any_number_of_threads() {
    let study = varied(0.01, Penalty::Norm);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| study.card(Contestant::Network, &Unwatched).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(8));
}

#[test]
fn with_no_pull_coupled_weights_are_those_of_local_training() {
    for penalty in PENALTIES {
        let mut study = with_model(varied(0.01, penalty), Arc::new(Linear::default()));
        study.settings.alpha = Some(0.0);
        let card = |contestant| study.card(contestant, &Unwatched).unwrap();
        assert_eq!(card(Contestant::Local).nodes, card(Contestant::Network).nodes);
    }
}

#[test]
fn under_a_strong_pull_all_weights_are_the_pooled_ones() {
    for penalty in PENALTIES {
        let mut study = with_model(varied(0.4, penalty), Arc::new(Linear::default()));
        study.settings.method = Approach::Gtv(Gtv { penalty, tolerance: 1e-10, ..Gtv::default() });
        study.settings.tune_ridge = false;
        let pooled = study.card(Contestant::Pooled, &Unwatched).unwrap().test.unwrap();
        let fitted = study.fit(Strength { alpha: 1e4, ridge: None }, &Unwatched).unwrap();
        let scores = study.score(&fitted.hypotheses, &study.plan.test);
        let error = fedgrid::compare::NodeScore::total(&scores).mean().unwrap();
        assert!((error - pooled).abs() < 1e-3 * pooled, "{penalty:?} {error} {pooled}");
        let clusters = (penalty != Penalty::SquaredNorm).then(|| vec![0; 60]);
        assert_eq!(fitted.clusters, clusters, "{penalty:?}");
    }
}

#[test]
fn a_norm_finds_the_clusters_that_made_the_data() {
    let mut study = varied(0.0, Penalty::Norm);
    // The clusters are not joined, and inside each there is one truth.
    study.plan.train.iter_mut().for_each(|rows| *rows = (0..40).collect());
    let fitted = study.fit(Strength { alpha: 10.0, ridge: None }, &Unwatched).unwrap();
    let truth: Vec<usize> = (0..60).map(|node| node / 20).collect();
    assert_eq!(fitted.clusters, Some(truth));
}

#[test]
fn coupled_weights_come_with_a_certified_gap() {
    let strength = Strength { alpha: 0.1, ridge: Some(0.01) };
    for penalty in PENALTIES {
        let fitted = varied(0.01, penalty).fit(strength, &Unwatched).unwrap();
        assert_eq!(fitted.certificate.kind, "certified relative gap");
        assert!(fitted.certificate.converged && fitted.certificate.value <= 1e-6);
        assert_eq!(fitted.steps.len(), fitted.residuals.len());
        assert!(fitted.direct && fitted.rounds.is_empty() && !fitted.engine.is_empty());
    }
}

#[test]
fn coupled_weights_that_nothing_reaches_fall_back_to_pooled() {
    let mut study = varied(0.0, Penalty::SquaredNorm);
    for node in 40..60 {
        study.plan.train[node].clear();
    }
    let fitted = study.fit(Strength { alpha: 0.1, ridge: None }, &Unwatched).unwrap();
    let pooled = study.fit(Strength { alpha: 0.0, ridge: None }, &Unwatched).unwrap();
    let predict = |fitted: &Fitted, node: usize| fitted.hypotheses[node].predict(&study.public[0]);
    assert_eq!(predict(&fitted, 40), predict(&fitted, 59));
    assert_eq!(predict(&fitted, 40), predict(&pooled, 59));
    assert_ne!(predict(&fitted, 0), predict(&fitted, 40));
}

/// The same features with counts, or with classes.
fn relabelled(mut study: Study, label: impl Fn(f64) -> f64, task: Task) -> Study {
    let relabel = |data: &Dataset| {
        let numbers = data.labels().as_slice().iter().map(|y| label(*y));
        let labels = match task {
            Task::Regression => Labels::values(numbers.collect()),
            Task::Classification { classes } => {
                let classed: Vec<usize> = numbers.map(|y| usize::from(y > 0.0)).collect();
                Labels::classes(classes, &classed).unwrap()
            }
        };
        Dataset::new(data.features().clone(), labels).unwrap()
    };
    study.rows = study.rows.iter().map(relabel).collect();
    study
}

#[test]
fn every_model_of_weights_gains_from_neighbours_weights() {
    let two = Task::Classification { classes: 2 };
    let (same, count) = (|y: f64| y, |y: f64| (0.3 * y).exp().round());
    let perceptron = Perceptron { layers: vec![2], epochs: 20, ..Perceptron::default() };
    let numbers: [Arc<dyn LocalModel>; 4] = [
        Arc::new(ElasticNet::default()),
        Arc::new(Huber::default()),
        Arc::new(Quantile::default()),
        Arc::new(perceptron),
    ];
    let base = || varied(0.01, Penalty::SquaredNorm);
    let mut studies: Vec<Study> = numbers
        .into_iter()
        .map(|model| with_model(relabelled(base(), same, Task::Regression), model))
        .collect();
    studies.push(with_model(
        relabelled(base(), count, Task::Regression),
        Arc::new(Poisson { ridge: 0.1, ..Poisson::default() }),
    ));
    studies.push(with_model(relabelled(base(), same, two), Arc::new(Logistic::default())));
    for study in studies {
        let fit = |alpha| study.fit(Strength { alpha, ridge: Some(0.1) }, &Unwatched).unwrap();
        let error = |fitted: &Fitted| {
            study.score(&fitted.hypotheses, &study.plan.test).iter().map(|s| s.loss).sum::<f64>()
        };
        let (alone, coupled) = (fit(0.0), fit(0.3));
        assert!(error(&coupled) < error(&alone), "{:?}", study.models[0]);
        let certified = coupled.certificate.kind == "certified relative gap";
        assert!(certified || coupled.certificate.reason.is_some(), "{:?}", coupled.certificate);
    }
}

#[test]
fn models_without_weights_are_refused() {
    let mut study = varied(0.01, Penalty::SquaredNorm);
    study.models[7] = Arc::new(Tree::default());
    let strength = Strength { alpha: 0.1, ridge: None };
    let refusal = study.fit(strength, &Unwatched).unwrap_err();
    assert!(matches!(refusal, Error::NotParametric { node: 7, .. }), "{refusal}");
}
