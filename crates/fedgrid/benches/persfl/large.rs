//! The large case of "PersFL via Active Sampling": n 3,500, m 30, d 450, S 20, 1,000 rounds.

use std::{sync::Arc, time::Instant};

use fedgrid::{
    method::{
        PersFl,
        persfl::{CandidateChoice, LinearPool, Start},
    },
    model::{Hypothesis, LinearHypothesis},
    random::{Purpose, Stream},
};

use crate::made::{Made, Recipe};

const TARGETS: usize = 80;
const ROUNDS: usize = 1000;

fn run(made: &Made, method: &PersFl) -> (f64, f64) {
    let begun = Instant::now();
    let pool = LinearPool::new(method, &made.nodes).expect("the parameters are right");
    let mut pool = pool.expect("the models are linear");
    (0..ROUNDS).for_each(|_| pool.step());
    let seconds = begun.elapsed().as_secs_f64();
    let norms = pool.weights().map(|(node, weights)| made.error(node, weights).sqrt());
    (norms.sum::<f64>() / TARGETS as f64, seconds)
}

pub(crate) fn report() -> String {
    let mut stream = Stream::new(1, 0, 0, Purpose::Network);
    let clusters = (0..3500).map(|_| stream.index(2)).collect();
    let recipe = Recipe { columns: 450, rows: 30, reach: 10.0, noise: 0.01, seed: 1 };
    let made = recipe.make(clusters);
    let names = made.nodes[0].data.features().names();
    let start = |id: usize| -> Option<Arc<dyn Hypothesis>> {
        let mut stream = Stream::new(2, id, 0, Purpose::Start);
        let slopes = (0..450).map(|_| stream.normal()).collect();
        Some(Arc::new(LinearHypothesis { names: names.clone(), slopes, intercept: 0.0 }))
    };
    let method = PersFl {
        step: 0.01,
        start: Start::Given((0..3500).map(start).collect()),
        targets: Some((0..TARGETS).map(|k| k * 43).collect()),
        ..PersFl::default()
    };
    let (ours, seconds) = run(&made, &method);
    let choice = CandidateChoice::Oracle { clusters: made.clusters.clone() };
    let (oracle, more) = run(&made, &PersFl { choice, candidates: 1, ..method });
    format!(
        "the large case, {TARGETS} targets, {ROUNDS} rounds\n  \
         norm {ours:.5} in {seconds:.1} s (theirs 0.0049), oracle {oracle:.5} in {more:.1} s (theirs 0.0044)\n"
    )
}
