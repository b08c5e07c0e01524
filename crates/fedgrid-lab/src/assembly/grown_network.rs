//! The network of a run with further nodes: by the rule that joined its own, or by edges that are given.

use std::collections::{BTreeMap, BTreeSet};

use fedgrid::network::{Edge, Network};

use super::{
    Graph, NodePlaces,
    graph::{drawn_at, from_shape, in_order},
};
use crate::{
    error::{Error, Result},
    experiment::{ShapeKey, advice},
    source::Table,
};

/// The network that a run has, and how nodes got into it.
#[derive(Debug, Clone)]
pub struct KnownNetwork {
    /// The network.
    pub network: Network,
    /// Where each node is drawn, if that is known.
    pub positions: Option<Vec<(f64, f64)>>,
    /// Where nodes are, if they were joined by that.
    pub places: Option<NodePlaces>,
    /// The shape, if they were joined by one.
    pub shape: Option<ShapeKey>,
}

/// Tables that tell of further nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeTables<'a> {
    /// Where they are.
    pub nodes: Option<&'a Table>,
    /// Their edges.
    pub edges: Option<&'a Table>,
}

/// A network with the nodes that have joined it.
#[derive(Debug, Clone)]
pub struct GrownNetwork {
    /// The network of all nodes.
    pub known: KnownNetwork,
    /// The nodes that are new.
    pub new: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl KnownNetwork {
    /// The graph of it.
    #[must_use]
    pub fn graph(&self) -> Graph {
        Graph { positions: self.positions.clone(), ..Graph::from(self.network.clone()) }
    }

    /// The same with all nodes that rows or tables of nodes name. `rows` is the table that new rows are in, with its column
    /// of nodes.
    pub fn grown(
        &self,
        (rows, column): (&Table, &str),
        tables: NodeTables<'_>,
    ) -> Result<GrownNetwork> {
        let known: BTreeSet<&String> = self.network.names().iter().collect();
        let mut new: BTreeMap<String, usize> = BTreeMap::new();
        for (row, name) in rows.names_in(column)?.into_iter().enumerate() {
            if !known.contains(&name) {
                new.entry(name).or_insert(row);
            }
        }
        let listed = self.listed(tables)?;
        let is_told = tables.nodes.is_some() || tables.edges.is_some();
        let joined = listed.into_iter().filter(|name| !known.contains(name));
        let all: BTreeSet<String> = new.keys().cloned().chain(joined).collect();
        if all.is_empty() {
            let (known, notes) = (self.clone(), unused_tables(is_told));
            return Ok(GrownNetwork { known, new: Vec::new(), notes });
        }
        let new_names: Vec<String> = all.into_iter().collect();
        let missing = |name: &str, remedy: &str| match new.get(name) {
            Some(row) => {
                let near = advice(name, self.network.names().iter().map(String::as_str));
                let found = format!("is '{name}', which is not a node of the run{near}; {remedy}");
                rows.at(*row, column, &found)
            }
            None => Error::input(format!("node '{name}' is not a node of the run; {remedy}")),
        };
        let known = match (tables.edges, tables.nodes, &self.places, self.shape) {
            (Some(edges), ..) => self.by_edges(&new_names, edges, &missing)?,
            (None, Some(nodes), Some(places), _) => {
                self.by_places(&new_names, nodes, places, &missing)?
            }
            (None, _, None, Some(shape)) => self.by_shape(&new_names, shape)?,
            (None, None, Some(_), _) => {
                let remedy = "give its place with --nodes, or its edges with --edges";
                return Err(missing(&new_names[0], remedy));
            }
            (None, _, None, None) => {
                return Err(missing(
                    &new_names[0],
                    "give its edges to nodes of the run with --edges",
                ));
            }
        };
        Ok(GrownNetwork { known, new: new_names, notes: Vec::new() })
    }

    /// The nodes that tables of them name.
    fn listed(&self, tables: NodeTables<'_>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        if let (Some(nodes), Some(places)) = (tables.nodes, &self.places) {
            names.extend(nodes.names_in(&places.node)?);
        }
        if let Some(edges) = tables.edges {
            names.extend(edges.names_in("src")?);
            names.extend(edges.names_in("dst")?);
        }
        Ok(names)
    }

