//! Algorithm 1, d 100, 1,500 iterations, against a vectorised numpy version with the same draws.

use fedgrid::{
    method::{PersFl, persfl::LinearPool},
    random::{Purpose, Stream},
};

use crate::{
    made::{fastest, two_clusters},
    peer::{Peer, difference, numbers, seconds},
};

const COLUMNS: usize = 100;
const ITERATIONS: usize = 1500;

pub(crate) fn report(peer: &Peer) -> String {
    let made = two_clusters(COLUMNS, 0.0, 1);
    let method = PersFl { targets: Some([0].into()), seed: 1, ..PersFl::default() };
    let (ours, weights) = fastest(|| {
        let pool = LinearPool::new(&method, &made.nodes).expect("the parameters are right");
        let mut pool = pool.expect("the models are linear");
        (0..ITERATIONS).for_each(|_| pool.step());
        pool.weights().next().expect("there is a target").1.to_vec()
    });
    let rows = made.nodes.iter().flat_map(|node| node.data.features().values()).copied();
    peer.write("x", &rows.collect::<Vec<_>>());
    let labels = made.nodes.iter().flat_map(|node| node.data.labels().as_slice()).copied();
    peer.write("y", &labels.collect::<Vec<_>>());
    let draws: Vec<f64> = (0..ITERATIONS).flat_map(drawn).collect();
    peer.write("s", &draws);
    let sizes = [101.0, 10.0, COLUMNS as f64, 20.0, ITERATIONS as f64, 0.05];
    let answer = peer.run("../persfl/algorithm.py", &sizes);
    let (gathered, whole) = (seconds(&answer, "gathered"), seconds(&answer, "whole"));
    format!(
        "Algorithm 1, d {COLUMNS}, {ITERATIONS} iterations\n  \
         {:.2} ms, numpy {:.1} ms gathering rows, {:.1} ms on all rows: {:.1}x and {:.1}x, \
         weights differ by {:.1e}\n",
        1e3 * ours,
        1e3 * gathered,
        1e3 * whole,
        gathered / ours,
        whole / ours,
        difference(&weights, &numbers(&answer, "weights")),
    )
}

/// The candidates of an iteration, drawn as the method does: the first places of a shuffle.
fn drawn(iteration: usize) -> Vec<f64> {
    let mut stream = Stream::new(1, 0, iteration, Purpose::Candidates);
    let mut order: Vec<usize> = (1..101).collect();
    for place in 0..20 {
        let other = place + stream.index(order.len() - place);
        order.swap(place, other);
    }
    order[..20].iter().map(|&node| node as f64).collect()
}
