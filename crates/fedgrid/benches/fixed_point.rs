//! The fixed point of linear FedRelax: the direct solution against rounds, to a residual of 1e-8,
//! on the same moments, as ratios in one run; with the peak memory so far, which holds the nodes'
//! rows and public points too. Then small systems solved eight at a time against one at a time.

use std::{sync::Arc, time::Instant};

use fedgrid::{
    algebra::{Batch, Cholesky, Factors, triangle},
    data::{Dataset, Features},
    model::Linear,
    network::{Clustered, Network, Node},
    optimum::{Limit, LinearNetwork},
    random::{Purpose, Stream},
};

const LIMIT: Limit = Limit { tolerance: 1e-8, products: 5000 };

/// A clustered network with ten rows of data at each node.
struct Case {
    name: &'static str,
    made: Clustered,
    features: usize,
    own_sets: bool,
}

impl Case {
    fn nodes(&self) -> (Network, Vec<Node>) {
        let (network, _) = self.made.make().expect("the network can be made");
        let data = self.made.linear_data(self.features, 10, 0.1).expect("data can be made").data;
        let model = Arc::new(Linear { ridge: 0.0, intercept: false });
        let draw = |node: usize| {
            let mut stream = Stream::new(9, node, 0, Purpose::Public);
            let names: Arc<[String]> = data[0].features().names().clone();
            let values = (0..100 * self.features).map(|_| stream.normal()).collect();
            Arc::new(Features::new(names, values).expect("normal draws are finite"))
        };
        let common = draw(usize::MAX);
        let node = |(id, data): (usize, &Dataset)| Node {
            id,
            data: data.clone(),
            model: model.clone(),
            public: if self.own_sets { draw(id) } else { common.clone() },
        };
        (network, data.iter().enumerate().map(node).collect())
    }

    fn report(&self) -> String {
        let (network, nodes) = self.nodes();
        let begun = Instant::now();
        let linear = LinearNetwork::new(&nodes, false, true)
            .expect("the parameters are right")
            .expect("all models are linear");
        let moments = begun.elapsed().as_secs_f64();
        let start = || vec![0.0; nodes.len() * self.features];
        let (direct, a, rounds, b) = timed(
            || linear.solve(&network, 0.05, None, start(), LIMIT).expect("alpha is right"),
            || linear.relax(&network, 0.05, start(), LIMIT).expect("alpha is right"),
        );
        assert!(a.residual <= LIMIT.tolerance && b.residual <= LIMIT.tolerance);
        format!(
            "{:<33} {direct:>8.4} {:>8} {rounds:>10.4} {:>8} {:>7.2} {moments:>9.3} {:>8}",
            self.name,
            a.products,
            b.products,
            direct / rounds,
            peak_memory(),
        )
    }
}

/// The shortest times of eleven runs of each of two, in turns, with their answers.
fn timed<A, B>(mut one: impl FnMut() -> A, mut other: impl FnMut() -> B) -> (f64, A, f64, B) {
    let (mut a, mut b) = (one(), other());
    let mut times = [f64::INFINITY; 2];
    for _ in 0..11 {
        let begun = Instant::now();
        a = one();
        times[0] = begun.elapsed().as_secs_f64().min(times[0]);
        let begun = Instant::now();
        b = other();
        times[1] = begun.elapsed().as_secs_f64().min(times[1]);
    }
    (times[0], a, times[1], b)
}

/// The peak memory of this process so far, where the system tells.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.map_or("?".into(), |size: f64| format!("{:.2} GiB", size / 1024.0 / 1024.0))
}

/// Factors and solves so many positive definite systems, one at a time and eight at a time.
fn small_systems(count: usize, size: usize) -> String {
    let length = triangle(size);
    let entry = |node: usize, row: usize, column: usize| {
        if row == column { 2.0 } else { ((node + row + column) % 7) as f64 / (4.0 * size as f64) }
    };
    let b: Vec<f64> = (0..count * size).map(|k| (k % 11) as f64).collect();
    let one_by_one = || {
        let mut x = b.clone();
        for (node, x) in x.chunks_exact_mut(size).enumerate() {
            let mut matrix = vec![0.0; size * size];
            for row in 0..size {
                (0..=row).for_each(|column| matrix[row * size + column] = entry(node, row, column));
            }
            Cholesky::new(matrix, size).expect("the diagonal dominates").solve(x);
        }
        x
    };
    let in_eights = || {
        let mut x = b.clone();
        let matrices = Batch::new(count, size, |first, triangles| {
            for (node, lower) in (first..).zip(triangles.chunks_exact_mut(length)) {
                for row in 0..size {
                    (0..=row).for_each(|k| lower[triangle(row) + k] = entry(node, row, k));
                }
            }
        });
        Factors::new(matrices).solve(0, &mut x);
        x
    };
    // On one thread, because the question is what a core does.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool can be made");
    let (eights, x, ones, y) = pool.install(|| timed(in_eights, one_by_one));
    assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9));
    let each = |seconds: f64| 1e6 * seconds / count as f64;
    format!("d {size:<3} {:>8.3} {:>8.3} {:>7.1}", each(eights), each(ones), ones / eights)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    let paper = || Clustered { clusters: 3, nodes: 50, inside: 0.8, between: 0.2, seed: 1 };
    let sparse = |nodes: usize| {
        let half = (nodes / 2) as f64;
        let (inside, between) = (9.5 / half, 0.5 / half);
        Clustered { clusters: 2, nodes: nodes / 2, inside, between, seed: 1 }
    };
    let case = |name, made, features, own_sets| Case { name, made, features, own_sets };
    println!("seconds to a relative residual of 1e-8, alpha 0.05, shortest of 11");
    println!(
        "case                                direct products     rounds    count   ratio   moments   memory"
    );
    for case in [
        case("n 150, d 50, own sets", paper(), 50, true),
        case("n 150, d 50, one set", paper(), 50, false),
        case("n 3,000 sparse, d 10, own sets", sparse(3000), 10, true),
        case("n 3,000 sparse, d 10, one set", sparse(3000), 10, false),
        case("n 100,000 sparse, d 10, own sets", sparse(100_000), 10, true),
        case("n 100,000 sparse, d 10, one set", sparse(100_000), 10, false),
    ] {
        println!("{}", case.report());
    }
    println!("\nmicroseconds per system to form, factor and solve, one thread");
    println!("size     eights     ones   ratio");
    for (count, size) in [(10_000, 5), (10_000, 10), (5_000, 20), (500, 50)] {
        println!("{}", small_systems(count, size));
    }
}
