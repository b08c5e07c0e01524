//! Tables from disk: CSV and Parquet, column by column, with messages that name file, row and
//! column.

mod cells;
mod column;
mod csv;
pub(crate) mod moment;
mod parquet;

pub use column::{Column, Holds};
pub use csv::csv_text;
pub use parquet::{Written, parquet_bytes};

use std::{borrow::Cow, collections::BTreeSet, path::Path, sync::Arc};

use crate::{
    error::{Error, Result},
    experiment::{DataKeys, advice},
};

/// Squares of squares of cells up to this size are still finite: losses square differences, and solvers
/// square losses.
const LARGEST_CELL: f64 = 1e50;

/// How a file is written, where that is said.
#[derive(Debug, Clone)]
pub struct FileFormat {
    /// The character between the columns of a CSV file.
    pub delimiter: char,
    /// Cells that stand for no value, besides those that do in every table.
    pub missing_values: Arc<[String]>,
}

impl From<&DataKeys> for FileFormat {
    fn from(keys: &DataKeys) -> Self {
        Self { delimiter: keys.delimiter, missing_values: keys.missing_values.clone().into() }
    }
}

impl From<char> for FileFormat {
    fn from(delimiter: char) -> Self {
        Self { delimiter, missing_values: Arc::new([]) }
    }
}

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

impl Table {
    /// Reads a CSV or Parquet file, told apart by its ending.
    pub fn from_file(path: &Path, format: impl Into<FileFormat>) -> Result<Self> {
        let bytes =
            std::fs::read(path).map_err(|error| Error::file("read the table", path, &error))?;
        let source = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::from_bytes(bytes, &source, &format.into())
    }

    /// Reads a table from the bytes of a file of the given name.
    pub fn from_bytes(bytes: Vec<u8>, source: &str, format: &FileFormat) -> Result<Self> {
        let ending = Path::new(source).extension().unwrap_or_default().to_ascii_lowercase();
        // Of the raw bytes, so that any change of the file makes a resumed run refuse it.
        let fingerprint = fingerprint(&bytes);
        let mut table = if ending == "parquet" {
            parquet::table(bytes, source, format)?
        } else {
            csv::table(&bytes, source, format)?
        };
        table.fingerprint = fingerprint;
        let mut names = BTreeSet::new();
        for column in &table.columns {
            if !names.insert(column.name()) {
                return Err(Error::input(format!(
                    "{source}: column '{}' appears twice",
                    column.name()
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
        self.columns.iter().map(Column::name)
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
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
        let number = |row: usize| finite(column, row).map_err(|found| self.at(row, name, &found));
        (0..self.rows).map(number).collect()
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

/// A cell as a finite number, or what is there instead.
pub(crate) fn finite(column: &Column, row: usize) -> std::result::Result<f64, String> {
    let Some(value) = column.number(row) else {
        return Err(match column.cell(row) {
            cell if cell.is_empty() => "is empty, expected a number".to_string(),
            cell if cell.parse().is_ok_and(f64::is_nan) => {
                "is NaN, expected a finite number".into()
            }
            cell => format!("is '{cell}', expected a number"),
        });
    };
    if value.abs() <= LARGEST_CELL {
        Ok(value)
    } else if value.is_finite() {
        Err(format!("is {value:e}, expected a number of size {LARGEST_CELL:e} at most"))
    } else {
        Err(format!("is {value}, expected a finite number"))
    }
}
