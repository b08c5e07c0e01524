//! The fixed point of FedRelax of logistic models, four ways to a residual of 1e-8 on one thread: Newton's method on
//! the coupled equations, rounds of refits that start from the last ones, such rounds with Anderson's acceleration, and
//! accelerated rounds in which every node takes a single Newton step instead of a refit,
//!
//! ```text
//! w ← G(w) − Σ_k γ_k (G_{k+1} − G_k)      γ = argmin ‖F − Σ_k γ_k (F_{k+1} − F_k)‖,   F = G(w) − w
//! ```
//!
//! over the last few rounds. [Walker and Ni, "Anderson acceleration for fixed-point iterations", 2011.] An accelerated
//! round is counted with the time of a plain one of its kind, so that what it needs beside is given to it.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{sync::Arc, time::Instant};

use fedgrid::{
    algebra::{Cholesky, add_scaled, dot},
    data::{Dataset, Features, Labels, Task},
    method::{FedRelax, Pooled},
    model::{Hypothesis, Logistic, Parametric},
    network::{Clustered, Network, Node},
    observe::Stop,
    optimum::{SmoothCoupling, SmoothNetwork, SmoothStart},
    random::{Purpose, Stream},
    runtime::{InProcess, Order, Run},
};

const TOLERANCE: f64 = 1e-8;
/// Rounds at most.
const MOST_ROUNDS: usize = 500;
/// How many rounds acceleration remembers: the usual number.
const MEMORY_ROUNDS: usize = 8;
/// The share of the largest square that is added to the diagonal of its small system, which may be singular.
const LEAST_SHARE: f64 = 1e-12;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread is there");
    println!(
        "| case | α | Newton | rounds | their number | accelerated | their number | single steps, accelerated | their number |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, classes, ridge) in
        [("two classes", 2, 1e-2), ("three classes", 3, 1e-3), ("four classes", 4, 1e-4)]
    {
        for alpha in [1e-2, 1.0, 10.0] {
            pool.install(|| report(name, classes, ridge, alpha));
        }
    }
}

fn report(name: &str, classes: usize, ridge: f64, alpha: f64) {
    let (network, nodes) = made(classes, ridge);
    let smooth = SmoothNetwork::new(&nodes).expect("all losses are smooth");
    let pooled = Pooled.fit(&nodes).expect("there are rows");
    let pooled: Vec<Arc<dyn Hypothesis>> = pooled.into_iter().collect();
    let start = smooth.weights_of(pooled.iter().map(AsRef::as_ref)).expect("models have weights");
    let coupled = vec![true; nodes.len()];
    let coupling = SmoothCoupling { network: &network, alpha, anchor: None, is_coupled: &coupled };
    let (newton, solution) = timed(|| {
        smooth.solve(&coupling, SmoothStart::new(start.clone()), TOLERANCE).expect("α is right")
    });
    assert!(solution.converged, "{name}, {alpha}: {}", solution.residual);
    let rounds = |weights: &[f64], most: usize| {
        let hypotheses: Vec<Arc<dyn Hypothesis>> =
            smooth.hypotheses(weights).map(Into::into).collect();
        let start = Some(hypotheses.into_iter().map(Some).collect());
        let method = FedRelax { alpha, start, ..FedRelax::default() };
        let stop = Stop { tolerance: TOLERANCE, rounds: most };
        let views = network.views(nodes.clone()).expect("there is a view for every node");
        InProcess { stop, order: Order::AtOnce }.run(&method, views).expect("models can be fitted")
    };
    let (plain, run) = timed(|| rounds(&start, MOST_ROUNDS));
    let count = run.history.len();
    let accelerated_refits = accelerated(start.clone(), |weights| {
        let run = rounds(weights, 1);
        (of_run(&smooth, &run), run.history[0].residual)
    });
    let visits = SingleSteps { network: &network, nodes: &nodes, alpha, smooth: &smooth };
    let accelerated_steps = accelerated(start.clone(), |weights| visits.round(weights));
    let (step, _) = timed(|| visits.round(&start));
    let told = |count: Option<usize>| count.map_or("not there".into(), |c| c.to_string());
    let seconds =
        |count: usize| format!("{:.4} s", plain * count as f64 / run.history.len() as f64);
    println!(
        "| {name} | {alpha} | {newton:.4} s | {plain:.4} s | {} | {} | {} | {} | {} |",
        told(run.converged.then_some(count)),
        accelerated_refits.map_or("–".into(), seconds),
        told(accelerated_refits),
        accelerated_steps.map_or("–".into(), |count| format!("{:.4} s", step * count as f64)),
        told(accelerated_steps),
    );
}

