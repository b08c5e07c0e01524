//! The folder of a sweep, which fills as cells are done and can be resumed.
//!
//! ```text
//! sweep.toml    what is run: the experiment, the keys that vary, the number of seeds
//! cells.jsonl   one line per cell that is done; in the order of cases and seeds once all are
//! cells.csv     one row per cell and method, with all digits
//! table.csv     one row per case: means over seeds, standard errors, shares of verdicts; table.md, table.tex: the same
//! plot.svg      the errors against a key; plot.pdf: the same
//! result.json   all of it; it is written last
//! ```

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{CellRecord, Sweep, SweepPlan, SweepResult, cells_csv, grid, plot};
use crate::{
    error::{Error, Result},
    kept_models::to_json,
    run::{Existing, to_json_pretty, write_whole},
};

/// The files of a sweep beside `cells.jsonl`, which marks the folder.
const SWEEP_FILES: [&str; 8] = [
    "result.json",
    "table.csv",
    "table.md",
    "table.tex",
    "cells.csv",
    "plot.svg",
    "plot.pdf",
    "sweep.toml",
];

/// How files of a folder are laid out; counted up when that changes.
const FORMAT: u32 = 1;

/// The first line of `cells.jsonl`, by which a resumed sweep knows that nothing has changed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SweepIdentity {
    sweep_format: u32,
    version: String,
    data: String,
}

/// The folder of a sweep.
#[derive(Debug)]
pub struct SweepFolder {
    folder: PathBuf,
    identity: SweepIdentity,
    known: Mutex<Vec<CellRecord>>,
}

impl SweepFolder {
    /// Refuses a folder that must not be touched, before anything is computed.
    pub fn check(folder: &Path, existing: Existing) -> Result<()> {
        let name = folder.display();
        let is_sweep = identity(folder).is_some();
        let is_new = !folder.exists() || is_empty(folder);
        let refusal = match existing {
            Existing::Resume if Self::is_unfinished(folder) => return Ok(()),
            Existing::Resume => {
                format!("'{name}' holds no unfinished sweep; begin one without --resume")
            }
            _ if is_new => return Ok(()),
            _ if !is_sweep => {
                format!(
                    "'{name}' exists and is not the folder of a sweep; give another folder with --out"
                )
            }
            Existing::Replace => return Ok(()),
            Existing::Refuse if Self::is_unfinished(folder) => format!(
                "'{name}' holds an unfinished sweep: continue it with --resume, or replace it with --force"
            ),
            Existing::Refuse => {
                format!(
                    "'{name}' exists: replace it with --force, or give another folder with --out"
                )
            }
        };
        Err(Error::input(refusal))
    }

    /// Whether a folder is that of a sweep.
    #[must_use]
    pub fn is_sweep(folder: &Path) -> bool {
        identity(folder).is_some()
    }

    fn is_unfinished(folder: &Path) -> bool {
        identity(folder).is_some()
            && folder.join("sweep.toml").exists()
            && !folder.join("result.json").exists()
    }

    /// Opens the folder of a sweep; it is made only now, when all input has been read.
    pub fn open(folder: &Path, plan: &SweepPlan, data: &str, existing: Existing) -> Result<Self> {
        let (version, data) = (env!("CARGO_PKG_VERSION").into(), data.into());
        let identity = SweepIdentity { sweep_format: FORMAT, version, data };
        let own = Self { folder: folder.to_path_buf(), identity, known: Mutex::default() };
        if existing == Existing::Resume {
            return own.resumed(plan);
        }
        if existing == Existing::Replace {
            own.clear()?;
        }
        fs::create_dir_all(folder).map_err(|error| Error::folder(folder, &error))?;
        // What marks the folder is there first, so that --force takes it after any interruption.
        own.write("cells.jsonl", own.lines(&[]).as_bytes())?;
        own.write("sweep.toml", plan.to_text(folder).as_bytes())?;
        Ok(own)
    }

    /// Reads what an interrupted sweep had done.
    fn resumed(self, plan: &SweepPlan) -> Result<Self> {
        let read = |name: &str| {
            let path = self.folder.join(name);
            fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))
        };
        let is_same = identity(&self.folder).as_ref() == Some(&self.identity);
        if !is_same || read("sweep.toml")? != plan.to_text(&self.folder) {
            return Err(Error::input(format!(
                "'{}' was begun with another sweep, data or version; replace it with --force",
                self.folder.display()
            )));
        }
        // A line that was cut by the interruption is a cell that was not done.
        let cells = read("cells.jsonl")?;
        let known: Vec<CellRecord> =
            cells.lines().skip(1).map_while(|line| serde_json::from_str(line).ok()).collect();
        // The file is written anew, because appending behind a cut line would spoil the next one.
        self.write("cells.jsonl", self.lines(&known).as_bytes())?;
        Ok(Self { known: Mutex::new(known), ..self })
    }

    /// Removes the files of an earlier sweep, and only those.
    fn clear(&self) -> Result<()> {
        // The result goes first: a folder without it does not pass for a finished sweep.
        for path in SWEEP_FILES.map(|name| self.folder.join(name)) {
            if path.exists() {
                fs::remove_file(&path).map_err(|error| Error::file("replace", &path, &error))?;
            }
        }
        Ok(())
    }

    fn lines(&self, records: &[CellRecord]) -> String {
        let all = std::iter::once(to_json(&self.identity)).chain(records.iter().map(to_json));
        all.map(|line| line + "\n").collect()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write_whole(&self.folder.join(name), bytes)
    }

    /// The cells that are done, in the order in which they were.
    #[must_use]
    pub fn known(&self) -> Vec<CellRecord> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a cell: it is on disk before the next begins.
    pub(super) fn keep(&self, record: &CellRecord) -> Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join("cells.jsonl");
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{}", to_json(record)))
            .map_err(|error| Error::file("write", &path, &error))?;
        known.push(record.clone());
        Ok(())
    }

    /// Writes what a finished sweep leaves; `result.json` last, because it says that the sweep is done. Gives a note of
    /// letters that the PDF has not, if there are any.
    pub fn finish(
        &self,
        sweep: &Sweep,
        records: &[CellRecord],
        result: &SweepResult,
    ) -> Result<Option<String>> {
        let (grid, drawing) = (grid(result), plot(result));
        self.write("cells.jsonl", self.lines(records).as_bytes())?;
        self.write("cells.csv", cells_csv(sweep, records).as_bytes())?;
        self.write("table.csv", grid.csv().as_bytes())?;
        self.write("table.md", grid.markdown().as_bytes())?;
        self.write("table.tex", grid.latex().as_bytes())?;
        self.write("plot.svg", drawing.svg().as_bytes())?;
        self.write("plot.pdf", &drawing.pdf())?;
        self.write("result.json", (to_json_pretty(result) + "\n").as_bytes())?;
        let missing = drawing.missing_letters();
        Ok((!missing.is_empty()).then(|| {
            format!("plot.pdf has question marks for letters that its font has not: {missing}; plot.svg has them.")
        }))
    }
}

/// What the sweep in a folder says of itself; none if there is no sweep.
fn identity(folder: &Path) -> Option<SweepIdentity> {
    let cells = fs::read_to_string(folder.join("cells.jsonl")).ok()?;
    serde_json::from_str(cells.lines().next()?).ok()
}

/// Whether there is nothing, or what an interruption leaves of the first file.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut files| {
        files.all(|file| file.is_ok_and(|file| file.file_name() == "cells.jsonl.part"))
    })
}
