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

use super::{
    Coupled, Goal, Minimum, clusters,
    frame::Frame,
    losses::{Loss, Losses},
    minimise,
    quadratic::Quadratic,
    squared,
    sweep::Point,
};
use crate::network::{Edge, Network};

/// Weights that differ by this share of the largest, or less, are thought to be equal.
const EQUAL: f64 = 1e-4;
/// The clusters have to be so many times fewer than the nodes.
const COARSE: usize = 2;

/// The contracted problem of a point.
pub(super) struct Contracted<'a> {
    frame: &'a Frame<'a>,
    /// The cluster of each node.
    clusters: Vec<usize>,
    losses: Losses,
    network: Network,
}

impl<'a> Contracted<'a> {
    /// The problem of a point's clusters; none if they are many or a loss is not quadratic.
    pub(super) fn new(frame: &'a Frame<'a>, point: &Point) -> Option<Self> {
        if !frame.losses.is_quadratic() {
            return None;
        }
        let weights = frame.layout.rows_out(&point.w, frame.losses.size, frame.width);
        let clusters = clusters(frame.losses, frame.network, &weights, EQUAL);
        let count = clusters.iter().max().map_or(0, |last| last + 1);
        if COARSE * count > frame.len() {
            return None;
        }
        let mut edges = BTreeMap::new();
        for edge in frame.network.edges() {
            let (a, b) = (clusters[edge.source], clusters[edge.target]);
            if a != b {
                *edges.entry((a.min(b), a.max(b))).or_insert(0.0) += edge.weight;
            }
        }
        let edges =
            edges.into_iter().map(|((source, target), weight)| Edge { source, target, weight });
        let names = (0..count).map(|cluster| cluster.to_string()).collect();
        let network = Network::new(names, edges).ok()?;
        let losses = frame.losses.merged(&clusters, count);
        Some(Self { frame, clusters, losses, network })
    }

    /// The minimum of the contracted problem.
    pub(super) fn minimum(&self, goal: Goal) -> Option<Minimum> {
        let coupled = Coupled { alpha: self.frame.alpha, penalty: self.frame.penalty };
        minimise(&self.losses, &self.network, coupled, None, goal).ok()
    }

    /// How many steps over all edges so many over those between clusters are worth.
    pub(super) fn cost(&self, steps: usize) -> usize {
        (steps * self.network.edges().len()).div_ceil(self.frame.network.edges().len().max(1))
    }

    /// The point of all nodes: duals inside of clusters are those of another one.
    pub(super) fn expanded(&self, minimum: &Minimum, inside: &Point) -> Point {
        let Frame { losses, layout, width, network, .. } = self.frame;
        let (size, coupled) = (losses.size, losses.coupled);
        let row = |cluster: &usize| &minimum.weights[cluster * size..(cluster + 1) * size];
        let weights: Vec<f64> = self.clusters.iter().flat_map(row).copied().collect();
        let places: BTreeMap<(usize, usize), usize> = self
            .network
            .edges()
            .iter()
            .enumerate()
            .map(|(place, edge)| ((edge.source, edge.target), place))
            .collect();
        let mut duals = layout.edges_out(&inside.u, coupled, *width);
        for (edge, dual) in network.edges().iter().zip(duals.chunks_exact_mut(coupled.max(1))) {
            let (a, b) = (self.clusters[edge.source], self.clusters[edge.target]);
            if let Some(&place) = places.get(&(a.min(b), a.max(b))) {
                let share = edge.weight / self.network.edges()[place].weight;
                let sign = if a < b { share } else { -share };
                let common = &minimum.duals[place * coupled..(place + 1) * coupled];
                dual.iter_mut().zip(common).for_each(|(dual, common)| *dual = sign * common);
            }
        }
        let w = layout.rows_in(&weights, size, *width);
        let mut u = layout.edges_in(&duals, coupled, *width);
        let p = squared::divergence(self.frame, &mut u);
        Point { w, u, p }
    }
}

impl Losses {
    /// The sums of the losses of clusters.
    fn merged(&self, clusters: &[usize], count: usize) -> Self {
        let mut members = vec![Vec::new(); count];
        clusters.iter().enumerate().for_each(|(node, &cluster)| members[cluster].push(node));
        let loss = |members: &Vec<usize>| {
            let own = members.iter().filter_map(|&node| match &self.each[node] {
                Loss::Quadratic(quadratic) => Some(quadratic),
                _ => None,
            });
            Quadratic::sum(&own.collect::<Vec<_>>(), self.size).map_or(Loss::None, Loss::Quadratic)
        };
        let first: Vec<usize> = members.iter().map(|members| members[0]).collect();
        self.with(members.iter().map(loss).collect(), &first)
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
        optimum::gtv::start::start_of,
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
            let frame = Frame::new(&losses, &network, coupled);
            let point = start_of(&frame, Some(&minimum)).unwrap();
            let contracted = Contracted::new(&frame, &point).expect("the minimum is coarse");
            assert!(contracted.network.len() >= 2);
            let few = contracted.minimum(Goal { tolerance: 1e-12, steps: 20_000 }).unwrap();
            let all = contracted.expanded(&few, &point);
            let objective = frame.objective(&all.w);
            assert!((objective - few.objective).abs() < 1e-10 * objective, "{penalty:?}");
            assert!(objective <= minimum.objective * (1.0 + 1e-12), "{penalty:?}");
            assert!((objective - minimum.objective).abs() < 1e-6 * objective, "{penalty:?}");
        }
    }
}
