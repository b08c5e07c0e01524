//! Five coefficients along a random geometric network: nodes in a square, joined where they are near.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "coordinates of the unit square become numbers of cells"
)]

use fedgrid::{
    mixed::{NodeMoments, Precision},
    network::{Edge, Network},
    random::{Purpose, Stream},
};

use super::{estimate, resources::Timer};

const COLUMNS: usize = 5;
const ROWS: usize = 10;
/// How often deviations are averaged over neighbours, which makes them alike along edges.
const AVERAGES: usize = 5;

pub(crate) fn large(nodes: usize, degree: f64) {
    let network = geometric(nodes, degree);
    let deviations: Vec<Vec<f64>> = (0..COLUMNS).map(|column| smooth(&network, column)).collect();
    let moments: Vec<NodeMoments> = (0..nodes).map(|node| drawn(node, &deviations)).collect();
    let precision = Precision::along(&network);
    let timer = Timer::start();
    let found = estimate(&moments, COLUMNS, false, &precision);
    println!(
        "{nodes} nodes, {} edges, {COLUMNS} coefficients, {ROWS} rows each: {}, {} evaluations, ρ {:.4} (the goal is 60 s for 100,000 nodes)",
        network.edges().len(),
        timer.report(),
        found.evaluations,
        found.rho
    );
}

/// Uniform in the unit square, joined within the radius that gives about this mean degree.
fn geometric(nodes: usize, degree: f64) -> Network {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let points: Vec<[f64; 2]> = (0..nodes).map(|_| [stream.uniform(), stream.uniform()]).collect();
    let radius = (degree / (nodes as f64 * std::f64::consts::PI)).sqrt();
    let cells = ((1.0 / radius) as usize).max(1);
    let cell = |x: f64| ((x * cells as f64) as usize).min(cells - 1);
    let mut inside = vec![Vec::new(); cells * cells];
    for (node, [x, y]) in points.iter().enumerate() {
        inside[cell(*x) * cells + cell(*y)].push(node);
    }
    let mut edges = Vec::new();
    for (source, [x, y]) in points.iter().enumerate() {
        let around = |at: usize| at.saturating_sub(1)..=(at + 1).min(cells - 1);
        for (a, b) in around(cell(*x)).flat_map(|a| around(cell(*y)).map(move |b| (a, b))) {
            for &target in inside[a * cells + b].iter().filter(|target| **target < source) {
                let [u, v] = points[target];
                if (u - x).hypot(v - y) < radius {
                    edges.push(Edge { source, target, weight: 1.0 });
                }
            }
        }
    }
    let names = (0..nodes).map(|node| node.to_string()).collect();
    Network::new(names, edges).expect("edges join two nodes each")
}

fn smooth(network: &Network, column: usize) -> Vec<f64> {
    let mut stream = Stream::new(2, column, 0, Purpose::Data);
    let mut values: Vec<f64> = (0..network.len()).map(|_| stream.normal()).collect();
    for _ in 0..AVERAGES {
        let mean = |node: usize| {
            let around = network.neighbours(node);
            let sum: f64 = around.iter().map(|(other, _)| values[*other]).sum();
            (values[node] + sum) / (1.0 + around.len() as f64)
        };
        values = (0..network.len()).map(mean).collect();
    }
    values
}

fn drawn(node: usize, deviations: &[Vec<f64>]) -> NodeMoments {
    let mut stream = Stream::new(3, node, 0, Purpose::Data);
    let mut rows = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let x: Vec<f64> =
            (0..COLUMNS).map(|column| if column == 0 { 1.0 } else { stream.normal() }).collect();
        let own = x.iter().zip(deviations).map(|(x, of)| x * (0.5 + of[node]));
        let label = own.sum::<f64>() + 0.7 * stream.normal();
        rows.push((x, label));
    }
    NodeMoments::new(COLUMNS, rows.iter().map(|(x, y)| (&x[..], *y, 1.0)))
}
