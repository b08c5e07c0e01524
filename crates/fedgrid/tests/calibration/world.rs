//! Made worlds in which the truth about a network is known,
//!
//! ```text
//! y = β_i · (1, x − μ) + e        β_ik = β_k + size_k (√along f_k(i) + √(1 − along) z_ik)
//! e = √(1 − shock) z + √shock (√lasting g(i) + √(1 − lasting) g_row(i))      in test rows only
//! ```
//!
//! with f, g smooth over the plane in which near nodes are neighbours, and z normal. Models depend on the seed of
//! a world; its test rows may be drawn any number of times, because no model sees them. What is true may drift
//! after training (`truth.rs`).

use std::sync::Arc;

use fedgrid::{
    compare::{Member, MethodKind, Settings, Study},
    data::{Dataset, Features, Labels, Plan, RowDraws, normal_points},
    model::{LocalModel, ModelKind, Scales},
    network::{Edge, Network},
    random::{Purpose, Stream},
};

/// The methods that one is chosen from.
const CHOSEN_FROM: [MethodKind; 3] = [MethodKind::FedRelax, MethodKind::Gtv, MethodKind::Mixed];
/// The number of features.
const FEATURES: usize = 3;
/// Rows of each node by which the true error of a model is measured; they have no noise.
pub(crate) const TRUTH_ROWS: usize = 50;
/// Waves that make up a smooth field.
const WAVES: usize = 100;

/// What a world is drawn from.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) nodes: usize,
    pub(crate) training: usize,
    pub(crate) test: usize,
    /// The mean number of neighbours, away from the border.
    pub(crate) degree: f64,
    /// The mean and the standard deviation of the features.
    pub(crate) features: (f64, f64),
    /// The standard deviation over nodes of the level and of each slope.
    pub(crate) sizes: [f64; FEATURES + 1],
    /// The share of that variance along the network.
    pub(crate) along: f64,
    /// Over what part of the plane parameters and shocks are alike.
    pub(crate) length: f64,
    /// None if it is chosen, as experiments do that name none.
    pub(crate) method: Option<MethodKind>,
    pub(crate) shuffles: usize,
}

impl Default for World {
    fn default() -> Self {
        Self {
            nodes: 50,
            training: 8,
            test: 20,
            degree: 10.0,
            features: (0.0, 1.0),
            sizes: [0.5; FEATURES + 1],
            along: 0.0,
            length: 0.28,
            method: None,
            shuffles: Settings::default().shuffles,
        }
    }
}

/// What test rows are drawn from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Test {
    /// The share of their noise that neighbours share.
    pub(crate) shock: f64,
    /// The share of that which is the same in all test rows of a node.
    pub(crate) lasting: f64,
    /// How far truth has drifted towards the rival of the given place in `RIVALS`.
    pub(crate) drift: (f64, usize),
    /// Which draw it is.
    pub(crate) draw: usize,
}

