//! A target that learns a tree from the trees others would give it,
//!
//! ```text
//! h̃_j = argmin  Σ_{(x, y) ∈ D_j} (y − h(x))² + η' Σ_{x ∈ D} (ĥ(x) − h(x))²
//! ```
//!
//! measured by its error on validation rows over that of one tree on all rows of its cluster. The
//! authors weigh both sums alike, η' = 1; the paper's eq. 7 with η = 1 has η' = m/|D|. ["Your Data, My
//! Model", Algorithm 2 and Figure 8.]

use std::sync::Arc;

use fedgrid::{
    Result,
    data::Dataset,
    loss::Loss,
    method::{
        PersFl,
        persfl::{Probe, RefitPool},
    },
    model::{Hypothesis, LocalModel, Tree},
    random::{Purpose, Stream},
    synthetic::{ClientPool, SyntheticClients, linear_rows, normal_points},
};
use serde::Deserialize;

use super::super::measured::Curve;

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::figures) struct TreeProbing {
    pool: ClientPool,
    /// How many clients S are drawn in an iteration.
    candidates: usize,
    rounds: usize,
    /// The weight η' of a public point where a row weighs one.
    weight: f64,
    /// The depth of trees.
    depth: usize,
    /// The dimension d.
    features: usize,
    /// The rows m of a client.
    rows: usize,
    /// The standard deviation σ of the noise.
    noise: f64,
    /// The public points.
    public: usize,
    /// The validation rows of the target.
    validation: usize,
    learn: TreeProbingLearner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TreeProbingLearner {
    Choosing,
    /// The tree of the target's own rows.
    Alone,
    /// The tree of all rows of its cluster, without its own.
    Oracle,
}

impl TreeProbing {
    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        let clients = self.pool.make(self.features, self.rows, self.noise, seed)?;
        // A round that no training row is drawn in.
        let mut stream = Stream::new(seed, 0, usize::MAX, Purpose::Data);
        let validation = linear_rows(
            &clients.names,
            &clients.truth[0],
            self.validation,
            self.noise,
            &mut stream,
        )?;
        let tree: Arc<dyn LocalModel> =
            Arc::new(Tree { max_depth: self.depth, min_leaf_weight: 0.0 });
        let error = |hypothesis: &dyn Hypothesis| {
            Loss::Squared.mean(validation.labels(), &hypothesis.predict(validation.features()))
        };
        match self.learn {
            TreeProbingLearner::Choosing => self.choosing(&clients, &tree, error, seed),
            TreeProbingLearner::Alone => Ok(self.flat(error(tree.fit(&clients.data[0])?.as_ref()))),
            TreeProbingLearner::Oracle => {
                Ok(self.flat(error(tree.fit(&cluster(&clients)?)?.as_ref())))
            }
        }
    }

    fn choosing(
        &self,
        clients: &SyntheticClients,
        tree: &Arc<dyn LocalModel>,
        error: impl Fn(&dyn Hypothesis) -> f64,
        seed: u64,
    ) -> Result<Curve> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Public);
        let nodes = clients.nodes(tree, normal_points(&clients.names, self.public, &mut stream)?);
        let method = PersFl {
            probe: Probe::Refit,
            // With the weight η' of a point where a row weighs one, eq. 7 has the step m / (η' |D|).
            step: self.rows as f64 / (self.weight * self.public as f64),
            candidates: self.candidates,
            targets: Some([0].into()),
            seed,
            ..PersFl::default()
        };
        let mut pool = RefitPool::new(&method, &nodes)?;
        let mut curve = Vec::with_capacity(self.rounds);
        for round in 1..=self.rounds {
            pool.step()?;
            let (_, hypothesis) = pool.hypotheses().next().expect("there is a target");
            curve.push((round as f64, error(hypothesis.as_ref())));
        }
        Ok(curve)
    }

    fn flat(&self, value: f64) -> Curve {
        (1..=self.rounds).map(|round| (round as f64, value)).collect()
    }
}

/// All rows of the first cluster but those of the target.
fn cluster(clients: &SyntheticClients) -> Result<Dataset> {
    let others = clients.data.iter().zip(clients.clusters.iter()).skip(1);
    let mut parts = others.filter(|(_, cluster)| **cluster == 0).map(|(data, _)| data);
    let first = parts.next().ok_or(fedgrid::Error::NoData)?.clone();
    parts.try_fold(first, Dataset::stacked)
}
