//! Rows of a few nodes, drawn with coefficients that differ along a network.

use fedgrid::{
    data::{Dataset, Features, Labels},
    error::Result,
    mixed::{Likelihood, MixedEstimate, MixedModel, NodeMoments, Precision},
    network::{Edge, Network},
    random::{Purpose, Stream},
};

/// The features of a row with an intercept first, its label and its weight.
pub(super) type Row = (Vec<f64>, f64, f64);

/// The columns of every row.
pub(super) const COLUMNS: usize = 3;

#[derive(Clone)]
pub(super) struct Sample {
    pub(super) network: Network,
    /// The rows of each node.
    pub(super) rows: Vec<Vec<Row>>,
}

/// What is fitted to a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) fixed: &'a [usize],
    pub(super) random: &'a [usize],
    pub(super) variances: &'a [Option<f64>],
    pub(super) free: usize,
    pub(super) correlated: bool,
    pub(super) likelihood: Likelihood,
    pub(super) rho: Option<f64>,
    pub(super) factor: Option<&'a [f64]>,
}

/// All columns have a mean and deviate, and whatever belongs to that is estimated.
pub(super) const ALL: Plan<'static> = Plan {
    fixed: &[0, 1, 2],
    random: &[0, 1, 2],
    variances: &[],
    free: 0,
    correlated: false,
    likelihood: Likelihood::Restricted,
    rho: None,
    factor: None,
};

impl Sample {
    /// So many rows at each node of a ring with a chord; coefficients change slowly along it.
    pub(super) fn new(counts: &[usize]) -> Self {
        let nodes = counts.len();
        let edges = (0..nodes).map(|node| (node, (node + 1) % nodes, 1.0 + (node % 3) as f64));
        let network = network_of(nodes, edges.chain([(0, nodes / 2, 0.5)]));
        let rows = counts.iter().enumerate().map(|(node, &count)| {
            let mut stream = Stream::new(1, node, 0, Purpose::Data);
            let angle = node as f64 / nodes as f64 * std::f64::consts::TAU;
            let own =
                [2.0 + angle.sin(), 1.0 + 0.8 * angle.cos(), -0.5 + 0.5 * (2.0 * angle).sin()];
            let own = own.map(|w| w + 0.6 * stream.normal());
            let row = |_| {
                let x = [1.0, stream.normal(), stream.normal()];
                let label =
                    (0..COLUMNS).map(|k| own[k] * x[k]).sum::<f64>() + 0.5 * stream.normal();
                (x.to_vec(), label, 1.0 + stream.uniform())
            };
            (0..count).map(row).collect()
        });
        Self { network, rows: rows.collect() }
    }

    pub(super) fn fit(&self, plan: &Plan) -> MixedEstimate {
        self.fit_with(plan, &Precision::along(&self.network))
    }

    pub(super) fn fit_with(&self, plan: &Plan, precision: &Precision) -> MixedEstimate {
        self.try_with(plan, precision, fitted).unwrap()
    }

    pub(super) fn try_fit(&self, plan: &Plan) -> Result<MixedEstimate> {
        self.try_with(plan, &Precision::along(&self.network), fitted)
    }

    /// What comes of the model.
    pub(super) fn try_with<T>(
        &self,
        plan: &Plan,
        precision: &Precision,
        ask: impl Fn(&MixedModel) -> Result<T>,
    ) -> Result<T> {
        let moments = |rows: &Vec<Row>| {
            NodeMoments::new(COLUMNS, rows.iter().map(|(x, y, weight)| (&x[..], *y, *weight)))
        };
        let nodes: Vec<NodeMoments> = self.rows.iter().map(moments).collect();
        let Plan { fixed, random, variances, free, correlated, likelihood, rho, factor } = *plan;
        let model = MixedModel {
            nodes: &nodes,
            columns: COLUMNS,
            fixed,
            random,
            variances,
            free,
            correlated,
            likelihood,
            precision,
            rho,
            factor,
        };
        ask(&model)
    }

    /// Every row changed.
    pub(super) fn map(&self, mut change: impl FnMut(&mut Row)) -> Self {
        let mut changed = self.clone();
        changed.rows.iter_mut().flatten().for_each(&mut change);
        changed
    }

    /// As features without an intercept, and labels.
    pub(super) fn datasets(&self) -> Vec<Dataset> {
        let names: std::sync::Arc<[String]> = (1..COLUMNS).map(|k| format!("x{k}")).collect();
        let dataset = |rows: &Vec<Row>| {
            let values = rows.iter().flat_map(|(x, _, _)| x[1..].to_vec()).collect();
            let labels = Labels::values(rows.iter().map(|(_, y, _)| *y).collect());
            let weights = rows.iter().map(|(_, _, weight)| *weight).collect();
            let features = Features::new(names.clone(), values).unwrap();
            Dataset::weighted(features, labels, weights).unwrap()
        };
        self.rows.iter().map(dataset).collect()
    }
}

pub(super) fn network_of(
    nodes: usize,
    edges: impl Iterator<Item = (usize, usize, f64)>,
) -> Network {
    let names = (0..nodes).map(|node| node.to_string()).collect();
    let edges = edges.map(|(source, target, weight)| Edge { source, target, weight });
    Network::new(names, edges).unwrap()
}

/// The estimate of a model of any lifetime.
fn fitted(model: &MixedModel) -> Result<MixedEstimate> {
    model.fit()
}