impl World {
    /// The network: every node and those within a radius, or the nearest.
    fn network(&self, points: &[[f64; 2]]) -> Network {
        let radius = (self.degree / (std::f64::consts::PI * self.nodes as f64)).sqrt();
        let distance =
            |a: usize, b: usize| (points[a][0] - points[b][0]).hypot(points[a][1] - points[b][1]);
        let all = 0..self.nodes;
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for node in all.clone() {
            let others = all.clone().filter(|other| *other != node);
            let near = others.clone().filter(|other| distance(node, *other) < radius);
            let nearest = others.min_by(|a, b| distance(node, *a).total_cmp(&distance(node, *b)));
            pairs.extend(near.chain(nearest).map(|other| (node.min(other), node.max(other))));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let edges = pairs.into_iter().map(|(source, target)| Edge { source, target, weight: 1.0 });
        Network::new(all.map(|node| format!("{node:05}")).collect(), edges).unwrap()
    }

    /// A field of mean zero and variance one over these points.
    fn field(&self, points: &[[f64; 2]], stream: &mut Stream) -> Vec<f64> {
        let waves: Vec<[f64; 3]> = (0..WAVES)
            .map(|_| {
                let [a, b] = [stream.normal() / self.length, stream.normal() / self.length];
                [a, b, std::f64::consts::TAU * stream.uniform()]
            })
            .collect();
        let height =
            |[x, y]: &[f64; 2]| waves.iter().map(|[a, b, c]| (a * x + b * y + c).cos()).sum();
        let heights: Vec<f64> = points.iter().map(height).collect();
        let count = points.len() as f64;
        let mean = heights.iter().sum::<f64>() / count;
        let variance = heights.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / count;
        heights.iter().map(|h| (h - mean) / variance.sqrt()).collect()
    }

    /// The level and the slopes of every node.
    pub(crate) fn parameters(&self, points: &[[f64; 2]], stream: &mut Stream) -> Vec<Vec<f64>> {
        let (along, apart) = (self.along.sqrt(), (1.0 - self.along).sqrt());
        let each = self.sizes.iter().map(|size| {
            let (common, smooth) = (stream.normal(), self.field(points, stream));
            let own = smooth.iter().map(|f| common + size * (along * f + apart * stream.normal()));
            own.collect()
        });
        each.collect()
    }

    /// The rows of all nodes: training, test, and those without noise.
    pub(crate) fn rows(&self, place: &Place, test: &Test) -> Vec<Dataset> {
        let Place { seed, points, parameters } = *place;
        let Test { shock, lasting, draw, .. } = *test;
        let mut stream = Stream::new(seed, self.nodes, 3 + draw, Purpose::Data);
        let stays = self.field(points, &mut stream);
        let passes: Vec<Vec<f64>> =
            (0..self.test).map(|_| self.field(points, &mut stream)).collect();
        let (keep, change) = (lasting.sqrt(), (1.0 - lasting).sqrt());
        let of_node = |node: usize| {
            let truth: Vec<f64> = parameters.iter().map(|values| values[node]).collect();
            let mut known = Stream::new(seed, node, 2, Purpose::Data);
            let mut drawn = Stream::new(seed, node, 3 + draw, Purpose::Data);
            let mut rows = Rows { world: self, truth, x: Vec::new(), y: Vec::new() };
            (0..self.training).for_each(|_| rows.add(&mut known, |z| z));
            for row in &passes {
                let field = keep * stays[node] + change * row[node];
                let (shared, own) = (shock.sqrt() * field, (1.0 - shock).sqrt());
                rows.add(&mut drawn, |z| shared + own * z);
            }
            (0..TRUTH_ROWS).for_each(|_| rows.add(&mut known, |_| 0.0));
            Dataset::new(
                Features::from_rows(&["a", "b", "c"], &rows.x).unwrap(),
                Labels::values(rows.y),
            )
            .unwrap()
        };
        (0..self.nodes).map(of_node).collect()
    }

    /// The rows of each node after so many others.
    pub(crate) fn part(&self, after: usize, count: usize) -> Vec<Vec<usize>> {
        vec![(after..after + count).collect(); self.nodes]
    }

    pub(crate) fn study(&self, place: &Place) -> Study {
        let (seed, rows) = (place.seed, self.rows(place, &Test::default()));
        let plan = Plan {
            folds: Vec::new(),
            train: self.part(0, self.training),
            test: self.part(self.training, self.test),
        };
        let network = self.network(place.points);
        let plan = plan.folded(5, &RowDraws { names: network.names(), rows: &rows, seed });
        let model: Arc<dyn LocalModel> = ModelKind::Linear.with_defaults().shared(false);
        let models = vec![model; self.nodes];
        let scales = Scales::of(network.names(), &plan.training_rows(&rows), &models).unwrap();
        let scales = scales.unwrap();
        let rows: Vec<Dataset> = rows.iter().map(|data| scales.rows(data).unwrap()).collect();
        let training = plan.training_features(&rows).unwrap();
        let mut stream = Stream::new(seed, 0, 0, Purpose::Public);
        let public = Arc::new(normal_points(&training, 100, &mut stream).unwrap());
        let kinds = self.method.map_or_else(|| CHOSEN_FROM.to_vec(), |kind| vec![kind]);
        let members: Vec<Member> =
            kinds.iter().map(|kind| Member::new(kind.with_defaults())).collect();
        let (method, shuffles) = (kinds[0].with_defaults(), self.shuffles);
        Study {
            network,
            rows,
            models,
            public: vec![public; self.nodes],
            plan,
            scales: Some(scales),
            settings: Settings { method, members, shuffles, seed, ..Settings::default() },
        }
    }
}

/// Where nodes are and what is true of them.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) seed: u64,
    pub(crate) points: &'a [[f64; 2]],
    pub(crate) parameters: &'a [Vec<f64>],
}

/// Rows of one node.
struct Rows<'a> {
    world: &'a World,
    truth: Vec<f64>,
    x: Vec<[f64; FEATURES]>,
    y: Vec<f64>,
}

impl Rows<'_> {
    /// One more, with what becomes of its own noise.
    fn add(&mut self, stream: &mut Stream, noise: impl Fn(f64) -> f64) {
        let (middle, spread) = self.world.features;
        let away: [f64; FEATURES] = std::array::from_fn(|_| spread * stream.normal());
        let slopes = self.truth[1..].iter().zip(&away).map(|(slope, x)| slope * x);
        self.y.push(self.truth[0] + slopes.sum::<f64>() + noise(stream.normal()));
        self.x.push(away.map(|away| middle + away));
    }
}
