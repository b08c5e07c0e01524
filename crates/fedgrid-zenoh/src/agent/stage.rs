//! Runs that follow each other with the same kit: training, and what comes after it.
//!
//! ```text
//! stage 0 ──▶ stage 1 ──▶ … ──▶ last stage       each with rounds, edges and a state of its own
//! ```
//!
//! A process goes on to the next stage once all its neighbours have finished the one before. One that crashes in between
//! finds neighbours that are there already: whoever is in a later stage has finished, and knew that this process had, too.
//! That it has gone on once is written down, so that it need not find them again.

use std::path::Path;

use crate::{
    disk::{self, Access},
    error::Result,
    identity::Hex,
    manifest::Manifest,
    site_bundle::SiteBundle,
};

/// The file by which a process remembers that it went on from a stage.
const PASSED: &str = "passed";

/// One of several runs.
#[derive(Debug, Clone, Default)]
pub struct Stage {
    /// Which one; zero is the first.
    pub number: u32,
    /// Whether another follows, for which all neighbours are needed: none is given up.
    pub has_next: bool,
    /// The manifest with the edges of all stages, by which links are kept; none where a stage has those of its own.
    pub links: Option<Manifest>,
}

impl Stage {
    /// The kit in this stage, with its edges: frames are signed for a run of its own, so that none of one stage counts
    /// in another.
    #[must_use]
    pub fn of(&self, bundle: &SiteBundle, edges: Vec<(u32, u32, f64)>) -> SiteBundle {
        let mut bundle = bundle.clone();
        bundle.manifest.edges = edges;
        if self.number > 0 {
            let mut hasher = blake3::Hasher::new();
            hasher.update(b"fedgrid stage").update(&bundle.manifest.run.0);
            hasher.update(&self.number.to_le_bytes());
            let mut run = [0; 16];
            run.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
            bundle.manifest.run = Hex(run);
        }
        bundle
    }

    /// Whether this process went on from this stage before.
    pub(super) fn is_passed(&self, folder: &Path) -> bool {
        self.has_next && folder.join(PASSED).exists()
    }

    /// Remembers that it does.
    pub(super) fn pass(&self, folder: &Path) -> Result<()> {
        if self.has_next {
            disk::write(&folder.join(PASSED), b"", Access::Private)?;
        }
        Ok(())
    }
}
