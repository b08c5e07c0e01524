//! The many forms of FedRelax: discrepancies, local steps, relaxation, and the message radius.

use std::sync::Arc;

use fedgrid::{
    algebra::{Cholesky, Singular, dot},
    data::{Dataset, Features, Labels, Task},
    loss::Loss,
    method::{
        FedRelax, Message, Method, Participant,
        fedrelax::{Coupling, LocalStep, PredictionMessage},
    },
    model::{Linear, Logistic, Poisson, Tree},
    network::{Neighbour, Node, View},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{InProcess, Order, Run},
};

use crate::setting::{Setting, predictions};

fn run(setting: &Setting, method: &FedRelax) -> Run {
    let stop = Stop { tolerance: 1e-12, rounds: 20_000 };
    InProcess { stop, order: Order::AtOnce }.run(method, setting.views()).unwrap()
}

fn found(setting: &Setting, method: &FedRelax) -> Vec<Vec<f64>> {
    predictions(run(setting, method).hypotheses.iter().flatten(), setting)
}

fn difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn huber_with_a_wide_threshold_is_squared_and_with_a_narrow_one_is_not() {
    let setting = Setting::new(Task::Regression);
    let with = |loss| FedRelax { alpha: 0.5, discrepancy: Some(loss), ..FedRelax::default() };
    let squared = found(&setting, &with(Loss::Squared));
    let wide = found(&setting, &with(Loss::Huber { threshold: 1e9 }));
    assert!(difference(&squared, &wide) < 1e-9);
    let narrow = found(&setting, &with(Loss::Huber { threshold: 0.1 }));
    assert!(difference(&squared, &narrow) > 0.05);
}

#[test]
fn the_absolute_discrepancy_ends_where_no_node_can_do_better_alone() {
    let setting = Setting::new(Task::Regression);
    let alpha = 0.5;
    let loss = Some(Loss::Absolute);
    let method = FedRelax { alpha, discrepancy: loss, ..FedRelax::default() };
    let run = run(&setting, &method);
    let nodes = setting.nodes();
    let on_public: Vec<Labels> =
        run.hypotheses.iter().flatten().map(|h| h.predict(&nodes[0].public)).collect();
    let objective = |node: usize, shift: f64, slope: usize| {
        let points = &nodes[node].public;
        let moved = |features: &Features, labels: &Labels| {
            let values = features.iter().zip(labels.as_slice());
            Labels::values(values.map(|(x, p)| p + shift * x.get(slope).unwrap_or(&1.0)).collect())
        };
        let data = &nodes[node].data;
        let own = run.hypotheses[node].as_ref().unwrap().predict(data.features());
        let local = Loss::Squared.mean(data.labels(), &moved(data.features(), &own));
        let pulls = setting.network.neighbours(node).iter().map(|&(j, weight)| {
            weight * Loss::Absolute.mean(&on_public[j], &moved(points, &on_public[node]))
        });
        local + alpha * pulls.sum::<f64>()
    };
    for node in 0..nodes.len() {
        for slope in 0..Setting::size() {
            for shift in [1e-3, -1e-3] {
                let now = objective(node, 0.0, slope);
                let gain = (now - objective(node, shift, slope)) / now;
                assert!(gain < 1e-4, "node {node}, weight {slope}: {gain}");
            }
        }
    }
}

#[test]
fn kullback_leibler_pulls_as_cross_entropy_does() {
    let task = Task::Classification { classes: 3 };
    let setting = Setting { models: vec![Arc::new(Logistic::default())], ..Setting::new(task) };
    let with = |loss| FedRelax { alpha: 0.5, discrepancy: Some(loss), ..FedRelax::default() };
    let runtime = InProcess { stop: Stop { tolerance: 1e-9, rounds: 300 }, order: Order::AtOnce };
    let run = |loss| runtime.run(&with(loss), setting.views()).unwrap();
    let (kl, entropy) = (run(Loss::KullbackLeibler), run(Loss::CrossEntropy));
    let on = |run: &Run| predictions(run.hypotheses.iter().flatten(), &setting);
    assert_eq!(on(&kl), on(&entropy));
    assert!(kl.history.last().unwrap().gtv < entropy.history.last().unwrap().gtv);
    let error = runtime.run(&with(Loss::Squared), setting.views()).unwrap_err().to_string();
    assert!(error.starts_with("this discrepancy needs another target"), "{error}");
}

