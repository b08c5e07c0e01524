//! The choice of a study's own method: by validation rows only, of methods that are tuned as if each were it.

use std::sync::Arc;

use fedgrid::{
    compare::{
        Approach, Card, Contestant, Member, MethodKind, NodeScore, Study, Unwatched, Verdict,
    },
    data::{Dataset, Labels, Task},
    model::{Linear, LocalModel},
    random::{Purpose, Stream},
};

use crate::comparison::clustered;

const MEMBERS: [MethodKind; 3] = [MethodKind::FedRelax, MethodKind::Gtv, MethodKind::Mixed];

/// Sixty nodes of three clusters, whose method is one of three.
fn undecided() -> Study {
    let mut study = clustered(0.01, 0.5);
    let model: Arc<dyn LocalModel> = Arc::new(Linear::default());
    study.models = vec![model; study.rows.len()];
    study.settings.shuffles = 1;
    study.settings.members = MEMBERS.map(|kind| Member::new(kind.with_defaults())).to_vec();
    study
}

fn tuned(study: &Study) -> Vec<Card> {
    study.members().into_iter().map(|one| study.tune(one, &Unwatched).unwrap()).collect()
}

#[test]
fn each_member_is_tuned_and_judged_as_if_it_were_the_studys_own() {
    let mut study = undecided();
    let tuned = tuned(&study);
    assert!(tuned.iter().all(|card| card.test.is_none()), "test rows are not looked at");
    let mut named = undecided();
    named.settings.members.clear();
    study.choose(&tuned);
    for (kind, card) in MEMBERS.into_iter().zip(&tuned) {
        named.settings.method = kind.with_defaults();
        let own = named.card(Contestant::Network, &Unwatched).unwrap();
        assert_eq!((own.validation, own.path.len()), (card.validation, card.path.len()), "{kind}");
        let contestant = Contestant::Member(kind);
        let judged = study.completed(contestant, &tuned, &Unwatched).unwrap();
        assert_eq!(judged, Card { contestant, ..own.clone() }, "{kind}");
        // What is known is not computed again, so that a card can be changed and stays so.
        let known = Card { validation: 7.0, ..judged };
        let all = [tuned.clone(), vec![known.clone()]].concat();
        assert_eq!(study.completed(contestant, &all, &Unwatched).unwrap(), known);
        if study.settings.method.kind() == kind {
            let chosen = study.completed(Contestant::Network, &tuned, &Unwatched).unwrap();
            assert_eq!(chosen, own, "{kind}");
        }
    }
}

#[test]
fn the_least_error_on_validation_rows_is_taken_and_of_equals_the_first() {
    let mut study = undecided();
    let tuned = tuned(&study);
    study.choose(&tuned);
    let errors: Vec<f64> =
        study.settings.members.iter().map(|member| member.validation.unwrap()).collect();
    let best = (0..3).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap();
    assert_eq!(study.settings.method.kind(), MEMBERS[best], "{errors:?}");
    for (place, expected) in [(1, MEMBERS[1]), (2, MEMBERS[2])] {
        let mut changed = tuned.clone();
        changed[place].validation = 0.0;
        study.choose(&changed);
        assert_eq!(study.settings.method.kind(), expected);
    }
    let equal: Vec<Card> = tuned.into_iter().map(|card| Card { validation: 1.0, ..card }).collect();
    study.choose(&equal);
    assert_eq!(study.settings.method.kind(), MEMBERS[0]);
}

/// The same with the labels of test rows drawn anew.
fn with_noise(mut study: Study) -> Study {
    for (node, data) in study.rows.iter_mut().enumerate() {
        let mut labels = data.labels().as_slice().to_vec();
        let mut stream = Stream::new(9, node, 0, Purpose::Data);
        study.plan.test[node].iter().for_each(|&row| labels[row] = 100.0 * stream.normal());
        let labels = Labels::new(Task::Regression, labels).unwrap();
        *data = Dataset::new(data.features().clone(), labels).unwrap();
    }
    study
}

#[test]
fn noise_in_the_place_of_test_rows_changes_neither_the_choice_nor_the_models() {
    let run = |mut study: Study| {
        let tuned = tuned(&study);
        study.choose(&tuned);
        let own = study.completed(study.main(), &tuned, &Unwatched).unwrap();
        let fitted = study.fit(own.strength, &Unwatched).unwrap();
        let models = fitted.hypotheses.iter().map(|model| model.save().unwrap());
        let models: Vec<String> =
            models.map(|model| serde_json::to_string(&model).unwrap()).collect();
        (study.settings.method.kind(), own.validation, models, own.test)
    };
    let (kind, validation, models, test) = run(undecided());
    let (other, error, same, noise) = run(with_noise(undecided()));
    assert_eq!((kind, validation), (other, error));
    assert_eq!(models, same);
    assert_ne!(test, noise);
}

#[test]
fn all_members_are_rows_and_those_not_chosen_are_no_rivals() {
    let mut study = undecided();
    study.settings.method = Approach::default();
    let contestants = study.contestants();
    let others = [MethodKind::Gtv, MethodKind::Mixed].map(Contestant::Member);
    assert!(others.iter().all(|other| contestants.contains(other)), "{contestants:?}");
    assert!(!contestants.contains(&Contestant::Member(MethodKind::FedRelax)));
    let mut cards: Vec<Card> =
        contestants.iter().map(|one| study.card(*one, &Unwatched).unwrap()).collect();
    let before = Verdict::of(&cards, study.main(), &study.network).unwrap();
    for card in cards.iter_mut().filter(|card| others.contains(&card.contestant)) {
        card.nodes.iter_mut().for_each(|node| *node = NodeScore { loss: 0.0, ..*node });
        (card.test, card.validation) = (Some(0.0), 0.0);
    }
    assert_eq!(Verdict::of(&cards, study.main(), &study.network).unwrap(), before);
}
