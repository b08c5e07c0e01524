//! `fedgrid predict`: new rows, each by its own node's model.

use std::path::{Path, PathBuf};

use clap::Args;
use fedgrid::data::Task;
use serde_json::json;

use crate::terminal::{Terminal, print};
use fedgrid_lab::{
    assembly::features_of,
    error::{Error, Result},
    experiment::advice,
    number::counted,
    run::{RunModels, to_json_pretty},
    source::{self, Table, Written},
};

/// Arguments of `fedgrid predict`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fedgrid predict runs/colorado --data new.csv --out predictions.csv"
)]
pub(super) struct Predict {
    /// The folder of a finished run.
    run: PathBuf,

    /// The rows to predict: a CSV or Parquet file with the node and feature columns.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// The character between the columns of a CSV file.
    #[arg(long, default_value_t = ',')]
    delimiter: char,

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
}

impl Predict {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let models = RunModels::from_folder(&self.run)?;
        let table = Table::from_file(&self.data, self.delimiter)?;
        let lines = predictions(&models, &table)?;
        if let Some(path) = &self.out {
            if path.exists() && !self.force {
                let sentence = format!("'{}' exists: replace it with --force", path.display());
                return Err(Error::input(sentence));
            }
            // The whole file is made in memory, so that a wrong row leaves no half of one.
            let bytes = match Format::of(path)? {
                Format::Csv => csv_text(&models, &lines).into_bytes(),
                Format::Parquet => parquet_bytes(&models, &lines),
            };
            std::fs::write(path, &bytes).map_err(|error| Error::file("write", path, &error))?;
            terminal.say(&format!("{} in {}", counted(lines.len(), "prediction"), path.display()));
        } else if !terminal.json && !terminal.quiet {
            print(csv_text(&models, &lines).trim_end());
        }
        terminal.give(&json_text(&models, &lines));
        Ok(())
    }
}

fn predictions(models: &RunModels, table: &Table) -> Result<Vec<PredictedRow>> {
    let about = &models.about;
    let nodes = table.names_in(&about.node)?;
    let features = features_of(table, about)?;
    let mut lines = Vec::with_capacity(nodes.len());
    for (row, node) in nodes.into_iter().enumerate() {
        let model = models.by_node.get(&node).ok_or_else(|| {
            let advice = advice(&node, models.by_node.keys().map(String::as_str));
            let found = format!("is '{node}', which is not a node of the run{advice}");
            table.at(row, &about.node, &found)
        })?;
        let label = model.predict(&features.select(&[row]));
        lines.push(match about.task {
            Task::Regression => PredictedRow {
                node,
                prediction: label.row(0)[0].to_string(),
                probabilities: Vec::new(),
            },
            Task::Classification { .. } => PredictedRow {
                node,
                prediction: about.classes[label.most_probable()[0]].clone(),
                probabilities: label.row(0).to_vec(),
            },
        });
    }
    Ok(lines)
}

fn csv_text(models: &RunModels, lines: &[PredictedRow]) -> String {
    let about = &models.about;
    let classes = about.classes.iter().map(|class| format!("probability_{class}"));
    let header: Vec<String> =
        [about.node.clone(), about.target.clone()].into_iter().chain(classes).collect();
    let records = lines.iter().map(|line| {
        let probabilities = line.probabilities.iter().map(ToString::to_string);
        [line.node.clone(), line.prediction.clone()].into_iter().chain(probabilities).collect()
    });
    source::csv_text(std::iter::once(header).chain(records))
}

fn parquet_bytes(models: &RunModels, lines: &[PredictedRow]) -> Vec<u8> {
    let about = &models.about;
    let text = |cell: fn(&PredictedRow) -> &String| {
        Written::Text(lines.iter().map(cell).cloned().collect())
    };
    let numbers =
        |cell: &dyn Fn(&PredictedRow) -> f64| Written::Numbers(lines.iter().map(cell).collect());
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
    source::parquet_bytes(&columns)
}

fn json_text(models: &RunModels, lines: &[PredictedRow]) -> String {
    let about = &models.about;
    let rows: Vec<serde_json::Value> = lines
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
            row
        })
        .collect();
    to_json_pretty(&rows)
}
