//! Random small problems: every penalty with every loss, on networks with nodes without rows or with too
//! few, isolated nodes, several components, uneven edges, and intercepts coupled, uncoupled or absent.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    model::{ElasticNet, Huber, Linear, LocalModel, Logistic, Poisson, Quantile},
    network::{Edge, Network, Node},
    penalty::Penalty,
    random::{Purpose, Stream},
};

/// The loss of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RowLoss {
    Squared,
    Huber(f64),
    Quantile(f64),
    CrossEntropy(usize),
    Poisson,
}

/// What every node of a problem learns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) rows: RowLoss,
    pub(crate) ridge: f64,
    pub(crate) lasso: f64,
    pub(crate) intercept: bool,
}

/// One problem.
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) penalty: Penalty,
    pub(crate) alpha: f64,
    pub(crate) couple_intercept: bool,
    pub(crate) nodes: Vec<Node>,
    pub(crate) network: Network,
}

const COMBINATIONS: usize = 30;

const PENALTIES: [Penalty; 3] = [Penalty::Norm, Penalty::SquaredNorm, Penalty::OneNorm];

const LOSSES: [(RowLoss, f64, f64); 10] = [
    (RowLoss::Squared, 0.0, 0.0),
    (RowLoss::Squared, 0.1, 0.0),
    (RowLoss::Squared, 0.0, 0.1),
    (RowLoss::Squared, 0.05, 0.1),
    (RowLoss::Huber(0.5), 0.0, 0.0),
    (RowLoss::Quantile(0.3), 0.0, 0.0),
    (RowLoss::CrossEntropy(2), 0.05, 0.0),
    (RowLoss::CrossEntropy(2), 0.0, 0.05),
    (RowLoss::CrossEntropy(3), 0.05, 0.0),
    (RowLoss::Poisson, 0.05, 0.0),
];

impl Kind {
    fn model(&self) -> Arc<dyn LocalModel> {
        let Self { ridge, lasso, intercept, .. } = *self;
        match self.rows {
            RowLoss::Squared if lasso == 0.0 => Arc::new(Linear { ridge, intercept }),
            RowLoss::Squared => Arc::new(ElasticNet { ridge, lasso, intercept }),
            RowLoss::Huber(threshold) => Arc::new(Huber { threshold, ridge, intercept }),
            RowLoss::Quantile(level) => Arc::new(Quantile { level, ridge, intercept }),
            RowLoss::CrossEntropy(_) => Arc::new(Logistic { ridge, lasso, intercept }),
            RowLoss::Poisson => Arc::new(Poisson { ridge, intercept }),
        }
    }

    fn task(&self) -> Task {
        match self.rows {
            RowLoss::CrossEntropy(classes) => Task::Classification { classes },
            _ => Task::Regression,
        }
    }

