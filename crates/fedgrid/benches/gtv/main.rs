//! GTV minimisation: steps and time to a relative error of 1e-6 against the paper's iteration on the same
//! kernels, against CVXPY with Clarabel, the kernel against the memory's limit and against a numpy loop,
//! losses that are not quadratic, and a million nodes; all as ratios in one run.
//!
//! `cargo bench -p fedgrid --bench gtv -- steps peers rounds kernel smooth scale` runs the named parts, or all;
//! `-- steps 3000 50` only the cases of so many nodes and features.

#![expect(clippy::print_stdout, reason = "a bench tells what it measured")]

mod instance;
mod kernel;
#[path = "../peers/peer.rs"]
#[expect(dead_code, reason = "the benches use different parts of it")]
mod peer;
mod rounds;
mod scale;
mod smooth;

use std::fs;

use fedgrid::{
    network::Network,
    optimum::gtv::{Coupled, FirstOrder, Goal, Losses, minimise, run_iterations},
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
    if wanted("rounds") {
        rounds::rounds();
    }
    if wanted("kernel") {
        kernel::kernel();
    }
    if wanted("smooth") {
        smooth::smooth();
    }
    if wanted("scale") {
        scale::scale();
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
            let restarted = steps_to(&losses, &network, coupled, FirstOrder::Adaptive, least);
            counts.push(restarted);
            if seed == 0 && wanted > 0.0 {
                paper = steps_to(&losses, &network, coupled, FirstOrder::Plain, least);
                let time = |iteration, steps| {
                    on_one_thread(|| {
                        let count = (steps, usize::MAX);
                        run_iterations(&losses, &network, coupled, iteration, count, |_, _| false)
                            .expect("the strength is right");
                    })
                };
                ratio = time(FirstOrder::Plain, paper) / time(FirstOrder::Adaptive, restarted);
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
    run_iterations(losses, network, coupled, FirstOrder::Adaptive, count, |_, value| {
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
    iteration: FirstOrder,
    least: f64,
) -> usize {
    let mut steps = usize::MAX;
    run_iterations(losses, network, coupled, iteration, (12_000, 5), |step, value| {
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
        let steps = steps_to(&losses, &network, coupled, FirstOrder::Adaptive, least);
        let plain = on_one_thread(|| {
            let count = (steps, usize::MAX);
            run_iterations(&losses, &network, coupled, FirstOrder::Adaptive, count, |_, _| false)
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
}