#[test]
fn a_poisson_node_takes_predictions_below_zero_for_zero() {
    let models: Vec<Arc<dyn fedgrid::model::LocalModel>> =
        vec![Arc::new(Linear::default()), Arc::new(Poisson::default())];
    let mut setting = Setting { models, ..Setting::new(Task::Regression) };
    // Labels at odd nodes are left out, so that their models come from neighbours below zero.
    setting.empty = vec![1, 3, 5];
    let method = FedRelax { alpha: 1.0, ..FedRelax::default() };
    let run = InProcess::default().run(&method, setting.views()).unwrap();
    let first = &setting.nodes()[0];
    let lowest = |hypothesis: &dyn fedgrid::model::Hypothesis| {
        let predictions = hypothesis.predict(&first.public);
        predictions.as_slice().iter().copied().fold(f64::INFINITY, f64::min)
    };
    let told = first.model.fit(&first.data).unwrap();
    assert!(lowest(told.as_ref()) < 0.0, "the neighbour begins below zero");
    assert!(lowest(run.hypotheses[1].as_ref().unwrap().as_ref()) >= 0.0);
}

#[test]
fn relaxation_moves_no_fixed_point() {
    let setting = Setting { shared: false, ..Setting::new(Task::Regression) };
    let with = |relaxation| FedRelax { alpha: 0.5, relaxation, ..FedRelax::default() };
    let plain = found(&setting, &with(1.0));
    for relaxation in [0.5, 1.2] {
        assert!(difference(&plain, &found(&setting, &with(relaxation))) < 1e-8);
    }
    let error = InProcess::default().run(&with(2.0), setting.views()).unwrap_err();
    assert_eq!(error.to_string(), "relaxation is 2, expected a number between zero and two");
}

#[test]
fn distillation_changes_the_way_and_keeps_a_model_near_itself() {
    let models = vec![Arc::new(Tree::default()) as Arc<dyn fedgrid::model::LocalModel>];
    let setting = Setting { models, ..Setting::new(Task::Regression) };
    let once = |step| {
        let method = FedRelax { alpha: 1.0, step, ..FedRelax::default() };
        let runtime = InProcess { stop: Stop { tolerance: 0.0, rounds: 1 }, order: Order::AtOnce };
        let run = runtime.run(&method, setting.views()).unwrap();
        run.history[0].residual
    };
    let (refit, distil) =
        (once(LocalStep::Refit), once(LocalStep::Distil { points: 100, seed: 1 }));
    assert!(distil < refit, "{distil} {refit}");
}

#[test]
fn a_prepared_and_a_plain_refit_give_the_same_rounds() {
    // With one silent round the weights change, and what was prepared must be prepared anew.
    let mut setting = Setting::new(Task::Regression);
    setting.empty = vec![2];
    let method = FedRelax { alpha: 0.5, ..FedRelax::default() };
    let rounds = found(&setting, &method);
    let dense = setting.dense_solution(0.5, Coupling::OneSided);
    let expected = predictions(&Setting::hypotheses(&dense), &setting);
    assert!(difference(&rounds, &expected) < 1e-8);
}

/// One node with a strongly convex loss and a neighbour that says what it likes.
struct Besieged {
    node: Node,
    weight: f64,
    /// The modulus μ of the local loss in the public norm.
    modulus: f64,
}

impl Besieged {
    fn new(rows: &[[f64; 2]], points: &[[f64; 2]], weight: f64) -> Self {
        let features = Features::from_rows(&["a", "b"], rows).unwrap();
        let labels = Labels::values(rows.iter().map(|x| x[0] - 2.0 * x[1] + 0.3).collect());
        let public = Arc::new(Features::from_rows(&["a", "b"], points).unwrap());
        let model = Arc::new(Linear { ridge: 0.0, intercept: false });
        let data = Dataset::new(features, labels).unwrap();
        let modulus = modulus(data.features(), &public);
        Self { node: Node { id: 0, data, model, public }, weight, modulus }
    }

    fn join(&self, alpha: f64, clip: f64) -> <FedRelax as Method>::Participant {
        let public = self.node.public.clone();
        let neighbour = Neighbour { id: 1, weight: self.weight, public };
        let method = FedRelax { alpha, clip: Some(clip), ..FedRelax::default() };
        method.join(View { node: self.node.clone(), neighbours: vec![neighbour] }).unwrap()
    }

