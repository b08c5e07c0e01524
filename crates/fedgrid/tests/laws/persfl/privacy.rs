//! What probes give away, and what they must not.

use std::sync::Arc;

use fedgrid::{
    data::{Labels, Task},
    method::{
        Message, Method, Participant, PersFl,
        persfl::{Budget, PersFlMessage, Probe, ProbeAnswer, ProbeQuestion, ProbeRefusal},
    },
    model::Tree,
    network::complete,
    random::{Purpose, Stream},
};

use super::setting::made;

#[test]
fn probes_and_bytes_are_counted_for_every_pair() {
    let made = made((0..5).map(|id| id % 2).collect(), [4, 3], 0.1, 1);
    let method = PersFl { candidates: 2, ..PersFl::default() };
    let run = made.by_messages(&method, 7);
    for target in 0..5 {
        let asked = run.tallies.iter().filter(|tally| tally.target == target);
        assert_eq!(asked.map(|tally| tally.probes).sum::<usize>(), 14);
    }
    for tally in &run.tallies {
        let sent = |from, to| {
            let both = run.traffic.iter().find(|t| (t.from, t.to) == (from, to));
            both.map_or(0, |traffic| traffic.bytes)
        };
        let probes = |target, candidate| {
            let of = run.tallies.iter();
            of.filter(|t| (t.target, t.candidate) == (target, candidate)).map(|t| t.probes).sum()
        };
        // Three weights to the candidate and three back, in both directions.
        let (asked, answered): (usize, usize) =
            (tally.probes, probes(tally.candidate, tally.target));
        assert_eq!(sent(tally.target, tally.candidate), 24 * (asked + answered));
        assert_eq!(tally.bytes, 2 * 24 * asked);
    }
}

/// Asks a candidate for gradients at a base point and along random directions, and rebuilds its Gram
/// matrix from what it is told: the largest relative error, and how many questions were refused.
fn attack(budget: Budget, [rows, columns]: [usize; 2]) -> (f64, usize) {
    let made = made(vec![0, 0], [rows, columns], 0.5, 9);
    let method = PersFl { budget, targets: Some([].into()), ..PersFl::default() };
    let views = complete(2).unwrap().views(made.nodes.clone()).unwrap();
    let mut candidate = method.join(views[1].clone()).unwrap();
    let mut stream = Stream::new(5, 0, 0, Purpose::Start);
    let mut refused = 0;
    let mut ask = |weights: Vec<f64>| {
        let question = PersFlMessage::Question(ProbeQuestion::Gradient { weights: weights.into() });
        assert_eq!(question.bytes(), 8 * columns);
        candidate.receive(&[(0, question)]).unwrap();
        let answer = candidate.send().pop().unwrap().1;
        candidate.receive(&[]).unwrap();
        match answer {
            PersFlMessage::Answer(ProbeAnswer::Numbers(numbers)) => Some(numbers),
            PersFlMessage::Answer(ProbeAnswer::Refused(ProbeRefusal::BudgetSpent)) => {
                refused += 1;
                None
            }
            other => panic!("unexpected {other:?}"),
        }
    };
    let base = ask(vec![0.0; columns]).unwrap();
    let (mut directions, mut images) = (Vec::new(), Vec::new());
    for _ in 0..rows.min(columns) {
        let direction: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
        if let Some(told) = ask(direction.clone()) {
            directions.push(direction);
            images
                .push(told.iter().zip(base.iter()).map(|(a, b)| 0.5 * (a - b)).collect::<Vec<_>>());
        }
    }
    let rebuilt = nystroem(&directions, &images, columns);
    let data = &made.nodes[1].data;
    let entry = |a: usize, b: usize| -> f64 {
        data.features().iter().map(|x| x[a] * x[b] / rows as f64).sum()
    };
    let (mut error, mut size) = (0.0_f64, 0.0_f64);
    for (index, value) in rebuilt.iter().enumerate() {
        let truth = entry(index / columns, index % columns);
        error = error.max((value - truth).abs());
        size = size.max(truth.abs());
    }
    (error / size, refused)
}

