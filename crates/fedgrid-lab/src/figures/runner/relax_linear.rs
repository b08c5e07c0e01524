//! FedRelax with linear models, and what it is compared with, round by round,
//!
//! ```text
//! descend   one RMSprop step per round on  L_i(w) + α Σ_j A_ij δ_j(w, w_j)          the authors' code
//! minimum   the fixed point of  w_i = argmin L_i(w) + α Σ_j A_ij δ_j(w, w_j)        eq. 16 itself
//! oracle    RMSprop on the rows of the whole cluster
//! FedAvg    one model, the mean of all gradients
//! IFCA      as many models as it is told, each the mean of the gradients of those whom it fits best
//! ```
//!
//! ["Plug In and Learn", Figures 1, 3 and 5.] Entry k is measured before update k, as the authors do, so
//! that entry 1 is the start; FedAvg and IFCA are measured after it.

use std::sync::Arc;

use fedgrid::{
    Result,
    algebra::squared_distance,
    data::{Dataset, Labels},
    descent::Optimiser,
    loss::Loss,
    model::{Linear, LocalModel},
    network::{Network, Node},
    optimum::{Limit, LinearNetwork, Rounds},
    synthetic::{DataSizes, Relation, SyntheticNetwork},
};
use serde::Deserialize;

use super::super::{
    averaging::{GradientAveraging, uniform_start},
    measured::Curve,
};

/// A point is kept every so many entries: the papers' curves are smooth, and files stay small.
const ENTRIES_PER_POINT: usize = 10;

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::figures) struct RelaxLinear {
    relation: Relation,
    /// The dimension d.
    features: usize,
    /// The rows m of a node.
    rows: usize,
    /// The standard deviation σ of the noise.
    noise: f64,
    /// The public points of a node.
    public: usize,
    /// The validation rows of a node.
    validation: usize,
    learn: LinearLearner,
    /// The strength α.
    alpha: f64,
    /// How many entries are measured.
    rounds: usize,
    /// The size of the steps.
    step: f64,
    measure: NodeMeasure,
    /// How many clusters IFCA is told.
    #[serde(default)]
    told: usize,
}

/// Who learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LinearLearner {
    Descend,
    Minimum,
    Oracle,
    FedAvg,
    Ifca,
    /// Nobody: the bound (25) itself.
    Bound,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NodeMeasure {
    /// (1/d) ‖w − w̄‖², the mean over nodes.
    Weights,
    /// The mean squared error on validation rows, the mean over nodes.
    Validation,
    /// `Σ_i ‖w_i − mean‖²`.
    Variation,
}

