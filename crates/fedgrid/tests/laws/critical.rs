//! From the critical strength on all coupled weights of a component are equal, and below it they differ,
//! for losses that are no parabolas.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{Huber, LocalModel, Logistic, Poisson},
    network::{Network, Node, grid},
    optimum::gtv::{Coupled, Goal, Losses, critical, minima, minimise, strengths},
    penalty::Penalty,
    random::{Purpose, Stream},
};

const COLUMNS: usize = 2;

/// Labels of a line's values, with noise.
type Labelling = fn(&[f64]) -> Labels;

/// Twelve nodes on a grid, the left half of another slope than the right, two of them without rows.
fn setting(model: &Arc<dyn LocalModel>, labels: Labelling) -> (Vec<Node>, Network) {
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    let public = Arc::new(Features::empty(names.clone()));
    let node = |id: usize| {
        let stream = &mut Stream::new(5, id, 0, Purpose::Data);
        let slope = if id % 4 < 2 { 1.0 } else { -0.5 };
        let count = if id % 5 == 4 { 0 } else { 12 };
        let x: Vec<f64> = (0..COLUMNS * count).map(|_| stream.normal()).collect();
        let lines: Vec<f64> =
            x.chunks_exact(COLUMNS).map(|x| slope * x[0] - 0.3 * x[1] + stream.normal()).collect();
        let features = Features::new(names.clone(), x).unwrap();
        let data = Dataset::new(features, labels(&lines)).unwrap();
        let data = if count == 0 {
            Dataset::empty(names.clone(), data.task())
        } else {
            data.with_total_weight(1.0)
        };
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    let nodes = (0..12).map(node).collect();
    (nodes, grid(3, 4).unwrap())
}

fn classes(lines: &[f64]) -> Labels {
    let classes: Vec<usize> = lines.iter().map(|line| usize::from(*line > 0.0)).collect();
    Labels::classes(2, &classes).unwrap()
}

fn values(lines: &[f64]) -> Labels {
    Labels::values(lines.to_vec())
}

fn counts(lines: &[f64]) -> Labels {
    Labels::values(lines.iter().map(|line| line.exp().round()).collect())
}

/// The largest distance of a node's coupled weights from the first node's.
fn spread(losses: &Losses, weights: &[f64], coupled: usize) -> f64 {
    let rows: Vec<&[f64]> =
        weights.chunks_exact(losses.size()).map(|row| &row[..coupled]).collect();
    let apart =
        |row: &&[f64]| row.iter().zip(rows[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    rows.iter().map(apart).fold(0.0, f64::max)
}

#[test]
fn smooth_losses_have_a_critical_strength_whether_or_not_intercepts_are_coupled() {
    let kinds: [(Arc<dyn LocalModel>, Labelling); 3] = [
        (Arc::new(Logistic { ridge: 0.05, ..Logistic::default() }), classes),
        (Arc::new(Huber::default()), values),
        (Arc::new(Poisson { ridge: 0.05, ..Poisson::default() }), counts),
    ];
    for (model, labels) in &kinds {
        let (nodes, network) = setting(model, *labels);
        for couple_intercept in [true, false] {
            let losses = Losses::new(&nodes, couple_intercept).unwrap();
            let coupled = losses.size() - usize::from(!couple_intercept);
            for penalty in [Penalty::Norm, Penalty::OneNorm] {
                let bounds = critical(&losses, &network, penalty).unwrap().unwrap();
                assert!(bounds.at_most <= 1.05 * bounds.at_least, "{model:?} {bounds:?}");
                let solve = |alpha: f64| {
                    let goal = Goal { tolerance: 1e-9, steps: 200_000 };
                    let coupled = Coupled { alpha, penalty };
                    minimise(&losses, &network, coupled, None, goal).unwrap().weights
                };
                let above = spread(&losses, &solve(1.02 * bounds.at_most), coupled);
                let below = spread(&losses, &solve(0.95 * bounds.at_least), coupled);
                let what = format!("{model:?} {penalty:?} {couple_intercept}: {above:e} {below:e}");
                assert!(above < 1e-3 && below > 3e-3 && below > 5.0 * above, "{what}");
            }
        }
    }
}

#[test]
fn a_path_of_logistic_regressions_begins_with_one_model_for_all() {
    let model: Arc<dyn LocalModel> = Arc::new(Logistic { ridge: 0.05, ..Logistic::default() });
    let (nodes, network) = setting(&model, classes);
    let losses = Losses::new(&nodes, true).unwrap();
    let alphas = strengths(&losses, &network, Penalty::Norm, 4, 0.1).unwrap();
    let goal = Goal { tolerance: 1e-8, steps: 200_000 };
    let found = minima(&losses, &network, Penalty::Norm, &alphas, goal).unwrap();
    let spreads: Vec<f64> =
        found.iter().map(|one| spread(&losses, &one.weights, losses.size())).collect();
    assert!(spreads[0] < 1e-3, "{spreads:?}");
    assert!(spreads.is_sorted() && spreads[3] > 0.1, "{spreads:?}");
}
