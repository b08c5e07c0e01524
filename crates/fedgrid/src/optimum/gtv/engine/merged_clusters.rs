//! The problem of a point's clusters: nodes over whose edges weights hardly differ become one node,
//!
//! ```text
//! L_C(w) = Σ_{i ∈ C} L_i(w),      A_CD = Σ A_ij over the edges from C to D
//! ```
//!
//! It has few nodes where the minimum is coarse, so it can be solved exactly. Its weights, given to all
//! nodes of a cluster, and its duals, shared out by the weights of edges, are kept with the old duals
//! inside of clusters only if the certificate becomes better.

use std::collections::BTreeMap;

use crate::{
    network::{Edge, Network},
    optimum::gtv::{
        clusters::clusters,
        kernel::operators::divergence,
        losses::Losses,
        minimum::{Coupled, Minimum},
        problem::{GtvProblem, PrimalDualPoint},
    },
};

/// Weights that differ by this share of the largest, or less, are thought to be equal: first-order steps
/// near the minimum leave less, and weights of different clusters differ by more.
const EQUAL_SHARE: f64 = 1e-4;
/// The clusters have to be so many times fewer than the nodes: else their problem costs as much.
const MIN_REDUCTION: usize = 2;

/// The merged clusters of a point.
pub(crate) struct MergedClusters<'a> {
    problem: &'a GtvProblem<'a>,
    /// The cluster of each node.
    clusters: Vec<usize>,
    losses: Losses,
    network: Network,
}

impl<'a> MergedClusters<'a> {
    /// The problem of a point's clusters; none if they are many or a loss is not quadratic.
    pub(crate) fn new(problem: &'a GtvProblem<'a>, point: &PrimalDualPoint) -> Option<Self> {
        // Only spectra add up to one of their kind.
        if !problem.losses.is_quadratic() {
            return None;
        }
        let weights = problem.layout.rows_out(&point.w, problem.losses.size, problem.width);
        let clusters = clusters(problem.losses, problem.network, &weights, EQUAL_SHARE);
        let count = clusters.iter().max().map_or(0, |last| last + 1);
        if MIN_REDUCTION * count > problem.len() {
            return None;
        }
        let mut edges = BTreeMap::new();
        for edge in problem.network.edges() {
            let (a, b) = (clusters[edge.source], clusters[edge.target]);
            if a != b {
                *edges.entry((a.min(b), a.max(b))).or_insert(0.0) += edge.weight;
            }
        }
        let edges =
            edges.into_iter().map(|((source, target), weight)| Edge { source, target, weight });
        let names = (0..count).map(|cluster| cluster.to_string()).collect();
        let network = Network::new(names, edges).ok()?;
        let losses = problem.losses.merged(&clusters, count);
        Some(Self { problem, clusters, losses, network })
    }

    /// The problem that is left.
    pub(super) fn problem(&self) -> GtvProblem<'_> {
        let coupled = Coupled { alpha: self.problem.alpha, penalty: self.problem.penalty };
        GtvProblem::new(&self.losses, &self.network, coupled)
    }

    /// How many steps over all edges so many over those between clusters are worth.
    pub(crate) fn cost(&self, steps: usize) -> usize {
        (steps * self.network.edges().len()).div_ceil(self.problem.network.edges().len().max(1))
    }

    /// The point of all nodes: duals inside of clusters are those of another one.
    pub(crate) fn expanded(&self, minimum: &Minimum, inside: &PrimalDualPoint) -> PrimalDualPoint {
        let GtvProblem { losses, layout, width, network, .. } = self.problem;
        let (size, coupled) = (losses.size, losses.coupled);
        let row = |cluster: &usize| &minimum.weights[cluster * size..(cluster + 1) * size];
        let weights: Vec<f64> = self.clusters.iter().flat_map(row).copied().collect();
        let joined: BTreeMap<(usize, usize), usize> = self
            .network
            .edges()
            .iter()
            .enumerate()
            .map(|(index, edge)| ((edge.source, edge.target), index))
            .collect();
        let mut duals = layout.edges_out(&inside.u, coupled, *width);
        for (edge, dual) in network.edges().iter().zip(duals.chunks_exact_mut(coupled.max(1))) {
            let (a, b) = (self.clusters[edge.source], self.clusters[edge.target]);
            if let Some(&index) = joined.get(&(a.min(b), a.max(b))) {
                // Shared by weight, so that all duals of a joined edge lie in their balls alike.
                let share = edge.weight / self.network.edges()[index].weight;
                let sign = if a < b { share } else { -share };
                let common = &minimum.duals[index * coupled..(index + 1) * coupled];
                dual.iter_mut().zip(common).for_each(|(dual, common)| *dual = sign * common);
            }
        }
        let w = layout.rows_in(&weights, size, *width);
        let mut u = layout.edges_in(&duals, coupled, *width);
        let p = divergence(self.problem, &mut u);
        PrimalDualPoint { w, u, p }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::Linear,
        network::{Clustered, Node},
        optimum::gtv::{Goal, engine::search, minimise, start::start_of},
        penalty::Penalty,
        random::{Purpose, Stream},
    };

    /// Three rows of noisy data at every node, of one slope in each half of the network.
    fn nodes(count: usize) -> Vec<Node> {
        let names: Arc<[String]> = ["a", "b"].map(String::from).into();
        let model = Arc::new(Linear { ridge: 0.01, intercept: false });
        let node = |id: usize| {
            let stream = &mut Stream::new(9, id, 0, Purpose::Data);
            let x: Vec<f64> = (0..6).map(|_| stream.normal()).collect();
            let slope = if id < count / 2 { 2.0 } else { -1.0 };
            let y = x.chunks_exact(2).map(|x| slope * x[0] + x[1] + 0.1 * stream.normal());
            let labels = Labels::values(y.collect());
            let data = Dataset::new(Features::new(names.clone(), x).unwrap(), labels).unwrap();
            let public = Arc::new(Features::empty(names.clone()));
            Node { id, data, model: model.clone(), public }
        };
        (0..count).map(node).collect()
    }

    #[test]
    fn clusters_have_the_objective_of_their_nodes_and_the_minimum_of_all() {
        let made = Clustered { clusters: 2, nodes: 15, inside: 0.6, between: 0.05, seed: 4 };
        let (network, _) = made.make().unwrap();
        let losses = Losses::new(&nodes(30), true).unwrap();
        for penalty in [Penalty::Norm, Penalty::OneNorm] {
            let coupled = Coupled { alpha: 0.3, penalty };
            let goal = Goal { tolerance: 1e-7, steps: 20_000 };
            let minimum = minimise(&losses, &network, coupled, None, goal).unwrap();
            let problem = GtvProblem::new(&losses, &network, coupled);
            let point = start_of(&problem, Some(&minimum)).unwrap();
            let merged = MergedClusters::new(&problem, &point).expect("the minimum is coarse");
            assert!(merged.network.len() >= 2);
            let goal = Goal { tolerance: 1e-12, steps: 20_000 };
            let few = search(&merged.problem(), None, goal).unwrap();
            let all = merged.expanded(&few, &point);
            let objective = problem.objective(&all.w);
            assert!((objective - few.objective).abs() < 1e-10 * objective, "{penalty:?}");
            assert!(objective <= minimum.objective * (1.0 + 1e-12), "{penalty:?}");
            assert!((objective - minimum.objective).abs() < 1e-6 * objective, "{penalty:?}");
        }
    }
}
