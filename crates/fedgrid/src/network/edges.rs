//! A network from a list of edges between names, as an edge file has it,
//!
//! ```text
//! source, target, A      one line for each undirected edge, in either direction
//! ```
//!
//! with the nodes in a given order, or, without one, in the order of their names.

use std::collections::BTreeMap;

use super::{Edge, Network, NodeId};
use crate::error::{Error, Result};

/// The network of these edges: source, target and weight A > 0.
///
/// With names given, these are the nodes, isolated ones included, and an edge to any other is
/// refused. Without, the nodes are the ends of the edges: in numerical order if all are integers,
/// otherwise in the order of the text.
///
/// ```
/// let edge = |a: &str, b: &str| (a.to_owned(), b.to_owned(), 1.0);
/// let network = fedgrid::network::from_edges(None, &[edge("10", "9"), edge("9", "2")])?;
/// assert_eq!(network.names(), ["2", "9", "10"]);
/// # Ok::<(), fedgrid::Error>(())
/// ```
pub fn from_edges(names: Option<Vec<String>>, edges: &[(String, String, f64)]) -> Result<Network> {
    let names = names.unwrap_or_else(|| sorted_ends(edges));
    let ids: BTreeMap<&str, NodeId> =
        names.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let edges = edges
        .iter()
        .map(|(source, target, weight)| {
            let id = |name: &String| {
                ids.get(name.as_str()).copied().ok_or_else(|| Error::UnknownNode {
                    source_name: source.clone(),
                    target_name: target.clone(),
                    unknown: name.clone(),
                })
            };
            Ok(Edge { source: id(source)?, target: id(target)?, weight: *weight })
        })
        .collect::<Result<Vec<_>>>()?;
    Network::new(names, edges)
}

fn sorted_ends(edges: &[(String, String, f64)]) -> Vec<String> {
    let mut ends: Vec<String> =
        edges.iter().flat_map(|(source, target, _)| [source, target]).cloned().collect();
    ends.sort_unstable();
    ends.dedup();
    // Nodes that are called by numbers are expected in their order, "2" before "10".
    let numbers: Option<Vec<i128>> = ends.iter().map(|name| name.parse().ok()).collect();
    match numbers {
        Some(numbers) => {
            let mut numbered: Vec<(i128, String)> = numbers.into_iter().zip(ends).collect();
            numbered.sort_unstable();
            numbered.into_iter().map(|(_, name)| name).collect()
        }
        None => ends,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(&str, &str, f64)]) -> Vec<(String, String, f64)> {
        list.iter().map(|&(a, b, weight)| (a.to_owned(), b.to_owned(), weight)).collect()
    }

    fn message(names: Option<&[&str]>, list: &[(&str, &str, f64)]) -> String {
        let names = names.map(|names| names.iter().map(ToString::to_string).collect());
        from_edges(names, &edges(list)).unwrap_err().to_string()
    }

    #[test]
    fn integers_sort_as_numbers_and_other_names_as_text() {
        let names = |list| from_edges(None, &edges(list)).unwrap().names().to_vec();
        assert_eq!(names(&[("10", "9", 1.0), ("-1", "9", 1.0)]), ["-1", "9", "10"]);
        assert_eq!(names(&[("10", "9", 1.0), ("b", "9", 1.0)]), ["10", "9", "b"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn given_names_keep_their_order_and_may_be_isolated() {
        let names = ["c", "a", "b"].map(String::from).to_vec();
        let network = from_edges(Some(names), &edges(&[("a", "c", 0.5)])).unwrap();
        assert_eq!(network.names(), ["c", "a", "b"]);
        assert_eq!(network.neighbours(0), [(1, 0.5)]);
        assert!(network.neighbours(2).is_empty());
    }

    #[test]
    fn wrong_edges_are_named() {
        let unknown = message(Some(&["a", "b"]), &[("a", "z", 1.0)]);
        assert_eq!(unknown, "edge a – z: node 'z' is unknown");
        let twice = message(None, &[("a", "b", 1.0), ("b", "a", 1.0)]);
        assert_eq!(twice, "edge a – b is listed twice");
        let weight = message(None, &[("a", "b", 0.0)]);
        assert_eq!(weight, "edge a – b has weight 0, expected a positive number");
        let node = message(Some(&["a", "a"]), &[]);
        assert_eq!(node, "node 'a' is listed twice");
    }
}
