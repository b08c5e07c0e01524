//! Where the deviations of each node are eliminated from the system of all, so that messages along a tree of
//! the network are enough.
//!
//! ```text
//! host(v) = v, or an ancestor of v;   for every edge (a, b) one of host(a), host(b) is an ancestor of the other
//! front(v) = {v} ∪ ends of edges that v puts in ∪ what its children have left
//! pivots(v) = {x in front(v): host(x) = v},   rest(v) = front(v) \ pivots(v)
//! ```
//!
//! Along a tree every node is eliminated where it is, and its parent gets what that leaves of the parent's own
//! block. An edge that is none of the tree's postpones one of its ends to where the ways of both to the root
//! meet. The network is known to all, so all find the same fronts without talking.

use crate::method::tree::Tree;
use crate::network::{Network, NodeId};

/// What a node eliminates, and what it leaves to its parent.
#[derive(Debug, Clone, Default)]
pub(super) struct Front {
    /// The nodes whose deviations are eliminated here, then those that are left, each in order of ids.
    pub(super) nodes: Vec<NodeId>,
    /// How many are eliminated.
    pub(super) pivots: usize,
    /// The edges that are put in here, by places in `nodes`, with their weights.
    pub(super) edges: Vec<(usize, usize, f64)>,
    /// The children of the node in the tree.
    pub(super) children: Vec<NodeId>,
}

impl Front {
    /// The nodes that are left to the parent.
    pub(super) fn rest(&self) -> &[NodeId] {
        &self.nodes[self.pivots..]
    }

    /// Where a node is among all of the front.
    pub(super) fn place(&self, node: NodeId) -> usize {
        let place = self.nodes.iter().position(|other| *other == node);
        place.expect("a front has the node itself and what its children leave")
    }
}

/// The front of every node.
pub(super) fn fronts(network: &Network, tree: &Tree) -> Vec<Front> {
    let hosts = hosts(network, tree);
    let mut fronts = vec![Front::default(); network.len()];
    let mut order: Vec<NodeId> = (0..network.len()).collect();
    // Children before their parents.
    order.sort_by_key(|node| std::cmp::Reverse(tree.depths[*node]));
    for node in order {
        let edges = own_edges(network, tree, &hosts, node);
        let children: Vec<NodeId> =
            (0..network.len()).filter(|other| tree.parents[*other] == Some(node)).collect();
        let mut all: Vec<NodeId> = vec![node];
        all.extend(edges.iter().map(|(other, _)| *other));
        all.extend(children.iter().flat_map(|child| fronts[*child].rest()));
        all.sort_unstable();
        all.dedup();
        let (mut nodes, rest): (Vec<_>, Vec<_>) = all.iter().partition(|x| hosts[**x] == node);
        let pivots = nodes.len();
        nodes.extend(rest);
        let front = Front { nodes, pivots, edges: Vec::new(), children };
        let place =
            |(other, weight): &(NodeId, f64)| (front.place(node), front.place(*other), *weight);
        let edges = edges.iter().map(place).collect();
        fronts[node] = Front { edges, ..front };
    }
    fronts
}

/// Where each node is eliminated: of the ends of all edges beside the tree those with most of them are postponed.
fn hosts(network: &Network, tree: &Tree) -> Vec<NodeId> {
    let mut hosts: Vec<NodeId> = (0..network.len()).collect();
    let mut open: Vec<Vec<NodeId>> =
        hosts.iter().map(|&node| beside(network, tree, node)).collect();
    loop {
        let most = (0..open.len()).rev().max_by_key(|node| open[*node].len());
        let Some(node) = most.filter(|node| !open[*node].is_empty()) else { return hosts };
        let others = beside(network, tree, node);
        hosts[node] = others.iter().fold(node, |host, other| meeting(tree, host, *other));
        open[node].clear();
        for others in &mut open {
            others.retain(|other| *other != node);
        }
    }
}

/// The neighbours of a node along edges that are none of the tree's.
fn beside(network: &Network, tree: &Tree, node: NodeId) -> Vec<NodeId> {
    let is_of_tree =
        |other: NodeId| tree.parents[node] == Some(other) || tree.parents[other] == Some(node);
    let others = network.neighbours(node).iter().map(|(other, _)| *other);
    others.filter(|other| !is_of_tree(*other)).collect()
}

/// The edges that a node puts in: to its parent, and to postponed nodes, if it is not itself the end that is.
fn own_edges(network: &Network, tree: &Tree, hosts: &[NodeId], node: NodeId) -> Vec<(NodeId, f64)> {
    let is_own = |other: NodeId| {
        if tree.parents[other] == Some(node) {
            return false;
        }
        let is_postponed = |node: NodeId| hosts[node] != node;
        tree.parents[node] == Some(other)
            || is_postponed(other) && (!is_postponed(node) || node < other)
    };
    network.neighbours(node).iter().filter(|(other, _)| is_own(*other)).copied().collect()
}

/// Where the ways of two nodes to the root meet.
fn meeting(tree: &Tree, mut a: NodeId, mut b: NodeId) -> NodeId {
    while a != b {
        let lower = if tree.depths[a] >= tree.depths[b] { &mut a } else { &mut b };
        *lower = tree.parents[*lower].expect("ways to the root meet there at the latest");
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{complete, path, ring};

    fn of(network: &Network) -> Vec<Front> {
        fronts(network, &Tree::new(network).unwrap())
    }

    #[test]
    fn a_tree_eliminates_every_node_where_it_is_and_a_ring_postpones_one() {
        let path = of(&path(5).unwrap());
        assert!(path.iter().enumerate().all(|(node, front)| front.nodes[..front.pivots] == [node]));
        assert!(path.iter().all(|front| front.nodes.len() <= 2));
        let ring = of(&ring(7).unwrap());
        assert_eq!(ring.iter().filter(|front| front.pivots == 0).count(), 1);
        assert!(ring.iter().all(|front| front.nodes.len() <= 3));
        assert_eq!(of(&complete(5).unwrap())[0].pivots, 4);
    }

    #[test]
    fn every_node_is_eliminated_once_and_every_edge_put_in_once() {
        for network in [ring(9).unwrap(), complete(6).unwrap(), crate::network::grid(4, 5).unwrap()]
        {
            let fronts = of(&network);
            let pivots: usize = fronts.iter().map(|front| front.pivots).sum();
            let edges: usize = fronts.iter().map(|front| front.edges.len()).sum();
            assert_eq!((pivots, edges), (network.len(), network.edges().len()));
        }
    }
}