    fn by_places(
        &self,
        new: &[String],
        table: &Table,
        places: &NodePlaces,
        missing: &dyn Fn(&str, &str) -> Error,
    ) -> Result<Self> {
        let names = table.names_in(&places.node)?;
        let columns = places.columns.iter().map(|name| table.numbers(name));
        let columns = columns.collect::<Result<Vec<Vec<f64>>>>()?;
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, name) in names.iter().enumerate() {
            if rows.insert(name, row).is_some() {
                let found = format!("is '{name}', which is listed above, expected each node once");
                return Err(table.at(row, &places.node, &found));
            }
        }
        let mut further = Vec::new();
        for name in new {
            let Some(&row) = rows.get(name.as_str()) else {
                let remedy = format!("it has no place in {}, expected a row of it", table.source);
                return Err(missing(name, &remedy));
            };
            further.push((name.clone(), columns.iter().map(|column| column[row]).collect()));
        }
        let (network, grown) = places.places.grown(&places.nodes, &further)?;
        let nodes = network.names().to_vec();
        let places = Some(NodePlaces { nodes, places: grown, ..places.clone() });
        let positions = self.drawn(network.names(), (table, &rows));
        Ok(Self { network, positions, places, shape: None })
    }

    fn by_edges(
        &self,
        new: &[String],
        table: &Table,
        missing: &dyn Fn(&str, &str) -> Error,
    ) -> Result<Self> {
        let mut names = self.network.names().to_vec();
        names.extend_from_slice(new);
        let names = in_order(&names);
        let ids: BTreeMap<&str, usize> =
            names.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
        let old = self.network.names();
        let mut edges: Vec<Edge> = self.network.edges().to_vec();
        for edge in &mut edges {
            (edge.source, edge.target) =
                (ids[old[edge.source].as_str()], ids[old[edge.target].as_str()]);
        }
        let ends = [table.names_in("src")?, table.names_in("dst")?];
        let weights = if table.has("weight") { Some(table.numbers("weight")?) } else { None };
        let (mut seen, mut reached) = (BTreeSet::new(), BTreeSet::new());
        for row in 0..table.rows() {
            let [source, target] = [0, 1].map(|end| ids[ends[end][row].as_str()]);
            let weight = weights.as_ref().map_or(1.0, |weights| weights[row]);
            let is_known = |id: usize| !new.contains(&names[id]);
            // Edges of the run stay as they are.
            if is_known(source) && is_known(target) {
                continue;
            }
            if source == target {
                let found =
                    format!("is '{}', the same node as src, expected another", names[target]);
                return Err(table.at(row, "dst", &found));
            }
            if weight <= 0.0 {
                let found = format!("is {weight}, expected a positive number");
                return Err(table.at(row, "weight", &found));
            }
            if !seen.insert((source.min(target), source.max(target))) {
                let found = format!("is '{}' once more, expected each edge once", names[target]);
                return Err(table.at(row, "dst", &found));
            }
            reached.extend([source, target]);
            edges.push(Edge { source, target, weight });
        }
        if let Some(name) = new.iter().find(|name| !reached.contains(&ids[name.as_str()])) {
            let remedy = format!("it has no edge in {}, expected one", table.source);
            return Err(missing(name, &remedy));
        }
        Ok(Self {
            network: Network::new(names, edges)?,
            positions: None,
            places: None,
            shape: None,
        })
    }

    fn by_shape(&self, new: &[String], shape: ShapeKey) -> Result<Self> {
        let mut names = self.network.names().to_vec();
        names.extend_from_slice(new);
        let network = from_shape(in_order(&names), shape)?;
        Ok(Self { network, positions: None, places: None, shape: Some(shape) })
    }

    /// Where all nodes are drawn; none if that is not known of one.
    fn drawn(
        &self,
        names: &[String],
        (table, rows): (&Table, &BTreeMap<&str, usize>),
    ) -> Option<Vec<(f64, f64)>> {
        let old = self.positions.as_ref()?;
        let known: BTreeMap<&str, (f64, f64)> =
            self.network.names().iter().map(String::as_str).zip(old.iter().copied()).collect();
        let further = drawn_at(table)?;
        let at = |name: &String| {
            let name = name.as_str();
            known.get(name).copied().or_else(|| further.get(*rows.get(name)?).copied())
        };
        names.iter().map(at).collect()
    }
}

/// Tables of nodes that name no new node are not used, which is said.
fn unused_tables(is_told: bool) -> Vec<String> {
    let sentence = "All nodes are known to the run, so that its network stays as it is.";
    is_told.then(|| sentence.to_string()).into_iter().collect()
}
