//! The fixed point of linear FedRelax: the direct solution against rounds, to a residual of 1e-8,
//! on the same moments, as ratios in one run.

use std::{sync::Arc, time::Instant};

use fedgrid::{
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
        let solve = || linear.solve(&network, 0.05, None, start(), LIMIT).expect("alpha is right");
        let (direct, a) = timed(solve);
        let (rounds, b) =
            timed(|| linear.relax(&network, 0.05, start(), LIMIT).expect("alpha is right"));
        format!(
            "{:<33} {direct:>8.4} {:>8} {rounds:>10.4} {:>8} {:>7.2} {moments:>9.3}",
            self.name,
            a.products,
            b.products,
            direct / rounds
        )
    }
}

/// The median time of five runs, and the answer.
fn timed<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut answer = work();
    let mut times = [0.0; 5];
    for time in &mut times {
        let begun = Instant::now();
        answer = work();
        *time = begun.elapsed().as_secs_f64();
    }
    times.sort_by(f64::total_cmp);
    (times[2], answer)
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
    println!("seconds to a relative residual of 1e-8, alpha 0.05, medians of 5");
    println!(
        "case                                direct products     rounds    count   ratio   moments"
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
}
