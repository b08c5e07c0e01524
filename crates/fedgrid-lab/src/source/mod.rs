//! Tables from disk: CSV and Parquet, column by column, with messages that name file, row and
//! column.

mod csv;
mod parquet;

pub use csv::csv_text;
pub use parquet::{Written, parquet_bytes};

use std::{borrow::Cow, collections::BTreeSet, path::Path};

use crate::{
    error::{Error, Result},
    experiment::advice,
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
    columns: Vec<Column>,
    rows: usize,
}

/// One column.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    cells: Cells,
}

/// The cells of a column. A CSV file has text, read as numbers where numbers are wanted.
#[derive(Debug, Clone)]
enum Cells {
    Text(Vec<String>),
    Numbers(Vec<f64>),
    Integers(Vec<i64>),
    /// True or false as the file writes it; one or zero where a number is wanted.
    Truths(Vec<String>),
    /// Dates and times, which are never numbers.
    Times(Vec<String>),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Numbers, or mostly: then the other cells are mistakes.
    Numbers,
    /// True and false.
    Truths,
    /// Dates or times.
    Times,
    /// Other text.
    Text,
    /// Nothing.
    Nothing,
}

impl std::fmt::Display for Holds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Numbers => "numbers",
            Self::Truths => "true and false",
            Self::Times => "dates or times",
            Self::Text => "text",
            Self::Nothing => "nothing",
        })
    }
}

impl Table {
    /// Reads a CSV or Parquet file, told apart by its ending.
    pub fn from_file(path: &Path, delimiter: char) -> Result<Self> {
        let bytes =
            std::fs::read(path).map_err(|error| Error::file("read the table", path, &error))?;
        let source = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::from_bytes(bytes, &source, delimiter)
    }

    /// Reads a table from the bytes of a file of the given name.
    pub fn from_bytes(bytes: Vec<u8>, source: &str, delimiter: char) -> Result<Self> {
        let ending = Path::new(source).extension().unwrap_or_default().to_ascii_lowercase();
        // Of the raw bytes, so that any change of the file makes a resumed run refuse it.
        let fingerprint = fingerprint(&bytes);
        let mut table = if ending == "parquet" {
            parquet::table(bytes, source)?
        } else {
            csv::table(&bytes, source, delimiter)?
        };
        table.fingerprint = fingerprint;
        let mut names = BTreeSet::new();
        for column in &table.columns {
            if !names.insert(column.name.as_str()) {
                return Err(Error::input(format!(
                    "{source}: column '{}' appears twice",
                    column.name
                )));
            }
        }
        Ok(table)
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            let advice = advice(name, self.columns.iter().map(|column| column.name.as_str()));
            Error::input(format!("{}: there is no column '{name}'{advice}", self.source))
        })
    }

    /// A column as text; numbers are written as they are.
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

    /// A column as finite numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        let column = self.column(name)?;
        (0..self.rows)
            .map(|row| {
                let value = column.number(row).ok_or_else(|| {
                    let found = match column.cell(row) {
                        cell if cell.is_empty() => "is empty, expected a number".to_string(),
                        cell => format!("is '{cell}', expected a number"),
                    };
                    self.at(row, name, &found)
                })?;
                if value.abs() <= LARGEST_CELL {
                    return Ok(value);
                }
                let found = if value.is_finite() {
                    format!("is {value:e}, expected a number of size {LARGEST_CELL:e} at most")
                } else {
                    format!("is {value}, expected a finite number")
                };
                Err(self.at(row, name, &found))
            })
            .collect()
    }

    /// Some rows as the text of a CSV file, numbers to their last bit.
    #[must_use]
    pub fn csv(&self, rows: impl Iterator<Item = usize>, delimiter: char) -> String {
        let delimiter = u8::try_from(delimiter).unwrap_or(b',');
        let mut writer = ::csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
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

    /// A sentence about one cell. Rows count from one, without the header.
    #[must_use]
    pub fn at(&self, row: usize, column: &str, found: &str) -> Error {
        Error::input(format!("{}: row {}, column '{column}' {found}", self.source, row + 1))
    }
}

/// The FNV-1a hash of some bytes.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Column {
    /// A cell as text; a number is written as it is.
    fn cell(&self, row: usize) -> Cow<'_, str> {
        match &self.cells {
            Cells::Text(cells) | Cells::Truths(cells) | Cells::Times(cells) => {
                Cow::from(&cells[row])
            }
            Cells::Numbers(cells) => Cow::from(cells[row].to_string()),
            Cells::Integers(cells) => Cow::from(cells[row].to_string()),
        }
    }

    fn number(&self, row: usize) -> Option<f64> {
        match &self.cells {
            Cells::Text(cells) => cells[row].parse().ok(),
            Cells::Truths(cells) => truth(&cells[row]).map(|is_true| f64::from(u8::from(is_true))),
            Cells::Times(_) => None,
            Cells::Numbers(cells) => Some(cells[row]),
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            Cells::Integers(cells) => Some(cells[row] as f64),
        }
    }

    /// A column of a file that has only text, by what its cells look like.
    fn of_text(name: String, cells: Vec<String>) -> Self {
        let mut known = cells.iter().filter(|cell| !is_gap(cell)).peekable();
        // A column of gaps alone would satisfy every test below.
        let cells = if known.peek().is_none() {
            Cells::Text(cells)
        } else if known.clone().all(|cell| truth(cell).is_some()) {
            Cells::Truths(cells)
        } else if known.all(|cell| is_time(cell)) {
            Cells::Times(cells)
        } else {
            Cells::Text(cells)
        };
        Self { name, cells }
    }

    fn holds(&self) -> Holds {
        let texts = match &self.cells {
            Cells::Text(texts) => texts,
            Cells::Truths(_) => return Holds::Truths,
            Cells::Times(_) => return Holds::Times,
            Cells::Numbers(cells) if cells.iter().all(|cell| cell.is_nan()) => {
                return Holds::Nothing;
            }
            Cells::Numbers(_) | Cells::Integers(_) => return Holds::Numbers,
        };
        let known = texts.iter().filter(|cell| !is_gap(cell)).count();
        let numbers = (0..texts.len()).filter(|row| self.number(*row).is_some()).count();
        if known == 0 {
            Holds::Nothing
        // One mistake among numbers must be reported as one, not turn its column into text.
        } else if 2 * numbers > known {
            Holds::Numbers
        } else {
            Holds::Text
        }
    }
}

/// Whether a cell stands for no value.
fn is_gap(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "na" | "null")
}

/// True or false, as usual programs write it.
fn truth(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Whether a cell is a date, with or without a time: three numbers, of which one is a year of four
/// digits, such as `2024-01-31`, `31.01.2024` or `1/31/2024 12:00`.
fn is_time(cell: &str) -> bool {
    let date = cell.split([' ', 'T']).next().unwrap_or_default();
    ['-', '/', '.'].into_iter().any(|between| {
        let parts: Vec<&str> = date.split(between).collect();
        let digits = |part: &&str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
        parts.len() == 3
            && parts.iter().all(|part| !part.is_empty() && digits(part))
            && parts.iter().filter(|part| part.len() == 4).count() == 1
    })
}
