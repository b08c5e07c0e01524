//! The kernel against what its bytes would take at the speed of a triad.

use std::time::Instant;

use fedgrid::optimum::gtv::{Coupled, FirstOrder, Losses, run_iterations};

use super::{NORM, instance::Instance, peer::on_threads};

pub(crate) fn kernel() {
    let instance = Instance { nodes: 30_000, features: 10, seed: 0 };
    let (network, data) = (instance.network(), instance.data());
    let losses = Losses::new(&data, true).expect("linear models can be coupled");
    let coupled = Coupled { alpha: 1e-2, penalty: NORM };
    let labelled = data.iter().filter(|node| node.data.rows() > 0).count();
    let (n, e, d, r) = (30_000, network.edges().len(), 10, 5);
    let bytes = e * (2 * 8 * d + 4) + n * (5 * 8 * d + 16) + labelled * 8 * (r * d + 2 * r);
    for threads in [1, 2] {
        let bandwidth = on_threads(threads, || triad(threads));
        let run = |steps: usize| {
            on_threads(threads, || {
                let begun = Instant::now();
                let count = (steps, usize::MAX);
                run_iterations(&losses, &network, coupled, FirstOrder::Plain, count, |_, _| false)
                    .expect("the strength is right");
                begun.elapsed().as_secs_f64()
            })
        };
        // The difference of a long and a short run leaves the set-up out.
        let least = |steps| (0..5).map(|_| run(steps)).fold(f64::INFINITY, f64::min);
        let step = (least(120) - least(20)) / 100.0;
        let limit = bytes as f64 / bandwidth;
        println!(
            "kernel, 30,000 nodes, 10 features, {threads} threads: {:.2} ms a step, {:.1} MB at {:.1} GB/s would be {:.2} ms: {:.0} % of the limit (50)",
            1e3 * step,
            bytes as f64 / 1e6,
            bandwidth / 1e9,
            1e3 * limit,
            100.0 * limit / step
        );
    }
}

/// Bytes per second of a ← b + s c on arrays that no cache holds.
fn triad(threads: usize) -> f64 {
    use rayon::prelude::*;
    let size = 8_000_000;
    let (mut a, b, c) = (vec![0.0; size], vec![1.0; size], vec![2.0; size]);
    let chunk = size.div_ceil(threads);
    let mut best: f64 = 0.0;
    for _ in 0..8 {
        let begun = Instant::now();
        a.par_chunks_mut(chunk).zip(b.par_chunks(chunk)).zip(c.par_chunks(chunk)).for_each(
            |((a, b), c): ((&mut [f64], &[f64]), &[f64])| {
                a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c);
            },
        );
        std::hint::black_box(&mut a);
        best = best.max(24.0 * size as f64 / begun.elapsed().as_secs_f64());
    }
    best
}
