//! How often the rows of a site have changed in a run: each time a run of its own follows the one before.
//!
//! ```text
//! FOLDER/updates-RUN       "2" while the second update is under way, "2 done" when it has ended
//! ```

use std::path::{Path, PathBuf};

use crate::{
    disk::{self, Access},
    error::{Error, Result},
    identity::Hex,
};

/// The updates of a site in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updates {
    path: PathBuf,
    /// How many there were, with the one that is under way.
    pub count: u64,
    /// Whether the last one, or the run itself, has ended here.
    pub is_done: bool,
}

impl Updates {
    /// Those that are known in a folder of states.
    pub fn read(folder: &Path, run: &Hex<16>) -> Result<Self> {
        let path = folder.join(format!("updates-{}", &run.to_string()[..8]));
        if !path.exists() {
            return Ok(Self { path, count: 0, is_done: false });
        }
        let text = disk::read_text(&path, 64)?;
        let (count, is_done) = match text.trim().strip_suffix(" done") {
            Some(count) => (count, true),
            None => (text.trim(), false),
        };
        match count.parse() {
            Ok(count) => Ok(Self { path, count, is_done }),
            Err(_) => Err(Error::damaged(&path, "expected a number of updates")),
        }
    }

    /// Another one begins.
    pub fn begin(&mut self) -> Result<()> {
        (self.count, self.is_done) = (self.count + 1, false);
        self.write()
    }

    /// The last one has ended.
    pub fn end(&mut self) -> Result<()> {
        self.is_done = true;
        self.write()
    }

    fn write(&self) -> Result<()> {
        let done = if self.is_done { " done" } else { "" };
        disk::write(&self.path, format!("{}{done}\n", self.count).as_bytes(), Access::Private)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_counted_for_each_run_and_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (run, other) = (Hex([1; 16]), Hex([2; 16]));
        let mut updates = Updates::read(folder.path(), &run).unwrap();
        assert_eq!((updates.count, updates.is_done), (0, false));
        updates.end().unwrap();
        updates.begin().unwrap();
        let read = |run| Updates::read(folder.path(), run).unwrap();
        assert_eq!((read(&run).count, read(&run).is_done), (1, false));
        updates.end().unwrap();
        assert_eq!((read(&run), read(&other).count), (updates.clone(), 0));
        disk::write(&updates.path, b"many", Access::Private).unwrap();
        assert!(Updates::read(folder.path(), &run).is_err());
    }
}
