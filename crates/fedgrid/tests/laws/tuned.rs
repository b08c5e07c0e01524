//! A strength that sites choose together: that of one process on the same rows, along the same path.

use std::sync::Arc;

use fedgrid::{
    Error,
    compare::{
        Approach, Contestant, Federated, Gtv, RunsFederated, Study, TuningBudget, Unwatched,
    },
    data::{Dataset, Labels},
    method::{Durable, FedRelax, Method, Participant, TriedStrength},
    model::{Forest, Poisson},
    network::{Clustered, NodeId},
    penalty::Penalty,
};

use crate::comparison::{clustered, study};

/// What nodes have come to after so many rounds.
struct Ended {
    strength: Option<f64>,
    tried: Vec<TriedStrength>,
    /// After how many rounds the strength was known.
    tuning_rounds: usize,
}

/// Runs a method in rounds of messages, until its strength is known, or so many.
struct Rounds<'a> {
    study: &'a Study,
    most: usize,
}

impl RunsFederated for Rounds<'_> {
    type Output = Result<Ended, Error>;

    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let views = self.study.network.views(self.study.nodes(None))?;
        let nodes = views.into_iter().map(|view| method.join(view));
        let mut nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let mut rounds = 0;
        while rounds < self.most && nodes.iter().any(|node| node.strength().is_none()) {
            rounds += 1;
            let sent: Vec<_> = nodes.iter_mut().map(Participant::send).collect();
            let mut inboxes: Vec<Vec<(NodeId, _)>> = vec![Vec::new(); nodes.len()];
            for (from, outbox) in sent.into_iter().enumerate() {
                for (to, message) in outbox {
                    inboxes[to].push((from, message));
                }
            }
            for (node, inbox) in nodes.iter_mut().zip(&inboxes) {
                node.receive(inbox)?;
            }
            // All learn it in the same round.
            let known = nodes.iter().filter(|node| node.strength().is_some()).count();
            assert!(known == 0 || known == nodes.len(), "{known} of {} know it", nodes.len());
        }
        let strengths: Vec<_> = nodes.iter().map(Participant::strength).collect();
        assert!(strengths.iter().all(|strength| *strength == strengths[0]), "{strengths:?}");
        let tried = nodes[0].tried_strengths().to_vec();
        Ok(Ended { strength: strengths[0], tried, tuning_rounds: rounds })
    }
}

fn at_sites(study: &Study, most_rounds: u64) -> Federated {
    let all: Vec<NodeId> = (0..study.network.len()).collect();
    study.at_sites(&all, most_rounds).unwrap()
}

fn ended(study: &Study, most_rounds: u64) -> Ended {
    at_sites(study, most_rounds).apply(Rounds { study, most: 5000 }).unwrap()
}

fn budget(study: &Study) -> TuningBudget {
    TuningBudget::of(&study.network, &*study.settings.method, false).unwrap()
}

/// Networks in which all can reach all, of strong, middling and no use.
fn studies() -> Vec<Study> {
    let mut studies = vec![clustered(0.02, 0.5), clustered(0.1, 2.0), clustered(0.3, 4.0)];
    for study in &mut studies {
        study.settings.tune_ridge = false;
    }
    studies
}

#[test]
fn sites_choose_the_strength_of_one_process_along_its_path() {
    for (place, study) in studies().into_iter().enumerate() {
        let card = study.tune(Contestant::Network, &Unwatched).unwrap();
        let ended = ended(&study, 100_000);
        let sorted = |strengths: Vec<f64>| {
            let mut sorted = strengths;
            sorted.sort_by(f64::total_cmp);
            // One process tries the middle of its finer grid twice.
            sorted.dedup();
            sorted
        };
        let walked = sorted(card.path.iter().map(|point| point.alpha).collect());
        assert_eq!(sorted(ended.tried.iter().map(|one| one.alpha).collect()), walked, "{place}");
        assert_eq!(ended.strength, Some(card.strength.alpha), "{place}: {:?}", ended.tried);
        for one in &ended.tried {
            let same = card.path.iter().find(|point| point.alpha.to_bits() == one.alpha.to_bits());
            let same = same.unwrap();
            if one.residual <= 1e-4 {
                // Strengths are told apart by more than this.
                let apart = (one.error - same.validation).abs() / same.validation;
                assert!(apart < 2e-3, "{place}: {one:?} against {same:?}");
            } else {
                // It was left before it came to rest, which only one that is not the best may be.
                assert!(same.validation > card.validation, "{place}: {one:?} against {same:?}");
                assert!(one.error > card.validation, "{place}: {one:?} against {same:?}");
            }
        }
    }
}

