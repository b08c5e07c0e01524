//! Audits: what is there is found, what is not there is not, and more rows hide each other.

use std::sync::Arc;

use fedgrid::{
    Error,
    audit::{Audit, AuditSettings, NodeAudit, recover_moments},
    compare::{Approach, Gtv, Mixed, Settings, Strength, Study, Unwatched},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws},
    method::{FedRelax, Gossip, fedrelax::Coupling},
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel, Logistic, Tree},
    network::{Node, path},
    random::{Purpose, Stream},
};

/// Three nodes in a row, each with so many training rows, and as many that it holds back.
fn study(rows: usize, features: usize, model: Arc<dyn LocalModel>, method: Approach) -> Study {
    let names: Arc<[String]> = (0..features).map(|k| format!("x{k}")).collect();
    let is_of_classes = model.as_parametric().is_some() && model.as_linear().is_none();
    let own = |node: usize| {
        let mut stream = Stream::new(3, node, 0, Purpose::Data);
        let values: Vec<f64> = (0..2 * rows * features).map(|_| stream.normal()).collect();
        let labels: Vec<f64> = values
            .chunks_exact(features)
            .map(|x| x[0] - 0.5 * x[features - 1] + stream.normal())
            .collect();
        let labels = if is_of_classes {
            let classes: Vec<usize> = labels.iter().map(|y| usize::from(*y > 0.0)).collect();
            Labels::classes(2, &classes).unwrap()
        } else {
            Labels::values(labels)
        };
        Dataset::new(Features::new(names.clone(), values).unwrap(), labels).unwrap()
    };
    let data: Vec<Dataset> = (0..3).map(own).collect();
    let network = path(3).unwrap();
    let role = |row: usize| if row < rows { Role::Train } else { Role::Test };
    let roles = vec![(0..2 * rows).map(role).collect(); 3];
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let points = (0..60 * features).map(|_| stream.normal()).collect();
    let public = Arc::new(Features::new(names, points).unwrap());
    Study {
        models: vec![model; 3],
        public: vec![public; 3],
        plan: Plan::new(&roles, 5, &RowDraws { names: network.names(), rows: &data, seed: 1 }),
        scales: None,
        settings: Settings { method, ..Settings::default() },
        network,
        rows: data,
    }
}

/// A model that has made up its mind.
#[derive(Debug)]
struct Deaf;

impl LocalModel for Deaf {
    fn fit(&self, data: &Dataset) -> fedgrid::Result<Box<dyn Hypothesis>> {
        let names = data.features().names().clone();
        Ok(Box::new(LinearHypothesis { names, slopes: vec![1.0, 2.0], intercept: 0.5 }))
    }
}

fn fedrelax() -> Approach {
    Approach::FedRelax(FedRelax::default())
}

fn linear() -> Arc<dyn LocalModel> {
    Arc::new(Linear { ridge: 0.0, intercept: true })
}

fn audit(study: &Study, alpha: f64) -> Audit {
    let settings = AuditSettings { worlds: 64, seed: 5 };
    study.audit(Strength { alpha, ridge: None }, settings, &Unwatched).unwrap()
}

/// The mean area under the curve.
fn auc(audit: &Audit) -> f64 {
    audit.nodes.iter().map(|node| node.membership.auc).sum::<f64>() / audit.nodes.len() as f64
}

#[test]
fn rows_are_certain_where_they_are_no_more_than_weights_and_hide_among_many() {
    for method in [fedrelax(), Approach::Mixed(Mixed::default())] {
        let by_rows =
            [10, 40, 160].map(|rows| audit(&study(rows, 10, linear(), method.clone()), 0.1));
        let found = by_rows.each_ref().map(auc);
        assert!(found[0] > 0.9 && found[0] > found[1] && found[1] > found[2], "{found:?}");
        // Among 160 rows chance is near.
        assert!((0.5..0.65).contains(&found[2]), "{found:?}");
        let NodeAudit { rows, candidates, mean_rows, membership, .. } = &by_rows[0].nodes[1];
        assert_eq!((*rows, *candidates, *mean_rows), (10, 20, 10.0));
        assert!(membership.auc > 0.9 && membership.epsilon_at_least > 1.0, "{membership:?}");
        // In nearly all of these there are fewer.
        let few = audit(&study(5, 10, linear(), method.clone()), 0.1);
        for NodeAudit { membership, .. } in &few.nodes {
            assert!(membership.auc > 0.99 && membership.right_share > 0.95, "{membership:?}");
            assert!(membership.found_at_1_percent > 0.9, "{membership:?}");
            assert!(membership.epsilon_at_least > 2.0, "{membership:?}");
        }
    }
}

