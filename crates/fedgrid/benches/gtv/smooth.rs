//! Losses that are smooth but not quadratic, with ‖·‖₂: the augmented Lagrangian to a certified gap against
//! first-order steps to the same relative error of the objective, in processor time of one thread.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{LocalModel, Logistic, Poisson},
    network::{Clustered, Network, Node},
    optimum::gtv::{Coupled, FirstOrder, Goal, Losses, critical, minimise, run_iterations},
    random::{Purpose, Stream},
};

use super::{NORM, on_one_thread};

/// The strength as a share of the critical one, at which clusters are neither all nodes nor one.
const MIDDLING_SHARE: f64 = 0.1;
/// First-order steps at most.
const MOST_STEPS: usize = 20_000;

pub(crate) fn smooth() {
    let three: Arc<dyn LocalModel> = Arc::new(Logistic { ridge: 1e-3, ..Logistic::default() });
    let counts: Arc<dyn LocalModel> = Arc::new(Poisson { ridge: 1e-3, ..Poisson::default() });
    case("60 nodes, 13 rows, 2 features, 3 classes", &made(60, 2, &three, classes));
    case("300 nodes, 13 rows, 5 features, counts", &made(300, 5, &counts, numbers));
}

fn case(name: &str, (network, data): &(Network, Vec<Node>)) {
    let losses = Losses::new(data, true).expect("all nodes have one model");
    let strongest = critical(&losses, network, NORM).expect("losses are smooth").expect("a norm");
    let coupled = Coupled { alpha: MIDDLING_SHARE * strongest.at_most, penalty: NORM };
    let solve = |tolerance: f64| {
        let goal = Goal { tolerance, steps: MOST_STEPS };
        minimise(&losses, network, coupled, None, goal).expect("it can be solved")
    };
    let least = solve(1e-10).objective;
    println!("{name}, {} edges, alpha {:.4}:", network.edges().len(), coupled.alpha);
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let found = solve(tolerance);
        let ours = on_one_thread(|| drop(solve(tolerance)));
        let steps = AtomicUsize::new(0);
        let first_order = on_one_thread(|| {
            let (count, adaptive) = ((MOST_STEPS, 5), FirstOrder::Adaptive);
            run_iterations(&losses, network, coupled, adaptive, count, |step, value| {
                steps.store(step, Relaxed);
                value - least <= tolerance * least.abs()
            })
            .expect("the proximal steps can be taken");
        });
        let gap = found.relative_gap().map_or("none".into(), |gap| format!("{gap:.1e}"));
        println!(
            "   {tolerance:.0e}: {}, {} steps, certified {gap}, error {:.1e}: {ours:.4} s; first-order to an error of {tolerance:.0e}, {} steps: {first_order:.4} s, {:.1}x",
            found.engine,
            found.steps,
            (found.objective - least).abs() / least.abs(),
            steps.load(Relaxed),
            first_order / ours
        );
    }
}

/// Labels of rows from the outputs of the cluster's true weights.
type Drawn = fn(&[Vec<f64>], &mut Stream) -> Labels;

/// Two clusters of nodes with 13 rows each.
fn made(
    nodes: usize,
    features: usize,
    model: &Arc<dyn LocalModel>,
    labels: Drawn,
) -> (Network, Vec<Node>) {
    let names: Arc<[String]> = (0..features).map(|k| format!("x{k}")).collect();
    let public = Arc::new(Features::empty(names.clone()));
    let truth = &mut Stream::new(0, nodes, 1, Purpose::Data);
    let truth: Vec<f64> = (0..6 * features).map(|_| 0.4 * truth.normal()).collect();
    let node = |id: usize| {
        let stream = &mut Stream::new(0, id, 0, Purpose::Data);
        let own = &truth[3 * features * usize::from(id >= nodes / 2)..][..3 * features];
        let (mut x, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..13 {
            let row: Vec<f64> = (0..features).map(|_| stream.normal()).collect();
            let output = |w: &[f64]| row.iter().zip(w).map(|(a, b)| a * b).sum();
            outputs.push(own.chunks_exact(features).map(output).collect());
            x.extend(row);
        }
        let labels = labels(&outputs, stream);
        let features = Features::new(names.clone(), x).expect("draws are finite");
        let data = Dataset::weighted(features, labels, vec![1.0 / 13.0; 13]);
        let data = data.expect("as many labels as rows");
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    let half = nodes / 2;
    let (inside, between) = (9.5 / half as f64, 0.5 / half as f64);
    let network = Clustered { clusters: 2, nodes: half, inside, between, seed: 0 };
    (network.make().expect("the network can be made").0, (0..nodes).map(node).collect())
}

/// One of three classes with the probabilities of the outputs, by Gumbel's draws.
fn classes(outputs: &[Vec<f64>], stream: &mut Stream) -> Labels {
    let mut class = |outputs: &Vec<f64>| {
        let mut best = (0, f64::NEG_INFINITY);
        for (class, output) in outputs.iter().enumerate() {
            let drawn = output - (-stream.uniform().max(1e-12).ln()).ln();
            if drawn > best.1 {
                best = (class, drawn);
            }
        }
        best.0
    };
    let drawn: Vec<usize> = outputs.iter().map(&mut class).collect();
    Labels::classes(3, &drawn).expect("three classes")
}

/// Poisson counts whose logarithmic mean is the first output.
fn numbers(outputs: &[Vec<f64>], stream: &mut Stream) -> Labels {
    let mut count = |outputs: &Vec<f64>| {
        let least = (-outputs[0].exp()).exp();
        let (mut count, mut product) = (0.0, stream.uniform());
        while product > least {
            count += 1.0;
            product *= stream.uniform();
        }
        count
    };
    Labels::values(outputs.iter().map(&mut count).collect())
}
