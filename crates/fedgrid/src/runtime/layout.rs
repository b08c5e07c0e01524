//! Which process hosts which nodes, and what that makes of the edges,
//!
//! ```text
//! inside a process    a message stays in memory
//! across the cut      all messages of a round from one process to another travel as one bundle
//! ```
//!
//! Processes are neighbours where nodes of theirs are. For what all must agree on they form a tree of
//! shortest paths from the process with the smallest id of each component.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    error::{Error, Result, same_size},
    network::{Network, NodeId},
};

/// The position of a process in its federation.
pub type ProcessId = usize;

/// Where every node lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    assignments: Vec<Assignment>,
    cut: usize,
}

/// What one process knows of the layout: its nodes, its neighbours, its part of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The process.
    pub process: ProcessId,
    /// The nodes it hosts, in order of their ids.
    pub nodes: Vec<NodeId>,
    /// The processes it has edges to, in order of their ids.
    pub peers: Vec<Peer>,
    /// The next process on the way to the root of the tree; none at the root.
    pub parent: Option<ProcessId>,
    /// The processes whose parent this one is, in order of their ids.
    pub children: Vec<ProcessId>,
}

/// The edges between a process and another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The other process.
    pub process: ProcessId,
    /// The edges to the other process as (local node, remote node), sorted.
    pub outgoing: Vec<(NodeId, NodeId)>,
    /// The edges from the other process as (remote node, local node), sorted.
    pub incoming: Vec<(NodeId, NodeId)>,
}

impl Layout {
    /// The layout with node i in process `process_of[i]`; processes are numbered from zero, and none
    /// may be empty.
    pub fn new(network: &Network, process_of: &[ProcessId]) -> Result<Self> {
        same_size("processes of nodes", process_of.len(), network.len())?;
        let count = process_of.iter().max().map_or(0, |last| last + 1);
        let mut nodes = vec![Vec::new(); count];
        process_of.iter().enumerate().for_each(|(node, &process)| nodes[process].push(node));
        if let Some(empty) = nodes.iter().position(Vec::is_empty) {
            return Err(Error::Shape { what: "nodes of a process", found: empty, expected: 1 });
        }
        let mut edges_to: Vec<BTreeMap<ProcessId, Vec<(NodeId, NodeId)>>> =
            vec![BTreeMap::new(); count];
        let mut cut = 0;
        for edge in network.edges() {
            let (a, b) = (process_of[edge.source], process_of[edge.target]);
            if a != b {
                cut += 1;
                edges_to[a].entry(b).or_default().push((edge.source, edge.target));
                edges_to[b].entry(a).or_default().push((edge.target, edge.source));
            }
        }
        // Bundles name edges by their index, so both sides must have the same order.
        edges_to.iter_mut().flat_map(BTreeMap::values_mut).for_each(|edges| edges.sort_unstable());
        let peers = |process: ProcessId| {
            let peer = |(&other, outgoing): (&ProcessId, &Vec<_>)| Peer {
                process: other,
                outgoing: outgoing.clone(),
                incoming: edges_to[other][&process].clone(),
            };
            edges_to[process].iter().map(peer).collect::<Vec<Peer>>()
        };
        let assignment = |(process, nodes)| Assignment {
            process,
            nodes,
            peers: peers(process),
            parent: None,
            children: Vec::new(),
        };
        let assignments = nodes.into_iter().enumerate().map(assignment).collect();
        let mut layout = Self { assignments, cut };
        layout.grow_trees();
        Ok(layout)
    }

    /// Every node in a process of its own.
    pub fn apart(network: &Network) -> Result<Self> {
        Self::new(network, &(0..network.len()).collect::<Vec<_>>())
    }

    fn grow_trees(&mut self) {
        let mut reached = vec![false; self.assignments.len()];
        for root in 0..self.assignments.len() {
            let mut open = VecDeque::new();
            // Breadth first from the smallest id: all processes find the same tree without talking.
            if !std::mem::replace(&mut reached[root], true) {
                open.push_back(root);
            }
            while let Some(process) = open.pop_front() {
                for index in 0..self.assignments[process].peers.len() {
                    let other = self.assignments[process].peers[index].process;
                    if !std::mem::replace(&mut reached[other], true) {
                        self.assignments[other].parent = Some(process);
                        self.assignments[process].children.push(other);
                        open.push_back(other);
                    }
                }
            }
        }
    }

    /// What each process knows.
    #[must_use]
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// How many edges cross from one process to another.
    #[must_use]
    pub fn cut(&self) -> usize {
        self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{complete, path};

    #[test]
    fn edges_inside_a_process_stay_there_and_the_rest_are_known_to_both_sides() {
        let layout = Layout::new(&path(5).unwrap(), &[1, 1, 0, 0, 2]).unwrap();
        assert_eq!(layout.cut(), 2);
        let assignments = layout.assignments();
        assert_eq!(assignments[0].nodes, [2, 3]);
        let others: Vec<_> = assignments[0].peers.iter().map(|peer| peer.process).collect();
        assert_eq!(others, [1, 2]);
        assert_eq!(assignments[0].peers[0].outgoing, [(2, 1)]);
        assert_eq!(assignments[0].peers[0].incoming, assignments[1].peers[0].outgoing);
        assert_eq!((assignments[2].parent, &assignments[0].children[..]), (Some(0), &[1, 2][..]));
    }

    #[test]
    fn every_component_has_one_root_and_every_other_process_a_parent() {
        let layout = Layout::apart(&complete(4).unwrap()).unwrap();
        assert_eq!(
            layout.assignments().iter().filter(|assignment| assignment.parent.is_none()).count(),
            1
        );
        let alone = Layout::new(&path(1).unwrap(), &[0]).unwrap();
        assert!(alone.assignments()[0].peers.is_empty());
        assert!(Layout::new(&path(2).unwrap(), &[0, 2]).is_err());
    }
}
