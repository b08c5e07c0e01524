//! Clustered federated learning: where FedAvg has come to rest and its nodes still pull apart, it
//! splits them in two, again and again,
//!
//! ```text
//! split C if  ‖Σ_{i ∈ C} p_i u_i‖ ≤ ε max_{i ∈ C} ‖u_i‖   and   1 − max_{i ∈ A, j ∈ B} cos(u_i, u_j) ≥ γ
//! ```
//!
//! where `u_i` is the step that node i makes of its cluster's model, and C = A ∪ B is the bipartition
//! of smallest largest similarity across it: cut the weakest edge of the maximum spanning tree.
//! [Sattler et al., "Clustered federated learning: model-agnostic distributed multitask optimization
//! under privacy constraints", Algorithm 1. Their two thresholds on norms are absolute; here the mean
//! step is compared with the largest.] With ε = 0 it is FedAvg.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg,
    fedavg::Averaged,
    hub::{Client, ClientProfile, HubMethod, ModelChange, Server, WeightedAnswer, Weights},
};
use crate::{
    algebra::{add_scaled, dot, norm},
    error::{Error, Result, at_least_zero},
    network::NodeId,
};

/// Averaging in clusters that are found by splitting.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusteredFl {
    /// How models are trained and averaged; all nodes must take part in every iteration.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// The threshold ε ≥ 0 of the mean step, relative to the largest; zero never splits.
    #[serde(skip)]
    pub rest: f64,
    /// How far γ in [0, 2] from parallel the steps of two halves must be.
    #[serde(skip)]
    pub gap: f64,
}

impl Default for ClusteredFl {
    fn default() -> Self {
        Self { fedavg: FedAvg::default(), rest: 0.1, gap: 0.5 }
    }
}

impl HubMethod for ClusteredFl {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn check_own(&self) -> Result<()> {
        at_least_zero("rest", self.rest)?;
        if !(0.0..=2.0).contains(&self.gap) {
            let expected = "a number from zero to two";
            return Err(Error::Parameter { name: "gap", value: self.gap, expected });
        }
        if self.fedavg.participation < 1.0 {
            return Err(Error::Unsupported {
                what: "clustered learning by bipartition",
                needs: "all nodes in every iteration (participation = 1)",
            });
        }
        Ok(())
    }

    fn server(&self, start: Weights) -> Box<dyn Server> {
        let Self { rest, gap, .. } = *self;
        let whole = Cluster { members: Vec::new(), models: [start].into() };
        Box::new(ClusteredServer {
            averaged: self.fedavg.averaged,
            rest,
            gap,
            clusters: vec![whole],
        })
    }

    fn client(&self) -> Box<dyn Client> {
        self.fedavg.client()
    }
}

/// Nodes with one model.
#[derive(Debug)]
struct Cluster {
    members: Vec<NodeId>,
    models: Arc<[Weights]>,
}

/// A hub whose nodes are split into clusters.
#[derive(Debug)]
struct ClusteredServer {
    averaged: Averaged,
    rest: f64,
    gap: f64,
    clusters: Vec<Cluster>,
}

impl Server for ClusteredServer {
    fn begin(&mut self, clients: &[(NodeId, ClientProfile)]) {
        self.clusters[0].members = clients.iter().map(|(id, _)| *id).collect();
    }

    fn models(&self, node: NodeId) -> Arc<[Weights]> {
        let own = self.clusters.iter().find(|cluster| cluster.members.binary_search(&node).is_ok());
        own.map_or_else(|| [].into(), |cluster| cluster.models.clone())
    }

    fn gather(&mut self, answers: &[WeightedAnswer], step: f64) -> ModelChange {
        let mut moved = ModelChange::default();
        let mut next = Vec::with_capacity(self.clusters.len());
        for mut cluster in std::mem::take(&mut self.clusters) {
            let inside =
                |given: &&WeightedAnswer| cluster.members.binary_search(&given.node).is_ok();
            let answers: Vec<&WeightedAnswer> = answers.iter().filter(inside).collect();
            let old = cluster.models[0].clone();
            if let Some(new) = FedAvg::merged(self.averaged, &old, (&answers, 0), step) {
                moved = moved.plus(ModelChange::between(&old, &new));
                cluster.models = [new].into();
            }
            match self.halves(&old, &answers) {
                Some(half) => {
                    // The halves begin with one model and are about to part, so nothing has converged.
                    moved = ModelChange::RESTARTED;
                    next.extend(cluster.split(&half, &answers));
                }
                None => next.push(cluster),
            }
        }
        self.clusters = next;
        moved
    }

