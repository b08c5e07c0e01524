//! Predictions as a table: its columns, and the ways it is written.

use std::{borrow::Cow, path::Path};

use fedgrid_lab::{
    assembly::DataSchema,
    error::{Error, Result},
    run::to_json_pretty,
    serving::{AnsweredRow, Explanations, PredictedBy, Served, most_probable},
    source::{self, Column, Holds, Table, Written},
};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// So many rows are written at a time by each thread.
const PART_ROWS: usize = 1 << 15;

/// How predictions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Parquet,
    JsonLines,
}

impl Format {
    /// As a word says.
    pub(super) fn named(word: &str) -> Result<Self> {
        match word {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            "jsonl" => Ok(Self::JsonLines),
            _ => Err(Error::input(format!("--as is '{word}', expected csv, jsonl or parquet"))),
        }
    }

    /// As the ending of a file says.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str().unwrap_or_default() {
            "parquet" => Ok(Self::Parquet),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "" | "csv" | "txt" => Ok(Self::Csv),
            other => Err(Error::input(format!(
                "--out ends with .{other}, expected .csv, .parquet or .jsonl, which can be written"
            ))),
        }
    }
}

/// The cells of a column.
enum Cells<'a> {
    /// As the file of rows has them.
    Input(&'a Column),
    Text(Vec<String>),
    /// Numbers; not-a-number stands for none.
    Numbers(Vec<f64>),
    /// Whose model has predicted each row.
    By(&'a [PredictedBy]),
    /// The numbers of the rows, from one.
    Places,
}

impl Cells<'_> {
    fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Input(column) => column.cell(row),
            Self::Text(cells) => Cow::from(&cells[row]),
            Self::Numbers(cells) if cells[row].is_nan() => Cow::from(""),
            Self::Numbers(cells) => Cow::from(cells[row].to_string()),
            Self::By(by) => Cow::from(by[row].word()),
            Self::Places => Cow::from((row + 1).to_string()),
        }
    }

    fn json(&self, row: usize) -> Value {
        match self {
            Self::Input(column) if column.is_gap(row) => Value::Null,
            Self::Input(column) if column.holds() == Holds::Numbers => {
                // A whole number stays one.
                let whole = column.cell(row).parse::<i64>().ok().map(Value::from);
                whole.unwrap_or_else(|| json!(column.number(row)))
            }
            Self::Input(column) => json!(column.cell(row)),
            Self::Text(cells) => json!(cells[row]),
            // JSON has no not-a-number: it becomes null.
            Self::Numbers(cells) => json!(cells[row]),
            Self::By(by) => json!(by[row].word()),
            Self::Places => json!(row + 1),
        }
    }

    /// For a file whose columns have no gaps: not-a-number and empty text stand for them.
    fn written(&self, rows: usize) -> Written {
        let text = |cells: &dyn Fn(usize) -> String| Written::Text((0..rows).map(cells).collect());
        match self {
            Self::Input(column) if column.holds() == Holds::Numbers => {
                let number = |row| column.number(row).unwrap_or(f64::NAN);
                Written::Numbers((0..rows).map(number).collect())
            }
            Self::Input(column) => text(&|row| column.cell(row).into_owned()),
            Self::Text(cells) => Written::Text(cells.clone()),
            Self::Numbers(cells) => Written::Numbers(cells.clone()),
            Self::By(by) => text(&|row| by[row].to_string()),
            #[expect(clippy::cast_precision_loss, reason = "a table's rows are fewer than 2⁵³")]
            Self::Places => Written::Numbers((0..rows).map(|row| (row + 1) as f64).collect()),
        }
    }
}

/// Predictions with the columns of the input that are kept.
pub(super) struct Output<'a> {
    about: &'a DataSchema,
    served: &'a Served,
    why: Option<&'a Explanations>,
    kept: Vec<&'a Column>,
    columns: Vec<(String, Cells<'a>)>,
}

impl<'a> Output<'a> {
    /// The node of each row and its prediction, before the columns of the input that are kept.
    pub(super) fn new(
        about: &'a DataSchema,
        table: &'a Table,
        (served, why): (&'a Served, Option<&'a Explanations>),
        keep: Option<&[String]>,
    ) -> Result<Self> {
        let kept = kept(table, keep)?;
        let mut columns = vec![(about.node.clone(), Cells::Input(table.column(&about.node)?))];
        columns.extend(predictions(about, served));
        columns.extend(why.into_iter().flat_map(explanations));
        columns.push(("by".into(), Cells::By(&served.by)));
        columns.push(("row".into(), Cells::Places));
        // The first column is that of nodes in any case.
        let others = kept.iter().filter(|column| column.name() != about.node);
        columns.extend(others.map(|column| (column.name().into(), Cells::Input(column))));
        let output = Self { about, served, why, kept, columns };
        output.check(table)?;
        Ok(output)
    }