/// Rounds in which every node takes one Newton step towards its own rows and its neighbours' mean prediction.
struct SingleSteps<'a> {
    network: &'a Network,
    nodes: &'a [Node],
    alpha: f64,
    smooth: &'a SmoothNetwork,
}

impl SingleSteps<'_> {
    /// The weights after a round, and how far it moves the public predictions, relative to their size.
    fn round(&self, weights: &[f64]) -> (Vec<f64>, f64) {
        let predicted = self.predictions(weights);
        let size = weights.len() / self.nodes.len();
        let steps = self.nodes.iter().zip(weights.chunks_exact(size));
        let moved: Vec<f64> =
            steps.flat_map(|(node, own)| self.step(node, own, &predicted)).collect();
        let squares = |all: &[Vec<f64>]| all.iter().flatten().map(|x| x * x).sum::<f64>();
        let changes =
            self.predictions(&moved).into_iter().zip(&predicted).map(|(mut now, before)| {
                add_scaled(&mut now, -1.0, before);
                now
            });
        let changes: Vec<Vec<f64>> = changes.collect();
        (moved, (squares(&changes) / squares(&predicted)).sqrt())
    }

    fn predictions(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        let models = self.smooth.hypotheses(weights).zip(self.nodes);
        models.map(|(model, node)| model.predict(&node.public).as_slice().to_vec()).collect()
    }

    fn step(&self, node: &Node, own: &[f64], predicted: &[Vec<f64>]) -> Vec<f64> {
        let degree = self.network.degree(node.id);
        let mut mean = vec![0.0; predicted[node.id].len()];
        for (neighbour, weight) in self.network.neighbours(node.id) {
            add_scaled(&mut mean, weight / degree, &predicted[*neighbour]);
        }
        let points = node.public.rows();
        let labels = Labels::new(node.data.task(), mean).expect("means of shares are shares");
        let weight = self.alpha * degree / points as f64;
        let pull = Dataset::weighted((*node.public).clone(), labels, vec![weight; points])
            .expect("as many labels as points");
        // The ridge counts once, at the own rows.
        let bare = Logistic { ridge: 0.0, ..Logistic::default() };
        let model = node.model.as_parametric().expect("logistic models have weights");
        let bent = |model: &dyn Parametric, data: &Dataset| {
            model.hessian(data, own).expect("logistic losses are smooth").matrix()
        };
        let mut gradient = model.gradient(&node.data, own);
        add_scaled(&mut gradient, 1.0, &bare.gradient(&pull, own));
        let mut matrix = bent(model, &node.data);
        add_scaled(&mut matrix, 1.0, &bent(&bare, &pull));
        // What is added to all classes alike changes no prediction, and has no curvature.
        let largest = matrix.iter().copied().fold(0.0, f64::max);
        matrix.iter_mut().step_by(own.len() + 1).for_each(|entry| *entry += LEAST_SHARE * largest);
        let factor = Cholesky::new(matrix, own.len()).expect("second derivatives are positive");
        factor.solve(&mut gradient);
        own.iter().zip(gradient).map(|(own, step)| own - step).collect()
    }
}

