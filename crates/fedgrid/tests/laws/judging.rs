//! A verdict that nodes find together, each with its rows where they are: that of all rows in one place, by the same rule.

use std::sync::Arc;

use fedgrid::{
    compare::{
        Card, Contestant, JointVerdict, JudgedBy, Judging, Learned, NodeScore, Study, Unwatched,
        Verdict, shuffled_network,
    },
    data::Fold,
    method::{Inquiry, Method, Participant, Questions, Shrunk},
    model::{Hypothesis, Linear, LocalModel},
    network::{Clustered, NodeId},
    observe::Stop,
    runtime::InProcess,
};

use crate::comparison::study;

const BY_WEIGHTS: JudgedBy = JudgedBy { averages_weights: true, tries_shrunk: true };

/// Nodes with 43 test rows each, so that batches of five rows or more are those of a comparison in one place.
fn judged_study(between: f64, noise: f64) -> Study {
    let made = Clustered { clusters: 3, nodes: 8, inside: 0.6, between, seed: 5 };
    let (network, _) = made.make().unwrap();
    let rows = made.linear_data(3, 53, noise).unwrap().data;
    let mut study = study(network, rows, Arc::new(Linear { ridge: 0.01, intercept: true }));
    study.settings.alpha = Some(0.5);
    study.settings.tune_ridge = false;
    study
}

/// What one process learns of each contestant that sites learn alike.
fn learned(study: &Study) -> Learned {
    let fitted = |contestant| {
        let strength = study.card(contestant, &Unwatched).unwrap().strength;
        study.fit_by_name(contestant, strength, &Unwatched).unwrap().hypotheses
    };
    Learned {
        local: fitted(Contestant::Local),
        network: fitted(Contestant::Network),
        shuffled: (0..study.settings.shuffles).map(|k| fitted(Contestant::Shuffled(k))).collect(),
    }
}

/// The study as a site has it: rows of its own nodes only.
fn at_site(study: &Study, own: &[NodeId]) -> Study {
    let mut site = study.clone();
    let clear = |all: &mut Vec<Vec<usize>>| {
        (0..all.len()).filter(|node| !own.contains(node)).for_each(|node| all[node].clear());
    };
    for node in (0..study.network.len()).filter(|node| !own.contains(node)) {
        site.rows[node] = study.rows[node].select(&[]);
    }
    clear(&mut site.plan.train);
    clear(&mut site.plan.test);
    for Fold { train, validation } in &mut site.plan.folds {
        clear(train);
        clear(validation);
    }
    site
}

/// What every site has heard at the end, and what the first of them makes of it.
fn inquired(
    study: &Study,
    learned: &Learned,
    (sites, by): (&[Vec<NodeId>], JudgedBy),
) -> (Vec<Vec<f64>>, JointVerdict, Arc<Judging>) {
    let at = |own: &Vec<NodeId>| {
        let chosen = |all: &Vec<Arc<dyn Hypothesis>>| -> Vec<Arc<dyn Hypothesis>> {
            own.iter().map(|&node| all[node].clone()).collect()
        };
        let learned = Learned {
            local: chosen(&learned.local),
            network: chosen(&learned.network),
            shuffled: learned.shuffled.iter().map(chosen).collect(),
        };
        Arc::new(Judging::new(at_site(study, own), own, learned, by).unwrap())
    };
    let judging: Vec<Arc<Judging>> = sites.iter().map(at).collect();
    let site_of = |node: NodeId| sites.iter().position(|own| own.contains(&node)).unwrap();
    let views = study.network.views(study.nodes(None)).unwrap();
    let inquiries: Vec<Inquiry> = judging
        .iter()
        .map(|own| Inquiry::new(&study.network, own.clone() as Arc<dyn Questions>).unwrap())
        .collect();
    let mut nodes: Vec<_> = views
        .into_iter()
        .map(|view| inquiries[site_of(view.node.id)].join(view).unwrap())
        .collect();
    for _ in 0..inquiries[0].rounds() {
        let sent: Vec<_> = nodes.iter_mut().map(Participant::send).collect();
        let mut inboxes: Vec<Vec<(NodeId, _)>> = vec![Vec::new(); nodes.len()];
        for (from, outbox) in sent.into_iter().enumerate() {
            for (to, message) in outbox {
                assert!(study.network.neighbours(from).iter().any(|(other, _)| *other == to));
                inboxes[to].push((from, message));
            }
        }
        for (node, inbox) in nodes.iter_mut().zip(&inboxes) {
            node.receive(inbox).unwrap();
        }
    }
    let heard = nodes[0].conclusions().to_vec();
    assert!(nodes.iter().all(|node| node.conclusions() == heard));
    let verdict = judging[0].verdict(&heard).unwrap();
    (heard, verdict, judging[0].clone())
}