impl RelaxLinear {
    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        let Self { features, rows, noise, public, validation, .. } = *self;
        let sizes = DataSizes { features, rows, validation, public, noise };
        let made = self.relation.make(sizes, seed)?;
        match self.learn {
            LinearLearner::Descend => self.descend(&made, seed),
            LinearLearner::Minimum => self.minimum(&made),
            LinearLearner::Oracle => self.oracle(&made, seed),
            LinearLearner::FedAvg => Ok(self.averaged(&made, 1, seed)),
            LinearLearner::Ifca => Ok(self.averaged(&made, self.told, seed)),
            LinearLearner::Bound => self.bound(&made),
        }
    }

    fn rounds(&self, zero_first: bool) -> Rounds {
        let count = self.rounds.saturating_sub(1);
        Rounds { count, optimiser: Optimiser::RmsProp, step: self.step, zero_first }
    }

    fn descend(&self, made: &SyntheticNetwork, seed: u64) -> Result<Curve> {
        let nodes = made.nodes(&model());
        let start = uniform_start(nodes.len(), self.features, seed);
        self.follow(&nodes, &made.network, start, self.rounds(true), |weights| {
            self.measured(made, weights, |node| node)
        })
    }

    /// One node for each cluster, which has all of its rows; every node is measured by its cluster's.
    fn oracle(&self, made: &SyntheticNetwork, seed: u64) -> Result<Curve> {
        let pooled = made.pooled()?.into_iter().enumerate();
        let model = model();
        let node = |(id, data): (usize, Dataset)| Node {
            id,
            data,
            model: model.clone(),
            public: made.public[id].clone(),
        };
        let nodes: Vec<Node> = pooled.map(node).collect();
        // Without edges nothing pulls, and the same descent runs on the rows of a cluster.
        let alone = Network::new((0..nodes.len()).map(|id| id.to_string()).collect(), [])?;
        let start = uniform_start(nodes.len(), self.features, seed);
        self.follow(&nodes, &alone, start, self.rounds(false), |weights| {
            self.measured(made, weights, |node| made.clusters[node])
        })
    }

    fn follow(
        &self,
        nodes: &[Node],
        network: &Network,
        start: Vec<f64>,
        rounds: Rounds,
        measured: impl Fn(&[f64]) -> f64,
    ) -> Result<Curve> {
        let linear = LinearNetwork::new(nodes, false, true)?.expect("all models are linear");
        let mut curve = vec![(1.0, measured(&start))];
        let mut entry = 1;
        linear.descend(network, self.alpha, start, rounds, |weights| {
            entry += 1;
            if entry % ENTRIES_PER_POINT == 0 {
                curve.push((entry as f64, measured(weights)));
            }
        })?;
        Ok(curve)
    }

    /// The fixed point, drawn over all entries. Without a pull every node fits its own rows by the
    /// shortest weights.
    fn minimum(&self, made: &SyntheticNetwork) -> Result<Curve> {
        let model = model();
        let nodes = made.nodes(&model);
        let weights = if self.alpha == 0.0 {
            let fit = |data: &Dataset| -> Result<Vec<f64>> {
                let hypothesis = model.fit(data)?;
                let parametric = model.as_parametric().expect("a linear model has weights");
                Ok(parametric.weights(hypothesis.as_ref()).expect("its own hypothesis"))
            };
            made.train.iter().map(fit).collect::<Result<Vec<_>>>()?.concat()
        } else {
            let linear = LinearNetwork::new(&nodes, false, true)?.expect("all models are linear");
            // Far below what a plot shows: the line is the minimum itself.
            let limit = Limit { tolerance: 1e-10, products: 10_000 };
            let start = vec![0.0; nodes.len() * self.features];
            linear.solve(&made.network, self.alpha, None, start, limit)?.weights
        };
        Ok(self.flat(self.measured(made, &weights, |node| node)))
    }

    fn averaged(&self, made: &SyntheticNetwork, models: usize, seed: u64) -> Curve {
        let mut averaging =
            GradientAveraging::new(&made.train, uniform_start(models, self.features, seed));
        let mut curve = Vec::new();
        let all: Vec<usize> = (0..made.train.len()).collect();
        for entry in 1..=self.rounds {
            averaging.step(&all, self.step);
            if entry == 1 || entry % ENTRIES_PER_POINT == 0 {
                let chosen = averaging.choices(&all);
                let weights = averaging.weights();
                curve.push((entry as f64, self.measured(made, weights, |node| chosen[node])));
            }
        }
        curve
    }

    /// `ε / (α λ₂)` with `ε = Σ_i ‖ε_i‖² / m`, the loss of the true weights.
    fn bound(&self, made: &SyntheticNetwork) -> Result<Curve> {
        let loss = |(data, cluster): (&Dataset, &usize)| mean_squares(data, &made.truth[*cluster]);
        let epsilon: f64 = made.train.iter().zip(&made.clusters).map(loss).sum();
        let connectivity = made.network.connectivity()?;
        // A cluster in pieces is not held together at all.
        let whole = connectivity.len() == 1;
        let lambda = connectivity.first().copied().flatten().filter(|_| whole).unwrap_or(0.0);
        Ok(self.flat(epsilon / (self.alpha * lambda)))
    }

    fn flat(&self, value: f64) -> Curve {
        let entries =
            (1..=self.rounds).filter(|entry| *entry == 1 || entry % ENTRIES_PER_POINT == 0);
        entries.map(|entry| (entry as f64, value)).collect()
    }

    /// The measure of all nodes, each with the weights of its model.
    fn measured(
        &self,
        made: &SyntheticNetwork,
        weights: &[f64],
        model_of: impl Fn(usize) -> usize,
    ) -> f64 {
        let size = self.features;
        let own = |node: usize| &weights[model_of(node) * size..][..size];
        let nodes = made.train.len();
        let mean = |value: &dyn Fn(usize) -> f64| (0..nodes).map(value).sum::<f64>() / nodes as f64;
        match self.measure {
            NodeMeasure::Weights => mean(&|node| {
                squared_distance(own(node), &made.truth[made.clusters[node]]) / size as f64
            }),
            NodeMeasure::Validation => {
                mean(&|node| mean_squares(&made.validation[node], own(node)))
            }
            NodeMeasure::Variation => {
                let mut centre = vec![0.0; size];
                (0..nodes).for_each(|node| {
                    fedgrid::algebra::add_scaled(&mut centre, 1.0 / nodes as f64, own(node));
                });
                (0..nodes).map(|node| squared_distance(own(node), &centre)).sum()
            }
        }
    }
}

fn model() -> Arc<dyn LocalModel> {
    Arc::new(Linear { ridge: 0.0, intercept: false })
}

/// The mean squared error of weights on rows.
fn mean_squares(data: &Dataset, weights: &[f64]) -> f64 {
    let predictions = data.features().iter().map(|x| fedgrid::algebra::dot(weights, x)).collect();
    Loss::Squared.mean(data.labels(), &Labels::values(predictions))
}
