//! GTV minimisation: steps and time to a relative error of 1e-6 against the paper's iteration on the same
//! kernels, against CVXPY with Clarabel, the kernel against the memory's limit and against a numpy loop,
//! and a million nodes; all as ratios in one run.
//!
//! `cargo bench -p fedgrid --bench gtv -- steps peers kernel scale` runs the named parts, or all;
//! `-- steps 3000 50` only the cases of so many nodes and features.

#![expect(clippy::print_stdout, reason = "a bench tells what it measured")]

mod instance;
#[path = "../peers/peer.rs"]
#[expect(dead_code, reason = "the benches use different parts of it")]
mod peer;

use std::{fs, time::Instant};

use fedgrid::{
    network::{Network, random_regular},
    optimum::gtv::{Coupled, Goal, Iteration, Losses, follow, minimise},
    penalty::Penalty,
};
use instance::Instance;
use peer::{Peer, on_threads, seconds};

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    if wanted("steps") {
        let numbers = named.iter().filter_map(|name| name.parse().ok());
        steps(&numbers.collect::<Vec<usize>>());
    }
    if wanted("peers") {
        peers();
    }
    if wanted("kernel") {
        kernel();
    }
    if wanted("scale") {
        scale();
    }
}

/// The seconds that this thread has been on a processor.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat");
    let nanoseconds = text.ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.expect("the system tells processor times") / 1e9
}

/// The least processor time of five runs on one thread.
fn on_one_thread(work: impl Fn() + Sync) -> f64 {
    on_threads(1, || {
        (0..5)
            .map(|_| {
                let begun = cpu_seconds();
                work();
                cpu_seconds() - begun
            })
            .fold(f64::INFINITY, f64::min)
    })
}

fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values[values.len() / 2]
}

const NORM: Penalty = Penalty::Norm;

/// A case of the table: nodes, features, strength, the steps and the ratio of times that are wanted.
type Case = (usize, usize, f64, usize, f64);

fn steps(only: &[usize]) {
    println!(
        "steps to a relative error of 1e-6, penalty ‖·‖₂, medians of 5 seeds; processor time of seed 0 on one thread"
    );
    println!("   nodes features  alpha   steps (at most)   paper's   time ratio (at least)");
    let cases: [Case; 9] = [
        (300, 2, 1e-2, 140, 5.0),
        (300, 2, 1e-3, 160, 25.0),
        (300, 2, 1e-1, 0, 1.0 / 1.2),
        (300, 10, 1e-2, 0, 5.0),
        (3000, 2, 1e-2, 320, 3.0),
        (3000, 2, 1e-1, 0, 1.0 / 1.2),
        (3000, 10, 1e-2, 240, 5.0),
        (3000, 50, 1e-2, 420, 0.0),
        (30000, 2, 1e-2, 320, 3.0),
    ];
    let chosen = |case: &Case| only.iter().all(|number| [case.0, case.1].contains(number));
    for (nodes, features, alpha, most, wanted) in cases.into_iter().filter(chosen) {
        let coupled = Coupled { alpha, penalty: NORM };
        let seeds = if most == 0 { 1 } else { 5 };
        let mut counts = Vec::new();
        let (mut paper, mut ratio) = (0, 0.0);
        for seed in 0..seeds {
            let instance = Instance { nodes, features, seed };
            let (network, data) = (instance.network(), instance.data());
            let losses = Losses::new(&data, true).expect("linear models can be coupled");
            let least = least(&losses, &network, coupled);
            let restarted = steps_to(&losses, &network, coupled, Iteration::Adaptive, least);
            counts.push(restarted);
            if seed == 0 && wanted > 0.0 {
                paper = steps_to(&losses, &network, coupled, Iteration::Plain, least);
                let time = |iteration, steps| {
                    on_one_thread(|| {
                        let count = (steps, usize::MAX);
                        follow(&losses, &network, coupled, iteration, count, |_, _| false)
                            .expect("the strength is right");
                    })
                };
                ratio = time(Iteration::Plain, paper) / time(Iteration::Adaptive, restarted);
            }
        }
        println!(
            "{nodes:>8} {features:>8} {alpha:>6}   {:>5} ({most})   {paper:>12}   {ratio:>8.2} ({wanted:.2})",
            median(counts)
        );
    }
    if only.is_empty() {
        uneven();
    }
}

