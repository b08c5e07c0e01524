//! A table that is at hand, split: the rows of each process's nodes in a file of its own.

use std::path::{Path, PathBuf};

use fedgrid::network::Network;
use fedgrid_zenoh::{
    disk::{self, Access},
    provision::Site,
};

use super::refused;
use fedgrid_lab::{
    assembly::Files,
    error::{Error, Result},
    experiment::Experiment,
};

/// Writes the rows of each site to a file, for its owner only; none where the table is not at hand.
pub(super) fn write(
    experiment: &Experiment,
    base: &Path,
    (network, sites): (&Network, &[Site]),
    out: &Path,
) -> Result<Option<PathBuf>> {
    let keys = &experiment.data;
    let files = Files::new(base, experiment);
    if !files.has_rows() {
        return Ok(None);
    }
    let table = files.rows()?;
    let names = table.names_in(&keys.node)?;
    let folder = out.join("rows");
    std::fs::create_dir_all(&folder).map_err(|error| Error::folder(&folder, &error))?;
    for site in sites {
        let mut own: Vec<&str> =
            site.nodes.iter().map(|&node| network.names()[node as usize].as_str()).collect();
        // Tables may have many rows and sites many nodes: each row is looked up by bisection.
        own.sort_unstable();
        let is_own = |row: &usize| own.binary_search(&names[*row].as_str()).is_ok();
        let text = table.csv((0..table.rows()).filter(is_own));
        let path = folder.join(format!("{}.csv", site.name));
        disk::write(&path, text.as_bytes(), Access::Private).map_err(refused)?;
    }
    Ok(Some(folder))
}
