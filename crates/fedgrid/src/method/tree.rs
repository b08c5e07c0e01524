//! A tree of shortest paths from the node that is nearest to all others, which all find without talking.

use std::collections::VecDeque;

use crate::network::{Network, NodeId};

/// A tree of all nodes of a network.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The next node on the way to the root; none at the root.
    pub(super) parents: Vec<Option<NodeId>>,
    /// How many edges each node is from the root.
    pub(super) depths: Vec<usize>,
    /// The largest depth.
    pub(super) height: usize,
}

impl Tree {
    /// None if the network falls apart, or is empty.
    pub(super) fn new(network: &Network) -> Option<Self> {
        let roots = 0..network.len();
        // The first of several: all nodes must find the same one.
        roots.map(|root| Self::from(network, root)).reduce(|best, tree| {
            let is_lower = best.as_ref()?.height <= tree.as_ref()?.height;
            if is_lower { best } else { tree }
        })?
    }

    /// Whose parent each node is, in order of their ids.
    pub(super) fn children(&self) -> Vec<Vec<NodeId>> {
        let mut children = vec![Vec::new(); self.parents.len()];
        for (node, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(node);
            }
        }
        children
    }

    /// Breadth first; none if some node is not reached.
    fn from(network: &Network, root: NodeId) -> Option<Self> {
        let mut parents = vec![None; network.len()];
        let mut depths = vec![None; network.len()];
        depths[root] = Some(0);
        let mut open = VecDeque::from([(root, 0)]);
        let mut height = 0;
        while let Some((node, depth)) = open.pop_front() {
            height = depth;
            for &(other, _) in network.neighbours(node) {
                if depths[other].is_none() {
                    (depths[other], parents[other]) = (Some(depth + 1), Some(node));
                    open.push_back((other, depth + 1));
                }
            }
        }
        let depths = depths.into_iter().collect::<Option<_>>()?;
        Some(Self { parents, depths, height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Edge, path};

    #[test]
    fn the_root_is_in_the_middle_and_a_network_that_falls_apart_has_none() {
        let tree = Tree::new(&path(5).unwrap()).unwrap();
        assert_eq!(tree.parents, [Some(1), Some(2), None, Some(2), Some(3)]);
        assert_eq!((tree.height, &tree.depths[..]), (2, &[2, 1, 0, 1, 2][..]));
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let apart = Network::new(names, [Edge { source: 0, target: 1, weight: 1.0 }]).unwrap();
        assert!(Tree::new(&apart).is_none());
    }
}
