//! Weights in what a comparison says besides errors: intervals, likelihoods, evidence, classes, learned networks.

use fedgrid::{
    compare::{Contestant, MethodKind, Strength, Unwatched},
    data::Dataset,
    method::{MixedRounds, mixed::MixedKeys},
    mixed::Likelihood,
    model::ModelKind,
    network::Node,
    network_learning::NetworkLearning,
    observe::Stop,
    runtime::InProcess,
};

use super::{
    TOLERANCE, check,
    sample::{Sample, Target},
};

#[test]
fn intervals_cover_weighted_rows_as_they_cover_repeated_ones() {
    let method = MethodKind::Mixed.with_defaults();
    let sample =
        Sample { method, ..Sample::new(6, Target::Numbers, ModelKind::Linear.with_defaults()) };
    let strength = Strength { alpha: 0.5, ridge: None };
    let [a, b] = [sample.weighted(), sample.repeated()].map(|study| {
        let mut fitted = study.fit(strength, &Unwatched).unwrap();
        fitted.unseen = study.residuals(&fitted, None).unwrap();
        let intervals = study.intervals(&fitted).unwrap();
        let coverage = study.coverage(&fitted, &intervals, &intervals.bands(0.8).unwrap());
        let numbers = coverage.iter().map(|node| [node.covered, node.row_count, node.width]);
        let evidence = study.network_evidence().unwrap().unwrap();
        let posterior = study.posterior(&fitted).unwrap();
        let freedom = posterior.predictive.degrees_of_freedom;
        let said = [posterior.deviance, freedom, evidence.without];
        let factors: Vec<f64> =
            intervals.bands(0.8).unwrap().iter().map(|band| band.factor().unwrap()).collect();
        (numbers.flatten().chain(said).collect::<Vec<f64>>(), factors, evidence.ratio)
    });
    // A likelihood beside its shuffles is found to a few digits.
    assert!((a.2 - b.2).abs() < 1e-6, "{} and {}", a.2, b.2);
    for (a, b) in a.0.iter().chain(&a.1).zip(b.0.iter().chain(&b.1)) {
        assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs()), "{a} and {b}");
    }
}

#[test]
fn the_gain_of_weighted_rows_is_that_of_repeated_ones() {
    let sample = Sample::new(7, Target::Numbers, ModelKind::Linear.with_defaults());
    let [a, b] = [sample.weighted(), sample.repeated()].map(|study| {
        let card = study.card(Contestant::Local, &Unwatched).unwrap();
        let all = |of: fn(&fedgrid::compare::NodeEvidence) -> &Vec<f64>| {
            card.evidence.iter().map(|node| of(node).iter().sum::<f64>()).collect::<Vec<_>>()
        };
        [all(|node| &node.losses), all(|node| &node.residuals), all(|node| &node.tilts)].concat()
    });
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs()), "{a} and {b}");
    }
}

#[test]
fn weights_of_classes_are_weights_of_their_training_rows() {
    let sample = Sample::new(8, Target::Classes, ModelKind::Logistic.with_defaults());
    let by_class = Sample { class_weights: Some(vec![1.0, 2.0]), ..sample.clone() };
    // The same as a column of weights, but for errors.
    let mut by_row = sample.clone();
    for rows in &mut by_row.rows {
        for (count, y) in rows.counts.iter_mut().zip(&rows.y) {
            *count *= if *y > 0.5 { 2 } else { 1 };
        }
    }
    let strength = Strength { alpha: 0.1, ridge: Some(0.01) };
    for contestant in [Contestant::Local, Contestant::Pooled, Contestant::Network] {
        let [a, b, plain] = [&by_class, &by_row, &sample].map(|sample| {
            let study = sample.weighted();
            let fitted = study.fit_contestant(contestant, strength, &Unwatched).unwrap();
            study.for_table(&fitted.hypotheses)[0].predict(&sample.points()).as_slice().to_vec()
        });
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < TOLERANCE), "{contestant}");
        assert!(a.iter().zip(&plain).any(|(a, b)| (a - b).abs() > 1e-3), "{contestant}");
    }
    let study = by_class.weighted();
    let card = study.card(Contestant::Local, &Unwatched).unwrap();
    let rows: f64 = card.nodes.iter().map(fedgrid::compare::NodeScore::row_count).sum();
    let counted: f64 = study
        .rows
        .iter()
        .zip(&study.plan.test)
        .map(|(data, rows)| rows.iter().map(|&row| data.count(row)).sum::<f64>())
        .sum();
    assert!((rows - counted).abs() < 1e-12, "errors are of rows as they are");
    check("class weights", &by_class, Contestant::Network);
}

#[test]
fn nodes_that_talk_estimate_the_mixed_model_of_weighted_rows() {
    let method = MethodKind::Mixed.with_defaults();
    let sample =
        Sample { method, ..Sample::new(6, Target::Numbers, ModelKind::Linear.with_defaults()) };
    let study = sample.weighted();
    let strength = Strength { alpha: 0.5, ridge: None };
    let fitted = study.fit(strength, &Unwatched).unwrap();
    let views = study.network.views(study.nodes(None)).unwrap();
    let (shared, free, variances) = (Vec::new(), Vec::new(), Vec::new());
    let (likelihood, rho) = (Likelihood::default(), None);
    let keys = MixedKeys { shared, free, variances, likelihood, rho, seed: 7 };
    let method = MixedRounds::new(&study.network, keys).unwrap();
    let runtime = InProcess { stop: Stop::when_all_have_ended(), ..InProcess::default() };
    let run = runtime.run(&method, views).unwrap();
    let points = study.scales.as_ref().unwrap().features(&sample.points()).unwrap();
    for (own, known) in run.hypotheses.iter().zip(&fitted.hypotheses) {
        let (a, b) = (own.as_ref().unwrap().predict(&points), known.predict(&points));
        let close = a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close, "{a:?} and {b:?}");
    }
}

#[test]
fn who_helps_whom_is_the_same_where_all_rows_choose_and_measure() {
    let sample = Sample::new(9, Target::Numbers, ModelKind::Linear.with_defaults());
    let learn = NetworkLearning { turns: 1, share: 1.0, ..NetworkLearning::default() };
    let [a, b] = [sample.weighted(), sample.repeated()].map(|study| {
        let node = |(id, data): (usize, Dataset)| Node {
            id,
            data,
            model: study.models[id].clone(),
            public: study.public[id].clone(),
        };
        let nodes: Vec<Node> = study.training_data().into_iter().enumerate().map(node).collect();
        let learned = learn.learn(study.network.names().to_vec(), &nodes).unwrap();
        let numbers =
            learned.pairs.iter().flat_map(|pair| [pair.forward, pair.backward, pair.confidence]);
        numbers.collect::<Vec<f64>>()
    });
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs()), "{a} and {b}");
    }
}
