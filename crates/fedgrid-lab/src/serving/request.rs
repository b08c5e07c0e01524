//! Rows of a request as tables: JSON objects from column to value, or CSV.
//!
//! Only columns that models ask for are kept, so that a request takes no more memory than its rows times these columns.

use std::sync::Arc;

use super::json_rows::{Read, Rows, WantedColumns};
use crate::{
    assembly::DataSchema,
    error::{Error, Result},
    source::{Column, FileFormat, JsonCell, Table},
    wording::in_plain_words,
};

/// What messages call the rows of a request.
const SOURCE: &str = "the request";

/// The rows that are asked for.
#[derive(Debug)]
pub struct AskedRows {
    /// Those to predict.
    pub rows: Table,
    /// Those of the time before, for models with lags.
    pub history: Option<Table>,
    /// How many there are of both; more than are allowed have no cells here.
    pub count: usize,
}

/// How rows of requests are read for the models of a run.
#[derive(Debug)]
pub(super) struct RowReader {
    wanted: WantedColumns,
    format: FileFormat,
    gaps: Arc<[String]>,
}

impl RowReader {
    pub(super) fn new(about: &DataSchema, format: FileFormat) -> Self {
        let plan = about.column_plan();
        let mut names: Vec<String> = vec![about.node.clone()];
        let lags = plan.lags.iter();
        let past = lags.flat_map(|lags| lags.sources().into_iter().chain([lags.time.as_str()]));
        let known = about.known.iter().map(|part| part.column.as_str());
        for name in plan.sources().into_iter().chain(past).chain(known) {
            if !names.iter().any(|own| own == name) {
                names.push(name.into());
            }
        }
        let gaps = format.missing_values.clone();
        Self { wanted: WantedColumns::new(names), format, gaps }
    }

    /// The columns that models ask for, that of the node first.
    pub(super) fn names(&self) -> &[String] {
        &self.wanted.names
    }

    /// Rows as JSON: one object, a list of them, or `{"rows": [...], "history": [...]}`.
    pub(super) fn json(&self, body: &[u8], most: usize) -> Result<AskedRows> {
        let Read { rows, history } = self.wanted.read(body, most).map_err(|error| {
            let words = in_plain_words(&error.to_string());
            let (line, column) = (error.line(), error.column());
            Error::input(format!("{SOURCE}: {words} (line {line}, character {column})"))
        })?;
        let count = rows.count + history.as_ref().map_or(0, |rows| rows.count);
        if count > most {
            return Ok(AskedRows { rows: Table::empty(SOURCE), history: None, count });
        }
        let table = |rows: Rows| self.table(rows);
        Ok(AskedRows { rows: table(rows), history: history.map(table), count })
    }

    /// Rows as CSV with a header, as files may have them; never packed, because a small body may unpack to a large one.
    pub(super) fn csv(&self, body: &[u8]) -> Result<AskedRows> {
        let is_text = std::str::from_utf8(body).is_ok();
        if !is_text || body.starts_with(b"PAR1") || body.starts_with(b"ARROW1") {
            return Err(Error::input(format!("{SOURCE} is not text in UTF-8, expected CSV")));
        }
        let rows = Table::from_bytes(body.to_vec(), SOURCE, &self.format)?;
        Ok(AskedRows { count: rows.rows(), rows, history: None })
    }

    /// The columns that some row has; cells of other rows are missing.
    fn table(&self, Rows { columns, count }: Rows) -> Table {
        let mut found = Vec::with_capacity(columns.len());
        for (name, mut cells) in self.wanted.names.iter().zip(columns) {
            if !cells.is_empty() {
                cells.resize_with(count, || JsonCell::Gap);
                let column = Column::of_json(name.clone(), &cells);
                found.push(column.with_missing_values(self.gaps.clone()));
            }
        }
        Table::of_columns(SOURCE, found, count)
    }
}