/// The smallest objective that is known.
fn least(losses: &Losses, network: &Network, coupled: Coupled) -> f64 {
    let goal = Goal { tolerance: 1e-8, steps: 4000 };
    let mut least =
        minimise(losses, network, coupled, None, goal).expect("the strength is right").objective;
    let count = (1500, 100);
    follow(losses, network, coupled, Iteration::Adaptive, count, |_, value| {
        least = least.min(value);
        false
    })
    .expect("the strength is right");
    least
}

fn steps_to(
    losses: &Losses,
    network: &Network,
    coupled: Coupled,
    iteration: Iteration,
    least: f64,
) -> usize {
    let mut steps = usize::MAX;
    follow(losses, network, coupled, iteration, (12_000, 5), |step, value| {
        steps = step;
        value - least <= 1e-6 * least
    })
    .expect("the strength is right");
    steps
}

/// Weights from 0.1 to 2, where first-order steps stall.
fn uneven() {
    let mut worst: f64 = 0.0;
    for seed in 0..5 {
        let instance = Instance { nodes: 3000, features: 2, seed };
        let (network, data) = (instance.uneven_network(), instance.data());
        let losses = Losses::new(&data, true).expect("linear models can be coupled");
        let coupled = Coupled { alpha: 1e-2, penalty: NORM };
        let time = on_one_thread(|| {
            let found = minimise(&losses, &network, coupled, None, Goal::default());
            let gap = found.expect("the strength is right").relative_gap();
            assert!(gap.is_some_and(|gap| gap <= 1e-6), "{gap:?}");
        });
        worst = worst.max(time);
    }
    println!(
        "uneven weights, 3000 nodes, 2 features, 1e-2: certified 1e-6 in {worst:.3} processor seconds at most (1.0)"
    );
}

fn peers() {
    let peer = match Peer::new() {
        Ok(peer) => peer,
        Err(reason) => return println!("CVXPY and numpy are skipped: {reason}"),
    };
    for (nodes, wanted) in [(300, 30.0), (3000, 150.0)] {
        let instance = Instance { nodes, features: 2, seed: 0 };
        let (network, data) = (instance.network(), instance.data());
        let losses = Losses::new(&data, true).expect("linear models can be coupled");
        let coupled = Coupled { alpha: 1e-2, penalty: NORM };
        let ours = on_one_thread(|| {
            minimise(&losses, &network, coupled, None, Goal::default()).expect("it can be solved");
        });
        let found = minimise(&losses, &network, coupled, None, Goal::default());
        let found = found.expect("it can be solved").objective;
        let edges: Vec<f64> =
            network.edges().iter().flat_map(|e| [e.source as f64, e.target as f64]).collect();
        peer.write("edges", &edges);
        let rows = data.iter().flat_map(|node| {
            let labels = node.data.labels().as_slice();
            let features = node.data.features().iter().zip(labels);
            features.map(move |(x, y)| [node.id as f64, x[0], x[1], *y])
        });
        peer.write("rows", &rows.flatten().collect::<Vec<_>>());
        let answer = peer.run("../gtv/conic.py", &[nodes as f64, 1e-2]);
        if let Some(reason) = answer["skipped"].as_str() {
            println!("CVXPY is skipped: {reason}");
            break;
        }
        let least = least(&losses, &network, coupled);
        let steps = steps_to(&losses, &network, coupled, Iteration::Adaptive, least);
        let plain = on_one_thread(|| {
            let count = (steps, usize::MAX);
            follow(&losses, &network, coupled, Iteration::Adaptive, count, |_, _| false)
                .expect("the strength is right");
        });
        let theirs = seconds(&answer, "seconds");
        let value = seconds(&answer, "objective");
        println!(
            "CVXPY with Clarabel, {nodes} nodes, 2 features, 1e-2: {theirs:.2} s; ours to a relative error of 1e-6 {plain:.4} s, {:.0}x ({wanted}); certified {ours:.4} s, {:.0}x; objectives {value:.8} and {found:.8}",
            theirs / plain,
            theirs / ours
        );
    }
    rounds_per_second(&peer);
}

