//! Local training is the limit α → 0 of every method that pulls by predictions, for every kind of
//! model: at a pull that is next to nothing, every node predicts next to what it learnt alone.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    method::{
        FedMd, FedRelax, Local, Method, PartialHypotheses, Pooled, Shrunk,
        fedrelax::{LocalStep, SMALLEST_PULL},
        hub::around_hub,
    },
    model::{
        Boosting, ElasticNet, ExtraTrees, Fixed, Forest, GraphicalLasso, Huber, KernelRidge,
        Linear, LocalModel, Logistic, Mean, Neighbours, Perceptron, Poisson, Quantile, Smoother,
        Tree, Vanishing,
    },
    network::{Edge, Network, Node, View},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{InProcess, Order},
};

const FEATURES: usize = 3;
const NODES: usize = 6;
const CLASSES: Task = Task::Classification { classes: 3 };
/// Rounds that do not wait for a fixed point: a jump shows in the first ones.
const FEW: InProcess =
    InProcess { stop: Stop { tolerance: 1e-10, rounds: 6 }, order: Order::AtOnce };

/// Every kind of model for a task. A new kind belongs here.
fn kinds(task: Task) -> Vec<Arc<dyn LocalModel>> {
    let few = Forest { trees: 20, ..Forest::default() };
    let extra = Forest { trees: 20, ..ExtraTrees::default().0 };
    let fixed_width = fedgrid::model::Kernel::Gaussian { width: 2.0 };
    let mut kinds: Vec<Arc<dyn LocalModel>> = vec![
        Arc::new(Mean),
        Arc::new(Tree::default()),
        Arc::new(Tree { max_depth: 64, min_leaf_weight: 0.0 }),
        Arc::new(Fixed(few.clone())),
        Arc::new(Forest { bootstrap: false, ..few }),
        Arc::new(ExtraTrees(extra)),
        Arc::new(Boosting::default()),
        Arc::new(Neighbours::default()),
        Arc::new(Neighbours { standardise: false, ..Neighbours::default() }),
        Arc::new(Neighbours { by_distance: true, ..Neighbours::default() }),
        Arc::new(Smoother::default()),
        Arc::new(Smoother { kernel: fixed_width, standardise: false }),
        Arc::new(KernelRidge { ridge: RIDGE, ..KernelRidge::default() }),
        Arc::new(KernelRidge { ridge: RIDGE, kernel: fixed_width, ..KernelRidge::default() }),
        Arc::new(Perceptron { layers: vec![4], epochs: 60, ..Perceptron::default() }),
    ];
    let of_numbers: [Arc<dyn LocalModel>; 8] = [
        Arc::new(Linear::default()),
        Arc::new(Linear { ridge: RIDGE, ..Linear::default() }),
        Arc::new(ElasticNet { ridge: RIDGE, ..ElasticNet::default() }),
        Arc::new(Huber::default()),
        Arc::new(Huber { ridge: RIDGE, ..Huber::default() }),
        Arc::new(Poisson { ridge: RIDGE, ..Poisson::default() }),
        Arc::new(Quantile { ridge: RIDGE, ..Quantile::default() }),
        Arc::new(GraphicalLasso { ridge: RIDGE, ..GraphicalLasso::default() }),
    ];
    let of_classes: [Arc<dyn LocalModel>; 2] = [
        Arc::new(Logistic { ridge: RIDGE, ..Logistic::default() }),
        Arc::new(Logistic { ridge: RIDGE, lasso: 1e-2, ..Logistic::default() }),
    ];
    match task {
        Task::Regression => kinds.extend(of_numbers),
        Task::Classification { .. } => kinds.extend(of_classes),
    }
    kinds
}

/// Where rows leave a direction open, a pull α moves a model of this ridge by about α / ridge.
const RIDGE: f64 = 1e-2;

fn features(rows: usize, scale: f64, stream: &mut Stream) -> Features {
    let names = (0..FEATURES).map(|k| format!("x{k}")).collect();
    let values = (0..rows * FEATURES).map(|_| scale * stream.normal()).collect();
    Features::new(names, values).unwrap()
}

