//! Tables from files, from standard input and from several files at once: CSV in all its variants, Parquet and Arrow, column
//! by column, with messages that name file, row and column.
//!
//! ```text
//! bytes ─▶ unpacked ─▶ UTF-8 ─▶ blocks of lines ─▶ cells ─▶ separators settled ─▶ columns
//!   └───▶ Parquet, Arrow ────────────────────────────┘
//! ```
//!
//! What a file is, its first bytes tell; how numbers are written, all of its cells. What is not as in plain CSV is said
//! ([`Table::described`]).

mod arrow;
mod cells;
mod column;
mod csv;
mod file;
mod format;
mod input;
mod layout;
mod letters;
pub(crate) mod moment;
mod numbers;
mod parquet;
mod pattern;
mod separators;
mod several;
mod told;

pub use column::{Column, Holds, JsonCell};
pub use csv::{csv_bytes, csv_text};
use file::ReadTable;
pub use format::FileFormat;
use input::TableInput;
pub use parquet::{Written, parquet_bytes};
pub(crate) use pattern::matches;
use rayon::prelude::*;
use separators::ReadColumn;
pub use several::are_there;

use std::{borrow::Cow, collections::BTreeSet, path::Path, sync::Arc};

use crate::{
    error::{Error, Result},
    experiment::{TableFiles, advice, is_standard_input},
};

/// Squares of squares of cells up to this size are still finite: losses square differences, and solvers
/// square losses.
const LARGEST_CELL: f64 = 1e50;

/// A table of named columns.
#[derive(Debug, Clone)]
pub struct Table {
    /// How messages call it: the file's name.
    pub source: String,
    /// A hash of the file's bytes, by which a resumed run knows its data.
    pub fingerprint: u64,
    /// The character before decimals, if any number tells it.
    pub decimal: Option<char>,
    /// What is unusual about its files, a line each.
    pub described: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
    /// Where each of its files begins, with its name; nothing if there is one.
    parts: FileParts,
    /// Whether it is a frame of Python's, whose rows count from zero.
    is_frame: bool,
}

/// The files that rows are from: their names, and the first row of each; nothing if there is one file.
pub type FileParts = Arc<[(String, usize)]>;

impl Table {
    /// Reads a file; `-` is standard input.
    pub fn from_file(path: &Path, format: impl Into<FileFormat>) -> Result<Self> {
        let format = format.into();
        Self::new(ReadTable::new(&TableInput::new(path)?, &called(path), &format)?, &format)
    }

    /// Reads several files with the same columns as one table, below a folder.
    pub fn from_files(base: &Path, files: &TableFiles, format: &FileFormat) -> Result<Self> {
        let paths = several::paths(base, files)?;
        let mut read = paths.iter().map(|path| {
            ReadTable::new(&TableInput::new(path)?, &several::called(path, &paths), format)
        });
        let first = read.next().ok_or_else(|| Error::input("no file is named, expected one"))?;
        let first = first?;
        if paths.len() == 1 {
            return Self::new(first, format);
        }
        let (joined, parts) = several::joined(first, read)?;
        let names: Vec<String> = files.names().iter().map(|name| called(name)).collect();
        Ok(Self { parts, source: names.join(", "), ..Self::new(joined, format)? })
    }

    /// Reads bytes that are no file, by a name for messages.
    pub fn from_bytes(bytes: Vec<u8>, source: &str, format: &FileFormat) -> Result<Self> {
        Self::new(ReadTable::new(&TableInput::Memory(bytes), source, format)?, format)
    }

    /// A table of columns that have so many rows.
    #[must_use]
    pub fn of_columns(source: &str, columns: Vec<Column>, rows: usize) -> Self {
        Self { rows, ..Self::empty(source) }.with_columns(columns)
    }

    /// The same of a frame of Python's, whose rows count from zero in messages.
    #[must_use]
    pub fn of_frame(source: &str, columns: Vec<Column>, rows: usize) -> Self {
        Self { is_frame: true, ..Self::of_columns(source, columns, rows) }
    }

    /// Whether it is a frame of Python's.
    #[must_use]
    pub fn is_frame(&self) -> bool {
        self.is_frame
    }

    /// The number of a row as its reader counts.
    #[must_use]
    pub fn number_of(&self, row: usize) -> usize {
        row + usize::from(!self.is_frame)
    }

