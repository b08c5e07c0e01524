//! Baselines in the comparison: tuned on the same rows, and no part of the verdict on a network.

use fedgrid::compare::{
    Approach, Card, Contestant, Kind, MethodKind, Settings, Study, Unwatched, Verdict,
};

use super::in_threads;
use crate::comparison::clustered;

fn cards(study: &Study) -> Vec<Card> {
    study.contestants().into_iter().map(|c| study.card(c, &Unwatched).unwrap()).collect()
}

fn with(method: Approach, baselines: &[MethodKind]) -> Study {
    let mut study = clustered(0.01, 0.5);
    let usual = Settings { shuffles: 1, tune_ridge: false, ..study.settings };
    study.settings = Settings { method, baselines: baselines.to_vec(), ..usual };
    study
}

#[test]
fn every_baseline_is_tuned_and_scored_beside_the_network() {
    let study = with(Approach::default(), &MethodKind::baselines().collect::<Vec<_>>());
    let all = cards(&study);
    let alone = cards(&with(Approach::default(), &[]));
    assert_eq!(all.len(), alone.len() + 9);
    assert_eq!(all[..alone.len()], alone);
    // The network must beat every row that goes without it, not only local, pooled and shrunk.
    let without = all.iter().filter(|card| !card.contestant.uses_network());
    let best = without.min_by(|a, b| a.error().total_cmp(&b.error())).unwrap();
    assert_eq!(
        Verdict::of(&all, Contestant::Network, &study.network).unwrap().rival,
        best.contestant
    );
    assert!(matches!(best.contestant, Contestant::Baseline(_)), "{}", best.contestant);
    let card = |name: MethodKind| {
        all.iter().find(|card| card.contestant == Contestant::Baseline(name)).unwrap()
    };
    for name in MethodKind::baselines() {
        let card = card(name);
        assert!(card.path.len() > 2 && card.test.is_some_and(f64::is_finite), "{name:?}");
        let least = card.path.iter().map(|point| point.validation).fold(f64::INFINITY, f64::min);
        // Of errors that only rounding parts, the first is taken.
        assert!(card.validation <= least * (1.0 + 2e-9), "{name:?}");
    }
    // Three clusters are found where there are three, and one model for all is the pooled one.
    let ifca = card(MethodKind::Ifca);
    assert!((ifca.strength.alpha - 3.0).abs() < 1e-15, "{}", ifca.strength.alpha);
    let pooled = alone[1].test.unwrap();
    let fedavg = card(MethodKind::Fedavg).test.unwrap();
    assert!((fedavg / pooled - 1.0).abs() < 0.05, "{fedavg} {pooled}");
    assert!(ifca.test.unwrap() < 0.2 * pooled);
}

#[test]
fn a_method_with_a_hub_has_no_network_to_shuffle() {
    let study = with(MethodKind::Ifca.with_defaults(), &[MethodKind::Ifca]);
    assert_eq!(study.main(), Contestant::Baseline(MethodKind::Ifca));
    let cards = cards(&study);
    assert_eq!(cards.len(), 5);
    let verdict = Verdict::of(&cards, study.main(), &study.network).unwrap();
    assert_eq!((verdict.kind, verdict.helps()), (Kind::Hub, false), "{verdict:?}");
    let fitted = study.fit(cards[4].strength, &Unwatched).unwrap();
    assert_eq!(fitted.hypotheses.len(), study.network.len());
    assert!(!fitted.direct && !fitted.rounds.is_empty());
}

#[test]
fn gossip_has_a_network_and_it_can_be_shuffled() {
    let study = with(MethodKind::Gossip.with_defaults(), &[]);
    assert_eq!(study.main(), Contestant::Network);
    let cards = cards(&study);
    assert_eq!(cards.len(), 6);
    assert!(cards[5].test.unwrap() > cards[4].test.unwrap());
}

#[test]
fn baselines_give_the_same_cards_on_any_number_of_threads() {
    let study = with(Approach::default(), &[]);
    for baseline in [MethodKind::Ditto, MethodKind::Gossip, MethodKind::Fedmd] {
        let card = || study.card(Contestant::Baseline(baseline), &Unwatched).unwrap();
        assert_eq!(in_threads(1, card), in_threads(3, card), "{baseline:?}");
    }
}

#[test]
fn strengths_that_make_no_sense_are_named() {
    let message = |kind: MethodKind, strength: f64| {
        kind.with_defaults().strength_key().unwrap().check(strength).unwrap_err().to_string()
    };
    assert_eq!(
        message(MethodKind::Ifca, 2.5),
        "clusters is 2.5, expected a number of clusters, one or more"
    );
    assert_eq!(message(MethodKind::Apfl, 1.1), "share is 1.1, expected a share from zero to one");
    assert_eq!(
        message(MethodKind::FineTuned, -1.0),
        "steps is -1, expected a whole number of steps, zero or more"
    );
    assert_eq!(message(MethodKind::Ditto, -1.0), "alpha is -1, expected zero or more");
    assert_eq!(
        message(MethodKind::Gossip, 0.0),
        "pace is 0, expected a positive factor of the step size"
    );
}
