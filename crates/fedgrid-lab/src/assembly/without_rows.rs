//! Nodes of the network without a training row. A method that knows of no network has nothing to say of them, and so their
//! neighbours predict them, as they do nodes that a run has never seen.

use std::collections::BTreeMap;

use super::Assembly;

/// The neighbours that have rows, with the weights of the edges to them, of each node that has none.
pub(crate) type NodesWithoutRows = BTreeMap<String, Vec<(String, f64)>>;

impl Assembly {
    /// The nodes without a training row that have neighbours with some.
    pub(crate) fn nodes_without_rows(&self) -> NodesWithoutRows {
        let (network, train) = (&self.study.network, &self.study.plan.train);
        let names = network.names();
        let near = |node: usize| -> Vec<(String, f64)> {
            let with_rows =
                network.neighbours(node).iter().filter(|(id, _)| !train[*id].is_empty());
            with_rows.map(|&(id, weight)| (names[id].clone(), weight)).collect()
        };
        let without = (0..names.len()).filter(|&node| train[node].is_empty());
        let all = without.map(|node| (names[node].clone(), near(node)));
        all.filter(|(_, near)| !near.is_empty()).collect()
    }
}