/// `Y (Ωᵀ Y)⁺ Yᵀ` from the columns of Ω and Y = G Ω.
fn nystroem(directions: &[Vec<f64>], images: &[Vec<f64>], columns: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let count = directions.len();
    let core: Vec<f64> =
        (0..count * count).map(|k| dot(&directions[k / count], &images[k % count])).collect();
    let svd = fedgrid::algebra::Singular::new(&core, count);
    let solved = |right: &[f64]| -> Vec<f64> {
        let mut solution = vec![0.0; count];
        for ((s, left), v) in svd.values.iter().zip(&svd.scaled_left).zip(&svd.right) {
            let along = dot(left, right) / (s * s);
            solution.iter_mut().zip(v).for_each(|(x, v)| *x += along * v);
        }
        solution
    };
    let mut rebuilt = vec![0.0; columns * columns];
    for a in 0..columns {
        let row = solved(&images.iter().map(|image| image[a]).collect::<Vec<_>>());
        for b in 0..columns {
            rebuilt[a * columns + b] = row.iter().zip(images).map(|(r, image)| r * image[b]).sum();
        }
    }
    rebuilt
}

#[test]
fn gradient_probes_give_the_gram_matrix_away_unless_a_budget_stops_them() {
    for sizes in [[6, 12], [20, 8]] {
        let (error, refused) = attack(Budget::Unlimited, sizes);
        assert!(error < 1e-9 && refused == 0, "{error}");
        let (error, refused) = attack(Budget::Half, sizes);
        let smaller = sizes[0].min(sizes[1]);
        assert!(error > 0.1, "{error}");
        assert_eq!(refused, smaller + 1 - smaller / 2);
        let (error, refused) = attack(Budget::Noise { deviation: 1.0, secret: 5 }, sizes);
        assert!(error > 0.1 && refused == 0, "{error}");
    }
}

#[test]
fn a_spent_budget_is_counted_and_repeated_questions_cost_nothing() {
    let made = made(vec![0, 0], [6, 4], 0.5, 9);
    let method = PersFl { budget: Budget::Half, ..PersFl::default() };
    let run = made.by_messages(&method, 10);
    for tally in &run.tallies {
        assert_eq!((tally.probes, tally.rewarded), (10, 2));
        // The weights stay where the last answer left them, so only the question there is new.
        assert_eq!((tally.refused, tally.budget_spent), (8, 8));
    }
    let views = complete(2).unwrap().views(made.nodes).unwrap();
    let mut candidate = method.join(views[1].clone()).unwrap();
    for _ in 0..9 {
        candidate.send();
        let question = ProbeQuestion::Gradient { weights: vec![1.0; 4].into() };
        candidate.receive(&[(0, PersFlMessage::Question(question))]).unwrap();
        let answer = &candidate.send()[0].1;
        assert!(matches!(answer, PersFlMessage::Answer(ProbeAnswer::Numbers(_))), "{answer:?}");
        candidate.receive(&[]).unwrap();
    }
}

#[test]
fn refits_of_trees_answer_with_predictions_and_of_linear_models_with_themselves() {
    for (made, linear) in [
        (made(vec![0, 0], [6, 2], 0.5, 9), true),
        (made(vec![0, 0], [6, 2], 0.5, 9).with_model(Tree::default()), false),
    ] {
        let public = made.nodes[0].public.clone();
        let method = PersFl { probe: Probe::Refit, ..PersFl::default() };
        let mut views = complete(2).unwrap().views(made.nodes).unwrap();
        let mut candidate = method.join(views.pop().unwrap()).unwrap();
        candidate.send();
        let predictions = Arc::new(Labels::neutral(Task::Regression, public.rows()));
        let question = ProbeQuestion::Refit { predictions, step: 0.5 };
        candidate.receive(&[(0, PersFlMessage::Question(question.clone()))]).unwrap();
        match &candidate.send()[0].1 {
            PersFlMessage::Answer(ProbeAnswer::Linear(_)) => assert!(linear),
            PersFlMessage::Answer(ProbeAnswer::Predictions(labels)) => {
                assert!(!linear && labels.rows() == public.rows());
            }
            other => panic!("unexpected {other:?}"),
        }
        // Whoever is not a neighbour, or asks what makes no sense, learns nothing.
        candidate.receive(&[]).unwrap();
        candidate.send();
        let nonsense = ProbeQuestion::Gradient { weights: vec![f64::NAN; 2].into() };
        let asked =
            [(0, PersFlMessage::Question(nonsense)), (7, PersFlMessage::Question(question))];
        candidate.receive(&asked).unwrap();
        let answers = candidate.send();
        assert_eq!(answers.len(), 1);
        let refused = PersFlMessage::Answer(ProbeAnswer::Refused(ProbeRefusal::OtherModel));
        assert_eq!(format!("{:?}", answers[0].1), format!("{refused:?}"));
    }
}