/// Nodes dealt to so many sites.
fn dealt(study: &Study, sites: usize) -> Vec<Vec<NodeId>> {
    let all = 0..study.network.len();
    (0..sites).map(|site| all.clone().filter(|node| node % sites == site).collect()).collect()
}

/// The card of some models in one place.
fn card(study: &Study, like: &Card, contestant: Contestant, own: &[Arc<dyn Hypothesis>]) -> Card {
    let nodes = study.score(own, &study.plan.test);
    Card {
        contestant,
        test: NodeScore::total(&nodes).mean(),
        evidence: study.evidence(own, &study.plan.test),
        nodes,
        ..like.clone()
    }
}

/// The mean of the weights that nodes have alone, by their training rows, at every node.
fn mean_model(study: &Study, local: &[Arc<dyn Hypothesis>]) -> Vec<Arc<dyn Hypothesis>> {
    let parametric = study.models[0].as_parametric().unwrap();
    let rows = |node: usize| study.plan.train[node].len() as f64;
    let total: f64 = (0..local.len()).map(rows).sum();
    let mut mean = vec![0.0; parametric.weights(local[0].as_ref()).unwrap().len()];
    for (node, own) in local.iter().enumerate() {
        let weights = parametric.weights(own.as_ref()).unwrap();
        mean.iter_mut().zip(weights).for_each(|(sum, own)| *sum += rows(node) / total * own);
    }
    let names: Arc<[String]> = study.public[0].names().to_vec().into();
    let model: Arc<dyn Hypothesis> = parametric.hypothesis(&names, study.task(), &mean).into();
    vec![model; local.len()]
}

fn assert_near(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1e-6);
    assert!((found - expected).abs() <= 1e-9 * scale, "{what}: {found} {expected}");
}

#[test]
fn sites_find_the_verdict_and_the_standard_errors_of_all_rows_in_one_place() {
    let mut kinds = Vec::new();
    for study in [judged_study(0.02, 0.5), judged_study(0.1, 2.0), judged_study(0.6, 1.0)] {
        let learned = learned(&study);
        let (heard, found, judging) = inquired(&study, &learned, (&dealt(&study, 4), BY_WEIGHTS));
        let pull = judging.shrunk_pull(&heard).unwrap();
        let mean = mean_model(&study, &learned.local);
        let method = Shrunk { alpha: pull, pooled: mean.clone().into(), ..Shrunk::default() };
        let views = study.network.without_edges().views(study.nodes(None)).unwrap();
        let stop = Stop { tolerance: 1e-9, rounds: 30 };
        let shrunk = InProcess { stop, ..InProcess::default() }.run(&method, views).unwrap();
        let shrunk: Vec<_> = shrunk.hypotheses.into_iter().flatten().collect();
        let like = study.card(Contestant::Local, &Unwatched).unwrap();
        let mut cards = vec![
            like.clone(),
            card(&study, &like, Contestant::Pooled, &mean),
            card(&study, &like, Contestant::Shrunk, &shrunk),
            card(&study, &like, Contestant::Network, &learned.network),
        ];
        for (k, own) in learned.shuffled.iter().enumerate() {
            cards.push(card(&study, &like, Contestant::Shuffled(k), own));
        }
        let expected = Verdict::of(&cards, Contestant::Network, &study.network).unwrap();
        for own in &cards {
            let error = found.error(own.contestant).unwrap();
            assert_near(error, own.error(), &own.contestant.to_string());
        }
        let verdict = found.verdict.as_ref().unwrap();
        assert_eq!((verdict.kind, verdict.rival), (expected.kind, expected.rival));
        assert_eq!((verdict.better, verdict.worse), (expected.better, expected.worse));
        for (found, expected) in
            [(verdict.gain, expected.gain), (verdict.shape.unwrap(), expected.shape.unwrap())]
        {
            assert_near(found.gain, expected.gain, "gain");
            assert_near(found.standard_error, expected.standard_error, "standard error");
            assert_near(found.degrees, expected.degrees, "degrees");
            assert_near(found.error, expected.error, "error");
        }
        kinds.push(verdict.kind);
    }
    // The networks are of more and of less use, or this says little.
    kinds.dedup();
    assert!(kinds.len() > 1, "{kinds:?}");
}

