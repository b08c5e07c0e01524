//! One model for all, and one model per known cluster: what a node could learn if rows could be
//! carried together. Yardsticks only: they need all rows in one place, so they are no [`Method`]
//! and never run in a federation.
//!
//! ```text
//! pooled   h = argmin (1/n) Σ_i L_i(h)
//! oracle   h_c = argmin (1/|c|) Σ_{i ∈ c} L_i(h)      for every true cluster c
//! ```
//!
//! [`Method`]: super::Method

use std::sync::Arc;

use crate::{
    data::Dataset,
    error::{Error, Result, same_size},
    model::Hypothesis,
    network::Node,
};

/// One model fitted to the rows of all nodes, in which every node counts as much as its rows weigh.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pooled;

impl Pooled {
    /// The pooled hypothesis of each node; nodes with the same model share one.
    pub fn fit(self, nodes: &[Node]) -> Result<Vec<Arc<dyn Hypothesis>>> {
        Oracle { clusters: vec![0; nodes.len()] }.fit(nodes)
    }
}

/// One model for each cluster of nodes that are known to belong together.
#[derive(Debug, Clone)]
pub struct Oracle {
    /// The cluster of each node.
    pub clusters: Vec<usize>,
}

impl Oracle {
    /// The hypothesis of each node, fitted to the rows of its cluster.
    pub fn fit(&self, nodes: &[Node]) -> Result<Vec<Arc<dyn Hypothesis>>> {
        same_size("clusters of nodes", self.clusters.len(), nodes.len())?;
        let mut fitted: Vec<(usize, &Node, Arc<dyn Hypothesis>)> = Vec::new();
        let mut hypotheses = Vec::with_capacity(nodes.len());
        for (node, &cluster) in nodes.iter().zip(&self.clusters) {
            // A cluster is fitted once for each kind of model, not once for each node.
            let known = fitted
                .iter()
                .find(|(c, like, _)| *c == cluster && like.model.family() == node.model.family());
            let hypothesis = if let Some((_, _, hypothesis)) = known {
                hypothesis.clone()
            } else {
                let hypothesis: Arc<dyn Hypothesis> =
                    node.model.fit(&self.rows(nodes, cluster)?)?.into();
                fitted.push((cluster, node, hypothesis.clone()));
                hypothesis
            };
            hypotheses.push(hypothesis);
        }
        Ok(hypotheses)
    }

    /// The rows of a cluster, weighted so that a ridge means what it means at one node.
    fn rows(&self, nodes: &[Node], cluster: usize) -> Result<Dataset> {
        let members = || nodes.iter().zip(&self.clusters).filter(|(_, c)| **c == cluster);
        let mut parts = members().map(|(node, _)| &node.data);
        let first = parts.next().ok_or(Error::NoData)?.clone();
        let all = parts.try_fold(first, Dataset::stacked)?;
        let total = all.total_weight();
        if total == 0.0 {
            return Err(Error::NoData);
        }
        // Nodes without rows must not dilute the others.
        let with_rows = members().filter(|(node, _)| node.data.total_weight() > 0.0).count();
        Ok(all.with_total_weight(total / with_rows as f64))
    }
}
