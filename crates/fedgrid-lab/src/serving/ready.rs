//! A run that is ready to answer: all that its folder keeps is read once, and nothing of it is read again.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fedgrid::data::Task;
use serde::Serialize;
use serde_json::json;

use super::{
    AnsweredRow, AskedRows, LevelIntervals, NewNodes, Served, Serving, UnknownRule, method_note,
    request::RowReader,
};
use crate::{
    assembly::DataSchema,
    error::{Error, Result},
    experiment::FileKeys,
    kept_models::{RunModels, to_json},
    source::{FileFormat, Table},
};

/// So many levels of intervals are kept; whoever asks for more of them waits a moment longer.
const KEPT_LEVELS: usize = 16;

/// Where new nodes are, as files say.
#[derive(Debug, Clone, Default)]
pub struct NewNodeFiles {
    /// A table of places.
    pub places: Option<PathBuf>,
    /// A table of edges.
    pub edges: Option<PathBuf>,
}

impl NewNodeFiles {
    /// Who is near new nodes, if that is told.
    pub fn read(&self, models: &RunModels, format: &FileFormat) -> Result<Option<NewNodes>> {
        let table = |path: &PathBuf| Table::from_file(path, format.clone());
        Ok(match (&self.places, &self.edges) {
            (Some(path), _) => Some(NewNodes::from_places(models, &table(path)?)?),
            (None, Some(path)) => Some(NewNodes::from_edges(models, &table(path)?)?),
            (None, None) => None,
        })
    }
}

/// What is asked of a run besides the rows.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The method whose models predict; none takes the one that the verdict advises.
    pub used: Option<String>,
    /// The level of intervals, if these are asked for.
    pub interval: Option<f64>,
    /// What becomes of rows of unknown nodes.
    pub unknown: Option<UnknownRule>,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    /// The predictions, as `predict --json` has them.
    pub json: String,
    /// How many rows there are.
    pub rows: usize,
    /// How many of them have a feature outside of the range of the training rows.
    pub outside: usize,
    /// How many are of nodes that the run does not know.
    pub unknown: usize,
}

/// A run with all that its folder keeps.
#[derive(Debug)]
pub struct ReadyRun {
    /// Of each method that is kept, the run's own first.
    methods: Vec<ReadyMethod>,
    advised: usize,
    reader: RowReader,
    new_nodes: Option<NewNodes>,
    /// What the run knows, as JSON: its nodes, the columns that rows need, the methods that are kept.
    pub nodes: String,
    /// The report; none if the folder has none.
    pub page: Option<String>,
}

/// The models of a method.
#[derive(Debug)]
struct ReadyMethod {
    models: RunModels,
    levels: Mutex<Vec<Arc<LevelIntervals>>>,
    /// Which method this is, in words.
    note: String,
    /// Whether the folder had what intervals are made of.
    has_intervals: bool,
}

impl ReadyRun {
    /// Reads the folder of a run.
    pub fn load(folder: &Path, near: &NewNodeFiles) -> Result<Self> {
        let first = RunModels::from_folder(folder)?;
        let pooled = first.pooled()?;
        let names = first.methods.clone();
        let read = |name: &String| {
            let models = RunModels::of_method(folder, Some(name))?;
            models.share_pooled(pooled.as_ref());
            ReadyMethod::new(models)
        };
        let methods = names.iter().map(read).collect::<Result<Vec<_>>>()?;
        methods.iter().try_for_each(|method| method.models.check_nodes())?;
        // `of_method` has refused a run whose advice is none of them.
        let advised = names.iter().position(|name| *name == first.advised).unwrap_or(0);
        let format = first.about.file_format(FileKeys::default(), "");
        let new_nodes = near.read(&first, &format)?;
        let reader = RowReader::new(&first.about, format);
        let nodes = described(&first, reader.names());
        let page = fs::read_to_string(folder.join("report.html")).ok();
        Ok(Self { methods, advised, reader, new_nodes, nodes, page })
    }

    /// The method that predicts unless another is asked for, and the number of nodes.
    #[must_use]
    pub fn advised(&self) -> (&str, usize) {
        let models = &self.methods[self.advised].models;
        (&models.used, models.by_node.len())
    }

