//! What the papers' theory says of a network before and after it is fitted: how well its clusters hold
//! together, how far the nodes of a cluster can be apart, and how far the minimum of total variation
//! can be from the optima of the clusters.
//!
//! ```text
//! Σ_{i ∈ C} ‖ŵ_i − mean‖² ≤ ε / (α λ₂)                              "Plug In and Learn", eq. 25
//! Σ_edges A ‖(ŵ − w̄)_i − (ŵ − w̄)_j‖ ≤ 8 U L K √M / (C (L − 1)²)   "Networked Federated
//!                                                                    Multi-Task Learning", eq. 18
//! ```
//!
//! Every number comes with what it rests on, and a warning where an assumption cannot be checked.

mod cohesion;
mod flow;
mod optima;
mod recovery;
mod sampling;
mod variation;

pub use cohesion::{Cohesion, cohesion};
pub use optima::{PooledModels, predictions_of, weights_of};
pub use recovery::{Recovery, recovery};
pub use sampling::{Sampling, sampling};
pub use variation::{FittedNetwork, PointDifference, Variation, variation_bound};

use crate::{
    error::{Result, same_size},
    network::{Network, NodeId},
};

/// The nodes of each cluster, clusters in the order of their numbers.
fn members(network: &Network, clusters: &[usize]) -> Result<Vec<Vec<NodeId>>> {
    same_size("clusters of nodes", clusters.len(), network.len())?;
    let mut order: Vec<NodeId> = (0..clusters.len()).collect();
    order.sort_by_key(|&node| clusters[node]);
    let same = |a: &NodeId, b: &NodeId| clusters[*a] == clusters[*b];
    Ok(order.chunk_by(same).map(<[NodeId]>::to_vec).collect())
}

/// The index of each node's cluster in the order of their numbers.
fn cluster_indices(members: &[Vec<NodeId>], nodes: usize) -> Vec<usize> {
    let mut indices = vec![0; nodes];
    for (index, members) in members.iter().enumerate() {
        for &node in members {
            indices[node] = index;
        }
    }
    indices
}
