//! On one shared public set all pulls at a node are one copy of it with the weighted mean as label,
//!
//! ```text
//! argmin  L(h) + α Σ_j A_j δ(h, h_j)  =  argmin  L(h) + α A δ(h, Σ_j A_j h_j / A)      A = Σ_j A_j
//! ```
//!
//! for squared loss and cross-entropy: the fit on the stacked copies has the same minimiser.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    method::{FedRelax, Method, Participant, fedrelax::PredictionMessage},
    model::{Hypothesis, Linear, LocalModel, Logistic, Tree, TreeHypothesis},
    network::{Neighbour, Node, View},
    random::{Purpose, Stream},
};

const ALPHA: f64 = 0.7;
const POINTS: usize = 50;

fn features(rows: usize, stream: &mut Stream) -> Features {
    let names = ["a", "b", "c", "d"].map(String::from).into();
    Features::new(names, (0..4 * rows).map(|_| stream.normal()).collect()).unwrap()
}

fn labels(task: Task, rows: usize, stream: &mut Stream) -> Labels {
    let mut values = Vec::new();
    for _ in 0..rows {
        let odds: Vec<f64> = (0..task.outputs()).map(|_| stream.normal().exp()).collect();
        let total = if task == Task::Regression { 1.0 } else { odds.iter().sum() };
        values.extend(odds.iter().map(|odds| odds / total));
    }
    Labels::new(task, values).unwrap()
}

/// What a node learns from seven neighbours in one round, and what its model learns from its rows
/// with the copies of all neighbours below.
fn collapsed_and_stacked(
    model: &Arc<dyn LocalModel>,
    task: Task,
    seed: u64,
) -> [Arc<dyn Hypothesis>; 2] {
    let stream = &mut Stream::new(seed, 0, 0, Purpose::Data);
    let data = Dataset::new(features(12, stream), labels(task, 12, stream)).unwrap();
    let public = Arc::new(features(POINTS, stream));
    let (mut neighbours, mut inbox, mut stacked) = (Vec::new(), Vec::new(), data.clone());
    for id in 1..=7 {
        let weight = 0.2 + stream.uniform();
        let said = labels(task, POINTS, stream);
        let pulls = vec![ALPHA * weight / POINTS as f64; POINTS];
        let copy = Dataset::weighted(public.as_ref().clone(), said.clone(), pulls).unwrap();
        stacked = stacked.stacked(&copy).unwrap();
        neighbours.push(Neighbour { id, weight, public: public.clone() });
        inbox.push((id, PredictionMessage { own: Arc::new(said), yours: None }));
    }
    let node = Node { id: 0, data, model: model.clone(), public };
    let method = FedRelax { alpha: ALPHA, ..FedRelax::default() };
    let mut participant = method.join(View { node, neighbours }).unwrap();
    participant.receive(&inbox).unwrap();
    [participant.hypothesis().unwrap().clone(), model.fit(&stacked).unwrap().into()]
}

#[test]
fn the_tree_of_the_stacked_copies_is_the_tree_of_one_copy() {
    for seed in 0..20 {
        for task in [Task::Regression, Task::Classification { classes: 3 }] {
            let model: Arc<dyn LocalModel> = Arc::new(Tree::default());
            let [one, other] = collapsed_and_stacked(&model, task, seed)
                .map(|fitted| fitted.downcast_ref::<TreeHypothesis>().unwrap().nodes.clone());
            assert!(one.count() > 8, "the tree has something to get wrong");
            assert_eq!(one.features, other.features, "{task:?} seed {seed}");
            assert_eq!(one.thresholds, other.thresholds, "{task:?} seed {seed}");
            assert_eq!(one.right, other.right, "{task:?} seed {seed}");
            let pairs = one.labels.iter().zip(&other.labels);
            let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-12, "{task:?} seed {seed}: {apart}");
        }
    }
}

#[test]
fn the_weights_of_the_stacked_copies_are_those_of_one_copy() {
    let linear: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let logistic: Arc<dyn LocalModel> = Arc::new(Logistic { ridge: 0.01, ..Logistic::default() });
    let classes = |classes| Task::Classification { classes };
    let cases = [(&linear, Task::Regression), (&logistic, classes(2)), (&logistic, classes(3))];
    for (model, task) in cases {
        for seed in 0..20 {
            let [one, other] = collapsed_and_stacked(model, task, seed)
                .map(|fitted| model.as_parametric().unwrap().weights(fitted.as_ref()).unwrap());
            assert!(one.iter().any(|weight| weight.abs() > 0.01));
            let apart = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-9, "{task:?} seed {seed}: {apart}");
        }
    }
}
