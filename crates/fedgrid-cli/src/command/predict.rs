//! `fedgrid predict`: new rows, each by its own node's model.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use fedgrid::{data::Task, uncertainty::Band};
use serde_json::json;

use super::format::{FormatFlags, files};
use crate::terminal::{Terminal, complain, print};
use fedgrid_lab::{
    assembly::{DataSchema, features_of_new, known_of},
    error::{Error, Result},
    experiment::advice,
    number::counted,
    run::{RunIntervals, RunModels, to_json_pretty},
    source::{self, FileFormat, Table, Written},
    summary::basis,
};

/// Arguments of `fedgrid predict`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fedgrid predict runs/colorado --data new.csv --interval 0.9 --out predictions.csv"
)]
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

    #[command(flatten)]
    format: FormatFlags,

    /// Adds the columns lower and upper: an interval that holds so large a share of new rows, such as 0.9.
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    interval: Option<String>,

    /// Where to write the predictions, as CSV or, if the name ends so, as Parquet; by default on
    /// standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

/// How predictions are written.
enum Format {
    Csv,
    Parquet,
}

impl Format {
    /// As the ending of a file says.
    fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str().unwrap_or_default() {
            "parquet" => Ok(Self::Parquet),
            "" | "csv" | "txt" => Ok(Self::Csv),
            other => Err(Error::input(format!(
                "--out ends with .{other}, expected .csv or .parquet, which can be written"
            ))),
        }
    }
}

/// The prediction of one row.
struct PredictedRow {
    node: String,
    prediction: String,
    probabilities: Vec<f64>,
    /// The ends of its interval; none if its node has none.
    interval: Option<(f64, f64)>,
}

/// Predictions of all rows.
struct Predictions<'a> {
    about: &'a DataSchema,
    rows: Vec<PredictedRow>,
    has_intervals: bool,
    /// What a reader must know of the rows and the intervals.
    notes: Vec<String>,
}

/// Intervals of a level.
struct Wanted {
    level: f64,
    bands: Vec<Band>,
    known: RunIntervals,
}

impl Predict {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let models = RunModels::of_method(&self.run, self.used.as_deref())?;
        // Before the rows are read, which may be many.
        let wanted = self.wanted(&models)?;
        let table = self.table(&models.about, &self.data)?;
        let table = table.expect("the command line asks for a file");
        let history = self.table(&models.about, &self.history)?;
        let tables = (&table, history.as_ref());
        let predicted = Predictions::new(&models, tables, wanted.as_ref())?;
        if let Some(path) = &self.out {
            if path.exists() && !self.force {
                let sentence = format!("'{}' exists: replace it with --force", path.display());
                return Err(Error::input(sentence));
            }
            // The whole file is made in memory, so that a wrong row leaves no half of one.
            let bytes = match Format::of(path)? {
                Format::Csv => predicted.csv_text().into_bytes(),
                Format::Parquet => predicted.parquet_bytes(),
            };
            std::fs::write(path, &bytes).map_err(|error| Error::file("write", path, &error))?;
            let count = counted(predicted.rows.len(), "prediction");
            terminal.say(&format!("{count} in {}", path.display()));
        } else if !terminal.json && !terminal.quiet {
            print(predicted.csv_text().trim_end());
        }
        terminal.give(&predicted.json_text());
        if !terminal.quiet {
            // Standard output is the table.
            table.described.iter().chain(&predicted.notes).for_each(|note| complain(note));
            complain(&method_note(&models));
        }
        Ok(())
    }

    /// The rows of some files, as they look; what they leave open is as in training. None without a file.
    fn table(&self, about: &DataSchema, names: &[PathBuf]) -> Result<Option<Table>> {
        let format = FileFormat {
            keys: self.format.keys()?,
            place: "--",
            usual_decimal: about.decimal,
            missing_values: about.columns.missing_values.clone().into(),
        };
        let files = files(names);
        files.map(|files| Table::from_files(Path::new(""), &files, &format)).transpose()
    }

    /// The intervals that are asked for, if any.
    fn wanted(&self, models: &RunModels) -> Result<Option<Wanted>> {
        let Some(text) = &self.interval else { return Ok(None) };
        let refusal = || {
            let expected = "a share of rows between 0 and 1, such as 0.9";
            Error::input(format!("--interval is '{text}', expected {expected}"))
        };
        let level: f64 = text.parse().map_err(|_| refusal())?;
        if !(level > 0.0 && level < 1.0) {
            return Err(refusal());
        }
        let known = RunIntervals::of(models)?;
        let bands = known.intervals.bands(level)?;
        Ok(Some(Wanted { level, bands, known }))
    }
}

/// Which method has predicted, and what else could have.
fn method_note(models: &RunModels) -> String {
    let RunModels { used, advised, methods, .. } = models;
    let others = methods.iter().filter(|name| *name != used).map(String::as_str);
    let others = others.collect::<Vec<_>>().join(", ");
    let others = if others.is_empty() { others } else { format!(" (--use takes {others}, too)") };
    let advice = match (used == advised, methods.first() == Some(used)) {
        (true, true) => String::new(),
        (true, false) => ", as the verdict advises".into(),
        (false, _) => format!(" instead of {advised}"),
    };
    format!("predicted by {used}{advice}{others}")
}

