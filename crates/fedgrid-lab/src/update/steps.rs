//! The rows that a run has, from its first fit over all updates: `updates.json`, by which a later update can read them
//! again where statistics are not enough.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Repeated;
use crate::{
    assembly::{DataSchema, Files, move_files, relative_path},
    error::{Error, Result},
    experiment::{Experiment, FileKeys, TableFiles, is_standard_input},
    show::{from_json, stored_experiment},
    source::{FileFormat, Table},
};

/// The name of the file in a run folder.
pub(super) const UPDATES_FILE: &str = "updates.json";
const FORMAT_VERSION: u32 = 1;

/// The first fit of a run, and what was added to it.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    /// The experiment of the first fit; its paths begin at `folder`.
    pub(super) experiment: Experiment,
    /// What was added, in order.
    pub(super) added: Vec<AddedFiles>,
    /// The folder that paths begin at.
    pub(super) folder: PathBuf,
}

/// The files of an update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddedFiles {
    /// The tables of rows.
    pub data: Vec<PathBuf>,
    /// How they are written, where that is not as they look.
    #[serde(default, skip_serializing_if = "FileKeys::is_empty")]
    pub format: FileKeys,
    /// Where new nodes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<PathBuf>,
    /// Edges of new nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<PathBuf>,
    /// What became of rows that the run knew.
    pub repeated: Repeated,
    /// Rows of the time before, in which the lags of a run are looked for; nothing if these are where its experiment says.
    #[serde(skip)]
    pub history: Vec<PathBuf>,
}

/// The tables of an update.
#[derive(Debug, Clone)]
pub struct AddedTables {
    /// The rows.
    pub data: Table,
    /// Where new nodes are.
    pub nodes: Option<Table>,
    /// Edges of new nodes.
    pub edges: Option<Table>,
    /// Rows of the time before.
    pub history: Option<Table>,
}

#[derive(Serialize, Deserialize)]
struct StepsFile {
    format: u32,
    /// The experiment of the first fit, with paths from this folder.
    experiment: String,
    added: Vec<AddedFiles>,
}

impl Steps {
    /// Those of a run folder; of one that was not updated, its experiment alone.
    pub(super) fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(UPDATES_FILE);
        if !path.exists() {
            let (experiment, folder) = stored_experiment(folder)?;
            return Ok(Self { experiment, added: Vec::new(), folder });
        }
        let StepsFile { format, experiment, added } = from_json(&path)?;
        if format != FORMAT_VERSION {
            let path = path.display();
            return Err(Error::input(format!(
                "'{path}' is damaged: format {format}, this version reads format {FORMAT_VERSION}; run the experiment \
                 again"
            )));
        }
        let source = path.display().to_string();
        let keys = Experiment::table_from_text(&experiment, &source)?;
        let experiment = Experiment::from_table(keys, &source)?;
        Ok(Self { experiment, added, folder: folder.to_path_buf() })
    }

    /// The same with one more, as seen from another folder; paths of the new one begin where the command was given.
    pub(super) fn with(&self, new: &AddedFiles, folder: &Path) -> Self {
        let mut steps = self.clone();
        move_files(&mut steps.experiment, &self.folder, folder);
        steps.added.iter_mut().for_each(|one| one.move_from(&self.folder, folder));
        let mut new = new.clone();
        new.move_from(Path::new(""), folder);
        steps.added.push(new);
        Self { folder: folder.to_path_buf(), ..steps }
    }

    /// All rows as they were read, in the tables of every step.
    pub(super) fn rows(&self, about: &DataSchema) -> Result<Vec<Table>> {
        self.check_files()?;
        let first = Files::new(&self.folder, &self.experiment).rows()?;
        let added = self.added.iter().map(|one| Ok(one.tables(&self.folder, about)?.data));
        std::iter::once(Ok(first)).chain(added).collect()
    }

    /// Refuses rows that are in no file.
    pub(super) fn check_files(&self) -> Result<()> {
        let first = self.experiment.data.file.names().iter();
        let mut all = first.chain(self.added.iter().flat_map(|one| &one.data));
        if all.any(|name| is_standard_input(name)) {
            return Err(Error::input(
                "some rows were given on standard input or in memory, and are not kept",
            ));
        }
        Ok(())
    }

    /// The text of the file.
    pub(super) fn text(&self) -> String {
        let file = StepsFile {
            format: FORMAT_VERSION,
            experiment: self.experiment.to_text(),
            added: self.added.clone(),
        };
        serde_json::to_string_pretty(&file).expect("plain values become JSON") + "\n"
    }

    /// The experiment of all rows.
    pub(super) fn whole(&self) -> Experiment {
        let mut experiment = self.experiment.clone();
        let more = self.added.iter().flat_map(|one| one.data.clone());
        let all: Vec<PathBuf> = experiment.data.file.names().iter().cloned().chain(more).collect();
        experiment.data.file = TableFiles::Several(all);
        experiment
    }
}

impl AddedFiles {
    /// Files of rows, and of nothing else.
    #[must_use]
    pub fn new(data: Vec<PathBuf>, format: FileKeys, repeated: Repeated) -> Self {
        Self { data, format, nodes: None, edges: None, repeated, history: Vec::new() }
    }

    fn move_from(&mut self, from: &Path, to: &Path) {
        let files = self.data.iter_mut().chain(&mut self.nodes).chain(&mut self.edges);
        for path in files.filter(|path| !is_standard_input(path)) {
            *path = relative_path(&from.join(&*path), to);
        }
    }

    /// Reads them, relative to a folder.
    pub fn tables(&self, folder: &Path, about: &DataSchema) -> Result<AddedTables> {
        let format = FileFormat {
            keys: self.format.clone(),
            place: "--",
            usual_decimal: about.decimal,
            missing_values: about.columns.missing_values.clone().into(),
            may_be_empty: true,
        };
        let rows = |files: &[PathBuf]| {
            Table::from_files(folder, &TableFiles::Several(files.to_vec()), &format)
        };
        let history = Some(&self.history[..]).filter(|files| !files.is_empty());
        let read = |path: &PathBuf| {
            let path = if is_standard_input(path) { path.clone() } else { folder.join(path) };
            Table::from_files(Path::new(""), &path.into(), &format)
        };
        Ok(AddedTables {
            data: rows(&self.data)?,
            history: history.map(rows).transpose()?,
            nodes: self.nodes.as_ref().map(read).transpose()?,
            edges: self.edges.as_ref().map(read).transpose()?,
        })
    }
}
