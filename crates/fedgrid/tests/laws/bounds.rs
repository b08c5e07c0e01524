//! The papers' bounds hold where their assumptions do, and say so where they do not.

use std::sync::Arc;

use fedgrid::{
    bound::{
        FittedNetwork, PointDifference, PooledModels, Recovery, Variation, predictions_of,
        recovery, variation_bound, weights_of,
    },
    data::{Dataset, Features, Task, normal_points},
    model::{Hypothesis, Linear, LocalModel},
    network::{Clustered, Network, Node},
    optimum::{
        Limit, LinearNetwork,
        gtv::{Coupled, Goal, Losses, minimise},
    },
    penalty::Penalty,
    random::{Purpose, Stream},
};

/// Clustered linear data, ten rows of some features at every node that has rows.
struct Made {
    network: Network,
    clusters: Vec<usize>,
    nodes: Vec<Node>,
}

fn made(clustered: Clustered, features: usize, noise: f64, labelled: f64) -> Made {
    let (network, clusters) = clustered.make().unwrap();
    let data = clustered.linear_data(features, 10, noise).unwrap().data;
    let all = data
        .iter()
        .skip(1)
        .fold(data[0].features().clone(), |all, data| all.stacked(data.features()).unwrap());
    let stream = &mut Stream::new(clustered.seed, 0, 0, Purpose::Public);
    let public = Arc::new(normal_points(&all, 200, stream).unwrap());
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
    let node = |(id, data): (usize, Dataset)| {
        let names = data.features().names().clone();
        // The rows of a node weigh one, as in the papers' mean squared error.
        let data = if stream.uniform() < labelled {
            data.with_total_weight(1.0)
        } else {
            Dataset::empty(names, Task::Regression)
        };
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    let nodes = data.into_iter().enumerate().map(node).collect();
    Made { network, clusters, nodes }
}

/// One cluster of fifty nodes with ten features: the setting of "Plug In and Learn", Fig. 5.
fn figure_five(inside: f64, noise: f64) -> Made {
    made(Clustered { clusters: 1, nodes: 50, inside, between: 0.0, seed: 5 }, 10, noise, 1.0)
}

fn boxed(hypothesis: impl Hypothesis + 'static) -> Arc<dyn Hypothesis> {
    Arc::new(hypothesis)
}

/// FedRelax's fixed point, with its variation in the public norm.
fn relaxed(made: &Made, clusters: &[usize], alpha: f64) -> Vec<Variation> {
    let linear = LinearNetwork::new(&made.nodes, true, true).unwrap().unwrap();
    let start = vec![0.0; 10 * made.nodes.len()];
    let limit = Limit { tolerance: 1e-12, products: 50_000 };
    let solution = linear.solve(&made.network, alpha, None, start, limit).unwrap();
    let hypotheses: Vec<_> = linear.hypotheses(&solution.weights).map(boxed).collect();
    let pooled = PooledModels::fit(&made.nodes, clusters).unwrap();
    let points = predictions_of(&made.nodes, &hypotheses, true).unwrap();
    let centre = predictions_of(&made.nodes, &pooled.hypotheses, true).unwrap();
    variation_bound(&FittedNetwork {
        network: &made.network,
        clusters,
        alpha,
        difference: PointDifference::Squared,
        points: &points,
        pooled: &centre,
        losses: &pooled.losses,
        gap: 0.0,
    })
    .unwrap()
}

fn minimum(made: &Made, penalty: Penalty, alpha: f64) -> (Vec<Vec<f64>>, f64) {
    let losses = Losses::new(&made.nodes, true).unwrap();
    let goal = Goal { tolerance: 1e-8, steps: 50_000 };
    let found = minimise(&losses, &made.network, Coupled { alpha, penalty }, None, goal).unwrap();
    let rows = found.weights.chunks_exact(losses.size()).map(<[f64]>::to_vec).collect();
    (rows, found.certificate.gap.unwrap())
}

/// The minimum of losses and total variation of weights, with its Euclidean variation.
fn coupled(made: &Made, clusters: &[usize], penalty: Penalty, alpha: f64) -> Vec<Variation> {
    let (points, gap) = minimum(made, penalty, alpha);
    let pooled = PooledModels::fit(&made.nodes, clusters).unwrap();
    let centre = weights_of(&made.nodes, &pooled.hypotheses, true).unwrap();
    variation_bound(&FittedNetwork {
        network: &made.network,
        clusters,
        alpha,
        difference: PointDifference::Weights(penalty),
        points: &points,
        pooled: &centre,
        losses: &pooled.losses,
        gap,
    })
    .unwrap()
}

fn assert_below(found: &[Variation], case: &str) {
    for variation in found {
        let bound = variation.bound.unwrap();
        assert!(variation.measured <= bound * (1.0 + 1e-9), "{case}: {variation:?}");
    }
}

#[test]
fn the_variation_of_figure_five_stays_below_its_bound() {
    for (inside, noise) in [(0.8, 0.1), (0.8, 1.0), (0.8, 5.0), (0.2, 0.1), (0.6, 0.1), (1.0, 0.1)]
    {
        let made = figure_five(inside, noise);
        for alpha in [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0] {
            let case = format!("p {inside}, σ {noise}, α {alpha}");
            let relaxed = relaxed(&made, &made.clusters, alpha);
            assert_below(&relaxed, &case);
            let squared = coupled(&made, &made.clusters, Penalty::SquaredNorm, alpha);
            assert_below(&squared, &case);
            // The printed bound, and twice it for the halved square.
            let printed = relaxed[0].epsilon / (alpha * relaxed[0].lambda2.unwrap());
            assert!((relaxed[0].bound.unwrap() / printed - 1.0).abs() < 1e-9, "{case}");
            assert!((squared[0].bound.unwrap() / (2.0 * printed) - 1.0).abs() < 1e-3, "{case}");
        }
    }
}

#[test]
fn the_bound_is_no_more_than_a_hundred_times_the_variation_where_neighbours_differ() {
    let made = figure_five(0.8, 1.0);
    let found = relaxed(&made, &made.clusters, 0.1)[0];
    assert!(found.measured > 0.01 * found.bound.unwrap(), "{found:?}");
}

#[test]
fn norms_and_clusters_with_edges_out_have_bounds_that_hold() {
    let clustered = Clustered { clusters: 3, nodes: 15, inside: 0.8, between: 0.05, seed: 2 };
    let made = made(clustered, 10, 0.5, 0.8);
    for alpha in [1e-3, 1e-2, 0.1, 1.0, 10.0] {
        for clusters in [made.clusters.clone(), vec![0; 45]] {
            assert_below(&relaxed(&made, &clusters, alpha), &format!("FedRelax, α {alpha}"));
            for penalty in [Penalty::SquaredNorm, Penalty::Norm, Penalty::OneNorm] {
                let found = coupled(&made, &clusters, penalty, alpha);
                assert_below(&found, &format!("{penalty:?}, α {alpha}"));
            }
        }
    }
}

/// L and K; the one-norm of two weights has √2 K.
fn constants(theory: &Recovery, penalty: Penalty) -> (f64, f64) {
    let (l, k) = theory.sampling.constants.unwrap();
    (l, if penalty == Penalty::OneNorm { k * 2.0_f64.sqrt() } else { k })
}

/// The total variation of the error between and inside clusters, and its size on nodes with rows.
fn parts(made: &Made, theory: &Recovery, penalty: Penalty, weights: &[Vec<f64>]) -> [f64; 3] {
    let error = |node: usize| -> Vec<f64> {
        weights[node].iter().zip(&theory.optima[node]).map(|(w, o)| w - o).collect()
    };
    let mut parts = [0.0; 3];
    for edge in made.network.edges() {
        let (a, b) = (error(edge.source), error(edge.target));
        let z: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let side = usize::from(made.clusters[edge.source] == made.clusters[edge.target]);
        parts[side] += edge.weight * penalty.value(&z);
    }
    let with_rows = made.nodes.iter().filter(|node| node.data.rows() > 0);
    let squares = with_rows.map(|node| error(node.id).iter().map(|e| e * e).sum::<f64>());
    parts[2] = squares.sum::<f64>().sqrt();
    parts
}

#[test]
fn the_error_of_the_networks_lasso_stays_below_the_bound_of_theorem_1() {
    let mut seen = 0;
    for seed in 0..4 {
        for (labelled, between) in [(1.0, 0.02), (0.8, 0.02), (0.6, 0.01)] {
            let clustered = Clustered { clusters: 2, nodes: 15, inside: 0.9, between, seed };
            let made = made(clustered, 2, 0.3, labelled);
            for penalty in [Penalty::Norm, Penalty::OneNorm] {
                let theory = recovery(&made.nodes, &made.network, &made.clusters, penalty).unwrap();
                let (Some(alpha), Some(bound)) = (theory.alpha, theory.bound) else {
                    assert!(!theory.warnings.is_empty());
                    continue;
                };
                seen += 1;
                let (weights, _) = minimum(&made, penalty, alpha);
                let error = theory.error(&made.network, penalty, &weights).unwrap();
                assert!(error <= bound, "seed {seed}: {error} above {bound}");
                // Its first steps, (26) and (32), are much closer than the bound itself.
                let (l, k) = constants(&theory, penalty);
                let [between, inside, rows] = parts(&made, &theory, penalty, &weights);
                assert!(inside <= (between + k / l * rows) * (1.0 + 1e-4), "seed {seed}");
                assert!((l - 1.0) * between <= (k + k / l) * rows * (1.0 + 1e-4), "seed {seed}");
            }
        }
    }
    assert!(seen >= 12, "the assumptions held in {seen} settings");
}

#[test]
fn what_theorem_1_assumes_and_does_not_find_is_said() {
    let clustered = Clustered { clusters: 2, nodes: 10, inside: 1.0, between: 0.05, seed: 1 };
    let warnings = |made: &Made, penalty| {
        let theory = recovery(&made.nodes, &made.network, &made.clusters, penalty).unwrap();
        assert_eq!((theory.alpha, theory.bound), (None, None));
        theory.warnings.join("; ")
    };
    // Twelve features and ten rows: no node's loss curves in all directions.
    let wide = warnings(&made(clustered, 12, 0.3, 1.0), Penalty::Norm);
    assert!(wide.contains("C is zero: 20 of 20 nodes"), "{wide}");
    let narrow = made(clustered, 2, 0.3, 1.0);
    let squared = warnings(&narrow, Penalty::SquaredNorm);
    assert!(squared.contains("the squared norm is none"), "{squared}");
    let islands = made(Clustered { between: 0.0, ..clustered }, 2, 0.3, 1.0);
    let empty = warnings(&islands, Penalty::Norm);
    assert!(empty.contains("no edge between clusters"), "{empty}");
    // Every node agrees with a cluster of its own, but for rounding.
    let singles = Made { clusters: (0..narrow.nodes.len()).collect(), ..narrow };
    let alone = warnings(&singles, Penalty::Norm);
    assert!(alone.contains("U is zero up to rounding"), "{alone}");
}

#[test]
fn the_constants_of_theorem_1_are_those_of_a_closed_form() {
    // Two pairs of nodes with rows x = 1 and labels 0, 2 and 10, 14, joined by one edge.
    let names: Arc<[String]> = ["x".to_string()].into();
    let public = Arc::new(Features::empty(names));
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
    let node = |(id, y): (usize, f64)| {
        let rows = Features::from_rows(&["x"], &[[1.0]]).unwrap();
        let data = Dataset::new(rows, fedgrid::data::Labels::values(vec![y])).unwrap();
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    let nodes: Vec<Node> = [0.0, 2.0, 10.0, 14.0].into_iter().enumerate().map(node).collect();
    let network = fedgrid::network::path(4).unwrap();
    let theory = recovery(&nodes, &network, &[0, 0, 1, 1], Penalty::Norm).unwrap();
    assert_eq!(theory.labelled, 4);
    assert!((theory.gradient - 4.0).abs() < 1e-12); // 2 (12 − 10)
    assert!((theory.curvature - 1.0).abs() < 1e-12); // L = (w − y)²
    // The larger L the better, up to 100; each end of the bridge keeps 99 and passes one on: K² = 2 (1 + 99²).
    let (l, k) = theory.sampling.constants.unwrap();
    let expected = 19_604_f64.sqrt();
    assert!((l - 100.0).abs() < 1e-9 && (k / expected - 1.0).abs() < 1e-9, "L = {l}, K = {k}");
    assert!((theory.alpha.unwrap() / (800.0 / expected) - 1.0).abs() < 1e-9);
    assert!((theory.bound.unwrap() / (6400.0 * expected / 9801.0) - 1.0).abs() < 1e-9);
    // At w̄ = (1, 1, 12, 12) the error is zero; moving one end of the bridge by one counts twice.
    let weights = |w: [f64; 4]| w.map(|w| vec![w]).to_vec();
    let error = |w| theory.error(&network, Penalty::Norm, &weights(w)).unwrap();
    assert!(error([1.0, 1.0, 12.0, 12.0]).abs() < 1e-12);
    assert!((error([1.0, 2.0, 12.0, 12.0]) - 2.0).abs() < 1e-12);
}
