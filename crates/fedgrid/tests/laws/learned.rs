//! The learned network: who belongs together is found from few probes, and helps as much as being
//! told.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{
    data::{Dataset, Features, Labels, distinct_rows},
    method::{Learn, Learned, chosen_by_validation, gradient_network, model_network},
    model::{Linear, LocalModel},
    network::{Clustered, Edge, Network, Node},
    optimum::{Limit, LinearNetwork},
    random::{Purpose, Stream},
};

const LIMIT: Limit = Limit { tolerance: 1e-8, products: 5000 };

fn names(count: usize) -> Vec<String> {
    (0..count).map(|id| id.to_string()).collect()
}

/// Nodes with one public set.
fn nodes(data: &[Dataset], public: Features, intercept: bool) -> Vec<Node> {
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept });
    let public = Arc::new(public);
    let node = |(id, data): (usize, &Dataset)| Node {
        id,
        data: data.clone(),
        model: model.clone(),
        public: public.clone(),
    };
    data.iter().enumerate().map(node).collect()
}

/// FedRelax on a network, at the strength of least error on validation rows; that error and the
/// weights.
fn relaxed(network: &Network, nodes: &[Node], validation: &[Dataset]) -> (f64, Vec<f64>) {
    let linear = LinearNetwork::new(nodes, false, true).unwrap().unwrap();
    let size = weights_per_node(nodes);
    let degree = 2.0 * network.edges().iter().map(|edge| edge.weight).sum::<f64>();
    let scale = nodes.len() as f64 / degree;
    let mut best = (f64::INFINITY, Vec::new());
    for power in -4..=8 {
        let alpha = scale * 10_f64.powf(0.5 * f64::from(power));
        let start = vec![0.0; nodes.len() * size];
        let weights = linear.solve(network, alpha, None, start, LIMIT).unwrap().weights;
        let error = mean_error(&weights, size, validation);
        if error < best.0 {
            best = (error, weights);
        }
    }
    best
}

fn mean_error(weights: &[f64], size: usize, data: &[Dataset]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (w, data) in weights.chunks_exact(size).zip(data) {
        for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
            let level = w.get(x.len()).copied().unwrap_or(0.0);
            let predicted: f64 = x.iter().zip(w).map(|(a, b)| a * b).sum::<f64>() + level;
            sum += (predicted - y).powi(2);
            count += 1.0;
        }
    }
    sum / count
}

/// Five clusters of fifty nodes with ten rows of twenty features each.
struct Clusters {
    nodes: Vec<Node>,
    validation: Vec<Dataset>,
    truth: Vec<Vec<f64>>,
}

impl Clusters {
    fn new(seed: u64) -> Self {
        let made = Clustered { clusters: 5, nodes: 50, inside: 1.0, between: 0.0, seed };
        let all = made.linear_data(20, 20, 0.5).unwrap();
        let part = |rows: std::ops::Range<usize>| -> Vec<Dataset> {
            let rows: Vec<usize> = rows.collect();
            all.data.iter().map(|data| data.select(&rows).with_total_weight(1.0)).collect()
        };
        let mut stream = Stream::new(seed, 0, 0, Purpose::Public);
        let values = (0..100 * 20).map(|_| stream.normal()).collect();
        let public = Features::new(all.data[0].features().names().clone(), values).unwrap();
        let nodes = nodes(&part(0..10), public, false);
        Self { nodes, validation: part(10..20), truth: all.weights }
    }

    fn true_network(&self) -> Network {
        let edges = (0..250).flat_map(|source| {
            let same = source + 1..(source / 50 + 1) * 50;
            same.map(move |target| Edge { source, target, weight: 1.0 })
        });
        Network::new(names(250), edges).unwrap()
    }

    fn error(&self, network: &Network) -> f64 {
        let (_, weights) = relaxed(network, &self.nodes, &self.validation);
        let error = |(node, w): (usize, &[f64])| {
            w.iter().zip(&self.truth[node / 50]).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        weights.chunks_exact(20).enumerate().map(error).sum::<f64>() / 250.0
    }
}

fn purity(learned: &Learned) -> f64 {
    let edges = learned.network.edges();
    let same = edges.iter().filter(|edge| edge.source / 50 == edge.target / 50).count();
    same as f64 / edges.len() as f64
}

#[test]
#[ignore]
fn tune() {
    for turns in [1, 2, 3, 5] {
        for seed in 0..3 {
            let clusters = Clusters::new(seed);
            let begun = std::time::Instant::now();
            let learned = Learn { turns, seed, ..Learn::default() }
                .learn(names(250), &clusters.nodes)
                .unwrap();
            let t = begun.elapsed().as_secs_f64();
            let probed = learned.pairs.len() as f64 / 31125.0;
            let wrong: Vec<f64> = learned
                .pairs
                .iter()
                .filter(|p| p.kept && p.source / 50 != p.target / 50)
                .map(|p| (p.score() * 100.0).round() / 100.0)
                .collect();
            let st = learned.network.statistics();
            println!(
                "turns {turns} seed {seed}: probed {probed:.3}, purity {:.4}, edges {}, components {:?}, error {:.4} true {:.4} ({t:.1} s) {:?}",
                purity(&learned),
                learned.network.edges().len(),
                st.sizes,
                clusters.error(&learned.network),
                clusters.error(&clusters.true_network()),
                &wrong
            );
        }
        let colorado = Colorado::read();
        for share in [0.1, 0.3, 1.0] {
            let learned = Learn { turns, share, ..Learn::default() }
                .learn(names(198), &colorado.nodes)
                .unwrap();
            println!(
                "turns {turns} colorado {share}: edges {} test {:.3} sizes {:?}",
                learned.network.edges().len(),
                colorado.test_error(&learned.network),
                learned.network.statistics().sizes
            );
        }
    }
}

/// The stations of the demo, without their coordinates.
struct Colorado {
    nodes: Vec<Node>,
    validation: Vec<Dataset>,
    test: Vec<Dataset>,
}

impl Colorado {
    fn read() -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/colorado/readings.csv");
        let text = std::fs::read_to_string(file).unwrap();
        let mut rows: BTreeMap<(&str, &str), Vec<Vec<f64>>> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let numbers = cells[4..].iter().map(|cell| cell.parse().unwrap()).collect();
            rows.entry((cells[0], cells[3])).or_default().push(numbers);
        }
        let columns: Arc<[String]> =
            ["sin1", "cos1", "sin2", "cos2"].map(String::from).into_iter().collect();
        let part = |split: &str| -> Vec<Dataset> {
            let of = rows.iter().filter(|((_, own), _)| *own == split);
            of.map(|(_, rows)| {
                let x = rows.iter().flat_map(|row| row[1..].to_vec()).collect();
                let y = rows.iter().map(|row| row[0]).collect();
                Dataset::new(Features::new(columns.clone(), x).unwrap(), Labels::values(y)).unwrap()
            })
            .collect()
        };
        let (train, test) = (part("train"), part("test"));
        let all = test
            .iter()
            .skip(1)
            .fold(test[0].features().clone(), |all, data| all.stacked(data.features()).unwrap());
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        let public = distinct_rows(&all, 12, &mut stream);
        Self { nodes: nodes(&train, public, true), validation: part("val"), test }
    }

    fn test_error(&self, network: &Network) -> f64 {
        let (_, weights) = relaxed(network, &self.nodes, &self.validation);
        mean_error(&weights, 5, &self.test)
    }
}

fn weights_per_node(nodes: &[Node]) -> usize {
    let model = nodes[0].model.as_parametric().expect("linear");
    model.size(nodes[0].data.features().columns(), nodes[0].data.task())
}