/// Rows that differ from node to node; at node 1 a column never varies, and node 2 has one row.
fn rows(task: Task, id: usize, stream: &mut Stream) -> Dataset {
    let count = if id == 2 { 1 } else { 12 + stream.index(12) };
    let mut features = features(count, 1.0, stream);
    if id == 1 {
        let mut values = features.values().to_vec();
        values.iter_mut().skip(1).step_by(FEATURES).for_each(|x| *x = 0.5);
        features = Features::new(features.names().clone(), values).unwrap();
    }
    let tilt = 1.0 - 0.5 * id as f64;
    let value = |x: &[f64], stream: &mut Stream| {
        3.0 + x[0] * tilt + (2.0 * x[1]).sin() + 0.3 * stream.normal()
    };
    // Counts have no smaller label than zero.
    let values: Vec<f64> = features.iter().map(|x| value(x, stream).max(0.0)).collect();
    let labels = match task {
        Task::Regression => Labels::values(values),
        Task::Classification { classes } => {
            let class = |y: &f64| usize::from(*y > 2.5) + usize::from(*y > 3.5);
            Labels::classes(classes, &values.iter().map(class).collect::<Vec<_>>()).unwrap()
        }
    };
    Dataset::weighted(features, labels, vec![1.0 / count as f64; count]).unwrap()
}

/// A random network of nodes of weight one with more public points than rows.
fn views(task: Task, model: &Arc<dyn LocalModel>, seed: u64) -> Vec<View> {
    let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
    let public = Arc::new(features(60, 1.5, &mut stream));
    let node = |id| Node {
        id,
        data: rows(task, id, &mut stream),
        model: model.clone(),
        public: public.clone(),
    };
    let nodes = (0..NODES).map(node).collect();
    let mut stream = Stream::new(seed, 1, 0, Purpose::Data);
    let mut edges = Vec::new();
    for target in 1..NODES {
        let weight = 0.2 + stream.uniform();
        edges.push(Edge { source: stream.index(target), target, weight });
    }
    let names = (0..NODES).map(|id| format!("n{id}")).collect();
    Network::new(names, edges).unwrap().views(nodes).unwrap()
}

/// What every node predicts at fresh points.
fn predictions<M: Method>(method: &M, views: Vec<View>, seed: u64) -> Vec<Vec<f64>> {
    let fresh = features(80, 1.5, &mut Stream::new(seed, 2, 0, Purpose::Data));
    let run = FEW.run(method, views).unwrap();
    let predict = |h: &Arc<dyn fedgrid::model::Hypothesis>| h.predict(&fresh).as_slice().to_vec();
    run.hypotheses.iter().flatten().map(predict).collect()
}

