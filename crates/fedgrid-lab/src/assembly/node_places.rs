//! Where the nodes of a run are, by which nodes that it has never seen find their neighbours.

use fedgrid::network::Places;
use serde::{Deserialize, Serialize};

use super::{Graph, graph::placed};
use crate::{
    error::Result,
    experiment::{CandidateKey, Experiment},
};

/// The places of nodes that were joined by their coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodePlaces {
    /// The column that names the node, in a table of nodes.
    pub node: String,
    /// The columns that place it.
    pub columns: Vec<String>,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// Where they are, with the rule that joined them.
    pub places: Places,
}

impl NodePlaces {
    /// Of an experiment that may join nodes by their coordinates; none of others.
    pub(super) fn new(experiment: &Experiment, graph: &Graph) -> Result<Option<Self>> {
        let keys = &experiment.network;
        let is_by_places = keys.choices().contains(&CandidateKey::Coordinates);
        let (Some(table), Some(neighbours), true) = (&graph.nodes, keys.nearest, is_by_places)
        else {
            return Ok(None);
        };
        let nodes = graph.network.names().to_vec();
        let (nearest, coordinates) = placed(keys, neighbours, (&nodes, table))?;
        Ok(Some(Self {
            node: keys.node.clone().unwrap_or_else(|| experiment.data.node.clone()),
            columns: keys.coordinates.keys().cloned().collect(),
            places: Places::new(&nearest, &nodes, &coordinates)?,
            nodes,
        }))
    }
}
