//! Who knows whom, and how strongly: an undirected weighted network of named nodes, and what each
//! node may know of it.

mod shapes;
mod edges;
mod statistics;
mod nearest;
mod places;
mod clustered;
mod partition;
mod laplacian;
mod elimination;
mod patterns;
mod davidson;
mod spectrum;

use std::{collections::BTreeMap, sync::Arc};

pub use clustered::Clustered;
pub use edges::from_edges;
pub use nearest::Nearest;
pub use partition::partition;
pub use places::Places;
pub use shapes::{complete, grid, path, random_regular, ring, star};
pub use statistics::{Degrees, Statistics};

use self::patterns::Patterns;
use crate::{
    data::{Dataset, Features},
    error::{Error, Result, same_size},
    model::LocalModel,
};

/// The position of a node in its network.
pub type NodeId = usize;

/// An undirected edge; `source < target`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The end with the smaller id.
    pub source: NodeId,
    /// The end with the larger id.
    pub target: NodeId,
    /// The similarity A > 0 of the two ends.
    pub weight: f64,
}

/// An undirected weighted network of named nodes. Clones share everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    names: Arc<Vec<String>>,
    edges: Arc<Vec<Edge>>,
    /// Neighbours of node i are `adjacency[offsets[i]..offsets[i + 1]]`, in order of their ids.
    offsets: Arc<Vec<usize>>,
    adjacency: Arc<Vec<(NodeId, f64)>>,
    patterns: Patterns,
}

impl Network {
    /// A network from names and edges between positions in that list, each edge given once.
    pub fn new(names: Vec<String>, edges: impl IntoIterator<Item = Edge>) -> Result<Self> {
        let mut seen = BTreeMap::new();
        for (id, name) in names.iter().enumerate() {
            if seen.insert(name.as_str(), id).is_some() {
                return Err(Error::DuplicateNode { name: name.clone() });
            }
        }
        let mut sorted = Vec::new();
        for Edge { source, target, weight } in edges {
            let name = |id: NodeId| names.get(id).cloned().unwrap_or_else(|| format!("#{id}"));
            let (source_name, target_name) = (name(source), name(target));
            if let Some(id) = [source, target].into_iter().find(|&id| id >= names.len()) {
                return Err(Error::UnknownNode { source_name, target_name, unknown: name(id) });
            }
            if source == target {
                return Err(Error::SelfLoop { name: source_name });
            }
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(Error::EdgeWeight { source_name, target_name, weight });
            }
            let (source, target) = (source.min(target), source.max(target));
            sorted.push(Edge { source, target, weight });
        }
        sorted.sort_by_key(|edge| (edge.source, edge.target));
        for pair in sorted.windows(2) {
            if (pair[0].source, pair[0].target) == (pair[1].source, pair[1].target) {
                return Err(Error::DuplicateEdge {
                    source_name: names[pair[0].source].clone(),
                    target_name: names[pair[0].target].clone(),
                });
            }
        }
        Ok(Self::joined(Arc::new(names), sorted))
    }

    /// Nodes joined by edges that are in order.
    fn joined(names: Arc<Vec<String>>, edges: Vec<Edge>) -> Self {
        let (offsets, adjacency) = adjacency(names.len(), &edges);
        let (offsets, adjacency) = (Arc::new(offsets), Arc::new(adjacency));
        Self { names, edges: Arc::new(edges), offsets, adjacency, patterns: Patterns::default() }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names of the nodes, in order of their ids.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The edges, in order of their ends.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The neighbours of a node and the weights of the edges to them, in order of their ids.
    #[must_use]
    pub fn neighbours(&self, node: NodeId) -> &[(NodeId, f64)] {
        &self.adjacency[self.offsets[node]..self.offsets[node + 1]]
    }

    /// The weighted degree of a node, `Σ_j A_ij`.
    #[must_use]
    pub fn degree(&self, node: NodeId) -> f64 {
        self.neighbours(node).iter().map(|(_, weight)| weight).sum()
    }

    /// The same nodes, each by itself.
    #[must_use]
    pub fn without_edges(&self) -> Self {
        Self::joined(self.names.clone(), Vec::new())
    }

    /// The same edges between other nodes: what joined `i` now joins `order[i]`.
    #[must_use]
    pub fn shuffled(&self, order: &[NodeId]) -> Self {
        let mut edges: Vec<Edge> = self
            .edges
            .iter()
            .map(|edge| {
                let (a, b) = (order[edge.source], order[edge.target]);
                Edge { source: a.min(b), target: a.max(b), weight: edge.weight }
            })
            .collect();
        edges.sort_by_key(|edge| (edge.source, edge.target));
        let patterns = Patterns::like(self.clone(), order);
        Self { patterns, ..Self::joined(self.names.clone(), edges) }
    }

    /// The same network with its nodes in another order, of which `order` is a list.
    #[must_use]
    pub fn ordered(&self, order: &[NodeId]) -> Self {
        let mut places = vec![0; self.len()];
        order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
        let names = order.iter().map(|&node| self.names[node].clone()).collect();
        // An order of elimination of its own: one from the other order would change rounding with the order of a table.
        let patterns = Patterns::default();
        Self { names: Arc::new(names), patterns, ..self.shuffled(&places) }
    }

    /// The same nodes with only the edges inside clusters; `clusters` has one for every node.
    pub fn inside(&self, clusters: &[usize]) -> Result<Self> {
        same_size("clusters of nodes", clusters.len(), self.len())?;
        let same = |edge: &&Edge| clusters[edge.source] == clusters[edge.target];
        let edges = self.edges.iter().filter(same).copied().collect();
        Ok(Self::joined(self.names.clone(), edges))
    }

    /// What each node may know: itself, and what its neighbours share with it.
    pub fn views(&self, nodes: Vec<Node>) -> Result<Vec<View>> {
        same_size("nodes", nodes.len(), self.len())?;
        let public: Vec<_> = nodes.iter().map(|node| node.public.clone()).collect();
        Ok(nodes
            .into_iter()
            .map(|node| {
                let neighbour = |&(id, weight): &(NodeId, f64)| Neighbour {
                    id,
                    weight,
                    public: public[id].clone(),
                };
                View { neighbours: self.neighbours(node.id).iter().map(neighbour).collect(), node }
            })
            .collect())
    }
}