#[test]
fn models_that_learn_nothing_tell_nothing() {
    let audit = audit(&study(10, 2, Arc::new(Deaf), fedrelax()), 0.1);
    for node in &audit.nodes {
        let found = node.membership;
        assert_eq!((found.auc, found.right_share, found.epsilon_at_least), (0.5, 0.5, 0.0));
    }
}

#[test]
fn leaves_of_single_rows_are_found_through_public_points() {
    let grown = |min_leaf_weight: f64| {
        let tree = Tree { max_depth: 20, min_leaf_weight };
        auc(&audit(&study(20, 2, Arc::new(tree), fedrelax()), 0.1))
    };
    let (single, coarse) = (grown(0.0), grown(0.5));
    assert!(single > 0.65 && single > coarse + 0.05, "{single} {coarse}");
}

#[test]
fn weights_and_classes_tell_of_rows_too() {
    let gtv = audit(&study(10, 10, linear(), Approach::Gtv(Gtv::default())), 1e-3);
    assert!(auc(&gtv) > 0.9, "{gtv:?}");
    let logistic: Arc<dyn LocalModel> = Arc::new(Logistic { ridge: 1e-3, ..Logistic::default() });
    let classes = audit(&study(10, 5, logistic, fedrelax()), 0.1);
    assert!(auc(&classes) > 0.65, "{classes:?}");
}

#[test]
fn threads_change_no_bit_and_seeds_do() {
    let study = study(10, 10, linear(), fedrelax());
    let by = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let settings = AuditSettings { worlds: 16, seed };
        let strength = Strength { alpha: 0.1, ridge: None };
        pool.install(|| study.audit(strength, settings, &Unwatched).unwrap())
    };
    assert_eq!(by(1, 1), by(8, 1));
    assert_ne!(by(1, 1), by(1, 2));
}

#[test]
fn methods_without_known_messages_and_too_few_worlds_are_refused() {
    let strength = Strength { alpha: 1.0, ridge: None };
    let gossip = study(10, 2, linear(), Approach::Gossip(Gossip::default()));
    let refused = gossip.audit(strength, AuditSettings::default(), &Unwatched).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
    let few = AuditSettings { worlds: 7, seed: 1 };
    let refused = study(10, 2, linear(), fedrelax()).audit(strength, few, &Unwatched).unwrap_err();
    assert_eq!(refused.to_string(), "worlds is 7, expected 8 or more");
}

#[test]
fn a_neighbour_that_asks_by_lying_reads_all_moments_with_or_without_clip() {
    for (rows, clip) in [(5, None), (10, None), (50, None), (10, Some(0.1))] {
        let method = FedRelax { alpha: 0.3, clip, ..FedRelax::default() };
        let study = study(rows, 10, linear(), Approach::FedRelax(method.clone()));
        let found = recover_moments(&method, &study.nodes(None)[1], 2.0).unwrap().unwrap();
        assert_eq!(found.answers, 12);
        assert!(found.products_error < 1e-9, "{rows} {clip:?}: {found:?}");
        assert!(found.labels_error < 1e-9, "{rows} {clip:?}: {found:?}");
    }
    let nodes = study(10, 10, linear(), fedrelax()).nodes(None);
    // Points that leave a direction out do not tell the weights.
    let few = nodes[0].public.select(&(0..10).collect::<Vec<_>>());
    let unseen = Node { public: Arc::new(few), ..nodes[0].clone() };
    assert!(recover_moments(&FedRelax::default(), &unseen, 1.0).unwrap().is_none());
    let symmetric = FedRelax { coupling: Coupling::Symmetric, ..FedRelax::default() };
    assert!(recover_moments(&symmetric, &nodes[0], 1.0).unwrap().is_none());
}
