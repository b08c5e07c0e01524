//! PersFL where one process has all rows: the steps that messages would take, for all targets at once.
//!
//! [`RefitPool`] is Algorithm 2 itself, for any kind of model; its targets are those of the messages.
//! [`LinearPool`] is Algorithm 1 for linear models.

mod kernels;
mod linear;
mod refit;
mod row_block;

pub use linear::LinearPool;
pub use refit::RefitPool;

use crate::{
    error::{Result, same_size},
    network::{Network, Node, NodeId},
};

/// Who may be probed by each node: its neighbours, or everyone else where there is no network.
fn candidates<'a>(
    nodes: &'a [Node],
    network: Option<&'a Network>,
) -> Result<impl Fn(NodeId) -> Vec<NodeId> + Sync + 'a> {
    if let Some(network) = network {
        same_size("nodes of the network", network.len(), nodes.len())?;
    }
    Ok(move |node| match network {
        Some(network) => network.neighbours(node).iter().map(|(id, _)| *id).collect(),
        None => (0..nodes.len()).filter(|&id| id != node).collect(),
    })
}
