//! Twins: all that other nodes know follows from releases, and own models follow them as far as they are worth it.

use std::sync::Arc;

use fedgrid::{
    audit::AuditSettings,
    compare::{Approach, Contestant, Settings, Strength, Study, Unwatched},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws},
    method::FedRelax,
    model::{Hypothesis, Linear, LocalModel},
    network::path,
    privacy::{Privacy, PrivateKind, epsilon_of, mu_of, normal},
    random::{Purpose, Stream},
};

/// Nodes on a path whose lines differ little from one to the next, each with so many training rows, as many that validate
/// and ten that test; labels in half ranges about a middle of two.
fn study(nodes: usize, rows: usize, privacy: impl Into<Option<Privacy>>) -> Study {
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: true });
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    let own = |node: usize| {
        let mut stream = Stream::new(6, node, 0, Purpose::Data);
        let turn = node as f64 / nodes as f64;
        let values: Vec<f64> =
            (0..2 * (2 * rows + 10)).map(|_| 2.0 * stream.uniform() - 1.0).collect();
        let label = |x: &[f64], stream: &mut Stream| {
            let mean = 2.2 + 0.2 * (3.0 * turn).sin() + 0.3 * x[0] - 0.2 * x[1];
            (mean + 0.06 * stream.normal()).clamp(1.0, 3.0)
        };
        let labels = values.chunks_exact(2).map(|x| label(x, &mut stream)).collect();
        Dataset::new(Features::new(names.clone(), values).unwrap(), Labels::values(labels)).unwrap()
    };
    let data: Vec<Dataset> = (0..nodes).map(own).collect();
    let network = path(nodes).unwrap();
    let role = |row: usize| match row / rows {
        0 => Role::Train,
        1 => Role::Validation,
        _ => Role::Test,
    };
    let roles = vec![(0..2 * rows + 10).map(role).collect(); nodes];
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let points = (0..80).map(|_| 2.0 * stream.uniform() - 1.0).collect();
    let public = Arc::new(Features::new(names, points).unwrap());
    let method = Approach::FedRelax(FedRelax::default());
    Study {
        models: vec![model; nodes],
        public: vec![public; nodes],
        plan: Plan::new(&roles, 5, &RowDraws { names: network.names(), rows: &data, seed: 1 }),
        scales: None,
        settings: Settings { method, privacy: privacy.into(), ..Settings::default() },
        network,
        rows: data,
    }
}

fn privacy(kind: PrivateKind, mu: f64) -> Privacy {
    Privacy { kind, mu, delta: 1e-5, middle: 2.0, seed: 3 }
}

fn labels(mu: f64) -> Privacy {
    privacy(PrivateKind::Labels, mu)
}

/// The mean error on test rows of the network.
fn error(study: &Study) -> f64 {
    study.card(Contestant::Network, &Unwatched).unwrap().test.unwrap()
}

fn predictions(models: &[Arc<dyn Hypothesis>], points: &Features) -> Vec<f64> {
    models.iter().flat_map(|model| model.predict(points).as_slice().to_vec()).collect()
}

#[test]
fn errors_fall_with_the_budget_from_those_alone_to_those_without_noise() {
    let at = |mu: f64| error(&study(60, 4, labels(mu)));
    let errors = [0.3, 3.0, f64::INFINITY].map(at);
    let alone = {
        let study = study(60, 4, labels(1.0));
        let models = study.alone_within_bounds(&study.settings.privacy.unwrap());
        let scores = study.score(&models, &study.plan.test);
        let rows: usize = scores.iter().map(|score| score.rows).sum();
        scores.iter().map(|score| score.loss).sum::<f64>() / rows as f64
    };
    assert!(errors[2] < 0.75 * alone && errors[1] < errors[0], "{alone} {errors:?}");
    // Twins that are noise are not followed.
    assert!(errors[0] < 1.1 * alone, "{alone} {errors:?}");
}

#[test]
fn whole_rows_can_be_private_where_there_are_many() {
    let rows = |mu| Some(privacy(PrivateKind::Rows, mu));
    let (much, little) = (error(&study(20, 60, rows(0.1))), error(&study(20, 60, rows(20.0))));
    assert!(little < 1.02 * much, "{much} {little}");
}

/// The study with another label for the first training row of a node.
fn with_label(study: &Study, node: usize, label: f64) -> Study {
    let mut changed = study.clone();
    let (features, mut labels) =
        (study.rows[node].features().clone(), study.rows[node].labels().as_slice().to_vec());
    labels[study.plan.train[node][0]] = label;
    changed.rows[node] = Dataset::new(features, Labels::values(labels)).unwrap();
    changed
}

#[test]
fn a_label_beyond_its_bound_is_worth_no_more_than_the_bound_to_anybody_else() {
    let study = study(5, 4, labels(2.0));
    let of = (Contestant::Network, Strength { alpha: 0.5, ridge: Some(0.01) });
    let twins = |label: f64| {
        let changed = with_label(&study, 2, label);
        let published = changed.published(&changed.settings.privacy.unwrap()).unwrap();
        predictions(&published.twins(of, &Unwatched).unwrap().hypotheses, &study.public[0])
    };
    assert_eq!(twins(3.0), twins(1e9));
    assert_ne!(twins(3.0), twins(2.5));
}

