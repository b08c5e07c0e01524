//! What rows count for. A row of weight k is that row k times: the same strengths are chosen, the same models are
//! learnt and the same errors are measured, for every method and every kind of model.

mod counts;
mod exposure;
mod sample;

use fedgrid::{
    compare::{Approach, Card, Contestant, MethodKind, Mixed, Strength, Unwatched, Weighting},
    data::Task,
    model::{Model, ModelKind, Perceptron},
    observe::Stop,
};
use sample::{CLASSES, Sample, Target};

/// How far errors and predictions may be apart, relative to their size.
const TOLERANCE: f64 = 1e-9;

fn assert_close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs()), "{what}: {a} and {b}");
}

/// Checks that a contestant is tuned and scored alike with weighted rows and with repeated ones.
fn check(what: &str, sample: &Sample, contestant: Contestant) {
    let cards = [sample.weighted(), sample.repeated()]
        .map(|study| study.card(contestant, &Unwatched).expect(what));
    let [a, b] = &cards;
    let numbers = |card: &Card| {
        let Strength { alpha, ridge } = card.strength;
        let test = card.test.unwrap();
        [alpha, ridge.unwrap_or(0.0), card.validation, test, card.accuracy.unwrap_or(0.0)]
    };
    for (place, (a, b)) in numbers(a).into_iter().zip(numbers(b)).enumerate() {
        assert_close(a, b, &format!("{what}, number {place}"));
    }
    for (node, (a, b)) in a.nodes.iter().zip(&b.nodes).enumerate() {
        assert_close(a.loss, b.loss, &format!("{what}, node {node}"));
        assert_close(a.row_count(), b.row_count(), &format!("{what}, rows of node {node}"));
    }
    check_fit(what, sample, (contestant, a.strength));
}

/// Checks that a contestant learns the same from weighted rows and from repeated ones.
fn check_fit(what: &str, sample: &Sample, (contestant, strength): (Contestant, Strength)) {
    let new = sample.points();
    let [a, b] = [sample.weighted(), sample.repeated()].map(|study| {
        let fitted = study.fit_contestant(contestant, strength, &Unwatched).expect(what);
        let own = study.for_table(&fitted.hypotheses);
        own.iter().flat_map(|own| own.predict(&new).as_slice().to_vec()).collect::<Vec<_>>()
    });
    for (place, (a, b)) in a.iter().zip(&b).enumerate() {
        assert_close(*a, *b, &format!("{what}, prediction {place}"));
    }
}

#[test]
fn weight_k_is_the_row_k_times_for_every_method() {
    for &kind in MethodKind::ALL {
        for weighting in [Weighting::Nodes, Weighting::Rows] {
            let sample = Sample {
                method: kind.with_defaults(),
                weighting,
                ..Sample::new(3, Target::Numbers, ModelKind::Linear.with_defaults())
            };
            let main = sample.weighted().main();
            check(&format!("{kind}, {weighting:?}"), &sample, main);
        }
    }
}

#[test]
fn weight_k_is_the_row_k_times_for_every_kind_of_model() {
    for &kind in ModelKind::ALL {
        let model = match kind.with_defaults() {
            // Training of perceptrons is chaotic: rounding grows with every epoch and every round.
            Model::Perceptron(model) => Model::Perceptron(Perceptron { epochs: 3, ..model }),
            model => model,
        };
        let targets: &[Target] = if kind == ModelKind::Poisson {
            &[Target::Counts]
        } else {
            &[Target::Numbers, Target::Classes]
        };
        for &target in targets {
            let task = if target == Target::Classes { CLASSES } else { Task::Regression };
            if !model.as_local().predicts(task) {
                continue;
            }
            let mut sample = Sample::new(4, target, model.clone());
            if kind == ModelKind::Perceptron {
                sample.stop.rounds = 1;
            }
            let strength = Strength { alpha: 0.05, ridge: Some(1e-2) };
            for contestant in [Contestant::Local, Contestant::Pooled, Contestant::Network] {
                let what = format!("{kind}, {target:?}, {contestant}");
                check_fit(&what, &sample, (contestant, strength));
            }
        }
    }
}

#[test]
fn weight_k_is_the_row_k_times_for_methods_of_classes_and_counts() {
    for (target, model) in
        [(Target::Classes, ModelKind::Logistic), (Target::Counts, ModelKind::Poisson)]
    {
        let sample = Sample::new(5, target, model.with_defaults());
        let strength = Strength { alpha: 1.0, ridge: Some(1e-2) };
        for kind in [MethodKind::Shrunk, MethodKind::Fedavg] {
            let sample = Sample { method: kind.with_defaults(), ..sample.clone() };
            let main = sample.weighted().main();
            check_fit(&format!("{kind}, {target:?}"), &sample, (main, strength));
        }
        // At given variances; where a likelihood is flat, its maximum is found to fewer digits.
        let variances = ["intercept", "a", "b"].map(|name| (name.to_string(), 0.3)).into();
        let method = Approach::Mixed(Mixed { variances, ..Mixed::default() });
        let sample = Sample { method, alpha: Some(0.5), ..sample };
        let strength = Strength { alpha: 0.5, ridge: None };
        check_fit(&format!("mixed, {target:?}"), &sample, (Contestant::Network, strength));
        // Which iterations find the minimum depends on how many rows they take; it does not.
        let method = MethodKind::Gtv.with_defaults();
        let stop = Stop { tolerance: 1e-14, rounds: 20_000 };
        let sample = Sample { method, stop, ..Sample::new(5, target, model.with_defaults()) };
        let strength = Strength { alpha: 0.05, ridge: Some(1e-2) };
        check_fit(&format!("gtv, {target:?}"), &sample, (Contestant::Network, strength));
    }
}
