//! The network of an experiment.

use std::collections::{BTreeMap, BTreeSet};

use fedgrid::{
    data::by_name,
    network::{self, Edge, Nearest, Network},
};

use super::Files;
use crate::{
    error::{Error, Result},
    experiment::{CandidateKey, Experiment, NetworkKeys, ShapeKey, advice},
    source::Table,
};

/// A network with where its nodes are drawn.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The network.
    pub network: Network,
    /// Where each node is drawn, x to the right and y upwards, if that is known.
    pub positions: Option<Vec<(f64, f64)>>,
    /// What people call each node, where columns of its table say so.
    pub labels: Option<Vec<String>>,
    /// The cluster of each node, where a method is to be told.
    pub clusters: Option<Vec<usize>>,
    /// A hash of the files it came from.
    pub fingerprint: u64,
    /// What is unusual about these files, a line each.
    pub described: Vec<String>,
    /// What else is known of the nodes, if there is a table of them.
    pub nodes: Option<NodeTable>,
}

impl Graph {
    /// The network of an experiment; `data` names the nodes where no file does.
    pub fn new(experiment: &Experiment, files: Files, data: Option<&Table>) -> Result<Self> {
        let keys = &experiment.network;
        let column = keys.node.as_ref().unwrap_or(&experiment.data.node);
        let nodes = files.nodes()?.map(|table| NodeTable::new(table, column)).transpose()?;
        let edges = files.edges()?;
        let names = match (&nodes, &edges, data) {
            // The table of nodes goes first: it may list nodes without an edge or a row.
            (Some(nodes), ..) => nodes.names.clone(),
            (None, Some(edges), _) => ends(edges)?,
            (None, None, Some(data)) => {
                let names = data.distinct_names(&experiment.data.node)?;
                in_order(&names.into_iter().collect::<Vec<_>>())
            }
            (None, None, None) => {
                return Err(Error::input("a shape needs nodes; give network.file, or --nodes"));
            }
        };
        let given = keys.choices().into_iter().find(|key| !key.is_from_rows());
        let network = match given {
            Some(key) => made(keys, key, names, (nodes.as_ref(), edges.as_ref()))?,
            // Who is whose neighbour is learned when the rows are known.
            None => Network::new(names, [])?,
        };
        let tables = || nodes.iter().map(|nodes| &nodes.table).chain(&edges);
        // Rotated, so that two equal files do not cancel each other, and none can take the place of the other.
        let joined = |hash: u64, table: &Table| hash.rotate_left(1) ^ table.fingerprint;
        Ok(Self {
            positions: nodes.as_ref().and_then(NodeTable::positions),
            labels: labels(keys, nodes.as_ref())?,
            clusters: clusters(experiment, nodes.as_ref())?,
            fingerprint: tables().fold(0, joined),
            described: tables().flat_map(|table| table.described.clone()).collect(),
            network,
            nodes,
        })
    }
}

/// A table with one row per node, whose columns are read in the order of the nodes: that of its rows means nothing.
#[derive(Debug, Clone)]
pub struct NodeTable {
    // Nobody else has it, so that no column is taken in the order of the file.
    table: Table,
    /// The nodes by name.
    names: Vec<String>,
    /// The row of each of them.
    rows: Vec<usize>,
}

impl NodeTable {
    fn new(table: Table, column: &str) -> Result<Self> {
        let listed = unique(&table, column)?;
        let rows = by_name(&listed);
        let names = rows.iter().map(|&row| listed[row].clone()).collect();
        Ok(Self { table, names, rows })
    }

    /// A column of numbers, one for each node of the network.
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>> {
        Ok(self.by_node(&self.table.numbers(column)?))
    }

    /// A column of names, one for each node of the network.
    pub fn names_in(&self, column: &str) -> Result<Vec<String>> {
        Ok(self.by_node(&self.table.names_in(column)?))
    }

    /// The cells of a column as they are written, one for each node of the network; gaps are empty.
    fn texts_in(&self, column: &str) -> Result<Vec<String>> {
        let cells = self.table.column(column)?;
        let text = |&row: &usize| {
            if cells.is_gap(row) { String::new() } else { cells.cell(row).trim().to_string() }
        };
        Ok(self.rows.iter().map(text).collect())
    }

    /// What each row has, in the order of the nodes.
    fn by_node<T: Clone>(&self, of_rows: &[T]) -> Vec<T> {
        self.rows.iter().map(|&row| of_rows[row].clone()).collect()
    }

    fn positions(&self) -> Option<Vec<(f64, f64)>> {
        drawn_at(&self.table).map(|positions| self.by_node(&positions))
    }
}

/// Where the rows of a table are drawn, by columns that are called like coordinates: in degrees, or else in a plane.
pub(super) fn drawn_at(table: &Table) -> Option<Vec<(f64, f64)>> {
    let column = |names: &[&str]| {
        let mut all = table.names();
        let name = all.find(|name| names.contains(&name.to_lowercase().as_str()))?;
        table.numbers(name).ok()
    };
    let pair = |x: &[&str], y: &[&str]| column(x).zip(column(y));
    if let Some((x, y)) = pair(&["lon", "lng", "long", "longitude"], &["lat", "latitude"]) {
        // A degree of longitude shrinks towards the poles.
        let narrow = (y.iter().sum::<f64>() / y.len() as f64).to_radians().cos();
        return Some(x.iter().zip(y).map(|(x, y)| (x * narrow, y)).collect());
    }
    let (x, y) = pair(&["x", "easting"], &["y", "northing"])?;
    Some(x.into_iter().zip(y).collect())
}

