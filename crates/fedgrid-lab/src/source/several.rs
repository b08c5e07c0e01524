//! Several files with the same columns as one table.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{FileParts, file::ReadTable, format::Recognised, pattern::matches};
use crate::{
    error::{Error, Result},
    experiment::{TableFiles, is_standard_input},
};

/// Whether all files of a table are there.
#[must_use]
pub fn are_there(base: &Path, files: &TableFiles) -> bool {
    paths(base, files)
        .is_ok_and(|paths| paths.iter().all(|path| is_standard_input(path) || path.exists()))
}

/// The paths of files below a folder, those of a pattern by name.
pub(super) fn paths(base: &Path, files: &TableFiles) -> Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = Vec::new();
    for name in files.names() {
        let path = base.join(name);
        let is_pattern = name.to_string_lossy().contains(['*', '?']);
        if is_standard_input(name) {
            all.push(name.clone());
        } else if !is_pattern || path.exists() {
            // A name that happens to hold a star is a name.
            all.push(path);
        } else {
            let found = expanded(base, name);
            if found.is_empty() {
                let name = name.display();
                return Err(Error::input(format!(
                    "there is no file '{name}', expected at least one"
                )));
            }
            all.extend(found);
        }
    }
    match all.iter().enumerate().find(|(at, path)| all[..*at].contains(path)) {
        Some((_, path)) => {
            let path = path.display();
            Err(Error::input(format!("data.file: '{path}' is named twice, expected each once")))
        }
        None => Ok(all),
    }
}

/// The files whose path fits a pattern, part by part.
fn expanded(base: &Path, pattern: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = pattern.components().collect();
    let mut found = vec![base.to_path_buf()];
    for (at, part) in parts.iter().enumerate() {
        let text = part.as_os_str().to_string_lossy();
        let is_last = at + 1 == parts.len();
        let next = |folder: PathBuf| -> Vec<PathBuf> {
            if !text.contains(['*', '?']) {
                return vec![folder.join(part)];
            }
            let place = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            let fits = |name: &String| {
                // As shells do, unless it is asked for.
                matches(&text, name) && (text.starts_with('.') || !name.starts_with('.'))
            };
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.filter(fits).collect();
            // Systems list folders in different orders, and rows come in that of their files.
            names.sort_unstable();
            names.into_iter().map(|name| folder.join(name)).collect()
        };
        found = found.into_iter().flat_map(next).collect();
        found.retain(|path| if is_last { path.is_file() } else { path.exists() });
    }
    found
}

/// What messages call one of several files: its name, and its path if another has the same name.
pub(super) fn called(path: &Path, all: &[PathBuf]) -> String {
    let is_same = |other: &&PathBuf| other.file_name() == path.file_name();
    if all.iter().filter(is_same).count() > 1 {
        return path.display().to_string();
    }
    super::called(path)
}

/// The rows of all files below one another, and where each file begins.
pub(super) fn joined(
    first: ReadTable,
    others: impl Iterator<Item = Result<ReadTable>>,
) -> Result<(ReadTable, FileParts)> {
    let mut parts = vec![(first.source.clone(), 0)];
    let mut all = first;
    all.recognised.name(&all.source);
    for other in others {
        let mut other = other?;
        check_columns(&all, &other)?;
        for column in &mut all.columns {
            // By name, because another file may have its columns in another order.
            let place = other.columns.iter().position(|one| one.name == column.name);
            let Some(own) = place.map(|place| other.columns.swap_remove(place)) else { continue };
            column.doubt = column.doubt.take().or(own.doubt);
            if !column.cells.append(own.cells) {
                return Err(Error::input(format!(
                    "{}: column '{}' of all files holds more than 4 GiB of text, expected less",
                    other.source, column.name
                )));
            }
        }
        parts.push((other.source.clone(), all.rows));
        all.rows += other.rows;
        // Rotated, so that two equal files do not cancel each other.
        all.fingerprint = all.fingerprint.rotate_left(1) ^ other.fingerprint;
        other.recognised.name(&other.source);
        all.recognised.join(other.recognised);
    }
    Ok((all, Arc::from(parts)))
}

/// Refuses files with different columns.
fn check_columns(all: &ReadTable, other: &ReadTable) -> Result<()> {
    let names = |table: &ReadTable| -> Vec<String> {
        table.columns.iter().map(|column| column.name.clone()).collect()
    };
    let (known, found) = (names(all), names(other));
    if let Some(name) = known.iter().find(|name| !found.contains(name)) {
        let (first, other) = (&all.source, &other.source);
        return Err(Error::input(format!(
            "{other}: there is no column '{name}', which {first} has"
        )));
    }
    match found.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(Error::input(format!(
            "{}: there is a column '{name}', which {} has not",
            other.source, all.source
        ))),
        None => Ok(()),
    }
}

impl Recognised {
    fn name(&mut self, source: &str) {
        let words = std::mem::take(&mut self.words);
        self.by_file.push((source.to_string(), words));
    }

    fn join(&mut self, other: Self) {
        self.by_file.extend(other.by_file);
        self.decimal = match (self.decimal, other.decimal) {
            (None, told) | (told, None) => told,
            (own, other) => own.filter(|_| own == other),
        };
    }
}