/// Plain rounds on a 4-regular network of a thousand nodes.
fn rounds_per_second(peer: &Peer) {
    let (nodes, features, rounds) = (1000, 10, 500);
    let network = random_regular(nodes, 4, 1).expect("the network can be made");
    let instance = Instance { nodes, features, seed: 1 };
    let data = instance.full(10);
    let losses = Losses::new(&data, true).expect("linear models can be coupled");
    let coupled = Coupled { alpha: 0.1, penalty: NORM };
    let time = |steps: usize| {
        on_one_thread(|| {
            let count = (steps, usize::MAX);
            follow(&losses, &network, coupled, Iteration::Plain, count, |_, _| false)
                .expect("the strength is right");
        })
    };
    // The difference of a long and a short run leaves the set-up out, as the peer's loop does.
    let ours = (time(5 * rounds) - time(rounds)) / 4.0;
    let answer = peer.run("../gtv/numpy_rounds.py", &[nodes as f64, rounds as f64]);
    if let Some(reason) = answer["skipped"].as_str() {
        return println!("the numpy loop is skipped: {reason}");
    }
    let theirs = seconds(&answer, "rounds_per_second");
    let ours = rounds as f64 / ours;
    println!(
        "plain rounds per processor second, 1000 nodes, 10 features, 4-regular: {ours:.0}, numpy {theirs:.0}, {:.1}x (8)",
        ours / theirs
    );
}

fn kernel() {
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
                follow(&losses, &network, coupled, Iteration::Plain, count, |_, _| false)
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

fn scale() {
    let mut per_node = Vec::new();
    for nodes in [10_000, 100_000, 1_000_000] {
        let instance = Instance { nodes, features: 10, seed: 0 };
        let (network, data) = (instance.network(), instance.data());
        let coupled = Coupled { alpha: 1e-2, penalty: NORM };
        let begun = Instant::now();
        let losses = Losses::new(&data, true).expect("linear models can be coupled");
        let prepared = begun.elapsed().as_secs_f64();
        drop(data);
        let begun = Instant::now();
        let mut reached = Vec::new();
        let count = (150, 10);
        follow(&losses, &network, coupled, Iteration::Adaptive, count, |step, value| {
            reached.push((step, value, begun.elapsed().as_secs_f64()));
            false
        })
        .expect("the strength is right");
        let least = reached.iter().map(|(_, value, _)| *value).fold(f64::INFINITY, f64::min);
        let (step, _, time) = *reached
            .iter()
            .find(|(_, value, _)| value - least <= 1e-3 * least)
            .expect("the last one is");
        let per = reached[reached.len() - 1].2 / 150.0 / nodes as f64;
        per_node.push(per);
        println!(
            "scale, {nodes} nodes, {} edges, 10 features: losses {prepared:.1} s, relative error 1e-3 after {step} steps and {time:.1} s; {:.0} ns a step and node",
            network.edges().len(),
            1e9 * per
        );
        let begun = Instant::now();
        let goal = Goal { tolerance: 1e-2, steps: 120 };
        let found = minimise(&losses, &network, coupled, None, goal).expect("it can be solved");
        println!(
            "   minimise: objective {:.6}, certified relative gap {:?}, {} steps in {:.1} s, peak memory {} MB",
            found.objective,
            found.relative_gap(),
            found.steps,
            begun.elapsed().as_secs_f64(),
            peak_memory()
        );
    }
    println!(
        "time a step and node grows by {:.2} from 10⁴ to 10⁶ nodes (3)",
        per_node[2] / per_node[0]
    );
}

/// The largest resident memory of this process in megabytes, where the system tells.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok());
    kilobytes.map_or("unknown".into(), |kilobytes| format!("{:.0}", kilobytes / 1024.0))
}
