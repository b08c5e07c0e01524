//! Algorithm 1 against the authors' numbers: iterations to 1e-6, noise floor, selection.

use fedgrid::method::{PersFl, persfl::LinearPool};

use crate::made::{median, two_clusters};

const SEEDS: u64 = 10;

/// How one run of the authors' setting went.
struct Went {
    /// The iterations until the squared error fell below 1e-6; the number of all if it never did.
    to_goal: f64,
    /// The squared error at the end.
    last: f64,
    /// The share of steps taken from the target's own cluster.
    same: f64,
}

fn run(columns: usize, noise: f64, candidates: usize, seed: u64) -> Went {
    const ITERATIONS: usize = 1500;
    let made = two_clusters(columns, noise, seed);
    let method = PersFl { candidates, targets: Some([0].into()), seed, ..PersFl::default() };
    let pool = LinearPool::new(&method, &made.nodes).expect("the parameters are right");
    let mut pool = pool.expect("the models are linear");
    let mut to_goal = ITERATIONS as f64;
    for iteration in 1..=ITERATIONS {
        pool.step();
        let (_, weights) = pool.weights().next().expect("there is a target");
        if made.error(0, weights) < 1e-6 {
            to_goal = to_goal.min(iteration as f64);
        }
    }
    let (_, weights) = pool.weights().next().expect("there is a target");
    let taken = |same: bool| -> usize {
        let in_cluster = |candidate: usize| made.clusters[candidate] == made.clusters[0];
        let of = pool.tallies().filter(|tally| in_cluster(tally.candidate) == same);
        of.map(|tally| tally.adopted).sum()
    };
    let same = taken(true) as f64 / (taken(true) + taken(false)) as f64;
    Went { to_goal, last: made.error(0, weights), same }
}

pub(crate) fn report() -> String {
    let all = |columns, noise, candidates| -> Vec<Went> {
        (0..SEEDS).map(|seed| run(columns, noise, candidates, seed)).collect()
    };
    let steps = [(2, 48.5), (10, 75.5), (20, 131.5), (50, 286.0), (100, 963.5)];
    let steps = steps.map(|(columns, theirs)| {
        let ours = median(all(columns, 0.0, 20).iter().map(|went| went.to_goal).collect());
        format!("  d {columns}: {ours} iterations to 1e-6, theirs {theirs}\n")
    });
    let floors = [0.1, 0.5, 1.0].map(|noise| {
        let floor = median(all(20, noise, 20).iter().map(|went| went.last).collect());
        format!("  σ {noise}: floor {:.3} σ², theirs 0.41\n", floor / (noise * noise))
    });
    let rates = [(5, 0.971), (10, 0.9985), (20, 0.9998)].map(|(candidates, theirs)| {
        let went = all(20, 0.0, candidates);
        let same = went.iter().map(|went| went.same).sum::<f64>() / went.len() as f64;
        format!("  S {candidates}: own cluster taken {same:.4}, theirs {theirs}\n")
    });
    let title = "Algorithm 1, the authors' setting, medians of 10 seeds\n";
    [title.to_owned(), steps.concat(), floors.concat(), rates.concat()].concat()
}
