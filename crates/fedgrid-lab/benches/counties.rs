//! A mixed model of `covid_counties` along its network, with the errors of all coefficients: seconds and
//! memory. Without the folder of datasets (`FEDGRID_DATA`) it says so and is left out.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the files number nodes from zero on"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

#[path = "../../fedgrid/benches/mixed/resources.rs"]
mod resources;

use fedgrid::{
    data::{Dataset, Features, Labels},
    mixed::{Design, Likelihood, MixedModel, NodeMoments, Precision},
    network::{Edge, Network},
};
use fedgrid_lab::{Result, source::Table};

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    let root = std::env::var_os("FEDGRID_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = root.join("covid_counties");
    if fs::metadata(&folder).is_err() {
        println!("skipped: covid_counties needs the folder of datasets, set FEDGRID_DATA");
        return;
    }
    println!("{}", measured(&folder).expect("the files of covid_counties are as they were"));
}

fn measured(folder: &Path) -> Result<String> {
    let (network, rows) = (network(folder)?, training_rows(folder)?);
    let timer = resources::Timer::start();
    let design = Design::new(&rows, true)?;
    let nodes: Vec<NodeMoments> = rows.iter().map(|data| design.moments(data)).collect();
    let random: Vec<usize> = (0..design.columns()).collect();
    let model = MixedModel {
        nodes: &nodes,
        columns: design.columns(),
        fixed: design.fixed(),
        random: &random,
        variances: &[],
        free: 0,
        correlated: false,
        likelihood: Likelihood::Restricted,
        precision: &Precision::along(&network),
        rho: None,
        factor: None,
    };
    let found = model.fit()?;
    Ok(format!(
        "covid_counties, {} nodes, {} edges, {} coefficients: {}, {} evaluations, ρ {:.4} (the goal is 10 s and 2 GiB)",
        network.len(),
        network.edges().len(),
        design.columns(),
        timer.report(),
        found.evaluations,
        found.rho
    ))
}

fn network(folder: &Path) -> Result<Network> {
    let (nodes, edges) =
        (Table::from_file(&folder.join("nodes.csv"), ',')?, folder.join("edges.csv"));
    let edges = Table::from_file(&edges, ',')?;
    let ends = edges.numbers("src")?.into_iter().zip(edges.numbers("dst")?);
    let weights = edges.numbers("weight")?;
    let edge = |((source, target), weight): ((f64, f64), f64)| Edge {
        source: source as usize,
        target: target as usize,
        weight,
    };
    Ok(Network::new(nodes.text("node")?, ends.zip(weights).map(edge))?)
}

/// The training rows of every node.
fn training_rows(folder: &Path) -> Result<Vec<Dataset>> {
    let table = Table::from_file(&folder.join("data.parquet"), ',')?;
    let names: Arc<[String]> = (1..=16).map(|number| format!("c{number:02}")).collect();
    let columns: Vec<Vec<f64>> =
        names.iter().map(|name| table.numbers(name)).collect::<Result<_>>()?;
    let (labels, split) = (table.numbers("y")?, table.text("split")?);
    let mut rows: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for (row, node) in table.numbers("node")?.into_iter().enumerate() {
        rows.resize(rows.len().max(node as usize + 1), Default::default());
        if split[row] == "train" {
            let own = &mut rows[node as usize];
            own.0.extend(columns.iter().map(|column| column[row]));
            own.1.push(labels[row]);
        }
    }
    let dataset = |(values, labels): (Vec<f64>, Vec<f64>)| -> Result<Dataset> {
        Ok(Dataset::new(Features::new(names.clone(), values)?, Labels::values(labels))?)
    };
    rows.into_iter().map(dataset).collect()
}