fn of_run(smooth: &SmoothNetwork, run: &Run) -> Vec<f64> {
    let known = run.hypotheses.iter().map(|one| one.as_deref().expect("every node has rows"));
    smooth.weights_of(known).expect("models have weights")
}

/// How many rounds it takes with acceleration; none if they do not end.
fn accelerated(start: Vec<f64>, round: impl Fn(&[f64]) -> (Vec<f64>, f64)) -> Option<usize> {
    let minus =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let (mut w, mut images, mut residuals) =
        (start, Vec::<Vec<f64>>::new(), Vec::<Vec<f64>>::new());
    for count in 1..=MOST_ROUNDS {
        let (image, residual) = round(&w);
        if residual <= TOLERANCE {
            return Some(count);
        }
        residuals.push(minus(&image, &w));
        images.push(image);
        if images.len() > MEMORY_ROUNDS + 1 {
            images.remove(0);
            residuals.remove(0);
        }
        w.clone_from(images.last()?);
        let changes: Vec<Vec<f64>> =
            residuals.windows(2).map(|two| minus(&two[1], &two[0])).collect();
        let size = changes.len();
        let mut matrix: Vec<f64> =
            changes.iter().flat_map(|a| changes.iter().map(|b| dot(a, b))).collect();
        let largest = matrix.iter().copied().fold(0.0, f64::max);
        matrix.iter_mut().step_by(size + 1).for_each(|entry| *entry += LEAST_SHARE * largest);
        let Some(factor) = Cholesky::new(matrix, size).filter(|_| size > 0) else { continue };
        let mut gamma: Vec<f64> = changes
            .iter()
            .map(|change| dot(change, residuals.last().expect("one was added")))
            .collect();
        factor.solve(&mut gamma);
        for (two, gamma) in images.windows(2).zip(gamma) {
            add_scaled(&mut w, -gamma, &minus(&two[1], &two[0]));
        }
    }
    None
}

/// Sixty nodes in two clusters with 13 rows each; labels by slopes that differ between these.
fn made(classes: usize, ridge: f64) -> (Network, Vec<Node>) {
    let clustered = Clustered { clusters: 2, nodes: 30, inside: 0.3, between: 0.02, seed: 5 };
    let (network, clusters) = clustered.make().expect("the network can be made");
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    let mut stream = Stream::new(5, 0, 0, Purpose::Data);
    let mut draw = |rows: usize| {
        Features::new(names.clone(), (0..2 * rows).map(|_| stream.normal()).collect())
            .expect("normal draws are finite")
    };
    let public = Arc::new(draw(100));
    let model = Arc::new(Logistic { ridge, ..Logistic::default() });
    let node = |id: usize| {
        let features = draw(13);
        let sign = if clusters[id] == 0 { 1.0 } else { -1.0 };
        let class = |x: &[f64], row: usize| {
            let score = sign * x[0] + 0.5 * x[1] + 0.7 * ((13 * id + row) as f64).sin();
            (((score + 1.5) / 3.0).clamp(0.0, 0.999) * classes as f64).floor()
        };
        let one = |(row, x): (usize, &[f64])| -> Vec<f64> {
            let own = class(x, row);
            (0..classes).map(|k| f64::from(u8::from((k as f64 - own).abs() < 0.5))).collect()
        };
        let labels = features.iter().enumerate().flat_map(one).collect();
        let labels =
            Labels::new(Task::Classification { classes }, labels).expect("shares of classes");
        let data = Dataset::new(features, labels).expect("as many labels as rows");
        Node { id, data: data.with_total_weight(1.0), model: model.clone(), public: public.clone() }
    };
    (network, (0..60).map(node).collect())
}

/// The shortest of three times, and what came out.
fn timed<T>(work: impl Fn() -> T) -> (f64, T) {
    let once = || {
        let begun = Instant::now();
        let out = work();
        (begun.elapsed().as_secs_f64(), out)
    };
    (0..2).fold(once(), |best, _| {
        let next = once();
        if next.0 < best.0 { next } else { best }
    })
}
