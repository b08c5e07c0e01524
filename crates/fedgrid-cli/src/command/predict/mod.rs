//! `fedgrid predict`: new rows, each by its own node's model.

mod output;

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;

use self::output::{Format, Output};
use super::format::{FormatFlags, files};
use crate::terminal::{Terminal, complain};
use fedgrid_lab::{
    assembly::DataSchema,
    error::{Error, Result},
    experiment::is_standard_input,
    number::counted,
    run::RunModels,
    serving::{LevelIntervals, NewNodes, Serving, UnknownRule, method_note, unknown_rule},
    source::Table,
};

/// Arguments of `fedgrid predict`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid predict runs/colorado --data new.csv --interval 0.9 --out predictions.csv
  fedgrid predict runs/colorado --data new.parquet --keep --out predictions.parquet
  zcat rows.csv.gz | fedgrid predict runs/colorado --data - --as jsonl")]
pub(super) struct Predict {
    /// The folder of a finished run.
    run: PathBuf,

    /// The rows to predict: a CSV, Parquet or Arrow file with the node and feature columns, several such files, or -
    /// for standard input.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    data: Vec<PathBuf>,

    /// For models with lags: rows of the time before, with the columns that lags are made of.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    history: Vec<PathBuf>,

    /// The method whose models predict, among those that the run keeps: network, mixed, shrunk, pooled, local; by
    /// default the one that the verdict advises.
    #[arg(long = "use", value_name = "METHOD")]
    used: Option<String>,

    /// Where nodes are that the run has never seen: a table with the columns of the run's own table of nodes. The mean of
    /// their neighbours' models predicts their rows.
    #[arg(long, value_name = "FILE", conflicts_with = "edges")]
    nodes: Option<PathBuf>,

    /// The same by edges to nodes of the run: a table with the columns src, dst and weight.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,

    /// What becomes of rows of nodes that the run has never seen: refuse, pooled, or neighbours; by default neighbours
    /// with --nodes or --edges, where a node has some, and otherwise pooled.
    #[arg(long, value_name = "RULE")]
    unknown: Option<String>,

    #[command(flatten)]
    format: FormatFlags,

    /// Adds the columns lower and upper: an interval that holds so large a share of new rows, such as 0.9.
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    interval: Option<String>,

    /// Adds a column base and, for each column, one that says what it adds to the prediction, or to what that is
    /// made of.
    #[arg(long)]
    explain: bool,

    /// Passes columns of the rows through: those that are named, or all.
    #[arg(long, value_name = "COLUMNS", num_args = 0..=1, value_delimiter = ',')]
    keep: Option<Vec<String>>,

    /// Where to write the predictions, as CSV or, if the name ends so, as Parquet or JSON lines (.jsonl); by default,
    /// and for -, on standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// How to write them, whatever the name of the file: csv, jsonl or parquet.
    #[arg(long = "as", value_name = "FORMAT")]
    written: Option<String>,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

impl Predict {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        // Before the rows are read, which may be many.
        let format = self.written_format()?;
        let file = self.out.as_deref().filter(|path| !is_standard_input(path));
        self.check_file(file)?;
        let models = RunModels::of_method(&self.run, self.used.as_deref())?;
        let level = self.level()?;
        let intervals = level.map(|level| LevelIntervals::new(&models, level)).transpose()?;
        let table = self.table(&models.about, &self.data)?;
        let table = table.expect("the command line asks for a file");
        let history = self.table(&models.about, &self.history)?;
        let unknown = self.unknown.as_deref().map(unknown_rule).transpose()?;
        let new_nodes = self.new_nodes(&models, unknown)?;
        let (intervals, new_nodes) = (intervals.as_ref(), new_nodes.as_ref());
        let serving = Serving { models: &models, intervals, unknown, new_nodes };
        let served = serving.predict(&table, history.as_ref())?;
        let why = self.explain.then(|| serving.explain(&table, history.as_ref(), &served));
        let why = why.transpose()?;
        let why = why.as_ref();
        let output = Output::new(&models.about, &table, (&served, why), self.keep.as_deref())?;
        let notes: Vec<String> = table
            .described
            .iter()
            .chain(&served.notes)
            .chain(why.iter().flat_map(|why| &why.notes))
            .cloned()
            .chain([method_note(&models, "--use")])
            .collect();
        if let Some(path) = file {
            // The whole file is made in memory, so that a wrong row leaves no half of one.
            let bytes = output.bytes(format);
            std::fs::write(path, &bytes).map_err(|error| Error::file("write", path, &error))?;
            let count = counted(served.nodes.len(), "prediction");
            terminal.say(&format!("{count} in {}", path.display()));
        } else if !terminal.json {
            // What was asked for, which --quiet does not silence. A reader that has gone away wants no more.
            let _ = std::io::stdout().lock().write_all(&output.bytes(format));
        }
        if terminal.json {
            terminal.give(&output.json_text(&models.used, &models.advised, &notes));
        }
        if !terminal.quiet {
            // Standard output is the table.
            for note in &notes {
                complain(note);
            }
        }
        Ok(())
    }

    /// How predictions are written.
    fn written_format(&self) -> Result<Format> {
        match (&self.written, &self.out) {
            (Some(word), _) => Format::named(word),
            (None, Some(path)) => Format::of(path),
            (None, None) => Ok(Format::Csv),
        }
    }

    /// Refuses a file that is there already.
    fn check_file(&self, file: Option<&Path>) -> Result<()> {
        match file {
            Some(path) if path.exists() && !self.force => {
                Err(Error::input(format!("'{}' exists: replace it with --force", path.display())))
            }
            _ => Ok(()),
        }
    }

    /// The rows of some files, as they look; what they leave open is as in training. None without a file.
    fn table(&self, about: &DataSchema, names: &[PathBuf]) -> Result<Option<Table>> {
        let format = about.file_format(self.format.keys()?, "--");
        let files = files(names);
        files.map(|files| Table::from_files(Path::new(""), &files, &format)).transpose()
    }

    /// Who is near nodes that the run does not know, if that is told.
    fn new_nodes(&self, models: &RunModels, rule: Option<UnknownRule>) -> Result<Option<NewNodes>> {
        let read = |path: &PathBuf| {
            let table = self.table(&models.about, std::slice::from_ref(path))?;
            Ok::<_, Error>(table.expect("there is a file"))
        };
        match (&self.nodes, &self.edges) {
            (Some(path), _) => NewNodes::from_places(models, &read(path)?).map(Some),
            (None, Some(path)) => NewNodes::from_edges(models, &read(path)?).map(Some),
            (None, None) if rule == Some(UnknownRule::Neighbours) => Err(Error::input(
                "--unknown is 'neighbours', which needs the places of new nodes with --nodes, or their edges with \
                 --edges",
            )),
            (None, None) => Ok(None),
        }
    }

    /// The level of the intervals that are asked for, if any.
    fn level(&self) -> Result<Option<f64>> {
        let Some(text) = &self.interval else { return Ok(None) };
        let level = text.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
        let expected = "a share of rows between 0 and 1, such as 0.9";
        let refusal = || Error::input(format!("--interval is '{text}', expected {expected}"));
        level.map(Some).ok_or_else(refusal)
    }
}