    /// The distance of a participant's predictions from local training, in the public norm.
    fn distance(&self, participant: &impl Participant) -> f64 {
        let local = self.node.model.fit(&self.node.data).unwrap().predict(&self.node.public);
        let now = participant.hypothesis().unwrap().predict(&self.node.public);
        Loss::Squared.mean(&local, &now).sqrt()
    }
}

/// The smallest eigenvalue of K^-½ 2Q K^-½, with Q of the rows and K of the public points.
fn modulus(rows: &Features, points: &Features) -> f64 {
    let moment = |rows: &Features| {
        let mut moment = vec![0.0; 4];
        for x in rows.iter() {
            for (k, value) in moment.iter_mut().enumerate() {
                *value += x[k / 2] * x[k % 2] / rows.rows() as f64;
            }
        }
        moment
    };
    // 1/μ is the largest eigenvalue of (2Q)^-1 K; power iteration on two weights.
    let double: Vec<f64> = moment(rows).iter().map(|value| 2.0 * value).collect();
    let factor = Cholesky::new(double, 2).unwrap();
    let k = moment(points);
    let (mut v, mut largest) = (vec![1.0, 0.3], 0.0);
    for _ in 0..10_000 {
        let mut next = vec![dot(&k[..2], &v), dot(&k[2..], &v)];
        factor.solve(&mut next);
        largest = dot(&next, &next).sqrt();
        v = next.iter().map(|x| x / largest).collect();
    }
    assert!(Singular::new(&k, 2).values.iter().all(|s| *s > 0.0));
    1.0 / largest
}

fn message(values: Vec<f64>) -> Vec<(usize, PredictionMessage)> {
    vec![(1, PredictionMessage { own: Arc::new(Labels::values(values)), yours: None })]
}

#[test]
fn a_lying_neighbour_moves_a_clipped_node_no_farther_than_the_bound() {
    let mut stream = Stream::new(4, 0, 0, Purpose::Data);
    let mut updates = 0;
    for case in 0..100 {
        let draw = |stream: &mut Stream| [stream.normal(), stream.normal()];
        let rows: Vec<[f64; 2]> = (0..5).map(|_| draw(&mut stream)).collect();
        let points: Vec<[f64; 2]> = (0..4).map(|_| draw(&mut stream)).collect();
        let node = Besieged::new(&rows, &points, 0.5 + stream.uniform());
        let (alpha, clip) = (10_f64.powf(2.0 * stream.uniform() - 1.0), 0.1 + stream.uniform());
        let bound = 2.0 * alpha * node.weight * clip / node.modulus;
        let mut participant = node.join(alpha, clip);
        let direction = draw(&mut stream);
        for _ in 0..1000 {
            let size = 10_f64.powf(6.0 * stream.uniform() - 2.0);
            let lie = |x: &[f64]| match case % 3 {
                0 => size * dot(&direction, x),
                1 => size * (x[0] - x[1]).signum(),
                _ => -size * x[0] * x[1],
            };
            let values = node.node.public.iter().map(lie).collect();
            participant.receive(&message(values)).unwrap();
            updates += 1;
            let distance = node.distance(&participant);
            assert!(distance <= bound * (1.0 + 1e-9), "case {case}: {distance} > {bound}");
        }
    }
    assert_eq!(updates, 100_000);
}

#[test]
fn the_bound_of_a_clipped_node_is_tight() {
    // Rows and public points that weigh all directions alike: a steady push reaches the bound.
    let square = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
    let node = Besieged::new(&square, &square, 0.7);
    let (alpha, clip) = (0.8, 0.3);
    let bound = 2.0 * alpha * node.weight * clip / node.modulus;
    let mut participant = node.join(alpha, clip);
    for _ in 0..200 {
        let values = node.node.public.iter().map(|x| 1e6 * (x[0] + 0.5 * x[1])).collect();
        participant.receive(&message(values)).unwrap();
    }
    let reached = node.distance(&participant) / bound;
    assert!(reached > 0.99 && reached <= 1.0 + 1e-9, "{reached}");
}

#[test]
fn a_message_knows_its_size() {
    let (_, shared) = message(vec![1.0, 2.0, 3.0]).remove(0);
    assert_eq!(shared.bytes(), 24);
}