#[test]
fn the_bits_do_not_depend_on_the_split_of_nodes_into_sites() {
    let study = judged_study(0.1, 1.0);
    let learned = learned(&study);
    let bits = |sites| -> Vec<u64> {
        let (heard, ..) = inquired(&study, &learned, (&dealt(&study, sites), BY_WEIGHTS));
        heard.concat().into_iter().map(f64::to_bits).collect()
    };
    let one = bits(1);
    assert_eq!(bits(5), one);
    assert_eq!(bits(study.network.len()), one);
}

#[test]
fn shuffles_at_sites_are_those_of_one_process() {
    let study = judged_study(0.1, 1.0);
    for number in 0..3 {
        let expected = study.network_of(Contestant::Shuffled(number));
        let found = shuffled_network(&study.network, study.settings.seed, number);
        let edges = |network: &fedgrid::network::Network| {
            network
                .edges()
                .iter()
                .map(|e| (e.source, e.target, e.weight.to_bits()))
                .collect::<Vec<_>>()
        };
        let names = study.network.names();
        if names.is_sorted() {
            assert_eq!(edges(&found), edges(&expected));
        }
        assert_eq!(found.names(), names);
        assert_eq!(found.edges().len(), study.network.edges().len());
        assert_ne!(edges(&found), edges(&study.network));
    }
}

#[test]
fn nodes_with_few_test_rows_tell_nothing_and_are_counted() {
    let mut study = judged_study(0.1, 1.0);
    study.plan.test[3].truncate(4);
    study.plan.test[7].clear();
    study.plan.folds[0].validation[5].truncate(2);
    let learned = learned(&study);
    let own: Vec<NodeId> = (0..study.network.len()).collect();
    let judging = Judging::new(study.clone(), &own, learned.clone(), BY_WEIGHTS).unwrap();
    let (heard, found, _) = inquired(&study, &learned, (&dealt(&study, 3), BY_WEIGHTS));
    assert_eq!((found.few_rows, found.without_rows), (1, 1));
    assert_eq!(found.judged, study.network.len() - 2);
    let told = judging.answer(3, &heard[..2]).unwrap();
    assert!(told[1..].iter().all(|number| *number == 0.0), "{told:?}");
    let told = judging.answer(5, &heard[..1]).unwrap();
    assert!(told.iter().all(|number| *number == 0.0), "{told:?}");
    // With one node that is judged there is nothing to tell chance from effect by.
    (1..study.network.len()).for_each(|node| study.plan.test[node].truncate(4));
    let (_, nobody, _) = inquired(&study, &learned, (&dealt(&study, 3), BY_WEIGHTS));
    assert!(nobody.verdict.is_none() && nobody.errors.is_empty(), "{nobody:?}");
}

#[test]
fn the_mean_prediction_of_linear_models_is_that_of_their_mean_weights() {
    let mut study = judged_study(0.1, 1.0);
    // Without a ridge a line is fitted to points on a line exactly.
    let linear: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: true });
    study.models.fill(linear);
    study.plan.train.iter_mut().for_each(|rows| *rows = (0..10).collect());
    let learned = learned(&study);
    let without = JudgedBy { averages_weights: false, tries_shrunk: false };
    let with = JudgedBy { averages_weights: true, tries_shrunk: false };
    let [a, b] = [without, with].map(|by| inquired(&study, &learned, (&dealt(&study, 3), by)).1);
    let [a, b] = [a, b].map(|found| found.error(Contestant::Pooled).unwrap());
    assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
}

#[test]
fn models_without_weights_are_judged_too() {
    let mut study = judged_study(0.1, 1.0);
    let tree: Arc<dyn LocalModel> = Arc::new(fedgrid::model::Tree::default());
    study.models = vec![tree; study.network.len()];
    study.settings.shuffles = 1;
    assert!(!study.averages_weights());
    let learned = learned(&study);
    let by = JudgedBy { averages_weights: false, tries_shrunk: true };
    let (_, found, _) = inquired(&study, &learned, (&dealt(&study, 4), by));
    let verdict = found.verdict.unwrap();
    assert!(verdict.gain.standard_error > 0.0 && verdict.shape.is_some(), "{verdict:?}");
}
