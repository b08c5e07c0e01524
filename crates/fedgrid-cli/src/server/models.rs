//! The models that predict now, and how others take their place.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use fedgrid_lab::{
    error::Result,
    serving::{NewNodeFiles, ReadyRun},
};

use super::look::Look;

/// The models of a run folder.
#[derive(Debug)]
pub(crate) struct Models {
    folder: PathBuf,
    near: NewNodeFiles,
    /// How the folder looked when it was first read.
    pub(super) look: Look,
    now: RwLock<Arc<ReadyRun>>,
    pub(super) loaded: AtomicU64,
    pub(super) failed: AtomicU64,
    /// Whether the folder holds what could not be loaded.
    pub(super) is_broken: AtomicBool,
}

impl Models {
    /// Those that a folder keeps.
    pub(crate) fn load(folder: &Path, near: NewNodeFiles) -> Result<Self> {
        // Before it is read: what changes meanwhile is read once more.
        let look = Look::of(folder);
        let now = RwLock::new(Arc::new(ReadyRun::load(folder, &near)?));
        let (loaded, failed) = (AtomicU64::new(1), AtomicU64::new(0));
        let (folder, is_broken) = (folder.into(), AtomicBool::new(false));
        Ok(Self { folder, near, look, now, loaded, failed, is_broken })
    }

    /// Those that predict now.
    pub(crate) fn now(&self) -> Arc<ReadyRun> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The folder that they are from.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the folder again, beside those that predict.
    pub(super) fn read(&self) -> Result<ReadyRun> {
        ReadyRun::load(&self.folder, &self.near)
    }

    /// From now on these predict; requests that have begun keep theirs.
    pub(super) fn replace(&self, run: ReadyRun) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(run);
        self.loaded.fetch_add(1, Ordering::Relaxed);
        self.is_broken.store(false, Ordering::Relaxed);
    }

    /// The folder has changed and cannot be read; those that predict stay.
    pub(super) fn fail(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.is_broken.store(true, Ordering::Relaxed);
    }
}
