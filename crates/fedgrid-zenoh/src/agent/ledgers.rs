//! The ledgers of the nodes that a process hosts, where their method gives something away.

use std::{collections::BTreeMap, path::Path};

use fedgrid::{
    method::{Durable, Memory},
    network::NodeId,
    runtime::protocol::Process,
};

use crate::{
    error::{Error, Result},
    ledger::Ledger,
    manifest::Manifest,
    site_bundle::SiteBundle,
};

/// One ledger for each node that has a budget.
#[derive(Debug, Default)]
pub(super) struct Ledgers(BTreeMap<NodeId, Ledger>);

impl Ledgers {
    /// Opens the ledgers in a folder and tells the nodes of a process, which has not been started yet,
    /// what they have answered in earlier runs.
    pub(super) fn open<P: Durable>(
        folder: &Path,
        bundle: &SiteBundle,
        process: &mut Process<P>,
    ) -> Result<Self> {
        let manifest = &bundle.manifest;
        let mut ledgers = BTreeMap::new();
        for (node, participant) in process.participants() {
            if participant.memory() == Memory::Ledger {
                let ledger = Ledger::of_node(folder, name(manifest, node), &manifest.run.0)?;
                ledgers.insert(node, ledger);
            }
        }
        // Only neighbours can ask, so only they have a budget to charge.
        for &(a, b, _) in &manifest.edges {
            for (node, asker) in [(a as usize, b as usize), (b as usize, a as usize)] {
                if let Some(ledger) = ledgers.get(&node) {
                    process.charge(node, asker, ledger.earlier(name(manifest, asker)));
                }
            }
        }
        Ok(Self(ledgers))
    }

    /// What was given away in this run may have grown since it was last written down, never shrunk.
    pub(super) fn check<P: Durable>(&self, folder: &Path, process: &Process<P>) -> Result<()> {
        for (node, participant) in process.participants() {
            let found = participant.charges().iter().map(|(_, count)| count).sum();
            let seen = self.0.get(&node).map_or(0, Ledger::charged_in_all);
            // Charges of all askers together: an old state has at least one that is smaller, and none larger.
            if found < seen {
                let path = folder.display().to_string();
                return Err(Error::RolledBack { path, found, seen });
            }
        }
        Ok(())
    }

    /// Writes down what was given away so far.
    pub(super) fn charge<P: Durable>(
        &mut self,
        bundle: &SiteBundle,
        process: &Process<P>,
    ) -> Result<()> {
        for (node, participant) in process.participants() {
            if let Some(ledger) = self.0.get_mut(&node) {
                for (asker, count) in participant.charges() {
                    ledger.charge(name(&bundle.manifest, asker), process.round(), count)?;
                }
            }
        }
        Ok(())
    }
}

fn name(manifest: &Manifest, node: NodeId) -> &str {
    manifest.nodes.get(node).map_or("", |node| node.name.as_str())
}
