//! A small network with data, and the dense solution of its linear system.

use std::sync::Arc;

use fedgrid::{
    algebra::Singular,
    data::{Dataset, Features, Labels, Task},
    loss::Loss,
    method::fedrelax::Coupling,
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel},
    network::{Edge, Network, Node, View},
    random::{Purpose, Stream},
};

const NODES: usize = 6;
const FEATURES: usize = 3;

/// Six nodes with four to nine rows of three features, on a ring with one chord.
pub(crate) struct Setting {
    /// The network.
    pub(crate) network: Network,
    /// What is predicted.
    pub(crate) task: Task,
    /// The models, taken in turn by the nodes.
    pub(crate) models: Vec<Arc<dyn LocalModel>>,
    /// Whether all nodes have one public set.
    pub(crate) shared: bool,
    /// Nodes without rows.
    pub(crate) empty: Vec<usize>,
}

impl Setting {
    /// The setting with linear models and a common public set.
    pub(crate) fn new(task: Task) -> Self {
        let names = (0..NODES).map(|id| format!("n{id}")).collect();
        let ring = (0..NODES).map(|id| (id, (id + 1) % NODES, 0.3 + 0.2 * id as f64));
        let edges = ring.chain([(0, 3, 0.8)]);
        let edges = edges.map(|(source, target, weight)| Edge { source, target, weight });
        Self {
            network: Network::new(names, edges).unwrap(),
            task,
            models: vec![Arc::new(Linear::default())],
            shared: true,
            empty: Vec::new(),
        }
    }

    fn features(node: usize, rows: usize, purpose: Purpose) -> Features {
        let mut stream = Stream::new(5, node, 0, purpose);
        let names = (0..FEATURES).map(|k| format!("x{k}")).collect();
        let scale = 1.0 + node as f64 / 3.0;
        let values = (0..rows * FEATURES).map(|_| 0.3 + scale * stream.normal()).collect();
        Features::new(names, values).unwrap()
    }

