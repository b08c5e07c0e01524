//! `fedgrid network`: build a network, learn one from rows, or show one in numbers.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use fedgrid::{
    bound::{Cohesion, Sampling, cohesion, sampling},
    network::{Network, Statistics},
};
use serde_json::json;
use toml::{Table as Keys, Value};

use super::flags::NetworkFlags;
use crate::terminal::{Terminal, print};
use fedgrid_lab::{
    assembly::{Files, Graph, edges_csv},
    error::{Error, Result},
    experiment::Experiment,
    number::{perhaps, significant},
    run::to_json_pretty,
};

/// The commands about networks.
#[derive(Debug, Subcommand)]
pub(super) enum NetworkCommand {
    /// Write the edges of a network as CSV.
    #[command(after_help = "Example:
  fedgrid network build --nodes stations.csv --node station --nearest 8 \\
      --coordinates lon=85,lat=111,elevation_m=0.25 --out edges.csv")]
    Build(Build),
    /// Learn from rows alone who helps whom, and write the edges as CSV.
    #[command(after_help = "Examples:
  fedgrid network learn readings.csv --node station --target tmax --split split \\
      --features sin1,cos1,sin2,cos2 --out edges.csv
  fedgrid network learn examples/colorado/colorado.toml --share 0.05")]
    Learn(Box<super::network_learn::Learn>),
    /// Show a network in numbers: components, degrees, connectivity, homophily, clusters.
    #[command(after_help = "Examples:
  fedgrid network show examples/colorado/colorado.toml --value elevation_m
  fedgrid network show --edges edges.csv --nodes nodes.csv --node id --cluster region
  fedgrid network show --edges edges.csv")]
    Show(Show),
}

#[derive(Debug, Args)]
pub(super) struct Build {
    #[command(flatten)]
    from: From,

    /// Where to write the edges; by default standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    from: From,

    /// Columns of the node table whose likeness between neighbours is measured.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    value: Vec<String>,

    /// A column of the node table that says which cluster each node is in. With an experiment whose rows are
    /// at hand, condition (17) of total variation is checked: whether the nodes with rows hold these apart.
    #[arg(long, value_name = "COLUMN")]
    cluster: Option<String>,
}

/// Where a network comes from.
#[derive(Debug, Args)]
struct From {
    /// An experiment file, whose network is meant.
    experiment: Option<PathBuf>,

    #[command(flatten)]
    network: NetworkFlags,
}

impl NetworkCommand {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        match self {
            Self::Build(build) => build.run(terminal),
            Self::Learn(learn) => learn.run(terminal),
            Self::Show(show) => show.run(terminal),
        }
    }
}

impl From {
    fn experiment(&self) -> Result<(Experiment, PathBuf)> {
        let (mut table, base, source) = Experiment::opened(self.experiment.as_deref())?;
        self.network.apply(&mut table, &base);
        // A network can be had without a table of rows; then these keys are never read.
        let data = table.entry("data").or_insert_with(|| Value::Table(Keys::new()));
        if let Some(data) = data.as_table_mut() {
            for key in ["file", "node", "target"] {
                let default = Value::String(if key == "node" { key.into() } else { String::new() });
                data.entry(key).or_insert(default);
            }
        }
        Ok((Experiment::from_table(table, &source)?, base))
    }

    fn graph(&self) -> Result<Graph> {
        let (experiment, base) = self.experiment()?;
        if experiment.network.needs_rows() {
            return Err(Error::input(
                "this network is made from rows; write it with fedgrid network learn, and give its \
                 --edges",
            ));
        }
        let files = Files::new(&base, &experiment);
        // Names of nodes come from the rows only if no other table has them.
        let wants_rows = experiment.network.file.is_none() && experiment.network.edges.is_none();
        let has_file = !experiment.data.file.is_empty();
        let data = if wants_rows && has_file { Some(files.rows()?) } else { None };
        Graph::new(&experiment, files, data.as_ref())
    }
}

impl Build {
    fn run(self, terminal: Terminal) -> Result<()> {
        let graph = self.from.graph()?;
        let text = edges_csv(&graph.network, None);
        let count = graph.network.edges().len();
        if let Some(path) = &self.out {
            refuse_existing(path, self.force)?;
            std::fs::write(path, &text).map_err(|error| Error::file("write", path, &error))?;
            terminal.say(&format!("{count} edges in {}", path.display()));
        } else if !terminal.json {
            // What was asked for, which --quiet does not silence.
            print(text.trim_end());
        }
        terminal.give(&to_json_pretty(&json!({ "nodes": graph.network.len(), "edges": count })));
        Ok(())
    }
}

/// Refuses to replace a file unless asked to.
pub(super) fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if path.exists() && !force {
        let sentence = format!("'{}' exists: replace it with --force", path.display());
        return Err(Error::input(sentence));
    }
    Ok(())
}

