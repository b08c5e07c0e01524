//! What a site agrees to share: errors and counts of rows per node, signed with the site's key.
//!
//! ```text
//! fedgrid-share 3 <signature>
//! { "site": …, "run": …, "measured_on": …, "nodes": [ { "name", "rows", "local", "network" } … ], "federation": … }
//! ```

use std::path::PathBuf;

use fedgrid_zenoh::{
    identity::{Hex, SigningKey},
    manifest::Manifest,
    signed_text,
    site_bundle::SiteBundle,
};
use serde::{Deserialize, Serialize};

use fedgrid_lab::{
    error::{Error, Result},
    outcome::{FederationOutcome, Measured, Outcome},
};

const KIND: &str = "fedgrid-share 3";

/// A site's metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SharedMetrics {
    pub(super) site: String,
    pub(super) run: Hex<16>,
    pub(super) metric: String,
    /// Which rows both errors of every node are measured on; those on training rows show no gain.
    pub(super) measured_on: Option<Measured>,
    pub(super) rounds: usize,
    pub(super) bytes: usize,
    pub(super) converged: bool,
    pub(super) nodes: Vec<SharedNode>,
    /// What all sites have found together, and the errors of this site's nodes on their test rows; none where they have
    /// not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) federation: Option<FederationOutcome>,
}

/// A node's metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SharedNode {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) local: Option<f64>,
    pub(super) network: Option<f64>,
}

/// The signed text of a site's metrics.
pub(super) fn signed(bundle: &SiteBundle, outcome: &Outcome) -> String {
    let node = |node: &fedgrid_lab::outcome::NodeOutcome| SharedNode {
        name: node.name.clone(),
        rows: node.rows,
        local: node.local,
        network: node.network,
    };
    let shared = SharedMetrics {
        site: bundle.name().to_string(),
        run: bundle.manifest.run,
        metric: outcome.metric.clone(),
        measured_on: outcome.at_site,
        rounds: outcome.rounds,
        bytes: outcome.bytes,
        converged: outcome.certificate.converged,
        nodes: outcome.nodes.iter().map(node).collect(),
        federation: outcome.federation.clone(),
    };
    let body = serde_json::to_string(&shared).expect("metrics are plain values");
    let key: &SigningKey = &bundle.key;
    signed_text::sign(KIND, &body, key)
}

/// The metrics of several sites of a project from their files; no two are of one site.
pub(super) fn all_of(files: &[PathBuf], manifest: &Manifest) -> Result<Vec<SharedMetrics>> {
    let mut all: Vec<SharedMetrics> = Vec::new();
    for (index, path) in files.iter().enumerate() {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
        let shared = verified(&text, manifest, &path.display().to_string())?;
        let site = |other: &SharedMetrics| other.site == shared.site;
        // Two files of one site would count its nodes twice.
        if let Some(first) = all[..index].iter().position(site) {
            return Err(Error::input(format!(
                "{}: is of '{}', as {} is, expected one file of each site",
                path.display(),
                shared.site,
                files[first].display()
            )));
        }
        all.push(shared);
    }
    Ok(all)
}

/// The members of a project that have no file among these.
pub(super) fn missing<'a>(all: &[SharedMetrics], manifest: &'a Manifest) -> Vec<&'a str> {
    let members = manifest.processes.iter().filter(|process| process.key.is_some());
    let is_missing = |name: &&str| all.iter().all(|shared| shared.site != *name);
    members.map(|process| process.name.as_str()).filter(is_missing).collect()
}

/// A site's metrics from their text, if a site of the manifest signed them for its run.
pub(super) fn verified(text: &str, manifest: &Manifest, source: &str) -> Result<SharedMetrics> {
    let wrong = |found: &str| Error::input(format!("{source}: {found}"));
    let body =
        signed_text::body(KIND, text).ok_or_else(|| wrong("is no file of shared metrics"))?;
    // Read before it is verified, but only to know by whose key.
    let shared: SharedMetrics = serde_json::from_str(body).map_err(|_| wrong("is damaged"))?;
    let index = manifest.index_of(&shared.site);
    let key = index.and_then(|index| manifest.key_of(index));
    let key = key.ok_or_else(|| wrong(&format!("is of '{}', which is no site", shared.site)))?;
    if !signed_text::is_signed(KIND, text, &key) {
        return Err(wrong(&format!("is not signed by '{}'", shared.site)));
    }
    // Errors of another run are of other models.
    if shared.run != manifest.run {
        return Err(wrong("is of another run"));
    }
    Ok(shared)
}