impl From<Network> for Graph {
    /// A network of which nothing else is known.
    fn from(network: Network) -> Self {
        Self {
            network,
            positions: None,
            labels: None,
            clusters: None,
            fingerprint: 0,
            described: Vec::new(),
            nodes: None,
        }
    }
}

/// What people call each node: the cells of some columns, as far as they are not empty.
fn labels(keys: &NetworkKeys, nodes: Option<&NodeTable>) -> Result<Option<Vec<String>>> {
    if keys.label.is_empty() {
        return Ok(None);
    }
    let Some(nodes) = nodes else {
        return Err(Error::input(
            "network.label names columns of the table of nodes, and there is none; give network.file, or --nodes",
        ));
    };
    let columns = keys.label.iter().map(|column| nodes.texts_in(column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let label = |node: usize| {
        let cells = columns.iter().map(|cells| cells[node].as_str());
        cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ")
    };
    Ok(Some((0..nodes.names.len()).map(label).collect()))
}

/// The clusters that PersFL's oracle is told: a column of the table of nodes.
fn clusters(experiment: &Experiment, nodes: Option<&NodeTable>) -> Result<Option<Vec<usize>>> {
    let Some(column) = experiment.method.approach.cluster_column() else { return Ok(None) };
    let Some(nodes) = nodes else {
        return Err(Error::input(
            "method.clusters is a column of network.file, expected such a file",
        ));
    };
    let names = nodes.names_in(column)?;
    let known = sorted(&names);
    let index = |name: &String| known.iter().position(|known| known == name);
    Ok(names.iter().map(index).collect())
}

/// A network that an experiment gives besides others, over the same nodes.
pub(super) fn given(
    experiment: &Experiment,
    files: Files,
    key: CandidateKey,
    names: Vec<String>,
) -> Result<Network> {
    let keys = &experiment.network;
    let column = keys.node.as_ref().unwrap_or(&experiment.data.node);
    let (nodes, edges) = match key {
        CandidateKey::Coordinates => {
            (files.nodes()?.map(|table| NodeTable::new(table, column)).transpose()?, None)
        }
        CandidateKey::Edges => (None, files.edges()?),
        _ => (None, None),
    };
    made(keys, key, names, (nodes.as_ref(), edges.as_ref()))
}

fn made(
    keys: &NetworkKeys,
    key: CandidateKey,
    names: Vec<String>,
    tables: (Option<&NodeTable>, Option<&Table>),
) -> Result<Network> {
    match (key, tables, keys.nearest, keys.shape) {
        (CandidateKey::Edges, (_, Some(edges)), ..) => from_edges(names, edges),
        (CandidateKey::Coordinates, (Some(nodes), _), Some(nearest), _) => {
            from_coordinates(names, keys, nearest, nodes)
        }
        (CandidateKey::Shape, _, _, Some(shape)) => from_shape(names, shape),
        _ => unreachable!("an experiment's network was checked when it was read"),
    }
}

/// The names in a column of a node table, each once.
fn unique(table: &Table, column: &str) -> Result<Vec<String>> {
    let names = table.names_in(column)?;
    let mut seen = BTreeSet::new();
    for (row, name) in names.iter().enumerate() {
        if !seen.insert(name) {
            return Err(table.at(
                row,
                column,
                &format!("is '{name}', which is listed above, expected each node once"),
            ));
        }
    }
    Ok(names)
}

/// Different names in order: numbers by size, text by letters.
fn sorted(names: &[String]) -> Vec<String> {
    let distinct: BTreeSet<&String> = names.iter().collect();
    in_order(&distinct.into_iter().cloned().collect::<Vec<_>>())
}

pub(super) fn in_order(distinct: &[String]) -> Vec<String> {
    by_name(distinct).into_iter().map(|at| distinct[at].clone()).collect()
}

fn ends(edges: &Table) -> Result<Vec<String>> {
    let mut names = edges.names_in("src")?;
    names.extend(edges.names_in("dst")?);
    Ok(sorted(&names))
}

fn from_edges(names: Vec<String>, table: &Table) -> Result<Network> {
    let (sources, targets) = (table.names_in("src")?, table.names_in("dst")?);
    let weights = if table.has("weight") { Some(table.numbers("weight")?) } else { None };
    let ids: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let id = |column: &str, row: usize, name: &String| {
        ids.get(name.as_str()).copied().ok_or_else(|| {
            let advice = advice(name, names.iter().map(String::as_str));
            table.at(
                row,
                column,
                &format!("is '{name}', which is not a node of the network{advice}"),
            )
        })
    };
    let mut seen = BTreeMap::new();
    let mut edges = Vec::with_capacity(table.rows());
    for row in 0..table.rows() {
        let source = id("src", row, &sources[row])?;
        let target = id("dst", row, &targets[row])?;
        let weight = weights.as_ref().map_or(1.0, |weights| weights[row]);
        if source == target {
            let found = format!("is '{}', the same node as src, expected another", targets[row]);
            return Err(table.at(row, "dst", &found));
        }
        if weight <= 0.0 {
            return Err(table.at(
                row,
                "weight",
                &format!("is {weight}, expected a positive number"),
            ));
        }
        // Edges have no direction: a line with its ends swapped is the same edge.
        if let Some(first) = seen.insert((source.min(target), source.max(target)), row + 1) {
            return Err(Error::input(format!(
                "{}: row {} repeats the edge {} – {} of row {first}, expected each once",
                table.source,
                row + 1,
                sources[row],
                targets[row]
            )));
        }
        edges.push(Edge { source, target, weight });
    }
    Ok(Network::new(names, edges)?)
}

fn from_coordinates(
    names: Vec<String>,
    keys: &NetworkKeys,
    neighbours: usize,
    nodes: &NodeTable,
) -> Result<Network> {
    let (nearest, coordinates) = placed(keys, neighbours, (&names, nodes))?;
    Ok(nearest.make(names, &coordinates)?)
}

/// The rule that joins nodes by their coordinates, and these, row by row.
pub(super) fn placed(
    keys: &NetworkKeys,
    neighbours: usize,
    (names, nodes): (&[String], &NodeTable),
) -> Result<(Nearest, Vec<f64>)> {
    let columns =
        keys.coordinates.keys().map(|name| nodes.numbers(name)).collect::<Result<Vec<_>>>()?;
    let coordinates: Vec<f64> =
        (0..names.len()).flat_map(|node| columns.iter().map(move |column| column[node])).collect();
    let scales = keys.coordinates.values().copied().collect();
    Ok((Nearest { neighbours, scales, floor: keys.floor }, coordinates))
}

pub(super) fn from_shape(names: Vec<String>, shape: ShapeKey) -> Result<Network> {
    let made = match shape {
        ShapeKey::None => return Ok(Network::new(names, [])?),
        ShapeKey::Complete => network::complete(names.len()),
        ShapeKey::Ring => network::ring(names.len()),
        ShapeKey::Path => network::path(names.len()),
        ShapeKey::Star => network::star(names.len()),
    };
    let made = made.map_err(|error| match error {
        // The core names its own argument, a reader knows the key.
        fedgrid::Error::Parameter { value, expected, .. } => {
            Error::input(format!("network.shape needs {expected} nodes, found {value}"))
        }
        other => other.into(),
    })?;
    Ok(Network::new(names, made.edges().iter().copied())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph of a table of nodes and a table of edges.
    fn graph(nodes: &str, edges: &str) -> Graph {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("nodes.csv"), nodes).unwrap();
        std::fs::write(folder.path().join("edges.csv"), edges).unwrap();
        let text = "[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\n[network]\n\
            file = \"nodes.csv\"\nedges = \"edges.csv\"\n";
        let keys = Experiment::table_from_text(text, "e.toml").unwrap();
        let experiment = Experiment::from_table(keys, "e.toml").unwrap();
        Graph::new(&experiment, Files::new(folder.path(), &experiment), None).unwrap()
    }

    #[test]
    fn only_longitude_and_latitude_are_degrees() {
        let edges = "src,dst\na,b\n";
        let drawn =
            |header: &str| graph(&format!("node,{header}\na,2,60,9\nb,4,60,9\n"), edges).positions;
        let plane = Some(vec![(2.0, 60.0), (4.0, 60.0)]);
        // At a latitude of 60 degrees a degree of longitude is half as long as one of latitude.
        let is_halved = |positions: Option<Vec<(f64, f64)>>| {
            let found: Vec<f64> =
                positions.unwrap().into_iter().flat_map(|(x, y)| [x, y]).collect();
            found.iter().zip([1.0, 60.0, 2.0, 60.0]).all(|(x, half)| (x - half).abs() < 1e-12)
        };
        for plain in ["x,y,latency", "x,y,lat", "Easting,NORTHING,latitude_error"] {
            assert_eq!(drawn(plain), plane, "{plain}");
        }
        for degrees in ["lon,lat,x", "lng,Latitude,y", "LONG,LAT,latency", "longitude,latitude,z"] {
            assert!(is_halved(drawn(degrees)), "{degrees}");
        }
        assert_eq!(drawn("x,height,y"), Some(vec![(2.0, 9.0), (4.0, 9.0)]));
        assert_eq!(drawn("longing,latency,z"), None);
    }

    #[test]
    fn every_file_of_a_network_tells_in_its_fingerprint() {
        // Two tables, each of which has nodes and edges.
        let one = "node,src,dst\na,a,b\nb,b,c\nc,c,a\n";
        let other = "node,src,dst\na,b,a\nb,b,c\nc,c,a\n";
        let pairs = [(one, one), (one, other), (other, one), (other, other)];
        let mut all: Vec<u64> =
            pairs.iter().map(|(nodes, edges)| graph(nodes, edges).fingerprint).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }
}
