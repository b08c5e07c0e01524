//! FedRelax with trees, update by update,
//!
//! ```text
//! h_i ← fit of  { own rows, weight 1 } ∪ { (x, h_j(x)), weight α A_ij } ∪ { (z, h_i(z)), weight 1 }
//! ```
//!
//! over x in the public sets of all neighbours j and 100 fresh points z. ["Plug In and Learn", eq. 19
//! and 20, Figures 2 and 4.] These are the authors' weights; eq. 10 has `α A_ij m/m_pub`, so their α is a
//! tenth of the paper's here. Their first update receives zeros, and without a pull trees stay what local
//! training made them. Entry 0 are the trees of the nodes' own rows.

use fedgrid::{
    Result,
    data::{Dataset, Labels},
    loss::Loss,
    model::{Hypothesis, LocalModel, Tree},
    random::{Purpose, Stream},
    synthetic::{DataSizes, Relation, SyntheticNetwork, normal_points},
};
use rayon::prelude::*;
use serde::Deserialize;

use super::super::measured::Curve;

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::figures) struct RelaxTrees {
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
    /// The depth of trees.
    depth: usize,
    /// The weight of a neighbour's public point where a row weighs one.
    alpha: f64,
    /// Fresh points with own predictions in each update.
    distilled: usize,
    /// How many updates.
    updates: usize,
    learn: TreeLearner,
    /// Whether the first update receives zeros, and the oracle's entry 0 is a tree of one node's rows, as in
    /// the authors' code.
    paper_compat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TreeLearner {
    Relax,
    Oracle,
}

type Trees = Vec<Box<dyn Hypothesis>>;

impl RelaxTrees {
    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        let Self { features, rows, noise, public, validation, .. } = *self;
        let made =
            self.relation.make(DataSizes { features, rows, validation, public, noise }, seed)?;
        match self.learn {
            TreeLearner::Relax => self.relax(&made, seed),
            TreeLearner::Oracle => self.oracle(&made),
        }
    }

    fn tree(&self) -> Tree {
        Tree { max_depth: self.depth, min_leaf_weight: 0.0 }
    }

    fn relax(&self, made: &SyntheticNetwork, seed: u64) -> Result<Curve> {
        let tree = self.tree();
        let nodes = 0..made.train.len();
        let mut trees: Trees =
            made.train.iter().map(|data| tree.fit(data)).collect::<Result<_>>()?;
        let mut curve = vec![(0.0, error(made, |node| trees[node].as_ref()))];
        for update in 1..=self.updates {
            // Without a pull the authors' trees stay what local training made them.
            if self.alpha > 0.0 {
                let received: Vec<Labels> = nodes
                    .clone()
                    .map(|node| match update {
                        1 if self.paper_compat => Labels::values(vec![0.0; self.public]),
                        _ => trees[node].predict(&made.public[node]),
                    })
                    .collect();
                let own = |node: usize| {
                    self.augmented(made, &received, trees[node].as_ref(), (seed, node, update))
                };
                let next = nodes.clone().into_par_iter().map(|node| tree.fit(&own(node)?));
                trees = next.collect::<Result<_>>()?;
            }
            curve.push((update as f64, error(made, |node| trees[node].as_ref())));
        }
        Ok(curve)
    }

    /// The rows, pulls and memory of one node.
    fn augmented(
        &self,
        made: &SyntheticNetwork,
        received: &[Labels],
        own: &dyn Hypothesis,
        (seed, node, update): (u64, usize, usize),
    ) -> Result<Dataset> {
        let train = &made.train[node];
        let mut stream = Stream::new(seed, node, update, Purpose::Public);
        let fresh = normal_points(train.features().names(), self.distilled, &mut stream)?;
        let remembered = own.predict(&fresh);
        // One dataset of rows, pulls and memory: with squared loss, eq. 10 is one weighted fit (eq. 19).
        let mut features = train.features().values().to_vec();
        let mut labels = train.labels().as_slice().to_vec();
        let mut weights = vec![1.0; train.rows()];
        for &(neighbour, weight) in made.network.neighbours(node) {
            features.extend_from_slice(made.public[neighbour].values());
            labels.extend_from_slice(received[neighbour].as_slice());
            weights.resize(labels.len(), self.alpha * weight);
        }
        features.extend_from_slice(fresh.values());
        labels.extend_from_slice(remembered.as_slice());
        weights.resize(labels.len(), 1.0);
        let features = fedgrid::data::Features::new(train.features().names().clone(), features)?;
        Dataset::weighted(features, Labels::values(labels), weights)
    }

    fn oracle(&self, made: &SyntheticNetwork) -> Result<Curve> {
        let tree = self.tree();
        let fit = |data: &Dataset| tree.fit(data);
        let pooled: Trees = made.pooled()?.iter().map(fit).collect::<Result<_>>()?;
        let of_cluster = error(made, |node| pooled[made.clusters[node]].as_ref());
        let first = if self.paper_compat {
            let one = |cluster: usize| made.clusters.iter().position(|c| *c == cluster);
            let single = (0..pooled.len()).filter_map(one).map(|node| fit(&made.train[node]));
            let single: Trees = single.collect::<Result<_>>()?;
            error(made, |node| single[made.clusters[node]].as_ref())
        } else {
            of_cluster
        };
        let later = (1..=self.updates).map(|update| (update as f64, of_cluster));
        Ok([(0.0, first)].into_iter().chain(later).collect())
    }
}

/// The mean squared error on validation rows, the mean over nodes.
fn error<'a>(made: &SyntheticNetwork, tree: impl Fn(usize) -> &'a dyn Hypothesis) -> f64 {
    let of = |(node, data): (usize, &Dataset)| {
        Loss::Squared.mean(data.labels(), &tree(node).predict(data.features()))
    };
    let sum: f64 = made.validation.iter().enumerate().map(of).sum();
    sum / made.validation.len() as f64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedgrid::{
        method::FedRelax,
        observe::Stop,
        runtime::{InProcess, Order},
    };

    use super::*;

    #[test]
    fn without_memory_an_update_is_that_of_fedrelax_by_messages() {
        let relation = Relation::Clusters { count: 2, nodes: 8, inside: 0.8, between: 0.2 };
        for paper_compat in [true, false] {
            let case = RelaxTrees {
                relation,
                features: 3,
                rows: 10,
                noise: 0.5,
                public: 20,
                validation: 50,
                depth: 4,
                alpha: 0.3,
                distilled: 0,
                updates: 3,
                learn: TreeLearner::Relax,
                paper_compat,
            };
            let curve = case.run(5).unwrap();
            let sizes = DataSizes { features: 3, rows: 10, validation: 50, public: 20, noise: 0.5 };
            let made = relation.make(sizes, 5).unwrap();
            // A row weighs 1/m in the mean, and a public point α/m_pub.
            let alpha = case.alpha * 20.0 / 10.0;
            let method = FedRelax { alpha, zero_first: paper_compat, ..FedRelax::default() };
            let tree: Arc<dyn LocalModel> = Arc::new(case.tree());
            for (update, expected) in &curve[1..] {
                let views = made.network.views(made.nodes(&tree)).unwrap();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count"
                )]
                let stop = Stop { tolerance: 0.0, rounds: *update as usize };
                let runtime = InProcess { stop, order: Order::AtOnce };
                let run = runtime.run(&method, views).unwrap();
                let found = error(&made, |node| run.hypotheses[node].as_deref().unwrap());
                assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
            }
        }
    }
}