    fn labels(&self, outputs: &[f64], stream: &mut Stream) -> Labels {
        match self.rows {
            RowLoss::CrossEntropy(classes) => {
                let class = |output: &f64| match (output + stream.normal()).max(-1.0) {
                    value if value < 0.0 => 0,
                    value if value < 1.0 => 1,
                    _ => classes - 1,
                };
                Labels::classes(classes, &outputs.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
            RowLoss::Poisson => Labels::values(
                outputs
                    .iter()
                    .map(|o| (o.clamp(-2.0, 2.0).exp() * stream.uniform() * 2.0).floor())
                    .collect(),
            ),
            _ => Labels::values(outputs.iter().map(|o| o + 0.3 * stream.normal()).collect()),
        }
    }
}

impl Problem {
    /// The problem of a number: the penalty and the loss follow from it, all else is drawn.
    pub(crate) fn new(number: usize) -> Self {
        let stream = &mut Stream::new(11, number, 0, Purpose::Data);
        let (rows, ridge, lasso) = LOSSES[number / 3 % 10];
        let variant = number / COMBINATIONS;
        let kind = Kind { rows, ridge, lasso, intercept: !variant.is_multiple_of(3) };
        let columns = 1 + stream.index(3);
        let count = 4 + stream.index(6);
        let nodes = (0..count).map(|id| node(id, kind, columns, stream)).collect();
        Self {
            kind,
            penalty: PENALTIES[number % 3],
            alpha: if number % 20 == 19 {
                0.0
            } else {
                10.0_f64.powf(2.0 * stream.uniform() - 2.0)
            },
            couple_intercept: variant % 3 == 1,
            nodes,
            network: network(count, stream),
        }
    }

    /// How many weights a model has.
    pub(crate) fn size(&self) -> usize {
        let (columns, task) = (self.nodes[0].data.features().columns(), self.kind.task());
        self.nodes[0].model.as_parametric().unwrap().size(columns, task)
    }

    /// The places of the weights that are coupled.
    pub(crate) fn coupled(&self) -> Vec<usize> {
        let (columns, task) = (self.nodes[0].data.features().columns(), self.kind.task());
        let intercepts = self.nodes[0].model.as_parametric().unwrap().intercepts(columns, task);
        (0..self.size()).filter(|k| self.couple_intercept || !intercepts.contains(k)).collect()
    }

    /// P of the weights of all nodes, from the losses and the penalty alone.
    pub(crate) fn objective(&self, weights: &[Vec<f64>]) -> f64 {
        let nodes = self.nodes.iter().zip(weights).filter(|(node, _)| node.data.rows() > 0);
        let losses: f64 =
            nodes.map(|(node, w)| node.model.as_parametric().unwrap().loss(&node.data, w)).sum();
        let coupled = self.coupled();
        let term = |edge: &Edge| {
            let (from, to) = (&weights[edge.source], &weights[edge.target]);
            let z: Vec<f64> = coupled.iter().map(|&k| from[k] - to[k]).collect();
            self.alpha * edge.weight * self.penalty.value(&z)
        };
        losses + self.network.edges().iter().map(term).sum::<f64>()
    }

    /// Whether a finite bound on the gap must be known: for least squares always, else where every
    /// node with rows bounds its own weights.
    pub(crate) fn is_bounded(&self, least: f64) -> bool {
        let is_least_squares = self.kind.rows == RowLoss::Squared && self.kind.lasso == 0.0;
        let mut nodes = self.nodes.iter().filter(|node| node.data.rows() > 0);
        let bound = 10.0 * least.abs() + 10.0;
        is_least_squares
            || nodes
                .all(|node| node.model.as_parametric().unwrap().radius(&node.data, bound).is_some())
    }

    /// What the problem is, for messages.
    pub(crate) fn name(&self) -> String {
        let Self { kind, penalty, alpha, couple_intercept, .. } = self;
        format!("{penalty:?}, {kind:?}, alpha {alpha:.3}, intercepts coupled: {couple_intercept}")
    }
}

/// Nodes have no rows, too few, or enough.
fn node(id: usize, kind: Kind, columns: usize, stream: &mut Stream) -> Node {
    let names: Arc<[String]> = (0..columns).map(|k| format!("x{k}")).collect();
    let rows = [0, 1, 2, 3, 6, 8][stream.index(6)];
    let slope = if stream.uniform() < 0.5 { 1.0 } else { -0.5 };
    let x: Vec<f64> = (0..rows * columns).map(|_| stream.normal()).collect();
    let outputs: Vec<f64> =
        x.chunks_exact(columns).map(|x| 0.5 + slope * x.iter().sum::<f64>()).collect();
    let data = if rows == 0 {
        Dataset::empty(names.clone(), kind.task())
    } else {
        let weights = (0..rows).map(|_| 0.2 + stream.uniform()).collect();
        let labels = kind.labels(&outputs, stream);
        Dataset::weighted(Features::new(names.clone(), x).unwrap(), labels, weights).unwrap()
    };
    Node { id, data, model: kind.model(), public: Arc::new(Features::empty(names)) }
}

/// Few edges of uneven weights: often several components, and nodes by themselves.
fn network(count: usize, stream: &mut Stream) -> Network {
    let density = 0.15 + 0.5 * stream.uniform();
    let mut edges = Vec::new();
    for source in 0..count {
        for target in source + 1..count {
            if stream.uniform() < density {
                edges.push(Edge { source, target, weight: 0.1 + 1.9 * stream.uniform() });
            }
        }
    }
    Network::new((0..count).map(|id| id.to_string()).collect(), edges).unwrap()
}
