//! Methods that find clusters, against an oracle that is told them, in the setting of the PersFL
//! papers. ["Your Data, My Model", Fig. 4 and 5. There the error of IFCA is a mean over weights and
//! that of PersFL a sum; here both are sums.]

use fedgrid::{
    method::{
        ClusteredFl, FedAvg, Ifca, Method, Oracle, PersFl,
        fedavg::Averaged,
        ifca::Guess,
        persfl::{CandidateChoice, LinearPool},
    },
    random::{Purpose, Stream},
};

use super::{own_weights, weights};
use crate::persfl::setting::{Made, made};

/// The authors' steps: averaged gradients of a fifth of the nodes, η = 0.05.
fn authors(iterations: usize, seed: u64) -> FedAvg {
    FedAvg {
        averaged: Averaged::Gradients,
        step: Some(0.05),
        participation: 0.2,
        iterations,
        tolerance: 0.0,
        seed,
        ..FedAvg::default()
    }
}

/// IFCA as the authors start it, at N(0, 1).
fn ifca(clusters: usize, restarts: usize, iterations: usize, seed: u64) -> Ifca {
    let guess = Guess::Random { spread: 1.0 };
    Ifca { fedavg: authors(iterations, seed), clusters, guess, restarts, trial: 50 }
}

/// The squared error of each node.
fn errors<M: Method>(method: &M, made: &Made) -> Vec<f64> {
    let weights = weights(method, &made.nodes);
    weights.iter().enumerate().map(|(node, weights)| made.error(node, weights)).collect()
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(0.0, f64::max)
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// The mean squared error of some targets after so many steps of PersFL.
fn probing(made: &Made, choice: CandidateChoice, candidates: usize, iterations: usize) -> f64 {
    let targets: Vec<usize> = (0..made.nodes.len()).step_by(made.nodes.len() / 10).collect();
    let count = targets.len() as f64;
    let targets = Some(targets.into());
    let method = PersFl { choice, candidates, targets, ..PersFl::default() };
    let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
    (0..iterations).for_each(|_| pool.step());
    pool.weights().map(|(node, weights)| made.error(node, weights)).sum::<f64>() / count
}

/// `count` clusters of fifty nodes with ten rows each.
fn clusters_of_fifty(count: usize, columns: usize, seed: u64) -> Made {
    made((0..50 * count).map(|id| id / 50).collect(), [10, columns], 0.0, seed)
}

#[test]
fn with_the_right_number_of_clusters_ifca_reaches_the_oracle() {
    for (columns, seed) in [(2, 1), (20, 2), (50, 3)] {
        let made = clusters_of_fifty(2, columns, seed);
        let found = worst(&errors(&ifca(2, 5, 400, seed), &made));
        let oracle = CandidateChoice::Oracle { clusters: made.clusters.clone().into() };
        let helped = probing(&made, oracle, 1, 400);
        assert!(found < 1e-6 && helped < 1e-6, "d = {columns}: {found:e} {helped:e}");
    }
}

#[test]
fn with_noise_ifca_is_the_oracle_of_the_true_clusters() {
    let made = made((0..100).map(|id| id / 50).collect(), [10, 5], 0.5, 4);
    let fedavg = FedAvg { participation: 1.0, ..authors(400, 4) };
    let found = weights(&Ifca { fedavg, ..ifca(2, 5, 400, 4) }, &made.nodes);
    let oracle = Oracle { clusters: made.clusters.clone() }.fit(&made.nodes).unwrap();
    for (node, found) in made.nodes.iter().zip(&found) {
        let best = own_weights(node.model.as_ref(), oracle[node.id].as_ref());
        let far = found.iter().zip(&best).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-9, "{far:e}");
    }
}

#[test]
fn with_too_few_clusters_ifca_stays_away_from_the_truth_and_persfl_does_not() {
    for (columns, seed) in [(2, 1), (20, 2), (50, 3)] {
        let made = clusters_of_fifty(5, columns, seed);
        let wrong = mean(&errors(&ifca(2, 3, 600, seed), &made));
        let probing = probing(&made, CandidateChoice::Uniform, 50, 600);
        let per_weight = wrong / columns as f64;
        assert!(per_weight > 0.1, "d = {columns}: {per_weight}");
        assert!(probing < 1e-6 && probing < 1e-5 * wrong, "d = {columns}: {probing:e} {wrong}");
    }
}

#[test]
fn several_starts_find_what_one_misses() {
    let made = clusters_of_fifty(5, 3, 6);
    let reached = |restarts| {
        let runs = (0..8).map(|seed| worst(&errors(&ifca(5, restarts, 300, seed), &made)));
        runs.filter(|error| *error < 1e-6).count()
    };
    let (one, ten) = (reached(1), reached(10));
    assert!(one < 8 && ten > one, "{one} {ten}");
}

#[test]
fn bipartition_finds_the_clusters_without_being_told_how_many() {
    let made = made((0..40).map(|id| id % 4).collect(), [12, 5], 0.05, 8);
    let method = ClusteredFl { fedavg: FedAvg::default(), rest: 0.2, gap: 0.1 };
    let errors = errors(&method, &made);
    assert!(worst(&errors) < 0.01, "{:e}", worst(&errors));
    let one = mean(&errors_of_one(&made));
    assert!(one > 1.0, "{one}");
}

fn errors_of_one(made: &Made) -> Vec<f64> {
    errors(&FedAvg::default(), made)
}

#[test]
fn where_all_nodes_agree_bipartition_leaves_them_together() {
    // Unequal rows, but one truth: at rest no step is left to pull apart.
    let mut made = made(vec![0; 10], [12, 5], 0.0, 8);
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let order = stream.permutation(12);
    made.nodes[3].data = made.nodes[3].data.select(&order[..6]);
    let method = ClusteredFl { rest: 0.01, gap: 0.5, ..ClusteredFl::default() };
    let (split, whole) = (weights(&method, &made.nodes), weights(&FedAvg::default(), &made.nodes));
    assert_eq!(split, whole);
}