    /// Refuses a column of the input that is called like one of predictions.
    fn check(&self, table: &Table) -> Result<()> {
        for (place, (name, _)) in self.columns.iter().enumerate() {
            if self.columns[..place].iter().any(|(other, _)| other == name) {
                return Err(Error::input(format!(
                    "{}: column '{name}' is called like one of predictions; give it another name, or list the \
                     columns to keep without it, such as --keep {}",
                    table.source, self.about.node
                )));
            }
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.served.nodes.len()
    }

    pub(super) fn bytes(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Csv => self.csv(),
            Format::Parquet => {
                let written = self.columns.iter();
                let written =
                    written.map(|(name, cells)| (name.clone(), cells.written(self.rows())));
                source::parquet_bytes(&written.collect::<Vec<_>>())
            }
            Format::JsonLines => {
                let line = |row: usize| Value::Object(self.object(row)).to_string() + "\n";
                (0..self.rows()).map(line).collect::<String>().into_bytes()
            }
        }
    }

    fn csv(&self) -> Vec<u8> {
        let names = self.columns.iter().map(|(name, _)| Cow::from(name));
        let mut bytes = source::csv_bytes(std::iter::once(names));
        let record = |row: usize| self.columns.iter().map(move |(_, cells)| cells.text(row));
        let parts: Vec<Vec<u8>> = (0..self.rows().div_ceil(PART_ROWS))
            .into_par_iter()
            .map(|part| {
                let end = self.rows().min((part + 1) * PART_ROWS);
                source::csv_bytes((part * PART_ROWS..end).map(record))
            })
            .collect();
        bytes.extend(parts.concat());
        bytes
    }

    /// A row by the names of the columns.
    fn object(&self, row: usize) -> Map<String, Value> {
        self.columns.iter().map(|(name, cells)| (name.clone(), cells.json(row))).collect()
    }

    /// All rows for a program, with the method that has predicted them and what a reader must know.
    pub(super) fn json_text(&self, method: &str, advised: &str, notes: &[String]) -> String {
        let rows: Vec<Value> = (0..self.rows()).map(|row| self.json_row(row)).collect();
        to_json_pretty(&json!({
            "method": method, "advised": advised, "notes": notes, "predictions": rows,
        }))
    }

    fn json_row(&self, row: usize) -> Value {
        let mut found = json!(AnsweredRow::new(self.about, self.served, row));
        if let Some(why) = self.why {
            let parts = why.columns.iter().map(|(name, own)| (name.clone(), json!(own[row])));
            found["base"] = json!(why.base[row]);
            found["because"] = Value::Object(parts.collect());
        }
        if !self.kept.is_empty() {
            let pairs =
                self.kept.iter().map(|own| (own.name().into(), Cells::Input(own).json(row)));
            found["kept"] = Value::Object(pairs.collect());
        }
        found
    }
}

/// The columns of the input that are kept: none, those that are named, or all.
fn kept<'a>(table: &'a Table, keep: Option<&[String]>) -> Result<Vec<&'a Column>> {
    match keep {
        None => Ok(Vec::new()),
        Some([]) => Ok(table.columns().iter().collect()),
        Some(names) => names.iter().map(|name| table.column(name)).collect(),
    }
}

/// The columns that tell why.
fn explanations<'a>(why: &Explanations) -> impl Iterator<Item = (String, Cells<'a>)> {
    let base = ("base".into(), Cells::Numbers(why.base.clone()));
    let part =
        |(name, own): &(String, Vec<f64>)| (format!("because_{name}"), Cells::Numbers(own.clone()));
    std::iter::once(base).chain(why.columns.iter().map(part))
}

/// The columns of what is predicted.
fn predictions<'a>(about: &DataSchema, served: &Served) -> Vec<(String, Cells<'a>)> {
    let mut columns = Vec::new();
    let rows = || served.values.chunks_exact(about.task.outputs());
    if about.classes.is_empty() {
        columns.push(("prediction".into(), Cells::Numbers(served.values.clone())));
    } else {
        let class = |own: &[f64]| about.classes[most_probable(own)].clone();
        columns.push(("prediction".into(), Cells::Text(rows().map(class).collect())));
    }
    for (place, class) in about.classes.iter().enumerate() {
        let own = rows().map(|own| own[place]).collect();
        columns.push((format!("probability_{class}"), Cells::Numbers(own)));
    }
    if let Some(intervals) = &served.intervals {
        let end = |of: fn((f64, f64)) -> f64| {
            Cells::Numbers(intervals.iter().map(|own| own.map_or(f64::NAN, of)).collect())
        };
        columns.push(("lower".into(), end(|(lower, _)| lower)));
        columns.push(("upper".into(), end(|(_, upper)| upper)));
    }
    columns
}