impl Show {
    fn run(self, terminal: Terminal) -> Result<()> {
        let Graph { network, nodes, .. } = &self.from.graph()?;
        let statistics = network.statistics();
        let connectivity = network.connectivity()?;
        let needs_table = |flag: &str| Error::input(format!("{flag} needs a node table (--nodes)"));
        let mut homophily = serde_json::Map::new();
        for column in &self.value {
            let table = nodes.as_ref().ok_or_else(|| needs_table(&format!("--value {column}")))?;
            let value = network.homophily(&table.numbers(column)?)?;
            homophily.insert(column.clone(), json!(value));
        }
        let (clusters, condition) = match &self.cluster {
            Some(column) => {
                let flag = format!("--cluster {column}");
                let table = nodes.as_ref().ok_or_else(|| needs_table(&flag))?;
                let (names, numbers) = numbered(&table.names_in(column)?);
                let found = cohesion(network, &numbers)?;
                let named =
                    found.into_iter().map(|one| (names[one.cluster].clone(), one)).collect();
                (named, self.condition(network, &numbers)?)
            }
            None => (Vec::new(), None),
        };
        let mut lines = component_lines(network, &statistics, &connectivity);
        for (column, value) in &homophily {
            let value = perhaps(value.as_f64());
            lines.push(format!("homophily   {value} of {column} (1 alike, 0 by chance)"));
        }
        lines.extend(cluster_lines(&clusters));
        lines.extend(condition.as_ref().map(condition_line));
        terminal.say(&lines.join("\n"));
        let names = network.names();
        terminal.give(&to_json_pretty(&json!({
            "nodes": network.len(),
            "edges": network.edges().len(),
            "components": statistics.sizes.iter().zip(&connectivity)
                .map(|(size, lambda2)| json!({ "nodes": size, "lambda2": lambda2 }))
                .collect::<Vec<_>>(),
            "degrees": statistics.degrees.as_ref().map(|d| json!({
                "min": d.min, "median": d.median, "mean": d.mean, "max": d.max
            })),
            "isolated": statistics.isolated.iter().map(|&node| &names[node]).collect::<Vec<_>>(),
            "homophily": homophily,
            "clusters": cluster_values(&clusters),
            "condition_17": condition.map(|found| json!({
                "between": found.between,
                "largest": found.largest,
                "constants": found.constants.map(|(l, k)| json!({ "L": l, "K": k })),
                "warnings": found.warnings,
            })),
        })));
        Ok(())
    }

    /// Condition (17) for these clusters; none without the rows of an experiment.
    fn condition(&self, network: &Network, clusters: &[usize]) -> Result<Option<Sampling>> {
        let (experiment, base) = self.from.experiment()?;
        let files = Files::new(&base, &experiment);
        if !files.has_rows() {
            return Ok(None);
        }
        let mut with_rows = files.rows()?.names_in(&experiment.data.node)?;
        // Sorted for one search per node: a table may have many more rows than the network has nodes.
        with_rows.sort_unstable();
        let labelled = network.names().iter().map(|name| with_rows.binary_search(name).is_ok());
        Ok(Some(sampling(network, clusters, &labelled.collect::<Vec<_>>())?))
    }
}

/// What a reader is told of condition (17).
fn condition_line(found: &Sampling) -> String {
    let says = match (found.constants, found.warnings.first()) {
        (Some((l, k)), _) => {
            let [l, k] = [l, k].map(significant);
            format!("(17) holds with L = {l}, K = {k}: nodes with rows hold the clusters apart")
        }
        (None, Some(warning)) => warning.trim_start_matches("condition ").to_string(),
        (None, None) => "(17) holds with any L".into(),
    };
    format!("condition   {says}")
}

fn component_lines(
    network: &Network,
    statistics: &Statistics,
    connectivity: &[Option<f64>],
) -> Vec<String> {
    let mut lines = vec![
        format!("nodes       {}", network.len()),
        format!("edges       {}", network.edges().len()),
    ];
    if let Some(d) = &statistics.degrees {
        let [min, median, mean, max] = [d.min, d.median, d.mean, d.max].map(significant);
        lines.push(format!("degree      {min} to {max}, median {median}, mean {mean} (weighted)"));
    }
    lines.push(format!("components  {}", statistics.sizes.len()));
    for (size, lambda2) in statistics.sizes.iter().zip(connectivity).take(LISTED_GROUPS) {
        let lambda2 = perhaps(*lambda2);
        lines.push(format!("            {size} nodes, λ₂ = {lambda2}"));
    }
    lines.extend(and_more(statistics.sizes.len()));
    lines.push(format!("isolated    {}", statistics.isolated.len()));
    lines
}

/// How many components or clusters are printed one by one: a screen is to hold the rest, too.
const LISTED_GROUPS: usize = 10;

fn and_more(count: usize) -> Option<String> {
    (count > LISTED_GROUPS).then(|| format!("            and {} more", count - LISTED_GROUPS))
}

/// Different names in order, and the number of each of the given ones among them.
fn numbered(names: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut known = names.to_vec();
    known.sort_unstable();
    known.dedup();
    let number = |name: &String| known.binary_search(name).expect("all names are known");
    let numbers = names.iter().map(number).collect();
    (known, numbers)
}

/// Clusters as they stand in JSON.
fn cluster_values(clusters: &[(String, Cohesion)]) -> Vec<serde_json::Value> {
    let value = |(name, cluster): &(String, Cohesion)| {
        json!({
            "name": name,
            "nodes": cluster.nodes,
            "pieces": cluster.pieces,
            "lambda2": cluster.lambda2,
            "inside": cluster.inside,
            "outside": cluster.outside,
        })
    };
    clusters.iter().map(value).collect()
}

fn cluster_lines(clusters: &[(String, Cohesion)]) -> Vec<String> {
    if clusters.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("clusters    {}", clusters.len())];
    for (name, cluster) in clusters.iter().take(LISTED_GROUPS) {
        let [inside, outside] = [cluster.inside, cluster.outside].map(significant);
        let lambda2 = perhaps(cluster.lambda2);
        let pieces = match cluster.pieces {
            1 => String::new(),
            pieces => format!(", in {pieces} pieces"),
        };
        lines.push(format!(
            "            {name}: {} nodes, λ₂ = {lambda2}{pieces}, weight {inside} inside, {outside} to others",
            cluster.nodes
        ));
    }
    lines.extend(and_more(clusters.len()));
    lines
}