fn adjacency(nodes: usize, edges: &[Edge]) -> (Vec<usize>, Vec<(NodeId, f64)>) {
    let mut offsets = vec![0; nodes + 1];
    for edge in edges {
        offsets[edge.source + 1] += 1;
        offsets[edge.target + 1] += 1;
    }
    for node in 0..nodes {
        offsets[node + 1] += offsets[node];
    }
    let mut next = offsets.clone();
    let mut adjacency = vec![(0, 0.0); 2 * edges.len()];
    // First the smaller neighbours, then the larger ones: each list comes out in order of ids.
    for edge in edges {
        adjacency[next[edge.target]] = (edge.source, edge.weight);
        next[edge.target] += 1;
    }
    for edge in edges {
        adjacency[next[edge.source]] = (edge.target, edge.weight);
        next[edge.source] += 1;
    }
    (offsets, adjacency)
}

/// A node: its private rows, its model and the public points it shares.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its position in the network.
    pub id: NodeId,
    /// Its private rows; may be empty.
    pub data: Dataset,
    /// The kind of model it trains.
    pub model: Arc<dyn LocalModel>,
    /// The points on which it shares predictions.
    pub public: Arc<Features>,
}

/// What a node knows of a neighbour.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// Its position in the network.
    pub id: NodeId,
    /// The weight of the edge to it.
    pub weight: f64,
    /// The public points of the neighbour.
    pub public: Arc<Features>,
}

/// All that one node may know: itself, and what each neighbour shares with it.
#[derive(Debug, Clone)]
pub struct View {
    /// The node itself.
    pub node: Node,
    /// Its neighbours, in order of their ids.
    pub neighbours: Vec<Neighbour>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(names: &[&str], edges: &[(usize, usize, f64)]) -> Result<Network> {
        let edges = edges.iter().map(|&(source, target, weight)| Edge { source, target, weight });
        Network::new(names.iter().map(ToString::to_string).collect(), edges)
    }

    #[test]
    fn wrong_edges_are_named() {
        let message = |edges| network(&["a", "b"], edges).unwrap_err().to_string();
        assert_eq!(message(&[(0, 0, 1.0)]), "edge a – a joins a node to itself");
        assert_eq!(message(&[(0, 1, 1.0), (1, 0, 2.0)]), "edge a – b is listed twice");
        assert_eq!(
            message(&[(0, 1, f64::NAN)]),
            "edge a – b has weight NaN, expected a positive number"
        );
        assert_eq!(message(&[(0, 2, 1.0)]), "edge a – #2: node '#2' is unknown");
        assert_eq!(network(&["a", "a"], &[]).unwrap_err().to_string(), "node 'a' is listed twice");
    }

    #[test]
    fn neighbours_come_in_order_and_both_ends_know_the_weight() {
        let network = network(&["a", "b", "c"], &[(2, 1, 0.5), (0, 1, 2.0)]).unwrap();
        assert_eq!(network.neighbours(1), [(0, 2.0), (2, 0.5)]);
        assert_eq!(network.neighbours(2), [(1, 0.5)]);
        assert!((network.degree(1) - 2.5).abs() < 1e-15);
    }

    #[test]
    fn another_order_of_nodes_is_the_same_network() {
        let network = network(&["c", "a", "b"], &[(0, 1, 2.0), (1, 2, 0.5)]).unwrap();
        let ordered = network.ordered(&[1, 2, 0]);
        assert_eq!(ordered.names(), ["a", "b", "c"]);
        assert_eq!(ordered.neighbours(0), [(1, 0.5), (2, 2.0)]);
        assert_eq!(ordered.ordered(&[2, 0, 1]), network);
    }

    #[test]
    fn inside_clusters_only_their_own_edges_are_left() {
        let network = network(&["a", "b", "c"], &[(0, 1, 2.0), (1, 2, 0.5)]).unwrap();
        let inside = network.inside(&[4, 7, 7]).unwrap();
        assert_eq!(inside.names(), network.names());
        assert_eq!(inside.edges(), [Edge { source: 1, target: 2, weight: 0.5 }]);
        assert_eq!((inside.neighbours(0), inside.neighbours(1)), (&[][..], &[(2, 0.5)][..]));
        assert_eq!(network.inside(&[1, 1, 1]).unwrap(), network);
        assert!(network.inside(&[1]).is_err());
    }

    #[test]
    fn shuffling_moves_edges_and_keeps_weights() {
        let network = network(&["a", "b", "c"], &[(0, 1, 2.0), (1, 2, 0.5)]).unwrap();
        let shuffled = network.shuffled(&[2, 0, 1]);
        assert_eq!(shuffled.neighbours(0), [(1, 0.5), (2, 2.0)]);
        assert_eq!(shuffled.shuffled(&[1, 2, 0]), network);
    }
}