#[test]
fn other_nodes_hear_of_a_label_through_its_release_only() {
    // Noise that is larger than any label hides what is changed to the last bits: what is left of it elsewhere is its share
    // of the released numbers, however strongly the network pulls.
    let study = study(5, 4, labels(1e-3));
    let fit = |label: f64| {
        let changed = with_label(&study, 2, label);
        let strength = Strength { alpha: 10.0, ridge: Some(0.01) };
        let fitted = changed.fit(strength, &Unwatched).unwrap().hypotheses;
        predictions(&fitted, &study.public[0])
    };
    let (one, other) = (fit(1.0), fit(3.0));
    let points = study.public[0].rows();
    let moved = |node: usize| {
        let range = node * points..(node + 1) * points;
        let pairs = one[range.clone()].iter().zip(&other[range]);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    assert!(moved(2) > 0.1, "{}", moved(2));
    for node in [0, 1, 3, 4] {
        assert!(moved(node) < 0.02, "{node}: {}", moved(node));
    }
}

#[test]
fn pooled_and_shrunk_know_releases_only_too_and_mixed_is_not_tried() {
    let private = study(30, 4, labels(1.0));
    let tried = private.contestants();
    assert!(!tried.contains(&Contestant::Mixed) && tried.contains(&Contestant::Shrunk));
    let open = study(30, 4, None::<Privacy>);
    let test =
        |study: &Study, contestant| study.card(contestant, &Unwatched).unwrap().test.unwrap();
    // What is alone is what it always was; what others have a say in is not.
    let same =
        |contestant| test(&private, contestant).to_bits() == test(&open, contestant).to_bits();
    assert!(same(Contestant::Local));
    assert!(!same(Contestant::Pooled) && !same(Contestant::Shrunk));
}

#[test]
fn threads_and_the_order_of_nodes_change_no_bit_and_the_seed_of_the_noise_does() {
    let study = study(12, 3, labels(2.0));
    let by = |study: &Study, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let card = pool.install(|| study.card(Contestant::Network, &Unwatched).unwrap());
        (card.test.unwrap(), card.strength)
    };
    assert_eq!(by(&study, 1), by(&study, 8));
    let other = Privacy { seed: 4, ..study.settings.privacy.unwrap() };
    let settings = Settings { privacy: Some(other), ..study.settings.clone() };
    assert_ne!(by(&study, 1), by(&Study { settings, ..study.clone() }, 1));
}

#[test]
fn rows_that_take_turns_and_other_models_are_refused() {
    let mut study = study(5, 4, labels(mu_of(4.4, 1e-5).unwrap()));
    study.models[1] = Arc::new(Linear { ridge: 0.0, intercept: false });
    let refused = study.card(Contestant::Network, &Unwatched).unwrap_err().to_string();
    assert!(refused.contains("linear models with an intercept"), "{refused}");
    let mut study = self::study(5, 4, labels(1.0));
    let roles: Vec<Vec<Role>> = study
        .plan
        .train
        .iter()
        .map(|rows| {
            let role = |row: usize| if rows.contains(&row) { Role::Train } else { Role::Test };
            (0..study.rows[0].rows()).map(role).collect()
        })
        .collect();
    let draws = RowDraws { names: study.network.names(), rows: &study.rows, seed: 1 };
    study.plan = Plan::new(&roles, 3, &draws);
    let refused = study.card(Contestant::Network, &Unwatched).unwrap_err().to_string();
    assert!(refused.contains("validation rows"), "{refused}");
    (study.settings.alpha, study.settings.tune_ridge) = (Some(0.1), false);
    assert!(study.card(Contestant::Network, &Unwatched).unwrap().test.is_some());
}

#[test]
fn audits_of_twins_find_no_more_than_is_promised() {
    for (kind, mus) in [(PrivateKind::Labels, [0.5, 2.0]), (PrivateKind::Rows, [0.5, 2.0])] {
        let found = |mu: f64| {
            let study = study(5, 4, Some(privacy(kind, mu)));
            let settings = AuditSettings { worlds: 96, seed: 5 };
            let strength = Strength { alpha: 0.1, ridge: Some(1e-3) };
            let audit = study.audit(strength, settings, &Unwatched).unwrap();
            assert_eq!(audit.nodes.len(), 5);
            let auc = audit.nodes.iter().map(|node| node.membership.auc).sum::<f64>() / 5.0;
            let bounds = audit.nodes.iter().map(|node| node.membership.epsilon_at_least);
            (auc, bounds.fold(0.0, f64::max))
        };
        for mu in mus {
            let (auc, bound) = found(mu);
            // Forty-eight worlds of five nodes with four candidates or more: three standard errors are 0.03.
            assert!(auc < normal(mu / std::f64::consts::SQRT_2) + 0.03, "{kind:?} {mu}: {auc}");
            assert!(bound <= epsilon_of(mu, 1e-5), "{kind:?} {mu}: {bound}");
        }
        let (open, bound) = found(f64::INFINITY);
        assert!(open > 0.8 && bound > 1.0, "{kind:?}: {open} {bound}");
    }
}