impl<'a> Predictions<'a> {
    fn new(
        models: &'a RunModels,
        (table, history): (&Table, Option<&Table>),
        wanted: Option<&Wanted>,
    ) -> Result<Self> {
        let about = &models.about;
        let nodes = table.names_in(&about.node)?;
        let (features, mut notes) = features_of_new(table, history, about)?;
        let known = known_of(table, about)?;
        let mut rows = Vec::with_capacity(nodes.len());
        let mut without: BTreeMap<String, Band> = BTreeMap::new();
        for (row, node) in nodes.into_iter().enumerate() {
            let model = models.by_node.get(&node).ok_or_else(|| {
                let advice = advice(&node, models.by_node.keys().map(String::as_str));
                let found = format!("is '{node}', which is not a node of the run{advice}");
                table.at(row, &about.node, &found)
            })?;
            let mut label = model.predict(&features.select(&[row]));
            if let (Some(part), Some(known)) = (&about.known, &known) {
                let whole = part.completed(label.row(0)[0], known[row]);
                label.as_mut_slice()[0] = whole;
            }
            let (prediction, probabilities) = match about.task {
                Task::Regression => (label.row(0)[0].to_string(), Vec::new()),
                Task::Classification { .. } => {
                    (about.classes[label.most_probable()[0]].clone(), label.row(0).to_vec())
                }
            };
            let place = wanted.and_then(|wanted| Some((wanted, *wanted.known.places.get(&node)?)));
            let interval = place.and_then(|(wanted, place)| {
                let band = &wanted.bands[place];
                let Some(factor) = band.factor() else {
                    without.insert(node.clone(), *band);
                    return None;
                };
                let at = (place, factor);
                Some(wanted.known.intervals.interval(at, features.row(row), label.row(0)[0]))
            });
            rows.push(PredictedRow { node, prediction, probabilities, interval });
        }
        let told = without.iter().filter_map(|(node, band)| {
            wanted.map(|wanted| format!("node '{node}': {}", basis(band, wanted.level)))
        });
        notes.extend(told);
        Ok(Self { about, rows, has_intervals: wanted.is_some(), notes })
    }

    fn csv_text(&self) -> String {
        let about = self.about;
        let ends = self.has_intervals.then_some(["lower", "upper"].map(String::from));
        let classes = about.classes.iter().map(|class| format!("probability_{class}"));
        let header: Vec<String> = [about.node.clone(), about.target.clone()]
            .into_iter()
            .chain(classes)
            .chain(ends.into_iter().flatten())
            .collect();
        let records = self.rows.iter().map(|line| {
            let probabilities = line.probabilities.iter().map(ToString::to_string);
            let ends = self.has_intervals.then(|| {
                // Two empty cells, because all records have one length.
                line.interval.map_or_else(Default::default, |(lower, upper)| {
                    [lower.to_string(), upper.to_string()]
                })
            });
            [line.node.clone(), line.prediction.clone()]
                .into_iter()
                .chain(probabilities)
                .chain(ends.into_iter().flatten())
                .collect()
        });
        source::csv_text(std::iter::once(header).chain(records))
    }

    fn parquet_bytes(&self) -> Vec<u8> {
        let (about, lines) = (self.about, &self.rows);
        let text = |cell: fn(&PredictedRow) -> &String| {
            Written::Text(lines.iter().map(cell).cloned().collect())
        };
        let numbers = |cell: &dyn Fn(&PredictedRow) -> f64| {
            Written::Numbers(lines.iter().map(cell).collect())
        };
        let predictions = if about.classes.is_empty() {
            // The text of a number has all its digits, so it is the same number again.
            numbers(&|line| line.prediction.parse().unwrap_or(f64::NAN))
        } else {
            text(|line| &line.prediction)
        };
        let mut columns = vec![(about.node.clone(), text(|line| &line.node))];
        columns.push((about.target.clone(), predictions));
        for (index, class) in about.classes.iter().enumerate() {
            let probabilities = numbers(&|line| line.probabilities[index]);
            columns.push((format!("probability_{class}"), probabilities));
        }
        if self.has_intervals {
            // Columns of this file have no gaps: not-a-number stands for no interval.
            let ends = |line: &PredictedRow| line.interval.unwrap_or((f64::NAN, f64::NAN));
            columns.push(("lower".into(), numbers(&|line| ends(line).0)));
            columns.push(("upper".into(), numbers(&|line| ends(line).1)));
        }
        source::parquet_bytes(&columns)
    }

    fn json_text(&self) -> String {
        let about = self.about;
        let rows: Vec<serde_json::Value> = self
            .rows
            .iter()
            .map(|line| {
                let prediction = line
                    .prediction
                    .parse::<f64>()
                    .ok()
                    // A class may be called 1, and is a name all the same.
                    .filter(|_| about.classes.is_empty())
                    .map_or_else(|| json!(line.prediction), |number| json!(number));
                let mut row = json!({ "node": line.node, "prediction": prediction });
                if !about.classes.is_empty() {
                    let pairs = about.classes.iter().cloned().zip(line.probabilities.iter());
                    row["probabilities"] = pairs
                        .map(|(class, p)| (class, json!(p)))
                        .collect::<serde_json::Map<_, _>>()
                        .into();
                }
                if self.has_intervals {
                    row["lower"] = json!(line.interval.map(|(lower, _)| lower));
                    row["upper"] = json!(line.interval.map(|(_, upper)| upper));
                }
                row
            })
            .collect();
        to_json_pretty(&rows)
    }
}