    /// The table of what was read.
    fn new(read: ReadTable, format: &FileFormat) -> Result<Self> {
        let ReadTable { source, columns, rows, fingerprint, recognised } = read;
        let mut names = BTreeSet::new();
        if let Some(column) = columns.iter().find(|column| !names.insert(column.name.as_str())) {
            return Err(Error::input(format!(
                "{source}: column '{}' appears twice; give one of them another name",
                column.name
            )));
        }
        let described = recognised.lines(&source);
        // To look at every cell of text takes longer than to read it.
        let column = |read: ReadColumn| {
            let gaps = format.missing_values.clone();
            Column::doubtful(read.name, read.cells, gaps, read.doubt)
        };
        let columns = columns.into_par_iter().with_max_len(1).map(column).collect();
        let parts = Arc::new([]);
        let decimal = recognised.decimal;
        let is_frame = false;
        Ok(Self { source, fingerprint, decimal, described, columns, rows, parts, is_frame })
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(Column::name)
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// A table without columns and rows.
    pub(crate) fn empty(source: &str) -> Self {
        let (source, decimal, described) = (source.into(), None, Vec::new());
        let (columns, parts, is_frame) = (Vec::new(), Arc::new([]), false);
        Self { source, fingerprint: 0, decimal, described, columns, rows: 0, parts, is_frame }
    }

    /// The same table with more columns, which have as many rows.
    pub(crate) fn with_columns(mut self, more: Vec<Column>) -> Self {
        debug_assert!(more.iter().all(|column| column.rows() == self.rows));
        self.columns.extend(more);
        self
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| column.name() == name).ok_or_else(|| {
            let advice = advice(name, self.columns.iter().map(Column::name));
            Error::input(format!("{}: there is no column '{name}'{advice}", self.source))
        })
    }

    /// A column as text; numbers are written as they were, or as they are.
    pub fn text(&self, name: &str) -> Result<Vec<String>> {
        let column = self.column(name)?;
        Ok((0..self.rows).map(|row| column.cell(row).into_owned()).collect())
    }

    /// A column of names, of which none may be empty.
    pub fn names_in(&self, name: &str) -> Result<Vec<String>> {
        let cells = self.text(name)?;
        if let Some(row) = cells.iter().position(String::is_empty) {
            return Err(self.at(row, name, "is empty, expected a name"));
        }
        Ok(cells)
    }

    /// The different names in a column, of which none may be empty.
    pub fn distinct_names(&self, name: &str) -> Result<BTreeSet<String>> {
        let column = self.column(name)?;
        let names = column.distinct();
        match names.contains("").then(|| (0..self.rows).find(|row| column.cell(*row).is_empty())) {
            Some(Some(row)) => Err(self.at(row, name, "is empty, expected a name")),
            _ => Ok(names),
        }
    }

    /// A column as finite numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        let column = self.column(name)?;
        let number = |row: usize| finite(column, row).map_err(|found| self.at(row, name, &found));
        (0..self.rows).map(number).collect()
    }

    /// Some rows as the text of a CSV file, numbers to their last bit.
    #[must_use]
    pub fn csv(&self, rows: impl Iterator<Item = usize>) -> String {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        let mut write = |record: Vec<Cow<'_, str>>| {
            let record = record.iter().map(|cell| cell.as_bytes());
            writer.write_record(record).expect("memory takes all");
        };
        write(self.names().map(Cow::from).collect());
        rows.for_each(|row| write(self.columns.iter().map(|column| column.cell(row)).collect()));
        String::from_utf8(writer.into_inner().expect("memory takes all")).expect("text stays text")
    }

    /// What a column holds; gaps do not count, and are refused by name where a value is needed.
    pub fn holds(&self, name: &str) -> Result<Holds> {
        Ok(self.column(name)?.holds())
    }

    /// A sentence about one cell. Rows count from one, without the header, in each file.
    #[must_use]
    pub fn at(&self, row: usize, column: &str, found: &str) -> Error {
        let (file, row) = place(&self.parts, row).unwrap_or((&self.source, row));
        let number = self.number_of(row);
        Error::input(format!("{file}: row {number}, column '{column}' {found}"))
    }

    /// The files that its rows are from.
    #[must_use]
    pub fn parts(&self) -> &FileParts {
        &self.parts
    }
}

/// The file of a row, and its place there; none if there is one file.
pub(crate) fn place(parts: &[(String, usize)], row: usize) -> Option<(&str, usize)> {
    let (name, first) = &parts[..parts.partition_point(|(_, first)| *first <= row)].last()?;
    Some((name, row - first))
}

/// What messages call a file.
fn called(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".into();
    }
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a number is one, and of a size to compute with.
pub(crate) fn is_usable(value: f64) -> bool {
    value.abs() <= LARGEST_CELL
}

/// A cell as a finite number, or what is there instead.
pub(crate) fn finite(column: &Column, row: usize) -> std::result::Result<f64, String> {
    let Some(value) = column.number(row) else {
        return Err(match column.cell(row) {
            cell if column.doubt().is_some() && !column.is_gap(row) => {
                format!("is '{cell}', {}", column.doubt().unwrap_or_default())
            }
            cell if cell.is_empty() => "is empty, expected a number".to_string(),
            cell if cell.parse().is_ok_and(f64::is_nan) => {
                "is NaN, expected a finite number".into()
            }
            cell => format!("is '{cell}', expected a number"),
        });
    };
    if is_usable(value) {
        Ok(value)
    } else if value.is_finite() {
        Err(format!("is {value:e}, expected a number of size {LARGEST_CELL:e} at most"))
    } else {
        Err(format!("is {value}, expected a finite number"))
    }
}