fn largest_change(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Checks that a weak pull moves no model by more than its ridge lets it, or by anything at all
/// where pulls are too weak to count.
fn check<M: Method>(
    task: Task,
    model: &Arc<dyn LocalModel>,
    method: impl Fn(f64, &[Node]) -> M,
    around: impl Fn(Vec<View>) -> Vec<View>,
) {
    for seed in 0..4 {
        let views = || views(task, model, seed);
        let nodes: Vec<Node> = views().into_iter().map(|view| view.node).collect();
        let local = predictions(&Local, views(), seed);
        for alpha in [1e-9, 1e-6] {
            let pulled = predictions(&method(alpha, &nodes), around(views()), seed);
            for (node, (local, pulled)) in nodes.iter().zip(local.iter().zip(&pulled)) {
                let largest = match model.vanishing_rows(&node.data) {
                    // Labels spread by about one, and neighbours are some spreads away.
                    Vanishing::Forgotten => 50.0 * alpha / RIDGE,
                    Vanishing::Remembered => 0.0,
                    // What the rows leave open, the neighbours choose.
                    Vanishing::Choosing => continue,
                };
                let change = largest_change(local, pulled);
                let place = format!("seed {seed}, alpha {alpha}, node {}", node.id);
                assert!(change <= largest, "{model:?}, {place}: moved by {change}");
            }
        }
    }
}

fn check_relaxed(task: Task, step: LocalStep, model: &Arc<dyn LocalModel>) {
    check(task, model, |alpha, _| FedRelax { alpha, step, ..FedRelax::default() }, |views| views);
}

#[test]
fn next_to_no_pull_is_local_training_for_every_kind_of_model_of_numbers() {
    for model in kinds(Task::Regression) {
        check_relaxed(Task::Regression, LocalStep::Refit, &model);
    }
}

#[test]
fn next_to_no_pull_is_local_training_for_every_kind_of_model_of_classes() {
    for model in kinds(CLASSES) {
        check_relaxed(CLASSES, LocalStep::Refit, &model);
    }
}

#[test]
fn next_to_no_pull_is_local_training_through_a_hub_and_to_the_pooled_model() {
    let kinds = kinds(Task::Regression);
    // Among them trees, forests, neighbours and kernels.
    for model in kinds.iter().step_by(2) {
        // A model whose ridge pulls to the pooled one is another at any strength, even none.
        if model.as_tunable().is_none() && model.as_parametric().is_none() {
            let shrunk = |alpha, nodes: &[Node]| {
                let pooled = Pooled.fit(nodes).unwrap().into();
                Shrunk { alpha, pooled, ..Shrunk::default() }
            };
            check(Task::Regression, model, shrunk, |views| views);
        }
        let nodes = |views: Vec<View>| views.into_iter().map(|view| view.node).collect();
        check(
            Task::Regression,
            model,
            |alpha, _| FedMd { alpha },
            |views| around_hub(nodes(views)).unwrap(),
        );
    }
}

#[test]
fn steps_that_do_not_end_at_a_minimum_are_not_taken_for_next_to_no_pull() {
    let linear: Arc<dyn LocalModel> = Arc::new(Linear { ridge: RIDGE, ..Linear::default() });
    let optimiser = fedgrid::descent::Optimiser::RmsProp;
    for step in [
        LocalStep::Descend { steps: 3, optimiser, size: 0.01 },
        LocalStep::Distil { points: 20, seed: 1 },
    ] {
        check_relaxed(Task::Regression, step, &linear);
    }
}

#[test]
fn what_a_node_starts_from_does_not_matter_where_its_pull_does_not_count() {
    let tree: Arc<dyn LocalModel> = Arc::new(Tree::default());
    let views = || views(Task::Regression, &tree, 0);
    let nodes: Vec<Node> = views().into_iter().map(|view| view.node).collect();
    let pooled: Vec<_> = Pooled.fit(&nodes).unwrap().into_iter().map(Some).collect();
    let start: PartialHypotheses = pooled.into();
    let method = FedRelax { alpha: 1e-6, start: Some(start), ..FedRelax::default() };
    assert_eq!(predictions(&method, views(), 0), predictions(&Local, views(), 0));
}

#[test]
fn a_pull_counts_from_a_thousandth_of_the_weight_of_a_nodes_own_rows_on() {
    let tree: Arc<dyn LocalModel> = Arc::new(Tree::default());
    let views = || views(Task::Regression, &tree, 0);
    let local = predictions(&Local, views(), 0);
    let weights: Vec<f64> =
        views().iter().map(|view| view.neighbours.iter().map(|n| n.weight).sum()).collect();
    for (node, weight) in weights.iter().enumerate() {
        let moved = |share: f64| {
            let alpha = share * SMALLEST_PULL / weight;
            let method = FedRelax { alpha, ..FedRelax::default() };
            predictions(&method, views(), 0)[node] != local[node]
        };
        assert!(!moved(0.99), "node {node}");
        assert!(moved(1.01), "node {node}");
    }
}

#[test]
fn a_node_without_rows_listens_to_any_pull() {
    let tree: Arc<dyn LocalModel> = Arc::new(Tree::default());
    let mut views = views(Task::Regression, &tree, 0);
    let names = views[3].node.data.features().names().clone();
    views[3].node.data = Dataset::empty(names, Task::Regression);
    let run = FEW.run(&FedRelax { alpha: 1e-9, ..FedRelax::default() }, views).unwrap();
    assert!(run.hypotheses[3].is_some());
}

#[test]
fn rows_that_leave_a_direction_open_let_neighbours_choose_at_any_strength() {
    let linear: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let views = || views(Task::Regression, &linear, 0);
    let local = predictions(&Local, views(), 0);
    let pulled =
        |alpha| predictions(&FedRelax { alpha, ..FedRelax::default() }, views(), 0).swap_remove(2);
    assert!(largest_change(&local[2], &pulled(1e-9)) > 0.1);
    // The choice itself has a limit.
    assert!(largest_change(&pulled(1e-6), &pulled(1e-9)) < 1e-3);
}