    fn single(&self) -> Option<&Weights> {
        match self.clusters.as_slice() {
            [only] => only.models.first(),
            _ => None,
        }
    }
}

impl ClusteredServer {
    /// Who of those who answered goes apart, if the cluster is to be split.
    fn halves(&self, old: &[f64], answers: &[&WeightedAnswer]) -> Option<Vec<bool>> {
        let step = |given: &&WeightedAnswer| {
            let mut step = given.answer.parts[0].1.to_vec();
            if self.averaged == Averaged::Models {
                add_scaled(&mut step, -1.0, old);
            }
            step
        };
        let steps: Vec<Vec<f64>> = answers.iter().map(step).collect();
        let norms: Vec<f64> = steps.iter().map(|step| norm(step)).collect();
        let largest = norms.iter().copied().fold(0.0, f64::max);
        let total: f64 = answers.iter().map(|given| given.weight).sum();
        let mut mean = vec![0.0; old.len()];
        for (given, step) in answers.iter().zip(&steps) {
            add_scaled(&mut mean, given.weight / total, step);
        }
        // If the mean step vanishes and single ones do not, the nodes pull in different directions.
        let rests = norm(&mean) <= self.rest * largest && self.rest > 0.0;
        if !rests || answers.len() < 2 || largest == 0.0 {
            return None;
        }
        let similarity = |i: usize, j: usize| {
            let scale = norms[i] * norms[j];
            if scale > 0.0 { dot(&steps[i], &steps[j]) / scale } else { 1.0 }
        };
        let (across, half) = bipartition(answers.len(), similarity);
        (1.0 - across >= self.gap).then_some(half)
    }
}

impl Cluster {
    /// The two halves; who did not answer goes with the larger one.
    fn split(self, half: &[bool], answers: &[&WeightedAnswer]) -> [Self; 2] {
        let larger = 2 * half.iter().filter(|apart| **apart).count() > half.len();
        let of = |node: &NodeId| {
            let found = answers.binary_search_by_key(node, |given| given.node);
            found.map_or(larger, |index| half[index])
        };
        let (second, first) = self.members.iter().copied().partition(of);
        [first, second].map(|members| Self { members, models: self.models.clone() })
    }
}

/// The bipartition whose largest similarity across is smallest, and that similarity: the maximum
/// spanning tree (Prim) without its weakest edge.
fn bipartition(count: usize, similarity: impl Fn(usize, usize) -> f64) -> (f64, Vec<bool>) {
    let mut parent = vec![0; count];
    let mut strength: Vec<f64> = (0..count).map(|node| similarity(0, node)).collect();
    let mut reached = vec![false; count];
    reached[0] = true;
    let mut order = vec![0];
    while order.len() < count {
        let stronger = |a: usize, b: usize| if strength[b] > strength[a] { b } else { a };
        let open = (0..count).filter(|&node| !reached[node]);
        let next = open.reduce(stronger).expect("a node is still open");
        reached[next] = true;
        order.push(next);
        for node in (0..count).filter(|&node| !reached[node]) {
            let found = similarity(next, node);
            if found > strength[node] {
                (strength[node], parent[node]) = (found, next);
            }
        }
    }
    let weaker = |a: usize, b: usize| if strength[b] < strength[a] { b } else { a };
    let cut = (1..count).reduce(weaker).expect("two nodes have an edge");
    let mut apart = vec![false; count];
    for &node in &order[1..] {
        apart[node] = node == cut || apart[parent[node]];
    }
    (strength[cut], apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_bipartition_is_the_best_of_all() {
        let mut stream = Stream::new(5, 0, 0, Purpose::Data);
        for _ in 0..20 {
            let table: Vec<f64> = (0..36).map(|_| stream.uniform()).collect();
            let similarity = |i: usize, j: usize| table[6 * i.min(j) + i.max(j)];
            let across = |apart: &dyn Fn(usize) -> bool| {
                let pairs = (0..6).flat_map(|i| (0..i).map(move |j| (i, j)));
                let cut = pairs.filter(|&(i, j)| apart(i) != apart(j));
                cut.map(|(i, j)| similarity(i, j)).fold(f64::NEG_INFINITY, f64::max)
            };
            let all = (1..32).map(|set: usize| across(&|node| set >> node & 1 == 1));
            let (found, half) = bipartition(6, similarity);
            let least = all.fold(f64::INFINITY, f64::min);
            assert!((found - across(&|node| half[node])).abs() < 1e-15);
            assert!((found - least).abs() < 1e-15);
        }
    }
}
