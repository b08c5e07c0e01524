//! The tables of a finished run, where they can still be found.

use std::path::{Path, PathBuf};

use fedgrid::compare::Unwatched;

use crate::{
    assembly::{Assembly, Rolling},
    error::Result,
    experiment::Experiment,
};

/// The study of a run, from the tables that its experiment names.
pub(super) fn assembly(folder: &Path) -> Result<Assembly> {
    let (experiment, base) = stored_experiment(folder)?;
    let rolling = Rolling::new(&experiment, &base)?;
    rolling.assembly(rolling.count() - 1, &Unwatched)
}

/// The experiment of a run folder, with the network that was learned or chosen, and where its files are.
pub(crate) fn stored_experiment(folder: &Path) -> Result<(Experiment, PathBuf)> {
    let (mut table, base, source) = Experiment::opened(Some(&folder.join("experiment.toml")))?;
    // A network that was learned or chosen is there already.
    if folder.join("edges.csv").exists()
        && let Some(toml::Value::Table(network)) = table.get_mut("network")
    {
        let others = ["nearest", "coordinates", "shape", "learn", "candidates", "edges_format"];
        network.retain(|key, _| !others.contains(&key));
        network.insert("edges".into(), "edges.csv".into());
    }
    Ok((Experiment::from_table(table, &source)?, base))
}