#[test]
fn sites_choose_the_strength_of_total_variation_that_is_best_where_all_is_in_one_place() {
    for penalty in [Penalty::Norm, Penalty::SquaredNorm] {
        let mut study = clustered(0.02, 0.5);
        study.settings.method = Approach::Gtv(Gtv { penalty, ..Gtv::default() });
        study.settings.tune_ridge = false;
        let ended = ended(&study, 100_000);
        let error = |alpha: f64| {
            let mut fixed = study.clone();
            fixed.settings.alpha = Some(alpha);
            fixed.tune(Contestant::Network, &Unwatched).unwrap().validation
        };
        let mut strongest_first = ended.tried.clone();
        strongest_first.sort_by(|a, b| b.alpha.total_cmp(&a.alpha));
        let all: Vec<(f64, f64)> =
            strongest_first.iter().map(|one| (one.alpha, error(one.alpha))).collect();
        let best = all.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a }).unwrap();
        assert_eq!(ended.strength, Some(best.0), "{penalty:?}: {:?} {all:?}", ended.tried);
    }
}

#[test]
fn a_budget_of_rounds_is_kept_and_the_best_of_what_was_tried_is_taken() {
    let study = clustered(0.1, 2.0);
    let TuningBudget { fewest_rounds, .. } = budget(&study);
    for most in [fewest_rounds / 2, fewest_rounds, fewest_rounds + 40] {
        let ended = ended(&study, most);
        // Fewer than the fewest are refused before a federation is made; here they are taken all the same.
        let allowed = most.max(fewest_rounds);
        assert!(ended.tuning_rounds as u64 <= allowed, "{} of {most}", ended.tuning_rounds);
        let best = ended.tried.iter().map(|one| one.error).fold(f64::INFINITY, f64::min);
        let taken = ended.tried.iter().find(|one| Some(one.alpha) == ended.strength).unwrap();
        assert!(taken.error <= best * (1.0 + 1e-9), "{taken:?} {:?}", ended.tried);
        assert!(ended.tried.len() >= 5, "{most} rounds: {:?}", ended.tried);
    }
}

#[test]
fn the_number_of_rounds_that_is_foretold_is_enough() {
    for study in studies() {
        let free = ended(&study, 100_000);
        let foretold = budget(&study).most_rounds;
        assert!(free.tuning_rounds as u64 <= foretold, "{} of {foretold}", free.tuning_rounds);
        assert_eq!(ended(&study, foretold).strength, free.strength);
    }
}

#[test]
fn models_that_jump_and_models_of_counts_find_a_strength_too() {
    let made = Clustered { clusters: 2, nodes: 6, inside: 0.9, between: 0.2, seed: 4 };
    let (network, _) = made.make().unwrap();
    let rows = made.linear_data(3, 20, 0.5).unwrap().data;
    let forest = Arc::new(Forest { trees: 5, ..Forest::default() });
    let with_forests = study(network.clone(), rows.clone(), forest);
    assert!(ended(&with_forests, 100_000).strength.is_some());
    let mut counted = study(network, rows, Arc::new(Poisson::default()));
    for data in &mut counted.rows {
        let counts = data.labels().as_slice().iter().map(|y| y.abs().round()).collect();
        *data = Dataset::new(data.features().clone(), Labels::values(counts)).unwrap();
    }
    assert!(ended(&counted, 100_000).strength.is_some());
}

#[test]
fn without_validation_rows_anywhere_or_in_a_network_that_falls_apart_nothing_is_chosen() {
    let mut study = clustered(0.1, 2.0);
    study.plan.folds[0].validation.iter_mut().for_each(Vec::clear);
    let refused = at_sites(&study, 100_000).apply(Rounds { study: &study, most: 5000 });
    let message = refused.err().unwrap().to_string();
    assert!(message.contains("validation rows at some site"), "{message}");
    let all: Vec<NodeId> = (0..study.network.len()).collect();
    study.network = study.network.without_edges();
    let message = study.at_sites(&all, 100_000).unwrap_err().to_string();
    assert!(message.contains("joined to every other"), "{message}");
    assert!(TuningBudget::of(&study.network, &*study.settings.method, false).is_none());
}

#[test]
fn a_given_strength_is_not_sought() {
    let mut study = clustered(0.1, 2.0);
    study.settings.alpha = Some(0.3);
    assert!(matches!(at_sites(&study, 10), Federated::FedRelax(FedRelax { alpha: 0.3, .. })));
}
