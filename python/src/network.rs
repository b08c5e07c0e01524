//! Networks for Python: made, read and described by the core.

use fedgrid::{
    network::{self, Clustered, Edge, Nearest},
    random::{Purpose, Stream},
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::json;

use crate::convert::core_error;

/// An undirected weighted network of named nodes.
#[pyclass(frozen, name = "Network", module = "fedgrid._fedgrid")]
pub(crate) struct NetworkHandle(pub(crate) network::Network);

/// Ends and weights of all edges.
type Edges<'py> =
    (Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<f64>>);

fn made(network: fedgrid::Result<network::Network>) -> PyResult<NetworkHandle> {
    network.map(NetworkHandle).map_err(|error| core_error(&error))
}

#[pymethods]
impl NetworkHandle {
    /// A network from names and edges between their positions.
    #[new]
    fn new(
        names: Vec<String>,
        sources: PyReadonlyArray1<'_, i64>,
        targets: PyReadonlyArray1<'_, i64>,
        weights: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (sources, targets, weights) =
            (sources.as_array(), targets.as_array(), weights.as_array());
        // No network has so many nodes: the core refuses it in its own words.
        let id = |id: i64| usize::try_from(id).unwrap_or(usize::MAX);
        let edges =
            sources.iter().zip(targets).zip(weights).map(|((&source, &target), &weight)| Edge {
                source: id(source),
                target: id(target),
                weight,
            });
        made(network::Network::new(names, edges))
    }

    /// The network of nearest neighbours; coordinates row by row, one row per node.
    #[staticmethod]
    fn nearest(
        names: Vec<String>,
        coordinates: PyReadonlyArray1<'_, f64>,
        scales: Vec<f64>,
        neighbours: usize,
        floor: f64,
    ) -> PyResult<Self> {
        let coordinates = coordinates.as_array().to_vec();
        made(Nearest { neighbours, scales, floor }.make(names, &coordinates))
    }

    /// A plain shape: complete, ring, path or star.
    #[staticmethod]
    fn shape(kind: &str, nodes: usize) -> PyResult<Self> {
        made(match kind {
            "complete" => network::complete(nodes),
            "ring" => network::ring(nodes),
            "path" => network::path(nodes),
            _ => network::star(nodes),
        })
    }

    /// Nodes in rows and columns.
    #[staticmethod]
    fn grid(rows: usize, columns: usize) -> PyResult<Self> {
        made(network::grid(rows, columns))
    }

    /// A random network in which all nodes have the same number of neighbours.
    #[staticmethod]
    fn random_regular(nodes: usize, degree: usize, seed: u64) -> PyResult<Self> {
        made(network::random_regular(nodes, degree, seed))
    }

    /// The papers' network of clusters, and the cluster of each node.
    #[staticmethod]
    fn clustered(
        clusters: usize,
        nodes: usize,
        inside: f64,
        between: f64,
        seed: u64,
    ) -> PyResult<(Self, Vec<usize>)> {
        let made = Clustered { clusters, nodes, inside, between, seed }.make();
        let (network, clusters) = made.map_err(|error| core_error(&error))?;
        Ok((Self(network), clusters))
    }

    /// The names of the nodes.
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// Ends and weights of all edges, the end with the smaller id first.
    fn edges<'py>(&self, py: Python<'py>) -> Edges<'py> {
        let edges = self.0.edges();
        (
            PyArray1::from_iter(py, edges.iter().map(|edge| edge.source)),
            PyArray1::from_iter(py, edges.iter().map(|edge| edge.target)),
            PyArray1::from_iter(py, edges.iter().map(|edge| edge.weight)),
        )
    }

    /// How many nodes there are.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The neighbours of a node with their weights.
    fn neighbours(&self, node: usize) -> Vec<(usize, f64)> {
        if node < self.0.len() { self.0.neighbours(node).to_vec() } else { Vec::new() }
    }

    /// Components and degrees as JSON.
    fn statistics(&self) -> String {
        let statistics = self.0.statistics();
        let degrees = statistics.degrees.as_ref();
        let degrees = degrees
            .map(|d| json!({ "min": d.min, "median": d.median, "mean": d.mean, "max": d.max }));
        json!({
            "components": statistics.components,
            "sizes": statistics.sizes,
            "isolated": statistics.isolated,
            "degrees": degrees,
        })
        .to_string()
    }

    /// λ₂ of each component; none for single nodes.
    fn connectivity(&self, py: Python<'_>) -> PyResult<Vec<Option<f64>>> {
        py.detach(|| self.0.connectivity()).map_err(|error| core_error(&error))
    }

    /// How alike neighbours are in a value, from −1 to 1; none if it is constant.
    fn homophily(&self, values: Vec<f64>) -> PyResult<Option<f64>> {
        self.0.homophily(&values).map_err(|error| core_error(&error))
    }

    /// The same network with its nodes in random places.
    fn shuffled(&self, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Shuffle);
        Self(self.0.shuffled(&stream.permutation(self.0.len())))
    }
}