    fn data(&self, node: usize) -> Dataset {
        let features = Self::features(node, 4 + node, Purpose::Data);
        if self.empty.contains(&node) {
            return Dataset::empty(features.names().clone(), self.task);
        }
        let mut stream = Stream::new(6, node, 0, Purpose::Data);
        let score = |x: &[f64], stream: &mut Stream| {
            x[0] - 0.5 * x[1] + 0.3 * node as f64 * x[2] + node as f64 + 0.2 * stream.normal()
        };
        let scores: Vec<f64> = features.iter().map(|x| score(x, &mut stream)).collect();
        let labels = match self.task {
            Task::Regression => Labels::values(scores),
            Task::Classification { classes } => {
                let class =
                    |s: &f64| (usize::from(*s > 0.5) + usize::from(*s > 2.0)).min(classes - 1);
                Labels::classes(classes, &scores.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
        };
        Dataset::new(features, labels).unwrap()
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let sets: Vec<Arc<Features>> =
            (0..NODES).map(|node| Arc::new(Self::features(node, 8, Purpose::Public))).collect();
        (0..NODES)
            .map(|id| Node {
                id,
                data: self.data(id),
                model: self.models[id % self.models.len()].clone(),
                public: sets[if self.shared { 0 } else { id }].clone(),
            })
            .collect()
    }

    /// What the nodes may know.
    pub(crate) fn views(&self) -> Vec<View> {
        self.network.views(self.nodes()).unwrap()
    }

    /// How many weights a node has, the intercept last.
    pub(crate) const fn size() -> usize {
        FEATURES + 1
    }

    /// The hypotheses of weights.
    pub(crate) fn hypotheses(weights: &[f64]) -> Vec<Arc<dyn Hypothesis>> {
        let names: Arc<[String]> = (0..FEATURES).map(|k| format!("x{k}")).collect();
        let hypothesis = |w: &[f64]| -> Arc<dyn Hypothesis> {
            let (slopes, intercept) = (w[..FEATURES].to_vec(), w[FEATURES]);
            Arc::new(LinearHypothesis { names: names.clone(), slopes, intercept })
        };
        weights.chunks_exact(Self::size()).map(hypothesis).collect()
    }

    /// The block system written out entry by entry and solved by its singular values.
    pub(crate) fn dense_solution(&self, alpha: f64, coupling: Coupling) -> Vec<f64> {
        let (size, nodes) = (Self::size(), self.nodes());
        let total = size * NODES;
        let moment = |rows: &Features, weights: &[f64]| {
            let mut moment = vec![0.0; size * size];
            for (x, weight) in rows.iter().zip(weights) {
                let x = [x, &[1.0]].concat();
                for (a, xa) in x.iter().enumerate() {
                    for (b, xb) in x.iter().enumerate() {
                        moment[a * size + b] += weight * xa * xb;
                    }
                }
            }
            moment
        };
        let public = |node: usize| {
            let rows = &nodes[node].public;
            moment(rows, &vec![1.0 / rows.rows() as f64; rows.rows()])
        };
        let (mut matrix, mut right) = (vec![0.0; total * total], vec![0.0; total]);
        let mut add = |i: usize, j: usize, factor: f64, block: &[f64]| {
            for a in 0..size {
                for b in 0..size {
                    matrix[(i * size + a) * total + j * size + b] += factor * block[a * size + b];
                }
            }
        };
        for (i, node) in nodes.iter().enumerate() {
            add(i, i, 1.0, &moment(node.data.features(), node.data.weights()));
            for &(j, weight) in self.network.neighbours(i) {
                let mut block = public(j);
                if coupling == Coupling::Symmetric {
                    block.iter_mut().zip(public(i)).for_each(|(a, b)| *a = f64::midpoint(*a, b));
                }
                add(i, i, alpha * weight, &block);
                add(i, j, -alpha * weight, &block);
            }
            for (row, x) in node.data.features().iter().enumerate() {
                let label = node.data.weights()[row] * node.data.labels().row(row)[0];
                for (a, x) in [x, &[1.0]].concat().iter().enumerate() {
                    right[i * size + a] += label * x;
                }
            }
        }
        let svd = Singular::new(&matrix, total);
        let mut solution = vec![0.0; total];
        for ((s, left), v) in svd.values.iter().zip(&svd.scaled_left).zip(&svd.right) {
            let along: f64 = left.iter().zip(&right).map(|(a, b)| a * b).sum::<f64>() / (s * s);
            solution.iter_mut().zip(v).for_each(|(x, v)| *x += along * v);
        }
        solution
    }

    /// `Σ_i L_i + α Σ_edges A δ` on the common public set.
    pub(crate) fn objective(&self, weights: &[f64], alpha: f64) -> f64 {
        let (nodes, hypotheses) = (self.nodes(), Self::hypotheses(weights));
        let losses = nodes.iter().zip(&hypotheses).map(|(node, hypothesis)| {
            Loss::Squared.mean(node.data.labels(), &hypothesis.predict(node.data.features()))
        });
        let on_public: Vec<Labels> =
            hypotheses.iter().map(|hypothesis| hypothesis.predict(&nodes[0].public)).collect();
        let gtv = self.network.edges().iter().map(|edge| {
            edge.weight * Loss::Squared.mean(&on_public[edge.source], &on_public[edge.target])
        });
        losses.sum::<f64>() + alpha * gtv.sum::<f64>()
    }
}

/// The predictions of hypotheses on the first node's public points.
pub(crate) fn predictions<'a>(
    hypotheses: impl IntoIterator<Item = &'a Arc<dyn Hypothesis>>,
    setting: &Setting,
) -> Vec<Vec<f64>> {
    let points = setting.nodes()[0].public.clone();
    hypotheses
        .into_iter()
        .map(|hypothesis| hypothesis.predict(&points).as_slice().to_vec())
        .collect()
}