    /// How rows are read.
    #[must_use]
    pub fn about(&self) -> &DataSchema {
        &self.methods[self.advised].models.about
    }

    /// Rows as JSON: one object from column to value, a list of them, or `{"rows": [...], "history": [...]}`; if there are
    /// more than are allowed, only their number.
    pub fn json_rows(&self, body: &[u8], most: usize) -> Result<AskedRows> {
        self.reader.json(body, most)
    }

    /// Rows as CSV with a header.
    pub fn csv_rows(&self, body: &[u8]) -> Result<AskedRows> {
        self.reader.csv(body)
    }

    /// Predicts rows.
    pub fn answer(&self, question: &Question, asked: &AskedRows) -> Result<Answer> {
        let method = self.method(question.used.as_deref())?;
        let models = &method.models;
        let intervals = question.interval.map(|level| method.level(level)).transpose()?;
        let (unknown, new_nodes) = (question.unknown, self.new_nodes.as_ref());
        if unknown == Some(UnknownRule::Neighbours) && new_nodes.is_none() {
            return Err(Error::input(
                "unknown is 'neighbours', and the server was not told who is near new nodes (--nodes or --edges)",
            ));
        }
        let serving = Serving { models, intervals: intervals.as_deref(), unknown, new_nodes };
        let served = serving.predict(&asked.rows, asked.history.as_ref())?;
        let notes = asked.rows.described.iter().chain(&served.notes).chain([&method.note]);
        let json = to_json(&AnsweredRows {
            method: &models.used,
            advised: &models.advised,
            notes: notes.map(String::as_str).collect(),
            predictions: rows_of(&models.about, &served),
        });
        let Served { outside, unknown, nodes, .. } = served;
        Ok(Answer { json, rows: nodes.len(), outside, unknown })
    }

    /// The models that are asked for by name, or those that the verdict advises.
    fn method(&self, used: Option<&str>) -> Result<&ReadyMethod> {
        let Some(used) = used else { return Ok(&self.methods[self.advised]) };
        let found = self.methods.iter().find(|method| method.models.used == used);
        found.ok_or_else(|| {
            let names: Vec<&str> =
                self.methods.iter().map(|method| method.models.used.as_str()).collect();
            Error::input(format!("use is '{used}', expected one of {}", names.join(", ")))
        })
    }
}

/// All that is answered.
#[derive(Serialize)]
struct AnsweredRows<'a> {
    method: &'a str,
    advised: &'a str,
    notes: Vec<&'a str>,
    predictions: Vec<AnsweredRow<'a>>,
}

fn rows_of<'a>(about: &'a DataSchema, served: &'a Served) -> Vec<AnsweredRow<'a>> {
    (0..served.nodes.len()).map(|row| AnsweredRow::new(about, served, row)).collect()
}

/// What the run knows, as JSON.
fn described(models: &RunModels, columns: &[String]) -> String {
    let about = &models.about;
    to_json(&json!({
        "target": about.target,
        "classes": about.classes,
        "node": about.node,
        "columns": columns,
        "features": about.features,
        "methods": models.methods,
        "advised": models.advised,
        "nodes": models.by_node.keys().collect::<Vec<_>>(),
    }))
}

impl ReadyMethod {
    /// Reads what is beside the models now, because the folder may be another later.
    fn new(models: RunModels) -> Result<Self> {
        let has_intervals = models.read_all()?;
        let note = method_note(&models, "use");
        Ok(Self { models, levels: Mutex::default(), note, has_intervals })
    }

    /// The intervals of a level.
    fn level(&self, level: f64) -> Result<Arc<LevelIntervals>> {
        if !self.has_intervals && self.models.about.task == Task::Regression {
            let used = &self.models.used;
            return Err(Error::input(format!(
                "the run keeps no intervals of {used}; leave interval out"
            )));
        }
        let is_same = |known: &&Arc<LevelIntervals>| known.level.total_cmp(&level).is_eq();
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = levels.iter().find(is_same) {
            return Ok(known.clone());
        }
        let made = Arc::new(LevelIntervals::new(&self.models, level)?);
        if levels.len() == KEPT_LEVELS {
            levels.remove(0);
        }
        levels.push(made.clone());
        Ok(made)
    }
}
