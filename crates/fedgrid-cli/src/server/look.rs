//! How a run folder looks from outside, by which a change of it is noticed.

use std::{fs, path::Path, time::SystemTime};

/// The files of a folder as they look from outside: their names, sizes and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look(Vec<(String, u64, Option<SystemTime>, u64)>);

impl Look {
    /// As they look now.
    pub(super) fn of(folder: &Path) -> Self {
        let mut files = Vec::new();
        for part in ["", "models"] {
            let Ok(entries) = fs::read_dir(folder.join(part)) else { continue };
            for entry in entries.flatten() {
                let Ok(about) = fs::metadata(entry.path()) else { continue };
                if about.is_file() {
                    let name = format!("{part}/{}", entry.file_name().display());
                    files.push((name, about.len(), about.modified().ok(), inode(&about)));
                }
            }
        }
        files.sort();
        Self(files)
    }
}

#[cfg(unix)]
fn inode(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
