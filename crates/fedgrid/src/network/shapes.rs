//! Networks of a known shape, with unit weights and nodes named "0", "1", …: a random regular one
//! is a circulant whose edges have been switched many times,
//!
//! ```text
//! {a, b}, {c, d}  →  {a, d}, {c, b}      unless a loop or a double edge would come out
//! ```
//!
//! which keeps every degree and always ends. [Degree-preserving switches: Milo and others, "On the
//! uniform generation of random graphs with prescribed degree sequences".]

use super::{Edge, Network, NodeId};
use crate::{
    error::{Error, Result, at_least},
    random::{Purpose, Stream},
};

/// Every pair of nodes is joined.
///
/// ```
/// let network = fedgrid::network::complete(4)?;
/// assert_eq!(network.edges().len(), 6);
/// # Ok::<(), fedgrid::Error>(())
/// ```
pub fn complete(nodes: usize) -> Result<Network> {
    at_least(nodes, "nodes", 1, "one or more")?;
    unit(nodes, (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j))))
}

/// Every node is joined to the next, and the last to the first.
pub fn ring(nodes: usize) -> Result<Network> {
    at_least(nodes, "nodes", 3, "three or more")?;
    unit(nodes, (0..nodes).map(|i| (i, (i + 1) % nodes)))
}

/// Every node but the last is joined to the next.
pub fn path(nodes: usize) -> Result<Network> {
    at_least(nodes, "nodes", 1, "one or more")?;
    unit(nodes, (1..nodes).map(|i| (i - 1, i)))
}

/// Nodes in rows and columns, numbered row by row, each joined to those beside, above and below.
pub fn grid(rows: usize, columns: usize) -> Result<Network> {
    at_least(rows, "rows", 1, "one or more")?;
    at_least(columns, "columns", 1, "one or more")?;
    let nodes = rows * columns;
    let beside = (0..nodes).filter(|i| (i + 1) % columns != 0).map(|i| (i, i + 1));
    let below = (columns..nodes).map(|i| (i - columns, i));
    unit(nodes, beside.chain(below))
}

/// Node 0 is joined to all others.
pub fn star(nodes: usize) -> Result<Network> {
    at_least(nodes, "nodes", 2, "two or more")?;
    unit(nodes, (1..nodes).map(|i| (0, i)))
}

/// A random network in which every node has the same number of neighbours.
pub fn random_regular(nodes: usize, degree: usize, seed: u64) -> Result<Network> {
    at_least(nodes, "nodes", 1, "one or more")?;
    if degree >= nodes {
        let expected = "less than the number of nodes";
        return Err(Error::Parameter { name: "degree", value: degree as f64, expected });
    }
    if nodes % 2 == 1 && degree % 2 == 1 {
        let needs = "an even number of nodes or an even degree";
        return Err(Error::Unsupported { what: "a regular network", needs });
    }
    let mut edges = circulant(nodes, degree);
    switch(&mut edges, nodes, &mut Stream::new(seed, 0, 0, Purpose::Network));
    unit(nodes, edges)
}

/// The names "0", "1", … of made nodes.
pub(super) fn numbered(nodes: usize) -> Vec<String> {
    (0..nodes).map(|id| id.to_string()).collect()
}

fn unit(nodes: usize, edges: impl IntoIterator<Item = (NodeId, NodeId)>) -> Result<Network> {
    let edge = |(source, target)| Edge { source, target, weight: 1.0 };
    Network::new(numbered(nodes), edges.into_iter().map(edge))
}

/// Every node is joined to the nearest ones on a circle, and to the opposite one if the degree is
/// odd.
fn circulant(nodes: usize, degree: usize) -> Vec<(NodeId, NodeId)> {
    let near = (1..=degree / 2).flat_map(|step| (0..nodes).map(move |i| (i, (i + step) % nodes)));
    let opposite = (0..degree % 2 * nodes / 2).map(|i| (i, i + nodes / 2));
    near.chain(opposite).collect()
}

/// How many switches are tried for each edge: enough to leave no trace of the circle.
const SWITCHES_PER_EDGE: usize = 10;

fn switch(edges: &mut [(NodeId, NodeId)], nodes: usize, stream: &mut Stream) {
    let mut neighbours = vec![Vec::new(); nodes];
    for &(a, b) in &*edges {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    for _ in 0..SWITCHES_PER_EDGE * edges.len() {
        let (first, second) = (stream.index(edges.len()), stream.index(edges.len()));
        let (a, b) = edges[first];
        // Either end may be the first, or half of all switches would never be tried.
        let (c, d) = if stream.index(2) == 0 { edges[second] } else { swapped(edges[second]) };
        if a == d || b == c || neighbours[a].contains(&d) || neighbours[c].contains(&b) {
            continue;
        }
        for (node, old, new) in [(a, b, d), (b, a, c), (c, d, b), (d, c, a)] {
            let index = neighbours[node].iter().position(|&other| other == old);
            neighbours[node][index.expect("both ends of an edge know it")] = new;
        }
        (edges[first], edges[second]) = ((a, d), (c, b));
    }
}

fn swapped((a, b): (NodeId, NodeId)) -> (NodeId, NodeId) {
    (b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_edges_of_their_definition() {
        assert_eq!(complete(5).unwrap().edges().len(), 10);
        assert_eq!(ring(5).unwrap().neighbours(0), [(1, 1.0), (4, 1.0)]);
        assert_eq!(path(1).unwrap().edges().len(), 0);
        assert_eq!(path(4).unwrap().neighbours(3), [(2, 1.0)]);
        assert_eq!(star(4).unwrap().neighbours(0).len(), 3);
        let grid = grid(2, 3).unwrap();
        assert_eq!(grid.names()[5], "5");
        assert_eq!(grid.neighbours(1), [(0, 1.0), (2, 1.0), (4, 1.0)]);
        assert_eq!(grid.edges().len(), 7);
    }

    #[test]
    fn every_node_of_a_random_regular_network_has_its_degree() {
        for (nodes, degree) in [(1, 0), (2, 1), (6, 5), (7, 4), (9, 6), (50, 3), (200, 12)] {
            let network = random_regular(nodes, degree, 3).unwrap();
            assert!((0..nodes).all(|node| network.neighbours(node).len() == degree));
        }
    }

    #[test]
    fn the_seed_decides_a_random_regular_network() {
        let network = |seed| random_regular(60, 4, seed).unwrap();
        assert_eq!(network(1), network(1));
        assert_ne!(network(1), network(2));
    }

    #[test]
    fn impossible_shapes_are_refused_with_the_reason() {
        let message = |network: Result<Network>| network.unwrap_err().to_string();
        assert_eq!(message(complete(0)), "nodes is 0, expected one or more");
        assert_eq!(message(ring(2)), "nodes is 2, expected three or more");
        assert_eq!(message(path(0)), "nodes is 0, expected one or more");
        assert_eq!(message(star(1)), "nodes is 1, expected two or more");
        assert_eq!(message(grid(3, 0)), "columns is 0, expected one or more");
        assert_eq!(
            message(random_regular(4, 4, 1)),
            "degree is 4, expected less than the number of nodes"
        );
        assert_eq!(
            message(random_regular(5, 3, 1)),
            "a regular network needs an even number of nodes or an even degree"
        );
    }
}
