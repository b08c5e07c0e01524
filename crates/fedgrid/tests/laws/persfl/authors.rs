//! PersFL against the authors' numbers.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features},
    method::{
        PersFl,
        persfl::{CandidateChoice, Feed, LinearPool, Online, Probe, RefitPool},
    },
    model::Tree,
    network::NodeId,
    random::{Purpose, Stream},
};

use super::setting::{Made, drawn, two_clusters, weights_of};

/// Median iterations to 1e-6, median error at the end, share of steps from the own cluster.
fn authors(columns: usize, noise: f64, candidates: usize, iterations: usize) -> [f64; 3] {
    let (mut goals, mut errors, mut same) = (Vec::new(), Vec::new(), 0.0);
    for seed in 0..10 {
        let made = two_clusters(columns, noise, seed);
        let method = PersFl { candidates, targets: Some([0].into()), seed, ..PersFl::default() };
        let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
        let mut goal = iterations as f64;
        for iteration in 1..=iterations {
            pool.step();
            if made.error(0, pool.weights().next().unwrap().1) < 1e-6 {
                goal = goal.min(iteration as f64);
            }
        }
        goals.push(goal);
        errors.push(made.error(0, pool.weights().next().unwrap().1));
        let of = pool.tallies().filter(|tally| made.clusters[tally.candidate] == 0);
        same += of.map(|tally| tally.adopted).sum::<usize>() as f64 / iterations as f64 / 10.0;
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        f64::midpoint(values[4], values[5])
    };
    [median(&mut goals), median(&mut errors), same]
}

#[test]
fn algorithm_1_needs_as_many_iterations_as_the_authors_code() {
    for (columns, theirs) in [(2, 48.5), (10, 75.5), (20, 131.5), (50, 286.0)] {
        let [ours, ..] = authors(columns, 0.0, 20, 500);
        assert!((ours / theirs - 1.0).abs() < 0.15, "d {columns}: {ours}, theirs {theirs}");
    }
}

#[test]
fn noise_leaves_the_authors_floor_and_the_own_cluster_is_chosen() {
    for noise in [0.1, 1.0] {
        let [_, floor, _] = authors(20, noise, 20, 500);
        assert!((floor / (0.41 * noise * noise) - 1.0).abs() < 0.2, "{noise}: {floor}");
    }
    for candidates in [10, 20] {
        let [.., same] = authors(20, 0.0, candidates, 1500);
        assert!(same >= 0.998, "{candidates}: {same}");
    }
}

#[test]
fn choosing_takes_hardly_more_iterations_than_an_oracle() {
    let iterations = |made: &Made, choice: CandidateChoice, candidates: usize, seed: u64| {
        let targets = Some([0].into());
        let method = PersFl { choice, candidates, targets, seed, ..PersFl::default() };
        let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
        let far = |pool: &LinearPool| made.error(0, pool.weights().next().unwrap().1) > 1e-6;
        (0..1000).take_while(|_| far(&pool).then(|| pool.step()).is_some()).count()
    };
    let (mut choosing, mut oracle) = (0, 0);
    for seed in 0..10 {
        let made = two_clusters(20, 0.0, seed);
        let clusters = made.clusters.clone().into();
        choosing += iterations(&made, CandidateChoice::Uniform, 20, seed);
        oracle += iterations(&made, CandidateChoice::Oracle { clusters }, 1, seed);
    }
    // The authors' medians are 131.5 and 122.
    let ratio = choosing as f64 / oracle as f64;
    assert!(ratio > 0.8 && ratio < 1.3, "{ratio}");
}

/// Every drawn client has fresh rows in every iteration; the target's stay.
#[derive(Debug)]
struct Fresh {
    weights: Vec<Vec<f64>>,
    clusters: Vec<usize>,
    like: Features,
}

impl Feed for Fresh {
    fn arrived(&self, node: NodeId, tick: usize) -> Option<Dataset> {
        let mut stream = Stream::new(77, node, tick + 1, Purpose::Data);
        let w = &self.weights[self.clusters[node]];
        (node > 0).then(|| drawn(w, 10, 0.0, &self.like, &mut stream))
    }
}

#[test]
fn fresh_rows_in_every_iteration_speed_algorithm_1_up_as_the_authors_saw() {
    let made = two_clusters(50, 0.0, 3);
    let like = made.nodes[0].data.features().clone();
    let feed = Fresh { weights: made.weights.clone(), clusters: made.clusters.clone(), like };
    let online = Some(Online { feed: Some(Arc::new(feed)), batch: 10, enough: 0 });
    let targets: Option<Arc<[NodeId]>> = Some([0].into());
    let method = PersFl { online, targets, ..PersFl::default() };
    let run = made.by_messages(&method, 195);
    let weights = weights_of(run.hypotheses[0].as_deref().unwrap());
    // Theirs: 166 iterations to 1e-6, against 286 with rows that stay.
    assert!(made.error(0, &weights[..50]) < 1e-6);
    let still = made.by_messages(&PersFl { online: None, ..method }, 195);
    let weights = weights_of(still.hypotheses[0].as_deref().unwrap());
    assert!(made.error(0, &weights[..50]) > 1e-6);
}

#[test]
fn algorithm_2_with_trees_beats_the_tree_of_the_target_alone() {
    let (mut ours, mut alone) = (0.0, 0.0);
    for seed in 0..3 {
        let made = two_clusters(2, 0.0, seed).with_model(Tree { max_depth: 3, ..Tree::default() });
        // The authors' weights, one for every row and public point.
        let (probe, step) = (Probe::Refit, 10.0 / 40.0);
        let targets = Some([0].into());
        let method = PersFl { probe, step, targets, ..PersFl::default() };
        let mut pool = RefitPool::new(&method, &made.nodes).unwrap();
        let like = made.nodes[0].data.features();
        let mut stream = Stream::new(seed, 500, 0, Purpose::Data);
        let test = drawn(&made.weights[0], 200, 0.0, like, &mut stream);
        let error = |pool: &RefitPool| {
            let predicted = pool.hypotheses().next().unwrap().1.predict(test.features());
            fedgrid::loss::Loss::Squared.mean(test.labels(), &predicted)
        };
        alone += error(&pool);
        (0..60).for_each(|_| pool.step().unwrap());
        ours += error(&pool);
    }
    assert!(ours < 0.7 * alone, "{ours} of {alone}");
}
